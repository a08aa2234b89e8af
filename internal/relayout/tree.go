package relayout

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
)

// Tree is the files of a project, with changes that are not on disk yet.
type Tree struct {
	files   host.Files
	root    string
	own     []string // directories of the project even if a module of its own has them
	changed fileset.Set
	names   []string // what is on disk, listed once
	// aside is what names leaves out in the directories that it is from, such as
	// hidden files and links: regular files, which can move, are true.
	aside map[string]bool
}

// NewTree is the project in the directory root, absolute. Directories in own belong to
// it even if they are, or are in, a Go module of their own.
func NewTree(files host.Files, root string, own ...string) *Tree {
	return &Tree{files: files, root: root, own: own}
}

// Read returns a file's content and whether there is one.
func (t *Tree) Read(name string) ([]byte, bool, error) {
	data, err := fileset.Tree{FS: t.files, Root: t.root}.Read(t.changed, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read %s: %w", name, err)
	}
	return data, true, nil
}

// Write changes a file in memory.
func (t *Tree) Write(name string, data []byte) error {
	return t.changed.Put(name, fileset.File{Data: data})
}

// Move changes a file in memory and gives it another name, at which there
// must be none.
func (t *Tree) Move(from, to string, data []byte) error {
	f := fileset.File{Data: data, New: true, From: from}
	if info, err := t.files.Lstat(filepath.Join(t.root, filepath.FromSlash(from))); err == nil {
		f.Mode = info.Mode().Perm()
	}
	if err := t.changed.Put(to, f); err != nil {
		return err
	}
	return t.Remove(from)
}

// Create writes a file in memory at a name at which there must be none.
func (t *Tree) Create(name string, data []byte) error {
	return t.changed.Put(name, fileset.File{Data: data, New: true})
}

// Remove takes a file away in memory.
func (t *Tree) Remove(name string) error {
	return t.changed.Put(name, fileset.File{Removed: true})
}

// Set is what was changed.
func (t *Tree) Set() fileset.Set { return t.changed.Clone() }

// Names lists the regular files of the project, sorted: those of the module,
// without hidden and vendored directories, other modules and what tools put
// into bin and node_modules.
func (t *Tree) Names() ([]string, error) {
	if t.names == nil {
		t.aside = map[string]bool{}
		if err := t.walk(""); err != nil {
			return nil, err
		}
	}
	out := map[string]bool{}
	for _, name := range t.names {
		out[name] = true
	}
	for _, name := range t.changed.Paths() {
		out[name] = true
		if f, _ := t.changed.Get(name); f.Removed {
			delete(out, name)
		}
	}
	return slices.Sorted(maps.Keys(out)), nil
}

func (t *Tree) walk(dir string) error {
	entries, err := t.files.ReadDir(filepath.Join(t.root, filepath.FromSlash(dir)))
	if err != nil {
		return fmt.Errorf("list %s: %w", path.Join(".", dir), err)
	}
	isOwn := dir == "" || slices.ContainsFunc(t.own, func(own string) bool { return strings.HasPrefix(own+"/", dir+"/") })
	if !isOwn && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "go.mod" }) {
		t.aside[dir] = false
		return nil
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		outside := strings.HasPrefix(e.Name(), ".") || e.IsDir() && (e.Name() == "vendor" || e.Name() == "node_modules" || name == "bin")
		switch {
		case e.Name() == ".DS_Store" || strings.HasPrefix(e.Name(), ".mysdk-"): // nobody's
		case outside || !e.IsDir() && !e.Type().IsRegular():
			t.aside[name] = e.Type().IsRegular()
		case e.IsDir():
			if err := t.walk(name); err != nil {
				return err
			}
		default:
			t.names = append(t.names, name)
		}
	}
	return nil
}

// packages are the directories with Go files, as the go command sees them.
func (t *Tree) packages() (map[string]bool, error) {
	names, err := t.Names()
	out := map[string]bool{}
	for _, name := range names {
		if dir := path.Dir(name); path.Ext(name) == ".go" && !notGo.MatchString(dir) {
			out[dir] = true
		}
	}
	return out, err
}

// notGo matches directories that the go command takes for no packages.
var notGo = lazy.Delayed(`(^|/)(testdata|_[^/]*)(/|$)`)

// EachGo calls visit with every Go file of the project, sorted.
func (t *Tree) EachGo(visit func(name string, src []byte) error) error {
	names, err := t.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if path.Ext(name) != ".go" {
			continue
		}
		src, ok, err := t.Read(name)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := visit(name, src); err != nil {
			return err
		}
	}
	return nil
}
