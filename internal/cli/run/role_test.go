package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/localrun"
)

const deployed = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: m, namespace: sys}
spec: {template: {spec: {serviceAccountName: m}}}
---
kind: ClusterRoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: mine}
roleRef: {kind: ClusterRole, name: manager}
subjects: [{kind: ServiceAccount, name: other, namespace: sys}, {kind: ServiceAccount, name: m, namespace: sys}]
---
kind: ClusterRoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: metrics-reader-of-others}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: sys}]
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: leases, namespace: sys}
roleRef: {kind: Role, name: leases}
subjects: [{kind: ServiceAccount, name: m, namespace: sys}]
---
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: manager}}
---
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: reader}}
---
{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: leases, namespace: sys}}
---
{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: leases, namespace: other}}
`

// TestRoleOf: the roles that are bound to the operator's account, and the bindings
// as they are.
func TestRoleOf(t *testing.T) {
	objs, err := kube.ParseManifests([]byte(deployed), "test")
	if err != nil {
		t.Fatal(err)
	}
	role := roleOf(objs)
	var got []string
	for _, u := range role.Objects {
		got = append(got, u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName())
		if subjects, _ := u.Object["subjects"].([]any); u.GetName() == "mine" && len(subjects) != 2 {
			t.Errorf("subjects of a binding that may be deployed: %v", subjects)
		}
	}
	want := []string{"ClusterRoleBinding /mine", "RoleBinding sys/leases", "ClusterRole /manager", "Role sys/leases"}
	if diff := cmp.Diff(want, got); diff != "" || role.Account != "m" || role.Namespace != "sys" {
		t.Errorf("%s/%s (-want +got):\n%s", role.Namespace, role.Account, diff)
	}
	if diff := cmp.Diff(localrun.Role{}, roleOf(objs[1:])); diff != "" {
		t.Errorf("without a Deployment:\n%s", diff)
	}
}
