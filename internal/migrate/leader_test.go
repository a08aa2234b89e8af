package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLeaderForLife(t *testing.T) {
	const before = "func main() {\n\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), opts.manager(namespaces))\n\t// +kubebuilder:scaffold:builder\n}\n"
	m := &migration{files: map[string]file{"hack/boilerplate.go.txt": {[]byte("// Ours.\n\n"), 0o644}}, out: map[string]output{}}
	got := m.leaderForLife(before, `"op-lock"`, "\tsetUp()\n")
	for _, want := range []string{
		"managerOptions.LeaderElection = false", `leadForLife(mgr, "op-lock", setupControllers)`,
		"func setupControllers(mgr ctrl.Manager) error {\n\tsetUp()\n\t// +kubebuilder:scaffold:builder\n\n\treturn nil\n}\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if code := string(m.out["cmd/leader.go"].data); !strings.HasPrefix(code, "// Ours.\n\n") || !strings.Contains(code, "func leadForLife(") {
		t.Errorf("cmd/leader.go:\n%s", code)
	}
	other := &migration{out: map[string]output{}}
	got = other.leaderForLife("\t// +kubebuilder:scaffold:builder\n", `"op-lock"`, "\tsetUp()\n")
	if d := cmp.Diff("\tsetUp()\n\t// +kubebuilder:scaffold:builder\n", got); d != "" || len(other.out) > 0 {
		t.Errorf("another scaffold: %v (-want +got):\n%s", other.out, d)
	}
}

func TestCompat(t *testing.T) {
	const sdk, own = `"github.com/operator-framework/operator-sdk/pkg/k8sutil"`, `"example.com/op/internal/k8sutil"`
	for name, test := range map[string]struct {
		passCase
		written bool
	}{
		"what there is":      {passCase{sdk, "var n, err = k8sutil.GetWatchNamespace()", own, ""}, true},
		"under another name": {passCase{"u " + sdk, "var n, err = u.GetOperatorName()", "u " + own, ""}, true},
		"what there is not":  {passCase{sdk, "var a, b = k8sutil.GetPod(), k8sutil.GetGVKsFromAddToScheme(x)", "", ""}, false},
		"another package":    {passCase{`"example.com/k8sutil"`, "var n = k8sutil.GetPod()", "", ""}, false},
	} {
		m := &migration{module: "example.com/op", out: map[string]output{}}
		runPasses(t, map[string]passCase{name: test.passCase}, m.compat)
		if _, written := m.out["internal/k8sutil/k8sutil.go"]; written != test.written {
			t.Errorf("%s: the package is written: %t", name, written)
		}
	}
}
