package chart_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/chart"
)

// ownRoles are objects of the user's, with what depends on rbac.namespaced in
// capitals: Roles that are named like mysdk's, and bindings to a helper.
const ownRoles = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: memcached-secrets-manager-role, namespace: memcached-system}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: memcached-secrets-manager-rolebinding, namespace: memcached-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: memcached-secrets-manager-role}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: memcached-config-viewer-role, namespace: memcached-system}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: memcached-nodes-manager-role}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: SCOPERoleBinding
metadata: {name: memcached-devs-binding NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: SCOPERole, name: memcached-memcached-viewer-role}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: memcached-team-binding, namespace: memcached-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: SCOPERole, name: memcached-memcached-editor-role}
`

// rbac.namespaced makes Roles of the manager's ClusterRole and the helpers, and
// has the manager watch its namespace: what edit --namespaced makes of config/.
// Bindings follow. What is so already stays so, and so do roles of the user's.
func TestRender_Scope(t *testing.T) {
	cluster := strings.NewReplacer("SCOPE", "Cluster", " NAMESPACE", "").Replace(ownRoles)
	restricted := strings.NewReplacer("SCOPE", "", " NAMESPACE", ", namespace: memcached-system").Replace(ownRoles)
	for _, op := range []string{"memcached", "namespaced"} {
		for _, value := range []bool{true, false} {
			files, in := render(t, "../../testdata/golden/"+op+"/want")
			if op == "memcached" {
				in.Objects = append(in.Objects, cluster...)
				var err error
				if files, err = chart.Render(in); err != nil {
					t.Fatal(err)
				}
			}
			if op == "memcached" && value {
				_, in = render(t, "../../testdata/golden/namespaced/want")
				names := strings.NewReplacer("namespaced-memcached-", "memcached-memcached-", "namespaced-", "memcached-", "name: namespaced\n", "name: memcached\n")
				in = chart.Input{Name: op, Objects: []byte(names.Replace(string(in.Objects)) + restricted)}
			}
			got := template(t, op, load(t, files), map[string]any{"rbac": map[string]any{"namespaced": value}})
			if d := cmp.Diff(expected(t, in), got); d != "" {
				t.Errorf("%s, %v (-want +helm):\n%s", op, value, d)
			}
		}
	}
}

// A restricted manager is asked about the objects of its own namespace only.
func TestRender_ScopeOfWebhooks(t *testing.T) {
	const op = "webhook-cert-manager"
	_, in := render(t, "../../testdata/golden/"+op+"/want")
	in.Objects = []byte(strings.Replace(string(in.Objects), "  name: mmemcached-", "  namespaceSelector:\n    matchLabels:\n      a: b\n  name: mmemcached-", 1))
	files, err := chart.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	for namespaced, want := range map[bool][]any{
		true: {map[string]any{"matchLabels": map[string]any{"a": "b", "kubernetes.io/metadata.name": "webhook-cert-manager-system"}},
			map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "webhook-cert-manager-system"}}},
		false: {map[string]any{"matchLabels": map[string]any{"a": "b"}}, nil},
	} {
		all := template(t, op, load(t, files), map[string]any{"rbac": map[string]any{"namespaced": namespaced}})
		var got []any
		for _, kind := range []string{"Mutating", "Validating"} {
			o := all[kind+"WebhookConfiguration /"+op+"-"+strings.ToLower(kind)+"-webhook-configuration"]
			got = append(got, o["webhooks"].([]any)[0].(map[string]any)["namespaceSelector"])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("namespaced %v (-want +helm):\n%s", namespaced, d)
		}
	}
}

// What is in no namespace cannot be watched with a Role.
func TestRender_NoScope(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"a cluster-scoped kind": func(s string) string { return strings.Replace(s, "scope: Namespaced", "scope: Cluster", 1) },
		"a right on Nodes": func(s string) string {
			return strings.Replace(s, "  - deployments\n", "  - deployments\n  - nodes/status\n", 1)
		},
		"a right on URLs": func(s string) string {
			return strings.Replace(s, "  name: memcached-manager-role\nrules:\n", "  name: memcached-manager-role\nrules:\n- nonResourceURLs: [/metrics]\n  verbs: [get]\n", 1)
		},
		"neither, for a comparison": func(s string) string { return s },
	} {
		_, in := render(t, "../../testdata/golden/memcached/want")
		in.Objects = []byte(change(string(in.Objects)))
		files, err := chart.Render(in)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Contains(string(files["values.yaml"]), "namespaced: false"), name == "neither, for a comparison"; got != want {
			t.Errorf("%s: rbac.namespaced is offered: %v", name, got)
		}
	}
}
