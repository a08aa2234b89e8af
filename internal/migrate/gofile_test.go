package migrate

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
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

// TestNestedModules holds that modules below the root stay as they are, and
// that those whose code would move are refused.
func TestNestedModules(t *testing.T) {
	files := goV3()
	const broken = "package {{ .Name }}\n"
	files["hack/tools/go.mod"], files["hack/tools/tool.go"] = "module example.com/tools\n", broken
	p := mustPlan(t, files)
	for _, name := range []string{"hack/tools/go.mod", "hack/tools/tool.go"} {
		if e, _ := p.entry(name); e.Status != Clean {
			t.Errorf("%s: %+v", name, e)
		}
	}
	expect(t, content(p.Result), map[string][]string{ReportName: {"- hack/tools is a module of its own, and stays as it is"}})

	for name, files := range map[string]map[string]string{"apis": goV3(), "apis/cache/v1": goV3(), "pkg/apis": memcached(t)} {
		files[name+"/go.mod"] = "module example.com/x\n"
		_, err := makePlan(t, files)
		if err == nil || !strings.Contains(err.Error(), name+"/go.mod") || clierr.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIgnoredGo holds that what the go command does not look at is not looked
// at.
func TestIgnoredGo(t *testing.T) {
	const broken = "package {{ .Name }}\n"
	for name, files := range map[string]map[string]string{"v0": memcached(t), "v3": goV3()} {
		t.Run(name, func(t *testing.T) {
			places := []string{"testdata/a.go", "internal/x/testdata/b/c.go", "_old/a.go", ".hidden/a.go", "docs/_a.go", "docs/.a.go"}
			for _, place := range places {
				files[place] = broken
			}
			p := mustPlan(t, files)
			for _, place := range places {
				if e, _ := p.entry(place); e.Status != Clean {
					t.Errorf("%s: %+v", place, e)
				}
			}
		})
	}
	files := goV3()
	files["controllers/cache/testdata/a.go"] = broken
	if e, _ := mustPlan(t, files).entry("internal/controller/cache/testdata/a.go"); e.Status != Clean {
		t.Errorf("what a package's tests read does not go with it: %+v", e)
	}
	files["docs/a.go"] = broken
	if _, err := makePlan(t, files); err == nil || !strings.Contains(err.Error(), "docs/a.go:1:9") {
		t.Errorf("got %v", err)
	}
}

// TestVendored holds that vendored code goes with the go.mod that it is of.
func TestVendored(t *testing.T) {
	files := goV3()
	files["vendor/modules.txt"], files["vendor/x/x.go"] = "# x\n", "package {{"
	p := mustPlan(t, files)
	if e, _ := p.entry("vendor"); e.Status != Dropped {
		t.Errorf("%+v", e)
	}
	for _, name := range []string{"vendor/modules.txt", "vendor/x/x.go"} {
		if f, _ := p.Changes.Get(name); !f.Removed {
			t.Errorf("%s stays", name)
		}
	}
}

// TestOwnReport holds that a page of the user's with the report's name is kept.
func TestOwnReport(t *testing.T) {
	for name, files := range map[string]map[string]string{"v0": memcached(t), "v3": goV3()} {
		t.Run(name, func(t *testing.T) {
			files[ReportName] = "# How we moved\n"
			p := mustPlan(t, files)
			expect(t, content(p.Result), map[string][]string{ReportName + ".before-migrate": {"# How we moved\n"}, ReportName: {"# Migration from", "`MIGRATION.md.before-migrate`: "}})
			n := 0
			for _, e := range p.Files {
				if e.Path == ReportName {
					n++
				}
			}
			if n != 1 {
				t.Errorf("it is listed %d times", n)
			}
			files[ReportName] = "# Migration from the layout of operator-sdk v0.x\n"
			if _, ok := mustPlan(t, files).entry(ReportName + ".before-migrate"); ok {
				t.Error("a report is kept")
			}
		})
	}
}
