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
		reportName: {"The controller of pkg/controller/memcached was not added to the manager, and is not now either."},
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

func TestInsertBefore(t *testing.T) {
	tests := map[string]struct{ text, line, want string }{
		"there":     {"a\nb\n", "b\n", "a\nx\nb\n"},
		"not there": {"a\nb\n", "c\n", "a\nb\n"},
		"twice":     {"b\nb\n", "b\n", "x\nb\nb\n"},
		"empty":     {"", "a", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(test.want, insertBefore(test.text, test.line, "x\n")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestSchemes holds what of the functions in pkg/apis goes to the main program.
func TestSchemes(t *testing.T) {
	const scaffold = "import (\n\t// +kubebuilder:scaffold:imports\n)\n\nfunc init() {\n\t// +kubebuilder:scaffold:scheme\n}\n"
	tests := map[string]struct {
		code    string
		imports []string
		lines   []string
		left    int
	}{
		"one's own": {"import v1 \"example.com/shop/pkg/apis/shop/v1\"\n\nfunc init() { AddToSchemes = append(AddToSchemes, v1.SchemeBuilder.AddToScheme) }\n", nil, nil, 0},
		"of others": {"import routev1 \"github.com/openshift/api/route/v1\"\n\nfunc init() { AddToSchemes = append(AddToSchemes, routev1.AddToScheme) }\n",
			[]string{"routev1 \"github.com/openshift/api/route/v1\""}, []string{"utilruntime.Must(routev1.AddToScheme(scheme))"}, 0},
		"two at once": {"import (\n\ta \"example.org/a\"\n\tb \"example.org/b\"\n)\n\nfunc init() { AddToSchemes = append(AddToSchemes, a.AddToScheme, b.Builder.AddToScheme) }\n",
			[]string{"a \"example.org/a\"", "b \"example.org/b\""}, []string{"utilruntime.Must(a.AddToScheme(scheme))", "utilruntime.Must(b.Builder.AddToScheme(scheme))"}, 0},
		"the same twice": {"import a \"example.org/a\"\n\nfunc init() { AddToSchemes = append(AddToSchemes, a.AddToScheme, a.AddToScheme) }\n",
			[]string{"a \"example.org/a\""}, []string{"utilruntime.Must(a.AddToScheme(scheme))"}, 0},
		"a function":   {"func init() { AddToSchemes = append(AddToSchemes, func(s *Scheme) error { return nil }) }\n", nil, nil, 1},
		"another list": {"import a \"example.org/a\"\n\nfunc init() { More = append(More, a.AddToScheme) }\n", nil, nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(map[string]string{"pkg/apis/add.go": "package apis\n\n" + test.code, "pkg/apis/notes.txt": "x"})
			parts := &mainParts{imports: map[string]importSpec{}}
			if err := m.readSchemes(parts); err != nil {
				t.Fatal(err)
			}
			if len(parts.left) != test.left {
				t.Errorf("left: %+v", parts.left)
			}
			want := scaffold
			for _, line := range test.imports {
				want = insertBefore(want, "\t// +kubebuilder:scaffold:imports", "\t"+line+"\n")
			}
			for _, line := range test.lines {
				want = insertBefore(want, "\t// +kubebuilder:scaffold:scheme", "\t"+line+"\n")
			}
			got := m.wireSchemes(scaffold, parts)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	m := newMigration(map[string]string{"pkg/apis/add.go": "package apis\n\nfunc {\n"})
	if err := m.readSchemes(&mainParts{}); err == nil || !strings.Contains(err.Error(), "pkg/apis/add.go:3:6") {
		t.Errorf("got %v, want the position", err)
	}
}
