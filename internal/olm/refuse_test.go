package olm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
)

// found is Find of the lab's cluster.
func (l *lab) found() [2]string {
	l.t.Helper()
	there, err := Find(l.t.Context(), l.Client)
	if err != nil {
		l.t.Fatal(err)
	}
	return [2]string{there.Version, there.Namespace}
}

// builtIn is this version of OLM for a namespace.
func builtIn(t *testing.T, namespace string) Manifests {
	t.Helper()
	m, err := BuiltIn(namespace)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// refused checks an error's text and its hint.
func refused(t *testing.T, err error, text, hint string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(clierr.HintOf(err), hint) {
		t.Errorf("error %v, hint %q; want %q, hint %q", err, clierr.HintOf(err), text, hint)
	}
}

// testRefused has a cluster with no OLM, with half of one, with that of
// somebody else, and with a newer one. Of the CRDs there is only that of CSVs:
// OLM does not start, and what the test says of it stays.
func testRefused(t *testing.T, l *lab) {
	m := builtIn(t, DefaultNamespace)
	if d := cmp.Diff([2]string{"", ""}, l.found()); d != "" {
		t.Errorf("of an empty cluster (-want +got):\n%s", d)
	}
	if d := cmp.Diff(Status{}, l.status()); d != "" {
		t.Errorf("status of an empty cluster (-want +got):\n%s", d)
	}
	stranger := "{apiVersion: v1, kind: Namespace, metadata: {name: operators}}"
	l.apply(manifests(t, stranger))
	if gone, err := l.uninstall(true); err != nil || gone.Version != "" {
		t.Errorf("Uninstall() of nothing = %v, %v", gone, err)
	}
	isThere := func() bool { return l.read(manifests(t, stranger)[0]) != nil }
	if !isThere() {
		t.Error("a namespace was deleted where there is no OLM")
	}

	var csvs *unstructured.Unstructured
	for _, crd := range m.CRDs {
		if crd.GetName() == csvCRD {
			csvs = crd.DeepCopy()
		}
	}
	csvs.SetAnnotations(map[string]string{state.OLMNamespaceAnnotation: "elsewhere"})
	l.apply([]*unstructured.Unstructured{csvs})
	if err := l.WaitEstablished(t.Context(), []*unstructured.Unstructured{csvs}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([2]string{"unknown", "elsewhere"}, l.found()); d != "" {
		t.Errorf("of somebody else's (-want +got):\n%s", d)
	}
	s := l.status()
	if s.Healthy || !s.Installed {
		t.Errorf("half of an OLM is healthy: %+v", s)
	}
	missing := 0
	for _, o := range s.Unhealthy() {
		if o.State == "Missing" {
			missing++
		}
	}
	if missing < 10 {
		t.Errorf("%d objects are missing: %+v", missing, s.Objects)
	}
	install := func(change func(*InstallOptions)) error {
		o := InstallOptions{Now: time.Now, Timeout: patience}
		if change != nil {
			change(&o)
		}
		_, err := Install(t.Context(), l.Client, m, o)
		return err
	}
	refused(t, install(nil), "OLM unknown is already installed in namespace elsewhere", "mysdk olm uninstall --olm-namespace elsewhere")
	_, err := Uninstall(t.Context(), l.Client, m, UninstallOptions{Timeout: patience})
	refused(t, err, "OLM unknown is in namespace elsewhere, not in olm", "add --olm-namespace elsewhere")

	// A newer one.
	l.apply(manifests(t, "{apiVersion: v1, kind: Namespace, metadata: {name: olm}}", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"))
	csv := func(namespace, name, labels string) string {
		return "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: " + name + ", namespace: " + namespace + ", labels: {" + labels + "}}, " +
			"spec: {displayName: X, install: {strategy: deployment, spec: {deployments: []}}, customresourcedefinitions: {owned: [{name: a.example.com, kind: A, version: v1}]}}}"
	}
	// One that a platform brings is nobody's to change, by force or without.
	l.apply(manifests(t, csv("olm", packageServer, versionLabel+": v99.0.0, "+platformLabel+": olm-packageserver")))
	refused(t, install(nil), "OLM 99.0.0 in namespace olm is part of this cluster", "mysdk run bundle")
	_, err = Uninstall(t.Context(), l.Client, m, UninstallOptions{Timeout: patience, Force: true})
	refused(t, err, "OLM 99.0.0 in namespace olm is part of this cluster", "mysdk cleanup")
	if !l.status().Platform {
		t.Error("the status knows nothing of the platform")
	}
	l.apply(manifests(t, csv("olm", packageServer, versionLabel+": v99.0.0"), csv("shop", "shop.v1", "")))
	if d := cmp.Diff([2]string{"99.0.0", "olm"}, l.found()); d != "" {
		t.Errorf("of a newer one (-want +got):\n%s", d)
	}
	refused(t, install(nil), "OLM 99.0.0 is already installed and newer than "+Version+": OLM cannot be downgraded", "mysdk olm uninstall")
	_, err = Uninstall(t.Context(), l.Client, m, UninstallOptions{Timeout: patience})
	refused(t, err, "nothing was deleted: OLM has installed operators: shop/shop.v1", "add --force")
	if l.read(named(kind("ClusterServiceVersion"), "shop", "shop.v1")) == nil {
		t.Error("it was deleted")
	}

	// The wait for a packageserver that never works ends, and says why.
	now := time.Now()
	i := &installer{Client: l.Client, manifests: m, deadline: now.Add(time.Minute), options: InstallOptions{Timeout: time.Minute, Now: func() time.Time {
		now = now.Add(time.Minute)
		return now
	}}}
	refused(t, i.waitPackageServer(t.Context()), "ClusterServiceVersion olm/packageserver is not ready after 1m0s: OLM has not processed it yet", "mysdk olm status")
	// What an update finds may be the pods of before it.
	for _, u := range m.Objects {
		if u.GetKind() != "ClusterServiceVersion" {
			continue
		}
		pods := serverPods(u)
		if len(pods) != 1 {
			t.Fatalf("the packageserver has the Deployments %v", pods)
		}
		behind := func(want string) {
			t.Helper()
			if why, err := i.behind(t.Context(), pods); err != nil || why != want {
				t.Errorf("%q, %v, want %q", why, err, want)
			}
		}
		behind("OLM has not updated Deployment olm/packageserver yet")
		old := pods[0].DeepCopy()
		containers, _, _ := unstructured.NestedSlice(old.Object, "spec", "template", "spec", "containers")
		containers[0].(map[string]any)["image"] = "example.com/old:1"
		if err := unstructured.SetNestedSlice(old.Object, containers, "spec", "template", "spec", "containers"); err != nil {
			t.Fatal(err)
		}
		l.apply([]*unstructured.Unstructured{old})
		behind("OLM has not updated Deployment olm/packageserver yet")
		l.apply(pods)
		behind("")
	}
	i.manifests.Objects = nil
	if err := i.waitPackageServer(t.Context()); err != nil {
		t.Errorf("an OLM without a packageserver: %v", err)
	}

	// By force all of it goes, also what never worked, but for namespaces that are
	// used: by what has an owner of somebody else's, and by a custom resource of an
	// operator that went before, which nothing converts any more.
	l.apply(manifests(t, leftCRD("v1", "strategy: None")))
	if err := l.WaitEstablished(t.Context(), manifests(t, leftCRD("v1", ""))); err != nil {
		t.Fatal(err)
	}
	owner := "ownerReferences: [{apiVersion: v1, kind: Namespace, name: operators, uid: " + string(l.read(manifests(t, stranger)[0]).GetUID()) + "}]"
	l.apply(manifests(t, "{apiVersion: left.example.com/v1, kind: Cart, metadata: {name: mine, namespace: olm}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: operators, "+owner+"}}"))
	l.apply(manifests(t, leftCRD("v2", "strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: gone, name: gone}}}")))
	gone, err := Uninstall(t.Context(), l.Client, m, UninstallOptions{Timeout: patience, Force: true})
	want := Uninstalled{Version: "99.0.0", Kept: []string{"a.example.com"}, Namespaces: []string{"olm: Cart objects cannot be read", "operators: it also contains Secret operators/db"}}
	if d := cmp.Diff(want, gone); err != nil || d != "" {
		t.Errorf("Uninstall() by force (-want +got), %v:\n%s", err, d)
	}
	if !isThere() {
		t.Error("a namespace was deleted with a Secret of somebody else's")
	}
	if d := cmp.Diff([2]string{"", ""}, l.found()); d != "" {
		t.Errorf("after that (-want +got):\n%s", d)
	}
	l.apply(manifests(t, leftCRD("v2", "strategy: None")))
	if _, err := l.Delete(t.Context(), manifests(t, shop, stranger, leftCRD("v2", ""), "{apiVersion: v1, kind: Namespace, metadata: {name: olm}}"), kube.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// leftCRD is what cleanup leaves of an operator.
func leftCRD(storage, conversion string) string {
	version := func(name string) string {
		return fmt.Sprintf("{name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object}}}", name, name == storage)
	}
	return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: carts.left.example.com}, spec: {group: left.example.com, scope: Namespaced, " +
		"names: {kind: Cart, listKind: CartList, plural: carts, singular: cart}, conversion: {" + conversion + "}, versions: [" + version("v1") + ", " + version("v2") + "]}}"
}

// TestIncidental: what OLM has made does not keep a namespace.
func TestIncidental(t *testing.T) {
	for text, want := range map[string]bool{
		"{kind: Secret, metadata: {name: db}}":                                     false,
		"{kind: Service, metadata: {name: served, labels: {olm.managed: 'true'}}}": true,
	} {
		if u := manifests(t, "{apiVersion: v1, "+text[1:])[0]; incidental(u) != want {
			t.Errorf("%s: %t, want %t", text, !want, want)
		}
	}
}

// TestCount counts what an installation has changed, and reports everything.
func TestCount(t *testing.T) {
	var told []string
	i := &installer{options: InstallOptions{Progress: func(r kube.Result) { told = append(told, string(r.Action)) }}}
	i.count([]kube.Result{{Action: kube.Created}, {Action: kube.Unchanged}, {Action: kube.Configured}})
	if i.done.Changed != 2 || len(told) != 3 {
		t.Errorf("%d changes, told %v", i.done.Changed, told)
	}
	i.options.Progress = nil
	i.count([]kube.Result{{Action: kube.Created}})
	if i.done.Changed != 3 {
		t.Errorf("%d changes", i.done.Changed)
	}
	var removed []string
	tell := progress(func(r kube.Result) { removed = append(removed, string(r.Action)) })
	tell(kube.Result{Action: kube.Deleted})
	tell(kube.Result{Action: kube.Absent})
	progress(nil)(kube.Result{Action: kube.Deleted})
	if d := cmp.Diff([]string{string(kube.Deleted)}, removed); d != "" {
		t.Errorf("told of removals (-want +got):\n%s", d)
	}
}
