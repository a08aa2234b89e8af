package upgrade

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is needed is imported where it belongs, what is no longer used goes,
// and everything else keeps its bytes.
func TestSource_Imports(t *testing.T) {
	const rest = "\n\nvar x = y.Z\n"
	tests := map[string]struct {
		imports, path, name string // the import declarations, and what is needed
		want                string
	}{
		"none so far":           {"", "context", "context", "\nimport \"context\"\n"},
		"one without brackets":  {"import \"a.b/y\"", "context", "context", "import \"context\"\nimport \"a.b/y\""},
		"empty brackets":        {"import ()", "context", "context", "import \"context\"\nimport ()"},
		"first of its group":    {"import (\n\t\"a.b/y\"\n)", "context", "context", "import (\n\t\"context\"\n\n\t\"a.b/y\"\n)"},
		"standard library":      {"import (\n\t\"os\"\n\n\t\"a.b/y\"\n)", "context", "context", "import (\n\t\"context\"\n\t\"os\"\n\n\t\"a.b/y\"\n)"},
		"beside its host":       {"import (\n\t\"a.b/y\"\n\t\"a.b/z\"\n\n\t\"c.d/e\"\n)", "a.b/new", "new", "import (\n\t\"a.b/y\"\n\t\"a.b/z\"\n\t\"a.b/new\"\n\n\t\"c.d/e\"\n)"},
		"of no host":            {"import (\n\t\"a.b/y\"\n\n\t\"c.d/e\"\n)", "f.g/new", "new", "import (\n\t\"a.b/y\"\n\n\t\"c.d/e\"\n\t\"f.g/new\"\n)"},
		"with another name":     {"import (\n\t\"a.b/y\"\n)", "a.b/server", "metrics", "import (\n\t\"a.b/y\"\n\tmetrics \"a.b/server\"\n)"},
		"imported already":      {"import (\n\tq \"a.b/new\"\n\t\"a.b/y\"\n)", "a.b/new", "new", "import (\n\tq \"a.b/new\"\n\t\"a.b/y\"\n)"},
		"for its effect only":   {"import (\n\t_ \"a.b/new\"\n\t\"a.b/y\"\n)", "a.b/new", "new", "import (\n\t_ \"a.b/new\"\n\t\"a.b/y\"\n\t\"a.b/new\"\n)"},
		"a name that is taken":  {"import (\n\t\"a.b/context\"\n\t\"a.b/y\"\n)", "context", "context", "import (\n\tcontextpkg \"context\"\n\n\t\"a.b/context\"\n\t\"a.b/y\"\n)"},
		"of two that is theirs": {"import (\n\t\"a.b/y\"\n\t// C.\n\t\"c.d/e\" // E.\n)", "c.d/new", "new", "import (\n\t\"a.b/y\"\n\t// C.\n\t\"c.d/e\"\n\t\"c.d/new\" // E.\n)"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := parseSource("a.go", []byte("package a\n"+c.imports+rest))
			local := s.need(c.path, c.name, nil)
			if again := s.need(c.path, "other", nil); again != local {
				t.Errorf("called %s and %s", local, again)
			}
			s.tail = "\nvar _ = " + local + ".Name\n"
			want := "package a\n" + c.want + rest + s.tail
			if d := cmp.Diff(want, string(s.changed())); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// An import goes when the changes took away what it was for, and only then.
func TestSource_Superfluous(t *testing.T) {
	tests := map[string]struct{ src, want string }{
		"in brackets":      {"import (\n\t\"a.b/old\"\n\t\"a.b/y\"\n)\n\nvar x, z = old.X, y.Z\n", "import (\n\t\"a.b/y\"\n)\n\nvar x, z = 1, y.Z\n"},
		"by another name":  {"import (\n\told \"a.b/c\"\n\t\"a.b/y\"\n)\n\nvar x, z = old.X, y.Z\n", "import (\n\t\"a.b/y\"\n)\n\nvar x, z = 1, y.Z\n"},
		"the only one":     {"import (\n\t\"a.b/old\"\n)\n\nvar x = old.X\n", "\nvar x = 1\n"},
		"without brackets": {"import \"a.b/old\"\n\nvar x = old.X\n", "\nvar x = 1\n"},
		"still used":       {"import \"a.b/old\"\n\nvar x, z = old.X, old.Y\n", "import \"a.b/old\"\n\nvar x, z = 1, old.Y\n"},
		"never used":       {"import (\n\t\"a.b/broken\"\n\t\"a.b/old\"\n)\n\nvar x = old.X\n", "import (\n\t\"a.b/broken\"\n)\n\nvar x = 1\n"},
		"a variable":       {"import \"a.b/old\"\n\nfunc f(old T) { x = old.X }\n", "import \"a.b/old\"\n\nfunc f(old T) { x = 1 }\n"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			src := "package a\n\n" + c.src
			s := parseSource("a.go", []byte(src))
			at := strings.Index(src, "old.X")
			s.edits = append(s.edits, edit{at, at + len("old.X"), "1"})
			if d := cmp.Diff("package a\n\n"+c.want, string(s.changed())); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestSource_Unchanged(t *testing.T) {
	if parseSource("a.go", []byte("package")) != nil {
		t.Error("what is not Go was parsed")
	}
	src := "package  a // mine\n"
	if got := string(parseSource("a.go", []byte(src)).changed()); got != src {
		t.Errorf("%q became %q", src, got)
	}
}

func TestSource_Constrained(t *testing.T) {
	for src, want := range map[string]bool{
		"//go:build e2e\n\npackage a\n":                true,
		"// Mine.\n\n//go:build e2e\n\npackage a\n":    true,
		"package a\n\n//go:build e2e\n":                false,
		"// go:build is not needed here.\npackage a\n": false,
	} {
		if got := parseSource("a.go", []byte(src)).constrained(); got != want {
			t.Errorf("%q: %v", src, got)
		}
	}
}

// What would be no Go any more stays as it is, and its first line is named.
func TestRewriter_Result(t *testing.T) {
	const src = "package a\n\nvar x = 1\n\nvar y = f(1)\n"
	tests := map[string]struct {
		text, want string
		notes      []string
	}{
		"Go":    {"2", "package a\n\nvar x = 1\n\nvar y = f(2)\n", nil},
		"no Go": {", 2)", src, []string{"a.go:5: what is here for an older controller-runtime could not be rewritten, and the file stays as it is: see its release notes"}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s, w := parseSource("a.go", []byte(src)), &rewriter{}
			at := strings.Index(src, "1)")
			s.edits = append(s.edits, edit{at, at + 1, c.text})
			if d := cmp.Diff(c.want, string(w.result(s))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.notes, w.said()); d != "" {
				t.Errorf("notes (-want +got):\n%s", d)
			}
		})
	}
}
