package upgrade

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/rewrite/merge3"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// today is the project as the running version would have written it.
func (s *shop) today() map[string]string {
	s.t.Helper()
	templates := v4.Templates()
	other := emptyShop(s.t, s.opts)
	other.fill(Baseline{nowVersion, templates, v4.CurrentVersions()}, strings.Replace(s.read(project.FileName), midVersion, nowVersion, 1))
	return other.files()
}

// A project that nobody has touched becomes what it would be, but for the
// code that is the user's.
func TestUpgrade_Untouched(t *testing.T) {
	s := newShop(t)
	types := s.read("api/v1/memcached_types.go")
	p := s.upgrade()
	want := map[string]Action{
		".devcontainer/devcontainer.json": New, "hack/old.sh": Deleted, "api/v1/memcached_types.go": Kept,
		".gitignore": Updated, "Dockerfile": Updated, "Makefile": Updated, "README.md": Updated, "cmd/main.go": Updated,
		"go.mod": Updated, "config/manager/manager.yaml": Updated, "config/rbac/kustomization.yaml": Updated,
		".github/workflows/test.yml": Updated,
	}
	if d := cmp.Diff(want, p.actions()); d != "" {
		t.Errorf("plan (-want +got):\n%s", d)
	}
	now := s.today()
	now["api/v1/memcached_types.go"] = types
	if d := cmp.Diff(now, s.files()); d != "" {
		t.Errorf("tree (-want +got):\n%s", d)
	}
	if p.From != midVersion || p.To != nowVersion {
		t.Errorf("from %s to %s", p.From, p.To)
	}
	if p := s.upgrade(); !p.Empty() || len(p.Files) > 0 {
		t.Errorf("the second time: %v", p.Files)
	}
}

// What the user did is kept, next to what the scaffold does.
func TestUpgrade_Merged(t *testing.T) {
	s := newShop(t)
	s.edit("Makefile", ".PHONY: lint\n", ".PHONY: mine\nmine: ## Mine.\n\techo mine\n\n.PHONY: lint\n")
	s.edit("Makefile", "IMG ?= controller:latest", "IMG ?= quay.io/me/shop:v1")
	s.edit("go.mod", "k8s.io/api "+v4.CurrentVersions().Kubernetes, "k8s.io/api v0.99.0")
	s.edit("go.mod", "require (\n", "require (\n\texample.com/mine v1.2.3\n")
	s.edit("config/manager/manager.yaml", "cpu: 10m", "cpu: 20m")
	s.edit("config/rbac/kustomization.yaml", "resources:\n", "resources:\n- mine.yaml\n")
	s.edit(".gitignore", "\n", "\n/mine\n")
	s.edit("cmd/main.go", "func main() {\n", "func mine() {}\n\nfunc main() {\n\tmine()\n")
	s.edit("cmd/main.go", "import (\n", "import (\n\t\"example.com/mine\"\n")
	s.edit("internal/controller/memcached_controller.go", "package controller\n", "package controller\n\n// Mine.\n")
	s.edit("README.md", "\n", "\nMine.\n")
	s.remove("config/prometheus/monitor.yaml")
	p := s.upgrade()
	want := map[string]Action{
		".devcontainer/devcontainer.json": New, "hack/old.sh": Deleted, "api/v1/memcached_types.go": Kept,
		".gitignore": Merged, "Dockerfile": Updated, "Makefile": Merged, "README.md": Merged, "cmd/main.go": Merged,
		"go.mod": Merged, "config/manager/manager.yaml": Merged, "config/rbac/kustomization.yaml": Merged,
		".github/workflows/test.yml": Updated,
	}
	if d := cmp.Diff(want, p.actions()); d != "" {
		t.Errorf("plan (-want +got):\n%s", d)
	}
	now := s.files()
	for name, has := range map[string][]string{
		"Makefile":                       {"mine: ## Mine.\n\techo mine\n", "IMG ?= quay.io/me/shop:v1", "vet: ## Look", "\t$(GOLANGCI_LINT) run\n"},
		"go.mod":                         {"k8s.io/api v0.99.0", "example.com/mine v1.2.3", runtimeNow()},
		"config/manager/manager.yaml":    {"cpu: 20m", "cpu: 500m"},
		"config/rbac/kustomization.yaml": {"- mine.yaml\n", "- metrics_reader_role.yaml\n"},
		".gitignore":                     {"/mine\n", "/bin/\n"},
		"cmd/main.go":                    {"func mine() {}", "\tmine()\n", `"example.com/mine"`},
		"README.md":                      {"Mine.\n"},
	} {
		for _, text := range has {
			if !strings.Contains(now[name], text) {
				t.Errorf("%s does not have %q:\n%s", name, text, now[name])
			}
		}
	}
	for name, text := range map[string]string{"Makefile": "check-old", "cmd/main.go": "// The logger comes first.", "README.md": "Old:"} {
		if strings.Contains(now[name], text) {
			t.Errorf("%s still has %q", name, text)
		}
	}
	if _, there := now["config/prometheus/monitor.yaml"]; there {
		t.Error("a file that the user removed is back")
	}
	if p := s.upgrade(); !p.Empty() {
		t.Errorf("the second time: %v\n%v", p.Files, p.Set.Paths())
	}
}

