package image

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/mysdk/internal/host"
)

// Permissions of everything in an image that is made of files: whoever the
// container runs as may read it.
const (
	fileMode = 0o644
	dirMode  = 0o755
)

// FilesOptions say what to put into an image that carries files and no program.
type FilesOptions struct {
	Image     string // its name, with a tag
	Files     Files
	Labels    map[string]string
	CreatedBy string // the command, for the image's history
	Progress  func(string)
}

// BuildFiles makes an image of files, on nothing, and puts it into the store.
// The same files and labels give the same digest, on any machine. It is one for
// linux/amd64, which every registry and runtime takes: what carries nothing to
// run has no platform, but the format wants one.
func BuildFiles(ctx context.Context, h host.Host, o FilesOptions) (Built, error) {
	b := &builder{BuildOptions: BuildOptions{Dir: h.Dir, Image: o.Image, Progress: o.Progress}, host: h}
	var err error
	if b.tag, err = parseTag(o.Image); err != nil {
		return Built{}, err
	}
	if b.epoch, b.dated, err = SourceDate(h); err != nil {
		return Built{}, err
	}
	// A directory for each name, so that two builds do not meet.
	if b.work, err = workDir(h, "files of "+b.tag.Name()); err != nil {
		return Built{}, err
	}
	release, err := lock(ctx, filepath.Join(b.work, "lock"), func() { b.progress("waiting for another build of %s", b.tag) })
	if err != nil {
		return Built{}, err
	}
	made, err := b.copied(o)
	var built Built
	if err == nil {
		built, err = b.store(ctx, &base{name: Scratch}, []part{made})
	}
	return built, errors.Join(err, release())
}

// copied is the image with the files in one layer.
func (b *builder) copied(o FilesOptions) (part, error) {
	l, err := b.layer(filepath.Join(b.work, "files.tar.gz"), o.CreatedBy, "", entriesOf(o.Files))
	if err != nil {
		return part{}, err
	}
	platform := v1.Platform{OS: "linux", Architecture: "amd64"}
	img, err := b.newImage(v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Config: v1.Config{Labels: o.Labels, WorkingDir: "/"},
	}, l)
	return part{platform: platform, labels: o.Labels, image: img}, err
}

// entriesOf are the entries of a layer with the files: each directory before
// what is in it.
func entriesOf(files Files) []entry {
	dirs := map[string]bool{}
	var entries []entry
	for name, data := range files {
		entries = append(entries, entry{name: name, mode: fileMode, data: data})
		for dir := path.Dir(name); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
			entries = append(entries, entry{name: dir + "/", mode: dirMode})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries
}

// Files are the files of an image, or such to make one of, in memory: clean
// slash-separated paths without a leading slash, and what is there.
type Files map[string][]byte

// Sub is what lies below dir, with paths relative to it.
func (f Files) Sub(dir string) Files {
	dir = strings.Trim(path.Clean("/"+dir), "/")
	if dir == "" {
		return f
	}
	below := Files{}
	for name, data := range f {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			below[rest] = data
		}
	}
	return below
}

// FS is a read-only file system of the files, in which a directory is what a path
// implies.
func (f Files) FS() fs.FS {
	out := fstest.MapFS{}
	for name, data := range f {
		out[name] = &fstest.MapFile{Data: data, Mode: fileMode}
	}
	return out
}
