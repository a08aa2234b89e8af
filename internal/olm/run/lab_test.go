package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
	"github.com/example/mysdk/internal/olm"
)

// lab is an embedded cluster of the test's own.
type lab struct {
	t      testing.TB
	host   host.Host
	client *kube.Client
	said   []string
}

func newLab(t testing.TB) *lab {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	if test, ok := t.(*testing.T); ok {
		test.Parallel() // most of the time they wait for OLM
	}
	l := &lab{t: t, host: kubetest.World(t)}
	l.host.Now = time.Now
	info, err := cluster.Start(t.Context(), l.host, cluster.Options{DieWithParent: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's context has ended when cleanups run.
		if _, err := cluster.Stop(context.WithoutCancel(t.Context()), l.host, cluster.DefaultName); err != nil {
			t.Error(err)
		}
	})
	if l.client, err = kube.Connect(t.Context(), kube.Options{Kubeconfig: info.Kubeconfig, Host: l.host}); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) installOLM() {
	l.t.Helper()
	m, err := olm.Source{Host: l.host}.Load(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := olm.Install(l.t.Context(), l.client, m, olm.InstallOptions{Now: time.Now, Timeout: 10 * time.Minute}); err != nil {
		l.t.Fatal(err)
	}
}

// options are those of a run in namespace shop. No test is about time.
func (l *lab) options(change func(*Options)) Options {
	l.said = nil
	o := Options{
		Namespace: "shop", Timeout: 3 * time.Minute, Embedded: true, Now: time.Now, Progress: func(kube.Result) {},
		Say: func(format string, args ...any) { l.said = append(l.said, fmt.Sprintf(format, args...)) },
	}
	if change != nil {
		change(&o)
	}
	return o
}

// read returns an object of namespace shop, nil without one.
func (l *lab) read(apiVersion, kind, name string) *unstructured.Unstructured {
	l.t.Helper()
	u, err := l.client.Read(l.t.Context(), named(apiVersion, kind, "shop", name))
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

// labBundle is a version of an operator whose pods the cluster simulates. spec
// is more of the CSV's spec, as lines of YAML.
func labBundle(t testing.TB, version, spec string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Load(fstest.MapFS{
		"metadata/annotations.yaml": {Data: []byte(`annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: shop
  operators.operatorframework.io.bundle.channels.v1: stable
`)},
		"manifests/crd.yaml": {Data: []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Cart, plural: carts, singular: cart, listKind: CartList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)},
		"manifests/csv.yaml": {Data: fmt.Appendf(nil, `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v%[1]s}
spec:
  displayName: Shop
  version: %[1]s
  installModes: [{type: OwnNamespace, supported: true}, {type: AllNamespaces, supported: true}]
  customresourcedefinitions:
    owned: [{name: carts.shop.example.com, kind: Cart, version: v1}]
  install:
    strategy: deployment
    spec:
      clusterPermissions: [{serviceAccountName: shop, rules: [{apiGroups: [shop.example.com], resources: [carts], verbs: [get]}]}]
      deployments:
      - name: shop-manager
        spec:
          replicas: 1
          selector: {matchLabels: {app: shop}}
          template:
            metadata: {labels: {app: shop}}
            spec: {serviceAccountName: shop, containers: [{name: manager, image: "r.example.com/shop:v%[1]s"}]}
%[2]s`, version, spec)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLifeOfAnOperator installs, upgrades, rolls back and removes an operator
// with OLM.
func TestLifeOfAnOperator(t *testing.T) {
	l := newLab(t)
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
		want := Result{Package: "shop", CSV: b.Name(), Replaced: replaced, Namespace: "shop", Mode: "AllNamespaces", Action: action}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("result (-want +got):\n%s", d)
		}
		csv := l.read(olmV1alpha1, "ClusterServiceVersion", b.Name())
		if text(csv, "status", "phase") != "Succeeded" {
			t.Errorf("%s is %s", b.Name(), text(csv, "status", "phase"))
		}
	}
	one, two := labBundle(t, "0.0.1", ""), labBundle(t, "0.0.2", "")
	if _, err := install(one, nil); err == nil || !strings.Contains(clierr.HintOf(err), "mysdk olm install") {
		t.Fatalf("without OLM: %v", err)
	}
	l.installOLM()

	credentials := func(o *Options) {
		o.PullSecrets, o.Credentials = []string{"pull"}, func([]string) ([]byte, error) { return []byte(`{"auths":{}}`), nil }
	}
	installed(one, credentials, Installed, "")
	if data, err := PullSecret(t.Context(), l.client, "shop", "pull"); err != nil || string(data) != `{"auths":{}}` {
		t.Errorf("the pull secret holds %s, %v", data, err)
	}
	if accounts := entries(l.read("v1", "ServiceAccount", "shop"), "imagePullSecrets"); len(accounts) != 1 || field(accounts[0], "name") != "pull" {
		t.Errorf("the operator's account has the pull secrets %v", accounts)
	}
	before := l.read(olmV1alpha1, "Subscription", "shop").GetGeneration() // the status is OLM's
	installed(one, credentials, Unchanged, "")
	if now := l.read(olmV1alpha1, "Subscription", "shop").GetGeneration(); now != before {
		t.Errorf("the Subscription was written: %d, then %d", before, now)
	}
	installed(labBundle(t, "0.0.1", "  description: changed under the same version\n"), nil, Reinstalled, "")
	installed(two, nil, Upgraded, "shop.v0.0.1")
	if l.read(olmV1alpha1, "ClusterServiceVersion", "shop.v0.0.1") != nil {
		t.Error("the old CSV is there")
	}
	if _, err := install(one, nil); err == nil || !strings.Contains(err.Error(), "shop.v0.0.1 is older than shop.v0.0.2") {
		t.Errorf("a step back: %v", err)
	}

	// A version that OLM refuses: named, and what was before is back.
	undone := false
	_, err := install(labBundle(t, "0.0.3", "  minKubeVersion: 99.0.0\n"), func(o *Options) {
		o.Rollback = true
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
	if phase := text(l.read(olmV1alpha1, "ClusterServiceVersion", "shop.v0.0.2"), "status", "phase"); phase != "Succeeded" || l.read(olmV1alpha1, "ClusterServiceVersion", "shop.v0.0.3") != nil {
		t.Errorf("after the rollback shop.v0.0.2 is %q", phase)
	}
	l.cleansUp(t)
}

// cleansUp removes the operator, and what a run had made for it.
func (l *lab) cleansUp(t *testing.T) {
	t.Helper()
	l.apply("apiVersion: shop.example.com/v1\nkind: Cart\nmetadata: {name: mine, namespace: shop}\n")
	o := CleanupOptions{Namespace: "shop", Timeout: 3 * time.Minute, Say: func(string, ...any) {}, Progress: func(kube.Result) {}}
	got, err := Cleanup(t.Context(), l.client, "shop", o)
	if err != nil {
		t.Fatal(err)
	}
	want := Cleaned{CSVs: []string{"shop.v0.0.2"}, Images: []ServedImage{{"r.example.com/shop:v0.0.2", "shop/Deployment/shop-manager"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("cleaned (-want +got):\n%s", d)
	}
	for _, gone := range [][3]string{
		{olmV1alpha1, "Subscription", "shop"}, {olmV1alpha1, "CatalogSource", "shop-catalog"}, {olmV1, "OperatorGroup", groupName},
		{olmV1alpha1, "ClusterServiceVersion", "shop.v0.0.2"}, {"apps/v1", "Deployment", "shop-manager"}, {"v1", "ConfigMap", "shop-catalog-0"},
	} {
		if l.read(gone[0], gone[1], gone[2]) != nil {
			t.Errorf("%s %s is there", gone[1], gone[2])
		}
	}
	if l.read("shop.example.com/v1", "Cart", "mine") == nil {
		t.Error("the user's object is gone")
	}
	if _, err := Cleanup(t.Context(), l.client, "shop", o); err == nil || !strings.Contains(err.Error(), "is not installed") {
		t.Errorf("a second time: %v", err)
	}
}

// TestProgramsOfTwoProjects tells a cluster of programs whose images have the
// same name, and takes them back again.
func TestProgramsOfTwoProjects(t *testing.T) {
	l := newLab(t)
	p := Programs{Host: l.host, Cluster: cluster.DefaultName, Say: func(string, ...any) {}}
	// A build puts the project that it was built from beside the image.
	build := func(dir, content string) {
		t.Helper()
		p.Host.Dir = dir
		if _, err := image.BuildFiles(t.Context(), p.Host, image.FilesOptions{Image: "controller:latest", Files: image.Files{"manager": []byte(content)}}); err != nil {
			t.Fatal(err)
		}
	}
	deployments := func(names ...string) *bundle.Bundle {
		t.Helper()
		b := labBundle(t, "0.0.1", "")
		var list []any
		for _, n := range names {
			list = append(list, map[string]any{"name": n, "spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "manager", "image": "controller:latest"}, map[string]any{"name": "proxy", "image": "proxy:1"},
			}}}}})
		}
		if err := unstructured.SetNestedSlice(b.CSVObject().Object, list, "spec", "install", "spec", "deployments"); err != nil {
			t.Fatal(err)
		}
		return b
	}
	knows := func(want ...string) {
		t.Helper()
		list, err := cluster.Programs(t.Context(), l.host, cluster.DefaultName)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range list {
			what := k.Problem
			if k.Path != "" {
				data, err := os.ReadFile(k.Path)
				if err != nil {
					t.Fatal(err)
				}
				what = string(data)
			}
			got = append(got, k.Image+" "+k.Workload+": "+what)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the cluster knows (-want +got):\n%s", d)
		}
	}
	register := func(namespace string, names ...string) func(context.Context) error {
		t.Helper()
		undo, err := p.Register(t.Context(), deployments(names...), namespace)
		if err != nil {
			t.Fatal(err)
		}
		return undo
	}
	one, two := t.TempDir(), t.TempDir()
	build(one, "one")
	register("one", "op")
	build(two, "two")
	undo := register("two", "op", "helper")
	knows("controller:latest : two", "controller:latest one/Deployment/op: one", "controller:latest two/Deployment/helper: two", "controller:latest two/Deployment/op: two")
	if err := undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	knows("controller:latest : one", "controller:latest one/Deployment/op: one")

	// What was told before an error is taken back.
	broken := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(broken, "cmd"), 0o755), os.WriteFile(filepath.Join(broken, "go.mod"), []byte("module x\n"), 0o644),
		os.WriteFile(filepath.Join(broken, "cmd", "main.go"), []byte("package main\n\nfunc main() { oops }\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	failing := p
	failing.Project = &Project{Dir: broken, Image: "proxy:1"}
	if _, err := failing.Register(t.Context(), deployments("op"), "three"); err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("with a project that does not compile: %v", err)
	}
	knows("controller:latest : one", "controller:latest one/Deployment/op: one")

	// A new build of a project goes to its own pods, and to those of nobody.
	register("two", "op")
	build(one, "one again")
	if err := p.RegisterImage(t.Context(), "controller:latest"); err != nil {
		t.Fatal(err)
	}
	knows("controller:latest : one again", "controller:latest one/Deployment/op: one again", "controller:latest two/Deployment/op: two")

	if err := p.Forget(t.Context(), []ServedImage{{"controller:latest", "two/Deployment/op"}, {"proxy:1", "two/Deployment/op"}}); err != nil {
		t.Fatal(err)
	}
	knows("controller:latest : one again", "controller:latest one/Deployment/op: one again")
	if err := p.Forget(t.Context(), []ServedImage{{"controller:latest", "one/Deployment/op"}}); err != nil {
		t.Fatal(err)
	}
	knows()
	// What is new stays: another process may be about to tell the cluster of it.
	kept, _, err := p.keep([]byte("one again"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a program that has just been kept: %v", err)
	}
	p.Host.Now = func() time.Time { return time.Now().Add(2 * collecting) }
	if err := p.collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir, err := p.dir()
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("programs of nobody are kept: %v, %v", left, err)
	}
}

// TestProgramThatIsMissing is told of the pods that lack it, until it is built.
func TestProgramThatIsMissing(t *testing.T) {
	l := newLab(t)
	p := Programs{Host: l.host, Cluster: cluster.DefaultName, Say: func(string, ...any) {}}
	if _, err := p.Register(t.Context(), labBundle(t, "0.0.1", ""), "shop"); err != nil {
		t.Fatal(err)
	}
	problems := func() []string {
		t.Helper()
		list, err := cluster.Programs(t.Context(), l.host, cluster.DefaultName)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, k := range list {
			if k.Problem != "" {
				all = append(all, k.Workload+": "+k.Problem)
			}
		}
		return all
	}
	if got := problems(); len(got) != 1 || !strings.HasPrefix(got[0], "shop/Deployment/shop-manager: ") || !strings.Contains(got[0], "mysdk image build --image r.example.com/shop:v0.0.1") {
		t.Errorf("problems %q", got)
	}
	if err := p.RegisterImage(t.Context(), "r.example.com/shop:v0.0.1"); err != nil {
		t.Errorf("an image that is nowhere: %v", err)
	}
	if _, err := image.BuildFiles(t.Context(), l.host, image.FilesOptions{Image: "r.example.com/shop:v0.0.1", Files: image.Files{"manager": []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	if err := p.RegisterImage(t.Context(), "r.example.com/shop:v0.0.1"); err != nil {
		t.Fatal(err)
	}
	if got := problems(); len(got) > 0 {
		t.Errorf("problems after the build %q", got)
	}
}
