package image

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Files are the files of an image, or such to make one of, in memory: clean
// slash-separated paths without a leading slash, and what is there. It is a
// read-only file system, in which a directory is what a path implies.
type Files map[string][]byte

var (
	_ fs.ReadDirFS  = Files(nil)
	_ fs.ReadFileFS = Files(nil)
	_ fs.StatFS     = Files(nil)
)

// Sub is what lies below dir, with paths relative to it.
func (f Files) Sub(dir string) Files {
	dir = strings.Trim(path.Clean("/"+dir), "/")
	if dir == "" {
		return f
	}
	below := Files{}
	for name, data := range f {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			below[rest] = data
		}
	}
	return below
}

// ReadFile implements fs.ReadFileFS.
func (f Files) ReadFile(name string) ([]byte, error) {
	data, ok := f[name]
	if !ok {
		return nil, f.missing("read", name)
	}
	return slices.Clone(data), nil
}

// Stat implements fs.StatFS.
func (f Files) Stat(name string) (fs.FileInfo, error) {
	if data, ok := f[name]; ok {
		return fileInfo{name: path.Base(name), size: int64(len(data))}, nil
	}
	if !f.isDir(name) {
		return nil, f.missing("stat", name)
	}
	return fileInfo{name: path.Base(name), dir: true}, nil
}

// ReadDir implements fs.ReadDirFS.
func (f Files) ReadDir(name string) ([]fs.DirEntry, error) {
	if !f.isDir(name) {
		return nil, f.missing("read", name)
	}
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	found := map[string]fileInfo{}
	for file, data := range f {
		rest, ok := strings.CutPrefix(file, prefix)
		if !ok {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		found[first] = fileInfo{name: first, dir: deeper, size: int64(len(data))}
	}
	var entries []fs.DirEntry
	for _, info := range found {
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Open implements fs.FS.
func (f Files) Open(name string) (fs.File, error) {
	info, err := f.Stat(name)
	if err != nil {
		return nil, err
	}
	opened := &openFile{info: info, Reader: bytes.NewReader(f[name])}
	if info.IsDir() {
		opened.entries, err = f.ReadDir(name)
	}
	return opened, err
}

func (f Files) isDir(name string) bool {
	if name == "." {
		return true
	}
	if !fs.ValidPath(name) {
		return false
	}
	for file := range f {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

func (f Files) missing(op, name string) error {
	err := fs.ErrNotExist
	if !fs.ValidPath(name) {
		err = fs.ErrInvalid
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// fileInfo is a file or a directory as it is in every image made here.
type fileInfo struct {
	name string
	size int64
	dir  bool
}

// Name implements fs.FileInfo.
func (i fileInfo) Name() string { return i.name }

// Size implements fs.FileInfo. A directory has none.
func (i fileInfo) Size() int64 {
	if i.dir {
		return 0
	}
	return i.size
}

// Mode implements fs.FileInfo.
func (i fileInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | dirMode
	}
	return fileMode
}

// ModTime implements fs.FileInfo: nothing here has a time.
func (i fileInfo) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (i fileInfo) IsDir() bool { return i.dir }

// Sys implements fs.FileInfo.
func (i fileInfo) Sys() any { return nil }

// openFile is an open file or directory.
type openFile struct {
	*bytes.Reader
	info    fs.FileInfo
	entries []fs.DirEntry
}

// Stat implements fs.File.
func (o *openFile) Stat() (fs.FileInfo, error) { return o.info, nil }

// Close implements fs.File.
func (o *openFile) Close() error { return nil }

// Read implements fs.File.
func (o *openFile) Read(p []byte) (int, error) {
	if o.info.IsDir() {
		return 0, &fs.PathError{Op: "read", Path: o.info.Name(), Err: errors.New("it is a directory")}
	}
	return o.Reader.Read(p)
}

// ReadDir implements fs.ReadDirFile.
func (o *openFile) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := o.entries
	if n > 0 {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		rest = rest[:min(n, len(rest))]
	}
	o.entries = o.entries[len(rest):]
	return rest, nil
}
