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
	c := answering(t, map[string]string{
		"/api/v1":                 `{"kind":"APIResourceList","resources":[{"name":"namespaces","kind":"Namespace"}]}`,
		"/api/v1/namespaces/mine": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"mine"}}`,
	})
	if created, err := c.EnsureNamespace(t.Context(), "mine"); err != nil || created {
		t.Errorf("created %v, %v", created, err)
	}
	if _, err := c.EnsureNamespace(t.Context(), "yours"); err == nil || !strings.Contains(err.Error(), "create Namespace yours: User \"u\" cannot POST") {
		t.Errorf("of another one: %v", err)
	}
}

// answering is a cluster that has these answers to GET, and refuses everything else.
func answering(t *testing.T, answers map[string]string) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		switch {
		case r.URL.Path == "/version":
			answer = `{"gitVersion":"v1.36.3"}`
		case !ok || r.Method != http.MethodGet:
			w.WriteHeader(http.StatusForbidden)
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"details":{},"message":"User \"u\" cannot ` + r.Method + `"}`
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	w := hosttest.New(t)
	write(t, w.Path("config"), "current-context: x\nclusters: [{name: x, cluster: {server: \""+s.URL+"\"}}]\ncontexts: [{name: x, context: {cluster: x}}]\n")
	c, err := Connect(t.Context(), Options{Host: w.Host, Kubeconfig: "config", Context: "x", Allow: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStrangerOfOtherClusters: APIs that the embedded cluster does not have.
func TestStrangerOfOtherClusters(t *testing.T) {
	resource := func(name, kind, verbs string) string {
		return `{"resource":"` + name + `","responseKind":{"kind":"` + kind + `"},"scope":"Namespaced","verbs":[` + verbs + `]}`
	}
	group := func(name, freshness string, resources ...string) string {
		return `{"metadata":{"name":"` + name + `"},"versions":[{"version":"v1","freshness":"` + freshness + `","resources":[` + strings.Join(resources, ",") + `]}]}`
	}
	templates := group("template.openshift.io", "Current", resource("processedtemplates", "Template", `"create"`), resource("templates", "Template", `"list","watch"`))
	down := group("down.example.com", "Stale")
	kept := group("down.example.com", "Stale", resource("things", "Thing", `"list","watch"`))
	for name, tc := range map[string]struct{ groups, items, want string }{
		"two resources of a kind":   {templates, `{"kind":"Template","apiVersion":"template.openshift.io/v1","metadata":{"name":"a","namespace":"x"}}`, "it also contains Template x/a"},
		"nothing":                   {templates, "", ""},
		"a server that is down":     {down, "", "objects of down.example.com cannot be read: its server does not answer"},
		"one that was up before":    {templates + "," + kept, "", "objects of down.example.com cannot be read: its server does not answer"},
		"one that goes, too":        {templates + "," + strings.ReplaceAll(kept, "down", "ours"), "", ""},
		"one whose kinds are asked": {group("denied.example.com", "Current", resource("things", "Thing", `"list","watch"`)), "", "Thing objects cannot be read"},
		"an old cluster":            {"", "", "what it contains cannot be told before Kubernetes 1.27"},
	} {
		c := answering(t, map[string]string{
			"/api": `{}`, "/apis": `{"items":[` + tc.groups + `]}`,
			"/apis/template.openshift.io/v1":                        `{"resources":[{"name":"processedtemplates","kind":"Template","namespaced":true},{"name":"templates","kind":"Template","namespaced":true}]}`,
			"/apis/template.openshift.io/v1/namespaces/x/templates": `{"kind":"TemplateList","apiVersion":"template.openshift.io/v1","items":[` + tc.items + `]}`,
		})
		ours := []*unstructured.Unstructured{Named("apiregistration.k8s.io/v1", "APIService", "", "v1.ours.example.com")}
		if got, err := c.Stranger(t.Context(), "x", ours, func(*unstructured.Unstructured) bool { return false }); err != nil || got != tc.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tc.want)
		}
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
		{append(ours, object("v1", "ConfigMap", "accepted"), object("coordination.k8s.io/v1", "Lease", "leader"), object("v1", "Endpoints", "service"),
			parse(t, "{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: a, namespace: strangers}, data: {}, revision: 1}")[0]), ""},
		{[]*unstructured.Unstructured{object("stranger.example.com/v1", "Stranger", "a")}, "it also contains Stranger strangers/a"},
		{parse(t, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: strangers}, spec: {podSelector: {}}}"), "it also contains NetworkPolicy strangers/deny"},
		{[]*unstructured.Unstructured{object("v1", "ServiceAccount", "ci")}, "it also contains ServiceAccount strangers/ci"},
		{[]*unstructured.Unstructured{object("v1", "ConfigMap", "theirs")}, "it also contains ConfigMap strangers/theirs"},
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
		"kind: ServiceAccount\nmetadata: {name: pipeline}":                                                                  true,
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
