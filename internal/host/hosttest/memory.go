package hosttest

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/afero"

	"github.com/example/mysdk/internal/host"
)

// Memory are files that no disk has, for tests of what reads and writes whole
// projects: creating the files would take half of their time. It knows neither
// permissions nor symbolic links, and makes the directories of what is written.
type Memory struct{ disk afero.Fs }

var _ host.Files = Memory{}

// NewMemory has the files given, by their slash-separated names in dir.
func NewMemory(t testing.TB, dir string, files map[string]string) Memory {
	t.Helper()
	m := Memory{afero.NewMemMapFs()}
	for name, text := range files {
		if err := m.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// Tree maps the files below dir to their contents.
func (m Memory) Tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := afero.Walk(m.disk, dir, func(name string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := m.ReadFile(name)
		out[filepath.ToSlash(strings.TrimPrefix(name, dir+string(filepath.Separator)))] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ReadFile implements host.Files.
func (m Memory) ReadFile(name string) ([]byte, error) {
	if info, err := m.disk.Stat(name); err == nil && info.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR}
	}
	return afero.ReadFile(m.disk, name)
}

// WriteFile implements host.Files.
func (m Memory) WriteFile(name string, data []byte, mode fs.FileMode) error {
	return afero.WriteFile(m.disk, name, data, mode)
}

// Mkdir implements host.Files.
func (m Memory) Mkdir(name string, mode fs.FileMode) error { return m.disk.Mkdir(name, mode) }

// Rename implements host.Files.
func (m Memory) Rename(from, to string) error { return m.disk.Rename(from, to) }

// Remove implements host.Files. As on a disk, a directory must be empty.
func (m Memory) Remove(name string) error {
	if list, err := afero.ReadDir(m.disk, name); err == nil && len(list) > 0 {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOTEMPTY}
	}
	return m.disk.Remove(name)
}

// Chmod implements host.Files.
func (m Memory) Chmod(name string, mode fs.FileMode) error { return m.disk.Chmod(name, mode) }

// Sync implements host.Files.
func (Memory) Sync(...string) error { return nil }

// Lstat implements host.Files.
func (m Memory) Lstat(name string) (fs.FileInfo, error) { return m.disk.Stat(name) }

// ReadDir implements host.Files.
func (m Memory) ReadDir(name string) ([]fs.DirEntry, error) {
	infos, err := afero.ReadDir(m.disk, name)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(infos))
	for i, info := range infos {
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, nil
}
