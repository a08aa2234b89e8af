package cmd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// elsewhere is a kubeconfig for the embedded cluster under another name. With
// it commands run without the state of clusters, so that they take the cluster
// for one that runs containers. Its pods are simulated.
const elsewhere = "elsewhere.yaml"

// olmRun is a project and an embedded cluster of the test's own.
type olmRun struct {
	t      testing.TB
	h      host.Host
	out    *output // stdout of all commands
	err    *output // stderr of the last command
	client *kube.Client
}

// newOLMRun starts the cluster. There is no project yet, and no OLM.
func newOLMRun(t testing.TB) *olmRun {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane and compiles an operator")
	}
	r := &olmRun{t: t, h: kubetest.World(t)}
	r.h.Now = time.Now
	r.h.Dir = filepath.Join(r.h.Dir, "shop-operator")
	if err := os.Mkdir(r.h.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := cluster.Start(t.Context(), r.h, cluster.Options{DieWithParent: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's context has ended when cleanups run.
		if _, err := cluster.Stop(context.WithoutCancel(t.Context()), r.h, state.DefaultName); err != nil {
			t.Error(err)
		}
	})
	if r.client, err = kube.Connect(t.Context(), kube.Options{Kubeconfig: info.Kubeconfig, Host: r.h}); err != nil {
		t.Fatal(err)
	}
	return r
}

