package migrate

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMarksAboveStrings holds that marks stand above strings of several lines,
// not in them.
func TestMarksAboveStrings(t *testing.T) {
	const mark = "\t// TODO(migrate): g\n"
	for name, test := range map[string]struct{ body, want string }{
		"in a string":      {"\tf(`a\nb`, g())\n", mark + "\tf(`a\nb`, g())\n"},
		"in two":           {"\tf(`a\nb`, `c\nd`, g())\n", mark + "\tf(`a\nb`, `c\nd`, g())\n"},
		"behind a string":  {"\tf(`a\nb`)\n\tg()\n", "\tf(`a\nb`)\n" + mark + "\tg()\n"},
		"on its own line":  {"\tf(`a\nb`,\n\t\tg())\n", "\tf(`a\nb`,\n\t" + mark + "\t\tg())\n"},
		"in front of one":  {"\tf(g(), `a\nb`)\n", mark + "\tf(g(), `a\nb`)\n"},
		"marked already":   {mark + "\tf(`a\nb`, g())\n", mark + "\tf(`a\nb`, g())\n"},
		"no string at all": {"\tg()\n", mark + "\tg()\n"},
	} {
		t.Run(name, func(t *testing.T) {
			const head = "package p\n\nfunc x() {\n"
			got, err := transform("a.go", []byte(head+test.body+"}\n"), func(f *goFile) {
				ast.Inspect(f.Tree, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok && callee(call) == "g" {
						f.todo(call, "g")
					}
					return true
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(head+test.want+"}\n", string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestImportsWithoutName holds that a package is imported by a name where it is
// imported without one.
func TestImportsWithoutName(t *testing.T) {
	for _, local := range []string{".", "_"} {
		for _, also := range []string{"", "import \"fmt\"\n"} {
			src := "package p\n\n" + also + "import " + local + " \"" + metaV1 + "\"\n\nvar x = old\n"
			got, err := transform("a.go", []byte(src), func(f *goFile) {
				ast.Inspect(f.Tree, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && id.Name == "old" {
						f.Replace(id, f.Need(metaV1, "metav1")+".Now()")
					}
					return true
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"metav1 \"" + metaV1 + "\"", local + " \"" + metaV1 + "\"", "var x = metav1.Now()"} {
				if !strings.Contains(string(got), want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		}
	}
	f, err := parseGo("a.go", []byte("package p\n\nimport (\n\t_ \"a.b/c\"\n\td \"a.b/c\"\n)\n"))
	if err != nil || f.ImportName("a.b/c") != "d" {
		t.Errorf("got %q, %v", f.ImportName("a.b/c"), err)
	}
}
