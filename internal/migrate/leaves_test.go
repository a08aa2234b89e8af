package migrate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// node is the root of a YAML text.
func node(t *testing.T, text string) *yaml.Node {
	t.Helper()
	docs, err := yamledit.Documents([]byte(text))
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents: %v", len(docs), err)
	}
	return docs[0].Content[0]
}

func TestLeaves(t *testing.T) {
	doc := node(t, `
a: {b: 1, c: []}
args: [--x=1, -y=2, plain]
env:
- {name: A, value: x}
rules:
- verbs: [get]
whole: {x: {y: 1}}
`)
	var got [][2]string
	for _, l := range leaves(doc, func(way string) bool { return way != "whole" }) {
		got = append(got, [2]string{l.way, value(l.node)})
	}
	want := [][2]string{
		{"a/b", "1"}, {"a/c", "[]"}, {"args/[--x]", "--x=1"}, {"args/[--y]", "-y=2"}, {"args/[plain]", "plain"},
		{"env/[name=A]/name", "A"}, {"env/[name=A]/value", "x"}, {`rules/[{"verbs":["get"]}]`, `{"verbs":["get"]}`}, {"whole", `{"x":{"y":1}}`},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]string{"a": "a", "{a: 1}": `{"a":1}`, "{1: a}": "map[1:a]", "{a: 1, a: 2}": "{a: 1, a: 2}"} {
		if got := value(yamledit.Value(node(t, "x: "+text), "x")); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

func TestLeafForPeople(t *testing.T) {
	for way, want := range map[string]string{
		"spec/containers/[name=manager]/args/[--x]": "spec.containers[manager].args[--x]",
		`rules/[{"verbs":["get"]}]`:                 "rules[…]",
		"resources/[..~1crd]":                       "resources[../crd]",
	} {
		if got := (leaf{way: way}).String(); got != want {
			t.Errorf("%s: got %s, want %s", way, got, want)
		}
	}
	if got, want := short(strings.Repeat("é", 31)+"x"), strings.Repeat("é", 30)+"…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := short("x"+strings.Repeat("é", 31)), "x"+strings.Repeat("é", 29)+"…"; got != want {
		t.Errorf("in a character: got %q, want %q", got, want)
	}
}

// TestPut holds where a value gets into a document.
func TestPut(t *testing.T) {
	const doc = "spec:\n  replicas: 1 # one\n  list:\n  - name: a\n    value: x\n  text: x\n"
	tests := map[string]struct {
		way, value string
		want       string // empty where there is no place
	}{
		"another value":     {"spec/replicas", "3", strings.Replace(doc, "1", "3", 1)},
		"a key":             {"spec/new", "1", doc + "  new: 1\n"},
		"keys on the way":   {"meta/labels/a", "b", doc + "meta:\n  labels:\n    a: b\n"},
		"in an entry":       {"spec/list/[name=a]/value", "z", strings.Replace(doc, "value: x", "value: z", 1)},
		"a key of an entry": {"spec/list/[name=a]/more", "z", strings.Replace(doc, "value: x\n", "value: x\n    more: z\n", 1)},
		"an entry":          {"spec/list/[name=b]", "{name: b}", strings.Replace(doc, "value: x\n", "value: x\n  - {name: b}\n", 1)},
		"a list":            {"spec/args/[--x]", "--x", doc + "  args:\n  - --x\n"},
		"no such entry":     {"spec/list/[name=b]/value", "z", ""},
		"below a text":      {"spec/text/a", "z", ""},
		"a text for a list": {"spec/list", "z", ""},
		"a mapping joined":  {"spec", "{replicas: 2, list: [{name: a, value: y}, {name: c}]}", "spec:\n  replicas: 2 # one\n  list:\n  - name: a\n    value: y\n  - {name: c}\n  text: x\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := node(t, doc)
			var value yaml.Node
			if err := yaml.Unmarshal([]byte(test.value), &value); err != nil {
				t.Fatal(err)
			}
			ok := put(n, leaf{way: test.way, node: value.Content[0]})
			got, err := yamledit.Encode(n)
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				if ok || string(got) != doc {
					t.Errorf("put says %v:\n%s", ok, got)
				}
				return
			}
			if d := cmp.Diff(test.want, string(got)); d != "" || !ok {
				t.Errorf("put says %v (-want +got):\n%s", ok, d)
			}
		})
	}
}

// TestToday holds the forms of kustomize that are others today.
func TestToday(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"bases":       {"bases:\n- a\nresources:\n- b\n", "resources:\n- b\n- a\n"},
		"bases alone": {"bases:\n- a\n", "resources:\n- a\n"},
		"patches":     {"patchesStrategicMerge:\n- a.yaml\npatchesJson6902:\n- path: b.yaml\n", "patches:\n- path: a.yaml\n- path: b.yaml\n"},
		"inline":      {"patchesStrategicMerge:\n- |-\n  a: b\n  c: d\n", "patches:\n- patch: |-\n    a: b\n    c: d\n"},
		"empty":       {"bases:\n", "{}\n"},
		"anchors":     {"a: &x {b: 1}\nc: *x\n", "a:\n  b: 1\nc:\n  b: 1\n"},
		"merge keys":  {"a: &x {b: 1, d: 2}\nc:\n  <<: *x\n  b: 3\n", "a:\n  b: 1\n  d: 2\nc:\n  b: 3\n  d: 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := readConfig("a.yaml", []byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			got, err := yamledit.Encode(docs[0])
			if d := cmp.Diff(test.want, string(got)); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
	_, err := readConfig("a.yaml", []byte("a: &x\n  b: *x\n"))
	var hinted *clierr.Error
	if err == nil || !strings.Contains(err.Error(), "a.yaml: yaml: anchor 'x' value contains itself") || !errors.As(err, &hinted) {
		t.Errorf("got %v", err)
	}
}

// FuzzConfig holds that no manifest of a user's makes config panic, or end as
// something that is no YAML.
func FuzzConfig(f *testing.F) {
	f.Add("kind: Deployment\nspec: {template: {spec: {containers: [{name: manager, args: [--x], env: [{name: A}]}]}}}\n")
	f.Add("kind: Deployment\nspec:\n  a: &x [*x]\n")
	f.Add("kind: Namespace\nmetadata: {labels: {a: {b: c}}}\n---\nkind: X\n")
	f.Add("? {a: b}\n: c\nkind: Deployment\n")
	known := readScaffolds(scaffoldValues)
	const into = "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 1\n  template:\n    spec:\n      containers:\n      - name: manager\n        args:\n        - --leader-elect\n"
	f.Fuzz(func(t *testing.T, text string) {
		m := newMigration(map[string]string{managerPath: text})
		m.rendered = map[string][]byte{managerPath: []byte(into)}
		m.out[managerPath] = output{file: file{data: []byte(into)}}
		if m.carryOver(managerPath, known); m.err != nil {
			return
		}
		if _, err := yamledit.Documents(m.out[managerPath].data); err != nil {
			t.Errorf("%v\n%s", err, m.out[managerPath].data)
		}
	})
}
