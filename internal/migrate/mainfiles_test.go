package migrate

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

// commandFiles are the Go files of a result in cmd and below, and those in the
// root, but for the test that the scaffold has.
func commandFiles(p *Plan) []string {
	var out []string
	for _, name := range p.Result.Paths() {
		if strings.HasSuffix(name, ".go") && name != "cmd/main_test.go" && (strings.HasPrefix(name, "cmd/") || !strings.Contains(name, "/")) {
			out = append(out, name)
		}
	}
	return out
}

// TestFilesOfMain holds which files of package main there are, and that the old
// main program is none of them.
func TestFilesOfMain(t *testing.T) {
	const helper = "package main\n\nimport \"os\"\n\nfunc helper() string { return os.Args[0] }\n"
	declares := func(files map[string]string, name string) {
		swap(files, name, "func main() {", "func rate() int { return 1 }\n\nfunc main() {")
	}
	for name, test := range map[string]struct {
		sdk0   bool
		change func(map[string]string)
		want   []string
		expect map[string][]string
	}{
		"v0.x":             {true, func(map[string]string) {}, []string{"cmd/main.go"}, nil},
		"v0.x with a file": {true, func(files map[string]string) { files["cmd/manager/helper.go"] = helper }, []string{"cmd/helper.go", "cmd/main.go"}, map[string][]string{"cmd/helper.go": {"func helper()"}}},
		"go/v3":            {false, func(map[string]string) {}, []string{"cmd/main.go"}, map[string][]string{"cmd/main.go": {"!no controller is set up"}}},
		"go/v3 with controllers set up by a function": {false, func(files map[string]string) {
			swap(files, "main.go", ".SetupWithManager(mgr)", ".Start(mgr)")
		}, []string{"cmd/main.go"}, map[string][]string{"cmd/main.go": {"\t// TODO(migrate): no controller is set up: do that here as in cmd/main.go.old\n"}}},
		"go/v3 with controllers in a loop, and a function": {false, func(files map[string]string) {
			swap(files, "main.go", "\tif err = (&cachecontrollers.", "\tif err := cachecontrollers.Index(mgr); err != nil {\n\t\tos.Exit(1)\n\t}\n\tfor range 1 {\n\tif err = (&cachecontrollers.")
			swap(files, "main.go", "\tif err = (&cachev1.", "\t}\n\tif err = (&cachev1.")
		}, []string{"cmd/main.go"}, map[string][]string{"cmd/main.go": {"\tif err := cachecontrollers.Index(mgr); err != nil {\n", "\t// TODO(migrate): no controller is set up: do that here as in cmd/main.go.old\n"}}},
		"go/v3 with main.go": {false, func(files map[string]string) { declares(files, "main.go") }, []string{"cmd/main.go"}, map[string][]string{keptMain: {"func rate()"}}},
		"go/v3 with files": {false, func(files map[string]string) {
			files["helper.go"], files["helper_test.go"] = helper, "package main\n\nimport \"testing\"\n\nfunc TestHelper(t *testing.T) {}\n"
		}, []string{"cmd/helper.go", "cmd/helper_test.go", "cmd/main.go"}, map[string][]string{"cmd/helper.go": {"func helper()"}}},
		"go/v3 with programs of their own": {false, func(files map[string]string) {
			files["tools.go"] = "//go:build tools\n\npackage tools\n\nimport _ \"example.com/tool\"\n"
			files["magefile.go"] = "//go:build mage\n\npackage main\n\nfunc Build() {}\n"
			files["gen.go"] = "//go:build ignore\n\npackage main\n\nfunc main() {}\n"
			files["debug.go"] = "//go:build debug\n\npackage main\n\nfunc debug() {}\n"
		}, []string{"cmd/debug.go", "cmd/main.go", "gen.go", "magefile.go", "tools.go"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			files := goV3()
			if test.sdk0 {
				files = memcached(t)
			}
			test.change(files)
			p := mustPlan(t, files)
			if d := cmp.Diff(test.want, commandFiles(p)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			expect(t, content(p.Result), test.expect)
		})
	}
}

// TestCmdIsTaken holds that another program in cmd, where the new main program
// goes, is not written over or mixed with it.
func TestCmdIsTaken(t *testing.T) {
	for name, files := range map[string]map[string]string{"of go/v3": goV3(), "of v0.x": memcached(t)} {
		t.Run(name, func(t *testing.T) {
			files["cmd/tool.go"] = "package main\n\nfunc main() {}\n"
			_, err := makePlan(t, files)
			if err == nil || !strings.Contains(err.Error(), "cmd/tool.go is in cmd, where the new main program goes") || clierr.HintOf(err) == "" {
				t.Errorf("got %v, hint %q", err, clierr.HintOf(err))
			}
		})
	}
}

// TestCmdMoves holds that a package in cmd makes room for the new main program,
// and that other programs below stay.
func TestCmdMoves(t *testing.T) {
	const use, moved = "package use\n\nimport \"%s/%s\"\n\nvar _ = cmd.Execute\n", "internal/cmd"
	for name, test := range map[string]struct {
		files  map[string]string
		module string
	}{"of go/v3": {goV3(), "example.com/shop"}, "of v0.x": {memcached(t), "example.com/memcached-operator"}} {
		t.Run(name, func(t *testing.T) {
			maps.Copy(test.files, map[string]string{
				"cmd/root.go": "package cmd\n\nfunc Execute() {}\n", "cmd/root_test.go": "package cmd_test\n",
				"cmd/tool/main.go": "package main\n\nfunc main() {}\n", "use/use.go": fmt.Sprintf(use, test.module, "cmd"),
			})
			got := content(mustPlan(t, test.files).Result)
			for name, want := range map[string]string{
				"internal/cmd/root.go": test.files["cmd/root.go"], "internal/cmd/root_test.go": test.files["cmd/root_test.go"],
				"cmd/tool/main.go": test.files["cmd/tool/main.go"], "use/use.go": fmt.Sprintf(use, test.module, moved), "cmd/root.go": "",
			} {
				if d := cmp.Diff(want, got[name]); d != "" {
					t.Errorf("%s (-want +got):\n%s", name, d)
				}
			}
		})
	}
}

// TestMainTypes holds that types are added to the scheme that are of the
// project and not in PROJECT.
func TestMainTypes(t *testing.T) {
	files := goV3()
	swap(files, "main.go", "\t\"time\"\n", "\t\"time\"\n\tthirdv1 \"example.com/shop/third/v1\"\n")
	swap(files, "main.go", "\tutilruntime.Must(routev1", "\tutilruntime.Must(thirdv1.AddToScheme(scheme))\n\tutilruntime.Must(routev1")
	files["third/v1/types.go"] = "package v1\n\nfunc AddToScheme(any) error { return nil }\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{newMain: {"utilruntime.Must(thirdv1.AddToScheme(scheme))", `thirdv1 "example.com/shop/third/v1"`}})
	if n := strings.Count(got[newMain], "cachev1.AddToScheme(scheme)"); n != 1 {
		t.Errorf("the project's own types are added %d times in\n%s", n, got[newMain])
	}
}

// TestMainRules holds that the rules that stood in the old main program are
// still among the markers.
func TestMainRules(t *testing.T) {
	const above, floating, inside = "//+kubebuilder:rbac:groups=a.io,resources=as,verbs=get", "// +kubebuilder:rbac:groups=b.io,resources=bs,verbs=get", "// +kubebuilder:rbac:groups=c.io,resources=cs,verbs=get"
	for name, test := range map[string]struct {
		more map[string]string
		want map[string][]string
	}{
		"no file of the name": {nil, map[string][]string{"internal/controller/rbac.go": {"package controller\n\n" + floating + "\n" + above + "\n" + inside + "\n"}}},
		"one of the user's": {map[string]string{"controllers/rbac.go": "package controllers\n"},
			map[string][]string{"internal/controller/rbac.go": {"package controller\n"}, "internal/controller/main_rbac.go": {floating, above, inside}}},
	} {
		t.Run(name, func(t *testing.T) {
			files := goV3()
			swap(files, "main.go", "func main() {\n", floating+"\n\n// main is where it begins.\n"+above+"\nfunc main() {\n\t"+inside+"\n")
			for file, text := range test.more {
				files[file] = text
			}
			p := mustPlan(t, files)
			expect(t, content(p.Result), test.want)
			if strings.Contains(content(p.Result)[newMain], "kubebuilder:rbac") {
				t.Error("the main program has them too")
			}
		})
	}
}

// TestMainElsewhere holds that the main program is found where no scaffold had
// it, and that nothing is guessed.
func TestMainElsewhere(t *testing.T) {
	elsewhere := func(to ...string) map[string]string {
		files := goV3()
		for _, name := range to {
			files[name] = files["main.go"]
		}
		delete(files, "main.go")
		return files
	}
	files := elsewhere("run/operator/start.go")
	files["run/tool/main.go"] = "package main\n\nfunc main() {}\n"
	expect(t, content(mustPlan(t, files).Result), map[string][]string{newMain: {"MemcachedReconciler{"}, keptMain: {"DurationVar(&pause"}, "run/tool/main.go": {"func main()"}})

	old := memcached(t)
	old["cmd/operator/main.go"] = old[oldMain]
	delete(old, oldMain)
	expect(t, content(mustPlan(t, old).Result), map[string][]string{newMain: {"controller.AddToManager(mgr)"}, keptMain: {"delay :="}})

	for want, files := range map[string]map[string]string{
		"several main programs make a manager: a/main.go, b/main.go": elsewhere("a/main.go", "b/main.go"),
		"no main program that makes a manager":                       elsewhere(),
	} {
		if _, err := makePlan(t, files); err == nil || !strings.Contains(err.Error(), want) || clierr.HintOf(err) == "" {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
