package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/gzip"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/registry"
)

// OpenOptions say which image to open.
type OpenOptions struct {
	registry.Access
	Image   string
	Offline bool // ask no registry
	// RegistryFirst takes the image of a tag with a registry from there, and warns
	// where the one in the store is another. That is taken, with a warning, if there is
	// no such image or no answer, unless RegistryOnly.
	RegistryFirst, RegistryOnly bool
	Progress                    func(string)
	Warn                        func(string)
	// Roots are the paths in the image to read, for its labels: a file, or a
	// directory with all that is below it. Nil is everything.
	Roots func(labels map[string]string) []string
}

// Contents are the files of an image, with its configuration.
type Contents struct {
	Digest string // of the image's manifest, or of the index it stands in; empty for an archive of plain files
	// Project is the directory of the project that it was built from, for one of
	// the store.
	Project  string
	Platform string // operating system and architecture of what is in it, such as linux/amd64
	Labels   map[string]string
	Files    Files
}

// ErrNotHere is that of an image which is not in the store, where no registry may be
// asked.
var ErrNotHere = errors.New("is not on this machine")

// Open reads the files of an image: of that in the store of this machine, else
// of that in its registry. Of one for several platforms it takes that for
// linux on this machine's architecture, else the first.
func Open(ctx context.Context, h host.Host, o OpenOptions) (*Contents, error) {
	ref, err := parseRef(o.Image, httpOption(o.UseHTTP)...)
	if err != nil {
		return nil, err
	}
	c, err := openLocal(ctx, h, ref, &o)
	// A name of one word is that of an image of this machine.
	first := o.RegistryFirst && !o.Offline && split(o.Image).digest == "" && strings.Contains(o.Image, "/")
	switch {
	case !first && (c != nil || err != nil):
		return c, err
	case o.Offline:
		return nil, clierr.Failedf("leave --offline out, or build the image here", "%s %w", o.Image, ErrNotHere)
	}
	found, absent, err := pull(ctx, ref, &o)
	switch {
	case absent && !o.RegistryOnly && c != nil:
		orNothing(o.Warn)(fmt.Sprintf("using the image %s of this machine: %v", o.Image, err))
		return c, nil
	case err == nil && c != nil && c.Digest != found.Digest:
		orNothing(o.Warn)(fmt.Sprintf("using the image %[1]s of the registry, and not the other one on this machine: to use that, push it first with 'mysdk image push %[1]s'", o.Image))
	}
	return found, err
}

// pull reads the files of an image in its registry. absent is an error that says that
// there is no such image, or no answer.
func pull(ctx context.Context, ref name.Reference, o *OpenOptions) (c *Contents, absent bool, err error) {
	orNothing(o.Progress)("pulling " + ref.String())
	found, err := remoteContent(ctx, ref, o.Access)
	if err == nil {
		c, err = found.contents(o.Roots)
	}
	return c, ctx.Err() == nil && isAbsent(err), explain(ctx, err, "pull "+o.Image, ref.Context())
}

// remoteContent asks a registry for an image.
func remoteContent(ctx context.Context, ref name.Reference, access registry.Access) (*content, error) {
	desc, err := remote.Get(ref, access.Options(ctx)...)
	if err != nil {
		return nil, err
	}
	c := &content{}
	if desc.MediaType.IsIndex() {
		c.index, err = desc.ImageIndex()
	} else {
		c.image, err = desc.Image()
	}
	return c, err
}

// openLocal looks into the store; nil is not there. A name with a digest
// stands for the stored image of its tag, or of any without one, that has the digest.
func openLocal(ctx context.Context, h host.Host, ref name.Reference, o *OpenOptions) (*Contents, error) {
	parts := split(o.Image)
	digest := parts.digest
	parts.digest = ""
	names := []string{parts.join()}
	if digest != "" && parts.tag == "" {
		names = storedNames(h)
	}
	for _, n := range names {
		tag, err := parseTag(n)
		if err != nil {
			return nil, err
		}
		if tag.Context().Name() != ref.Context().Name() {
			continue
		}
		if c, err := openTag(ctx, h, tag, digest, o); c != nil || err != nil {
			return c, err
		}
	}
	return nil, nil //nolint:nilnil // not in the store: the registry may have it
}

// openTag is openLocal for the image of a tag, which must have the digest unless that is
// empty.
func openTag(ctx context.Context, h host.Host, tag name.Tag, digest string, o *OpenOptions) (*Contents, error) {
	dir, err := storeDir(h, tag)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, originFile)); err != nil {
		return nil, nil //nolint:nilerr,nilnil // not in the store
	}
	stored, release, err := openStored(ctx, h, tag, imageBuilder, orNothing(o.Progress))
	if err != nil {
		return nil, err
	}
	c, err := stored.contents(o.Roots)
	if err = errors.Join(err, release()); err != nil {
		return nil, fmt.Errorf("read %s from the store: %w", tag, err)
	}
	if digest != "" && digest != c.Digest {
		return nil, nil //nolint:nilnil // another one than was asked for
	}
	c.Project = stored.from.Dir
	return c, nil
}

