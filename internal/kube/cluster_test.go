package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// TestOnControlPlane runs everything that needs an API server against one
// embedded control plane.
func TestOnControlPlane(t *testing.T) {
	c := connect(t, kubetest.Start(t))
	for name, test := range map[string]func(*testing.T, *Client){
		"apply":            testApply,
		"apply errors":     testApplyErrors,
		"conflict":         testConflict,
		"large CRD":        testLargeCRD,
		"CRD and object":   testCRDAndObject,
		"CRD and workload": testCRDAndWorkload,
		"names taken":      testNamesTaken,
		"uninstall":        testUninstall,
		"blocked deletion": testBlockedDeletion,
		"namespaces":       testNamespaces,
		"wait ready":       testWaitReady,
		"delete order":     testDelete,
		"cancelled":        testCancelled,
		"server warnings":  testWarnings,
		"server dies":      testServerDies,
		"partly applied":   testPartly,
		"scopes":           testScopes,
		"on create":        testOnCreate,
		"new version":      testNewVersion,
		"many blockers":    testManyBlockers,
		"terminating":      testTerminating,
		"confirm fails":    testConfirmFails,
		"concurrent":       testConcurrent,
		"deadline":         testDeadline,
		"workloads":        testWorkloads,
		"find":             testFind,
		"list and logs":    testListAndLogs,
		"edit":             testEdit,
		"edit contested":   testEditContested,
		"edit webhooks":    testEditWebhooks,
		"take over":        testTakeOver,
		"strangers":        testStranger,
		"apply set":        testApplySet,
		"set's versions":   testApplySetVersions,
		"force":            testForce,
		"uninstall held":   testUninstallHeld,
		"refused":          testUninstallRefused,
		"invalid objects":  testInvalid,
		"conversions":      testWorkingConversions,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // two of them wait 5 s for the API server's finalizers
			test(t, c)
		})
	}
}

func connect(t *testing.T, kubeconfig string) *Client {
	t.Helper()
	w := hosttest.New(t)
	c, err := Connect(t.Context(), Options{Host: w.Host, Kubeconfig: kubeconfig, Context: "mysdk-default"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Version, "v1.") {
		t.Errorf("version %q", c.Version)
	}
	return c
}

func parse(t *testing.T, text string, args ...any) []*unstructured.Unstructured {
	t.Helper()
	objs, err := ParseManifests(fmt.Appendf(nil, text, args...), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// groups has the test that each API group belongs to.
var groups sync.Map

// crd is a CRD of a group of the test's own, so that tests side by side do not meet.
func crd(t *testing.T, group, kind string) *unstructured.Unstructured {
	t.Helper()
	if other, taken := groups.LoadOrStore(group, t.Name()); taken && other != t.Name() {
		t.Fatalf("group %s is of %s", group, other)
	}
	plural := strings.ToLower(kind) + "s"
	return parse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]s.%[1]s, creationTimestamp: null}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[2]s, listKind: %[2]sList, plural: %[3]s, singular: %[4]s}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 1}
`, group, kind, plural, strings.ToLower(kind))[0]
}

func object(t *testing.T, group, kind, name string, size int) *unstructured.Unstructured {
	t.Helper()
	return parse(t, "apiVersion: %s/v1\nkind: %s\nmetadata: {name: %s}\nspec: {size: %d}\n", group, kind, name, size)[0]
}

func actions(results []Result) []string {
	var list []string
	for _, r := range results {
		list = append(list, r.String()+" "+string(r.Action))
	}
	return list
}

func mustApply(t *testing.T, c *Client, o ApplyOptions, want []string, objs ...*unstructured.Unstructured) {
	t.Helper()
	var seen []Result
	o.Progress = func(r Result) { seen = append(seen, r) }
	results, err := c.Apply(t.Context(), objs, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, actions(results)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(actions(results), actions(seen)); diff != "" {
		t.Errorf("progress differs from the results:\n%s", diff)
	}
}

func testApply(t *testing.T, c *Client) {
	const text = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: apply-a}
data: {key: %s}
---
apiVersion: v1
kind: Namespace
metadata: {name: apply-a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
`
	o := ApplyOptions{Namespace: "apply-a"}
	mustApply(t, c, o, []string{"Namespace apply-a created", "ConfigMap apply-a/a created", "ConfigMap apply-a/b created"}, parse(t, text, "one")...)
	mustApply(t, c, o, []string{"Namespace apply-a unchanged", "ConfigMap apply-a/a unchanged", "ConfigMap apply-a/b unchanged"}, parse(t, text, "one")...)
	o.DryRun = true
	mustApply(t, c, o, []string{"Namespace apply-a unchanged", "ConfigMap apply-a/a configured", "ConfigMap apply-a/b unchanged"}, parse(t, text, "two")...)
	o.DryRun = false
	mustApply(t, c, o, []string{"Namespace apply-a unchanged", "ConfigMap apply-a/a configured", "ConfigMap apply-a/b unchanged"}, parse(t, text, "two")...)

	// A dry run also lists what needs a namespace or a CRD that it does not create.
	fresh := append(parse(t, `
apiVersion: v1
kind: Namespace
metadata: {name: apply-dry}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: apply-dry}
---
apiVersion: dry.example.com/v1
kind: Dry
metadata: {name: a, namespace: apply-dry}
`), crd(t, "dry.example.com", "Dry"))
	mustApply(t, c, ApplyOptions{DryRun: true}, []string{
		"Namespace apply-dry created", "CustomResourceDefinition drys.dry.example.com created", "ConfigMap apply-dry/a created", "Dry apply-dry/a created",
	}, fresh...)

	// What was read back from the cluster applies as well.
	endpoint, _, err := c.resource(t.Context(), parse(t, text, "two")[0], "")
	if err != nil {
		t.Fatal(err)
	}
	live, err := endpoint.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, c, o, []string{"ConfigMap apply-a/a unchanged"}, live)
}

