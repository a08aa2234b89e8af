package olm

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// patience bounds each wait of these tests. It is long for machines that are
// busy: no test is about time.
const patience = 5 * time.Minute

// lab is an embedded cluster of the test's own.
type lab struct {
	*kube.Client
	t    testing.TB
	host host.Host
}

func newLab(t testing.TB) *lab {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	l := &lab{t: t, host: kubetest.World(t)}
	l.start()
	t.Cleanup(func() {
		if _, err := cluster.Stop(context.WithoutCancel(t.Context()), l.host, state.DefaultName); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			l.dumpLog()
		}
	})
	return l
}

// start starts the cluster, or starts it again.
func (l *lab) start() {
	l.t.Helper()
	info, err := cluster.Start(l.t.Context(), l.host, cluster.Options{DieWithParent: true})
	if err != nil {
		l.t.Fatal(err)
	}
	if l.Client, err = kube.Connect(l.t.Context(), kube.Options{Kubeconfig: info.Kubeconfig, Host: l.host}); err != nil {
		l.t.Fatal(err)
	}
}

// dumpLog shows the end of the server's log.
func (l *lab) dumpLog() {
	var log strings.Builder
	if err := cluster.Logs(context.WithoutCancel(l.t.Context()), l.host, state.DefaultName, false, &log); err != nil {
		l.t.Log(err)
		return
	}
	lines := strings.Split(log.String(), "\n")
	l.t.Log(strings.Join(lines[max(0, len(lines)-60):], "\n"))
}

