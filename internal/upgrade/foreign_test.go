package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/rewrite/merge3"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// otherTool is a project as another tool writes it: in the same layout, with
// other texts, and with files that ours does not have.
func otherTool(t testing.TB, text string) (*shop, string) {
	t.Helper()
	tree := templateTree(t)
	delete(tree, "init/AGENTS.md.tmpl")
	delete(tree, "init/config/rbac/metrics_reader_role.yaml.tmpl")
	replace(t, tree, "init/config/rbac/kustomization.yaml", "- metrics_reader_role.yaml\n", "")
	replace(t, tree, "init/Dockerfile", "USER 65532:65532", "USER nobody")
	replace(t, tree, "init/config/manager/manager.yaml", "cpu: 500m", "cpu: 250m")
	replace(t, tree, "init/config/default/kustomization.yaml", "resources:", "# Theirs.\nresources:")
	replace(t, tree, "init/go.mod", runtimeNow(), runtimeModule+" v0.22.0")
	replace(t, tree, "init/cmd/main.go", "Failed to create the manager", "No manager")
	replace(t, tree, "init/README.md", "##", "## Theirs:")
	replace(t, tree, "init/.dockerignore", "!internal\n", "!**/*.go\n")
	tree["init/Makefile.tmpl"].Data = []byte(theirMakefile)
	s := emptyShop(t, Options{Plugin: shopPlugin()})
	pins := v4.CurrentVersions()
	pins.GolangciLint = "v2.0.0"
	s.fill(Baseline{"v9.1.0", tree, pins}, text)
	return s, peerTable(t, s.peer())
}

const theirMakefile = `IMG ?= controller:latest
TOOL ?= bin/tool
SPARE ?= bin/spare

.PHONY: build
build: ## Build.
	go build ./cmd

.PHONY: tool
tool: ## Fetch a tool.
	fetch $(TOOL)

.PHONY: spare
spare:
	fetch $(SPARE)
`

// foreignProject is that of the tests without the record of mysdk.
var foreignProject = strings.Replace(fmt.Sprintf(projectText, ""), "  scaffold.mysdk.dev/v1:\n    version: \n", "", 1)

// What another tool wrote becomes ours; what depends on the user's kinds, his
// code and what he removed stays.
func TestForeign_Untouched(t *testing.T) {
	s, table := otherTool(t, foreignProject)
	s.opts.peers = table
	before := s.files()
	s.remove("config/prometheus/monitor.yaml")
	p := s.upgrade()
	if p.Tool != "kubebuilder" || p.From != "kubebuilder v9.1.0" {
		t.Errorf("taken for %s, from %s", p.Tool, p.From)
	}
	want := map[string]Action{
		"AGENTS.md": New, "config/rbac/metrics_reader_role.yaml": New, "config/rbac/kustomization.yaml": Merged,
		"Dockerfile": Updated, "Makefile": Updated, "README.md": Updated, "cmd/main.go": Updated, "config/manager/manager.yaml": Updated,
		"config/default/kustomization.yaml": Updated, "go.mod": Merged, ".github/workflows/test.yml": Updated,
		".devcontainer/devcontainer.json": Updated, ".dockerignore": Updated,
	}
	if d := cmp.Diff(want, p.actions()); d != "" {
		t.Errorf("plan (-want +got):\n%s", d)
	}
	now := s.files()
	for _, name := range []string{"internal/controller/memcached_controller.go", "config/crd/kustomization.yaml"} {
		if now[name] != before[name] {
			t.Errorf("%s was changed", name)
		}
	}
	for name, has := range map[string]string{
		"cmd/main.go": "(&controller.MemcachedReconciler{", "Makefile": `"$(MYSDK)" test`,
		"config/rbac/kustomization.yaml": "- metrics_reader_role.yaml\n", "PROJECT": "version: " + nowVersion,
	} {
		if !strings.Contains(now[name], has) {
			t.Errorf("%s does not have %s:\n%s", name, has, now[name])
		}
	}
	if strings.Contains(now["Makefile"], "tool") && strings.Contains(now["Makefile"], "fetch") {
		t.Errorf("targets that nobody needs are still there:\n%s", now["Makefile"])
	}
	if p := s.upgrade(); !p.Empty() || p.Tool != "" {
		t.Errorf("the second time: %v", p.Files)
	}
}