// Where both changed the same, the user's stays, and a patch has the rest.
func TestUpgrade_Conflicts(t *testing.T) {
	s := newShop(t)
	s.edit("config/manager/manager.yaml", "cpu: 250m", "cpu: 300m")
	s.edit("config/manager/manager.yaml", "cpu: 10m", "cpu: 20m")
	s.edit("Makefile", "\t$(GOLANGCI_LINT) run ./...\n", "\t$(GOLANGCI_LINT) run --fix ./...\n")
	s.edit("cmd/main.go", "\t// The logger comes first.\n", "\t// The logger, mine.\n")
	mine := s.files()
	p := s.upgrade()
	if d := cmp.Diff([]string{"Makefile", "cmd/main.go", "config/manager/manager.yaml"}, p.Conflicts()); d != "" {
		t.Fatalf("conflicts (-want +got):\n%s", d)
	}
	now := s.files()
	if d := cmp.Diff(mine["config/manager/manager.yaml"], now["config/manager/manager.yaml"]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	reject := now["config/manager/manager.yaml.rej"]
	if !strings.Contains(reject, "-            cpu: 300m\n+            cpu: 500m\n") || strings.Contains(reject, "20m\n+") {
		t.Errorf("reject:\n%s", reject)
	}
	if !strings.Contains(now["Makefile"], "vet: ## Look") || strings.Contains(now["Makefile.rej"], "+vet") {
		t.Error("the Makefile lacks what could be merged")
	}
	for name, text := range now {
		if strings.Contains(text, "<<<<<<<") {
			t.Errorf("%s has conflict markers", name)
		}
	}
	begun := strings.Replace(mine[project.FileName], "    version: "+midVersion, "    pending: "+nowVersion+"\n    version: "+midVersion, 1)
	if d := cmp.Diff(begun, now[project.FileName]); d != "" {
		t.Errorf("PROJECT with conflicts (-want +got):\n%s", d)
	}
	if p := s.upgrade(); !p.Empty() || len(p.Conflicts()) != 3 {
		t.Errorf("the second time: %v", p.Files)
	}
	s.finish(t)
}

// finish resolves the conflicts and ends the upgrade.
func (s *shop) finish(t *testing.T) {
	t.Helper()
	for _, name := range []string{"Makefile.rej", "cmd/main.go.rej", "config/manager/manager.yaml.rej"} {
		if _, err := s.opts.Finish(); err == nil || !strings.Contains(err.Error(), name) || clierr.HintOf(err) == "" {
			t.Errorf("finished although %s is there: %v", name, err)
		}
		s.remove(name)
	}
	p, err := s.opts.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{project.FileName}, p.Set.Paths()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want := fmt.Sprintf(projectText, nowVersion)
	s.commit(p.Set)
	if d := cmp.Diff(want, s.read(project.FileName)); d != "" {
		t.Errorf("PROJECT at the end (-want +got):\n%s", d)
	}
	if p := s.upgrade(); !p.Empty() || p.From != nowVersion {
		t.Errorf("after --continue: from %s, %v", p.From, p.Files)
	}
	if p, err := s.opts.Finish(); err != nil || !p.Empty() {
		t.Errorf("finished twice: %v %v", p, err)
	}
}

// Without a record, --from says which baseline counts.
func TestUpgrade_From(t *testing.T) {
	s := newShop(t)
	s.edit(project.FileName, "  scaffold.mysdk.dev/v1:\n    version: "+midVersion+"\n", "")
	tests := map[string]struct{ edit, from, want, wrong string }{
		"nobody says":      {"", "", "", "PROJECT does not record which version of mysdk wrote the scaffold"},
		"asked for":        {"", oldVersion, oldVersion, ""},
		"today's":          {"", nowVersion, nowVersion, ""},
		"nobody knows it":  {"", "v7.0.0", "", `no baseline of version "v7.0.0" is known`},
		"asked for anyway": {"# Nobody in particular.\nUSER", midVersion, midVersion, ""},
	}
	dockerfile := s.read("Dockerfile")
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s.write("Dockerfile", dockerfile)
			if c.edit != "" {
				s.edit("Dockerfile", "USER", c.edit)
			}
			opts := s.opts
			opts.From = c.from
			p, err := opts.New()
			if c.wrong != "" {
				if err == nil || err.Error() != c.wrong || !strings.Contains(clierr.HintOf(err), midVersion) {
					t.Errorf("got %v, want %s", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.From != c.want {
				t.Errorf("from %s, want %s", p.From, c.want)
			}
		})
	}
}

// A file that another known version wrote counts as untouched.
func TestUpgrade_OfSeveralVersions(t *testing.T) {
	s := newShop(t)
	s.edit("Dockerfile", "USER", "# Nobody in particular.\nUSER")
	if p := s.upgrade(); p.actions()["Dockerfile"] != Updated {
		t.Errorf("%v", p.actions()["Dockerfile"])
	}
}

func TestUpgrade_Refusals(t *testing.T) {
	tests := map[string]struct {
		change func(s *shop)
		want   string
	}{
		"no project":     {func(s *shop) { s.remove(project.FileName) }, "no PROJECT file in"},
		"broken project": {func(s *shop) { s.write(project.FileName, "a: [") }, "PROJECT"},
		"another layout": {func(s *shop) { s.edit(project.FileName, "kubebuilder.io/v4", "kubebuilder.io/v3") }, "the project has the layout go.kubebuilder.io/v3"},
		"a newer one":    {func(s *shop) { s.edit(project.FileName, midVersion, "v0.2.0") }, "the project's scaffold is of mysdk v0.2.0, and this is v0.1.0"},
		"broken go.mod":  {func(s *shop) { s.edit("go.mod", "module ", "modul ") }, "go.mod: "},
		"an unknown one, and today's alone is known": {func(s *shop) {
			s.edit(project.FileName, midVersion, "devel-0")
			s.opts.Further = nil
		}, `no baseline of version "devel-0" is known`},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			c.change(s)
			if _, err := s.opts.New(); err == nil || !strings.Contains(err.Error(), c.want) || clierr.HintOf(err) == "" {
				t.Errorf("got %v with hint %q, want %s", err, clierr.HintOf(err), c.want)
			}
		})
	}
}

