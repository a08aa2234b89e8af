package run

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/hostprogram"
	"github.com/example/mysdk/internal/olm"
)

// ours is the Subscription of a run, with a status and the digest "same".
func ours(status string) string {
	return strings.Replace(subWith, "metadata: {name: shop, namespace: ns}", "metadata: {name: shop, namespace: ns, labels: {mysdk.dev/run: shop}, annotations: {mysdk.dev/content: same}}", 1) + status
}

// liveCSV is the CSV of version 0.0.patch in a phase.
func liveCSV(patch, phase string) string {
	return "\n---\napiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: shop.v0.0." + patch + ", namespace: ns}\nspec: {version: 0.0." + patch + "}\nstatus: {phase: " + phase + "}\n"
}

// TestDecide has the states that a package can be in when a bundle of version
// 0.0.2 is run.
func TestDecide(t *testing.T) {
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n"
	at := func(v string) string {
		return "{installedCSV: shop.v0.0." + v + ", currentCSV: shop.v0.0." + v + ", installPlanRef: {name: install-1}}"
	}
	const failedPlan = "\n---\napiVersion: operators.coreos.com/v1alpha1\nkind: InstallPlan\nmetadata: {name: install-1, namespace: ns}\nstatus: {phase: Failed}\n"
	lone := func(pkg string) string {
		noted := `annotations: {operatorframework.io/properties: '{"properties":[{"type":"olm.gvk","value":{"kind":"Cart"}},{"type":"olm.package","value":{"packageName":"` + pkg + `"}}]}'}, namespace: ns`
		return strings.Replace(liveCSV("2", "Pending"), "namespace: ns", noted, 1)
	}
	tests := map[string]struct {
		world   string
		upgrade bool
		content string // digest of the bundle; "same" is that of the Subscription
		want    string
		err     string
		hint    string
	}{
		"no namespace":            {world: "", want: Installed},
		"empty namespace":         {world: namespace, want: Installed},
		"upgrade of nothing":      {world: namespace, upgrade: true, err: "package shop is not installed in namespace ns", hint: "mysdk run bundle r/shop:v2 -n ns"},
		"older one":               {world: namespace + ours(at("1")) + liveCSV("1", "Succeeded"), want: Upgraded},
		"older one, upgrade":      {world: namespace + ours(at("1")) + liveCSV("1", "Succeeded"), upgrade: true, want: Upgraded},
		"same":                    {world: namespace + ours(at("2")) + liveCSV("2", "Succeeded"), content: "same", want: Unchanged},
		"same version, changed":   {world: namespace + ours(at("2")) + liveCSV("2", "Succeeded"), want: Reinstalled},
		"same, not healthy":       {world: namespace + ours(at("2")) + liveCSV("2", "Failed"), content: "same", want: Reinstalled},
		"newer one":               {world: namespace + ours(at("3")) + liveCSV("3", "Succeeded"), err: "shop.v0.0.2 is older than shop.v0.0.3", hint: "mysdk cleanup shop -n ns"},
		"older one, failed":       {world: namespace + ours(at("1")) + liveCSV("1", "Failed"), want: Reinstalled},
		"older one, failed plan":  {world: namespace + ours(at("1")) + liveCSV("1", "Succeeded") + failedPlan, want: Reinstalled},
		"older one, abandoned":    {world: namespace + ours(at("1")) + liveCSV("1", "Replacing") + failedPlan, want: Upgraded},
		"older one, pending":      {world: namespace + ours("{installedCSV: shop.v0.0.1, currentCSV: shop.v0.0.2}") + liveCSV("1", "Succeeded"), content: "same", want: Upgraded},
		"older one, pending, old": {world: namespace + ours("{installedCSV: shop.v0.0.1, currentCSV: shop.v0.0.2}") + liveCSV("1", "Succeeded"), want: Upgraded},
		"same, abandoned":         {world: namespace + ours(at("2")) + liveCSV("2", "Replacing"), content: "same", want: Reinstalled},
		"never got anywhere":      {world: namespace + ours("{}"), want: Reinstalled},
		"of somebody else":        {world: namespace + subWith + at("1") + liveCSV("1", "Succeeded"), err: "which was not created by mysdk", hint: "mysdk run bundle-upgrade r/shop:v2 -n ns"},
		"of somebody else, asked": {world: namespace + subWith + at("1") + liveCSV("1", "Succeeded"), upgrade: true, want: Upgraded},
		"left behind":             {world: namespace + lone("shop"), want: Reinstalled},
		"left behind, upgrade":    {world: namespace + lone("shop"), upgrade: true, err: "package shop is not installed", hint: "mysdk run bundle r/shop:v2 -n ns"},
		"of another package":      {world: namespace + lone("cart"), err: "ClusterServiceVersion ns/shop.v0.0.2 already exists, without a Subscription: it was applied by hand", hint: "mysdk kubectl delete csv -n ns shop.v0.0.2"},
		"applied by hand":         {world: namespace + liveCSV("2", "Succeeded"), err: "it was applied by hand", hint: "mysdk kubectl delete csv -n ns shop.v0.0.2"},
		"another version by hand": {world: namespace + liveCSV("1", "Succeeded"), want: Installed},
		"two subscriptions":       {world: namespace + subYAML + strings.Replace(subYAML, "{name: shop, namespace", "{name: again, namespace", 1), err: "several Subscriptions of package shop: shop, again"},
	}
	b := makeBundle(t, "0.0.2", "")
	for name, tc := range map[string][2]string{"same": {"2", Upgraded}, "older one": {"3", Upgraded}, "newest that worked": {"4", Reinstalled}} {
		stalled := strings.Replace(liveCSV(tc[0], "Pending"), "spec: {", "spec: {replaces: shop.v0.0.1, ", 1)
		world := namespace + ours(at(tc[0])) + liveCSV("1", "Replacing") + stalled + failedPlan
		if name == "newest that worked" {
			world = strings.ReplaceAll(world, "shop.v0.0.1", "shop.v0.0.2")
		}
		test := tests[name]
		test.world, test.content, test.want = world, "same", tc[1]
		tests[name+", upgrade stalled"] = test
	}
	stuck := tests["older one, upgrade stalled"] // by an OperatorGroup that only the new one supports
	stuck.world, stuck.want = strings.Replace(stuck.world, "{phase: Replacing}", "{phase: Failed}", 1), Reinstalled
	tests["older one, failed, upgrade stalled"] = stuck
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := takeSurvey(t.Context(), worldOf(t, tc.world), "ns", "shop", []string{"carts.shop.example.com"})
			got := ""
			if err == nil {
				got, err = s.decide(b, Options{Namespace: "ns", Upgrade: tc.upgrade, From: "r/shop:v2"}, tc.content)
			}
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(clierr.HintOf(err), tc.hint) {
					t.Errorf("error %v\nhint %q", err, clierr.HintOf(err))
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("%s, %v; want %s", got, err, tc.want)
			}
		})
	}
}

