package project

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/afero"

	"github.com/example/mysdk/internal/fileset"
)

// overlay is a project directory that can be written to without changing it.
type overlay struct {
	fs     afero.Fs        // what plugins read and write
	base   afero.Fs        // the directory, read-only
	memory afero.Fs        // what was written
	gone   map[string]bool // files of the directory that are not to be seen
}

// directory is that of a project. A path below a file in it is a path at which
// there is nothing, as is one that is gone: plugins ask what exists, and the
// commit says what is in the way.
type directory struct {
	*afero.BasePathFs
	gone map[string]bool
}

func (d directory) Stat(name string) (fs.FileInfo, error) {
	return at(d, "stat", name, d.BasePathFs.Stat)
}

// LstatIfPossible implements afero.Lstater: who walks the project does not follow
// the links in it, but for one that is the project's directory itself.
func (d directory) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	if filepath.Clean(name) == "." {
		info, err := d.Stat(name)
		return info, false, err
	}
	info, err := at(d, "lstat", name, func(string) (fs.FileInfo, error) {
		info, _, err := d.BasePathFs.LstatIfPossible(name)
		return info, err
	})
	return info, true, err
}

func (d directory) Open(name string) (afero.File, error) {
	return at(d, "open", name, d.BasePathFs.Open)
}

func (d directory) OpenFile(name string, flag int, mode fs.FileMode) (afero.File, error) {
	return at(d, "open", name, func(string) (afero.File, error) { return d.BasePathFs.OpenFile(name, flag, mode) })
}

// at calls a function on a name at which there may be something.
func at[T any](d directory, op, name string, call func(string) (T, error)) (none T, err error) {
	if !d.gone[filepath.ToSlash(filepath.Clean(name))] {
		out, err := call(name)
		if !errors.Is(err, syscall.ENOTDIR) {
			return out, err
		}
	}
	return none, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// newOverlay lays an empty memory over dir; an empty dir is an empty directory.
func newOverlay(dir string) overlay {
	o := overlay{memory: afero.NewMemMapFs(), gone: map[string]bool{}}
	under := afero.NewMemMapFs()
	if dir != "" {
		under = directory{afero.NewBasePathFs(afero.NewOsFs(), dir).(*afero.BasePathFs), o.gone}
	}
	o.base = afero.NewReadOnlyFs(under)
	o.fs = afero.NewCopyOnWriteFs(o.base, o.memory)
	return o
}

// set returns the files in memory. isNew decides which are marked New, so that
// nobody else's file is written over between now and then.
func (o overlay) set(isNew func(exists bool) bool) (fileset.Set, error) {
	var out fileset.Set
	err := afero.Walk(o.memory, ".", func(p string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := afero.ReadFile(o.memory, p)
		if err != nil {
			return err
		}
		exists, err := afero.Exists(o.base, p)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(filepath.Clean(p)), "/")
		return out.Put(name, fileset.File{Data: data, Mode: info.Mode().Perm() | 0o644, New: isNew(exists)})
	})
	return out, err
}
