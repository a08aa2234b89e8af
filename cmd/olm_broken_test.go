package cmd_test

import (
	"strings"
	"testing"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
)

// patience is the time in which the cause of a failure has to be named. Where
// it is up, the message begins with "not ready after".
const patience = " --timeout 5m"

// TestBrokenBundles runs bundles each of which is broken in another way: the
// cause is named, and not that time was up.
func TestBrokenBundles(t *testing.T) {
	t.Parallel()
	hosttest.LeaveToNightly(t, "what is said of each failure is tested where it is found")
	r := newOLMRun(t)
	r.mysdk("olm install --timeout 10m")
	r.scaffold()
	r.mysdk("bundle generate --version 0.0.1")
	const csv = "bundle/manifests/shop-operator.clusterserviceversion.yaml"
	broken := func(code int, args string, texts ...string) {
		t.Helper()
		r.fails(code, args+patience, texts...)
		if strings.Contains(r.err.String(), "not ready after") {
			t.Errorf("the cause was not found in time:\n%s", r.err)
		}
	}

	t.Run("missing right", func(t *testing.T) {
		r.t = t
		const verbs = "          - memcacheds\n          verbs:\n          - get\n"
		r.edit(csv, verbs+"          - list\n          - patch\n          - watch\n", verbs+"          - patch\n")
		broken(clierr.CodeFailed, "run bundle ./bundle -n rights",
			"the operator may not list memcacheds.cache.example.com: its service account shop-operator-controller-manager has no permission for it",
			"//+kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list", "  log: ", "mysdk cleanup shop-operator -n rights")
		r.fails(clierr.CodeUnavailable, "olm explain -n rights", "the operator may not list memcacheds.cache.example.com")
		r.mysdk("cleanup shop-operator -n rights", "bundle generate --version 0.0.1")
	})
	t.Run("bad image", func(t *testing.T) {
		r.t = t
		r.edit(csv, "image: controller:latest", "image: registry.invalid/shop:v9")
		broken(clierr.CodeFailed, "run bundle ./bundle -n image --rollback",
			"the image registry.invalid/shop:v9 of container manager cannot be pulled",
			"Pod image/shop-operator-controller-manager-", "mysdk image build --image registry.invalid/shop:v9", "event: ", "Rolled back")
		if r.read("operators.coreos.com/v1alpha1 Subscription image/shop-operator") != nil || r.read("apiextensions.k8s.io/v1 CustomResourceDefinition memcacheds.cache.example.com") == nil {
			t.Error("the rollback left the Subscription, or took a CRD that was there before")
		}
		r.mysdk("bundle generate --version 0.0.1")
	})
	t.Run("image of this machine", func(t *testing.T) {
		r.t = t
		r.mysdk("image build --base scratch --offline --image registry.invalid/shop:v9")
		r.edit(csv, "image: controller:latest", "image: registry.invalid/shop:v9")
		r.mysdk("run bundle ./bundle -n image")
		if !strings.Contains(r.err.String(), "Image registry.invalid/shop:v9: the program of the image on this machine") {
			t.Errorf("the operator is not that of the image:\n%s", r.err)
		}
		r.mysdk("kubectl logs -n image deploy/shop-operator-controller-manager", "cleanup shop-operator -n image", "bundle generate --version 0.0.1")
	})
	t.Run("wrong install mode", func(t *testing.T) {
		r.t = t
		broken(clierr.CodeUsage, "run bundle ./bundle -n mode --install-mode OwnNamespace",
			"shop-operator.v0.0.1 cannot be installed with --install-mode OwnNamespace: it does not support OwnNamespace", "it supports AllNamespaces")
		if r.read("v1 Namespace mode") != nil {
			t.Error("something was written")
		}
		r.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: mode}\n---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: own, namespace: mode}\nspec: {targetNamespaces: [mode]}\n")
		broken(clierr.CodeFailed, "run bundle ./bundle -n mode",
			"OperatorGroup mode/own, which decides what the operators of its namespace watch, is for namespace mode, and shop-operator.v0.0.1 cannot join it", "mysdk kubectl delete operatorgroup -n mode own")
	})
	t.Run("unreachable catalog", func(t *testing.T) {
		r.t = t
		r.apply(`
apiVersion: v1
kind: Namespace
metadata: {name: far}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: nowhere, namespace: far}
spec: {sourceType: grpc, address: "nowhere.far.svc:50051"}
`)
		broken(clierr.CodeFailed, "run bundle ./bundle -n far --rollback",
			"CatalogSource far/nowhere: its catalog cannot be read at nowhere.far.svc:50051", "OLM resolves nothing in namespace far until it can",
			"mysdk kubectl delete catalogsource -n far nowhere", "Rolled back")
	})
	t.Run("nothing is left", func(t *testing.T) {
		r.t = t
		for _, ns := range []string{"rights", "image", "mode", "far"} {
			if list := r.csvs(ns); len(list) > 0 {
				t.Errorf("%s has %v", ns, list)
			}
		}
	})
}
