package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// relay forwards connections to an API server until it is cut.
type relay struct {
	listener net.Listener
	mu       sync.Mutex
	open     []net.Conn
}

func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l}
	t.Cleanup(r.cut)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", u.Host)
			if err != nil {
				_ = in.Close() // the client's error is what the test looks at
				return
			}
			r.mu.Lock()
			r.open = append(r.open, in, out)
			r.mu.Unlock()
			for a, b := range map[net.Conn]net.Conn{in: out, out: in} {
				go func() { _, _ = io.Copy(a, b) }() // ends with the connection
			}
		}
	}()
	return r
}

// cut ends all connections, as a server that dies does.
func (r *relay) cut() {
	_ = r.listener.Close() // may be closed already
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.open {
		_ = c.Close() // may be closed already
	}
}

// through returns a client that reaches c's server by way of r.
func (r *relay) through(t *testing.T, c *Client) *Client {
	t.Helper()
	data, err := c.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range cfg.Clusters {
		cluster.Server = "https://" + r.listener.Addr().String()
	}
	if data, err = clientcmd.Write(*cfg); err != nil {
		t.Fatal(err)
	}
	w := hosttest.New(t)
	client, err := Connect(t.Context(), Options{Host: w.Host, Kubeconfig: write(t, w.Path("config"), string(data)), Context: c.Context})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// testServerDies: one error, not one for each of the objects that follow.
func testServerDies(t *testing.T, c *Client) {
	r := newRelay(t, c.Server)
	c = r.through(t, c)
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cut-%d}\n", i)
	}
	objs := parse(t, "%s", text.String())
	results, err := c.Apply(t.Context(), objs, ApplyOptions{Progress: func(Result) { r.cut() }})
	checkError(t, err, []string{"ConfigMap default/cut-1: https://127.0.0.1:", "does not answer"})
	if len(results) != 1 || clierr.CodeOf(err) != clierr.CodeUnavailable || strings.Contains(err.Error(), "cut-2") {
		t.Errorf("%d results, code %d: %v", len(results), clierr.CodeOf(err), err)
	}
	_, deleteErr := c.Delete(t.Context(), objs[:1], DeleteOptions{})
	_, countErr := c.Count(t.Context(), []*unstructured.Unstructured{crd(t, "x.example.com", "X")})
	_, createErr := c.EnsureNamespace(t.Context(), "cut")
	_, uninstallErr := Uninstall(t.Context(), c, []*unstructured.Unstructured{crd(t, "x.example.com", "X")}, nil, DeleteOptions{})
	for what, err := range map[string]error{
		"delete": deleteErr, "count": countErr, "create": createErr, "uninstall": uninstallErr,
		"wait": c.WaitReady(t.Context(), objs, time.Minute),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// testPartly: the objects that can be applied are, and the others are named.
func testPartly(t *testing.T, c *Client) {
	objs := parse(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: Not_Good}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: partly-good}
`)
	results, err := c.Apply(t.Context(), objs, ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), "Not_Good") || strings.Contains(err.Error(), "partly-good") {
		t.Errorf("error: %v", err)
	}
	if diff := cmp.Diff([]string{"ConfigMap default/partly-good created"}, actions(results)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// testScopes: a namespace in a manifest of a cluster-wide kind is ignored, as
// kubectl does, and the fallback never applies to one.
func testScopes(t *testing.T, c *Client) {
	objs := parse(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: scoped, namespace: shop}\nrules: []\n")
	mustApply(t, c, ApplyOptions{Namespace: "other"}, []string{"ClusterRole scoped created"}, objs...)
	results, err := c.Delete(t.Context(), objs, DeleteOptions{Namespace: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ClusterRole scoped deleted"}, actions(results)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// testOnCreate: only what an apply creates gets the annotations, and has them
// until an apply without.
func testOnCreate(t *testing.T, c *Client) {
	objs := parse(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: there-before}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: new-one, annotations: {a: b}}
`)
	mustApply(t, c, ApplyOptions{}, []string{"ConfigMap default/there-before created"}, objs[0])
	has := func(u *unstructured.Unstructured) bool {
		t.Helper()
		live, err := c.Read(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		return live.GetAnnotations()["made-by"] == "test"
	}
	o := ApplyOptions{OnCreate: map[string]string{"made-by": "test"}}
	mustApply(t, c, o, []string{"ConfigMap default/there-before unchanged", "ConfigMap default/new-one created"}, objs...)
	mustApply(t, c, o, []string{"ConfigMap default/there-before unchanged", "ConfigMap default/new-one unchanged"}, objs...)
	if has(objs[0]) || !has(objs[1]) {
		t.Errorf("annotated: %t, %t", has(objs[0]), has(objs[1]))
	}
	mustApply(t, c, ApplyOptions{}, []string{"ConfigMap default/new-one configured"}, objs[1])
	if has(objs[1]) {
		t.Error("the annotation is still there")
	}
}

// testNewVersion: a version that an applied CRD adds is known and answers at
// once, though the group's other version was asked for before. With many CRDs
// at a time the API server is late with some.
func testNewVersion(t *testing.T, c *Client) {
	var wg sync.WaitGroup
	for i := range 30 {
		group := fmt.Sprintf("grows%d.example.com", i)
		wg.Go(func() { addVersion(t, c, group) })
	}
	wg.Wait()
}

