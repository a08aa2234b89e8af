package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
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
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: manager}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {to: manager}}, {matchExpressions: [{key: to, operator: Exists}]}]}}
---
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: part, labels: {to: manager}}}
---
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: reader}}
---
{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: leases, namespace: sys}}
---
{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: leases, namespace: other}}
`

// TestRoleOf: the roles that are bound to the operator's account, those that are
// aggregated into them, and the bindings as they are.
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
	want := []string{"ClusterRoleBinding /mine", "RoleBinding sys/leases", "ClusterRole /manager", "Role sys/leases", "ClusterRole /part"}
	if diff := cmp.Diff(want, got); diff != "" || role.Account != "m" || role.Namespace != "sys" {
		t.Errorf("%s/%s (-want +got):\n%s", role.Namespace, role.Account, diff)
	}
	if diff := cmp.Diff(localrun.Role{}, roleOf(objs[1:])); diff != "" {
		t.Errorf("without a Deployment:\n%s", diff)
	}
}

// TestDeployedToNoNamespace: manifests that leave the namespace to whoever
// applies them.
func TestDeployedToNoNamespace(t *testing.T) {
	objs, err := kube.ParseManifests([]byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: m}
spec: {template: {spec: {serviceAccountName: m, containers: [{name: m, env: [{name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]}]}}}
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: m}
roleRef: {kind: Role, name: m}
subjects: [{kind: ServiceAccount, name: m}]
---
{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: m}}
---
{kind: ServiceAccount, apiVersion: v1, metadata: {name: m}}
---
{kind: ServiceAccount, apiVersion: v1, metadata: {name: database}}
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: database}
roleRef: {kind: Role, name: database}
subjects: [{kind: ServiceAccount, name: database}]
---
{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: database}}
---
{kind: ConfigMap, apiVersion: v1, metadata: {name: images}}
---
{kind: Service, apiVersion: v1, metadata: {name: metrics}}
`), "test")
	if err != nil {
		t.Fatal(err)
	}
	cli.PlaceTogether(objs)
	role := roleOf(objs)
	if role.Namespace != "default" || len(role.Objects) != 2 {
		t.Errorf("%+v", role)
	}
	var others []string
	for _, u := range role.Others {
		others = append(others, u.GetKind()+" "+u.GetName())
	}
	if diff := cmp.Diff([]string{"ServiceAccount database", "RoleBinding database", "Role database", "ConfigMap images"}, others); diff != "" {
		t.Errorf("of pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"default"}, watchedBy(cli.Deployments(objs)[0])); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
}

// takeLikeDeployed is what likeDeployed takes from manifests in config/default, and
// what it says, with watch-namespace set where one is given.
func takeLikeDeployed(t *testing.T, manifests, watched string) (got localrun.Options, said string) {
	t.Helper()
	w := hosttest.New(t)
	for name, text := range map[string]string{"kustomization.yaml": "resources: [all.yaml]\n", "all.yaml": manifests} {
		full := w.Path(cli.DeployDir + "/" + name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	w.Host.IO.Err = &out
	c := newLocal(&cli.Factory{})
	if watched != "" {
		if err := c.Flags().Set("watch-namespace", watched); err != nil {
			t.Fatal(err)
		}
		got.WatchNamespaces = []string{watched}
	}
	likeDeployed(t.Context(), &cli.Factory{Host: w.Host, Running: c}, &got)
	return got, out.String()
}

// TestLikeDeployed: only the Deployment of the operator says what it watches and how
// its copies are called. A Role that nobody has is warned of.
func TestLikeDeployed(t *testing.T) {
	got, said := takeLikeDeployed(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: agent, namespace: sys}
spec: {template: {spec: {containers: [{name: agent, env: [{name: WATCH_NAMESPACE, value: agents}]}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: m, namespace: sys}
spec: {template: {spec: {containers: [{name: manager, command: [/manager, run]}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: m}
roleRef: {kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: default, namespace: sys}]
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: m-manager-role, namespace: sys}}
`, "")
	if !strings.Contains(said, "Role sys/m-manager-role is not bound to any service account") {
		t.Errorf("it says %q", said)
	}
	want := localrun.Options{Deployment: "m", Deployed: localrun.Deployed{Args: []string{"run"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// manager is a Deployment whose program has some variables.
func manager(env string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: m, namespace: sys}
spec: {template: {spec: {containers: [{name: manager, env: [` + env + `]}]}}}
`
}

// TestWatchedByReference: WATCH_NAMESPACE may refer to variables before it. One that
// names no namespace is no reason not to run.
func TestWatchedByReference(t *testing.T) {
	for env, want := range map[string][]string{
		"{name: NS, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}, {name: WATCH_NAMESPACE, value: \"$(NS)\"}": {"sys"},
		"{name: NS, value: a}, {name: WATCH_NAMESPACE, value: \"$(NS),b-$(NS)\"}":                                       {"a", "b-a"},
		"{name: NS, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: WATCH_NAMESPACE, value: \"$(NS)\"}":           nil,
		"{name: WATCH_NAMESPACE, value: \"$(NS)\"}, {name: NS, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}": nil,
	} {
		got, said := takeLikeDeployed(t, manager(env), "")
		if diff := cmp.Diff(want, got.WatchNamespaces); diff != "" {
			t.Errorf("%s (-want +got):\n%s", env, diff)
		}
		if warns := strings.Contains(said, `WATCH_NAMESPACE is "$(NS)", which names no namespace`); warns != (want == nil) {
			t.Errorf("%s: it says %q", env, said)
		}
	}
}

// TestWatchNamespaceIsSet: a flag that a configuration file or a variable sets counts as
// one that was typed.
func TestWatchNamespaceIsSet(t *testing.T) {
	got, said := takeLikeDeployed(t, manager("{name: WATCH_NAMESPACE, value: a}"), "mine")
	if diff := cmp.Diff([]string{"mine"}, got.WatchNamespaces); diff != "" || strings.Contains(said, "watching") {
		t.Errorf("(-want +got):\n%s\nit says %q", diff, said)
	}
}

// TestStartedBy: what a run takes from the container of the operator.
func TestStartedBy(t *testing.T) {
	objs, err := kube.ParseManifests([]byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: m, namespace: sys}
spec:
  template:
    metadata: {labels: {app.kubernetes.io/part-of: shop}}
    spec:
      serviceAccountName: m
      containers:
      - {name: proxy, args: [--upstream=x]}
      - name: manager
        command: [/operator, manager]
        args: [--metrics-bind-address=:8443]
        env:
        - {name: AGENT_IMAGE, value: example.com/agent}
        - {name: HOME_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: ACCOUNT, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
        - {name: PART_OF, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app.kubernetes.io/part-of']"}}}
        - {name: TARGETS, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['olm.targetNamespaces']"}}}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}
        - {name: ENABLE_WEBHOOKS, value: "false"}
`), "test")
	if err != nil {
		t.Fatal(err)
	}
	want := localrun.Deployed{
		Args: []string{"manager", "--metrics-bind-address=:8443"},
		Env:  []string{"AGENT_IMAGE=example.com/agent", "HOME_NAMESPACE=$(POD_NAMESPACE)", "POD_NAME=$(OPERATOR_NAME)", "POD_IP=127.0.0.1", "ACCOUNT=m", "PART_OF=shop"},
	}
	if diff := cmp.Diff(want, startedBy(objs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(localrun.Deployed{}, startedBy(nil)); diff != "" {
		t.Errorf("without a Deployment:\n%s", diff)
	}
}

// TestRoleOfOtherNames: bindings to roles whose names another layer would complete
// grant nothing, unlike those to Kubernetes' own. A Deployment that names no account
// has the namespace's.
func TestRoleOfOtherNames(t *testing.T) {
	for name, want := range map[string]int{"prefix-manager": 0, "cluster-admin": 1, "system:auth-delegator": 1} {
		objs, err := kube.ParseManifests([]byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: m, namespace: sys}
spec: {template: {spec: {}}}
---
kind: ClusterRoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: m}
roleRef: {kind: ClusterRole, name: "`+name+`"}
subjects: [{kind: ServiceAccount, name: default, namespace: sys}]
`), "test")
		if err != nil {
			t.Fatal(err)
		}
		if role := roleOf(objs); len(role.Objects) != want || role.Account != "default" {
			t.Errorf("%s: %+v", name, role)
		}
	}
}

// TestExplorable: an operator that watches its own namespace may do in those of
// trials what it may do there.
func TestExplorable(t *testing.T) {
	for watch, want := range map[string][]string{
		"[{name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]": {
			"ClusterRoleBinding m-of-sys → ClusterRole m-of-sys", "ClusterRoleBinding view-of-sys → ClusterRole view", "RoleBinding m → Role m", "ClusterRole m-of-sys", "Role m",
		},
		"[]": {"RoleBinding m → Role m", "RoleBinding view → ClusterRole view", "RoleBinding m → Role m", "Role m", "Role m"},
	} {
		objs, err := kube.ParseManifests([]byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: m, namespace: sys}
spec: {template: {spec: {serviceAccountName: m, containers: [{name: m, env: `+watch+`}]}}}
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: m, namespace: sys}
roleRef: {kind: Role, name: m}
subjects: [{kind: ServiceAccount, name: m}]
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: view, namespace: sys}
roleRef: {kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: m}]
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: m, namespace: other}
roleRef: {kind: Role, name: m}
subjects: [{kind: ServiceAccount, name: m, namespace: sys}]
---
{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: m, namespace: sys}}
---
{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: m, namespace: other}}
`), "test")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range explorable(localrun.Manifests{Role: roleOf(objs)}, objs).Role.Objects {
			text := u.GetKind() + " " + u.GetName()
			if ref, ok := u.Object["roleRef"].(map[string]any); ok {
				text += fmt.Sprintf(" → %v %v", ref["kind"], ref["name"])
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", watch, diff)
		}
	}
}