func (l *lab) install() Installed {
	l.t.Helper()
	m, err := Source{Host: l.host}.Load(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	done, err := Install(l.t.Context(), l.Client, m, InstallOptions{Now: time.Now, Timeout: patience, Step: func(s string, d time.Duration) { l.t.Log(s, d) }})
	if err != nil {
		l.t.Fatal(err)
	}
	return done
}

func (l *lab) uninstall(force bool) (Uninstalled, error) {
	l.t.Helper()
	m, err := Source{Host: l.host, Catalog: true}.Load(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return Uninstall(l.t.Context(), l.Client, m, UninstallOptions{Force: force, Timeout: patience})
}

func (l *lab) status() Status {
	l.t.Helper()
	s, err := Check(l.t.Context(), l.Client)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

func (l *lab) apply(objects []*unstructured.Unstructured) {
	l.t.Helper()
	if _, err := l.Apply(l.t.Context(), objects, kube.ApplyOptions{Force: true}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) read(u *unstructured.Unstructured) *unstructured.Unstructured {
	l.t.Helper()
	live, err := l.Read(l.t.Context(), u)
	if err != nil {
		l.t.Fatal(err)
	}
	return live
}

// await waits until done returns "", and fails with what it returned last.
func (l *lab) await(what string, done func() string) {
	l.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		why := done()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%s: %s", what, why)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func csvRef(version string) *unstructured.Unstructured {
	return named(kind("ClusterServiceVersion"), memcachedNamespace, memcachedPackage+".v"+version)
}

// awaitCSV waits until a version is the one that is installed, and no other is.
func (l *lab) awaitCSV(version string) {
	l.t.Helper()
	l.await("version "+version, func() string {
		list, err := l.List(l.t.Context(), kind("ClusterServiceVersion"), kube.ListOptions{Namespace: memcachedNamespace})
		if err != nil {
			l.t.Fatal(err)
		}
		var states []string
		for _, csv := range list {
			if len(list) == 1 && csv.GetName() == csvRef(version).GetName() && csvTrouble(csv) == "" {
				return ""
			}
			states = append(states, csv.GetName()+": "+csvTrouble(csv))
		}
		return fmt.Sprintf("there are %q", states)
	})
}

func (l *lab) awaitImage(version string) {
	l.t.Helper()
	deployment := named(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, memcachedNamespace, memcachedPackage)
	l.await("the operator's Deployment", func() string {
		live := l.read(deployment)
		if live == nil {
			return "there is none"
		}
		containers, _, _ := unstructured.NestedSlice(live.Object, "spec", "template", "spec", "containers")
		if got := fmt.Sprint(containers[0].(map[string]any)["image"]); got != "example.com/memcached-operator:v"+version {
			return got
		}
		return ""
	})
}

const shop = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"

// TestLifeOfOLM is the whole story on one cluster: what is refused before there
// is an OLM that works; install, operators by hand and by subscription, upgrades,
// and everything away again; and a second life from what was left half-way.
func TestLifeOfOLM(t *testing.T) {
	l := newLab(t)
	before := l.inventory()
	t.Run("refused", func(t *testing.T) { testRefused(t, l) })
	if s := l.status(); s.Installed || s.Healthy {
		t.Fatalf("status of an empty cluster = %+v", s)
	}
	if done := l.install(); done.Before != "" || done.Changed == 0 {
		t.Errorf("Install() = %+v", done)
	}
	if s := l.status(); !s.Healthy || s.Version != Version || s.Namespace != DefaultNamespace {
		t.Errorf("status after the installation = %+v", s.Unhealthy())
	}
	if done := l.install(); done.Before != Version || done.Changed != 0 {
		t.Errorf("a second Install() = %+v", done)
	}
	l.apply(manifests(t, shop, memcachedCRD, memcachedAccess, memcachedGroup))
	t.Run("by hand", func(t *testing.T) { testByHand(t, l) })
	t.Run("by subscription", func(t *testing.T) { testBySubscription(t, l) })
	t.Run("restart", func(t *testing.T) { testRestart(t, l) })
	t.Run("uninstall", func(t *testing.T) { testUninstall(t, l, before) })
	t.Run("interrupted", func(t *testing.T) { testInstallGoesOn(t, l) })
	t.Run("images", func(t *testing.T) { testCatalogAndBundleImages(t, l) })
	if done, err := l.uninstall(false); err != nil || done.Version != Version {
		t.Errorf("Uninstall() = %+v, %v", done, err)
	}
}

// testByHand follows the old guides: a ClusterServiceVersion is applied, and
// another that replaces it.
func testByHand(t *testing.T, l *lab) {
	l.apply(manifests(t, memcachedCSV("0.0.1", "")))
	l.awaitCSV("0.0.1")
	l.awaitImage("0.0.1")
	l.apply(manifests(t, memcachedCSV("0.0.2", "0.0.1")))
	l.awaitCSV("0.0.2")
	l.awaitImage("0.0.2")
	if _, err := l.Delete(t.Context(), []*unstructured.Unstructured{csvRef("0.0.2")}, kube.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func testBySubscription(t *testing.T, l *lab) {
	l.apply(memcachedSource(t, memcachedCatalog(t, "0.1.0")))
	l.apply(manifests(t, memcachedSubscription))
	l.awaitCSV("0.1.0")
	began := time.Now()
	l.apply(memcachedSource(t, memcachedCatalog(t, "0.1.0", "0.2.0")))
	l.awaitCSV("0.2.0")
	t.Log("upgraded after", time.Since(began))
	l.awaitImage("0.2.0")
	l.await("the subscription's state", func() string {
		subscription := l.read(manifests(t, memcachedSubscription)[0])
		if state, _, _ := unstructured.NestedString(subscription.Object, "status", "state"); state != "AtLatestKnown" {
			return state
		}
		return ""
	})
	packages, err := l.List(t.Context(), schema.GroupVersionKind{Group: "packages." + group, Version: "v1", Kind: "PackageManifest"}, kube.ListOptions{Namespace: memcachedNamespace})
	if err != nil || len(packages) != 1 || packages[0].GetName() != memcachedPackage {
		t.Errorf("the packageserver lists %v, %v", packages, err)
	}
}

// testRestart kills the cluster and looks whether OLM goes on.
func testRestart(t *testing.T, l *lab) {
	info, err := cluster.Status(t.Context(), l.host, state.DefaultName)
	if err != nil {
		t.Fatal(err)
	}
	hosttest.KillProcess(t, info.PID)
	l.await("the end of the cluster", func() string {
		if info, err = cluster.Status(t.Context(), l.host, state.DefaultName); err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(info.State, cluster.Stale)
	})
	l.start()
	l.await("OLM after the restart", func() string {
		if s := l.status(); !s.Healthy {
			return fmt.Sprint(s.Unhealthy())
		}
		return ""
	})
	l.apply(memcachedSource(t, memcachedCatalog(t, "0.1.0", "0.2.0", "0.3.0")))
	l.awaitCSV("0.3.0")
}

func testUninstall(t *testing.T, l *lab, before map[string]bool) {
	if _, err := l.uninstall(false); err == nil || !strings.Contains(err.Error(), "shop/memcached-operator.v0.3.0") {
		t.Errorf("Uninstall() with an operator = %v", err)
	}
	if s := l.status(); !s.Healthy {
		t.Errorf("a refused Uninstall() has changed %+v", s.Unhealthy())
	}
	l.apply(manifests(t, "{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: mine, namespace: operators}}"))
	served := manifests(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: shop-catalog-0, namespace: operators, labels: {mysdk.dev/run: shop}}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: pull, namespace: shop, labels: {mysdk.dev/run: shop}}}")
	l.apply(served)
	done, err := l.uninstall(true)
	for _, u := range served {
		if l.read(u) != nil {
			t.Errorf("%s of a catalog is there", kube.RefOf(u))
		}
	}
	catalog := kube.RefOf(manifests(t, "{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: memcached, namespace: shop}}")[0])
	want := Uninstalled{
		Version: Version, Kept: []string{"memcacheds.cache.example.com"},
		Catalogs: []kube.Ref{catalog}, Namespaces: []string{"operators: it also contains Memcached operators/mine"},
	}
	if d := cmp.Diff(want, done); err != nil || d != "" {
		t.Fatalf("Uninstall() (-want +got), %v:\n%s", err, d)
	}
	if s := l.status(); s.Installed {
		t.Errorf("OLM is still there: %+v", s)
	}
	if _, err := l.Delete(t.Context(), manifests(t, shop, memcachedCRD, "{apiVersion: v1, kind: Namespace, metadata: {name: operators}}"), kube.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.await("nothing is left behind", func() string {
		for ref := range l.inventory() {
			if !before[ref] {
				return ref + " is there"
			}
		}
		return ""
	})
}

// inventory are the names of all objects of the kinds that OLM makes.
func (l *lab) inventory() map[string]bool {
	l.t.Helper()
	all := map[string]bool{}
	for _, gvk := range []schema.GroupVersionKind{
		kube.CRD(), {Version: "v1", Kind: "Namespace"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "Pod"},
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "batch", Version: "v1", Kind: "Job"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	} {
		list, err := l.List(l.t.Context(), gvk, kube.ListOptions{})
		if err != nil {
			l.t.Fatal(err)
		}
		for _, u := range list {
			if name := u.GetName(); name == "kube-root-ca.crt" || name == "default" && u.GetKind() == "ServiceAccount" {
				continue // in each namespace, as soon as the cluster comes to it
			}
			all[kube.RefOf(u).String()] = true
		}
	}
	return all
}

// testInstallGoesOn begins with what an interrupted installation leaves.
func testInstallGoesOn(t *testing.T, l *lab) {
	m, err := BuiltIn(DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	l.apply(m.CRDs[:5])
	l.apply(m.Objects[:3])
	done := l.install()
	if s := l.status(); !s.Healthy || done.Changed == 0 {
		t.Errorf("Install() = %+v, then %+v", done, s.Unhealthy())
	}
	damaged := named(schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, DefaultNamespace, "olm-operator-serviceaccount")
	if _, err := l.Delete(t.Context(), []*unstructured.Unstructured{damaged}, kube.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := l.status(); s.Healthy || s.Unhealthy()[0].Name != damaged.GetName() {
		t.Errorf("status of a damaged OLM = %+v", s.Unhealthy())
	}
	other := m
	other.Namespace = "elsewhere"
	if _, err := Install(t.Context(), l.Client, other, InstallOptions{Now: time.Now}); clierr.CodeOf(err) != clierr.CodeFailed {
		t.Errorf("Install() into another namespace = %v", err)
	}
	older := m
	older.Version = "0.40.0"
	if _, err := Install(t.Context(), l.Client, older, InstallOptions{Now: time.Now}); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("Install() of an older version = %v", err)
	}
	if done := l.install(); done.Changed == 0 || !l.status().Healthy {
		t.Errorf("Install() of what was damaged = %+v, then %+v", done, l.status().Unhealthy())
	}
}

// named is an object with nothing but its name.
func named(gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	return kube.Named(gvk.GroupVersion().String(), gvk.Kind, namespace, name)
}
