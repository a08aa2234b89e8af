package migrate

import (
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
		"v0.x": {true, func(map[string]string) {}, []string{"cmd/leader.go", "cmd/main.go"}, nil},
		"v0.x with a function": {true, func(files map[string]string) { declares(files, oldMain) },
			[]string{"cmd/leader.go", "cmd/main.go", "cmd/manager.go"}, map[string][]string{"cmd/manager.go": {"func rate() int"}}},
		"v0.x with manager.go": {true, func(files map[string]string) {
			declares(files, oldMain)
			files["cmd/manager/manager.go"] = helper
		}, []string{"cmd/leader.go", "cmd/main.go", "cmd/main_manager.go", "cmd/manager.go"}, map[string][]string{"cmd/manager.go": {"func helper()"}, "cmd/main_manager.go": {"func rate() int"}}},
		"v0.x with leader.go": {true, func(files map[string]string) { files["cmd/manager/leader.go"] = helper },
			[]string{"cmd/leader.go", "cmd/main.go", "cmd/main_leader.go"}, map[string][]string{"cmd/main_leader.go": {"func helper()"}, "cmd/leader.go": {"leader.Become("}}},
		"go/v3": {false, func(map[string]string) {}, []string{"cmd/main.go"}, nil},
		"go/v3 with files": {false, func(files map[string]string) {
			declares(files, "main.go")
			files["helper.go"], files["helper_test.go"] = helper, "package main\n\nimport \"testing\"\n\nfunc TestHelper(t *testing.T) {}\n"
			files["manager.go"] = "package main\n\nfunc manage() {}\n"
		}, []string{"cmd/helper.go", "cmd/helper_test.go", "cmd/main.go", "cmd/main_manager.go", "cmd/manager.go"},
			map[string][]string{"cmd/helper.go": {"func helper()"}, "cmd/manager.go": {"func manage()"}, "cmd/main_manager.go": {"func rate()"}}},
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
			if n := p.Open(); n != 0 {
				t.Errorf("%d files need somebody: %v", n, p.Files)
			}
			expect(t, content(p.Result), test.expect)
		})
	}
}

// TestCmdIsTaken holds that a package in cmd, where the new main program goes,
// is not written over or mixed with it.
func TestCmdIsTaken(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		file  string
	}{
		"a main program":   {goV3(), newMain},
		"another package":  {goV3(), "cmd/root.go"},
		"in one of v0.x":   {memcached(t), newMain},
		"a test beside it": {goV3(), "cmd/root_test.go"},
	} {
		t.Run(name, func(t *testing.T) {
			test.files[test.file] = "package cmd\n"
			_, err := makePlan(t, test.files)
			if err == nil || !strings.Contains(err.Error(), test.file+" is in cmd, where the new main program goes") || clierr.HintOf(err) == "" {
				t.Errorf("got %v, hint %q", err, clierr.HintOf(err))
			}
		})
	}
}

// TestMainEmbeds holds that files that the old main program embeds are asked
// for, and that the package that does it comes along.
func TestMainEmbeds(t *testing.T) {
	files := goV3()
	swap(files, "main.go", "\t\"time\"\n", "\t\"time\"\n\t_ \"embed\"\n")
	swap(files, "main.go", "func main() {", "//go:embed motd.txt\nvar motd string\n\nfunc main() {")
	files["motd.txt"] = "Hello.\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{"cmd/manager.go": {"import (\n\t_ \"embed\"\n)", "//go:embed motd.txt\nvar motd string", todoMark + "the files that go:embed names"}, newMain: {"!\"embed\""}})
}

// TestMainKeepsImports holds that imports without a name that is used are not
// lost.
func TestMainKeepsImports(t *testing.T) {
	for name, test := range map[string]struct {
		imports, statement string
		want               map[string][]string
	}{
		"blank":           {"\t_ \"net/http/pprof\"\n\t_ \"example.com/shop/pkg/driver\"\n", "", map[string][]string{newMain: {`_ "net/http/pprof"`, `_ "example.com/shop/pkg/driver"`}}},
		"of the scaffold": {"\t_ \"k8s.io/client-go/plugin/pkg/client/auth/gcp\"\n", "", map[string][]string{newMain: {"!auth/gcp"}}},
		"dot":             {"\t. \"example.com/words\"\n", "\tSay(\"hello\")\n", map[string][]string{newMain: {`. "example.com/words"`, `Say("hello")`}}},
		"dot, not used":   {"\t. \"example.com/words\"\n", "", map[string][]string{newMain: {"!example.com/words"}}},
	} {
		t.Run(name, func(t *testing.T) {
			files := goV3()
			swap(files, "main.go", "\t\"time\"\n", "\t\"time\"\n"+test.imports)
			swap(files, "main.go", "\tsync := time.Hour", test.statement+"\tsync := time.Hour")
			expect(t, content(mustPlan(t, files).Result), test.want)
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
