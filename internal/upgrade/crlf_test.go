package upgrade

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// crlf gives the files of the project the line ends of a checkout on Windows.
func (s *shop) crlf() {
	s.t.Helper()
	for name, text := range s.files() {
		s.write(name, strings.ReplaceAll(text, "\n", "\r\n"))
	}
}

// A checkout with CRLF is upgraded as one with LF is, and keeps its line ends;
// what is new has LF, which git takes as well.
func TestUpgrade_CRLF(t *testing.T) {
	changes := map[string]func(*shop){
		"untouched": func(*shop) {},
		"merged": func(s *shop) {
			s.edit("Makefile", "IMG ?= controller:latest", "IMG ?= quay.io/me/shop:v1")
			s.edit("config/manager/manager.yaml", "cpu: 10m", "cpu: 20m")
			s.edit("go.mod", "require (\n", "require (\n\texample.com/mine v1.2.3 // mine\n")
			s.edit("cmd/main.go", "func main() {\n", "func mine() {}\n\nfunc main() {\n\tmine()\n")
			s.edit(".gitignore", "\n", "\n/mine\n")
		},
		"conflicts": func(s *shop) { s.edit("cmd/main.go", "\t// The logger comes first.\n", "\t// The logger, mine.\n") },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			s, w := newShop(t), newShop(t)
			change(s)
			change(w)
			w.crlf()
			was := w.files()
			want, got := s.upgrade(), w.upgrade()
			if d := cmp.Diff(want, got, cmp.Comparer(func(a, b *Plan) bool {
				return a.From == b.From && cmp.Equal(a.Files, b.Files) && cmp.Equal(a.Notes, b.Notes)
			})); d != "" {
				t.Errorf("plan (-LF +CRLF):\n%s", d)
			}
			lfFiles, now := s.files(), w.files()
			if d := cmp.Diff(slices.Sorted(maps.Keys(lfFiles)), slices.Sorted(maps.Keys(now))); d != "" {
				t.Errorf("files (-LF +CRLF):\n%s", d)
			}
			for name, text := range now {
				switch _, old := was[name]; {
				case strings.HasSuffix(name, RejectSuffix):
					head, hunk, _ := strings.Cut(text, "@@\n")
					if strings.Contains(head, "\r") || strings.Count(hunk, "\n") != strings.Count(hunk, "\r\n") {
						t.Errorf("%s is no patch for a file with CRLF: %q", name, text)
					}
				case old && strings.Count(text, "\n") != strings.Count(text, "\r\n"), !old && strings.Contains(text, "\r"):
					t.Errorf("%s has other line ends: %q", name, text)
				}
				if d := cmp.Diff(lfFiles[name], strings.ReplaceAll(text, "\r", "")); d != "" {
					t.Errorf("%s (-LF +CRLF):\n%s", name, d)
				}
			}
			if p := w.upgrade(); !p.Empty() {
				t.Errorf("the second time: %v", p.Set.Paths())
			}
		})
	}
}

// A project of another tool is known by its fingerprints also with CRLF.
func TestForeign_CRLF(t *testing.T) {
	s, table := otherTool(t, foreignProject)
	s.opts.peers = table
	want, err := s.opts.New()
	if err != nil {
		t.Fatal(err)
	}
	s.crlf()
	p := s.upgrade()
	if d := cmp.Diff(want.Files, p.Files); d != "" {
		t.Errorf("(-LF +CRLF):\n%s", d)
	}
	if p := s.upgrade(); !p.Empty() {
		t.Errorf("the second time: %v", p.Set.Paths())
	}
}
