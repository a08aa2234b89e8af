package merge3

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMerge(t *testing.T) {
	tests := map[string]struct{ name, base, mine, theirs, merged, wanted string }{
		"YAML: entries at the same place": {
			"kustomization.yaml",
			"resources:\n- a.yaml\n",
			"resources:\n- a.yaml\n- mine.yaml # mine\n",
			"resources:\n- a.yaml\n- new.yaml\n",
			"resources:\n- a.yaml\n- new.yaml\n- mine.yaml # mine\n", "",
		},
		"YAML: fields of the same entry": {
			"manager.yaml",
			"spec:\n  containers:\n  - name: manager\n    image: a\n    args:\n    - --x\n  - name: other\n    image: o\n",
			"spec:\n  containers:\n  - name: manager\n    image: mine\n    args:\n    - --x\n    - --mine\n  - name: other\n    image: o\n",
			"spec:\n  containers:\n  - name: manager\n    image: a\n    args:\n    - --x\n    - --new\n    ports: []\n  - name: other\n    image: n\n",
			"spec:\n  containers:\n  - name: manager\n    image: mine\n    args:\n    - --x\n    - --new\n    - --mine\n    ports: []\n  - name: other\n    image: n\n", "",
		},
		"YAML: the name comes later": {
			"manager.yaml",
			"containers:\n- command:\n  - /a\n  name: x\n  y: 1\n",
			"containers:\n- command:\n  - /a\n  name: x\n  mine: 2\n  y: 1\n",
			"containers:\n- command:\n  - /b\n  name: x\n  y: 1\n",
			"containers:\n- command:\n  - /b\n  name: x\n  mine: 2\n  y: 1\n", "",
		},
		"YAML: a scalar that both changed": {
			"a.yaml", "a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 3\nb: 2\n", "a: 2\nb: 2\n", "a: 3\nb: 2\n",
		},
		"YAML: taken out by the user": {
			"a.yaml", "a: 1\nb:\n- x\n- y\n", "b:\n- y\n", "a: 2\nb:\n- x\n- y\n- z\n", "b:\n- y\n- z\n", "",
		},
		"YAML: taken out by the scaffold": {
			"a.yaml", "a: 1\nb: 1\n", "a: 2\nb: 1\nc: 3\n", "c: 4\n", "a: 2\nc: 3\n", "c: 4\n",
		},
		"YAML: documents": {
			"a.yaml",
			"kind: A\nx: 1\n---\nkind: B\nx: 1\n", "kind: A\nx: 2\n---\nkind: B\nx: 1\n", "kind: A\nx: 1\n---\nkind: B\nx: 3\n",
			"kind: A\nx: 2\n---\nkind: B\nx: 3\n", "",
		},
		"YAML: a document of the user's behind the only one": {
			"a.yaml",
			"kind: A\nl:\n- a\n", "kind: A\nl:\n- a\n- mine\n---\nkind: B\nx: 1\n", "kind: A\nl:\n- a\n- new\ny: 2\n",
			"kind: A\nl:\n- a\n- new\n- mine\ny: 2\n---\nkind: B\nx: 1\n", "",
		},
		"YAML: a document of the user's before the only one": {
			"a.yaml", "kind: A\nx: 1\n", "kind: B\nx: 1\n---\nkind: A\nx: 1\n", "kind: A\nx: 2\n", "kind: B\nx: 1\n---\nkind: A\nx: 2\n", "",
		},
		"YAML: a document taken out by the user": {
			"a.yaml", "kind: A\nx: 1\n---\nkind: B\nx: 1\n", "kind: B\nx: 1\n", "kind: A\nx: 1\n---\nkind: B\nx: 2\n", "kind: B\nx: 2\n", "",
		},
		"YAML: one of two documents of a kind taken out by the user": {
			"a.yaml", "kind: A\nx: 1\n---\nkind: A\ny: 1\n", "kind: A\ny: 1\n", "kind: A\nx: 1\n---\nkind: A\ny: 2\n", "kind: A\ny: 2\n", "",
		},
		"YAML: one of two documents renamed by the user": {
			"a.yaml",
			"kind: A\n---\nkind: B\nmetadata:\n  name: b\nx: 1\n", "kind: A\n---\nkind: B\nmetadata:\n  name: mine\nx: 1\n",
			"kind: A\n---\nkind: B\nmetadata:\n  name: b\nx: 2\n", "kind: A\n---\nkind: B\nmetadata:\n  name: mine\nx: 2\n", "",
		},
		"YAML: one of two documents renamed by the scaffold": {
			"a.yaml",
			"kind: A\n---\nkind: B\nmetadata:\n  name: b\nx: 1\n", "kind: A\n---\nkind: B\nmetadata:\n  name: b\nx: 2\n",
			"kind: A\n---\nkind: B\nmetadata:\n  name: new\nx: 1\n", "kind: A\n---\nkind: B\nmetadata:\n  name: new\nx: 2\n", "",
		},
		"YAML: the only document renamed by the user": {
			"a.yaml",
			"metadata:\n  name: a\nl:\n- a\n", "metadata:\n  name: mine\nl:\n- a\n- mine\n", "metadata:\n  name: a\nl:\n- a\n- new\n",
			"metadata:\n  name: mine\nl:\n- a\n- new\n- mine\n", "",
		},
		"YAML: entries without a name": {
			"a.yaml", "l:\n- {a: 1}\n- {a: 2}\n", "l:\n- {a: 1}\n- {a: 3}\n", "l:\n- {a: 0}\n- {a: 2}\n", "l:\n- {a: 0}\n- {a: 3}\n", "",
		},
		"YAML: a text of several lines": {
			"a.yaml", "a: |\n  # x: 1\n  y\nb: 1\n", "a: |\n  # x: 1\n  y\n  mine\nb: 1\n", "a: |\n  # x: 1\n  y\nb: 2\n", "a: |\n  # x: 1\n  y\n  mine\nb: 2\n", "",
		},
		"YAML: commented out, and taken in": {
			"a.yaml",
			"r:\n- a\n# [X] comment\n#- b\np: 1\n", "r:\n- a\n# [X] comment\n- b\np: 1\n", "r:\n- a\n- n\n# [X] comment\n#- b\np: 1\n",
			"r:\n- a\n- n\n# [X] comment\n- b\np: 1\n", "",
		},
		"Makefile: targets and variables": {
			"Makefile",
			"A ?= 1\nB ?= 1\n\n.PHONY: x\nx: ## X.\n\tx\n\n.PHONY: y\ny:\n\ty\n",
			"A ?= mine\nB ?= 1\n\n.PHONY: x\nx: ## X.\n\tx\n\n.PHONY: mine\nmine:\n\tmine\n\n.PHONY: y\ny:\n\ty --mine\n",
			"A ?= 1\nB ?= 2\nC ?= 3\n\n.PHONY: n\nn:\n\tn\n\n.PHONY: x\nx: ## X!\n\tx\n\n.PHONY: y\ny:\n\ty --new\n",
			"A ?= mine\nB ?= 2\nC ?= 3\n\n.PHONY: n\nn:\n\tn\n\n.PHONY: x\nx: ## X!\n\tx\n\n.PHONY: mine\nmine:\n\tmine\n\n.PHONY: y\ny:\n\ty --mine\n",
			"A ?= mine\nB ?= 2\nC ?= 3\n\n.PHONY: n\nn:\n\tn\n\n.PHONY: x\nx: ## X!\n\tx\n\n.PHONY: mine\nmine:\n\tmine\n\n.PHONY: y\ny:\n\ty --new\n",
		},
		"Makefile: blocks": {
			"Makefile",
			"ifeq (a,b)\nX := 1\nelse\nX := 2\nendif\n\ndefine D\nt: x\nendef\nx: \\\n  y\n",
			"ifeq (a,b)\nX := 1\nelse\nX := 2\nendif\n\ndefine D\nt: x\nendef\nx: \\\n  y\nmine:\n",
			"ifeq (a,b)\nX := 1\nelse\nX := 3\nendif\n\ndefine D\nt: x\n# new\nendef\nx: \\\n  z\n",
			"ifeq (a,b)\nX := 1\nelse\nX := 3\nendif\n\ndefine D\nt: x\n# new\nendef\nx: \\\n  z\nmine:\n", "",
		},
		"Go: imports and functions at the same place": {
			"a.go",
			"package a\n\nimport (\n\t\"os\"\n)\n\nfunc a() { os.Exit(1) }\n",
			"package a\n\nimport (\n\t\"os\"\n\t\"path\"\n)\n\nfunc a() { os.Exit(1) }\n\nfunc mine() { path.Base(\"\") }\n",
			"package a\n\nimport (\n\t\"net\"\n\t\"os\"\n)\n\nfunc a() { os.Exit(2) }\n\nfunc n() { net.Dial(\"\", \"\") }\n",
			"package a\n\nimport (\n\t\"net\"\n\t\"os\"\n\t\"path\"\n)\n\nfunc a() { os.Exit(2) }\n\nfunc n() { net.Dial(\"\", \"\") }\n\nfunc mine() { path.Base(\"\") }\n", "",
		},
		"Go: a function that both changed": {
			"a.go", "package a\n\nfunc a() {\n\t_ = 1\n}\n", "package a\n\nfunc a() {\n\t_ = 2\n}\n", "package a\n\nfunc a() {\n\t_ = 3\n}\n\nfunc b() {}\n",
			"package a\n\nfunc a() {\n\t_ = 2\n}\n\nfunc b() {}\n", "package a\n\nfunc a() {\n\t_ = 3\n}\n\nfunc b() {}\n",
		},
		"Go: what does not parse": {
			"a.go", "package a\n", "package a\n\nfunc {\n", "package a\n\n// New.\n", "package a\n\nfunc {\n", "package a\n\n// New.\n",
		},
		"patterns": {
			".gitignore", "a\n# B.\nb\n", "a\n# B.\nb\nmine\n", "a\n# B.\nb\nc\n", "a\n# B.\nb\nc\nmine\n", "",
		},
		"other text": {
			"Dockerfile", "A\nB\nC\n", "A\nB\nC2\n", "A1\nB\nC\n", "A1\nB\nC2\n", "",
		},
		"other text, conflict": {
			"Dockerfile", "A\nB\nC\n", "A2\nB\nC\n", "A1\nB\nC1\n", "A2\nB\nC1\n", "A1\nB\nC1\n",
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			merged, wanted := Merge(c.name, []byte(c.base), []byte(c.mine), []byte(c.theirs))
			if d := cmp.Diff(c.merged, string(merged)); d != "" {
				t.Errorf("merged (-want +got):\n%s", d)
			}
			if c.wanted == "" {
				c.wanted = c.merged
			}
			if d := cmp.Diff(c.wanted, string(wanted)); d != "" {
				t.Errorf("wanted (-want +got):\n%s", d)
			}
			again, _ := Merge(c.name, []byte(c.base), merged, []byte(c.theirs))
			if d := cmp.Diff(string(merged), string(again)); d != "" {
				t.Errorf("the second time (-want +got):\n%s", d)
			}
		})
	}
}

