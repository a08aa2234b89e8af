package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/hostprogram"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
	"github.com/example/mysdk/internal/olm"
)

// lab is an embedded cluster, and the operator of a test on it: its package, its
// namespace and the domain of its CRD have the same name.
type lab struct {
	t      testing.TB
	host   host.Host
	client *kube.Client
	name   string
	said   []string
}

func newLab(t testing.TB) *lab {
	t.Helper()
	l := &lab{t: t, host: kubetest.World(t), name: "shop"}
	l.host.Now = time.Now
	var err error
	if l.client, err = kube.Connect(t.Context(), kube.Options{Kubeconfig: kubetest.StartIn(t, l.host), Host: l.host}); err != nil {
		t.Fatal(err)
	}
	return l
}

// of is the same cluster for a test with an operator of this name.
func (l *lab) of(t *testing.T, name string) *lab {
	return &lab{t: t, host: l.host, client: l.client, name: name}
}

func (l *lab) installOLM() {
	l.t.Helper()
	m, err := olm.Source{Host: l.host}.Load(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := olm.Install(l.t.Context(), l.client, m, olm.InstallOptions{Now: time.Now, Timeout: labTimeout}); err != nil {
		l.t.Fatal(err)
	}
}

// options are those of a run in the test's namespace. No test is about time.
func (l *lab) options(change func(*Options)) Options {
	l.said = nil
	o := Options{
		Namespace: l.name, Timeout: labTimeout, Embedded: true, Now: time.Now, Progress: func(kube.Result) {},
		Say: func(format string, args ...any) { l.said = append(l.said, fmt.Sprintf(format, args...)) },
	}
	if change != nil {
		change(&o)
	}
	return o
}

// read returns an object of the test's namespace, nil without one.
func (l *lab) read(apiVersion, kind, name string) *unstructured.Unstructured {
	l.t.Helper()
	u, err := l.client.Read(l.t.Context(), kube.Named(apiVersion, kind, l.name, name))
	if err != nil {
		l.t.Fatal(err)
	}
	return u
}

func (l *lab) apply(manifests string) {
	l.t.Helper()
	objs, err := kube.ParseManifests([]byte(manifests), "lab.yaml")
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.client.Apply(l.t.Context(), objs, kube.ApplyOptions{Force: true}); err != nil {
		l.t.Fatal(err)
	}
}

// csv is the name of a version's ClusterServiceVersion, crdName that of the CRD.
func (l *lab) csv(version string) string { return l.name + ".v" + version }
func (l *lab) crdName() string           { return "carts." + l.name + ".example.com" }

// bundle is a version of an operator whose pods the cluster simulates. spec is
// more of the CSV's spec, as lines of YAML.
func (l *lab) bundle(version, spec string) *bundle.Bundle {
	l.t.Helper()
	b, err := bundle.Load(fstest.MapFS{
		"metadata/annotations.yaml": {Data: fmt.Appendf(nil, `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: %s
  operators.operatorframework.io.bundle.channels.v1: stable
`, l.name)},
		"manifests/crd.yaml": {Data: fmt.Appendf(nil, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.%[1]s.example.com}
spec:
  group: %[1]s.example.com
  names: {kind: Cart, plural: carts, singular: cart, listKind: CartList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, l.name)},
		"manifests/role.yaml": {Data: []byte("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: shop-viewer}\nrules: []\n")},
		"manifests/csv.yaml": {Data: fmt.Appendf(nil, `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: %[3]s.v%[1]s}
spec:
  displayName: Shop
  version: %[1]s
  installModes: [{type: OwnNamespace, supported: true}, {type: SingleNamespace, supported: true}, {type: AllNamespaces, supported: true}]
  customresourcedefinitions:
    owned: [{name: carts.%[3]s.example.com, kind: Cart, version: v1}]
  install:
    strategy: deployment
    spec:
      clusterPermissions: [{serviceAccountName: shop, rules: [{apiGroups: [%[3]s.example.com], resources: [carts], verbs: [get]}]}]
      deployments:
      - name: shop-manager
        spec:
          replicas: 1
          selector: {matchLabels: {app: shop}}
          template:
            metadata: {labels: {app: shop}}
            spec: {serviceAccountName: shop, containers: [{name: manager, image: "r.example.com/shop:v%[1]s"}]}
%[2]s`, version, spec, l.name)},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// labTimeout bounds each wait of these tests. It is long for machines that are
// busy: no test is about time.
const labTimeout = 10 * time.Minute

// TestOnACluster runs everything that needs a cluster on one, and what needs OLM
// when it has got that: beside each other, as most of the time they wait for it.
func TestOnACluster(t *testing.T) {
	l := newLab(t)
	if _, err := Install(t.Context(), l.client, l.bundle("0.0.1", ""), l.options(nil)); err == nil || !strings.Contains(clierr.HintOf(err), "mysdk olm install") {
		t.Fatalf("without OLM: %v", err)
	}
	l.installOLM()
	tests := map[string]func(*lab, *testing.T){
		"life": (*lab).testLife, "content": (*lab).testContentOfTheSameVersion, "leftovers": (*lab).testWhatGoesAndWhatStays,
		"refused": (*lab).testRefusedUpgrade, "interrupted": (*lab).testInterruptedRetreat, "untouched": (*lab).testRollbackOfNothing,
	}
	for name, tc := range failures {
		tests[name] = func(l *lab, t *testing.T) {
			if name == "variable" {
				hosttest.LeaveToNightly(t, "TestCheckPod has such a pod")
			}
			l.testFailsEarly(t, tc)
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(l.of(t, name), t)
		})
	}
}

// testLife installs, upgrades, rolls back and removes an operator with OLM.
func (l *lab) testLife(t *testing.T) {
	install := func(b *bundle.Bundle, change func(*Options)) (Result, error) {
		t.Helper()
		return Install(t.Context(), l.client, b, l.options(change))
	}
	installed := func(b *bundle.Bundle, change func(*Options), action, replaced string) {
		t.Helper()
		got, err := install(b, change)
		if err != nil {
			t.Fatal(err)
		}
		want := Result{Package: l.name, CSV: b.Name(), Replaced: replaced, Namespace: l.name, Mode: "AllNamespaces", Action: action}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("result (-want +got):\n%s", d)
		}
		csv := l.read(olmV1alpha1, "ClusterServiceVersion", b.Name())
		if text(csv, "status", "phase") != "Succeeded" {
			t.Errorf("%s is %s", b.Name(), text(csv, "status", "phase"))
		}
	}
	one, two := l.bundle("0.0.1", ""), l.bundle("0.0.2", "")
	credentials := func(o *Options) {
		o.PullSecrets, o.Credentials = []string{"pull"}, func([]string) ([]byte, error) { return []byte(`{"auths":{}}`), nil }
	}
	installed(one, credentials, Installed, "")
	if data, _, err := PullSecret(t.Context(), l.client, l.name, "pull"); err != nil || string(data) != `{"auths":{}}` {
		t.Errorf("the pull secret holds %s, %v", data, err)
	}
	if accounts := entries(l.read("v1", "ServiceAccount", "shop"), "imagePullSecrets"); len(accounts) != 1 || text(accounts[0], "name") != "pull" {
		t.Errorf("the operator's account has the pull secrets %v", accounts)
	}
	before := l.read(olmV1alpha1, "Subscription", l.name).GetGeneration() // the status is OLM's
	installed(one, credentials, Unchanged, "")
	if now := l.read(olmV1alpha1, "Subscription", l.name).GetGeneration(); now != before {
		t.Errorf("the Subscription was written: %d, then %d", before, now)
	}
	installed(l.bundle("0.0.1", "  description: changed under the same version\n"), nil, Reinstalled, "")
	installed(two, nil, Upgraded, l.csv("0.0.1"))
	if l.read(olmV1alpha1, "ClusterServiceVersion", l.csv("0.0.1")) != nil {
		t.Error("the old CSV is there")
	}
	if _, err := install(one, nil); err == nil || !strings.Contains(err.Error(), l.csv("0.0.1")+" is older than "+l.csv("0.0.2")) {
		t.Errorf("a step back: %v", err)
	}

	// A version that OLM refuses: named, and what was before is back.
	undone := false
	_, err := install(l.bundle("0.0.3", "  minKubeVersion: 99.0.0\n"), func(o *Options) {
		credentials(o)
		o.Rollback, o.Mode = true, Mode{Type: ownNamespace}
		o.Prepare = func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) error { undone = true; return nil }, nil
		}
	})
	var failure *Failure
	if !errors.As(err, &failure) || failure.TimedOut || !strings.Contains(failure.Error(), "99.0.0") {
		t.Errorf("the failure is %v", err)
	}
	if !undone || !slices.Contains(l.said, "Rolled back") {
		t.Errorf("undone %v, said %q", undone, l.said)
	}
	if phase := text(l.read(olmV1alpha1, "ClusterServiceVersion", l.csv("0.0.2")), "status", "phase"); phase != "Succeeded" || l.read(olmV1alpha1, "ClusterServiceVersion", l.csv("0.0.3")) != nil {
		t.Errorf("after the rollback 0.0.2 is %q", phase)
	}
	if targets := targetsOf(l.read(olmV1, "OperatorGroup", groupName)); len(targets) > 0 || l.read("v1", "Secret", "pull") == nil {
		t.Errorf("after the rollback the operator watches %v, or lacks its pull secret", targets)
	}
	l.cleansUp(t)
}