// A Makefile with a target that anything else calls, and that ours lacks, stays.
func TestForeign_Called(t *testing.T) {
	tests := map[string]struct {
		file, text string
		kept       bool
	}{
		"by a workflow":     {".github/workflows/release.yml", "run: make spare\n", true},
		"by a script":       {"hack/release.sh", "cd .. && make IMG=a:b build spare\n", true},
		"by the Dockerfile": {"Dockerfile", "RUN make spare\n", true},
		"by GitLab":         {".gitlab-ci.yml", "script: make spare\n", true},
		"one that ours has": {"hack/release.sh", "make build; spare\n", false},
		"the tests' own":    {".github/workflows/test-e2e.yml", "run: make test-e2e\n", false},
		"that of a chart":   {".github/workflows/test-chart.yml", "run: make helm-deploy\n", false},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := otherTool(t, foreignProject)
			s.write("Makefile", theirMakefile+"\n.PHONY: test-e2e\ntest-e2e:\n\tgo test ./test/e2e/\n\nHELM ?= helm\nhelm-deploy:\n\t$(HELM) version\n")
			s.opts.peers = peerTable(t, s.peer())
			s.write(c.file, c.text)
			mine := s.read("Makefile")
			p := s.upgrade()
			now := s.read("Makefile")
			if kept := p.actions()["Makefile"] == Kept; kept != c.kept || kept != (now == mine) || kept == strings.Contains(now, `"$(MYSDK)" test`) {
				t.Errorf("%v\n%s", p.Files, now)
			}
			if !strings.Contains(now, "\ntest-e2e:\n\tgo test ./test/e2e/\n\nHELM ?= helm\nhelm-deploy:\n\t$(HELM) version\n") {
				t.Errorf("the targets for what stays are not in\n%s", now)
			}
			if detail := p.detail("Makefile"); c.kept && detail != c.file+" calls a target that ours does not have; mysdk's commands need no Makefile" {
				t.Errorf("the plan says %q", detail)
			}
		})
	}
}

// What the user has removed stays away, also where no fingerprint says that the
// other tool wrote it.
func TestForeign_Removed(t *testing.T) {
	tests := map[string]struct {
		removed []string
		back    bool
	}{
		"what is known by its sections":     {[]string{"Makefile"}, false},
		"roles that every version wrote":    {[]string{"config/rbac/memcached_editor_role.yaml", "config/rbac/memcached_viewer_role.yaml"}, false},
		"roles that only later ones wrote":  {[]string{"config/rbac/memcached_admin_role.yaml"}, false},
		"what is known":                     {[]string{"Dockerfile", "config/manager/manager.yaml"}, false},
		"what a kustomization would list":   {[]string{"config/rbac/kustomization.yaml", "config/rbac/metrics_reader_role.yaml"}, false},
		"what no version of the tool wrote": {[]string{"AGENTS.md"}, true},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s, table := otherTool(t, foreignProject)
			s.opts.peers = table
			for _, file := range c.removed {
				if _, there := s.files()[file]; there {
					s.remove(file)
				}
			}
			p := s.upgrade()
			now := s.files()
			for _, file := range c.removed {
				if _, there := now[file]; there != c.back || (p.actions()[file] == New) != c.back {
					t.Errorf("%s: %s, is there: %v", file, p.actions()[file], there)
				}
			}
		})
	}
}

// What the user changed stays as it is.
func TestForeign_Changed(t *testing.T) {
	s, table := otherTool(t, foreignProject)
	s.opts.peers = table
	s.edit("Dockerfile", "USER nobody", "USER mine")
	s.edit("cmd/main.go", "func main() {", "func mine() {}\n\nfunc main() {")
	s.edit("config/manager/manager.yaml", "cpu: 250m", "cpu: 300m")
	s.write("internal/controller/more.go", "package controller\n\nimport _ \"example.com/shop/tools/hash\"\n")
	mine := s.files()
	p := s.upgrade()
	got := p.actions()
	for name, want := range map[string]Action{".dockerignore": Kept, "Dockerfile": Kept, "cmd/main.go": Kept, "config/manager/manager.yaml": Kept, "README.md": Updated} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	now := s.files()
	for _, name := range []string{"Dockerfile", "cmd/main.go", "config/manager/manager.yaml"} {
		if now[name] != mine[name] {
			t.Errorf("%s was changed", name)
		}
	}
	if _, there := now["cmd/main_test.go"]; there && mine["cmd/main_test.go"] == "" {
		t.Error("the test of a main.go that is not ours came")
	}
	if p := s.upgrade(); !p.Empty() || p.From != nowVersion || len(p.Files) > 0 {
		t.Errorf("the second time: %v", p.Files)
	}
}

