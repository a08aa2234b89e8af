package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/host/hosttest"
)

// TestEnsureNamespaceOfATenant: who may not create namespaces can do with one that
// is there, and is told so of any other.
func TestEnsureNamespaceOfATenant(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.Method + r.URL.Path {
		case "GET/version":
			fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
		case "GET/api/v1":
			fmt.Fprint(w, `{"kind":"APIResourceList","resources":[{"name":"namespaces","kind":"Namespace"}]}`)
		case "GET/api/v1/namespaces/mine":
			fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"mine"}}`)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"details":{},"message":"User \"u\" cannot %s"}`, r.Method)
		}
	}))
	defer s.Close()
	w := hosttest.New(t)
	write(t, w.Path("config"), "current-context: x\nclusters: [{name: x, cluster: {server: \""+s.URL+"\"}}]\ncontexts: [{name: x, context: {cluster: x}}]\n")
	c, err := Connect(t.Context(), Options{Host: w.Host, Kubeconfig: "config", Context: "x", Allow: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if created, err := c.EnsureNamespace(t.Context(), "mine"); err != nil || created {
		t.Errorf("created %v, %v", created, err)
	}
	if _, err := c.EnsureNamespace(t.Context(), "yours"); err == nil || !strings.Contains(err.Error(), "create Namespace yours: User \"u\" cannot POST") {
		t.Errorf("of another one: %v", err)
	}
}

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
		{append(ours, object("v1", "ConfigMap", "accepted"), object("coordination.k8s.io/v1", "Lease", "leader"), object("v1", "Endpoints", "service")), ""},
		{[]*unstructured.Unstructured{object("stranger.example.com/v1", "Stranger", "a")}, "Stranger strangers/a"},
		{parse(t, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: strangers}, spec: {podSelector: {}}}"), "NetworkPolicy strangers/deny"},
		{[]*unstructured.Unstructured{object("v1", "ServiceAccount", "ci")}, "ServiceAccount strangers/ci"},
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
	kinds := []Kind{
		{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, Namespaced: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Shop"}, Namespaced: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "ClusterShop"}},
	}
	for text, want := range map[string]bool{
		"kind: Secret\nmetadata: {name: db}":                                                                                false,
		"kind: ConfigMap\nmetadata: {name: kube-root-ca.crt}":                                                               true,
		"kind: ServiceAccount\nmetadata: {name: default}":                                                                   true,
		"kind: ConfigMap\nmetadata: {name: default}":                                                                        false,
		"kind: RoleBinding\nmetadata: {name: 'system:image-pullers'}":                                                       true,
		"kind: ClusterServiceVersion\nmetadata: {name: a, labels: {olm.copiedFrom: operators}}":                             true,
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
