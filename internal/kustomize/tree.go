package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/example/mysdk/internal/host"
)

// tree is a read-only filesys.FileSystem: the disk with a set laid over it.
type tree struct {
	root  string // the source's directory, absolute and without symbolic links
	files host.Files
	over  map[string]overlaid // by absolute path
	dirs  map[string]bool     // directories that the overlay's files need
}

// overlaid is what the overlay has at a path.
type overlaid struct {
	data    []byte
	removed bool
}

var _ filesys.FileSystem = (*tree)(nil)

func newTree(src Source) (*tree, error) {
	root, err := filepath.EvalSymlinks(src.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the project directory: %w", err)
	}
	t := &tree{root: root, files: src.Files, over: map[string]overlaid{}, dirs: map[string]bool{}}
	for _, name := range src.Overlay.Paths() {
		f, _ := src.Overlay.Get(name)
		full := filepath.Join(root, filepath.FromSlash(name))
		t.over[full] = overlaid{data: f.Data, removed: f.Removed}
		for dir := filepath.Dir(full); !f.Removed && len(dir) > len(root); dir = filepath.Dir(dir) {
			t.dirs[dir] = true
		}
		if !f.Removed {
			t.dirs[root] = true
		}
	}
	return t, nil
}

// unrestricted reports whether the project lets kustomizations name files outside
// of their directories.
func (t *tree) unrestricted() bool {
	makefile, err := t.ReadFile(filepath.Join(t.root, "Makefile"))
	return err == nil && bytes.Contains(makefile, []byte("LoadRestrictionsNone"))
}

// rel is the path for messages: relative to the project, with slashes.
func (t *tree) rel(path string) string {
	r, err := filepath.Rel(t.root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(r)
}

// resolve follows the symbolic links of a path that is on disk.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path) // in the overlay alone, or nowhere
}

// IsDir implements filesys.FileSystem.
func (t *tree) IsDir(path string) bool {
	path = resolve(path)
	if t.dirs[path] {
		return true
	}
	info, err := t.files.Lstat(path)
	return err == nil && info.IsDir()
}

// Exists implements filesys.FileSystem.
func (t *tree) Exists(path string) bool {
	path = resolve(path)
	if o, ok := t.over[path]; ok {
		return !o.removed
	}
	if t.dirs[path] {
		return true
	}
	_, err := t.files.Lstat(path)
	return err == nil
}

// ReadFile implements filesys.FileSystem.
func (t *tree) ReadFile(path string) ([]byte, error) {
	path = resolve(path)
	if o, ok := t.over[path]; ok {
		if o.removed {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return slices.Clone(o.data), nil
	}
	return t.files.ReadFile(path)
}

// ReadDir implements filesys.FileSystem.
func (t *tree) ReadDir(path string) ([]string, error) {
	path = resolve(path)
	names := map[string]bool{}
	entries, err := t.files.ReadDir(path)
	if err != nil && !t.dirs[path] {
		return nil, err
	}
	for _, e := range entries {
		names[e.Name()] = true
	}
	for full, o := range t.over {
		if filepath.Dir(full) == path {
			names[filepath.Base(full)] = !o.removed
		}
	}
	for dir := range t.dirs {
		if filepath.Dir(dir) == path && dir != path {
			names[filepath.Base(dir)] = true
		}
	}
	var list []string
	for name, there := range names {
		if there {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list, nil
}

// CleanedAbs implements filesys.FileSystem.
func (t *tree) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.root, path)
	}
	path = resolve(path)
	if t.IsDir(path) {
		return filesys.ConfirmedDir(path), "", nil
	}
	if !t.Exists(path) {
		return "", "", fmt.Errorf("no file or directory %s", t.rel(path))
	}
	return filesys.ConfirmedDir(filepath.Dir(path)), filepath.Base(path), nil
}

// Glob implements filesys.FileSystem for patterns in a path's last element,
// the only ones that a kustomization has a use for.
func (t *tree) Glob(pattern string) ([]string, error) {
	dir, last := filepath.Split(pattern)
	names, err := t.ReadDir(filepath.Clean(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		ok, err := filepath.Match(last, name)
		if err != nil {
			return nil, err
		}
		if ok && !strings.HasPrefix(name, ".") {
			found = append(found, filepath.Join(dir, name))
		}
	}
	return found, nil
}

// errReadOnly answers every call that would change the tree.
func errReadOnly(path string) error {
	return &fs.PathError{Op: "write", Path: path, Err: errors.ErrUnsupported}
}

// Create implements filesys.FileSystem; it always fails.
func (t *tree) Create(path string) (filesys.File, error) { return nil, errReadOnly(path) }

// Mkdir implements filesys.FileSystem; it always fails.
func (t *tree) Mkdir(path string) error { return errReadOnly(path) }

// MkdirAll implements filesys.FileSystem; it always fails.
func (t *tree) MkdirAll(path string) error { return errReadOnly(path) }

// RemoveAll implements filesys.FileSystem; it always fails.
func (t *tree) RemoveAll(path string) error { return errReadOnly(path) }

// WriteFile implements filesys.FileSystem; it always fails.
func (t *tree) WriteFile(path string, _ []byte) error { return errReadOnly(path) }

// Open implements filesys.FileSystem; it always fails. Builds read whole files.
func (t *tree) Open(path string) (filesys.File, error) { return nil, errReadOnly(path) }

// Walk implements filesys.FileSystem; it always fails. Builds do not walk.
func (t *tree) Walk(path string, _ filepath.WalkFunc) error { return errReadOnly(path) }
