package image

import (
	"io/fs"
	"path"
	"strings"
	"testing/fstest"
)

// Files are the files of an image, or such to make one of, in memory: clean
// slash-separated paths without a leading slash, and what is there.
type Files map[string][]byte

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

// FS is a read-only file system of the files, in which a directory is what a path
// implies.
func (f Files) FS() fs.FS {
	out := fstest.MapFS{}
	for name, data := range f {
		out[name] = &fstest.MapFile{Data: data, Mode: fileMode}
	}
	return out
}
