package image

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// Stdout is the name of a file for Save that is the standard output.
const Stdout = "-"

// SaveOptions say what to save and where to. One of File and Layout is set.
type SaveOptions struct {
	Image    string // name in the store; empty is DefaultName, if it was built in this directory
	File     string // archive that docker load and podman load take; Stdout for the standard output
	Layout   string // directory for an OCI image layout
	Platform string // which one of several goes into File; empty is linux on this machine's architecture
	Progress func(string)
	Warn     func(string)
}

// Saved is an image that was saved.
type Saved struct {
	Image    string
	Platform string // the one in the archive, where the image has several
	Path     string
}

// Save copies an image from the store to a file or a directory. An archive
// holds the image for one platform, as docker's format has no place for more;
// a layout has all of them, and the SBOMs.
func Save(ctx context.Context, h host.Host, o SaveOptions) (Saved, error) {
	if err := o.check(h); err != nil {
		return Saved{}, err
	}
	tag, err := parseTag(o.Image)
	if err != nil {
		return Saved{}, fmt.Errorf("--image: %w", err)
	}
	c, release, err := openStored(ctx, h, tag, imageBuilder, orNothing(o.Progress))
	if err != nil {
		return Saved{}, err
	}
	s := Saved{Image: tag.String()}
	foreign := c.foreign(h)
	if foreign != "" && o.Image != "" {
		orNothing(o.Warn)(foreign)
	}
	switch {
	case foreign != "" && o.Image == "": // every project's image has this name
		err = clierr.Failedf(fmt.Sprintf("build this project's with '%s', or save that one with --image %s", imageBuilder, tag), "%s", foreign)
	case o.Layout != "":
		s.Path = h.Path(o.Layout)
		err = saveLayout(c, s.Path)
	default:
		s.Path, s.Platform, err = c.saveArchive(h, o)
	}
	return s, errors.Join(err, release())
}

func (o SaveOptions) check(h host.Host) error {
	const both = "mysdk image save controller.tar, or mysdk image save --oci-layout DIR"
	switch {
	case o.File == "" && o.Layout == "":
		return clierr.Usagef(both, "specify where to save the image")
	case o.File != "" && o.Layout != "":
		return clierr.Usagef(both, "an archive and a layout cannot be saved at once")
	case o.Layout != "" && o.Platform != "":
		return clierr.Usagef("leave out --platform", "a layout holds all platforms")
	case o.File == Stdout && host.IsTerminal(h.IO.Out):
		return clierr.Usagef("write 'mysdk image save - | docker load', or name a file", "refusing to write an archive to a terminal")
	}
	return nil
}

// saveLayout writes into a directory that is empty or new.
func saveLayout(c *content, dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("save the image: %w", err)
	case len(entries) > 0:
		return clierr.Failedf("name a new one, or remove it", "save the image: the directory %s is not empty", dir)
	}
	put := replaceDir
	if err == nil {
		put = fillDir
	}
	if err := put(dir, c.write); err != nil {
		return clierr.WithHint(fmt.Errorf("save the image: %w", err), "name a directory that you may write to")
	}
	return nil
}

// fillDir puts a layout into an empty directory, which stays, as it may be a mount
// point. index.json comes last: without it there is no layout.
func fillDir(dir string, fill func(tmp string) error) error {
	tmp := newName(filepath.Join(dir, "layout"))
	err := fill(tmp)
	names := []string{"blobs", "oci-layout", "index.json"}
	for _, name := range names {
		if err == nil {
			err = os.Rename(filepath.Join(tmp, name), filepath.Join(dir, name))
		}
	}
	if err != nil {
		for _, name := range names {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return errors.Join(err, os.RemoveAll(tmp))
}

func (c *content) saveArchive(h host.Host, o SaveOptions) (path, platform string, err error) {
	img, platform, err := c.choose(o.Platform)
	if err != nil {
		return "", "", err
	}
	if o.File == Stdout {
		out := bufio.NewWriter(h.IO.Out)
		return Stdout, platform, errors.Join(tarball.Write(c.tag, img, out), out.Flush())
	}
	path = h.Path(o.File)
	err = writeFile(path, func(w io.Writer) error { return tarball.Write(c.tag, img, w) })
	if err != nil {
		err = clierr.WithHint(fmt.Errorf("save the image: %w", err), "name a file in a directory that exists and that you may write to")
	}
	return path, platform, err
}

// choose picks the image for one platform, and says which where there are several.
func (c *content) choose(wanted string) (v1.Image, string, error) {
	if c.index == nil && wanted == "" {
		return c.image, "", nil
	}
	want, err := parsePlatform(cmp.Or(wanted, "linux/"+runtime.GOARCH))
	if err != nil {
		return nil, "", err
	}
	img, is, have, err := c.pick(want)
	switch {
	case err != nil:
		return nil, "", err
	case img != nil && c.index == nil:
		return img, "", nil
	case img != nil:
		return img, platformName(is), nil
	case wanted == "":
		return nil, "", clierr.Usagef("choose one with --platform: "+platformNames(have), "an archive holds one platform, and %s has several", c.tag)
	case c.index == nil:
		return nil, "", clierr.Usagef("it is for "+platformNames(have), "%s has no %s", c.tag, wanted)
	}
	return nil, "", clierr.Usagef("it has "+platformNames(have), "%s has no %s", c.tag, wanted)
}

// writeFile replaces a file in one step, for a link the one behind it. What is no
// file, as /dev/null, is written to and stays what it is.
func writeFile(path string, fill func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	write := func(to string) error {
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		return errors.Join(fill(f), f.Close())
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return write(path)
	}
	return host.Replace(host.OSFiles{}, path, write)
}