// TestCatalogNow reads the catalog of an earlier run back from its ConfigMaps.
func TestCatalogNow(t *testing.T) {
	const world = `apiVersion: v1
kind: Namespace
metadata: {name: ns}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-catalog-0, namespace: ns, labels: {mysdk.dev/catalog: shop-catalog, mysdk.dev/run: shop}}
data: {catalog-0.json: '{"schema":"olm.package","name":"shop","defaultChannel":"alpha"}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-catalog-1, namespace: ns, labels: {mysdk.dev/catalog: shop-catalog, mysdk.dev/run: shop}}
data: {catalog-1.json: '{"schema":"olm.channel","package":"shop","name":"alpha","entries":[{"name":"shop.v1"}]}'}
`
	source := strings.Replace(sourceYAML, "namespace: ns}", "namespace: ns, labels: {mysdk.dev/run: shop}}", 1)
	for name, tc := range map[string]struct {
		world    string
		channels int
	}{"ours": {world + source, 1}, "of somebody else": {world + sourceYAML, 0}, "none": {world, 0}} {
		s, err := takeSurvey(t.Context(), worldOf(t, tc.world), "ns", "shop", nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.catalogNow(t.Context(), Options{})
		if err != nil || len(c.Channels) != tc.channels {
			t.Errorf("%s: %d channels, %v", name, len(c.Channels), err)
		}
	}
}

// TestCSV reads what a run needs of one, and has bundles without.
func TestCSV(t *testing.T) {
	got := makeBundle(t, "0.0.2", "  replaces: shop.v0.0.1\n").CSVObject()
	deployments := workloadsOf(got)
	if !modesOf(got)[allNamespaces] || modesOf(nil)[allNamespaces] || len(workloadsOf(nil)) > 0 {
		t.Errorf("install modes %v", modesOf(got))
	}
	if owned := olm.OwnedCRDs(got); !slices.Equal(owned, []string{"carts.shop.example.com"}) {
		t.Errorf("owned CRDs %v", owned)
	}
	want := []hostprogram.Container{{Name: "manager", Image: "shop:v0.0.2"}, {Name: "proxy", Image: "proxy"}}
	if len(deployments) != 1 || deployments[0].serviceAccount != "shop" ||
		!slices.Equal(deployments[0].Containers, want) {
		t.Errorf("%+v", deployments)
	}
	for name, change := range map[string]func(*installer){
		"a bundle without a CSV": func(in *installer) { in.bundle.Objects = nil },
		"a CSV without a name":   func(in *installer) { in.bundle.CSVObject().SetName("") },
	} {
		in := running(t, nsYAML, Options{})
		change(in)
		err := in.plan(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no ClusterServiceVersion with a name") {
			t.Errorf("%s: %v", name, err)
		}
	}
	pod := map[string]any{
		"initContainers": []any{map[string]any{"name": "init"}},
		"containers":     []any{map[string]any{"name": "operator"}},
	}
	spec := map[string]any{"template": map[string]any{"spec": pod}}
	install := map[string]any{"spec": map[string]any{"deployments": []any{map[string]any{"spec": spec}}}}
	csv := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"install": install}}}
	w := workloadsOf(csv)[0]
	if len(w.Containers) != 1 || w.Containers[0].Name != "operator" || len(w.Init) != 1 || w.Init[0].Name != "init" {
		t.Errorf("containers %v, init containers %v", w.Containers, w.Init)
	}
}

// TestFailedJobs are those of OLM that have failed.
func TestFailedJobs(t *testing.T) {
	job := func(name, label, status string) string {
		return "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", namespace: ns, labels: {" + label + ": x}}\nstatus: {conditions: [{type: " + status + ", status: 'True'}]}\n"
	}
	w := worldOf(t, job("failed", unpackLabel, "Failed")+job("done", unpackLabel, "Complete")+job("other", "app", "Failed"))
	got, err := failedJobs(t.Context(), w, "ns")
	if err != nil || len(got) != 1 || got[0].GetName() != "failed" {
		t.Errorf("%v, %v", got, err)
	}
}