// Splitting loses nothing, and a merge of a file with itself changes nothing.
func TestSections_Golden(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../../../testdata/golden", func(file string, d os.DirEntry, err error) error {
		named := slices.Contains([]string{"Makefile", ".gitignore", ".dockerignore"}, filepath.Base(file))
		if err != nil || d.IsDir() || !isGo(file) && !isYAML(file) && !named {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		seen++
		sections := sectionsOf(file, data)
		if len(sections) == 0 && len(data) > 0 {
			t.Errorf("%s is not split", file)
		}
		if d := cmp.Diff(string(data), Join(sections)); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// FuzzSections splits texts of every kind: nothing may get lost, and a merge
// without a change changes nothing.
func FuzzSections(f *testing.F) {
	names := []string{"Makefile", "config/manager/manager.yaml", "cmd/main.go", ".gitignore"}
	for i, name := range names {
		data, err := os.ReadFile(filepath.Join("../../../testdata/golden/memcached/want", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), data)
	}
	for _, text := range []string{"- a:\n  - b: 1\n\n  # c\n  - d\n---\nx: |\n y\n", "? a\n: b\n\"x\": {a: [\n1]}\n", "-\n  a: 1\n- - b\n", " a: 1\n b:\n - c\n"} {
		f.Add(byte(1), []byte(text))
	}
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		name := names[int(kind)%len(names)]
		s := sectionsOf(name, data)
		if s == nil {
			return
		}
		if got := Join(s); strings.TrimRight(got, "\n") != strings.TrimRight(string(data), "\n") {
			t.Errorf("%q becomes %q", data, got)
		}
		merged, wanted := Merge(name, data, data, data)
		if !bytes.Equal(merged, wanted) || !isGo(name) && strings.TrimSpace(string(merged)) != strings.TrimSpace(string(data)) {
			t.Errorf("merged with itself, %q becomes %q and %q", data, merged, wanted)
		}
	})
}

