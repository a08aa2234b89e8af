package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
)

// cleanup removes the test's package from its namespace.
func (l *lab) cleanup(change func(*CleanupOptions)) (Cleaned, error) {
	l.said = nil
	o := CleanupOptions{
		Namespace: l.name, Timeout: labTimeout, Progress: func(kube.Result) {},
		Say: func(format string, args ...any) { l.said = append(l.said, fmt.Sprintf(format, args...)) },
	}
	if change != nil {
		change(&o)
	}
	return Cleanup(l.t.Context(), l.client, l.name, o)
}

// says reports whether one of the lines that were said has the text.
func (l *lab) says(text string) bool {
	return slices.ContainsFunc(l.said, func(s string) bool { return strings.Contains(s, text) })
}

// crd is the CRD of the lab's bundles, nil without it.
func (l *lab) crd() *unstructured.Unstructured {
	l.t.Helper()
	u, err := l.client.Read(l.t.Context(), crdObject(l.crdName()))
	if err != nil {
		l.t.Fatal(err)
	}
	return u
}

// testWhatGoesAndWhatStays cleans up beside things of other people, and rolls
// back where there was nothing before.
func (l *lab) testWhatGoesAndWhatStays(t *testing.T) {
	good, bad := l.bundle("0.0.1", ""), l.bundle("0.0.1", "  minKubeVersion: 99.0.0\n")
	t.Run("a first installation that fails leaves nothing", func(t *testing.T) {
		l.t = t
		watched := l.name + "-watched"
		_, err := Install(t.Context(), l.client, bad, l.options(func(o *Options) {
			o.Rollback, o.Mode = true, Mode{Type: "SingleNamespace", Targets: []string{watched}}
		}))
		var failure *Failure
		if !errors.As(err, &failure) || !l.says("Rolled back") {
			t.Fatalf("%v, said %q", err, l.said)
		}
		for _, name := range []string{l.name, watched} {
			ns, err := l.client.Read(t.Context(), kube.Named("v1", "Namespace", "", name))
			if err != nil || ns != nil || l.crd() != nil {
				t.Errorf("namespace %v, CRD %v, %v", ns, l.crd(), err)
			}
		}
	})
	t.Run("without a rollback it stays to be looked at", func(t *testing.T) {
		l.t = t
		_, err := Install(t.Context(), l.client, bad, l.options(nil))
		if err == nil || !strings.Contains(clierr.HintOf(err), fmt.Sprintf("'mysdk cleanup %[1]s -n %[1]s' removes it", l.name)) {
			t.Errorf("%v, hint %q", err, clierr.HintOf(err))
		}
		if l.read(olmV1alpha1, "Subscription", l.name) == nil {
			t.Error("the Subscription is gone")
		}
		if _, err := l.cleanup(nil); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a rollback keeps CRDs that are in use, and no Subscription to the catalog", func(t *testing.T) {
		l.t = t
		if l.crd() == nil {
			t.Fatal("the cleanup took the CRD")
		}
		l.applyCart()
		if _, err := Install(t.Context(), l.client, bad, l.options(func(o *Options) {
			o.Rollback, o.Say = true, func(text string, _ ...any) {
				if text == "Rolling back" { // as OLM does for what a bundle requires
					l.apply(fmt.Sprintf("apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: dependency, namespace: %[1]s}\nspec: {name: dependency, source: %[1]s-catalog, sourceNamespace: %[1]s}\n", l.name))
				}
			}
		})); err == nil {
			t.Fatal("it was installed")
		}
		if l.read(olmV1alpha1, "Subscription", "dependency") != nil {
			t.Error("a Subscription to the catalog that is gone is there")
		}
		if l.cart() == nil {
			t.Error("the user's object is gone")
		}
	})
	t.Run("what others made stays", func(t *testing.T) {
		l.t = t
		if _, err := Install(t.Context(), l.client, good, l.options(nil)); err != nil {
			t.Fatal(err)
		}
		// Another operator of the namespace, by hand, which waits for its CRD.
		l.apply("apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: other.v1.0.0, namespace: " + l.name + "}\n" +
			"spec: {displayName: Other, install: {strategy: deployment, spec: {deployments: []}}, installModes: [{type: AllNamespaces, supported: true}], customresourcedefinitions: {owned: [{name: " + l.crdName() + ", kind: Cart, version: v1}]}}\n")
		if _, err := l.cleanup(func(o *CleanupOptions) { o.CRDs = true }); err != nil {
			t.Fatal(err)
		}
		if l.crd() == nil || !l.says(l.crdName()+" was kept: ClusterServiceVersion "+l.name+"/other.v1.0.0 provides it too") {
			t.Errorf("the CRD: %v, said %q", l.crd() != nil, l.said)
		}
		if l.read(olmV1, "OperatorGroup", groupName) == nil || !l.says("OperatorGroup "+l.name+"/mysdk-operators was kept: other.v1.0.0 needs it") {
			t.Errorf("the OperatorGroup went, said %q", l.said)
		}
		if _, err := l.client.Delete(t.Context(), []*unstructured.Unstructured{kube.Named(olmV1alpha1, "ClusterServiceVersion", l.name, "other.v1.0.0")}, kube.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("what was left behind is no obstacle", func(t *testing.T) {
		l.t = t
		loseSubscription := func() {
			t.Helper()
			if _, err := Install(t.Context(), l.client, good, l.options(nil)); err != nil {
				t.Fatal(err)
			}
			if _, err := l.client.Delete(t.Context(), []*unstructured.Unstructured{kube.Named(olmV1alpha1, "Subscription", l.name, l.name)}, kube.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		loseSubscription()
		result, err := Install(t.Context(), l.client, good, l.options(nil))
		if err != nil || result.Action != Reinstalled || !l.says("first: it has been left behind without a Subscription") {
			t.Fatalf("%+v, %v, said %q", result, err, l.said)
		}
		loseSubscription()
		if _, err := l.cleanup(nil); err != nil {
			t.Fatal(err)
		}
		if l.read(olmV1alpha1, "ClusterServiceVersion", result.CSV) != nil {
			t.Errorf("%s is there", result.CSV)
		}
	})
	for _, kind := range []string{"Subscription", "ClusterServiceVersion", "OperatorGroup", "CatalogSource"} {
		t.Run("a cleanup that ends after the "+kind+" is finished by the next", func(t *testing.T) {
			if kind == "CatalogSource" {
				hosttest.LeaveToNightly(t, "the next one goes on as after the other kinds")
			}
			l.t = t
			if _, err := Install(t.Context(), l.client, good, l.options(nil)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := CleanupOptions{Namespace: l.name, Timeout: labTimeout, Say: func(string, ...any) {}, Progress: func(r kube.Result) {
				if r.Kind == kind {
					cancel()
				}
			}}
			if _, err := Cleanup(ctx, l.client, l.name, o); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			crds := kind != "CatalogSource" // then OLM's label is gone
			if _, err := l.cleanup(func(o *CleanupOptions) { o.CRDs = crds }); err != nil || crds != (l.crd() == nil) {
				t.Fatalf("the CRD is there: %v, %v", l.crd() != nil, err)
			}
			operator, err := l.client.Read(t.Context(), kube.Named(olmV1, "Operator", "", l.name+"."+l.name))
			if err != nil || operator != nil || l.read("v1", "ConfigMap", l.name+"-catalog-0") != nil || l.read(olmV1alpha1, "CatalogSource", l.name+"-catalog") != nil {
				t.Errorf("the Operator %v or the catalog is there, %v", operator != nil, err)
			}
			plans, err := l.client.List(t.Context(), gvk(olmV1alpha1, "InstallPlan"), kube.ListOptions{Namespace: l.name})
			if err != nil || len(plans) > 0 || l.read("rbac.authorization.k8s.io/v1", "Role", "shop-viewer") != nil {
				t.Errorf("an InstallPlan of %d or the Role is there, %v", len(plans), err)
			}
		})
	}
	t.Run("with the CRDs go their objects", func(t *testing.T) {
		l.t = t
		if _, err := Install(t.Context(), l.client, good, l.options(nil)); err != nil {
			t.Fatal(err)
		}
		l.applyCart()
		if _, err := l.cleanup(func(o *CleanupOptions) { o.CRDs, o.OperatorGroups = true, true }); err != nil {
			t.Fatal(err)
		}
		if l.crd() != nil || !l.says("Deleting 1 Cart with their CRD") {
			t.Errorf("the CRD: %v, said %q", l.crd() != nil, l.said)
		}
		if l.read(olmV1, "OperatorGroup", groupName) != nil {
			t.Error("the OperatorGroup is there")
		}
	})
}
