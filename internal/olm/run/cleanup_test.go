package run

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// cleaning is a cleanup of package shop in namespace ns of that world.
func cleaning(t *testing.T, manifests string) *cleaner {
	t.Helper()
	return &cleaner{CleanupOptions: CleanupOptions{Namespace: "ns", Say: func(string, ...any) {}}, reader: worldOf(t, manifests), pkg: "shop"}
}

// TestCleanupFinds reports what belongs to the package, and where it is when it
// is not here.
func TestCleanupFinds(t *testing.T) {
	labelled := strings.Replace(csvYAML, "metadata: {name: shop.v1, namespace: ns,", "metadata: {name: shop.v1, namespace: ns, labels: {operators.coreos.com/shop.ns: ''},", 1) + succeeded
	tests := map[string]struct {
		world  string
		csvs   []string
		others []string
		err    string
		hint   string
	}{
		"installed":            {world: subWith + "{installedCSV: shop.v1}" + csvYAML + succeeded, csvs: []string{"shop.v1"}},
		"half replaced":        {world: subWith + "{installedCSV: shop.v1, currentCSV: shop.v2}" + csvYAML + succeeded + strings.ReplaceAll(csvYAML, "shop.v1", "shop.v2") + installing, csvs: []string{"shop.v1", "shop.v2"}},
		"without Subscription": {world: labelled, csvs: []string{"shop.v1"}},
		"only its content":     {world: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-catalog-0, namespace: ns, labels: {mysdk.dev/catalog: shop-catalog, mysdk.dev/run: shop}}\n"},
		"only the catalog":     {world: strings.Replace(sourceYAML, "namespace: ns}", "namespace: ns, labels: {mysdk.dev/run: shop}}", 1)},
		"only what it planned": {world: groupYAML + planOf("done", "shop", "x", "shop.v1")},
		"beside another one": {world: subWith + "{installedCSV: shop.v1}" + csvYAML + succeeded + strings.ReplaceAll(csvYAML, "shop.v1", "cart.v3") + succeeded,
			csvs: []string{"shop.v1"}, others: []string{"cart.v3"}},
		"elsewhere":                         {world: strings.ReplaceAll(subYAML, "namespace: ns", "namespace: far"), err: "package shop is not installed in namespace ns", hint: "add -n far"},
		"misspelt":                          {world: strings.ReplaceAll(subYAML, "name: shop,", "name: shops,"), err: "is not installed", hint: "did you mean shops?"},
		"nothing":                           {world: groupYAML, err: "is not installed", hint: "mysdk olm explain"},
		"another's catalog is none of ours": {world: sourceYAML, err: "is not installed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cl := cleaning(t, tc.world)
			err := cl.find(t.Context())
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(clierr.HintOf(err), tc.hint) {
					t.Errorf("error %v\nhint %q", err, clierr.HintOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.csvs, cl.cleaned().CSVs); diff != "" {
				t.Errorf("CSVs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.others, cl.others); diff != "" {
				t.Errorf("others (-want +got):\n%s", diff)
			}
			if len(tc.csvs) > 0 && !slices.Equal(cl.crds, []string{"carts.shop.example.com"}) {
				t.Errorf("CRDs %v", cl.crds)
			}
		})
	}
}

// TestCleanupAgain: which CRDs go is known by OLM's label once the CSVs are gone, and
// said not to be known without that.
func TestCleanupAgain(t *testing.T) {
	const crd = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: carts.shop.example.com, labels: {%s: ''}}\n"
	for label, want := range map[string]int{"operators.coreos.com/shop.ns": 1, "operators.coreos.com/other.ns": 0} {
		cl := cleaning(t, strings.Replace(sourceYAML, "namespace: ns}", "namespace: ns, labels: {mysdk.dev/run: shop}}", 1)+fmt.Sprintf(crd, label))
		var said []string
		cl.CRDs, cl.Say = true, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
		if err := cl.find(t.Context()); err != nil || len(cl.unshared) != want {
			t.Errorf("%s: %d CRDs go, %v", label, len(cl.unshared), err)
		}
		if told := len(said) == 1 && strings.HasPrefix(said[0], "No CRDs are deleted: "); told != (want == 0) {
			t.Errorf("%s: said %q", label, said)
		}
	}
}

// TestCleanupWithoutRights: who cannot see what else provides a CRD is told before
// anything is deleted.
func TestCleanupWithoutRights(t *testing.T) {
	for _, crds := range []bool{false, true} {
		cl := cleaning(t, subWith+"{installedCSV: shop.v1}"+csvYAML+succeeded)
		cl.reader, cl.CRDs = tenant{cl.reader.(*world)}, crds
		if err := cl.find(t.Context()); apierrors.IsForbidden(err) != crds {
			t.Errorf("with CRDs %v: %v", crds, err)
		}
	}
}

// TestCleanupOfNoPackage leaves CSVs alone that nobody subscribed to.
func TestCleanupOfNoPackage(t *testing.T) {
	cl := cleaning(t, csvYAML+succeeded)
	cl.pkg = ""
	if err := cl.find(t.Context()); err == nil {
		t.Errorf("it would delete %v", cl.cleaned().CSVs)
	}
}

// TestCleanupLeftOvers takes what OLM does not take away, and leaves what the
// same operator in another namespace needs.
func TestCleanupLeftOvers(t *testing.T) {
	role := func(name, labels string) string {
		return "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + name + ", labels: {" + labels + "}}\n"
	}
	const plan = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-1, namespace: ns}