// contents reads the files of the image that suits this machine best.
func (c *content) contents(roots func(map[string]string) []string) (*Contents, error) {
	digest, err := c.digest()
	if err != nil {
		return nil, err
	}
	img := c.image
	if c.index != nil {
		if img, err = registry.Pick(c.index); err != nil {
			return nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	out := &Contents{Digest: digest.String(), Platform: config.OS + "/" + config.Architecture, Labels: config.Config.Labels}
	var wanted []string
	if roots != nil {
		wanted = roots(out.Labels)
	}
	files := mutate.Extract(img)
	out.Files, err = registry.Files(files, wanted, registry.FilesLimit)
	return out, errors.Join(err, files.Close())
}

// IsLayout reports whether a directory is an OCI image layout.
func IsLayout(dir string) bool {
	_, err := os.Stat(path.Join(dir, "oci-layout"))
	return err == nil
}

// OpenLayout reads the files of the image in an OCI layout directory, such as
// 'mysdk image save --oci-layout' writes.
func OpenLayout(dir string, roots func(map[string]string) []string) (*Contents, error) {
	c, err := layoutContents(dir, roots)
	if err != nil {
		return nil, clierr.WithHint(fmt.Errorf("read the image in %s: %w", dir, err), "save it again with 'mysdk image save --oci-layout'")
	}
	return c, nil
}

func layoutContents(dir string, roots func(map[string]string) []string) (*Contents, error) {
	c, err := readLayout(dir)
	if err != nil {
		return nil, err
	}
	return c.contents(roots)
}

// OpenArchive reads the files of an archive: an image as 'mysdk image save' or
// 'docker save' writes it, an OCI image layout in a tar file, or plain files,
// which count from the directory that holds the files or directories named in
// marks. Each may be compressed by gzip.
func OpenArchive(h host.Host, file string, roots func(map[string]string) []string, marks ...string) (*Contents, error) {
	data, err := h.Files.ReadFile(h.Path(file))
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	c, err := archiveContents(data, roots, marks, registry.FilesLimit)
	if err != nil {
		return nil, clierr.WithHint(fmt.Errorf("read the archive %s: %w", file, err),
			"it has to be a tar file of an image, as 'mysdk image save' writes, or of a directory")
	}
	return c, nil
}

// archiveContents tells by its files what an archive is: an OCI layout, an image as
// 'docker save' writes it, or a plain directory that was packed.
func archiveContents(data []byte, roots func(map[string]string) []string, marks []string, limit int64) (*Contents, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(zip, limit))
		}
		if err != nil {
			return nil, err
		}
	}
	files, err := registry.Files(bytes.NewReader(data), nil, limit)
	if err != nil {
		return nil, fmt.Errorf("it is not a tar file: %w", err)
	}
	switch {
	case files["oci-layout"] != nil && files["index.json"] != nil:
		return unpackedLayout(files, roots)
	case files["manifest.json"] != nil:
		img, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, nil)
		if err != nil {
			return nil, err
		}
		return (&content{image: img}).contents(roots)
	}
	root, err := rootOf(files, marks)
	return &Contents{Files: Files(files).Sub(root)}, err
}

// rootOf is the directory, nearest to the top, with the first of the marks that
// there is; "" where there is none.
func rootOf(files Files, marks []string) (string, error) {
	for _, m := range marks {
		roots := map[string]int{} // with the depth of each
		for file := range files {
			if at, _, ok := strings.Cut("/"+file+"/", "/"+m+"/"); ok {
				roots[strings.TrimPrefix(at, "/")] = strings.Count(at, "/")
			}
		}
		if len(roots) == 0 {
			continue
		}
		top := slices.Min(slices.Collect(maps.Values(roots)))
		maps.DeleteFunc(roots, func(_ string, depth int) bool { return depth > top })
		names := slices.Sorted(maps.Keys(roots))
		if len(names) > 1 {
			return "", clierr.Failedf("unpack it and name one of them, or pack only one", "there are several bundles in it: %s", strings.Join(names, ", "))
		}
		return names[0], nil
	}
	return "", nil
}

// unpackedLayout reads the image of an OCI layout, which the library takes from a
// directory, without a look at the digests.
func unpackedLayout(files Files, roots func(map[string]string) []string) (c *Contents, err error) {
	for name, data := range files {
		want, ok := strings.CutPrefix(name, "blobs/sha256/")
		if ok && fmt.Sprintf("%x", sha256.Sum256(data)) != want {
			return nil, fmt.Errorf("the blob sha256:%s is broken", want)
		}
	}
	dir, err := os.MkdirTemp("", "mysdk-image-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, files.FS()); err != nil {
		return nil, err
	}
	return layoutContents(dir, roots)
}
