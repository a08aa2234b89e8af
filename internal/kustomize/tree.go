package kustomize

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
)

// tree is the disk with a set laid over it. Of filesys.FileSystem it has what a
// build calls: that asks for files one by one and writes none.
type tree struct {
	filesys.FileSystem // nil

	root  string // the source's directory, absolute and without symbolic links
	files host.Files
	over  map[string]fileset.File // the overlay by absolute path
	dirs  map[string]bool         // directories that the overlay's files need
}

func newTree(src Source) (*tree, error) {
	root, err := filepath.EvalSymlinks(src.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the project directory: %w", err)
	}
	t := &tree{root: root, files: src.Files, over: map[string]fileset.File{}, dirs: map[string]bool{}}
	for _, name := range src.Overlay.Paths() {
		f, _ := src.Overlay.Get(name)
		full := filepath.Join(root, filepath.FromSlash(name))
		t.over[full] = f
		for dir := filepath.Dir(full); !f.Removed && len(dir) > len(root); dir = filepath.Dir(dir) {
			t.dirs[dir] = true
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
		return !o.Removed
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
		if o.Removed {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return slices.Clone(o.Data), nil
	}
	return t.files.ReadFile(path)
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