func testApplyErrors(t *testing.T, c *Client) {
	tests := map[string]struct {
		text string
		err  []string
		hint string
	}{
		"unknown group":       {"apiVersion: no.example.com/v1\nkind: Thing\nmetadata: {name: a}\n", []string{"apply Thing a: the cluster knows no kind Thing in no.example.com/v1"}, "mysdk install"},
		"cert-manager":        {"apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: a}\n", []string{"knows no kind Issuer"}, "install cert-manager"},
		"beside a known kind": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: beside}\n---\napiVersion: no.example.com/v1\nkind: Thing\nmetadata: {name: a}\n", []string{"knows no kind Thing"}, "mysdk install"},
		"misspelt kind":       {"apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: a}\n", []string{"no kind Deploymnt in apps/v1"}, "did you mean kind Deployment?"},
		"unknown namespace":   {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: nowhere}\n", []string{"ConfigMap nowhere/a", `"nowhere" not found`}, "create the namespace"},
		"invalid":             {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_B}\n", []string{"apply ConfigMap default/A_B", "metadata.name"}, ""},
		"two at once": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_B}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: C_D}\n",
			[]string{"ConfigMap default/A_B", "Secret default/C_D"}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			results, err := c.Apply(t.Context(), parse(t, "%s", tc.text), ApplyOptions{})
			if err == nil || len(results) != 0 {
				t.Fatalf("error %v, results %v", err, results)
			}
			for _, part := range tc.err {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
			if hint := clierr.HintOf(err); !strings.Contains(hint, tc.hint) {
				t.Errorf("hint %q lacks %q", hint, tc.hint)
			}
		})
	}
	if live, err := c.Read(t.Context(), parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: beside, namespace: default}\n")[0]); err != nil || live != nil {
		t.Errorf("applied beside an unknown kind: %v, %v", live, err)
	}
}

func testConflict(t *testing.T, c *Client) {
	cm := func(v string) *unstructured.Unstructured {
		return parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: contested}\ndata: {k: %s}\n", v)[0]
	}
	mustApply(t, c, ApplyOptions{FieldManager: "somebody"}, []string{"ConfigMap default/contested created"}, cm("theirs"))
	_, err := c.Apply(t.Context(), []*unstructured.Unstructured{cm("ours")}, ApplyOptions{})
	checkError(t, err, []string{"fields belong to others", `data.k ("somebody")`})
	mustApply(t, c, ApplyOptions{Force: true}, []string{"ConfigMap default/contested configured"}, cm("ours"))
}

