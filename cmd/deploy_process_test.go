package cmd_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
)

// TestDeployedOperatorRuns deploys a scaffolded operator, as it is: the pod's
// process elects a leader, reconciles, lacks what its roles lack, and goes with
// the pod.
func TestDeployedOperatorRuns(t *testing.T) {
	t.Parallel()
	r := newOLMRun(t)
	r.scaffold()
	r.mysdk("deploy")
	r.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}")
	r.apply(sampleYAML)
	r.until("the sample's Deployment", func() bool {
		ready, _, _ := unstructured.NestedInt64(r.object("apps/v1 Deployment shop/memcached-sample"), "status", "readyReplicas")
		return ready == 3
	})
	const namespace = "shop-operator-system"
	r.mysdk("kubectl get pods --namespace " + namespace + " --output yaml")
	if pod := r.out.String(); !strings.Contains(pod, "--leader-elect") || !strings.Contains(pod, "containerID: process://") {
		t.Errorf("the pod:\n%s", pod)
	}
	if r.mysdk("kubectl get lease --namespace " + namespace + " --output name"); !strings.Contains(r.out.String(), "lease") {
		t.Errorf("there is no leader's lease: %s", r.out)
	}
	logs := "kubectl logs --namespace " + namespace + " deployment/shop-operator-controller-manager"
	if r.mysdk(logs); !strings.Contains(r.out.String(), "acquired lease") || strings.Contains(r.out.String(), "forbidden") {
		t.Errorf("the log:\n%s", r.out)
	}

	// What the operator's roles lack shows, as it would in a cluster.
	r.remove("rbac.authorization.k8s.io/v1 ClusterRoleBinding shop-operator-manager-rolebinding")
	r.mysdk("kubectl rollout restart --namespace " + namespace + " deployment/shop-operator-controller-manager")
	r.until("the log saying what is forbidden", func() bool { return r.try(logs) == 0 && strings.Contains(r.out.String(), "is forbidden") })

	const lacks = "the operator may not list deployments.apps, list memcacheds.cache.example.com, list pods: its service account shop-operator-controller-manager has no permission for it"
	r.fails(clierr.CodeFailed, "doctor", "")
	if !strings.Contains(r.out.String(), lacks) {
		t.Errorf("doctor:\n%s", r.out)
	}

	r.mysdk("undeploy --yes")
	r.until("the processes gone", func() bool {
		info, err := cluster.Status(t.Context(), r.h, state.DefaultName)
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(info.Processes, func(p state.Process) bool { return p.Namespace == namespace })
	})
	// Nobody else's pods of that image run the operator from now on.
	control, err := cluster.Control(t.Context(), r.h, state.DefaultName)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := control.Programs(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("the cluster still has %v, %v", left, err)
	}

	// deploy itself says so, too, and does not wait for what cannot come.
	broken := func(texts ...string) {
		t.Helper()
		r.fails(clierr.CodeFailed, "deploy --timeout 10m", texts...)
	}
	r.edit("config/rbac/role_binding.yaml", "  name: controller-manager\n", "  name: somebody\n")
	broken(lacks, "  log: ", "//+kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list", "then run 'mysdk deploy' again")
	r.edit("config/manager/manager.yaml", "- --leader-elect\n", "- --leader-elect\n        - --no-such-flag\n")
	broken("container manager ends with exit code 2 again and again: flag provided but not defined: -no-such-flag", "  log: ", "mysdk kubectl logs -n "+namespace)
}

// object is an object of the cluster, empty without one.
func (r *olmRun) object(name string) map[string]any {
	r.t.Helper()
	if u := r.read(name); u != nil {
		return u.Object
	}
	return nil
}
