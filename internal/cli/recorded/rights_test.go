package recorded

import (
	"encoding/json"
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
	"github.com/example/mysdk/internal/recording"
)

// TestHandWritten: roles for users of the API grant the operator nothing.
func TestHandWritten(t *testing.T) {
	const (
		deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: m, namespace: ns}, spec: {template: {spec: {serviceAccountName: op}}}}`
		admin      = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: shop-admin-role}, rules: [{verbs: ["*"], apiGroups: [shop], resources: [shops]}]}`
		lease      = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: lease, namespace: ns}, rules: [{verbs: [get], apiGroups: [""], resources: [configmaps]}]}`
		leases     = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: lease}, roleRef: {kind: Role, name: lease}, subjects: [{kind: ServiceAccount, name: op}]}`
		root       = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: root}, roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: op, namespace: ns}]}`
		reviews    = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: reviews}, roleRef: {kind: ClusterRole, name: "system:auth-delegator"}, subjects: [{kind: ServiceAccount, name: op, namespace: ns}]}`
		elsewhere  = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: far}, roleRef: {kind: ClusterRole, name: far}, subjects: [{kind: ServiceAccount, name: op, namespace: ns}]}`
	)
	tests := map[string]struct {
		objs []string
		want []string
	}{
		"bound":                   {[]string{deployment, admin, lease, leases}, []string{`[get] [configmaps] "ns"`}},
		"token reviews":           {[]string{deployment, admin, reviews}, []string{`[create] [tokenreviews] ""`, `[create] [subjectaccessreviews] ""`}},
		"cluster-admin":           {[]string{deployment, admin, root}, []string{`[*] [*] ""`, `[*] [] ""`}},
		"a role that is not here": {[]string{deployment, admin, elsewhere}, []string{`[*] [shops] ""`}},
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
				got = append(got, fmt.Sprintf("%s %s %q", r.Verbs, r.Resources, r.Namespace))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const (
	shopProject = "domain: example.com\nlayout: [go.kubebuilder.io/v4]\nprojectName: shop\nrepo: example.com/shop\nversion: \"3\"\n"
	shopModule  = "module example.com/shop\n\ngo 1.25\n"
)

// put writes files, by their full names.
func put(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// rulesOf are the rules of a project with these files, and what is warned of.
func rulesOf(t *testing.T, files map[string]string) (rules []string, warnings string) {
	t.Helper()
	w := hosttest.New(t)
	put(t, map[string]string{w.Path("PROJECT"): shopProject, w.Path("go.mod"): shopModule})
	for file, text := range files {
		put(t, map[string]string{w.Path(file): text})
	}
	warn := func(format string, args ...any) { warnings += fmt.Sprintf(format+"\n", args...) }
	list, err := projectRules(t.Context(), &cli.Factory{Host: w.Host, Running: NewRights(&cli.Factory{})}, warn)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if len(r.Resources) == 1 {
			rules = append(rules, fmt.Sprintf("%s %s %q %q", r.Verbs, r.Resources, r.File, r.Namespace))
		}
	}
	return rules, warnings
}

// TestProjectRules: the rights of the scaffolded certificates, which only a
// deployed operator uses, are of no marker that could be unused.
func TestProjectRules(t *testing.T) {
	got, _ := rulesOf(t, map[string]string{
		"internal/certs/targets.go":   "package certs\n\n// +kubebuilder:rbac:groups=\"\",namespace=shop-system,resources=secrets,verbs=create\n\nvar targets []string\n",
		"internal/controller/shop.go": "package controller\n\n// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\n\ntype shop struct{}\n",
	})
	want := []string{`[create] [secrets] "" "shop-system"`, `[get] [deployments] "internal/controller/shop.go" ""`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRulesOfHome: a Role is in the namespace that config/default sets for all.
func TestRulesOfHome(t *testing.T) {
	for home, want := range map[string]string{"": "system", "namespace: shop-system\n": "shop-system"} {
		got, _ := rulesOf(t, map[string]string{
			"internal/controller/shop.go":       "package controller\n\n// +kubebuilder:rbac:groups=\"\",namespace=system,resources=secrets,verbs=get\n\ntype shop struct{}\n",
			"config/default/kustomization.yaml": home + "resources: [../rbac]\n",
			"config/rbac/kustomization.yaml":    "resources: [role.yaml, operator.yaml]\n",
			"config/rbac/operator.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: m, namespace: system}
spec: {template: {spec: {serviceAccountName: op}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: m, namespace: system}
roleRef: {kind: Role, name: manager-role, apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: ServiceAccount, name: op, namespace: system}]
`,
		})
		if diff := cmp.Diff([]string{`[get] [secrets] "internal/controller/shop.go" "` + want + `"`}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", home, diff)
		}
	}
}

// TestUnboundMarker: the marker of a role that nobody has grants nothing, wherever
// config/default puts the role, and is not called unused.
func TestUnboundMarker(t *testing.T) {
	got, warnings := rulesOf(t, map[string]string{
		"internal/controller/shop.go": `package controller

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get
// +kubebuilder:rbac:groups=batch,namespace=infra,resources=jobs,verbs=get

type shop struct{}
`,
		"config/default/kustomization.yaml": "namespace: shop-system\nresources: [../rbac]\n",
		"config/rbac/kustomization.yaml":    "resources: [role.yaml, operator.yaml]\n",
		"config/rbac/operator.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: m}
spec: {template: {spec: {serviceAccountName: op}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: m}
roleRef: {kind: ClusterRole, name: manager-role, apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: ServiceAccount, name: op, namespace: shop-system}]
`,
	})
	if diff := cmp.Diff([]string{`[get] [deployments] "internal/controller/shop.go" ""`}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "Role shop-system/manager-role is not bound to any service account: add a RoleBinding to config/rbac\n"; warnings != want {
		t.Errorf("warned: %q, want %q", warnings, want)
	}
}

// TestRightsOfBuilds: one run may have had several builds, which is said.
func TestRightsOfBuilds(t *testing.T) {
	for want, processes := range map[string][]string{"": {"1", "1"}, "The operator was started 2 times in this run": {"1", "2", "2"}} {
		var rec recording.Recording
		for _, p := range processes {
			rec.Reconciles = append(rec.Reconciles, recording.Reconcile{Process: p})
		}
		w := hosttest.New(t)
		var said strings.Builder
		w.Host.IO.Err = &said
		file, err := localrun.RecordingFile(w.Host, w.Host.Dir)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		put(t, map[string]string{file: string(data), w.Path("PROJECT"): shopProject, w.Path("go.mod"): shopModule})
		if err := runRights(t.Context(), &cli.Factory{Host: w.Host, Running: NewRights(&cli.Factory{})}, &rightsOptions{name: "default"}); err != nil {
			t.Fatal(err)
		}
		if got := said.String(); !strings.Contains(got, want) || strings.Contains(got, "started") != (want != "") {
			t.Errorf("of %v it says:\n%s", processes, got)
		}
	}
}
