package generate

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
)

// tree is the project as a change would leave it: the disk, with the overlay
// laid over it. Names are slash-separated and relative to the root.
type tree struct {
	root    string // absolute
	overlay fileset.Set
	added   map[string][]entry // by directory: what the overlay puts there
}

// entry is a file or directory in a directory.
type entry struct {
	name string
	dir  bool
	link bool // to a directory; dir is false
}

// newTree lays the overlay over the directory root. The disk is read when it
// is asked for; the overlay is indexed by directory now, so that directories
// that exist in it only can be listed.
func newTree(root string, overlay fileset.Set) *tree {
	t := &tree{root: root, overlay: overlay, added: map[string][]entry{}}
	for _, name := range overlay.Paths() {
		if f, _ := overlay.Get(name); f.Removed {
			continue
		}
		dir := false
		for name != "." {
			parent := path.Dir(name)
			t.added[parent] = append(t.added[parent], entry{name: path.Base(name), dir: dir})
			name, dir = parent, true
		}
	}
	return t
}

func (t *tree) abs(name string) string {
	return filepath.Join(t.root, filepath.FromSlash(name))
}

// rel is the name of the absolute path p, and whether it lies below the root.
func (t *tree) rel(p string) (string, bool) {
	r, err := filepath.Rel(t.root, p)
	if err != nil || !filepath.IsLocal(r) {
		return "", false
	}
	return filepath.ToSlash(r), true
}

// read returns the content of a file, or an error that is fs.ErrNotExist.
func (t *tree) read(name string) ([]byte, error) {
	return fileset.Tree{FS: host.OSFiles{}, Root: t.root}.Read(t.overlay, path.Clean(name))
}

func (t *tree) exists(name string) bool {
	if f, ok := t.overlay.Get(path.Clean(name)); ok {
		return !f.Removed
	}
	info, err := os.Stat(t.abs(name))
	return err == nil && info.Mode().IsRegular()
}

// list returns what is in a directory, sorted by name. Links to directories are
// apart, as the go command leaves them out of its patterns, and imports from them.
func (t *tree) list(dir string) ([]entry, error) {
	onDisk, err := os.ReadDir(t.abs(dir))
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || t.added[dir] == nil) {
		return nil, err
	}
	out := slices.Clone(t.added[dir])
	for _, e := range onDisk {
		name := path.Join(dir, e.Name())
		if f, ok := t.overlay.Get(name); ok && f.Removed {
			continue
		}
		link := false
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			info, err := os.Stat(t.abs(name))
			if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
				continue
			}
			link = info.IsDir()
		case !e.IsDir() && !e.Type().IsRegular():
			continue
		}
		out = append(out, entry{e.Name(), e.IsDir(), link})
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(out, func(a, b entry) bool { return a.name == b.name }), nil
}

// OpenForRead is read in the form that go/build and controller-tools ask for: it
// implements genall.InputRule. The path may be absolute or relative to the root.
func (t *tree) OpenForRead(p string) (io.ReadCloser, error) {
	name := filepath.ToSlash(p)
	if filepath.IsAbs(p) {
		var below bool
		if name, below = t.rel(p); !below {
			return os.Open(p)
		}
	}
	data, err := t.read(name)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// removedSource takes the place of a Go file that the overlay removes: the go
// command's overlay as golang.org/x/tools builds it can replace files only.
const removedSource = "//go:build ignore\n\npackage removed\n"

// goOverlay is the overlay in the form that the go command takes: the files
// that decide about packages, by absolute path.
func (t *tree) goOverlay() map[string][]byte {
	out := map[string][]byte{}
	for _, name := range t.overlay.Paths() {
		f, _ := t.overlay.Get(name)
		switch base := path.Base(name); {
		case f.Removed && path.Ext(base) == ".go":
			out[t.abs(name)] = []byte(removedSource)
		case f.Removed: // a go.mod that goes away cannot be shown to the go command
		case path.Ext(base) == ".go", base == "go.mod", base == "go.sum":
			if onDisk, err := os.ReadFile(t.abs(name)); err != nil || !bytes.Equal(onDisk, f.Data) {
				out[t.abs(name)] = f.Data
			}
		}
	}
	return out
}