// testLargeCRD: client-side apply keeps a copy in an annotation and fails
// beyond 256 KiB.
func testLargeCRD(t *testing.T, c *Client) {
	u := crd(t, "large.example.com", "Large")
	versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
	schema := versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	schema["description"] = strings.Repeat("long ", 80_000)
	if err := unstructured.SetNestedSlice(u.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(t.Context(), c, []*unstructured.Unstructured{u}, time.Minute, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
}

// testCRDAndObject: both in one call, the object first; and a broken CRD is
// the only error, not its objects too.
func testCRDAndObject(t *testing.T, c *Client) {
	def := crd(t, "both.example.com", "Both")
	mustApply(t, c, ApplyOptions{}, []string{"CustomResourceDefinition boths.both.example.com created", "Both default/a created"},
		object(t, "both.example.com", "Both", "a", 1), def)

	broken := crd(t, "broken.example.com", "Broken")
	if err := unstructured.SetNestedField(broken.Object, "Sideways", "spec", "scope"); err != nil {
		t.Fatal(err)
	}
	_, err := c.Apply(t.Context(), []*unstructured.Unstructured{object(t, "broken.example.com", "Broken", "a", 1), broken}, ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), "spec.scope") || strings.Contains(err.Error(), "knows no kind") {
		t.Errorf("error: %v", err)
	}
	_, err = c.Apply(t.Context(), []*unstructured.Unstructured{object(t, "both.example.com", "Both", "b", 0)}, ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), "spec.size") {
		t.Errorf("an invalid object: %v", err)
	}
}

// testCRDAndWorkload: a workload comes when the CRD before it is served, and
// without it where the CRD is being deleted.
func testCRDAndWorkload(t *testing.T, c *Client) {
	def := crd(t, "worked.example.com", "Worked")
	def.SetFinalizers([]string{"example.com/hold"})
	pod := func(name string) *unstructured.Unstructured {
		return parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, image: i}]}\n", name)[0]
	}
	mustApply(t, c, ApplyOptions{}, []string{"CustomResourceDefinition workeds.worked.example.com created", "Pod default/worker-a created"}, pod("worker-a"), def)
	if found, err := c.serves(t.Context(), def); err != nil || !found {
		t.Errorf("served %v, %v", found, err)
	}
	crds := schema.GroupVersionResource{Group: crdGroup, Version: "v1", Resource: "customresourcedefinitions"}
	if err := c.dyn.Resource(crds).Delete(t.Context(), def.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	def.SetLabels(map[string]string{"changed": "yes"})
	mustApply(t, c, ApplyOptions{}, []string{"CustomResourceDefinition workeds.worked.example.com configured", "Pod default/worker-b created"}, pod("worker-b"), def)
	def.SetFinalizers(nil)
	if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{def}, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
}

