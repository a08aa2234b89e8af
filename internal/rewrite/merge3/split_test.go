package merge3

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// keysOf are the keys of sections and of their parts, indented.
func keysOf(list []Section, indent string) []string {
	var out []string
	for _, s := range list {
		out = append(out, indent+s.Key)
		out = append(out, keysOf(s.parts, indent+"  ")...)
	}
	return out
}

func TestSections_Keys(t *testing.T) {
	tests := map[string]struct {
		name, text string
		want       []string
	}{
		"a Makefile": {
			"Makefile",
			"# A.\nA ?= 1\nexport B := $(A) \\\n  c: d\nifeq (x,y)\nC += 1\nifdef D\nendif\nendif\n\ndefine go-get\nx: y\nendef\n\n##@ G\n\n.PHONY: all\nall: build ; true\n\t@echo a:b\n\n# later\n\n\techo more\nbin/x bin/y: z | w\nx::\n%.o: %.c\n-include local.mk\n# end\n",
			[]string{"variable A", "variable B", "block ifeq (x,y)", "block define go-get", "target all", "line \techo more", "target bin/x bin/y", "target x", "target %.o", "line -include local.mk", "end of the file"},
		},
		"directives that are indented": {
			"Makefile", "ifdef A\n  ifdef B\n  C = 1\n  endif\n endif\na: b\n  ifdef C\n  D = 1\n  endif\nc: d\n",
			[]string{"block ifdef A", "target a", "block   ifdef C", "target c"},
		},
		"a block without an end": {"Makefile", "a: b\nifdef A\nc: d\n", nil},
		"the same target twice":  {"Makefile", "a:\n\tx\na: b\n", []string{"target a", "target a#2"}},
		"a kustomization": {
			"kustomization.yaml",
			"# C.\nnamespace: x-system\nresources:\n- ../a # why\n#- ../b\n- c.yaml\n\npatches:\n- path: p.yaml\n  target:\n    kind: D\n- path: q.yaml\n",
			[]string{"namespace", "resources", "  - ../a", "  - c.yaml", "patches", "  path=p.yaml ", "    path", "    target", "      kind", "  path=q.yaml ", "    path"},
		},
		"lists that are indented, or not": {
			"a.yaml", "a:\n  - x\nb:\n- y\nc:\n  d:\n  - name: n\n    v: 1\n",
			[]string{"a", "  - x", "b", "  - y", "c", "  d", "    name=n ", "      name", "      v"},
		},
		"entries that nothing tells apart": {"a.yaml", "a:\n- x: 1\n- x: 2\nb:\n- q\n- q\n", []string{"a", "b"}},
		"documents":                        {"a.yaml", "---\nkind: A\nmetadata:\n  name: a\n---\nkind: B\nmetadata:\n  name: b\n", []string{"document A a", "  kind", "  metadata", "    name", "document B b", "  kind", "  metadata", "    name"}},
		"flow style, texts and odd keys":   {"a.yaml", "a: {x: 1}\n\"b c\": |\n  d: 1\n--x: 1\n? e\n: f\n", []string{"a", `"b c"`, "--x", "? e", ": f"}},
		"a list of operations":             {"a.yaml", "- op: add\n  path: /a\n  value: 1\n- op: add\n  path: /b\n", []string{"op=add path=/a ", "  op", "  path", "  value", "op=add path=/b ", "  op", "  path"}},
		"no YAML":                          {"a.yaml", "a: [\n", nil},
		"keys that are there twice":        {"a.yaml", "a: 1\na: 2\n", nil},
		"Go": {
			"a.go",
			"// Package a.\npackage a // why\n\nimport \"os\"\n\nimport (\n\t// B.\n\tb \"x/b\"\n\t_ \"x/c\"\n)\n\n// T is.\ntype T[P any] struct{}\n\nfunc (t *T[P]) M() {}\nfunc (t T[P]) N() {}\n\nvar x, y = 1, 2\n\nconst (\n\tk = 1\n)\n\nvar _ = 1\nvar _ = 2\n\nfunc init() {}\n\n// end\n",
			[]string{"package", "import", "import#2", "  x/b", "  x/c", "T", "T.M", "T.N", "x", "k", "_", "_#2", "init", "end of the file"},
		},
		"two on one line": {"a.go", "package a\n\nvar a = 1; var b = 2\n", nil},
		"no Go":           {"a.go", "package\n", nil},
		"patterns":        {".dockerignore", "# A.\n*\n!cmd\n\n", []string{"*", "!cmd", "end of the file"}},
		"other text":      {"Dockerfile", "FROM x\n", nil},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := sectionsOf(c.name, []byte(c.text))
			if d := cmp.Diff(c.text, Join(s)); s != nil && d != "" {
				t.Errorf("text (-want +got):\n%s", d)
			}
			if len(s) == 1 && s[0].Key == "document" {
				s = s[0].parts // the only one of a file
			}
			if d := cmp.Diff(c.want, keysOf(s, "")); d != "" {
				t.Errorf("keys (-want +got):\n%s", d)
			}
		})
	}
}

// The dash of a list's entry stands where its first line is, whichever that is.
func TestDash(t *testing.T) {
	tests := map[string]struct {
		body   string
		column int
		want   string
	}{
		"the first line":     {"  a: 1\n  b: 2\n", 0, "- a: 1\n  b: 2\n"},
		"after a comment":    {"  # c\n\n  a: 1\n", 0, "  # c\n\n- a: 1\n"},
		"indented":           {"    a: 1\n", 2, "  - a: 1\n"},
		"no room for it":     {"a: 1\n", 0, "a: 1\n"},
		"nothing but spaces": {"  \n", 0, "  \n"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if got := dash(c.body, c.column); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
