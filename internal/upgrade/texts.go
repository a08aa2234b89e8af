package upgrade

import (
	"bytes"
	"strings"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/rewrite/merge3"
)

// lf is a text with all its lines ending in LF, if most of them end in CRLF.
func lf(data []byte) []byte {
	if !endsInCRLF(data) {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}

// endsInCRLF says whether most lines do: what a tool adds to a file of a
// checkout with CRLF ends in LF until git sees it.
func endsInCRLF(data []byte) bool {
	return 2*bytes.Count(data, []byte("\r\n")) > bytes.Count(data, []byte("\n"))
}

// lfFiles are files as a checkout with LF has them: one on Windows has CRLF,
// and would otherwise have nothing in common with any scaffold. A reject is no
// such text: the lines of its patch end as those of the file that it is for,
// the others in LF.
type lfFiles struct{ host.Files }

// ReadFile implements host.Files.
func (f lfFiles) ReadFile(name string) ([]byte, error) {
	data, err := f.Files.ReadFile(name)
	if strings.HasSuffix(name, RejectSuffix) {
		return data, err
	}
	return lf(data), err
}

// onDisk are the project's files as they are before the change.
func (p *planner) onDisk() host.Files { return lfFiles{p.Files} }

// set is the change so far, with the line ends that the files have.
func (p *planner) set() (fileset.Set, error) {
	out, err := fileset.Tree{FS: p.onDisk(), Root: p.Dir}.Changed(p.tree.Set())
	if err != nil {
		return out, err
	}
	for _, name := range out.Paths() {
		f, _ := out.Get(name)
		if f.Removed || strings.HasSuffix(name, RejectSuffix) {
			continue
		}
		f.Data = p.ended(name, f.Data)
		if err := out.Put(name, f); err != nil {
			return out, err
		}
	}
	return out, nil
}

// ended is a text with the line ends that a file has on disk.
func (p *planner) ended(name string, data []byte) []byte {
	was, err := p.Files.ReadFile(p.path(name))
	if err != nil || !endsInCRLF(was) {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
}

// reject writes what a merge has left out of a file beside it: a patch for the
// file as it is going to be on disk.
func (p *planner) reject(name string, merged, wanted []byte) error {
	return p.tree.Write(name+RejectSuffix, merge3.Reject(name, p.ended(name, merged), p.ended(name, wanted)))
}