status:
  plan:
  - {resolving: shop.v1, resource: {group: scheduling.k8s.io, version: v1, kind: PriorityClass, name: high}}
  - {resolving: shop.v1, resource: {group: apiextensions.k8s.io, version: v1, kind: CustomResourceDefinition, name: carts.shop.example.com}}
  - {resolving: other.v1, resource: {group: "", version: v1, kind: ConfigMap, name: theirs}}
  - {resolving: shop.v1, resource: {group: rbac.authorization.k8s.io, version: v1, kind: Role, name: viewer}}
`
	managed := func(name, namespace string) string { // OLM notes no owner on the Roles of a bundle
		return strings.NewReplacer("ClusterRole", "Role", "metadata: {", "metadata: {namespace: "+namespace+", ").Replace(role(name, `olm.managed: "true"`))
	}
	world := subWith + "{installedCSV: shop.v1}" + csvYAML + succeeded + plan +
		role("bundled", `olm.managed: "true", olm.owner: shop.v1`) +
		role("ours", `olm.managed: "true", olm.owner: shop.v1, olm.owner.namespace: ns`) +
		role("far", `olm.managed: "true", olm.owner: shop.v1, olm.owner.namespace: far`) +
		role("theirs", `olm.managed: "true", olm.owner: cart.v3`) +
		role("part", `operators.coreos.com/shop.ns: ""`) + role("viewer", `olm.managed: "true"`) +
		managed("viewer", "ns") + managed("viewer", "far") + managed("editor", "ns")
	elsewhere := strings.NewReplacer("namespace: ns", "namespace: far", "csv-1", "csv-9").Replace(csvYAML) + succeeded
	for name, tc := range map[string]struct {
		world string
		want  []string
	}{
		"alone":           {world, []string{"part", "bundled", "ours"}},
		"twice installed": {world + elsewhere, []string{"part", "ours"}},
	} {
		cl := cleaning(t, tc.world)
		if err := cl.find(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := cl.leftOf(t.Context(), gvk("rbac.authorization.k8s.io/v1", "ClusterRole"))
		if err != nil {
			t.Fatal(err)
		}
		roles, err := cl.leftOf(t.Context(), gvk("rbac.authorization.k8s.io/v1", "Role"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range append(left, roles...) {
			got = append(got, u.GetNamespace()+u.GetName())
		}
		if diff := cmp.Diff(append(tc.want, "nsviewer"), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		var kinds []string
		for _, k := range cl.kinds {
			kinds = append(kinds, k.Kind)
		}
		if diff := cmp.Diff([]string{"ClusterRoleBinding", "ClusterRole", "PriorityClass", "Role"}, kinds); diff != "" {
			t.Errorf("kinds (-want +got):\n%s", diff)
		}
	}
}

// TestCleanupOfLongNames: what no label can hold is not asked for.
func TestCleanupOfLongNames(t *testing.T) {
	cl := cleaning(t, groupYAML)
	cl.pkg, cl.planned = strings.Repeat("x", 64), []string{strings.Repeat("x", 64) + ".v1"}
	if err := cl.deleteCatalog(t.Context(), kube.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := cl.leftOf(t.Context(), gvk("apps/v1", "Deployment")); err != nil {
		t.Error(err)
	}
}

// TestComponentLabel is no longer than a label's name may be.
func TestComponentLabel(t *testing.T) {
	for pkg, want := range map[string]string{
		"shop":                  "operators.coreos.com/shop.ns",
		strings.Repeat("x", 80): "operators.coreos.com/" + strings.Repeat("x", 63),
		strings.Repeat("x", 62): "operators.coreos.com/" + strings.Repeat("x", 62),
	} {
		if got := (&cleaner{CleanupOptions: CleanupOptions{Namespace: "ns"}, pkg: pkg}).componentLabel(); got != want {
			t.Errorf("%s: %s", pkg, got)
		}
	}
}

// TestRollbackObjects reports what a run has brought from what was there, and
// what it does not need any more.
func TestRollbackObjects(t *testing.T) {
	const world = `apiVersion: v1
kind: Namespace
metadata: {name: ns}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-catalog-0, namespace: ns, labels: {mysdk.dev/catalog: shop-catalog, mysdk.dev/run: shop}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-catalog-1, namespace: ns, labels: {mysdk.dev/catalog: shop-catalog, mysdk.dev/run: shop}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-catalog-server, namespace: ns, labels: {mysdk.dev/run: shop}}
---
apiVersion: v1
kind: Service
metadata: {name: shop-catalog, namespace: ns}
`
	before, err := takeSurvey(t.Context(), worldOf(t, world+groupYAML+subYAML), "ns", "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := catalogObjects{Options: Options{Namespace: "ns"}, pkg: "shop"}
	in := &installer{before: before, apply: append(plain.configMaps([]piece{{"catalog-0.json", "{}"}}), plain.byAddress("shop-catalog"), subscription("shop", "ns", "alpha", "shop.v2", ""))}
	names := func(list objects) []string {
		var all []string
		for _, u := range list {
			all = append(all, kube.RefOf(u).String())
		}
		return all
	}
	if diff := cmp.Diff([]string{"CatalogSource ns/shop-catalog"}, names(kube.Without(in.apply, in.before.all()))); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap ns/shop-catalog-1", "Deployment ns/shop-catalog-server"}, names(in.leftOver())); diff != "" {
		t.Errorf("left over (-want +got):\n%s", diff)
	}
	want := []string{"ConfigMap ns/shop-catalog-0", "ConfigMap ns/shop-catalog-1", "Deployment ns/shop-catalog-server", "OperatorGroup ns/mysdk-operators", "Subscription ns/shop"}
	if diff := cmp.Diff(want, names(before.all())); diff != "" {
		t.Errorf("to be brought back (-want +got):\n%s", diff)
	}
}
