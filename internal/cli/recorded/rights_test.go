package recorded

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/kube"
)

// TestHandWritten: roles for users of the API grant the operator nothing.
func TestHandWritten(t *testing.T) {
	const (
		deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: m, namespace: ns}, spec: {template: {spec: {serviceAccountName: op}}}}`
		admin      = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: shop-admin-role}, rules: [{verbs: ["*"], apiGroups: [shop], resources: [shops]}]}`
		lease      = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: lease, namespace: ns}, rules: [{verbs: [get], apiGroups: [""], resources: [configmaps]}]}`
		leases     = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: lease}, roleRef: {kind: Role, name: lease}, subjects: [{kind: ServiceAccount, name: op}]}`
		root       = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: root}, roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: op, namespace: ns}]}`
		elsewhere  = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: far}, roleRef: {kind: ClusterRole, name: far}, subjects: [{kind: ServiceAccount, name: op, namespace: ns}]}`
	)
	tests := map[string]struct {
		objs []string
		want []string
	}{
		"bound":                   {[]string{deployment, admin, lease, leases}, []string{"[get] [configmaps] true"}},
		"cluster-admin":           {[]string{deployment, admin, root}, []string{"[*] [*] false", "[*] [] false"}},
		"a role that is not here": {[]string{deployment, admin, elsewhere}, []string{"[*] [shops] false"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var all string
			for _, one := range tc.objs {
				all += "---\n" + one + "\n"
			}
			objs, err := kube.ParseManifests([]byte(all), "test")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range handWritten(objs) {
				got = append(got, fmt.Sprint(r.Verbs, r.Resources, r.Namespaced))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
