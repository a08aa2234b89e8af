package compat

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func manifest(name string) string {
	return "kind: CustomResourceDefinition\nmetadata:\n  name: " + name + "\nspec:\n  versions: [{name: v1}]\n"
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
		err   string
	}{
		"nothing":           {nil, nil, ""},
		"several documents": {map[string]string{"a/b.yaml": manifest("a") + "---\nkind: Role\n---\n" + manifest("b")}, []string{"a", "b"}, ""},
		"JSON, and others":  {map[string]string{"a.json": `{"kind":"CustomResourceDefinition","metadata":{"name":"a"},"spec":{"versions":[{"name":"v1"}]}}`, "b.txt": manifest("b"), "c.yml": "{{ .x }}"}, []string{"a"}, ""},
		"the same twice":    {map[string]string{"a.yaml": manifest("a"), "b.yaml": manifest("a")}, []string{"a"}, ""},
		"another twice":     {map[string]string{"a.yaml": manifest("a"), "b.yaml": manifest("a") + "  scope: Cluster\n"}, nil, "b.yaml: the CRD a is defined more than once"},
		"a patch":           {map[string]string{"a.yaml": manifest("a"), "b.yaml": "kind: CustomResourceDefinition\nmetadata:\n  name: a\nspec:\n  conversion: {strategy: Webhook}\n"}, []string{"a"}, ""},
		"of v1beta1":        {map[string]string{"a.yaml": "kind: CustomResourceDefinition\nmetadata:\n  name: a\nspec:\n  version: v1\n"}, []string{"a"}, ""},
		"a list":            {map[string]string{"a.yaml": "kind: List\nitems:\n- " + strings.ReplaceAll(manifest("a"), "\n", "\n  ") + "\n- {kind: Role}\n- " + strings.ReplaceAll(manifest("b"), "\n", "\n  ")}, []string{"a", "b"}, ""},
		"also in a list":    {map[string]string{"a.yaml": manifest("a"), "b.yaml": "kind: List\nitems:\n- " + strings.ReplaceAll(manifest("a"), "\n", "\n  ")}, []string{"a"}, ""},
		"twice in a list":   {map[string]string{"a.yaml": manifest("a"), "b.yaml": "kind: List\nitems:\n- " + strings.ReplaceAll(manifest("a")+"  scope: Cluster", "\n", "\n  ")}, nil, "b.yaml: the CRD a is defined more than once"},
		"no YAML":           {map[string]string{"a.yaml": "kind: CustomResourceDefinition\n x: y"}, nil, "read a.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for file, text := range c.files {
				tree[file] = &fstest.MapFile{Data: []byte(text)}
			}
			crds, err := Read(tree)
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(crds))); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// TestReadLinks: links to files are followed; those to nothing, as editors make
// them for locks, are passed over.
func TestReadLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(manifest("a")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"a.yaml": "a.txt", ".#b.yaml": "me@here", "c.yaml": "."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	if crds, err := Read(os.DirFS(dir)); err != nil || crds["a"] == nil {
		t.Errorf("%d CRDs, %v", len(crds), err)
	}
}

func TestCompare(t *testing.T) {
	engine := func(context.Context, Request) ([]Change, error) {
		return []Change{{CRD: "b", Rule: "scope", Text: "x"}, {CRD: "a", Version: "v2", Field: "spec", Rule: "type", Text: "y"}, {CRD: "a", Version: "v1", Rule: CRDRemoval}, {CRD: "a", Version: "v1 -> v2", Rule: "type"}, {CRD: "b", Rule: "scope", Text: "x"}}, nil
	}
	got, err := Compare(t.Context(), engine, Request{})
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, c := range got {
		titles = append(titles, c.Title())
		if pair := strings.Contains(c.Version, "->"); c.Hint == "" || pair != strings.Contains(c.Hint, "--conversion") {
			t.Errorf("%+v has another hint", c)
		}
	}
	if diff := cmp.Diff([]string{"a v1: ", "a v1 -> v2: ", "a v2: spec: y", "b: x"}, titles); diff != "" {
		t.Error(diff)
	}
	broken := func(context.Context, Request) ([]Change, error) { return nil, errors.New("broken") }
	if _, err := Compare(t.Context(), broken, Request{}); err == nil {
		t.Error("no error")
	}
}
