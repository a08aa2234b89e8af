package migrate

import "testing"

func TestConditions(t *testing.T) {
	meta, old := `metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"`, `"github.com/operator-framework/operator-sdk/pkg/status"`
	api := `"k8s.io/apimachinery/pkg/api/meta"`
	runPasses(t, map[string]passCase{
		"field": {
			old, "type S struct {\n\t// Conditions say how it is.\n\tConditions status.Conditions `json:\"conditions\"`\n}",
			meta, "type S struct {\n\t// Conditions say how it is.\n\t// +listType=map\n\t// +listMapKey=type\n\tConditions []metav1.Condition `json:\"conditions\"`\n}",
		},
		"field with markers": {
			old, "type S struct {\n\t// +listType=atomic\n\tConditions status.Conditions\n}",
			meta, "type S struct {\n\t// +listType=atomic\n\tConditions []metav1.Condition\n}",
		},
		"types and reasons": {
			old, "const ready status.ConditionType = \"Ready\"\n\nfunc f(r status.ConditionReason, c *status.Condition) {}",
			meta, "const ready string = \"Ready\"\n\nfunc f(r string, c *metav1.Condition) {}",
		},
		"new": {
			old, "var c = status.NewConditions(a, b)", meta, "var c = []metav1.Condition{a, b}",
		},
		"of operator-lib": {
			`"github.com/operator-framework/operator-lib/status"`, "var c status.Conditions", meta, "var c []metav1.Condition",
		},
		"under another name": {
			`s "github.com/operator-framework/operator-sdk/pkg/status"`, "func f(status int) s.Condition { return s.Condition{Type: g(status.X)} }",
			meta, "func f(status int) metav1.Condition { return metav1.Condition{Type: g(status.X)} }",
		},
		"methods": {
			"", "func f() {\n\to.Status.Conditions.RemoveCondition(a)\n\tc := conditions.GetCondition(a)\n\tg(conditions.IsFalseFor(a), conditions.IsUnknownFor(a))\n}",
			api + "; " + meta,
			"func f() {\n\tmeta.RemoveStatusCondition(&o.Status.Conditions, a)\n\tc := meta.FindStatusCondition(conditions, a)\n\tg(meta.IsStatusConditionFalse(conditions, a), meta.IsStatusConditionPresentAndEqual(conditions, a, metav1.ConditionUnknown))\n}",
		},
		"function of a package":    {`"example.com/conditions"`, "func f() { conditions.SetCondition(o) }", "", ""},
		"method of something else": {"", "func f() { o.SetCondition(a); pool.GetCondition(b) }", "", ""},
		"own package status":       {`"example.com/status"`, "var c status.Conditions\nvar d = status.NewConditions()", "", ""},
		"of today":                 {api, "func f() { meta.SetStatusCondition(&o.Status.Conditions, c) }", "", ""},
		"variable of the name":     {meta, "func f(status own) { g(status.Conditions, status.Condition, metav1.Now()) }", "", ""},
	}, conditions, newMigration(map[string]string{"a.go": "package a\n\nimport _ " + old + "\n"}).compat)
}

// TestOwnMethods holds that methods of types of the project's own are no others'.
func TestOwnMethods(t *testing.T) {
	m := newMigration(map[string]string{"a.go": "package a\n\nfunc (h *Hub) GetRecorder(name string) int { return 1 }\n"})
	runPasses(t, map[string]passCase{
		"conditions":  {"", "func f() { g(o.Status.Conditions.SetCondition(a), conditions.IsTrueFor(b)) }", "", ""},
		"a recorder":  {"", "func f() { r := hub.GetRecorder(\"x\") }", "", ""},
		"a validator": {importContext, "func (v *V) ValidateCreateQuota(ctx context.Context, n int) error { return nil }", "", ""},
	}, append(commonPasses(nil), webhookBuilders, m.compat)...)
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
