package upgrade

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// A text that is made at run time is printed, and is no format.
func TestFormats(t *testing.T) {
	const head = "package e2e\n\nimport \"fmt\"\n\nconst fixed = \"%\"\n\nfunc own() string { return fixed }\n\nfunc f(text string, b []byte) {\n\tlocal := text\n\t"
	tests := map[string]struct{ src, want string }{
		"a call":            {"fmt.Fprintf(w, fmt.Sprintf(\"%d\", 1))", "fmt.Fprint(w, fmt.Sprintf(\"%d\", 1))"},
		"a parameter":       {"fmt.Printf(text)", "fmt.Print(text)"},
		"a variable":        {"x := fmt.Sprintf((local))", "x := fmt.Sprint((local))"},
		"a sum":             {"fmt.Printf(\"a\" + text)", "fmt.Print(\"a\" + text)"},
		"a function":        {"fmt.Printf(own())", "fmt.Print(own())"},
		"bytes":             {"fmt.Printf(string(b))", "fmt.Print(string(b))"},
		"a constant":        {"fmt.Printf(fixed)", "fmt.Printf(fixed)"},
		"a literal":         {"fmt.Printf(\"100%%\")", "fmt.Printf(\"100%%\")"},
		"a sum of literals": {"fmt.Printf(\"a\" + \"%%\")", "fmt.Printf(\"a\" + \"%%\")"},
		"another's":         {"fmt.Printf(unknown)", "fmt.Printf(unknown)"},
		"with arguments":    {"fmt.Printf(text, 1)", "fmt.Printf(text, 1)"},
		"with a list":       {"fmt.Fprintf(w, list...)", "fmt.Fprintf(w, list...)"},
		"only a writer":     {"fmt.Fprintf(w)", "fmt.Fprintf(w)"},
		"another package":   {"log.Printf(text)", "log.Printf(text)"},
		"a conversion":      {"fmt.Printf(string(fixed))", "fmt.Printf(string(fixed))"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := goedit.Parse("e2e_test.go", []byte(head+c.src+"\n}\n"))
			if err != nil {
				t.Fatal(err)
			}
			formats(s)
			got, err := s.Result()
			if d := cmp.Diff(head+c.want+"\n}\n", string(got)); d != "" || err != nil {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Only where the version of the language in go.mod passes the one that refuses
// such formats are calls rewritten.
func TestUpgrade_Formats(t *testing.T) {
	const file, src = "test/e2e/e2e_test.go", "//go:build e2e\n\npackage e2e\n\nimport \"fmt\"\n\nfunc f(text string) { fmt.Printf(text) }\n"
	goLine := regexp.MustCompile(`(?m)^go [0-9.]+$`)
	for was, want := range map[string]bool{"go 1.22.0": true, "go 1.25.0": false} {
		t.Run(was, func(t *testing.T) {
			s, table := otherTool(t, foreignProject)
			s.opts.peers = table
			s.write("go.mod", goLine.ReplaceAllString(s.read("go.mod"), was))
			s.write(file, src)
			p := s.upgrade()
			if changed := s.read(file) != src; changed != want || changed != (p.actions()[file] == Merged) {
				t.Errorf("%s: %s\n%s", p.actions()[file], s.read(file), s.read("go.mod"))
			}
			if p := s.upgrade(); !p.Empty() {
				t.Errorf("the second time: %v", p.Set.Paths())
			}
		})
	}
}
