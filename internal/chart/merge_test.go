package chart_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/chart"
	"github.com/example/mysdk/internal/rewrite/merge3"
)

// TestMerge is about one file at a time: what it was, what the user has, what it
// is now. A dash is no file.
func TestMerge(t *testing.T) {
	const (
		file = "templates/a.yaml"
		old  = "a: 1\nb: {{ .Values.b }}\nc: 3\n"
		user = "a: 10\nb: {{ .Values.b }}\nc: 3\n"
		next = "a: 1\nb: {{ .Values.b }}\nc: 30\n"
	)
	for name, c := range map[string]struct {
		name, base, mine, now string
		force                 bool
		write                 string // of the file
		removed, kept, gone   bool
		reject                string // a line of it
	}{
		"new":                    {base: "-", mine: "-", now: old, write: old},
		"as it was":              {base: old, mine: old, now: old},
		"of the project":         {base: old, mine: old, now: next, write: next},
		"of the user":            {base: old, mine: user, now: old},
		"of both":                {base: old, mine: user, now: next, write: "a: 10\nb: {{ .Values.b }}\nc: 30\n"},
		"of both, the same":      {base: old, mine: next, now: next},
		"of both, meeting":       {base: old, mine: "a: 1\nb: {{ .Values.b }}\nc: 4\n", now: next, reject: "+c: 30"},
		"a file of the user's":   {base: "-", mine: user, now: old, reject: "+a: 1"},
		"gone":                   {base: old, mine: old, now: "-", removed: true},
		"gone, but changed":      {base: old, mine: user, now: "-", kept: true},
		"gone on both sides":     {base: old, mine: "-", now: "-"},
		"removed by the user":    {base: old, mine: "-", now: next, gone: true},
		"an if without its end":  {base: old, mine: strings.Replace(old, "b:", "{{ if .x }}\nb:", 1), now: next, write: strings.Replace(next, "b:", "{{ if .x }}\nb:", 1)},
		"a merge without an end": {base: "{{ if .x }}\na: 1\n{{ end }}\n", mine: "a: 1\n", now: "{{ if .x }}\na: 1\n{{ else }}\nb: 2\n{{ end }}\n", reject: "+{{ else }}"},
		"values by their keys": {
			name: "values.yaml", base: "a: 1\nb:\n  c: 2\n", mine: "z: 0\na: 1\nb:\n  # mine\n  c: 3\n", now: "a: 2\nb:\n  c: 2\n  d: 4\n",
			write: "z: 0\na: 2\nb:\n  # mine\n  c: 3\n  d: 4\n",
		},
		"forced":               {base: old, mine: user, now: next, force: true, write: next},
		"forced, gone":         {base: old, mine: user, now: "-", force: true, removed: true},
		"forced, missing":      {base: old, mine: "-", now: old, force: true, write: old},
		"forced, versions":     {name: "Chart.yaml", base: "version: 1\n", mine: "version: 2\n", now: "version: 1\n", force: true},
		"forced, no versions":  {name: "Chart.yaml", base: "version: 1\n", mine: "-", now: "version: 1\n", force: true, write: "version: 1\n"},
		"versions of the user": {name: "Chart.yaml", base: "version: 1\n", mine: "version: 2\n", now: "version: 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.name == "" {
				c.name = file
			}
			base, now, mine := map[string][]byte{"Chart.yaml": []byte("x: y\n")}, map[string][]byte{"Chart.yaml": []byte("x: y\n")}, map[string][]byte{"Chart.yaml": []byte("x: y\n")}
			for _, side := range []struct {
				files map[string][]byte
				text  string
			}{{base, c.base}, {now, c.now}, {mine, c.mine}} {
				if delete(side.files, c.name); side.text != "-" {
					side.files[c.name] = []byte(side.text)
				}
			}
			p, err := chart.Merge(base, now, func(name string) ([]byte, error) { return mine[name], nil }, merge3.Reject, c.force)
			if err != nil {
				t.Fatal(err)
			}
			got := []any{string(p.Write[c.name]), slices.Contains(p.Remove, c.name), slices.Contains(p.Kept, c.name), slices.Contains(p.Gone, c.name), slices.Contains(p.Conflicts, c.name)}
			if d := cmp.Diff([]any{c.write, c.removed, c.kept, c.gone, c.reject != ""}, got); d != "" {
				t.Errorf("file, removed, kept, gone, conflict (-want +got):\n%s", d)
			}
			if r := p.Write[c.name+chart.RejectSuffix]; c.reject != "" && !bytes.Contains(r, []byte("\n"+c.reject+"\n")) {
				t.Errorf("no %s in\n%s", c.reject, r)
			}
		})
	}
}

