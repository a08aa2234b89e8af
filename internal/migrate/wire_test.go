package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRegistered(t *testing.T) {
	tests := map[string]struct {
		code string
		want bool
	}{
		"added":          {"import \"example.com/shop/pkg/controller/cart\"\n\nvar _ = append(Funcs, cart.Add)\n", true},
		"by an alias":    {"import c \"example.com/shop/pkg/controller/cart\"\n\nvar _ = append(Funcs, c.Add)\n", true},
		"not added":      {"import \"example.com/shop/pkg/controller/cart\"\n\nvar _ = cart.Name\n", false},
		"another one":    {"import \"example.com/shop/pkg/controller/till\"\n\nvar _ = append(Funcs, till.Add)\n", false},
		"of the name":    {"import \"example.com/other/pkg/controller/cart\"\n\nvar _ = append(Funcs, cart.Add)\n", false},
		"commented out":  {"// var _ = append(Funcs, cart.Add)\n", false},
		"no Go any more": {"import (\n", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(map[string]string{"pkg/controller/add_cart.go": "package controller\n\n" + test.code})
			if got := m.registered(&controller{dir: "cart"}); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestNotRegistered holds that a controller that the manager did not have is
// not added to it, and that this is told.
func TestNotRegistered(t *testing.T) {
	files := memcached(t)
	delete(files, "pkg/controller/add_memcached.go")
	p := mustPlan(t, files)
	expect(t, content(p.Result), map[string][]string{
		newMain:    {"!SetupWithManager(mgr)", "!controller.Add(mgr)"},
		ReportName: {"The controller of pkg/controller/memcached was not added to the manager, and is not now either."},
	})
}

func TestControllerName(t *testing.T) {
	tests := map[string]struct {
		to   target
		dir  string
		want string
	}{
		"the only one":   {target{"internal/controller", "memcached", "controller"}, "memcached", "controller"},
		"one of several": {target{"internal/controller/cart", "cart", "cart"}, "cart", "cartcontroller"},
		"with a hyphen":  {target{"internal/controller/shop-cart", "cart", "cart"}, "shop-cart", "shopcartcontroller"},
		"with the word":  {target{"internal/controller/cart_controller", "cart", "cart"}, "cart_controller", "cartcontroller"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(nil)
			c := &controller{dir: test.dir}
			m.moves = map[string]target{c.where(): test.to}
			if got := m.controllerName(c); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestSchemes holds what of the functions in pkg/apis goes to the main program.
func TestSchemes(t *testing.T) {
	tests := map[string]struct {
		code  string
		used  []string
		lines []string
		setup string
	}{
		"one's own":         {"import v1 \"example.com/shop/pkg/apis/shop/v1\"\n\nfunc init() { AddToSchemes = append(AddToSchemes, v1.SchemeBuilder.AddToScheme) }\n", nil, nil, ""},
		"one's own by hand": {"import v1 \"example.com/shop/pkg/apis/more/v1\"\n\nfunc init() { AddToSchemes = append(AddToSchemes, v1.AddToScheme) }\n", []string{" example.com/shop/pkg/apis/more/v1"}, []string{"v1.AddToScheme(scheme)"}, ""},
		"of others":         {"import routev1 \"github.com/openshift/api/route/v1\"\n\nfunc init() { AddToSchemes = append(AddToSchemes, routev1.AddToScheme) }\n", []string{"routev1 github.com/openshift/api/route/v1"}, []string{"routev1.AddToScheme(scheme)"}, ""},
		"two at once": {"import (\n\ta \"example.org/a\"\n\tb \"example.org/b\"\n)\n\nfunc init() { AddToSchemes = append(AddToSchemes, a.AddToScheme, b.Builder.AddToScheme) }\n",
			[]string{" example.org/a", " example.org/b"}, []string{"a.AddToScheme(scheme)", "b.Builder.AddToScheme(scheme)"}, ""},
		"the same twice": {"import a \"example.org/a\"\n\nfunc init() { AddToSchemes = append(AddToSchemes, a.AddToScheme, a.AddToScheme) }\n", []string{" example.org/a"}, []string{"a.AddToScheme(scheme)"}, ""},
		"a function": {"func init() { AddToSchemes = append(AddToSchemes, func(s *Scheme) error { return nil }) }\n", nil, nil,
			"\t// TODO(migrate): pkg/apis/add.go:3 added types to the scheme\n\t//\tfunc(s *Scheme) error { return nil }\n"},
		"another list": {"import a \"example.org/a\"\n\nfunc init() { More = append(More, a.AddToScheme) }\n", nil, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := programOf(t, nil)
			p.m.files["pkg/apis/add.go"] = file{data: []byte("package apis\n\n" + test.code)}
			p.m.files["pkg/apis/notes.txt"] = file{data: []byte("x")}
			p.m.apis = []*apiVersion{{dir: "pkg/apis/shop/v1"}}
			if err := p.m.readSchemes(p); err != nil {
				t.Fatal(err)
			}
			var used []string
			for _, spec := range p.used {
				used = append(used, spec.name+" "+spec.path)
			}
			for _, d := range []string{cmp.Diff(test.used, used), cmp.Diff(test.lines, p.schemes), cmp.Diff(test.setup, p.setup)} {
				if d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			}
		})
	}
	p := programOf(t, nil)
	p.m.files["pkg/apis/add.go"] = file{data: []byte("package apis\n\nfunc {\n")}
	if err := p.m.readSchemes(p); err == nil || !strings.Contains(err.Error(), "pkg/apis/add.go:3:6") {
		t.Errorf("got %v, want the position", err)
	}
}

// TestFurtherFuncs holds that everything that pkg/controller adds to the
// manager is still added, and what cannot be is marked.
func TestFurtherFuncs(t *testing.T) {
	const imports = "package controller\n\nimport (\n\t\"example.com/memcached-operator/pkg/controller/memcached\"\n\t\"example.com/memcached-operator/pkg/janitor\"\n)\n\n"
	files := memcached(t)
	files["pkg/controller/add_memcached.go"] = imports + "func init() {\n\tAddToManagerFuncs = append(AddToManagerFuncs, memcached.Add, memcached.AddBackup)\n\tAddToManagerFuncs = append(AddToManagerFuncs, janitor.Start)\n}\n"
	files["pkg/controller/add_sweeper.go"] = "package controller\n\nimport \"example.com/memcached-operator/pkg/controller/sweeper\"\n\nfunc init() {\n\tAddToManagerFuncs = append(AddToManagerFuncs, sweeper.Add)\n}\n"
	files["pkg/controller/sweeper/sweeper.go"] = "package sweeper\n\nfunc Add(any) error { return nil }\n"
	files["pkg/janitor/janitor.go"] = "package janitor\n\nfunc Start(any) error { return nil }\n"
	p := mustPlan(t, files)
	got := content(p.Result)
	expect(t, got, map[string][]string{
		newMain: {
			"if err := controller.AddBackup(mgr); err != nil {\n\t\tsetupLog.Error(err, \"Failed to add to the manager\", \"function\", \"memcached.AddBackup\")\n\t\tos.Exit(1)\n\t}\n",
			"if err := janitor.Start(mgr); err != nil {", "if err := sweepercontroller.Add(mgr); err != nil {", "(&controller.MemcachedReconciler{",
			`"example.com/memcached-operator/pkg/janitor"`, `sweepercontroller "example.com/memcached-operator/internal/controller/sweeper"`, "! controller.Add(mgr)",
		},
	})
	if n := strings.Count(got[newMain], "internal/controller\"\n"); n != 1 {
		t.Errorf("%d imports of one package in\n%s", n, got[newMain])
	}
}

// TestFuncsOfController holds what becomes of functions that cannot be called
// from the new main program.
func TestFuncsOfController(t *testing.T) {
	files := memcached(t)
	files["pkg/controller/add_more.go"] = "package controller\n\nimport \"sigs.k8s.io/controller-runtime/pkg/manager\"\n\nfunc init() {\n\tAddToManagerFuncs = append(AddToManagerFuncs, more, func(manager.Manager) error { return nil })\n}\n\nfunc more(manager.Manager) error { return nil }\n"
	files["pkg/controller/controller.go"] = "package controller\n\nimport (\n\t\"sigs.k8s.io/controller-runtime/pkg/manager\"\n\n\t\"example.com/memcached-operator/pkg/janitor\"\n)\n\n" +
		"var AddToManagerFuncs = []func(manager.Manager) error{janitor.Add}\n\nfunc AddToManager(m manager.Manager) error {\n\tjanitor.Prepare(m)\n\tfor _, f := range AddToManagerFuncs {\n\t\tif err := f(m); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n\treturn nil\n}\n"
	files["pkg/janitor/janitor.go"] = "package janitor\n\nfunc Add(any) error { return nil }\n\nfunc Prepare(any) {}\n"
	p := mustPlan(t, files)
	expect(t, content(p.Result), map[string][]string{
		newMain: {
			"janitor.Add(mgr)", "// " + todoMark + "pkg/controller/add_more.go:6 did this with the manager", "//\tmore\n", "//\tfunc(manager.Manager) error { return nil }\n",
			"// " + todoMark + "pkg/controller/controller.go:12 did this", "//\tjanitor.Prepare(m)\n",
		},
		"internal/controller/add_more.go": {"func more(", "!AddToManagerFuncs"},
	})
}
