package olm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOperatorNames counts operators once, and those too that only have a
// Subscription yet.
func TestOperatorNames(t *testing.T) {
	object := func(kind, namespace, name, status string) string {
		return "{apiVersion: operators.coreos.com/v1alpha1, kind: " + kind + ", metadata: {name: " + name + ", namespace: " + namespace + "}, status: " + status + "}"
	}
	csvs := manifests(t, object("ClusterServiceVersion", "olm", packageServer, "{}"), object("ClusterServiceVersion", "a", "shop.v1", "{}"), object("ClusterServiceVersion", "a", "cart.v1", "{}"))
	plans := manifests(t,
		object("Subscription", "a", "shop", "{installedCSV: shop.v1}"), object("Subscription", "a", "cart", "{installedCSV: cart.v0, currentCSV: cart.v1}"),
		object("Subscription", "b", "shop", "{currentCSV: shop.v1}"), object("Subscription", "b", "new", "{}"), object("InstallPlan", "b", "install-1", "{}"))
	want := []string{"a/shop.v1", "a/cart.v1", "b/shop (to be installed)", "b/new (to be installed)"}
	if d := cmp.Diff(want, operatorNames(csvs, plans)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