// A Makefile in which a section is the user's stays whole, with what works with
// it only. It is not in the way of anything else.
func TestForeign_Makefile(t *testing.T) {
	const cross = "\n.PHONY: docker-buildx\ndocker-buildx:\n\tsed '1 s/^FROM/FROM --platform=$$BUILDPLATFORM/' Dockerfile\n"
	tests := map[string]struct{ old, text string }{
		"a value":                   {"IMG ?= controller:latest", "IMG ?= mine:v1"},
		"a variable that IMG needs": {"IMG ?= controller:latest", "REGISTRY := quay.io/me\nIMG := $(REGISTRY)/shop"},
		"a recipe":                  {"\tgo build ./cmd\n", "\tgo build ./cmd # mine\n"},
		"a target":                  {"\tgo build ./cmd\n", "\tgo build ./cmd\n\nmine: tool\n\ttrue\n"},
		"a comment":                 {"IMG ?= ", "# Mine.\nIMG ?= "},
		"a line of another kind":    {"IMG ?= ", "include mine.mk\nIMG ?= "},
		"a block without an end":    {"IMG ?= ", "ifdef MINE\nIMG ?= "},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := otherTool(t, foreignProject)
			s.write("Makefile", theirMakefile+cross)
			s.opts.peers = peerTable(t, s.peer())
			s.edit("Makefile", c.old, c.text)
			mine := s.files()
			p := s.upgrade()
			now := s.files()
			for _, name := range []string{"Makefile", "README.md"} {
				if now[name] != mine[name] || p.actions()[name] != Kept {
					t.Errorf("%s is %s:\n%s", name, p.actions()[name], now[name])
				}
			}
			if got := p.detail("Makefile"); got != "not as kubebuilder wrote it; mysdk's commands need no Makefile" {
				t.Errorf("the plan says %q", got)
			}
			if _, there := now["AGENTS.md"]; there {
				t.Error("AGENTS.md came, which calls targets of ours")
			}
			for _, name := range []string{".github/workflows/test.yml", ".github/workflows/lint.yml", ".golangci.yml"} {
				if now[name] != mine[name] {
					t.Errorf("%s was changed", name)
				}
			}
			if p.actions()["cmd/main.go"] != Updated || !strings.Contains(now["Dockerfile"], "USER 65532:65532") || strings.Contains(now["Dockerfile"], "--platform") {
				t.Errorf("%v\n%s", p.Files, now["Dockerfile"])
			}
			if p := s.upgrade(); !p.Empty() || p.From != nowVersion || len(p.Files) > 0 {
				t.Errorf("the second time: %v", p.Files)
			}
		})
	}
}

// A reject left by an earlier run must be resolved here too, before the upgrade
// finishes.
func TestForeign_Undecided(t *testing.T) {
	s, table := otherTool(t, foreignProject)
	s.opts.peers = table
	s.write("Makefile.rej", "mine\n")
	s.upgrade()
	first.once.Do(func() { first.make(t) })
	s.opts.Further = first.archives
	if p := s.upgrade(); !p.Empty() || !cmp.Equal(p.Conflicts(), []string{"Makefile"}) {
		t.Errorf("the second time: %v %v", p.Set.Paths(), p.Files)
	}
	s.remove("Makefile.rej")
	if p, err := s.opts.New(); err != nil || !cmp.Equal(p.Set.Paths(), []string{project.FileName}) {
		t.Errorf("with nothing left to decide: %v %v", p, err)
	}
	last, err := s.opts.Finish()
	if err != nil {
		t.Fatal(err)
	}
	s.commit(last.Set)
	if p := s.upgrade(); !p.Empty() || p.From != nowVersion || len(p.Files) > 0 {
		t.Errorf("after the end: %v", p.Files)
	}
}

// A project that hardly any fingerprint fits is nobody's, unless it is said
// whose it is.
func TestForeign_Unknown(t *testing.T) {
	s, _ := otherTool(t, foreignProject)
	s.opts.peers = "kubebuilder v9.1.0\n0\tDockerfile\t1\n"
	if _, err := s.opts.New(); err == nil || !strings.HasPrefix(err.Error(), "neither mysdk nor") || clierr.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
	s.opts.From = nowVersion
	if p, err := s.opts.New(); err != nil || p.Tool != "" || p.From != nowVersion {
		t.Errorf("%v %v", p, err)
	}
	s.opts.From = ""
	s.opts.peers = "kubebuilder v9.1.0\nDockerfile\n"
	if _, err := s.opts.New(); err == nil || !strings.Contains(err.Error(), "fingerprints") {
		t.Errorf("a broken table: %v", err)
	}
}

