package bundle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStale(t *testing.T) {
	r := &Result{Files: []File{{Name: "manifests/shop.clusterserviceversion.yaml"}, {Name: "manifests/carts.yaml"}}}
	generated, others := r.Stale([]File{
		{"manifests/carts.yaml", []byte(someCRD)},
		{"manifests/old.clusterserviceversion.yaml", []byte(someCSV)},
		{"manifests/old.yaml", []byte(someCRD)},
		{"manifests/role.yaml", []byte("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n")},
		{"manifests/two.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n")},
		{"manifests/cm.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")},
		{"manifests/broken.yaml", []byte("a: [")},
		{"metadata/more.yaml", []byte(someCRD)},
	})
	want := []string{"manifests/old.clusterserviceversion.yaml", "manifests/old.yaml", "manifests/role.yaml", "manifests/two.yaml"}
	if d := cmp.Diff(want, generated); d != "" {
		t.Errorf("generated (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"manifests/cm.yaml", "manifests/broken.yaml"}, others); d != "" {
		t.Errorf("others (-want +got):\n%s", d)
	}
}
