package fileset

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff returns the change from the tree to s as a unified diff, empty when
// there is none. Paths carry the a/ and b/ of git.
func (t Tree) Diff(s Set) ([]byte, error) {
	var out bytes.Buffer
	for _, name := range s.Paths() {
		f, _ := s.Get(name)
		old, err := t.FS.ReadFile(t.path(name))
		exists := err == nil
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !isNotDir(err) {
			return nil, err
		}
		from, to, data := "a/"+name, "b/"+name, f.Data
		if !exists {
			from = "/dev/null"
		}
		if f.Removed {
			to, data = "/dev/null", nil
		}
		out.Write(body(diff.Diff(from, old, to, data)))
	}
	return out.Bytes(), nil
}

// body drops the line "diff a b" that diff.Diff puts first: patch and git
// apply want only the two names and the hunks.
func body(d []byte) []byte {
	if !bytes.HasPrefix(d, []byte("diff ")) {
		return d
	}
	_, rest, _ := bytes.Cut(d, []byte("\n"))
	return rest
}