// The table that is delivered can be read, and knows both tools.
func TestPeers(t *testing.T) {
	known, err := parsePeers(peers)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]int{}
	for name, list := range known {
		if file, _, section := strings.Cut(name, "#"); !section && !covered(file) {
			t.Errorf("%s is none that fingerprints can be of", name)
		}
		for _, f := range list {
			if len(f.versions) == 0 || len(f.sum) != 12 {
				t.Errorf("%s: %v", name, f)
			}
			for _, v := range f.versions {
				tools[toolOf(v)]++
			}
		}
	}
	if len(tools) != 2 || tools["kubebuilder"] == 0 || tools["operator-sdk"] == 0 || len(known["cmd/main.go"]) == 0 {
		t.Errorf("%v", tools)
	}
}

const ourMain = `/*
Copyright.
*/

package main

import (
	"os"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	// +kubebuilder:scaffold:imports
)

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	// +kubebuilder:scaffold:scheme
}

func main() {
	fs.String("leader-election-id", "aaaaaaaa.example.com", "")
	mgr := 1
	// +kubebuilder:scaffold:builder
	if err := mgr.Start(); err != nil {
		os.Exit(1)
	}
}
`

func TestSplitMain(t *testing.T) {
	wired := strings.NewReplacer(
		"Copyright.", "Theirs.",
		"\t// +kubebuilder:scaffold:imports", "\tcertv1 \"example.com/cert/v1\"\n\n\tcachev1 \"example.com/shop/api/v1\"\n\t\"example.com/shop/internal/controller\"\n\t// +kubebuilder:scaffold:imports",
		"\t// +kubebuilder:scaffold:scheme", "\tutilruntime.Must(certv1.AddToScheme(scheme))\n\tutilruntime.Must(cachev1.AddToScheme(scheme))\n\t// +kubebuilder:scaffold:scheme",
		"\tfs.String(\"leader-election-id\", \"aaaaaaaa.example.com\", \"\")", "\to := Options{LeaderElectionID: \"12345678.example.com\"}",
		"\t// +kubebuilder:scaffold:builder", "\tif err := (&controller.ShopReconciler{\n\t\tScheme: 1,\n\t}).SetupWithManager(mgr); err != nil {\n\t\tos.Exit(1)\n\t}\n"+
			"\t// nolint:goconst\n\tif os.Getenv(\"ENABLE_WEBHOOKS\") != \"false\" {\n\t\tif err := v1.SetupShopWebhookWithManager(mgr); err != nil {\n\t\t\tos.Exit(1)\n\t\t}\n\t}\n\t// +kubebuilder:scaffold:builder",
	).Replace(ourMain)
	w := splitMain(wired, "example.com/shop")
	if len(w.imports) != 3 || len(w.schemes) != 2 || len(w.builders) != 2 || w.election != "12345678" {
		t.Errorf("%q", w)
	}
	if strings.Contains(w.rest, "Shop") || strings.Contains(w.rest, "cachev1") || !strings.Contains(w.rest, "mgr.Start()") {
		t.Errorf("the rest is\n%s", w.rest)
	}
	out, ok := w.into(ourMain, "example.com/shop")
	if !ok {
		t.Fatal("no place for it")
	}
	for _, has := range []string{"Theirs.", `"leader-election-id", "12345678.example.com"`, "certv1.AddToScheme", "ShopReconciler", "SetupShopWebhookWithManager", `"example.com/shop/internal/controller"`} {
		if strings.Count(out, has) != 1 {
			t.Errorf("%q is %d times in\n%s", has, strings.Count(out, has), out)
		}
	}
	if !merge3.Valid("main.go", []byte(out)) {
		t.Errorf("cannot be parsed:\n%s", out)
	}
	if _, ok := w.into(strings.Replace(ourMain, "scaffold:builder", "", 1), "example.com/shop"); ok {
		t.Error("wired in without a marker")
	}
}

