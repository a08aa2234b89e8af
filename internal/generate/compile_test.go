package generate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompile holds that each error of the compiler is told once, with its
// place, and those of tests too.
func TestCompile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":        "module example.com/m\n\ngo 1.24\n\nrequire example.com/old v0.1.0\n\nreplace example.com/old => ./old\n",
		"old/go.mod":    "module example.com/old\n\ngo 1.24\n",
		"old/x/x.go":    "package x\n\nfunc F() int { return \"\" }\n",
		"i/i.go":        "package i\n\nimport \"example.com/old/x\"\n\nvar I = x.F()\n",
		"a/a.go":        "package a\n\nimport \"example.com/m/b\"\n\nfunc F() int { return b.Gone() + missing }\n",
		"a/a_test.go":   "package a\n\nvar _ = F(1)\n",
		"a/x_test.go":   "package a_test\n\nimport \"example.com/m/a\"\n\nvar _ string = a.F()\n",
		"b/b.go":        "package b\n\nimport _ \"example.com/nowhere/c\"\n\nvar A, B = undefined1, undefined2\n",
		"c/c.go":        "package c\n\nvar x = = 1\n",
		"d/ignored.go":  "//go:build ignore\n\npackage d\n\nvar x = missing\n",
		"e/fine.go":     "package e\n\nimport \"example.com/m/a\"\n\nvar X = a.F()\n",
		"f/f.go":        "package f\n\nimport \"example.com/nowhere/d\"\n\nvar F = d.F()\n",
		"cmd/main.go":   "package main\n\nimport \"example.com/m/g\"\n\nfunc main() { println(g.G) }\n",
		"g/g.go":        "package g\n\nimport (\n\t\"example.com/m/h\"\n\t\"example.com/nowhere/d\"\n)\n\nvar G = d.G(h.F, h.Gone)\n",
		"h/h.go":        "package h\n\nimport \"example.com/m/f\"\n\nvar F = f.F\n",
		"old/main.go.x": "package main\n\nvar x = missing\n",
	} {
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Compile(t.Context(), dir, append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off"))
	if err != nil {
		t.Fatal(err)
	}
	want := []CompileError{
		{"a/a.go", 5, 25, "undefined: b.Gone"},
		{"a/a.go", 5, 34, "undefined: missing"},
		{"a/a_test.go", 3, 11, "too many arguments in call to F have (number) want ()"},
		{"a/x_test.go", 5, 16, "cannot use a.F() (value of type int) as string value in variable declaration"},
		{"b/b.go", 3, 10, "no module in go.mod has the package example.com/nowhere/c"},
		{"b/b.go", 5, 12, "undefined: undefined1"},
		{"b/b.go", 5, 24, "undefined: undefined2"},
		{"c/c.go", 3, 9, "expected operand, found '='"},
		{"c/c.go", 3, 13, "expected ';', found 'EOF'"},
		{"f/f.go", 3, 8, "no module in go.mod has the package example.com/nowhere/d"},
		{"g/g.go", 5, 2, "no module in go.mod has the package example.com/nowhere/d"},
		{"g/g.go", 8, 20, "undefined: h.Gone"},
		{"go.mod", 0, 0, "example.com/old v0.1.0 does not compile with the versions of other modules: x.go:3:23: cannot use \"\" (untyped string constant) as int value in return statement"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
