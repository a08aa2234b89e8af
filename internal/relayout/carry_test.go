package relayout

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

type tree map[string]string

func (t tree) bytes() map[string][]byte {
	out := map[string][]byte{}
	for name, data := range t {
		out[name] = []byte(data)
	}
	return out
}

// write puts the files into a directory.
func (t tree) write(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, data := range t {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			tb.Fatal(err)
		}
		err := os.WriteFile(p, []byte(data), 0o644)
		if to, link := strings.CutPrefix(data, "link to "); link {
			err = errors.Join(os.Remove(p), os.Symlink(filepath.FromSlash(to), p))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// with is the tree with some files more, or others; "" takes one away.
func (t tree) with(changes tree) tree {
	out := tree{}
	for _, from := range []tree{t, changes} {
		for name, data := range from {
			if out[name] = data; data == "" {
				delete(out, name)
			}
		}
	}
	return out
}

// A scaffold in the two layouts, as small as can be.
var (
	flat = tree{
		"go.mod":                        "module example.com/op\n",
		"cmd/main.go":                   "package main\n\nimport (\n\t\"example.com/op/api/v1\"\n\t\"example.com/op/internal/controller\"\n)\n\nvar _, _ = v1.Kind{}, controller.Kind{}\n",
		"api/v1/kind_types.go":          "package v1\n\ntype Kind struct{}\n",
		"internal/controller/kind_x.go": "package controller\n\ntype Kind struct{}\n",
		"internal/controller/suite.go":  "package controller\n",
		"config/rbac/kind_role.yaml":    "name: kind\nkind: Role\nrules: []\n",
		"config/rbac/role.yaml":         "rules: []\n",
		"AGENTS.md":                     "flat\n",
	}
	grouped = tree{
		"go.mod":                              "module example.com/op\n",
		"cmd/main.go":                         "package main\n\nimport (\n\t\"example.com/op/api/cache/v1\"\n\tcachecontroller \"example.com/op/internal/controller/cache\"\n)\n\nvar _, _ = v1.Kind{}, cachecontroller.Kind{}\n",
		"api/cache/v1/kind_types.go":          "package v1\n\ntype Kind struct{}\n",
		"internal/controller/cache/kind_x.go": "package cache\n\ntype Kind struct{}\n",
		"internal/controller/cache/suite.go":  "package cache\n",
		"config/rbac/cache_kind_role.yaml":    "name: cache-kind\nkind: Role\nrules: []\n",
		"config/rbac/role.yaml":               "rules: []\n",
		"AGENTS.md":                           "grouped\n",
	}
	grouping = map[string]string{
		"api/v1/kind_types.go":          "api/cache/v1/kind_types.go",
		"internal/controller/kind_x.go": "internal/controller/cache/kind_x.go",
		"internal/controller/suite.go":  "internal/controller/cache/suite.go",
		"config/rbac/kind_role.yaml":    "config/rbac/cache_kind_role.yaml",
	}
	// bare is the scaffold without its kind.
	bare = tree{
		"go.mod":                "module example.com/op\n",
		"cmd/main.go":           "package main\n",
		"config/rbac/role.yaml": "rules: []\n",
		"AGENTS.md":             "flat\n",
	}
)

func TestCarry(t *testing.T) {
	group := Change{Module: "example.com/op", Before: flat.bytes(), After: grouped.bytes(), Moves: grouping}
	remove := Change{Module: "example.com/op", Before: flat.bytes(), After: bare.bytes(), Drop: []string{"config/crd/bases/kinds.yaml"}}
	forced := remove
	forced.Force = true
	split := group
	split.After = grouped.with(tree{"internal/controller/cache/suite.go": "", "internal/controller/suite.go": "package controller\n"}).bytes()
	split.Moves = map[string]string{}
	for from, to := range grouping {
		if from != "internal/controller/suite.go" {
			split.Moves[from] = to
		}
	}
	two := group
	two.After = grouped.with(tree{"internal/controller/cache/kind_x.go": "", "internal/controller/shop/kind_x.go": "package shop\n", "internal/controller/shop/suite.go": "package shop\n"}).bytes()
	two.Moves = map[string]string{}
	for from, to := range grouping {
		two.Moves[from] = to
	}
	two.Moves["internal/controller/kind_x.go"] = "internal/controller/shop/kind_x.go"
	const webhook, b = "internal/webhook/v1/kind_webhook.go", "// +kubebuilder:webhook:path=/b,name=b.kb.io\n\nfunc b() {}\n"
	const both = "package v1\n\nimport _ \"a\"\n\nvar _ = chain(a, b)\n\n// +kubebuilder:webhook:path=/a,name=a.kb.io\n\nfunc a() {}\n\n" + b
	changed := strings.Replace(both, "a() {}", "a() { mine() }", 1) + "\n// +kubebuilder:webhook:path=/mine,name=mine.kb.io\n"
	tests := map[string]struct {
		change   Change
		mine     tree // beyond flat
		want     tree // beyond what the scaffold has after it; nil: what was there
		problems []string
	}{
		"as scaffolded": {change: group, want: tree{}},
		"lines of the user's": {
			group,
			tree{"config/rbac/kind_role.yaml": "# mine\nname: kind\nkind: Role\nrules: []\n", "internal/controller/kind_x.go": flat["internal/controller/kind_x.go"] + "\n// mine\n"},
			tree{"config/rbac/cache_kind_role.yaml": "# mine\nname: cache-kind\nkind: Role\nrules: []\n", "internal/controller/cache/kind_x.go": grouped["internal/controller/cache/kind_x.go"] + "\n// mine\n"},
			nil,
		},
		"files of the user's": {
			group,
			tree{"internal/controller/a.go": "package controller\n", "internal/controller/testdata/x": "x", "internal/controller/sub/b.go": "package sub\n", "internal/controller/sub/y": "y", "tool/c.go": "package tool\n\nimport \"example.com/op/api/v1\"\n"},
			tree{"internal/controller/cache/a.go": "package cache\n", "internal/controller/cache/testdata/x": "x", "internal/controller/sub/b.go": "package sub\n", "internal/controller/sub/y": "y", "tool/c.go": "package tool\n\nimport \"example.com/op/api/cache/v1\"\n"},
			nil,
		},
		"hidden files, and Go as data": {
			group,
			tree{"internal/controller/.gitattributes": "x", "internal/controller/golden/.keep": " ", "internal/controller/testdata/in.go": "package in\n", "internal/controller/testdata/x": "x", ".mine": "x"},
			tree{"internal/controller/cache/.gitattributes": "x", "internal/controller/cache/golden/.keep": " ", "internal/controller/cache/testdata/in.go": "package in\n", "internal/controller/cache/testdata/x": "x", ".mine": "x"},
			nil,
		},
		"what is nobody's, and looks like Go": {
			group,
			tree{"internal/controller/.DS_Store": "x", "internal/controller/.mysdk-1": "x", "internal/controller/._kind.go": "\x00"},
			tree{"internal/controller/.DS_Store": "x", "internal/controller/.mysdk-1": "x", "internal/controller/cache/._kind.go": "\x00"},
			nil,
		},
		"a module of its own": {change: group, mine: tree{"internal/controller/testdata/mod/go.mod": "module x\n"}, problems: []string{
			"internal/controller/testdata/mod: mysdk cannot move it to internal/controller/cache/testdata/mod: move it yourself first",
		}},
		"links and hidden directories": {change: group, mine: tree{"internal/controller/golden/link.md": "link to ../../../AGENTS.md", "internal/controller/.cache/x": "x", ".cache/x": "x", "link": "link to AGENTS.md", "tool/link.go": "link to ../api/v1/kind_types.go", "internal/controller/sub/b.go": "package sub\n", "internal/controller/sub/link": "link to b.go"}, problems: []string{
			"internal/controller/.cache: mysdk cannot move it to internal/controller/cache/.cache: move it yourself first",
			"internal/controller/golden/link.md: mysdk cannot move it to internal/controller/cache/golden/link.md: move it yourself first",
		}},
		"paths in tests": {
			group,
			tree{"api/v1/p_test.go": paths("v1", "../../config", "../../internal/controller/testdata", "../v1/testdata/x", `"..", "v1", "testdata"`, `"..", "..", "config"`), "api/v1/testdata/x": "x", "internal/controller/testdata/x": "x"},
			tree{"api/cache/v1/p_test.go": paths("v1", "../../../config", "../../../internal/controller/testdata", "../v1/testdata/x", `"..", "v1", "testdata"`, `"..", "..", "..", "config"`), "api/cache/v1/testdata/x": "x", "internal/controller/cache/testdata/x": "x"},
			nil,
		},
		"what the user removed stays away": {group, tree{"config/rbac/kind_role.yaml": ""}, tree{"config/rbac/cache_kind_role.yaml": ""}, nil},
		"other modules and vendored code":  {group, tree{"vendor/x.go": "package controller\n", "sub/go.mod": "module x\n", "sub/x.go": "import \"example.com/op/api/v1\"\n"}, tree{"vendor/x.go": "package controller\n", "sub/go.mod": "module x\n", "sub/x.go": "import \"example.com/op/api/v1\"\n"}, nil},
		"go.mod is nobody's":               {group, tree{"go.mod": "module example.com/op\n\ngo 1.26\n"}, tree{"go.mod": "module example.com/op\n\ngo 1.26\n"}, nil},
		"generated meanwhile":              {group, tree{"config/rbac/role.yaml": "rules: [a]\n"}, tree{"config/rbac/role.yaml": "rules: [a]\n"}, nil},
		"a line in the way":                {change: group, mine: tree{"config/rbac/kind_role.yaml": "name: mine\nkind: Role\nrules: []\n"}, problems: []string{"config/rbac/kind_role.yaml:1: your changes here conflict with the scaffold's"}},
		"a line taken out":                 {change: group, mine: tree{"config/rbac/kind_role.yaml": "kind: Role\nrules: []\n"}, problems: []string{"config/rbac/kind_role.yaml:1: lines that you removed have changed"}},
		"a file in the way":                {change: group, mine: tree{"internal/controller/cache/kind_x.go": "package cache\n"}, problems: []string{"internal/controller/kind_x.go: internal/controller/cache/kind_x.go already exists"}},
		"text of the user's":               {group, tree{"AGENTS.md": "mine\n"}, tree{"AGENTS.md": "mine\n"}, nil},
		"beside a file that moves": {change: split, mine: tree{"internal/controller/kind_helper.go": "package controller\n"}, problems: []string{
			"internal/controller/kind_helper.go: internal/controller is split up, and where this file belongs cannot be told: move it by hand first",
		}},
		"what both parts need": {change: two, mine: tree{"internal/controller/suite.go": "package controller\n\nimport _ \"example.com/op/api/v1\"\n"}, problems: []string{
			"internal/controller/suite.go: internal/controller is split up, and your changes here may belong in internal/controller/shop/suite.go, too: undo them, and make them again in each part",
		}},
		"files of a package that is split": {change: split, mine: tree{"internal/controller/a.go": "package controller\n", "x/x.go": "package x\n\nimport \"example.com/op/internal/controller\"\n"}, problems: []string{
			"internal/controller/a.go: internal/controller is split up, and where this file belongs cannot be told: move it by hand first",
			"x/x.go:3: imports example.com/op/internal/controller, which is split up",
		}},

		"removed as scaffolded":          {change: remove, mine: tree{"config/crd/bases/kinds.yaml": "x", "api/v1/zz_generated.deepcopy.go": "package v1\n"}, want: tree{}},
		"removed, with the user's lines": {remove, tree{"cmd/main.go": flat["cmd/main.go"] + "\n// mine\n", "AGENTS.md": "flat\nmine\n"}, tree{"cmd/main.go": "package main\n\n// mine\n", "AGENTS.md": "flat\nmine\n"}, nil},
		"removed, but changed":           {change: remove, mine: tree{"api/v1/kind_types.go": "package v1\n"}, problems: []string{"api/v1/kind_types.go: would be deleted, but you have changed it"}},
		"removed, although changed":      {forced, tree{"api/v1/kind_types.go": "package v1\n"}, tree{}, []string{"api/v1/kind_types.go: will be deleted with your changes"}},
		"removed, in another order": {
			Change{Module: "example.com/op", Before: flat.with(tree{"config/webhook/kustomization.yaml": "resources:\n- a\n- b\n"}).bytes(), After: bare.bytes()},
			tree{"config/webhook/kustomization.yaml": "resources:\n- b\n- a\n"}, tree{}, nil,
		},
		"removed, and something is left":  {change: remove, mine: tree{"api/v1/mine.go": "package v1\n"}, problems: []string{"api/v1/mine.go: would be the only file left in its package"}},
		"removed, and something needs it": {change: remove, mine: tree{"x/x.go": "package x\n\nimport \"example.com/op/api/v1\"\n"}, problems: []string{"x/x.go:3: imports example.com/op/api/v1, which will be removed"}},
		"a webhook removed, although changed": {
			Change{Module: "example.com/op", Before: flat.with(tree{webhook: both}).bytes(), After: bare.with(tree{webhook: "package v1\n\nvar _ = chain(b)\n\n" + b}).bytes(), Force: true},
			tree{webhook: changed}, tree{webhook: strings.Replace(changed, "+kubebuilder:webhook:path=/a,", "kubebuilder:webhook:path=/a,", 1)},
			[]string{
				webhook + ": the code of the webhook stays, and its +kubebuilder:webhook marker is disabled: nothing calls it",
				webhook + ":3-9: your changes here conflict with the scaffold's",
			},
		},
		"added where there is a file":      {change: Change{Module: "example.com/op", Before: bare.bytes(), After: flat.bytes()}, mine: tree{"AGENTS.md": "flat\n"}},
		"removed already, nothing happens": {change: remove, mine: bare.with(tree{"api/v1/kind_types.go": "", "internal/controller/kind_x.go": "", "internal/controller/suite.go": "", "config/rbac/kind_role.yaml": ""}), want: tree{}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			mine := flat.with(c.mine)
			root := mine.write(t)
			project := NewTree(host.OSFiles{}, root)
			problems, err := c.change.Carry(project)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			if d := cmp.Diff(c.problems, got); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
			if c.want == nil {
				return // the caller does not write it
			}
			commit(t, root, project.Set())
			after := tree{}
			for name, data := range c.change.After {
				after[name] = string(data)
			}
			if d := cmp.Diff(map[string]string(after.with(c.want)), files(t, root)); d != "" {
				t.Errorf("tree (-want +got):\n%s", d)
			}
		})
	}
}

// Code of the user's that needs a kind which goes, or has it, is told of where the
// packages stay.
func TestCarry_Needed(t *testing.T) {
	const api, types, controller = "package x\n\nimport cachev1 \"example.com/op/api/v1\"\n\n", "api/v1/kind_types.go", "internal/controller/kind_x.go"
	others := tree{"api/v1/other_types.go": "package v1\n\ntype Other struct{}\n"}
	remove := Change{
		Module: "example.com/op", Before: flat.with(others).bytes(),
		After: flat.with(others).with(tree{types: "", controller: "", "cmd/main.go": bare["cmd/main.go"]}).bytes(),
	}
	for name, tt := range map[string]struct {
		mine tree
		want []string
	}{
		"renamed":               {tree{types: "", "api/v1/types.go": flat[types]}, []string{"api/v1/types.go:3: declares Kind, which will be removed"}},
		"a method":              {tree{"api/v1/extra.go": "package v1\n\nfunc (k *Kind) Size() int { return 0 }\n"}, []string{"api/v1/extra.go:3: uses Kind, which will be removed"}},
		"used in its package":   {tree{"internal/controller/a.go": "package controller\n\nvar a, b Kind\n"}, []string{"internal/controller/a.go:3: uses Kind, which will be removed"}},
		"imported":              {tree{"x/x.go": api + "var a cachev1.Other\n\nvar b cachev1.Kind\n"}, []string{"x/x.go:7: uses cachev1.Kind, which will be removed"}},
		"by its package's name": {tree{"x/x.go": "package x\n\nimport \"example.com/op/api/v1\"\n\nvar a v1.Kind\n"}, []string{"x/x.go:5: uses v1.Kind, which will be removed"}},
		"tests":                 {tree{"api/v1/x_test.go": "package v1_test\n\nimport \"example.com/op/api/v1\"\n\nvar a v1.Kind\n"}, []string{"api/v1/x_test.go:5: uses v1.Kind, which will be removed"}},
		"told already":          {tree{types: flat[types] + "// mine\n"}, []string{types + ": would be deleted, but you have changed it"}},
		"where the import goes": {tree{"cmd/main.go": flat["cmd/main.go"] + "\nvar mine = controller.Kind{}\n"}, []string{"cmd/main.go:10: uses controller.Kind, which will be removed"}},
		"only others":           {tree{"x/x.go": api + "var a cachev1.Other\n"}, nil},
		"names of the user's": {tree{
			"x/x.go": api + "type Kind struct{ Kind cachev1.Other }\n\nfunc f(cachev1 Kind) any { return cachev1.Kind }\n", "api/v1/x_test.go": "package v1_test\n\ntype Kind int\n",
		}, nil},
		"generated": {tree{"x/x.go": "// Code generated by x. DO NOT EDIT.\n\n" + api + "var a cachev1.Kind\n"}, nil},
		"no Go":     {tree{"x/testdata/x.go": "cachev1.Kind"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			problems, err := remove.Carry(NewTree(host.OSFiles{}, flat.with(others).with(tt.mine).write(t)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
		})
	}
}

// files are those below root, without the directories.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	out := hosttest.Snapshot(t, root)
	maps.DeleteFunc(out, func(_, data string) bool { return data == "dir" })
	return out
}

func commit(t *testing.T, root string, set fileset.Set) {
	t.Helper()
	to := fileset.Tree{FS: host.OSFiles{}, Root: root}
	if err := to.Commit(t.Context(), set, "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "api", "v1")); err == nil {
		t.Error("api/v1 is left, empty")
	}
}

// paths is a test with paths in it, and arguments of filepath.Join.
func paths(pkg, config, data, beside, join, climb string) string {
	return fmt.Sprintf("package %s\n\nvar _, _, _ = %q, %q, %q\n\nvar _, _ = filepath.Join(%s), filepath.Join(%s)\n", pkg, config, data, beside, join, climb)
}

// Every Go file is adjusted, the scaffold's and the user's.
func TestCarry_Adjust(t *testing.T) {
	root := flat.with(tree{"tool/c.go": "package tool // +\n"}).write(t)
	project := NewTree(host.OSFiles{}, root)
	adjust := func(_ string, src []byte) []byte { return append(src, "// adjusted\n"...) }
	after := flat.bytes()
	for name := range after {
		if filepath.Ext(name) == ".go" {
			after[name] = adjust(name, after[name])
		}
	}
	problems, err := Change{Module: "example.com/op", Before: flat.bytes(), After: after, Adjust: adjust}.Carry(project)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	data, _, err := project.Read("tool/c.go")
	if want := "package tool // +\n// adjusted\n"; err != nil || string(data) != want {
		t.Errorf("got %q, %v", data, err)
	}
	set := project.Set()
	if _, touched := set.Get("config/rbac/kind_role.yaml"); touched || set.Len() != 5 {
		t.Errorf("changed %v", set.Paths())
	}
}

func TestTree_Names(t *testing.T) {
	root := tree{"a.go": "x", ".git/x": "x", "bin/x": "x", "b/bin/x": "x", "node_modules/x": "x", "c/go.mod": "x", "c/x": "x"}.write(t)
	project := NewTree(host.OSFiles{}, root)
	if err := project.Write("new", nil); err != nil {
		t.Fatal(err)
	}
	if err := project.Move("a.go", "d/a.go", nil); err != nil {
		t.Fatal(err)
	}
	got, err := project.Names()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"b/bin/x", "d/a.go", "new"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, there, err := project.Read("a.go"); there || err != nil {
		t.Errorf("a.go is still there, %v", err)
	}
	if _, err := NewTree(host.OSFiles{}, filepath.Join(root, "nowhere")).Names(); err == nil {
		t.Error("a directory that is not there was listed")
	}
}
