package relayout

import (
	"bytes"
	"cmp"
	"path/filepath"
	"strings"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
)

// RejectSuffix ends the names of the files that hold what could not be merged.
const RejectSuffix = ".rej"

// LF are files as a checkout with LF has them: one on Windows has CRLF, and would
// otherwise have nothing in common with any scaffold. A reject is no such text: the
// lines of its patch end as those of the file that it is for, the others in LF.
type LF struct{ host.Files }

// ReadFile implements host.Files.
func (f LF) ReadFile(name string) ([]byte, error) {
	data, err := f.Files.ReadFile(name)
	if strings.HasSuffix(name, RejectSuffix) || !endsInCRLF(data) {
		return data, err
	}
	return inLF(data), err
}

func inLF(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// endsInCRLF says whether most lines do: what a tool adds to a file of a
// checkout with CRLF ends in LF until git sees it. Binary files have no lines.
func endsInCRLF(data []byte) bool {
	return !bytes.ContainsRune(data, 0) && 2*bytes.Count(data, []byte("\r\n")) > bytes.Count(data, []byte("\n"))
}

// Ended is a text with the line ends that the file of that full path has on disk.
func (f LF) Ended(name string, data []byte) []byte {
	was, err := f.Files.ReadFile(name)
	if err != nil || !endsInCRLF(was) {
		return data
	}
	data = inLF(data) // an edit may have kept them
	return bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
}

// Changed is what a set changes in the project in dir, with the line ends that its
// files have.
func (f LF) Changed(set fileset.Set, dir string) (fileset.Set, error) {
	out, err := fileset.Tree{FS: f, Root: dir}.Changed(set)
	if err == nil {
		err = f.End(&out, dir)
	}
	return out, err
}

// End gives the files of a set the line ends that they have in the project in dir.
func (f LF) End(set *fileset.Set, dir string) error {
	for _, name := range set.Paths() {
		file, _ := set.Get(name)
		if file.Removed || strings.HasSuffix(name, RejectSuffix) {
			continue
		}
		from := filepath.Join(dir, filepath.FromSlash(cmp.Or(file.From, name)))
		if was, err := f.Files.ReadFile(from); err == nil && bytes.Equal(inLF(file.Data), inLF(was)) {
			file.Data = was // whatever its lines end in
		} else {
			file.Data = f.Ended(from, file.Data)
		}
		if err := set.Put(name, file); err != nil {
			return err
		}
	}
	return nil
}
