package project

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/afero"

	"github.com/example/mysdk/internal/fileset"
)

// overlay is a project directory that can be written to without changing it.
type overlay struct {
	fs     afero.Fs // what plugins read and write
	base   afero.Fs // the directory, read-only
	memory afero.Fs // what was written
}

// newOverlay lays an empty memory over dir; an empty dir is an empty directory.
func newOverlay(dir string) overlay {
	base := afero.NewMemMapFs()
	if dir != "" {
		base = afero.NewBasePathFs(afero.NewOsFs(), dir)
	}
	base = afero.NewReadOnlyFs(base)
	memory := afero.NewMemMapFs()
	return overlay{fs: afero.NewCopyOnWriteFs(base, memory), base: base, memory: memory}
}

// set returns the files in memory. Those that the directory does not have are
// marked New, so that nobody else's file is written over between now and then.
func (o overlay) set(isNew bool) (fileset.Set, error) {
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
		return out.Put(name, fileset.File{Data: data, Mode: info.Mode().Perm() | 0o644, New: isNew || !exists})
	})
	return out, err
}
