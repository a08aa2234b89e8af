package host

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
)

// Replace has fill make a file under a name of its own beside name and renames
// it, so that a reader of name finds the old content or the new and never a
// part of it, whoever else replaces the file at the same time. After a failure
// the old file is there, and nothing else.
func Replace(files Files, name string, fill func(draft string) error) error {
	draft := fmt.Sprintf("%s.%016x.tmp", name, rand.Uint64())
	err := fill(draft)
	if err == nil {
		err = files.Rename(draft, name)
	}
	if err == nil {
		return nil
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok && path.Path == draft {
		path.Path = name // which the user knows
	}
	if gone := files.Remove(draft); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// ReplaceData is Replace with the whole content at hand.
func ReplaceData(files Files, name string, data []byte, mode fs.FileMode) error {
	return Replace(files, name, func(draft string) error { return files.WriteFile(draft, data, mode) })
}