// A file that goes stays where the user has changed it, and code that does not
// parse is merged by lines or not at all.
func TestUpgrade_Kept(t *testing.T) {
	s := newShop(t)
	s.edit("hack/old.sh", "echo", "echo mine")
	s.edit("cmd/main.go", "func main() {", "func main( {")
	broken := s.read("cmd/main.go")
	p := s.upgrade()
	if got := p.actions(); got["hack/old.sh"] != Kept || got["cmd/main.go"] != Conflict {
		t.Errorf("%v", got)
	}
	if s.read("cmd/main.go") != broken {
		t.Error("code that does not parse was changed")
	}
}

// What the scaffold changed in parts that the user removed or renamed is left out,
// and the plan says so. What his file has already is not.
func TestUpgrade_LeftOut(t *testing.T) {
	const manager, detail = "config/manager/manager.yaml", "you removed or rewrote parts that the scaffold has changed"
	tests := map[string]struct {
		file, old, text string
		want            []File
	}{
		"all of it":            {manager, "name: manager\n", "name: mine\n", []File{{Path: manager, Action: Kept, Detail: detail}}},
		"some of it":           {"Makefile", "\nlint:", "\nmine:", []File{{Path: "Makefile", Action: Merged, Detail: detail}}},
		"some with a conflict": {"Makefile", "\ttrue\n\n.PHONY: lint\nlint:", "\tfalse\n\n.PHONY: lint\nmine:", []File{{Path: "Makefile", Action: Conflict, Detail: "your version stays; " + detail, Reject: "Makefile.rej"}}},
		"in the file already":  {manager, "            cpu: 250m\n", "            cpu: 500m\n            mine: 1\n", nil},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.edit(c.file, c.old, c.text)
			var got []File
			for _, f := range s.upgrade().Files {
				if f.Path == c.file {
					got = append(got, f)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Another tool may have recorded kinds of which PROJECT says too little.
func TestUpgrade_KindOfOthers(t *testing.T) {
	s := newShop(t)
	s.edit(project.FileName, "resources:\n", "resources:\n- controller: true\n  domain: example.com\n  group: crew\n  kind: Laker\n  version: v1\n")
	if p := s.upgrade(); p.actions()["Dockerfile"] != Updated || p.actions()["cmd/main.go"] != Updated {
		t.Errorf("%v", p.Files)
	}
	if p := s.upgrade(); !p.Empty() {
		t.Errorf("the second time: %v", p.Files)
	}
}

// A file of the same name that is not the scaffold's is left alone.
func TestUpgrade_Unrelated(t *testing.T) {
	s := newShop(t)
	s.write("Dockerfile", "FROM scratch\nCOPY a b\n")
	if p := s.upgrade(); p.actions()["Dockerfile"] != Kept || s.read("Dockerfile") != "FROM scratch\nCOPY a b\n" {
		t.Errorf("%v\n%s", p.actions()["Dockerfile"], s.read("Dockerfile"))
	}
}

func BenchmarkNew(b *testing.B) {
	s := newShop(b)
	for b.Loop() {
		if _, err := s.opts.New(); err != nil {
			b.Fatal(err)
		}
	}
}

// The workflow is part of the scaffold where the project has it.
func TestUpgrade_Workflow(t *testing.T) {
	s := newShop(t)
	p, err := s.opts.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, there := p.actions()[v4.WorkflowPath]; there {
		t.Error("it is written without being asked for")
	}
	if err := s.opts.WithWorkflow(p); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(p.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("the files are not sorted: %v", p.Files)
	}
	s.commit(p.Set)
	if text := s.read(v4.WorkflowPath); !strings.Contains(text, "mysdk upgrade --check") || strings.Contains(text, "{{\"") || !merge3.Valid("x.yaml", []byte(text)) {
		t.Errorf("the workflow is\n%s", text)
	}
	s.edit(v4.WorkflowPath, "17 5 * * 1", "17 5 * * 2")
	if p := s.upgrade(); !p.Empty() {
		t.Errorf("the second time: %v", p.Files)
	}
	if err := s.opts.WithWorkflow(p); err != nil {
		t.Fatal(err)
	}
}

// An untouched workflow follows the scaffold.
func TestUpgrade_WorkflowUpdated(t *testing.T) {
	s := newShop(t)
	all := older(t)
	tree := templateTree(t)
	replace(t, tree, "upgrade/"+v4.WorkflowPath, "name: Upgrade", "name: Old")
	all[1].Templates = tree
	data, err := all[1].Archive()
	if err != nil {
		t.Fatal(err)
	}
	s.opts.Further = mapOf(midVersion, data)
	plugin := s.opts.Plugin
	plugin.Templates = tree
	old, err := plugin.Workflow()
	if err != nil {
		t.Fatal(err)
	}
	s.write(v4.WorkflowPath, string(old))
	if p := s.upgrade(); p.actions()[v4.WorkflowPath] != Updated || !strings.HasPrefix(s.read(v4.WorkflowPath), "name: Upgrade\n") {
		t.Errorf("%v\n%s", p.Files, s.read(v4.WorkflowPath))
	}
}

// Nothing is written by planning, and a file that cannot be read is an error.
func TestUpgrade_Reads(t *testing.T) {
	s := newShop(t)
	before := s.files()
	if _, err := s.opts.New(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, s.files()); d != "" {
		t.Errorf("planning wrote (-before +after):\n%s", d)
	}
	s.remove("Dockerfile")
	if err := s.disk.Mkdir(filepath.Join(s.dir, "Dockerfile"), 0o755); err != nil {
		t.Fatal(err)
	}
	var reason *fs.PathError
	if _, err := s.opts.New(); !errors.As(err, &reason) {
		t.Errorf("got %v", err)
	}
}

// Every file that init and create write is either the scaffold's or the user's.
func TestIsCode(t *testing.T) {
	s := newShop(t)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.files())), func(name string) bool { return !isCode(name) })
	want := []string{
		"api/v1/memcached_types.go", "config/samples/cache_v1_memcached.yaml", "hack/boilerplate.go.txt",
		"internal/controller/memcached_controller.go", "internal/controller/memcached_controller_test.go",
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
