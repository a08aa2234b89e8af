package migrate

import "testing"

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
