package goedit_test

import (
	"go/ast"
	"go/format"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

func TestPackageName(t *testing.T) {
	for importPath, want := range map[string]string{
		"context":                                 "context",
		"k8s.io/api/core/v1":                      "v1",
		"github.com/onsi/ginkgo/v2":               "ginkgo",
		"gopkg.in/yaml.v3":                        "yaml",
		"example.com/team/api/v1":                 "v1",
		"sigs.k8s.io/controller-runtime":          "controllerruntime",
		"sigs.k8s.io/controller-runtime/pkg/log":  "log",
		"github.com/operator-framework/api/pkg/x": "x",
		"k8s.io/klog":                             "klog",
		"k8s.io/klog/v2":                          "klog",
		"k8s.io/api/autoscaling/v2":               "v2",
		"example.com/shop/v2":                     "shop",
		"example.com/shop/v1":                     "v1",
		"example.com/shop/apis/v2":                "v2",
		"github.com/acme/shelf/v12":               "shelf",
		"github.com/acme/types/v1":                "v1",
	} {
		if got := goedit.PackageName(importPath); got != want {
			t.Errorf("%s is called %s, want %s", importPath, got, want)
		}
	}
	spec := &ast.ImportSpec{Name: ast.NewIdent("x"), Path: &ast.BasicLit{Value: `"context"`}}
	if got := goedit.LocalName(spec); got != "x" {
		t.Errorf("with a name it is called %s", got)
	}
}

// addX gives each call without arguments the member X of a package.
func addX(importPath, name string) goedit.Pass {
	return func(f *goedit.File) {
		statements(f, func(s ast.Stmt) {
			if call, ok := s.(*ast.ExprStmt).X.(*ast.CallExpr); ok && len(call.Args) == 0 {
				f.Insert(call.Lparen+1, f.Need(importPath, name)+".X")
			}
		})
	}
}

func TestNeed(t *testing.T) {
	const meta, apiMeta = "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/api/meta"
	for name, test := range map[string]struct{ src, path, name, want string }{
		"no imports": {"package p\n\nfunc f() { g() }\n", "context", "", "package p\n\nimport \"context\"\n\nfunc f() { g(context.X) }\n"},
		"one import": {"package p\n\nimport \"fmt\"\n\nfunc f() { g(); fmt.Print(1) }\n", "context", "", "package p\n\nimport \"fmt\"\nimport \"context\"\n\nfunc f() { g(context.X); fmt.Print(1) }\n"},
		"there under another name": {"package p\n\nimport c \"context\"\n\nfunc f() { g(); c.TODO(1) }\n", "context", "",
			"package p\n\nimport c \"context\"\n\nfunc f() { g(c.X); c.TODO(1) }\n"},
		"name is taken": {"package p\n\nimport (\n\t\"example.com/meta\"\n)\n\nfunc f() { g(); meta.X(1) }\n", apiMeta, "",
			"package p\n\nimport (\n\t\"example.com/meta\"\n\tmetapkg \"k8s.io/apimachinery/pkg/api/meta\"\n)\n\nfunc f() { g(metapkg.X); meta.X(1) }\n"},
		"groups": {"package p\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/x\"\n)\n\nfunc f() { g(); fmt.Print(x.X) }\n", meta, "metav1",
			"package p\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/x\"\n\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n)\n\nfunc f() { g(metav1.X); fmt.Print(x.X) }\n"},
		"only others": {"package p\n\nimport (\n\t\"example.com/x\"\n)\n\nfunc f() { g(); x.X(1) }\n", "context", "",
			"package p\n\nimport (\n\t\"context\"\n\n\t\"example.com/x\"\n)\n\nfunc f() { g(context.X); x.X(1) }\n"},
		"only the standard library": {"package p\n\nimport (\n\t\"fmt\"\n)\n\nfunc f() { g(); fmt.Print(1) }\n", "example.com/x", "",
			"package p\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/x\"\n)\n\nfunc f() { g(x.X); fmt.Print(1) }\n"},
		"of the same host": {"package p\n\nimport (\n\t\"example.com/x\"\n\n\t\"example.org/y\"\n)\n\nfunc f() { g(); x.X(y.Y) }\n", "example.com/a", "",
			"package p\n\nimport (\n\t\"example.com/a\"\n\t\"example.com/x\"\n\n\t\"example.org/y\"\n)\n\nfunc f() { g(a.X); x.X(y.Y) }\n"},
		"comments": {"package p\n\nimport (\n\t\"example.com/x\" // for x\n)\n\nfunc f() { g(); x.X(1) }\n", "example.com/z", "",
			"package p\n\nimport (\n\t\"example.com/x\" // for x\n\t\"example.com/z\"\n)\n\nfunc f() { g(z.X); x.X(1) }\n"},
		"a comment on one import": {"package p\n\nimport \"fmt\" // for x\n\nfunc f() { g(); fmt.Print(1) }\n", "context", "",
			"package p\n\nimport \"fmt\" // for x\nimport \"context\"\n\nfunc f() { g(context.X); fmt.Print(1) }\n"},
		"a comment on the package": {"package p // import \"example.com/p\"\n\nfunc f() { g() }\n", "context", "",
			"package p // import \"example.com/p\"\n\nimport \"context\"\n\nfunc f() { g(context.X) }\n"},
		"a comment further on": {"package p; func f() { g() } // f\n", "context", "", "package p\n\nimport \"context\"\n\nfunc f() { g(context.X) } // f\n"},
		"build tag": {"//go:build e2e\n// +build e2e\n\n// Package p is one.\npackage p\n\nfunc f() { g() }\n", "context", "",
			"//go:build e2e\n// +build e2e\n\n// Package p is one.\npackage p\n\nimport \"context\"\n\nfunc f() { g(context.X) }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := goedit.Rewrite("p.go", []byte(test.src), addX(test.path, test.name))
			if d := cmp.Diff(test.want, string(got)); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// TestNeedKeepsNamesApart holds that an import gets no name of the package's
// own, nor that of another import which is needed.
func TestNeedKeepsNamesApart(t *testing.T) {
	f := parse(t, "package p\n")
	f.Declared = map[string]bool{"webhook": true}
	got := []string{f.Need("example.com/webhook", ""), f.Need("example.com/a/v1", ""), f.Need("example.com/b/v1", ""), f.Need("example.com/a/v1", "")}
	if d := cmp.Diff([]string{"webhookpkg", "v1", "v1pkg", "v1"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestModule holds that imports of the project's own module are a group.
func TestModule(t *testing.T) {
	for name, test := range map[string]struct{ imports, want string }{
		"none of its own":    {"\t\"fmt\"\n\n\t\"example.com/x\"\n", "\t\"fmt\"\n\n\t\"example.com/x\"\n\n\t\"example.com/shop/api\"\n"},
		"some of its own":    {"\t\"example.com/x\"\n\n\t\"example.com/shop/z\"\n", "\t\"example.com/x\"\n\n\t\"example.com/shop/z\"\n\t\"example.com/shop/api\"\n"},
		"nothing but own":    {"\t\"example.com/shop/z\"\n", "\t\"example.com/shop/z\"\n\t\"example.com/shop/api\"\n"},
		"standard library":   {"\t\"fmt\"\n", "\t\"fmt\"\n\n\t\"example.com/shop/api\"\n"},
		"under another name": {"\t\"fmt\"\n\n\tother \"example.com/shop/api\"\n", "\t\"fmt\"\n\n\tother \"example.com/shop/api\"\n\t\"example.com/shop/api\"\n"},
		"under its name":     {"\tother \"example.com/shop/api\"\n\t\"example.com/shop/api\"\n", "\tother \"example.com/shop/api\"\n\t\"example.com/shop/api\"\n"},
		"an empty list":      {"", "\n\t\"example.com/shop/api\""},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, "package p\n\nimport ("+"\n"+test.imports+")\n")
			f.Module = "example.com/shop"
			f.AddImport("example.com/shop/api", "api")
			got, err := f.Apply()
			want := "package p\n\nimport (\n" + test.want + ")\n"
			if test.imports == "" {
				want = "package p\n\nimport (\n\t\"example.com/shop/api\"\n)\n"
			}
			if d := cmp.Diff(want, string(got)); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

func TestMember(t *testing.T) {
	f := parse(t, "package p\n\nimport (\n\ta \"example.com/x\"\n\t\"example.com/x\"\n\t. \"example.com/y\"\n)\n\nfunc f(z int) { _, _, _, _ = a.A, x.B, z.C, Y }\n")
	got := map[string]string{}
	statements(f, func(s ast.Stmt) {
		for _, e := range s.(*ast.AssignStmt).Rhs {
			got[f.Text(e)] = f.Member(e, "example.com/x")
			if f.Is(e, "example.com/x", "A") != (f.Text(e) == "a.A") {
				t.Errorf("Is of %s is wrong", f.Text(e))
			}
		}
	})
	if d := cmp.Diff(map[string]string{"a.A": "A", "x.B": "B", "z.C": "", "Y": ""}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for importPath, want := range map[string]string{"example.com/x": "a", "example.com/y": ".", "example.com/z": ""} {
		if got := f.ImportName(importPath); got != want {
			t.Errorf("%s is called %q, want %q", importPath, got, want)
		}
	}
	if f.ImportPath("x") != "example.com/x" || f.ImportPath(".") != "" || f.ImportPath("z") != "" {
		t.Error("ImportPath is wrong")
	}
}

// TestPrune holds which imports go: those that were used and are no more, and
// those that were dropped.
func TestPrune(t *testing.T) {
	const src = "package p\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"unused\"\n\n\t_ \"embed\"\n)\n\nfunc f() { fmt.Print(1) }\n\nvar _ = os.Args\n"
	for name, test := range map[string]struct {
		edit func(*goedit.File)
		want string
	}{
		"the last use":   {func(f *goedit.File) { statements(f, func(s ast.Stmt) { f.Replace(s, "g()") }) }, "package p\n\nimport (\n\t\"os\"\n\t\"unused\"\n\n\t_ \"embed\"\n)\n\nfunc f() { g() }\n\nvar _ = os.Args\n"},
		"dropped":        {func(f *goedit.File) { f.DropImport("os") }, "package p\n\nimport (\n\t\"fmt\"\n\t\"unused\"\n\n\t_ \"embed\"\n)\n\nfunc f() { fmt.Print(1) }\n\nvar _ = os.Args\n"},
		"new, not used":  {func(f *goedit.File) { f.AddImport("example.com/x", ""); f.Append("\nvar y int\n") }, src + "\nvar y int\n"},
		"nothing to do":  {func(*goedit.File) {}, src},
		"behind the end": {func(f *goedit.File) { f.Append("\nvar y int\n") }, src + "\nvar y int\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, src)
			test.edit(f)
			got, err := f.Result()
			if err != nil {
				t.Fatal(err)
			}
			formatted, err := format.Source(got)
			if d := cmp.Diff(test.want, string(formatted)); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
	f := parse(t, "package p\n\nimport (\n\t\"fmt\"\n)\n\nfunc f() { fmt.Print(1) }\n")
	statements(f, func(s ast.Stmt) { f.Replace(s, "g()") })
	if got, err := f.Result(); string(got) != "package p\n\n\nfunc f() { g() }\n" || err != nil {
		t.Errorf("the only import is left: %v\n%s", err, got)
	}
}
