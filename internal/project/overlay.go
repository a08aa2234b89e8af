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
	fs     afero.Fs // what plugins read and write
	base   afero.Fs // the directory, read-only
	memory afero.Fs // what was written
}

// directory is that of a project, in which a path below a file is a path at
// which there is nothing: plugins ask what exists, and the commit says what is
// in the way.
type directory struct{ afero.Fs }

func (d directory) Stat(name string) (fs.FileInfo, error) {
	info, err := d.Fs.Stat(name)
	return info, nothing("stat", name, err)
}

// LstatIfPossible implements afero.Lstater: who walks the project does not follow
// the links in it, but for one that is the project's directory itself.
func (d directory) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	if filepath.Clean(name) == "." {
		info, err := d.Stat(name)
		return info, false, err
	}
	info, is, err := lstat(d.Fs, name)
	return info, is, nothing("lstat", name, err)
}

// lstat is Lstat where a file system has it: one that wraps another must pass it on.
func lstat(on afero.Fs, name string) (fs.FileInfo, bool, error) {
	if l, ok := on.(afero.Lstater); ok {
		return l.LstatIfPossible(name)
	}
	info, err := on.Stat(name)
	return info, false, err
}

func (d directory) Open(name string) (afero.File, error) {
	f, err := d.Fs.Open(name)
	return f, nothing("open", name, err)
}

func (d directory) OpenFile(name string, flag int, mode fs.FileMode) (afero.File, error) {
	f, err := d.Fs.OpenFile(name, flag, mode)
	return f, nothing("open", name, err)
}

func nothing(op, name string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return err
}

// newOverlay lays an empty memory over dir; an empty dir is an empty directory.
func newOverlay(dir string) overlay {
	base := afero.NewMemMapFs()
	if dir != "" {
		base = directory{afero.NewBasePathFs(afero.NewOsFs(), dir)}
	}
	base = afero.NewReadOnlyFs(base)
	memory := afero.NewMemMapFs()
	return overlay{fs: afero.NewCopyOnWriteFs(base, memory), base: base, memory: memory}
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
