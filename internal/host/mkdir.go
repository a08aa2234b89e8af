package host

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// MkdirAll makes a directory and those above it where they are missing.
func MkdirAll(files Files, dir string, mode fs.FileMode) error {
	err := files.Mkdir(dir, mode)
	if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := MkdirAll(files, parent, mode); err != nil {
			return err
		}
		err = files.Mkdir(dir, mode)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