// applyCart makes an object of the operator's kind, cart reads it.
func (l *lab) applyCart() {
	l.t.Helper()
	l.apply(fmt.Sprintf("apiVersion: %[1]s.example.com/v1\nkind: Cart\nmetadata: {name: mine, namespace: %[1]s}\n", l.name))
}

func (l *lab) cart() *unstructured.Unstructured {
	l.t.Helper()
	return l.read(l.name+".example.com/v1", "Cart", "mine")
}

// cleansUp removes the operator, and what a run had made for it.
func (l *lab) cleansUp(t *testing.T) {
	t.Helper()
	l.applyCart()
	o := CleanupOptions{Namespace: l.name, Timeout: labTimeout, Say: func(string, ...any) {}, Progress: func(kube.Result) {}}
	got, err := Cleanup(t.Context(), l.client, l.name, o)
	if err != nil {
		t.Fatal(err)
	}
	want := Cleaned{CSVs: []string{l.csv("0.0.2")}, Images: []hostprogram.ServedImage{{Image: "r.example.com/shop:v0.0.2", Workload: l.name + "/Deployment/shop-manager"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("cleaned (-want +got):\n%s", d)
	}
	for _, gone := range [][3]string{
		{olmV1alpha1, "Subscription", l.name}, {olmV1alpha1, "CatalogSource", l.name + "-catalog"}, {olmV1, "OperatorGroup", groupName},
		{olmV1alpha1, "ClusterServiceVersion", l.csv("0.0.2")}, {"apps/v1", "Deployment", "shop-manager"}, {"v1", "ConfigMap", l.name + "-catalog-0"},
	} {
		if l.read(gone[0], gone[1], gone[2]) != nil {
			t.Errorf("%s %s is there", gone[1], gone[2])
		}
	}
	if l.cart() == nil {
		t.Error("the user's object is gone")
	}
	if _, err := Cleanup(t.Context(), l.client, l.name, o); err == nil || !strings.Contains(err.Error(), "is not installed") {
		t.Errorf("a second time: %v", err)
	}
}
