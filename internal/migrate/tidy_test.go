package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnresolved(t *testing.T) {
	const output = `go: finding module for package sigs.k8s.io/controller-runtime/pkg/runtime/scheme
go: example.com/shop/pkg/x imports
	github.com/acme/grafana/pkg/apis imports
	sigs.k8s.io/controller-runtime/pkg/runtime/scheme: module sigs.k8s.io/controller-runtime@latest found (v0.24.1), but does not contain package
go: example.com/shop/cmd imports
	example.org/gone: cannot find module
	server response: not here
`
	want := []string{
		"sigs.k8s.io/controller-runtime/pkg/runtime/scheme (imported by github.com/acme/grafana/pkg/apis)",
		"example.org/gone (imported by example.com/shop/cmd)",
	}
	if d := cmp.Diff(want, Unresolved(output)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	const broken = "go: example.com/a@v1.0.0 requires\n\texample.com/b@v1.0.0 requires\n\texample.org/gone@v0.1.0: invalid version\n"
	if d := cmp.Diff([]string{"example.org/gone@v0.1.0 (required by example.com/a@v1.0.0)"}, Unresolved(output+broken+output+strings.Replace(broken, "go: ", "\texample.com/c/d: ", 1))); d != "" {
		t.Errorf("of a module that cannot be read (-want +got):\n%s", d)
	}
	const own = "go: example.org/gone@v0.2.0: verifying go.mod: 404 Not Found\n"
	if d := cmp.Diff([]string{"example.org/gone@v0.2.0 (required by go.mod)"}, Unresolved(output+"go: example.com/shop imports\n\texample.com/c/d: "+strings.TrimPrefix(own, "go: "))); d != "" {
		t.Errorf("of a module that the project requires (-want +got):\n%s", d)
	}
	if got := Unresolved("go: downloading example.com/x v1.0.0\n"); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestMarks(t *testing.T) {
	got := marks([]byte("a\n\t// TODO(migrate): one\n  # TODO(migrate): two\n// TODO: mine\n"))
	if d := cmp.Diff([]Note{{2, "one"}, {3, "two"}}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestReplaced holds that directories in go.mod get other names, and nothing
// else.
func TestReplaced(t *testing.T) {
	turn := func(dir string) string { return strings.Replace(dir, "../", "/home/x y/", 1) }
	for name, test := range map[string]struct{ text, want string }{
		"a directory":  {"module a\n\nreplace b => ../b\n", "module a\n\nreplace b => \"/home/x y/b\"\n"},
		"of a version": {"module a\n\nreplace (\n\tb v1.0.0 => ../b // ours\n\tb v1.1.0 => ./c\n)\n", "module a\n\nreplace (\n\tb v1.0.0 => \"/home/x y/b\" // ours\n\tb v1.1.0 => ./c\n)\n"},
		"a module":     {"module a\n\nreplace b => c.io/../b v1.0.0\n", "module a\n\nreplace b => c.io/../b v1.0.0\n"},
		"none":         {"module   a\n", "module   a\n"},
		"no go.mod":    {"modul", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Replaced([]byte(test.text), turn)
			if (err != nil) != (test.want == "") {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
