package goedit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

func parse(t *testing.T, src string) *goedit.File {
	t.Helper()
	f, err := goedit.Parse("p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// statements calls do with each statement of each function.
func statements(f *goedit.File, do func(ast.Stmt)) {
	for _, d := range f.Tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			for _, s := range fn.Body.List {
				do(s)
			}
		}
	}
}

func TestParseNamesThePlace(t *testing.T) {
	_, err := goedit.Parse("a/p.go", []byte("package p\n\nfunc {\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "a/p.go:3:6: ") || clierr.HintOf(err) == "" {
		t.Errorf("got %v with the hint %q, want the place and a hint", err, clierr.HintOf(err))
	}
	if _, err := goedit.Rewrite("a/p.go", []byte("package"), func(*goedit.File) {}); err == nil || !strings.HasPrefix(err.Error(), "a/p.go:1:8: ") {
		t.Errorf("Rewrite: got %v, want the place", err)
	}
}

// TestRemoveLines holds what goes along with a node, and what stays.
func TestRemoveLines(t *testing.T) {
	gone := func(f *goedit.File) {
		for _, d := range f.Tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "gone" {
				f.RemoveLines(fn)
			}
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				f.RemoveLines(g)
			}
		}
		statements(f, func(s ast.Stmt) {
			if strings.HasPrefix(f.Text(s), "gone(") {
				f.RemoveLines(s)
			}
		})
	}
	for name, test := range map[string]struct{ code, want string }{
		"with the comment above":     {"// gone is away.\n// It really is.\nfunc gone() {}\n\n// stay stays.\nfunc stay() {}\n", "// stay stays.\nfunc stay() {}\n"},
		"a declaration":              {"// x is one.\nvar x = 1\n\nfunc stay() {}\n", "func stay() {}\n"},
		"a comment that stands off":  {"// A word on all.\n\nfunc gone() {}\n\nfunc stay() {}\n", "// A word on all.\n\nfunc stay() {}\n"},
		"a statement":                {"func f() {\n\ta()\n\tgone(1)\n\tb()\n}\n", "func f() {\n\ta()\n\tb()\n}\n"},
		"with the comment behind":    {"func f() {\n\ta()\n\tgone(1) // for now\n\tb()\n}\n", "func f() {\n\ta()\n\tb()\n}\n"},
		"first of several on a line": {"func f() { gone(1); b() }\n", "func f() { b() }\n"},
		"last of several on a line":  {"func f() { b(); gone(1) }\n", "func f() { b() }\n"},
		"alone in its braces":        {"func f() { gone(1) }\n", "func f() {}\n"},
		"over several lines":         {"func f() {\n\tgone(\n\t\t1,\n\t)\n\tb()\n}\n", "func f() {\n\tb()\n}\n"},
		"without a last newline":     {"func stay() {}\n\nfunc gone() {}", "func stay() {}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := goedit.Rewrite("p.go", []byte("package p\n\n"+test.code), gone)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff("package p\n\n"+test.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestInsertAbove(t *testing.T) {
	for name, test := range map[string]struct{ code, want string }{
		"there":             {"func f() {\n\t// +marker:a\n}\n", "func f() {\n\tx()\n\t// +marker:a\n}\n"},
		"behind other code": {"func f() {\n\ta() // +marker:a\n}\n", "func f() {\n\tx()\n\ta() // +marker:a\n}\n"},
		"twice":             {"// +marker:a\n// +marker:a\n", "\tx()\n// +marker:a\n// +marker:a\n"},
		"not there":         {"func f() {}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, "package p\n"+test.code)
			err := f.InsertAbove("+marker:a", "\tx()\n")
			if test.want == "" {
				if err == nil || err.Error() != `p.go: found no line with "+marker:a"` || clierr.HintOf(err) == "" || f.Edited() {
					t.Errorf("got %v with the hint %q", err, clierr.HintOf(err))
				}
				return
			}
			got, applyErr := f.Apply()
			if d := cmp.Diff("package p\n"+test.want, string(got)); d != "" || err != nil || applyErr != nil {
				t.Errorf("%v, %v (-want +got):\n%s", err, applyErr, d)
			}
		})
	}
}

func TestComment(t *testing.T) {
	mark := func(f *goedit.File) {
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				f.Comment(call, "TODO: "+f.Text(call.Fun)+" is old")
			}
			return true
		})
	}
	for name, test := range map[string]struct{ code, want string }{
		"one":                              {"func f() {\n\ta()\n}\n", "func f() {\n\t// TODO: a is old\n\ta()\n}\n"},
		"two on a line":                    {"func f() {\n\ta(b())\n}\n", "func f() {\n\t// TODO: a is old\n\t// TODO: b is old\n\ta(b())\n}\n"},
		"below comments":                   {"func f() {\n\t// So it is.\n\ta()\n}\n", "func f() {\n\t// So it is.\n\t// TODO: a is old\n\ta()\n}\n"},
		"behind a string of several lines": {"func f() {\n\tx := `1\n2` + a()\n}\n", "func f() {\n\t// TODO: a is old\n\tx := `1\n2` + a()\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := goedit.Rewrite("p.go", []byte("package p\n\n"+test.code), mark)
			if d := cmp.Diff("package p\n\n"+test.want, string(got)); d != "" || err != nil {
				t.Fatalf("%v (-want +got):\n%s", err, d)
			}
			if again, err := goedit.Rewrite("p.go", got, mark); string(again) != string(got) || err != nil {
				t.Errorf("a second time it changed again (%v):\n%s", err, again)
			}
		})
	}
}

// TestOverlap holds that of edits within each other the outer one is made, and
// the other is told or has its turn in the next round.
func TestOverlap(t *testing.T) {
	const src = "package p\n\nvar x = outer(\n\tinner(1),\n)\n"
	renew := func(f *goedit.File) {
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && !strings.HasPrefix(f.Text(call.Fun), "new") {
				f.Replace(call, "new"+f.Text(call))
			}
			return true
		})
	}
	f := parse(t, src)
	renew(f)
	got, err := f.Apply()
	if d := cmp.Diff("package p\n\nvar x = newouter(\n\tinner(1),\n)\n", string(got)); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if d := cmp.Diff([]int{4}, f.Skipped); d != "" {
		t.Errorf("skipped (-want +got):\n%s", d)
	}
	if f.FirstLine() != 3 {
		t.Errorf("the first edit is in line %d, want 3", f.FirstLine())
	}
	got, err = goedit.Rewrite("p.go", []byte(src), renew)
	if d := cmp.Diff("package p\n\nvar x = newouter(\n\tnewinner(1),\n)\n", string(got)); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestDeclaredNames(t *testing.T) {
	tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\nimport \"fmt\"\nvar a, b = 1, 2\ntype (\n\tT[X any] struct{}\n\tU int\n)\nfunc F() {}\nfunc (t *T[X]) M() {}\nfunc (U) N() {}\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range tree.Decls {
		got = append(got, strings.Join(goedit.DeclaredNames(d), " "))
	}
	if d := cmp.Diff([]string{"", "a b", "T U", "F", "T.M", "U.N"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