func testNamesTaken(t *testing.T, c *Client) {
	first, second := crd(t, "taken.example.com", "Taken"), crd(t, "taken.example.com", "Takenagain")
	if err := unstructured.SetNestedField(second.Object, "Taken", "spec", "names", "kind"); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(t.Context(), c, []*unstructured.Unstructured{first}, time.Minute, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := Install(t.Context(), c, []*unstructured.Unstructured{second}, time.Minute, ApplyOptions{})
	checkError(t, err, []string{"takenagains.taken.example.com is not accepted", `"Taken" is already in use`})
	if _, err := Uninstall(t.Context(), c, []*unstructured.Unstructured{second}, nil, DeleteOptions{Force: true}); err != nil {
		t.Errorf("uninstall what has no endpoint: %v", err)
	}
}

func testUninstall(t *testing.T, c *Client) {
	def := crd(t, "gone.example.com", "Gone")
	never := func([]InstanceCount) (bool, error) { t.Error("asked without need"); return false, nil }
	results, err := Uninstall(t.Context(), c, []*unstructured.Unstructured{def}, never, DeleteOptions{})
	if err != nil || results[0].Action != Absent {
		t.Fatalf("not installed: %v, %v", results, err)
	}
	objs := []*unstructured.Unstructured{def}
	for _, name := range []string{"a", "b", "c"} {
		objs = append(objs, object(t, "gone.example.com", "Gone", name, 1))
	}
	if _, err := c.Apply(t.Context(), objs, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	var asked []InstanceCount
	answer := func(yes bool) func([]InstanceCount) (bool, error) {
		return func(counts []InstanceCount) (bool, error) { asked = counts; return yes, nil }
	}
	results, err = Uninstall(t.Context(), c, objs[:1], answer(false), DeleteOptions{})
	if err != nil || results != nil {
		t.Fatalf("declined: %v, %v", results, err)
	}
	if diff := cmp.Diff([]InstanceCount{{CRD: "gones.gone.example.com", Kind: "Gone", Count: 3}}, asked); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}
	checkCount(t, c, def, 3)
	results, err = Uninstall(t.Context(), c, objs[:1], answer(true), DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"CustomResourceDefinition gones.gone.example.com deleted"}, actions(results)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	// Reinstalled by the same client, it is waited for again.
	if _, err := c.Apply(t.Context(), objs, ApplyOptions{}); err != nil {
		t.Errorf("install after uninstall: %v", err)
	}
}

// testBlockedDeletion: the commonest trouble is a finalizer whose operator
// does not run.
func testBlockedDeletion(t *testing.T, c *Client) {
	def, u := crd(t, "held.example.com", "Held"), object(t, "held.example.com", "Held", "a", 1)
	u.SetFinalizers([]string{"held.example.com/finalizer"})
	if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{def, u}, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Delete(t.Context(), []*unstructured.Unstructured{def}, DeleteOptions{Timeout: 10 * time.Second})
	checkError(t, err, []string{"CustomResourceDefinition helds.held.example.com is not gone", "Held default/a has finalizers held.example.com/finalizer"})
	_, err = c.Delete(t.Context(), []*unstructured.Unstructured{u}, DeleteOptions{Timeout: 10 * time.Second})
	checkError(t, err, []string{"Held default/a is not gone", "finalizers held.example.com/finalizer"})
	_, err = Install(t.Context(), c, []*unstructured.Unstructured{def}, time.Minute, ApplyOptions{})
	checkError(t, err, []string{"is being deleted"})

	u.SetFinalizers(nil)
	u.SetManagedFields(nil)
	if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{u}, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(t.Context(), []*unstructured.Unstructured{def}, DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func testNamespaces(t *testing.T, c *Client) {
	for i, want := range []bool{true, false} {
		if created, err := c.EnsureNamespace(t.Context(), "made"); err != nil || created != want {
			t.Errorf("call %d: created %v, %v", i, created, err)
		}
	}
	if _, err := c.EnsureNamespace(t.Context(), "Not_A_Name"); err == nil || !strings.Contains(err.Error(), "Not_A_Name") {
		t.Errorf("error: %v", err)
	}
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: c, image: example.com/x}]
%s
`

func testWaitReady(t *testing.T, c *Client) {
	good := parse(t, deployment, "ready", "")
	stuck := parse(t, deployment, "stuck", "      nodeSelector: {no: such-node}")
	if _, err := c.Apply(t.Context(), slices.Concat(good, stuck), ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(t.Context(), good, 5*time.Minute); err != nil {
		t.Error(err)
	}
	err := c.WaitReady(t.Context(), slices.Concat(good, stuck), 10*time.Second)
	checkError(t, err, []string{"not ready after 10s: Deployment stuck: 0 of 2 ready"})
	if clierr.CodeOf(err) != clierr.CodeUnavailable {
		t.Errorf("code %d", clierr.CodeOf(err))
	}
}

func testDelete(t *testing.T, c *Client) {
	objs := parse(t, `
apiVersion: v1
kind: Namespace
metadata: {name: doomed}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: doomed}
---
apiVersion: no.example.com/v1
kind: Unheard
metadata: {name: a}
`)
	if _, err := c.Apply(t.Context(), objs[:2], ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"Unheard a absent", "ConfigMap doomed/a deleted", "Namespace doomed deleted"}
	for range 2 {
		results, err := c.Delete(t.Context(), objs, DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, actions(results)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		want = []string{"Unheard a absent", "ConfigMap doomed/a absent", "Namespace doomed absent"}
	}
}

func testCancelled(t *testing.T, c *Client) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	objs := parse(t, deployment, "cancelled", "")
	_, applyErr := c.Apply(ctx, objs, ApplyOptions{})
	_, deleteErr := c.Delete(ctx, objs, DeleteOptions{})
	for what, err := range map[string]error{
		"apply": applyErr, "delete": deleteErr,
		"wait":        c.WaitReady(ctx, objs, time.Minute),
		"established": c.WaitEstablished(ctx, []*unstructured.Unstructured{crd(t, "cancelled.example.com", "X")}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: code %d for %v", what, clierr.CodeOf(err), err)
		}
	}
}

func testWarnings(t *testing.T, c *Client) {
	var got []string
	w := hosttest.New(t)
	c, err := Connect(t.Context(), Options{Host: w.Host, Kubeconfig: c.Files[0], Context: c.Context, Warn: func(s string) { got = append(got, s) }})
	if err != nil {
		t.Fatal(err)
	}
	objs := parse(t, deployment, "warned", "      nodeSelector: {beta.kubernetes.io/os: linux}")
	if _, err := c.Apply(t.Context(), objs, ApplyOptions{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 || !strings.Contains(got[0], "deprecated") {
		t.Errorf("warnings: %q", got)
	}
}