// The base comes back as it was written, and the same files make the same base.
func TestPack(t *testing.T) {
	files, _ := render(t, "../../testdata/golden/memcached/want")
	one, err := chart.Pack(files)
	if err != nil {
		t.Fatal(err)
	}
	two, err := chart.Pack(files)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("two bases of the same files differ (%v)", err)
	}
	back, err := chart.Unpack(one)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(files, back); d != "" {
		t.Error(d)
	}
}

// TestMerge_Move: of a chart that kubebuilder has made, the values stay, with the
// names of today.
func TestMerge_Move(t *testing.T) {
	mine := map[string][]byte{"Chart.yaml": []byte("version: 7\n"), "values.yaml": []byte(`manager:
  image:
    repository: mine
  replicas: 2
  enable: own

# Roles.
rbacHelpers:
  # or not
  enable: true

crd:
  keep: false
  # or not
  enable: false # not
backup: {enable: true} # mine
`)}
	now := map[string][]byte{"Chart.yaml": []byte("version: 1\n"), "values.yaml": []byte("manager:\n  image:\n    repository: controller\n    tag: latest\n  replicas: 1\n  args: []\nrbac:\n  namespaced: false\n  helpers:\n    enabled: false\ncrd:\n  enabled: true\n  keep: true\n")}
	read := func(name string) ([]byte, error) { return mine[name], nil }
	if _, err := chart.Merge(nil, now, read, merge3.Reject, false); err == nil || !strings.Contains(err.Error(), "2 files differ") {
		t.Errorf("without force: %v", err)
	}
	p, err := chart.Merge(nil, now, read, merge3.Reject, true)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"values.yaml": []byte(`manager:
  image:
    tag: ""
    repository: mine
  replicas: 2
  args: []
  enable: own

# Roles.
rbac:
  namespaced: false
  helpers:
    # or not
    enabled: true

crd:
  keep: false
  # or not
  enabled: false # not
backup: {enable: true} # mine
`)}
	if d := cmp.Diff(want, p.Write); d != "" {
		t.Error(d)
	}
}

// TestMerge_TakeOver: values of a foreign chart in four columns get what is new in
// four, and a key that nobody reads is named. Values that cannot be read, or that
// cannot take in what is new, are not lost.
func TestMerge_TakeOver(t *testing.T) {
	const now = "# Of the file.\n\nmanager:\n  replicas: 1\n  # more\n  args:\n    - a\n  env:\n    - name: A\n      value: b\naccount:\n  enabled: true\n"
	for name, c := range map[string]struct {
		mine, want, reject string
		unread             []string
		fails              string
	}{
		"four columns": {
			mine:   "manager:\n    replicas: 2\n    old: 1\n\n# own\nrbacHelpers:\n    enable: true\nextra: []\nsub:\n  a: b\nglobal: {}\n",
			want:   "manager:\n    replicas: 2\n    # more\n    args:\n        - a\n    env:\n        -   name: A\n            value: b\n    old: 1\naccount:\n    enabled: true\n\n# own\nrbac:\n    helpers:\n        enabled: true\nextra: []\nsub:\n  a: b\nglobal: {}\n",
			unread: []string{"extra", "manager.old", "rbac"},
		},
		"no room": {mine: "manager: {replicas: 2}\n", want: "manager: {replicas: 2}\naccount:\n  enabled: true\n", reject: "+  env:"},
		"a list":  {mine: "- a\n", fails: "values.yaml: it must have keys and values"},
		"no YAML": {mine: "a: b\n  c: [\n", fails: "values.yaml: line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			mine := map[string][]byte{"Chart.yaml": []byte("dependencies:\n- name: sub\n"), "values.yaml": []byte(c.mine)}
			p, err := chart.Merge(nil, map[string][]byte{"Chart.yaml": nil, "values.yaml": []byte(now)}, func(name string) ([]byte, error) { return mine[name], nil }, merge3.Reject, true)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("want an error with %q, got %v", c.fails, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(p.Write["values.yaml"]); c.want != "" && got != c.want {
				t.Errorf("(-want +got):\n%s", cmp.Diff(c.want, got))
			}
			if d := cmp.Diff(c.unread, p.Unread); d != "" {
				t.Errorf("unread (-want +got):\n%s", d)
			}
			if r := string(p.Write["values.yaml"+chart.RejectSuffix]); (c.reject != "") != (r != "") || !strings.Contains(r, c.reject) {
				t.Errorf("want %q in the reject:\n%s", c.reject, r)
			}
		})
	}
}