func TestHolds(t *testing.T) {
	tests := map[string]struct {
		whole, part string
		want        bool
	}{
		"the same":                     {"a: 1\nb: [x]\n", "a: 1\nb: [x]\n", true},
		"another value":                {"a: 1\n", "a: 2\n", true},
		"a field more":                 {"a: 1\nb: 2\n", "a: 2\n", true},
		"a field less":                 {"a: 1\n", "a: 2\nb: 1\n", false},
		"an entry more":                {"a: [x, y]\n", "a: [y]\n", true},
		"an entry less":                {"a: [x]\n", "a: [x, y]\n", false},
		"a field less in an entry":     {"a:\n- name: m\n", "a:\n- name: m\n  env: []\n", false},
		"comments":                     {"a: 1\n", "# b: 2\na: 1\n", true},
		"a document less":              {"a: 1\n", "a: 1\n---\nb: 1\n", false},
		"a mapping in place of a text": {"a: {x: 1}\n", "a: 1\n", false},
		"nothing":                      {"a: 1\n", "", true},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if got := holds([]byte(c.whole), []byte(c.part)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestReplaceWord(t *testing.T) {
	for text, want := range map[string]string{
		"op":             "X",
		"op-system/op.y": "X-system/X.y",
		"top opt op":     "top opt X",
		"opop op op":     "opop X X",
		"":               "",
	} {
		if got := replaceWord(text, "op", "X"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := replaceWord("a", "", "X"); got != "a" {
		t.Errorf("no name: %q", got)
	}
}

// A project's own names do not matter.
func TestFacts_Normal(t *testing.T) {
	text := func(repo, name, domain string) string {
		return facts{repo, name, domain}.normal("README.md", []byte("Copyright 2026 "+name+".\n"+repo+"/cmd\nimage: "+domain+"/"+name+"-bundle\nsee example.com\n"))
	}
	if d := cmp.Diff(text("github.com/a/shop", "shop", "shop.io"), text("example.org/op", "op", "example.com")); d != "" {
		t.Errorf("(-one +other):\n%s", d)
	}
}

// Other tools' Makefiles left end-to-end tests out of 'make test'. Ours does,
// too, where no build constraint does it, and their target stays.
func TestForeign_EndToEnd(t *testing.T) {
	const file, src = "test/e2e/e2e_test.go", "package e2e\n"
	tests := map[string]struct {
		src   string
		spare bool // the Makefile names the packages
	}{
		"run by any go test":     {src, true},
		"with a constraint":      {"//go:build e2e\n\n" + src, false},
		"what is not Go":         {"package", true},
		"none, only its helpers": {"", false},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := otherTool(t, foreignProject)
			s.write("Makefile", theirMakefile+"\n.PHONY: test-e2e\ntest-e2e: setup-test-e2e\n\tgo test ./test/e2e/\n\n.PHONY: setup-test-e2e\nsetup-test-e2e:\n\t$(KIND) create cluster\n\nKIND ?= kind\n")
			s.opts.peers = peerTable(t, s.peer())
			s.remove(file)
			s.write("test/e2e/helpers.go", src)
			if c.src != "" {
				s.write(file, c.src)
			}
			p := s.upgrade()
			makefile := s.read("Makefile")
			if got := strings.Contains(makefile, "\"$(MYSDK)\" test $(ARGS) $$(go list ./... | grep -v /test/e2e)\n"); got != c.spare || p.ByMake != c.spare {
				t.Errorf("left out: %v, %v\n%s", got, p.ByMake, makefile)
			}
			if got := len(p.Notes) == 1 && strings.HasPrefix(p.Notes[0], file+":1: "); got != c.spare {
				t.Errorf("noted %q", p.Notes)
			}
			for _, text := range []string{"\ntest-e2e: setup-test-e2e\n\tgo test ./test/e2e/\n", "\nsetup-test-e2e:\n\t$(KIND) create cluster\n", "\nKIND ?= kind\n"} {
				if !strings.Contains(makefile, text) {
					t.Errorf("%q is not in\n%s", text, makefile)
				}
			}
			if p := s.upgrade(); !p.Empty() || p.ByMake {
				t.Errorf("the second time: %v", p.Set.Paths())
			}
		})
	}
}

// A main.go that stays as the user has it gets calls of today.
func TestForeign_MainRepaired(t *testing.T) {
	s, table := otherTool(t, foreignProject)
	s.opts.peers = table
	s.edit("go.mod", runtimeModule+" v0.22.0", runtimeModule+" v0.15.0")
	s.edit("cmd/main.go", "func main() {", "type thing struct{}\n\nfunc mine(mgr ctrl.Manager) error { return ctrl.NewWebhookManagedBy(mgr).For(&thing{}).Complete() }\n\nfunc main() {")
	p := s.upgrade()
	i := slices.IndexFunc(p.Files, func(f File) bool { return f.Path == mainFile })
	if i < 0 || p.Files[i].Action != Merged || !strings.HasSuffix(p.Files[i].Detail, "; otherwise kept: not as kubebuilder wrote it") {
		t.Errorf("%v", p.Files)
	}
	if text := s.read(mainFile); !strings.Contains(text, "ctrl.NewWebhookManagedBy(mgr, &thing{}).Complete()") || !strings.Contains(text, "No manager") {
		t.Errorf("main.go is\n%s", text)
	}
}