// writeElsewhere writes the kubeconfig elsewhere.
func (r *olmRun) writeElsewhere() {
	r.t.Helper()
	_, config, err := cluster.Kubeconfig(r.h, state.DefaultName)
	if err != nil {
		r.t.Fatal(err)
	}
	config = []byte(strings.ReplaceAll(string(config), "mysdk-default", "kind-elsewhere"))
	if err := os.WriteFile(filepath.Join(r.h.Dir, elsewhere), config, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// try runs a command and returns its exit code.
func (r *olmRun) try(args string) int {
	r.t.Helper()
	r.out, r.err = &output{}, &output{}
	r.h.IO = host.Streams{In: strings.NewReader(""), Out: r.out, Err: r.err}
	h := r.h
	if strings.Contains(args, elsewhere) {
		h.Getenv = func(name string) string {
			if name == "MYSDK_STATE_DIR" {
				return filepath.Join(r.h.Dir, "..", "elsewhere")
			}
			return r.h.Getenv(name)
		}
	}
	return root.Main(r.t.Context(), h, strings.Fields(args))
}

// mysdk runs commands that must succeed.
func (r *olmRun) mysdk(lines ...string) {
	r.t.Helper()
	for _, args := range lines {
		if code := r.try(args); code != 0 {
			r.t.Fatalf("mysdk %s: exit code %d\n%s%s", args, code, r.out, r.err)
		}
	}
}

// fails runs a command that must end with the code and say all of the texts.
func (r *olmRun) fails(code int, args string, texts ...string) {
	r.t.Helper()
	if got := r.try(args); got != code {
		r.t.Errorf("mysdk %s: exit code %d, want %d\n%s", args, got, code, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(r.err.String(), text) {
			r.t.Errorf("mysdk %s: %q is missing in\n%s", args, text, r.err)
		}
	}
}

// scaffold makes the project, its sample's kind being Memcached.
func (r *olmRun) scaffold() {
	r.t.Helper()
	r.mysdk("init --domain example.com --repo example.com/shop", "create api --group cache --kind Memcached")
}

// edit replaces a text in a file of the project, which must be there.
func (r *olmRun) edit(name, from, to string) {
	r.t.Helper()
	path := filepath.Join(r.h.Dir, filepath.FromSlash(name))
	data, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	if !strings.Contains(string(data), from) {
		r.t.Fatalf("%s has no %q", name, from)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), from, to)), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// apply brings manifests to the cluster.
func (r *olmRun) apply(manifests string) {
	r.t.Helper()
	objs, err := kube.ParseManifests([]byte(manifests), "manifests")
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.client.Apply(r.t.Context(), objs, kube.ApplyOptions{Force: true}); err != nil {
		r.t.Fatal(err)
	}
}

// remove deletes objects, each as "apiVersion Kind namespace/name".
func (r *olmRun) remove(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if _, err := r.client.Delete(r.t.Context(), []*unstructured.Unstructured{objectNamed(r.t, name)}, kube.DeleteOptions{}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// objectNamed takes "apiVersion Kind namespace/name" or "apiVersion Kind name".
func objectNamed(t testing.TB, s string) *unstructured.Unstructured {
	t.Helper()
	words := strings.Fields(s)
	if len(words) != 3 {
		t.Fatalf("%q is not apiVersion, kind and name", s)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": words[0], "kind": words[1]}}
	ns, name, ok := strings.Cut(words[2], "/")
	if !ok {
		ns, name = "", words[2]
	}
	u.SetNamespace(ns)
	u.SetName(name)
	return u
}

// read returns an object of the cluster, nil without one.
func (r *olmRun) read(name string) *unstructured.Unstructured {
	r.t.Helper()
	live, err := r.client.Read(r.t.Context(), objectNamed(r.t, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return live
}

// until waits for something to be so, and gives up after minutes: how fast it
// is, benchmarks measure.
func (r *olmRun) until(what string, ok func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			r.t.Fatalf("it did not come to this: %s\n%s", what, r.err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// at is the text at a path of an object, "" without either.
func at(u *unstructured.Unstructured, path ...string) string {
	if u == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// phase waits until a CSV has come to a phase, or is gone for "".
func (r *olmRun) phase(csv, want string) {
	r.t.Helper()
	r.until(csv+" in phase "+want, func() bool {
		return at(r.read("operators.coreos.com/v1alpha1 ClusterServiceVersion "+csv), "status", "phase") == want
	})
}

// csvs are the names of the CSVs in a namespace, copies left out.
func (r *olmRun) csvs(namespace string) []string {
	r.t.Helper()
	list, err := r.client.List(r.t.Context(), schema.FromAPIVersionAndKind("operators.coreos.com/v1alpha1", "ClusterServiceVersion"),
		kube.ListOptions{Namespace: namespace, Selector: "!olm.copiedFrom"})
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, u := range list {
		names = append(names, u.GetName())
	}
	return names
}

// inventory are the names of everything that OLM or an operator may leave
// behind.
func (r *olmRun) inventory() []string {
	r.t.Helper()
	var all []string
	for _, kind := range []string{
		"v1 Namespace", "v1 ConfigMap", "v1 Secret", "v1 Service", "v1 ServiceAccount", "v1 Pod", "apps/v1 Deployment", "apps/v1 ReplicaSet",
		"batch/v1 Job", "rbac.authorization.k8s.io/v1 Role", "rbac.authorization.k8s.io/v1 RoleBinding", "rbac.authorization.k8s.io/v1 ClusterRole",
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding", "apiextensions.k8s.io/v1 CustomResourceDefinition", "apiregistration.k8s.io/v1 APIService",
		"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration",
		"networking.k8s.io/v1 NetworkPolicy", "scheduling.k8s.io/v1 PriorityClass", "coordination.k8s.io/v1 Lease",
	} {
		apiVersion, name, _ := strings.Cut(kind, " ")
		list, err := r.client.List(r.t.Context(), schema.FromAPIVersionAndKind(apiVersion, name), kube.ListOptions{})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, u := range list {
			if name := u.GetName(); name == "kube-root-ca.crt" || name == "default" && u.GetKind() == "ServiceAccount" ||
				u.GetKind() == "Lease" && strings.HasPrefix(u.GetNamespace(), "kube-") {
				continue // the cluster's own, as soon as it comes to it
			}
			all = append(all, kube.RefOf(u).String())
		}
	}
	slices.Sort(all)
	return all
}

// message is that of the CR's condition Available, which tells the versions of
// the operator apart.
func (r *olmRun) message() string {
	r.t.Helper()
	list, _, _ := unstructured.NestedSlice(r.read(sample).Object, "status", "conditions")
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == "Available" {
			return fmt.Sprint(m["message"])
		}
	}
	return ""
}

// sample is the object of the project's kind.
const sample = "cache.example.com/v1alpha1 Memcached shop/memcached-sample"

const sampleYAML = `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: memcached-sample, namespace: shop}
spec: {size: 3}
`

// TestFromSourceToUpgrade is the life of an operator with OLM: from an empty
// directory to a bundle, installed, upgraded and removed again, without a
// container.
func TestFromSourceToUpgrade(t *testing.T) {
	t.Parallel()
	r := newOLMRun(t)
	r.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
	r.until("the namespace's own objects", func() bool {
		return r.read("v1 ServiceAccount shop/default") != nil && r.read("v1 ConfigMap shop/kube-root-ca.crt") != nil
	})
	before := r.inventory()
	r.scaffold()
	r.mysdk("bundle generate --version 0.0.1", "bundle validate ./bundle")
	r.fails(1, "run bundle ./bundle -n shop", "OLM is not installed", "mysdk olm install")
	r.mysdk("olm install --timeout 10m", "run bundle ./bundle -n shop")
	r.apply(sampleYAML)
	r.until("the operator that OLM deployed reconciles", func() bool { return r.message() == "3 of 3 pods are available" })
	uid := r.read(sample).GetUID()

	r.mysdk("run bundle ./bundle -n shop")
	if !strings.Contains(r.err.String(), "nothing has changed") || strings.Contains(r.err.String(), "configured") {
		t.Errorf("the second run changed something:\n%s", r.err)
	}

	r.edit("internal/controller/memcached_controller.go", "pods are available", "pods are up")
	r.mysdk("bundle generate --version 0.0.2", "run bundle-upgrade ./bundle -n shop")
	if diff := cmp.Diff([]string{"shop-operator.v0.0.2"}, r.csvs("shop")); diff != "" {
		t.Errorf("CSVs (-want +got):\n%s", diff)
	}
	r.until("the new operator reconciles", func() bool { return r.message() == "3 of 3 pods are up" })
	if cr := r.read(sample); cr.GetUID() != uid || cr.GetGeneration() != 1 {
		t.Errorf("the object is another one, or was changed: %v", cr.Object["metadata"])
	}
	r.fails(1, "run bundle-upgrade ./bundle -n default", "package shop-operator is not installed in namespace default")

	r.fails(1, "olm uninstall", "shop-operator")
	r.fails(1, "cleanup shop-operatr -n shop", "package shop-operatr is not installed", "did you mean shop-operator?")
	r.fails(1, "cleanup shop-operator", "add -n shop")
	r.mysdk("cleanup shop-operator -n shop")
	if r.read(sample).GetUID() != uid {
		t.Error("the object went with the operator")
	}
	r.mysdk("run bundle ./bundle -n shop", "cleanup shop-operator -n shop --delete-crds", "olm uninstall")
	diff := ""
	defer func() {
		if t.Failed() {
			t.Logf("left behind (-before +after):\n%s", diff)
		}
	}()
	r.until("nothing is left behind", func() bool { diff = cmp.Diff(before, r.inventory()); return diff == "" })
}
