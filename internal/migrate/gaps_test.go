package migrate

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMapperText holds what becomes of values that map objects to requests.
func TestMapperText(t *testing.T) {
	f, err := parseGo("a.go", []byte(`package p

func f() {
	inline := func() {}
	value := mapper{}
	use(inline, value, &mapper{}, mapper{}, made(), func() {}, pkg.Func, g)
}

func g() {}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && f.Text(call.Fun) == "use" {
			for _, arg := range call.Args {
				got = append(got, f.mapperText(arg))
			}
		}
		return true
	})
	want := []string{"inline", "value.Map", "(&mapper{}).Map", "(mapper{}).Map", "made()", "func() {}", "pkg.Func", "g"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := f.mapperText(nil); got != "nil" {
		t.Errorf("got %q for nothing", got)
	}
}

// TestSuites holds the forms of Ginkgo 2.
func TestSuites(t *testing.T) {
	const ginkgo = `. "github.com/onsi/ginkgo"`
	runPasses(t, map[string]passCase{
		"reporters": {ginkgo, "func f() {\n\tRunSpecsWithDefaultAndCustomReporters(t, \"Suite\", []Reporter{r})\n}", "", "func f() {\n\tRunSpecs(t, \"Suite\")\n}"},
		"done":      {ginkgo, "var _ = BeforeSuite(func(done Done) {\n\tg()\n\n\tclose(done)\n}, 60)", "", "var _ = BeforeSuite(func() {\n\tg()\n\n})"},
		"plain":     {ginkgo, "var _ = AfterSuite(func() {\n\tg()\n})", "", ""},
	}, suites)
}

// TestSuiteWithSpecs holds that a suite that tests use is kept, and that of
// webhooks is not.
func TestSuiteWithSpecs(t *testing.T) {
	files := goV3()
	const suite = "package cache\n\nimport \"testing\"\n\nfunc TestSuite(t *testing.T) {}\n"
	files["controllers/cache/suite_test.go"], files["controllers/cache/memcached_test.go"] = suite, strings.Replace(suite, "Suite", "Other", 1)
	files["apis/cache/v1/webhook_suite_test.go"] = "package v1\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{"internal/controller/cache/suite_test.go": {"func TestSuite"}, ReportName: {"| apis/cache/v1/webhook_suite_test.go | it set up an environment that no test"}})
	delete(files, "controllers/cache/memcached_test.go")
	if _, there := content(mustPlan(t, files).Result)["internal/controller/cache/suite_test.go"]; there {
		t.Error("a suite without tests is still there")
	}
}

// TestMoreOfCommand holds that files beside the old main program move with it.
func TestMoreOfCommand(t *testing.T) {
	files := memcached(t)
	files["cmd/manager/more.go"] = "package main\n\n// more is more.\nfunc more() {}\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{"cmd/more.go": {"// more is more."}})
}

// TestConfigFileElection holds that what the options in a file said of leader
// election is listed.
func TestConfigFileElection(t *testing.T) {
	rendered := renderedScaffold(t)
	files := pristineV3()
	files["main.go"] = "package main\n\n// ctrl.ConfigFile()\n"
	files["config/manager/controller_manager_config.yaml"] = "kind: ControllerManagerConfig\nmetadata: {name: x}\nleaderElection:\n  leaderElect: false\n  resourceName: mine\n"
	expect(t, configPlan(t, rendered, files), map[string][]string{ReportName: {"controller_manager_config.yaml:4`: sets leaderElection.leaderElect to false", "controller_manager_config.yaml:5`: sets leaderElection.resourceName to mine"}})
}
