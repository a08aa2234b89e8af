package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/registry"
)

// The store is a directory with an OCI image layout for each name, and beside
// the layout's own files one that says where the image comes from.
const originFile = "origin.json"

// origin says where a stored image comes from.
type origin struct {
	Image string    `json:"image"`
	Dir   string    `json:"dir"` // the project
	Built time.Time `json:"built"`
}

// content is an image with everything that belongs to it: exactly one of image
// and index is set.
type content struct {
	tag   name.Tag
	image v1.Image
	index v1.ImageIndex
	sboms []v1.Image
	from  origin
}

// storeDir is the directory of the image with that name; its lock lies beside it.
func storeDir(h host.Host, tag name.Tag) (string, error) {
	root, err := storeRoot(h)
	return filepath.Join(root, registry.FileKey(tag.Name())), err
}

func storeRoot(h host.Host) (string, error) {
	d, err := h.StateDir()
	if err != nil {
		return "", clierr.WithHint(fmt.Errorf("find the directory for images: %w", err), "set MYSDK_STATE_DIR to a directory of yours")
	}
	return filepath.Join(d, "images"), nil
}

// lock takes a lock file and returns what gives it back. wait is called when
// another process has it.
func lock(ctx context.Context, file string, wait func()) (func() error, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	k, err := filelock.Await(ctx, file, wait)
	if err != nil {
		return nil, err
	}
	return k.Release, nil
}

// store puts the image into the store, over an older one of its name, and sums
// up what was built.
func (b *builder) store(ctx context.Context, base *base, parts []part) (Built, error) {
	c := &content{tag: b.tag, from: origin{Image: b.tag.String(), Dir: b.Dir, Built: b.host.Now().UTC()}}
	built := Built{Image: b.tag.String(), Base: base.name, BaseDigest: base.digest}
	for _, p := range parts {
		one, err := p.describe()
		if err != nil {
			return Built{}, err
		}
		built.Platforms = append(built.Platforms, one)
		if p.sbom != nil {
			c.sboms = append(c.sboms, p.sbom)
		}
	}
	if len(parts) == 1 {
		c.image = parts[0].image
	} else {
		c.index = join(parts)
	}
	digest, err := c.digest()
	if err != nil {
		return Built{}, err
	}
	built.Digest = digest.String()
	dir, err := storeDir(b.host, b.tag)
	if err != nil {
		return Built{}, err
	}
	release, err := lock(ctx, dir+".lock", func() { b.progress("waiting for another command that uses %s", b.tag) })
	if err != nil {
		return Built{}, err
	}
	err = replaceDir(dir, c.writeStored)
	return built, errors.Join(err, release())
}

func (p part) describe() (BuiltPlatform, error) {
	digest, err := p.image.Digest()
	if err != nil {
		return BuiltPlatform{}, err
	}
	out := BuiltPlatform{Platform: platformName(p.platform), Digest: digest.String()}
	if out.Size, err = totalSize(p.image); err != nil || p.sbom == nil {
		return out, err
	}
	digest, err = p.sbom.Digest()
	out.SBOM = digest.String()
	return out, err
}

// totalSize is what a push uploads of an image, in bytes.
func totalSize(img v1.Image) (int64, error) {
	n, err := img.Size()
	if err != nil {
		return 0, err
	}
	m, err := img.Manifest()
	if err != nil {
		return 0, err
	}
	n += m.Config.Size
	for _, l := range m.Layers {
		n += l.Size
	}
	return n, nil
}

func (c *content) digest() (v1.Hash, error) {
	if c.index != nil {
		return c.index.Digest()
	}
	return c.image.Digest()
}

// write writes an OCI image layout to the directory dir: the image under its
// name, and the SBOMs as manifests that refer to it.
func (c *content) write(dir string) error {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// The first key is the specification's, the second the one containerd and
	// docker load know the whole name by.
	named := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": c.tag.TagStr(),
		"io.containerd.image.name":          canonical(c.tag),
	})
	if c.index != nil {
		err = path.AppendIndex(c.index, named)
	} else {
		err = path.AppendImage(c.image, named)
	}
	for _, s := range c.sboms {
		if err == nil {
			err = path.AppendImage(s)
		}
	}
	return err
}

func (c *content) writeStored(dir string) error {
	if err := c.write(dir); err != nil {
		return err
	}
	data, err := json.MarshalIndent(c.from, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, originFile), append(data, '\n'), 0o644)
}

