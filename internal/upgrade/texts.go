package upgrade

import (
	"bytes"
	"strings"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/relayout"
)

// texts are the files of a project with lines that end in LF, whatever they
// end in on disk: a checkout on Windows has CRLF, and would otherwise have
// nothing in common with any scaffold. What is written back has the ends that
// the file has.
type texts struct{ *relayout.Tree }

// Read is that of relayout.Tree. A reject is no such text: the lines of its
// patch end as those of the file that it is for, the others in LF.
func (t texts) Read(name string) ([]byte, bool, error) {
	data, there, err := t.Tree.Read(name)
	if strings.HasSuffix(name, RejectSuffix) {
		return data, there, err
	}
	return lf(data), there, err
}

// Write is that of relayout.Tree. A file that has become what it was keeps its
// bytes.
func (t texts) Write(name string, data []byte) error {
	if strings.HasSuffix(name, RejectSuffix) {
		return t.Tree.Write(name, data)
	}
	was, there, err := t.Tree.Read(name)
	if err != nil {
		return err
	}
	if there && bytes.Equal(lf(was), data) {
		return nil
	}
	return t.Tree.Write(name, t.ended(name, data))
}

// EachGo is that of relayout.Tree.
func (t texts) EachGo(visit func(name string, src []byte) error) error {
	return t.Tree.EachGo(func(name string, src []byte) error { return visit(name, lf(src)) })
}

// ended is a text with the line ends that a file has so far.
func (t texts) ended(name string, data []byte) []byte {
	was, _, err := t.Tree.Read(name)
	if err != nil || !endsInCRLF(was) {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
}

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

// lfFiles are files that are read as texts has them.
type lfFiles struct{ host.Files }

// ReadFile implements host.Files.
func (f lfFiles) ReadFile(name string) ([]byte, error) {
	data, err := f.Files.ReadFile(name)
	return lf(data), err
}

// onDisk are the project's files as they are before the change, as texts.
func (p *planner) onDisk() host.Files { return lfFiles{p.Files} }

// reject writes what a merge has left out of a file beside it: a patch for the
// file as it is going to be on disk.
func (p *planner) reject(name string, merged, wanted []byte) error {
	return p.tree.Write(name+RejectSuffix, reject(name, p.tree.ended(name, merged), p.tree.ended(name, wanted)))
}
