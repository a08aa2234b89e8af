package generate

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStripBodies(t *testing.T) {
	tests := map[string]struct{ src, want string }{
		"a function":         {"package a\nfunc f() { x() }\nvar a = 1\n", "package a\nfunc f() {     }\nvar a = 1\n"},
		"lines stay":         {"func f() {\n\tx()\n}\n", "func f() {\n    \n}\n"},
		"a method":           {"func (a *A) f(b int) (c error) {y}\n", "func (a *A) f(b int) (c error) { }\n"},
		"types in signature": {"func f(a struct{}) interface{} {y}\n", "func f(a struct{}) interface{} { }\n"},
		"a struct result":    {"func f() struct{ A int } {y}\n", "func f() struct{ A int } { }\n"},
		"type parameters":    {"func f[T interface{ ~int }](t T) {y}\n", "func f[T interface{ ~int }](t T) { }\n"},
		"no body":            {"func f()\n\ntype A struct{ B int }\n", "func f()\n\ntype A struct{ B int }\n"},
		"braces in strings":  {"func f() {\"}\" + `}` + '}' + \"\\\"}\"}\nvar a = `{`\n", "func f() {" + strings.Repeat(" ", 23) + "}\nvar a = `{`\n"},
		"braces in comments": {"func f() {// }\n/* } */}\nvar a int // {\n", "func f() {    \n       }\nvar a int // {\n"},
		"func in a string":   {"var a = `\nfunc f() {\n`\nvar b = map[int]int{1: 2}\n", "var a = `\nfunc f() {\n`\nvar b = map[int]int{1: 2}\n"},
		"a function value":   {"var a = func() { x() }\n", "var a = func() { x() }\n"},
		"not formatted":      {"  func f() { x() }\n", "  func f() { x() }\n"},
		"open brace":         {"func f() {\n", "func f() {\n"},
		"open string":        {"func f() { `\n", "func f() { `\n"},
		"open quote":         {"func f() { \"\\", "func f() { \"\\"},
		"too many braces":    {"func f() { } }\n", "func f() { } }\n"},
		"nothing":            {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(stripBodies([]byte(tt.src)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sameDeclarations reports how the declarations and comments of a file change
// by stripping; "" when they do not.
func sameDeclarations(src []byte) string {
	full, err := parser.ParseFile(token.NewFileSet(), "a.go", src, parser.ParseComments)
	if err != nil {
		return ""
	}
	bare, err := parser.ParseFile(token.NewFileSet(), "a.go", stripBodies(src), parser.ParseComments)
	if err != nil {
		return err.Error()
	}
	return cmp.Diff(outline(full), outline(bare))
}

// outline is a file without function bodies, as text, followed by its comments.
func outline(f *ast.File) string {
	var bodies []*ast.BlockStmt
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			bodies = append(bodies, fn.Body)
			fn.Body = nil
		}
	}
	var comments []string
	for _, g := range f.Comments {
		inside := false
		for _, b := range bodies {
			inside = inside || b.Pos() < g.Pos() && g.Pos() < b.End()
		}
		if !inside {
			for _, c := range g.List {
				comments = append(comments, c.Text)
			}
		}
	}
	f.Comments = nil
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), f); err != nil {
		return err.Error()
	}
	return b.String() + "\n" + strings.Join(comments, "\n")
}

// TestStripReal strips packages that generators meet, and the parser's own
// package, which is full of brackets in strings.
func TestStripReal(t *testing.T) {
	stripped := 0
	for _, pkg := range []string{"go/parser", "encoding/json", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/api/core/v1"} {
		p, err := build.Default.Import(pkg, ".", build.FindOnly)
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pkg, files, err)
		}
		for _, name := range files {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(src) > 1<<20 && testing.Short() {
				continue // core/v1 has files of megabytes
			}
			if diff := sameDeclarations(src); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
			if bytes.Contains(src, []byte("\nfunc ")) && bytes.Equal(src, stripBodies(src)) {
				t.Errorf("%s: nothing is stripped (%s)", name, runtime.Version())
			}
			stripped++
		}
	}
	if stripped < 20 {
		t.Errorf("only %d files", stripped)
	}
}

func FuzzStripBodies(f *testing.F) {
	f.Add("package a\n\nfunc f(a struct{}) interface{} {\n\treturn `}` + \"}\" // }\n}\n\ntype T struct{}\n")
	f.Add("package a\nfunc (t T[K]) f[A any]() (b func() int) { switch { case '}': } }\nvar x = []int{1}\n")
	f.Fuzz(func(t *testing.T, src string) {
		if diff := sameDeclarations([]byte(src)); diff != "" {
			t.Error(diff)
		}
	})
}
