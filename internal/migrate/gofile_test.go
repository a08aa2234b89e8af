package migrate

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// passCase is a file before and after some passes. Where imports or code are
// to stay as they are, those wanted are empty.
type passCase struct{ imports, code, wantImports, want string }

// runPasses makes the passes on each file, and holds that a second time there
// is nothing to do.
func runPasses(t *testing.T, tests map[string]passCase, passes ...pass) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Helper()
			src := wrap(t, test.imports, test.code)
			got, err := transform("p.go", []byte(src), passes...)
			if err != nil {
				t.Fatal(err)
			}
			if test.wantImports == "" {
				test.wantImports = test.imports
			}
			if test.want == "" {
				test.want = test.code
			}
			wantImports, wantCode := halves(t, wrap(t, strings.TrimPrefix(test.wantImports, "none"), test.want))
			imports, code := halves(t, string(got))
			if d := cmp.Diff(wantImports, imports); d != "" {
				t.Errorf("imports (-want +got):\n%s", d)
			}
			if d := cmp.Diff(wantCode, code); d != "" {
				t.Errorf("code (-want +got):\n%s", d)
			}
			again, err := transform("p.go", got, passes...)
			if d := cmp.Diff(string(got), string(again)); d != "" || err != nil {
				t.Errorf("a second time it changed again (%v):\n%s", err, d)
			}
		})
	}
}

// halves are the imports of a file, as path and name, and the code behind them.
func halves(t *testing.T, src string) (imports map[string]string, code string) {
	t.Helper()
	f, err := parseGo("p.go", []byte(src))
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	imports = map[string]string{}
	end := f.tree.Name.End()
	for _, d := range f.tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			break
		}
		end = g.End()
		for _, s := range g.Specs {
			spec := s.(*ast.ImportSpec)
			p, _ := strconv.Unquote(spec.Path.Value)
			imports[p] = ""
			if spec.Name != nil {
				imports[p] = spec.Name.Name
			}
		}
	}
	return imports, strings.TrimSpace(src[f.offset(end):])
}

func TestLocalName(t *testing.T) {
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
		if got := localName(&ast.ImportSpec{}, importPath); got != want {
			t.Errorf("%s is called %s, want %s", importPath, got, want)
		}
	}
	if got := localName(&ast.ImportSpec{Name: ast.NewIdent("x")}, "context"); got != "x" {
		t.Errorf("with a name it is called %s", got)
	}
}

// TestRemoveLines holds what goes along with a node, and what stays.
func TestRemoveLines(t *testing.T) {
	gone := func(f *goFile) {
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "gone" {
				f.removeLines(fn)
			} else if ok && fn.Body != nil {
				for _, s := range fn.Body.List {
					if strings.HasPrefix(f.text(s), "gone(") {
						f.removeLines(s)
					}
				}
			}
		}
	}
	runPasses(t, map[string]passCase{
		"with the comment above":     {code: "// gone is away.\n// It really is.\nfunc gone() {}\n\n// stay stays.\nfunc stay() {}", want: "// stay stays.\nfunc stay() {}"},
		"a comment that stands off":  {code: "// A word on all.\n\nfunc gone() {}\n\nfunc stay() {}", want: "// A word on all.\n\nfunc stay() {}"},
		"a statement":                {code: "func f() {\n\ta()\n\tgone(1)\n\tb()\n}", want: "func f() {\n\ta()\n\tb()\n}"},
		"with the comment behind":    {code: "func f() {\n\ta()\n\tgone(1) // for now\n\tb()\n}", want: "func f() {\n\ta()\n\tb()\n}"},
		"first of several on a line": {code: "func f() { gone(1); b() }", want: "func f() { b() }"},
		"last of several on a line":  {code: "func f() { b(); gone(1) }", want: "func f() { b() }"},
		"alone in its braces":        {code: "func f() { gone(1) }", want: "func f() {}"},
		"over several lines":         {code: "func f() {\n\tgone(\n\t\t1,\n\t)\n\tb()\n}", want: "func f() {\n\tb()\n}"},
	}, gone)
}

func TestNeed(t *testing.T) {
	add := func(importPath, name string) pass {
		return func(f *goFile) {
			call := f.tree.Decls[len(f.tree.Decls)-1].(*ast.FuncDecl).Body.List[0].(*ast.ExprStmt).X.(*ast.CallExpr)
			if len(call.Args) == 0 {
				f.insert(call.Lparen+1, f.need(importPath, name)+".X")
			}
		}
	}
	for name, test := range map[string]struct{ src, path, name, want string }{
		"no imports": {"package p\n\nfunc f() { g() }\n", "context", "", "package p\n\nimport \"context\"\n\nfunc f() { g(context.X) }\n"},
		"one import": {"package p\n\nimport \"fmt\"\n\nfunc f() { g(); fmt.Print() }\n", "context", "", "package p\n\nimport \"fmt\"\nimport \"context\"\n\nfunc f() { g(context.X); fmt.Print() }\n"},
		"there under another name": {"package p\n\nimport c \"context\"\n\nfunc f() { g(); c.TODO() }\n", "context", "",
			"package p\n\nimport c \"context\"\n\nfunc f() { g(c.X); c.TODO() }\n"},
		"name is taken": {"package p\n\nimport (\n\t\"example.com/meta\"\n)\n\nfunc f() { g(); meta.X() }\n", apiMeta, "",
			"package p\n\nimport (\n\t\"example.com/meta\"\n\tk8smeta \"k8s.io/apimachinery/pkg/api/meta\"\n)\n\nfunc f() { g(k8smeta.X); meta.X() }\n"},
		"groups": {"package p\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/x\"\n)\n\nfunc f() { g(); fmt.Print(x.X) }\n", metaV1, "metav1",
			"package p\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/x\"\n\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n)\n\nfunc f() { g(metav1.X); fmt.Print(x.X) }\n"},
		"build tag": {"//go:build e2e\n// +build e2e\n\n// Package p is one.\npackage p\n\nfunc f() { g() }\n", "context", "",
			"//go:build e2e\n// +build e2e\n\n// Package p is one.\npackage p\n\nimport \"context\"\n\nfunc f() { g(context.X) }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := transform("p.go", []byte(test.src), add(test.path, test.name))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestUntouched holds that a file without anything old keeps its bytes, even
// where it is not formatted.
func TestUntouched(t *testing.T) {
	for name, src := range map[string]string{
		"not formatted": "package p\nimport \"fmt\"\nfunc  f( ) { fmt.Print( 1 ) }",
		"generics":      "package p\n\ntype Set[T comparable] map[T]struct{}\n\nfunc (s Set[T]) List(ctx, opts, list any) {}\n",
		"build tag":     "//go:build linux && !e2e\n\npackage p\n\nvar List = 1\n",
		"blank import":  "package p\n\nimport _ \"k8s.io/client-go/plugin/pkg/client/auth\"\n",
		"dot import":    "package p\n\nimport . \"github.com/onsi/gomega\"\n\nvar _ = Expect\n",
		"unused import": "package p\n\nimport \"fmt\"\n",
		"embed":         "package p\n\nimport _ \"embed\"\n\n//go:embed x.txt\nvar x string\n",
		"other client":  "package p\n\nimport \"example.com/client\"\n\nvar o client.ListOptionFunc = client.UseListOptions(1)\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := transform("p.go", []byte(src), append(commonPasses(nil), oldWatches, (&controller{}).reconcilerPass, callPass, suites)...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(src, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestTodoOnce(t *testing.T) {
	mark := func(f *goFile) {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				f.todo(call, "%s is old", f.text(call.Fun))
			}
			return true
		})
	}
	runPasses(t, map[string]passCase{
		"one":            {code: "func f() {\n\ta()\n}", want: "func f() {\n\t// TODO(migrate): a is old\n\ta()\n}"},
		"two on a line":  {code: "func f() {\n\ta(b())\n}", want: "func f() {\n\t// TODO(migrate): a is old\n\t// TODO(migrate): b is old\n\ta(b())\n}"},
		"below comments": {code: "func f() {\n\t// So it is.\n\ta()\n}", want: "func f() {\n\t// So it is.\n\t// TODO(migrate): a is old\n\ta()\n}"},
	}, mark)
}