// canonical is a name with its registry, as everybody but the library writes
// that of Docker Hub.
func canonical(ref name.Reference) string {
	if rest, ok := strings.CutPrefix(ref.Name(), name.DefaultRegistry+"/"); ok {
		return "docker.io/" + rest
	}
	return ref.Name()
}

// openStored takes the image of that name out of the store. It stays locked
// until release is called.
func openStored(ctx context.Context, h host.Host, tag name.Tag, builder string, say func(string)) (c *content, release func() error, err error) {
	dir, err := storeDir(h, tag)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, originFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, notStored(h, tag, builder)
	}
	release, err = lock(ctx, dir+".lock", func() { say(fmt.Sprintf("waiting for another command that uses %s", tag)) })
	if err != nil {
		return nil, nil, err
	}
	if c, err = readStored(dir, tag); err != nil {
		err = clierr.WithHint(fmt.Errorf("read %s from the store: %w", tag, err), fmt.Sprintf("build it again with '%s --image %s'", builder, tag))
		return nil, nil, errors.Join(err, release())
	}
	return c, release, nil
}

// foreign says where an image comes from that was not built in this directory;
// "" for one that was. Links may give the directory more than one path.
func (c *content) foreign(h host.Host) string {
	from, _ := os.Stat(c.from.Dir) // nil, and no directory's, where it is gone
	here, _ := os.Stat(h.Dir)
	if c.from.Dir == h.Dir || os.SameFile(from, here) {
		return ""
	}
	return fmt.Sprintf("%s was built from another project, %s", c.tag, c.from.Dir)
}

// readStored is the reverse of writeStored.
func readStored(dir string, tag name.Tag) (*content, error) {
	c, err := readLayout(dir)
	if err != nil {
		return nil, err
	}
	c.tag = tag
	data, err := os.ReadFile(filepath.Join(dir, originFile))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &c.from); err != nil {
		return nil, fmt.Errorf("%s: %w", originFile, err)
	}
	return c, nil
}

// readLayout reads the first image of an OCI layout, with its SBOMs: the images
// behind it.
func readLayout(dir string) (*content, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	c := &content{}
	for i, d := range manifest.Manifests {
		switch {
		case i == 0 && d.MediaType.IsIndex():
			c.index, err = index.ImageIndex(d.Digest)
		case i == 0:
			c.image, err = index.Image(d.Digest)
		case d.MediaType.IsImage():
			var s v1.Image
			s, err = index.Image(d.Digest)
			c.sboms = append(c.sboms, s)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.index == nil && c.image == nil {
		return nil, errors.New("there is no image in it")
	}
	return c, nil
}

// imageBuilder is the command that builds most images of the store.
const imageBuilder = "mysdk image build"

// notStored is the error for an image that is not there, with what is.
func notStored(h host.Host, tag name.Tag, builder string) error {
	names := storedNames(h)
	hint := fmt.Sprintf("build it with '%s --image %s'", builder, tag)
	if near := clierr.Closest(tag.String(), names); near != "" {
		hint = fmt.Sprintf("did you mean --image %s?", near)
	} else if len(names) > 0 {
		hint += ", or name one of these with --image: " + strings.Join(names, ", ")
	}
	return clierr.Failedf(hint, "no image %s has been built", tag)
}

func storedNames(h host.Host) []string {
	root, err := storeRoot(h)
	if err != nil {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(root, "*", originFile))
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, f := range files {
		var from origin
		// What cannot be read is no image that could be named.
		if data, err := os.ReadFile(f); err == nil && json.Unmarshal(data, &from) == nil {
			names[from.Image] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// newName is where something is made that is to get the name path. It is the
// same every time, so that nothing piles up.
func newName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".mysdk-new")
}

// replaceDir fills a new directory and puts it in the place of dir. dir is
// there as it was, or complete, at any time but for the moment between two
// renames.
func replaceDir(dir string, fill func(tmp string) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp := newName(dir)
	if err := os.RemoveAll(tmp); err != nil { // of a process that was killed
		return err
	}
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	fresh, old := filepath.Join(tmp, "new"), filepath.Join(tmp, "old")
	if err := fill(fresh); err != nil {
		return err
	}
	was := os.Rename(dir, old)
	if was != nil && !errors.Is(was, fs.ErrNotExist) {
		return was
	}
	err = os.Rename(fresh, dir)
	if err != nil && was == nil {
		err = errors.Join(err, os.Rename(old, dir))
	}
	return err
}