func TestReject(t *testing.T) {
	got := Reject("a/b.yaml", []byte("a: 1\nb: 1\n"), []byte("a: 2\nb: 1\n"))
	want := "--- a/a/b.yaml\n+++ b/a/b.yaml\n@@ -1,2 +1,2 @@\n-a: 1\n+a: 2\n b: 1\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// FuzzMerge merges two changes of a text: no line that only the user has gets
// lost, and what can be parsed stays so.
func FuzzMerge(f *testing.F) {
	names := []string{"Makefile", "a.yaml", ".gitignore", "Dockerfile"}
	f.Add(byte(0), []byte("a: b\n\tc\n"), []byte("a: b\n\tc\n\nmine:\n"), []byte("X = 1\na: b\n\td\n"))
	f.Add(byte(1), []byte("a:\n- x\nb: 1\n"), []byte("a:\n- x\n- mine\nb: 1\n"), []byte("a:\n- y\n- x\nc: 1\n"))
	f.Add(byte(2), []byte("a\n"), []byte("a\nb\n"), []byte("c\n"))
	f.Add(byte(3), []byte("a\nb\n"), []byte("a\nb\nc\n"), []byte("d\nb\n"))
	f.Fuzz(func(t *testing.T, kind byte, base, mine, theirs []byte) {
		name := names[int(kind)%len(names)]
		merged, wanted := Merge(name, base, mine, theirs)
		if Valid(name, mine) && !Valid(name, merged) {
			t.Errorf("%q and %q become %q", mine, theirs, merged)
		}
		if Valid(name, theirs) && !Valid(name, wanted) {
			t.Errorf("%q and %q become, with force, %q", mine, theirs, wanted)
		}
		left := map[string]bool{}
		for line := range bytes.Lines(merged) {
			left[strings.TrimSpace(string(line))] = true
		}
		for line := range bytes.Lines(mine) {
			if l := strings.TrimSpace(string(line)); !bytes.Contains(base, []byte(l)) && !left[l] {
				t.Errorf("from %q to %q and %q: %q is not in %q", base, mine, theirs, l, merged)
			}
		}
	})
}

// What is merged imports what it uses: imports and those who need them are
// merged apart from each other.
func TestMerge_Imports(t *testing.T) {
	const (
		head  = "package x\n\nimport (\n\t\"fmt\"\n)\n"
		withO = "package x\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n"
		main  = "\nfunc main() {\n\tfmt.Println()\n}\n"
		main2 = "\nfunc main() {\n\tfmt.Println(1)\n}\n"
		own   = "\nfunc mine() {\n\tfmt.Println(os.Args)\n}\n"
		args  = "\nfunc old() {\n\tfmt.Println(os.Args)\n}\n"
		old   = "\nfunc old() {\n\tfmt.Println()\n}\n"
		v3    = "package x\n\nimport (\n\t\"fmt\"\n\n\t\"go.yaml.in/yaml/v3\"\n)\n"
		yamlF = "\nfunc y() {\n\tfmt.Println(yaml.Node{})\n}\n"
		side  = "package x\n\nimport (\n\t\"fmt\"\n\t_ \"os\"\n)\n"
		alias = "package x\n\nimport (\n\t\"fmt\"\n\tsys \"os\"\n)\n"
		aOwn  = "\nfunc mine() {\n\tfmt.Println(sys.Args)\n}\n"
	)
	tests := map[string]struct{ base, mine, theirs, want string }{
		"the user's code needs what the scaffold no longer does": {withO + main + args, withO + main + args + own, head + main2 + old, withO + main2 + old + own},
		"by a name of its own":                    {alias + main + aOwn, alias + main + aOwn + own2(aOwn), head + main2, alias + main2 + own2(aOwn)},
		"it came for code that the user removed":  {head + main + old, head + main, withO + main2 + args, head + main2},
		"it came for code that is there":          {head + main + old, head + main + old, withO + main2 + args, withO + main2 + args},
		"the scaffold begins to use it elsewhere": {withO + main + args, head + main, withO + main2 + "\nfunc new() {\n\t_ = os.Args\n}\n" + args, withO + main2 + "\nfunc new() {\n\t_ = os.Args\n}\n"},
		"of a module's third version":             {v3 + main + yamlF, v3 + main + yamlF + "\nfunc z() {\n\t_ = yaml.Node{}\n}\n", head + main2, v3 + main2 + "\nfunc z() {\n\t_ = yaml.Node{}\n}\n"},
		"for its effect":                          {head + main, head + main + "\n// Mine.\n", side + main, side + main + "\n// Mine.\n"},
		"wrong before":                            {head + main, head + main + own, head + main2, head + main2 + own},
		"not used by the user before":             {head + main, withO + main, head + main2, withO + main2},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			merged, wanted := Merge("x.go", []byte(c.base), []byte(c.mine), []byte(c.theirs))
			if d := cmp.Diff([]string{c.want, c.want}, []string{string(merged), string(wanted)}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			again, _ := Merge("x.go", []byte(c.base), merged, []byte(c.theirs))
			if d := cmp.Diff(string(merged), string(again)); d != "" {
				t.Errorf("the second time (-first +second):\n%s", d)
			}
		})
	}
}

// own2 is a function like another one.
func own2(text string) string { return strings.Replace(text, "mine", "second", 1) }
