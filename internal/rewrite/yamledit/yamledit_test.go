package yamledit_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// TestEdits holds that edits change what they name and leave the rest, with its
// comments and order, as it was.
func TestEdits(t *testing.T) {
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	for name, test := range map[string]struct {
		edit func(*yaml.Node)
		want string
	}{
		"nothing":         {func(*yaml.Node) {}, "b: 1 # one\na:\n- x: 2\n"},
		"set":             {func(n *yaml.Node) { yamledit.Set(n, "a", text("3")) }, "b: 1 # one\na: \"3\"\n"},
		"add":             {func(n *yaml.Node) { yamledit.Set(n, "c", text("3")) }, "b: 1 # one\na:\n- x: 2\nc: \"3\"\n"},
		"remove":          {func(n *yaml.Node) { yamledit.Remove(n, "b") }, "a:\n- x: 2\n"},
		"remove no key":   {func(n *yaml.Node) { yamledit.Remove(n, "1") }, "b: 1 # one\na:\n- x: 2\n"},
		"value":           {func(n *yaml.Node) { yamledit.Set(n, "a", yamledit.Value(n, "b")) }, "b: 1 # one\na: 1 # one\n"},
		"of no mapping":   {func(n *yaml.Node) { yamledit.Remove(yamledit.Value(n, "a"), "x") }, "b: 1 # one\na:\n- x: 2\n"},
		"of what is none": {func(n *yaml.Node) { yamledit.Remove(yamledit.Value(yamledit.Value(n, "x"), "y"), "z") }, "b: 1 # one\na:\n- x: 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var doc yaml.Node
			if err := yaml.Unmarshal([]byte("b: 1 # one\na:\n  - x: 2\n"), &doc); err != nil {
				t.Fatal(err)
			}
			test.edit(doc.Content[0])
			got, err := yamledit.Encode(&doc)
			if err != nil || string(got) != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestDocuments(t *testing.T) {
	tests := map[string]struct {
		text string
		want int
		err  string
	}{
		"none":        {"", 0, ""},
		"comments":    {"# a\n---\n# b\n", 0, ""},
		"two":         {"a: 1\n---\nb: 1\n", 2, ""},
		"empty ones":  {"---\n---\na: 1\n---\n", 1, ""},
		"no mappings": {"- a\n---\ntext\n---\na: 1\n", 1, ""},
		"a template":  {"{{ if .x }}\na: 1\n", 0, "yaml: "},
		"no YAML":     {"a: 1\nb: [\n", 0, "line 2"},
		"a tab":       {"a:\n\tb: 1\n", 0, "line 2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := yamledit.Documents([]byte(test.text))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || len(got) != test.want {
				t.Errorf("%d documents, %v", len(got), err)
			}
		})
	}
}
