package kube

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// testStranger: what else is in a namespace, beside what is ours or accepted.
func testStranger(t *testing.T, c *Client) {
	object := func(apiVersion, kind, name string) *unstructured.Unstructured {
		return Named(apiVersion, kind, "strangers", name)
	}
	ours := []*unstructured.Unstructured{crd(t, "stranger.example.com", "Stranger"), Named("v1", "Namespace", "", "strangers"), object("v1", "ConfigMap", "ours")}
	accept := func(u *unstructured.Unstructured) bool { return u.GetName() == "accepted" }
	for _, step := range []struct {
		apply []*unstructured.Unstructured
		want  string
	}{
		{append(ours, object("v1", "ConfigMap", "accepted"), object("coordination.k8s.io/v1", "Lease", "leader")), ""},
		{[]*unstructured.Unstructured{object("stranger.example.com/v1", "Stranger", "a")}, "Stranger strangers/a"},
		{[]*unstructured.Unstructured{object("v1", "ConfigMap", "theirs")}, "ConfigMap strangers/theirs"},
	} {
		if _, err := c.Apply(t.Context(), step.apply, ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Stranger(t.Context(), "strangers", ours, accept); err != nil || got != step.want {
			t.Errorf("%q, %v; want %q", got, err, step.want)
		}
	}
}

// TestDependent: what is in a namespace because of something else.
func TestDependent(t *testing.T) {
	kinds := []schema.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, {Group: "example.com", Version: "v2", Kind: "Shop"}}
	for text, want := range map[string]bool{
		"kind: Secret\nmetadata: {name: db}":                                                                                false,
		"kind: ConfigMap\nmetadata: {name: kube-root-ca.crt}":                                                               true,
		"kind: Secret\ntype: kubernetes.io/service-account-token\nmetadata: {name: token}":                                  true,
		"kind: Secret\ntype: kubernetes.io/dockercfg\nmetadata: {name: builder-dockercfg-x}":                                true,
		"kind: Secret\nmetadata: {name: cert, annotations: {cert-manager.io/certificate-name: serving}}":                    true,
		"kind: Secret\nmetadata: {name: s, ownerReferences: [{apiVersion: example.com/v1, kind: Shop, name: x}]}":           true,
		"kind: Pod\nmetadata: {name: a, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: x}]}":               true,
		"kind: ConfigMap\nmetadata: {name: a, ownerReferences: [{apiVersion: example.com/v1, kind: ClusterShop, name: x}]}": false,
	} {
		if u := parse(t, "apiVersion: v1\n%s\n", text)[0]; dependent(u, kinds) != want {
			t.Errorf("%s: %t, want %t", text, !want, want)
		}
	}
}
