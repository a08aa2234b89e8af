package project

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFile_PluginField(t *testing.T) {
	const top = "domain: example.com # why\nlayout:\n- go.kubebuilder.io/v4\n"
	const end = "projectName: op\nrepo: example.com/op\nversion: \"3\"\n"
	tests := map[string]struct{ plugins, was, want string }{
		"no plugins":      {"", "", "plugins:\n  x.example.com/v1:\n    version: v2\n"},
		"others":          {"plugins:\n  y.example.com/v1: {} # mine\n", "", "plugins:\n  x.example.com/v1:\n    version: v2\n  y.example.com/v1: {} # mine\n"},
		"an empty one":    {"plugins:\n  x.example.com/v1: {}\n", "", "plugins:\n  x.example.com/v1:\n    version: v2\n"},
		"another version": {"plugins:\n  x.example.com/v1:\n    more: 1\n    version: v1 # once\n", "v1", "plugins:\n  x.example.com/v1:\n    more: 1\n    version: v2 # once\n"},
		"not a text":      {"plugins:\n  x.example.com/v1:\n    version: [v1]\n", "", "plugins:\n  x.example.com/v1:\n    version: v2\n"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := Parse([]byte(top + c.plugins + end))
			if err != nil {
				t.Fatal(err)
			}
			if got := f.PluginField("x.example.com/v1", "version"); got != c.was {
				t.Errorf("was %q, want %q", got, c.was)
			}
			g, err := f.WithPluginField("x.example.com/v1", "version", "v2")
			if err != nil {
				t.Fatal(err)
			}
			data, err := g.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(top+c.want+end, string(data)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if got := g.PluginField("x.example.com/v1", "version"); got != "v2" {
				t.Errorf("reads back %q", got)
			}
		})
	}
}

func TestFile_WithoutPluginField(t *testing.T) {
	const text = "domain: example.com # why\nlayout:\n- go.kubebuilder.io/v4\nplugins:\n  x.example.com/v1:\n%s    version: v1 # once\n" +
		"projectName: op\nrepo: example.com/op\nversion: \"3\"\n"
	want := fmt.Sprintf(text, "")
	for name, line := range map[string]string{"taken away": "    pending: v2\n", "not there": ""} {
		t.Run(name, func(t *testing.T) {
			f, err := Parse(fmt.Appendf(nil, text, line))
			if err != nil {
				t.Fatal(err)
			}
			if f, err = f.WithPluginField("x.example.com/v1", "pending", ""); err != nil {
				t.Fatal(err)
			}
			data, err := f.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, string(data)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
