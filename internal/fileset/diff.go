package fileset

import (
	"bytes"
	"fmt"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff returns the change from the tree to s as a unified diff, empty when
// there is none. Paths carry the a/ and b/ of git, and a file that becomes
// executable its header. Of binary files one line says that they differ, as git
// does.
func (t Tree) Diff(s Set) ([]byte, error) {
	var out bytes.Buffer
	for _, name := range s.Paths() {
		f, _ := s.Get(name)
		info, err := t.lstat(name)
		if err != nil {
			return nil, err
		}
		from, to, data := "a/"+name, "b/"+name, f.Data
		var old []byte
		if info == nil {
			from = "/dev/null"
		} else if old, err = t.FS.ReadFile(t.path(name)); err != nil {
			return nil, err
		}
		switch {
		case f.Removed:
			to, data = "/dev/null", nil
		case info == nil && f.Mode&executable != 0:
			fmt.Fprintf(&out, "diff --git a/%s b/%s\nnew file mode 100755\n", name, name)
		case info != nil && wantedMode(info, f) != info.Mode().Perm():
			fmt.Fprintf(&out, "diff --git a/%s b/%s\nold mode 100644\nnew mode 100755\n", name, name)
		}
		if binary(old) || binary(data) {
			fmt.Fprintf(&out, "Binary files %s and %s differ\n", from, to)
			continue
		}
		// The line "diff a b" comes first: patch and git apply want only the names and the hunks.
		_, rest, _ := bytes.Cut(diff.Diff(from, old, to, data), []byte("\n"))
		out.Write(rest)
	}
	return out.Bytes(), nil
}

// binary says whether a file is no text, by git's rule.
func binary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }
