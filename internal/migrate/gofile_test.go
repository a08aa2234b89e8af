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
	end := f.Tree.Name.End()
	for _, d := range f.Tree.Decls {
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
	return imports, strings.TrimSpace(src[f.Offset(end):])
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
			got, err := transform("p.go", []byte(src), append(commonPasses(nil), oldWatches, reconcileContexts, suites)...)
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
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				f.todo(call, "%s is old", f.Text(call.Fun))
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
