package migrate

import (
	"strings"
	"testing"
)

func TestRenameImports(t *testing.T) {
	todo := func(text, spec string) string { return "// TODO(migrate): " + text + "\n\t" + spec }
	gone := "extensions/v1beta1 was removed in Kubernetes 1.22: use networking/v1, whose Ingress has other fields"
	runPasses(t, map[string]passCase{
		"name stays":            {`"sigs.k8s.io/controller-runtime/pkg/runtime/signals"`, "var s = signals.X", `"sigs.k8s.io/controller-runtime/pkg/manager/signals"`, ""},
		"name of its own":       {`apps "k8s.io/api/apps/v1beta2"`, "var d apps.Deployment", `apps "k8s.io/api/apps/v1"`, ""},
		"last element differs":  {`"k8s.io/api/apps/v1beta2"`, "var d v1beta2.Deployment", `v1beta2 "k8s.io/api/apps/v1"`, ""},
		"module's next version": {`. "github.com/onsi/ginkgo"`, "var _ = Describe(1)", `. "github.com/onsi/ginkgo/v2"`, ""},
		"tables beside ginkgo":  {`. "github.com/onsi/ginkgo"; . "github.com/onsi/ginkgo/extensions/table"`, "var _ = DescribeTable(1)", `. "github.com/onsi/ginkgo/v2"`, ""},
		"tables by their name":  {`. "github.com/onsi/ginkgo"; "github.com/onsi/ginkgo/extensions/table"`, "var _ = table.Entry(1)", `. "github.com/onsi/ginkgo/v2"; table "github.com/onsi/ginkgo/v2"`, ""},
		"network policies":      {`"k8s.io/api/extensions/v1beta1"`, "var d v1beta1.NetworkPolicySpec", `v1beta1 "k8s.io/api/networking/v1"`, ""},
		"budgets":               {`policy "k8s.io/api/policy/v1beta1"`, "var d policy.PodDisruptionBudgetSpec", `policy "k8s.io/api/policy/v1"`, ""},
		"a longer path":         {`"sigs.k8s.io/controller-runtime/pkg/runtime/logging"`, "var l = logging.X", "", ""},
		"in a string":           {"", "var s = \"k8s.io/api/apps/v1beta2\" // k8s.io/api/apps/v1beta2", "", ""},
		"of today":              {`"k8s.io/api/policy/v1"`, "var d v1.Eviction", "", ""},
		"two places":            {todo(gone, `"k8s.io/api/extensions/v1beta1"`), "var d v1beta1.Deployment\nvar n v1beta1.NetworkPolicy", "", ""},
		"of another module":     {`openapi_v2 "github.com/googleapis/gnostic/openapiv2"`, "var d openapi_v2.Document", `openapi_v2 "github.com/google/gnostic-models/openapiv2"`, ""},
		"another's variable":    {`policy "k8s.io/api/policy/v1beta1"`, "func f(policy own) { policy.PodSecurityPolicy() }\n\nvar d policy.Eviction", `policy "k8s.io/api/policy/v1"`, ""},
	}, renameImports)
}

// TestUnservedPackages holds that imports are marked which compile and are of no use.
func TestUnservedPackages(t *testing.T) {
	for importPath, why := range map[string]string{
		"k8s.io/api/autoscaling/v2beta1":       "autoscaling/v2beta1 was removed in Kubernetes 1.25",
		"k8s.io/code-generator/cmd/client-gen": "the generators of k8s.io/code-generator take other arguments today",
		"k8s.io/code-generator":                "",
	} {
		got, err := transform("a.go", []byte(wrap(t, `_ "`+importPath+`"`, "")), renameImports)
		marked, right := strings.Contains(string(got), "TODO"), strings.Contains(string(got), "TODO(migrate): "+why)
		if err != nil || marked != (why != "") || marked && !right {
			t.Errorf("%s: %v\n%s", importPath, err, got)
		}
	}
}

func TestMarkGone(t *testing.T) {
	mark := "// TODO(migrate): test.X of github.com/operator-framework/operator-sdk/pkg/test is gone\n"
	sdk := `"github.com/operator-framework/operator-sdk/pkg/test"`
	runPasses(t, map[string]passCase{
		"each line once":       {sdk, "func f() {\n\tg(test.X, test.X)\n}", "none", "func f() {\n\t" + mark + "\tg(test.X, test.X)\n}"},
		"a variable":           {sdk, "func f(test own) {\n\tg(test.X)\n}\n\n" + "var x = test.X", "none", "func f(test own) {\n\tg(test.X)\n}\n\n" + mark + "var x = test.X"},
		"of Kubernetes itself": {`"k8s.io/kubernetes/pkg/x"`, "var a = x.A", "none", "// TODO(migrate): x.A of k8s.io/kubernetes/pkg/x is gone\nvar a = x.A"},
		"a fork's":             {`"example.com/operator-sdk/pkg/test"`, "var a = test.X", "", ""},
	}, markGone)
}
