package calls

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
)

// TestConfigured reads calls as they are typed.
func TestConfigured(t *testing.T) {
	text := "generate:\n  controller-gen:\n  - object paths={./a/...,./b/...} output:dir='a b'\n"
	f, err := Of(host.OSFiles{}, write(t, map[string]string{File: text}))
	want := []generate.Call{{Args: []string{"object", "paths={./a/...,./b/...}", "output:dir=a b"}, From: ".mysdk.yaml:3"}}
	if d := cmp.Diff(want, f.Calls); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

// TestConfigure writes calls into configurations and reads them back.
func TestConfigure(t *testing.T) {
	calls := []generate.Call{
		{Args: []string{"crd:maxDescLen=0", "paths={./api/...,./more/...}", "output:dir=a b"}, From: ".mysdk.yaml"},
		{Dir: "apis", Args: []string{"object:headerFile=$HOME", "paths=./..."}, From: ".mysdk.yaml"},
	}
	for name, before := range map[string]string{
		"none":           "",
		"comments":       "# Mine.\n# domain: example.com # here",
		"a document":     "---\n# Mine.\n",
		"other keys":     "# Mine.\ndomain: example.com # here\n",
		"a section":      "generate:\n  check: true\n",
		"another list":   "generate:\n  controller-gen: [crd]\ndomain: example.com\n",
		"an empty entry": "generate:\n",
	} {
		t.Run(name, func(t *testing.T) {
			data, err := Configure([]byte(before), calls)
			if err != nil {
				t.Fatal(err)
			}
			for _, keep := range []string{"# Mine.\n", "# domain: example.com # here\n", "# Mine.\ndomain: example.com # here\n", "check: true\n", "domain: example.com"} {
				if strings.Contains(before+"\n", keep) && !strings.Contains(string(data), keep) {
					t.Errorf("lost %q:\n%s", keep, data)
				}
			}
			f, err := Of(host.OSFiles{}, write(t, map[string]string{File: string(data), "Makefile": "manifests: ; controller-gen crd paths=./x\n"}))
			for i := range f.Calls {
				f.Calls[i].From, _, _ = strings.Cut(f.Calls[i].From, ":")
			}
			if diff := cmp.Diff(calls, f.Calls); diff != "" || err != nil {
				t.Errorf("%v\n%s\n%s", err, diff, data)
			}
		})
	}
}

func TestConfigureErrors(t *testing.T) {
	for text, want := range map[string]string{
		"generate: {controller-gen: 3}":           ".mysdk.yaml: yaml:",
		"generate: {controller-gen: ['crd \"a']}": ".mysdk.yaml:1: ",
	} {
		_, err := Of(host.OSFiles{}, write(t, map[string]string{File: text}))
		if err == nil || !strings.HasPrefix(err.Error(), want) || clierr.CodeOf(err) != clierr.CodeUsage {
			t.Errorf("%s: %v", text, err)
		}
	}
}
