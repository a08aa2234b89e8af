package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/registry"
)

// readLimit is how many bytes of files are taken out of an image. Bundles have
// some megabytes at the most; the largest catalogs some hundred.
const readLimit = 1 << 30

// OpenOptions say which image to open.
type OpenOptions struct {
	registry.Access
	Image    string
	Offline  bool // ask no registry
	Progress func(string)
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

// Open reads the files of an image: of that in the store of this machine, else
// of that in its registry. Of one for several platforms it takes that for
// linux on this machine's architecture, else the first.
func Open(ctx context.Context, h host.Host, o OpenOptions) (*Contents, error) {
	ref, err := parseRef(o.Image, httpOption(o.UseHTTP)...)
	if err != nil {
		return nil, err
	}
	c, err := openLocal(ctx, h, ref, o)
	if c != nil || err != nil {
		return c, err
	}
	if o.Offline {
		return nil, clierr.Failedf("leave --offline out, or build the image here", "%s is not on this machine", o.Image)
	}
	orNothing(o.Progress)("pulling " + ref.String())
	desc, err := remote.Get(ref, o.Options(ctx)...)
	if err != nil {
		return nil, explain(ctx, err, "pull "+o.Image, ref.Context())
	}
	found := &content{}
	if desc.MediaType.IsIndex() {
		found.index, err = desc.ImageIndex()
	} else {
		found.image, err = desc.Image()
	}
	if err == nil {
		c, err = found.contents(o.Roots)
	}
	return c, explain(ctx, err, "pull "+o.Image, ref.Context())
}

// openLocal looks into the store; nil is not there. A name with a digest
// stands for the stored image of its tag if that has the digest.
func openLocal(ctx context.Context, h host.Host, ref name.Reference, o OpenOptions) (*Contents, error) {
	parts := split(o.Image)
	digest := parts.digest
	parts.digest = ""
	tag, err := parseTag(parts.join())
	if err != nil {
		return nil, err
	}
	dir, _, err := storeDir(h, tag)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, originFile)); err != nil {
		return nil, nil //nolint:nilerr,nilnil // not in the store: the registry may have it
	}
	stored, release, err := openStored(ctx, h, tag, imageBuilder, orNothing(o.Progress))
	if err != nil {
		return nil, err
	}
	c, err := stored.contents(o.Roots)
	if err = errors.Join(err, release()); err != nil {
		return nil, fmt.Errorf("read %s from the store: %w", ref, err)
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
		if img, err = c.likeliest(); err != nil {
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
	out.Files, err = readTar(files, wanted, readLimit)
	return out, errors.Join(err, files.Close())
}

// likeliest is the image for linux on this machine's architecture, else the
// first of the index that is for any platform.
func (c *content) likeliest() (v1.Image, error) {
	manifest, err := c.index.IndexManifest()
	if err != nil {
		return nil, err
	}
	found, _ := pick(manifest, v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	for i, d := range manifest.Manifests {
		if found == nil && d.MediaType.IsImage() && (d.Platform == nil || d.Platform.OS != "unknown") {
			found = &manifest.Manifests[i]
		}
	}
	if found == nil {
		return nil, errors.New("there is no image in its index")
	}
	return c.index.Image(found.Digest)
}

// readTar takes the regular files at or below the roots out of an archive. A
// path that leads out of it counts from its root, as everywhere in a container.
func readTar(r io.Reader, roots []string, limit int64) (Files, error) {
	files := Files{}
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		file := strings.Trim(path.Clean("/"+header.Name), "/")
		if header.Typeflag != tar.TypeReg || !fs.ValidPath(file) || file == "." || !below(file, roots) {
			continue
		}
		if limit -= header.Size; limit < 0 {
			return nil, errors.New("there is more in it than in any bundle or catalog")
		}
		if files[file], err = io.ReadAll(archive); err != nil {
			return nil, err
		}
	}
}

// below reports whether the file is one of the roots or below one; no roots
// are everything.
func below(file string, roots []string) bool {
	for _, r := range roots {
		r = strings.Trim(path.Clean("/"+r), "/")
		if r == "" || file == r || strings.HasPrefix(file, r+"/") {
			return true
		}
	}
	return len(roots) == 0
}
