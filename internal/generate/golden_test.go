package generate

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/example/mysdk/internal/host/hosttest"
)

// cases are the folders of testdata/apis.
func cases(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(apis)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// coversMost reports whether a case is one of the two that have most of what the
// others have.
func coversMost(name string) bool { return name == "operator" || name == "types" }

// TestGolden compares with what the controller-gen command wrote for the same
// sources, called as kubebuilder's Makefile calls it; -update runs it again,
// and downloads it for that. A second run of the cases that cover most changes
// nothing; the others repeat that where MYSDK_NIGHTLY is set.
func TestGolden(t *testing.T) {
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "operator" {
				t.Skip("type-checks an API; the everyday lane does so for the case that covers most")
			}
			want := filepath.Join(apis, name, "want")
			if *update {
				updateGolden(t, name, want)
			}
			p := caseProject(t, name)
			res := p.render()
			if diff := cmp.Diff(readTree(t, want), texts(res)); diff != "" {
				t.Errorf("controller-gen (-) and Render (+) differ:\n%s", diff)
			}
			if !coversMost(name) && !hosttest.Nightly() {
				return
			}
			p.accept(res)
			if again := p.render(); again.Set.Len() > 0 {
				t.Errorf("a second run changes %v", again.Set.Paths())
			}
		})
	}
}

// updateGolden runs the real controller-gen and keeps the files it adds.
func updateGolden(t *testing.T, name, want string) {
	t.Helper()
	p := caseProject(t, name)
	before := readTree(t, p.dir)
	object := "object"
	if _, ok := before[DefaultHeader]; ok {
		object += ":headerFile=" + DefaultHeader
	}
	tool := "sigs.k8s.io/controller-tools/cmd/controller-gen@" + ControllerToolsVersion
	p.goTool("run", tool, object, "paths=./...")
	p.goTool("run", tool, "rbac:roleName=manager-role", "crd", "webhook", "paths=./...", "output:crd:artifacts:config=config/crd/bases")
	if err := os.RemoveAll(want); err != nil {
		t.Fatal(err)
	}
	for file, text := range readTree(t, p.dir) {
		if _, old := before[file]; !old {
			(&project{t: t, dir: want}).write(file, text)
		}
	}
}

// TestReference compares with controller-tools' own runtime, run on the disk: of
// the version in go.mod, where TestGolden has what was written once. All cases
// but one are left to the nightly lane.
func TestReference(t *testing.T) {
	if testing.Short() {
		t.Skip("loads every case three times, all packages with their dependencies")
	}
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			if name != "operator" {
				hosttest.LeaveToNightly(t, "compares what TestGolden compares with what was written once")
			}
			p := caseProject(t, name)
			got := texts(p.render())
			before := readTree(t, p.dir)
			runReference(t, p)
			want := readTree(t, p.dir)
			maps.DeleteFunc(want, func(name, _ string) bool { _, old := before[name]; return old })
			for name, text := range want {
				if strings.HasPrefix(name, crdDir) {
					want[name] = string(attribute([]byte(text)))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("controller-tools (-) and Render (+) differ:\n%s", diff)
			}
		})
	}
}

func runReference(t *testing.T, p *project) {
	t.Helper()
	header := ""
	if path := filepath.Join(p.dir, DefaultHeader); fileExists(path) {
		header = path
	}
	run := func(outputs map[genall.Generator]string, code bool) {
		rules := genall.OutputRules{ByGenerator: map[*genall.Generator]genall.OutputRule{}}
		var gens genall.Generators
		for g, dir := range outputs {
			gens = append(gens, &g)
			rules.ByGenerator[&g] = genall.OutputToDirectory(filepath.Join(p.dir, dir))
			if code {
				rules.ByGenerator[&g] = genall.OutputArtifacts{}
			}
		}
		rt, err := gens.ForRootsWithConfig(&packages.Config{Dir: p.dir, Env: p.opts.Host.Environ()}, "./...")
		if err != nil {
			t.Fatal(err)
		}
		rt.OutputRules = rules
		if rt.Run() {
			t.Fatal("controller-tools reports errors")
		}
	}
	run(map[genall.Generator]string{deepcopy.Generator{HeaderFile: header}: ""}, true)
	run(map[genall.Generator]string{
		&crd.Generator{}: crdDir, rbac.Generator{RoleName: DefaultRoleName}: "config/rbac", &webhook.Generator{}: "config/webhook",
	}, false)
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