func addVersion(t *testing.T, c *Client, group string) {
	def := crd(t, group, "Grow")
	second := def.DeepCopy()
	versions, _, _ := unstructured.NestedSlice(def.Object, "spec", "versions")
	added, _, _ := unstructured.NestedSlice(def.Object, "spec", "versions")
	added[0].(map[string]any)["name"], added[0].(map[string]any)["storage"] = "v2", false
	if err := unstructured.SetNestedSlice(second.Object, append(added, versions...), "spec", "versions"); err != nil {
		t.Error(err)
	}
	u := object(t, group, "Grow", "b", 1)
	u.SetAPIVersion(group + "/v2")
	for _, objs := range [][]*unstructured.Unstructured{{def, object(t, group, "Grow", "a", 1)}, {second, u}} {
		if _, err := c.Apply(t.Context(), objs, ApplyOptions{}); err != nil {
			t.Errorf("%s: %v", group, err)
		}
	}
	checkCount(t, c, def, 2)
}

// testManyBlockers: a timeout names some of many objects, and how many more.
func testManyBlockers(t *testing.T, c *Client) {
	objs := []*unstructured.Unstructured{crd(t, "many.example.com", "Many")}
	for i := range 7 {
		u := object(t, "many.example.com", "Many", fmt.Sprintf("m%d", i), 1)
		u.SetFinalizers([]string{"many.example.com/f"})
		objs = append(objs, u)
	}
	if _, err := c.Apply(t.Context(), objs, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Delete(t.Context(), objs[:1], DeleteOptions{Timeout: 10 * time.Second})
	checkError(t, err, []string{"Many default/m4 has finalizers", "and 2 more"})
}

// testTerminating: a namespace on its way out is no place to work in.
func testTerminating(t *testing.T, c *Client) {
	objs := parse(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: leaving}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: leaving, finalizers: [example.com/f]}\n")
	if _, err := c.Apply(t.Context(), objs, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Delete(t.Context(), objs[:1], DeleteOptions{Timeout: 10 * time.Second})
	checkError(t, err, []string{"Namespace leaving is not gone after 10s"})
	_, err = c.EnsureNamespace(t.Context(), "leaving")
	checkError(t, err, []string{"namespace leaving is being deleted"})
}

// testConfirmFails: an answer that cannot be had is not a yes.
func testConfirmFails(t *testing.T, c *Client) {
	def := crd(t, "asked.example.com", "Asked")
	if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{def, object(t, "asked.example.com", "Asked", "a", 1)}, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("no terminal")
	_, err := Uninstall(t.Context(), c, []*unstructured.Unstructured{def}, func([]InstanceCount) (bool, error) { return true, boom }, DeleteOptions{})
	if !errors.Is(err, boom) {
		t.Errorf("error: %v", err)
	}
	checkCount(t, c, def, 1)
}

// testConcurrent: one client serves several goroutines.
func testConcurrent(t *testing.T, c *Client) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			objs, err := ParseManifests(fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: at-once-%d}\n", i), "f.yaml")
			if err == nil {
				_, err = c.Apply(t.Context(), objs, ApplyOptions{})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// testDeadline: the caller's own deadline is the caller's, not a verdict on the
// object.
func testDeadline(t *testing.T, c *Client) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := c.WaitReady(ctx, parse(t, deployment, "never-made", ""), time.Hour)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error: %v", err)
	}
}

// testWorkloads: kinds whose readiness is a matter of their own.
func testWorkloads(t *testing.T, c *Client) {
	objs := parse(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: work}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: example.com/x}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: example.com/x}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
`)
	if _, err := c.Apply(t.Context(), objs, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(t.Context(), objs, time.Minute); err != nil {
		t.Error(err)
	}
}

// testFind: kinds of the core group, of others, and near misses.
func testFind(t *testing.T, c *Client) {
	tests := map[string]struct {
		gvk      schema.GroupVersionKind
		resource string
		err      string
	}{
		"core":                  {schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods", ""},
		"apps":                  {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments", ""},
		"irregular plural":      {schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, "networkpolicies", ""},
		"only a subresource's":  {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Scale"}, "", "no kind Scale in apps/v1"},
		"unknown version":       {schema.GroupVersionKind{Group: "apps", Version: "v9", Kind: "Deployment"}, "", "no kind Deployment in apps/v9"},
		"unknown core version":  {schema.GroupVersionKind{Version: "v9", Kind: "Pod"}, "", "no kind Pod in v9"},
		"case matters for them": {schema.GroupVersionKind{Version: "v1", Kind: "pod"}, "", "no kind pod in v1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := c.kinds.find(t.Context(), tc.gvk)
			if tc.err != "" {
				checkError(t, err, []string{tc.err})
				return
			}
			if err != nil || r.Name != tc.resource {
				t.Errorf("%q, %v", r.Name, err)
			}
		})
	}
}

func BenchmarkApplyUnchanged(b *testing.B) {
	w := hosttest.New(b)
	c, err := Connect(b.Context(), Options{Host: w.Host, Kubeconfig: kubetest.Start(b), Context: "mysdk-default"})
	if err != nil {
		b.Fatal(err)
	}
	objs, err := ParseManifests([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"), "f.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Apply(b.Context(), objs, ApplyOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// checkCount wants that many objects of a CRD's kind.
func checkCount(t *testing.T, c *Client, crd *unstructured.Unstructured, want int) {
	t.Helper()
	counts, err := c.Count(t.Context(), []*unstructured.Unstructured{crd})
	if err != nil || len(counts) != 1 || counts[0].Count != want {
		t.Errorf("objects: %v, %v, want %d", counts, err, want)
	}
}
