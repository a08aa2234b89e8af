package upgrade

import (
	"go/ast"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/rewrite/goedit"
	"github.com/example/mysdk/internal/webhookadapter"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// sampleCode is a project of two packages.
func sampleCode(t *testing.T) *code {
	t.Helper()
	c := &code{module: "example.com/shop", packages: map[string]*goPackage{}}
	for name, src := range map[string]string{
		"api/v1/shop.go":   "package v1\n\nimport \"example.com/shop/api/base\"\n\ntype Shop struct {\n\tbase.Base\n\tOwn string\n}\n\nfunc (s *Shop) ValidateUpdate(old any) error { return nil }\n",
		"api/base/base.go": "package base\n\nconst limit, other = 1, 2\n\ntype Base struct{}\n\ntype Text string\n\nfunc (Base) Default() {}\n\nfunc (Base) ValidateCreate() (w, err error) { return nil, nil }\n\nfunc helper() {}\n",
		"api/v1/broken.go": "package v1\n\nfunc {",
	} {
		if added := c.add(name, []byte(src)); added == (name == "api/v1/broken.go") {
			t.Fatalf("%s: %v", name, added)
		}
	}
	return c
}

func TestCode_Declared(t *testing.T) {
	c := sampleCode(t)
	want := map[string]bool{"limit": true, "other": true, "Base": true, "Text": true, "helper": true}
	if d := cmp.Diff(want, c.packages["api/base"].declared); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(webhookadapter.Methods{"Default": 0, "ValidateCreate": 2, "ValidateUpdate": 1}, c.ownMethods(apiType{"api/v1", "Shop"})); d != "" {
		t.Errorf("methods (-want +got):\n%s", d)
	}
	for _, test := range []struct {
		t      apiType
		method string
		want   string
	}{
		{apiType{"api/base", "Base"}, "Default", "api/base/base.go"},
		{apiType{"api/v1", "Shop"}, "ValidateUpdate", "api/v1/shop.go"},
		{apiType{"api/v1", "Shop"}, "Default", "api/v1/shop.go"}, // which is embedded
	} {
		if got := c.home(test.t, test.method).Name; got != test.want {
			t.Errorf("%v: %s is in %s, want %s", test.t, test.method, got, test.want)
		}
	}
}

// An expression is of a type of the project only where the file says so.
func TestCode_TypeOf(t *testing.T) {
	c := sampleCode(t)
	shop, base, none := apiType{"api/v1", "Shop"}, apiType{"api/base", "Base"}, apiType{}
	for expr, want := range map[string]apiType{
		"&v1.Shop{}": shop, "v1.Shop{}": shop, "(&v1.Shop{})": shop, "new(v1.Shop)": shop, "(*v1.Shop)(nil)": shop,
		"&alias.Base{}": base, "param": shop, "local": none, "declared": none, "second": none, "global": none,
		"&v1.Nothing{}": none, "unknown": none, "make(v1.Shop)": none, "f()": none, "1": none,
		"&local.Field{}": none, "result": none, "&Shop{}": none, "[]v1.Shop{}": none, "&a.b.Shop{}": none, "number": none,
	} {
		src := "package main\n\nimport (\n\talias \"example.com/shop/api/base\"\n\t\"example.com/shop/api/v1\"\n\tother \"example.com/other/api/v1\"\n)\n\n" +
			"var global = alias.Base{}\n\nfunc f(param *v1.Shop) {\n\tlocal := &alias.Base{}\n\tvar declared v1.Shop\n\tnumber, second := 1, &v1.Shop{}\n\tresult, err := g()\n\tuse(" + expr + ")\n}\n"
		s, err := goedit.Parse("main.go", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		var got apiType
		var ok bool
		ast.Inspect(s.Tree, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is && len(call.Args) == 1 {
				if id, is := call.Fun.(*ast.Ident); is && id.Name == "use" {
					got, _, ok = c.typeOf(s, call.Args[0])
				}
			}
			return true
		})
		if ok != (want != none) || ok && got != want {
			t.Errorf("%s is %v (%v), want %v", expr, got, ok, want)
		}
	}
}

// A version that did not write the workflow has none that could be merged.
func TestUpgrade_WorkflowBefore(t *testing.T) {
	s := newShop(t)
	s.baseline(func(b Baseline) Baseline {
		tree := templateTree(t)
		delete(tree, "upgrade/"+v4.WorkflowPath+".tmpl")
		b.Templates = tree
		return b
	})
	s.write(v4.WorkflowPath, "name: mine\n")
	p := s.upgrade()
	if s.read(v4.WorkflowPath) != "name: mine\n" || p.actions()[v4.WorkflowPath] != Kept {
		t.Errorf("%v\n%s", p.actions()[v4.WorkflowPath], s.read(v4.WorkflowPath))
	}
	plugin := s.opts
	plugin.Plugin.Templates = fstest.MapFS{"init": {Mode: fs.ModeDir}}
	if err := plugin.WithWorkflow(&Plan{}); err == nil {
		t.Error("a workflow was written of which there is no template")
	}
}

// What would be no Go any more stays as it is, and its first line is named.
func TestRewriter_Result(t *testing.T) {
	const src = "package a\n\nvar x = 1\n\nvar y = f(1)\n"
	tests := map[string]struct {
		text, want string
		notes      []string
	}{
		"Go":    {"f(2)", "package a\n\nvar x = 1\n\nvar y = f(2)\n", nil},
		"no Go": {", 2)", src, []string{"a.go:5: what is here for an older controller-runtime could not be rewritten, and the file stays as it is: see its release notes"}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := goedit.Parse("a.go", []byte(src))
			if err != nil {
				t.Fatal(err)
			}
			w := &rewriter{}
			ast.Inspect(s.Tree, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					s.Replace(call, c.text)
				}
				return true
			})
			if d := cmp.Diff(c.want, string(w.result(s))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.notes, w.said()); d != "" {
				t.Errorf("notes (-want +got):\n%s", d)
			}
		})
	}
}
