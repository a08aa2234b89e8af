package host

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sync/errgroup"
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

// OSFiles is Files on the operating system.
type OSFiles struct{}

// ReadFile implements Files.
func (OSFiles) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }

// WriteFile implements Files.
func (OSFiles) WriteFile(name string, data []byte, mode fs.FileMode) error {
	return os.WriteFile(name, data, mode)
}

// Mkdir implements Files.
func (OSFiles) Mkdir(name string, mode fs.FileMode) error { return os.Mkdir(name, mode) }

// Rename implements Files.
func (OSFiles) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Files.
func (OSFiles) Remove(name string) error { return os.Remove(name) }

// Chmod implements Files.
func (OSFiles) Chmod(name string, mode fs.FileMode) error { return os.Chmod(name, mode) }

// Lstat implements Files.
func (OSFiles) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// ReadDir implements Files.
func (OSFiles) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Program is the file name of a program: Windows runs no others.
func Program(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// syncsAtOnce bounds how many files are synced at a time. A file system writes
// many to its journal in the time of one: the 70 files of an init take 10 ms
// together and 60 ms in turn.
const syncsAtOnce = 32

// Sync implements Files.
func (OSFiles) Sync(names ...string) error {
	var g errgroup.Group
	g.SetLimit(syncsAtOnce)
	for _, name := range names {
		g.Go(func() error { return syncFile(name) })
	}
	return g.Wait()
}

func syncFile(name string) error {
	flag := os.O_RDONLY
	if runtime.GOOS == "windows" {
		if info, err := os.Lstat(name); err != nil || info.IsDir() {
			return err // directories cannot be synced there
		}
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(name, flag, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system without a disk to wait for
	}
	return errors.Join(err, f.Close())
}
