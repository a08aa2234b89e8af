package kube

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestApplySetID is the one that kubectl's tests have for Secret my-set.
func TestApplySetID(t *testing.T) {
	if got := setIDOf("my-set", "test", "Secret"); got != "applyset-0eFHV8ySqp7XoShsGvyWFQD3s96yqwHmzc4e0HR1dsY-v1" {
		t.Error(got)
	}
}

// testApplySet: what an earlier call applied and the next one does not is
// found, and nothing else.
func testApplySet(t *testing.T, c *Client) {
	set := ApplySet{Namespace: "set-a", Name: "shop-deploy"}
	const text = `
apiVersion: v1
kind: Namespace
metadata: {name: set-a}
---
apiVersion: v1
kind: Namespace
metadata: {name: set-b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stays, namespace: set-a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: set-b}
---
apiVersion: v1
kind: Service
metadata: {name: goes, namespace: set-a}
spec: {ports: [{port: 1}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: set-goes}
`
	objs := parse(t, text)
	names := func(list []*unstructured.Unstructured) []string {
		out := []string{}
		for _, u := range list {
			out = append(out, RefOf(u).String())
		}
		slices.Sort(out)
		return out
	}
	apply := func(objs []*unstructured.Unstructured, want ...string) {
		t.Helper()
		stale, err := c.ApplySet(t.Context(), set, objs, ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(append([]string{}, want...), names(stale)); d != "" {
			t.Errorf("stale (-want +got):\n%s", d)
		}
	}
	apply(objs)
	// Applied on its own it stays in the set, unchanged.
	mustApply(t, c, ApplyOptions{}, []string{"ClusterRole set-goes unchanged"}, objs[5])
	// Of others: by hand, of another set, and a copy of labels that a controller made.
	others := parse(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: set-of-others}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: set-of-another, labels: {applyset.kubernetes.io/part-of: applyset-x-v1}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: derived, namespace: set-a, labels: {applyset.kubernetes.io/part-of: %s}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: x, controller: true}]}
`, set.ID())
	if _, err := c.Apply(t.Context(), others, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	goes := []string{"ClusterRole set-goes", "ConfigMap set-b/elsewhere", "Service set-a/goes"}
	apply(objs[:3], goes...)
	apply(objs[:3], goes...) // until somebody says that it is done
	if err := c.KeepInSet(t.Context(), set, objs[:3]); err != nil {
		t.Fatal(err)
	}
	moved := ApplySet{Namespace: "elsewhere", Name: set.Name}
	sets, err := c.Elsewhere(t.Context(), moved)
	if err != nil || len(sets) != 1 || !slices.Contains(sets[set], "ConfigMap") {
		t.Errorf("sets elsewhere: %v, %v", sets, err)
	}
	if sets, err = c.Elsewhere(t.Context(), set); err != nil || len(sets) != 0 {
		t.Errorf("the set itself is elsewhere: %v, %v", sets, err)
	}
	parent, members, err := c.InSet(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"ConfigMap set-a/stays"}, names(members)); d != "" {
		t.Errorf("members (-want +got):\n%s", d)
	}
	want := map[string]string{setTooling: "mysdk/v1", setKinds: "ConfigMap"}
	if d := cmp.Diff(want, parent.GetAnnotations()); d != "" || parent.GetLabels()[setID] != set.ID() {
		t.Errorf("the parent has labels %v and annotations (-want +got):\n%s", parent.GetLabels(), d)
	}
	foreign := parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: foreign, namespace: set-a}\n")
	if _, err := c.Apply(t.Context(), foreign, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = c.ApplySet(t.Context(), ApplySet{Namespace: "set-a", Name: "foreign"}, objs, ApplyOptions{})
	checkError(t, err, []string{"ConfigMap set-a/foreign exists and was not created by mysdk"})
}

// testApplySetVersions: a kind is found though its group prefers a version that
// only another kind has.
func testApplySetVersions(t *testing.T, c *Client) {
	young, u := crd(t, "young.example.com", "Young"), object(t, "young.example.com", "Young", "a", 1)
	list, _, _ := unstructured.NestedSlice(young.Object, "spec", "versions")
	list[0].(map[string]any)["name"] = "v1beta1"
	if err := unstructured.SetNestedSlice(young.Object, list, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	u.SetAPIVersion("young.example.com/v1beta1")
	set, crds := ApplySet{Namespace: "default", Name: "young-deploy"}, []*unstructured.Unstructured{crd(t, "young.example.com", "Grown"), young}
	if _, err := c.ApplySet(t.Context(), set, append(crds, u), ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	stale, err := c.ApplySet(t.Context(), set, crds, ApplyOptions{})
	if err != nil || len(stale) != 1 || RefOf(stale[0]).String() != "Young default/a" {
		t.Errorf("stale: %v, %v", stale, err)
	}
}

// withConversion has a webhook convert the versions of a CRD.
func withConversion(t *testing.T, crd *unstructured.Unstructured, clientConfig map[string]any) *unstructured.Unstructured {
	t.Helper()
	crd = crd.DeepCopy()
	if err := unstructured.SetNestedMap(crd.Object, map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"}, "clientConfig": clientConfig,
	}}, "spec", "conversion"); err != nil {
		t.Fatal(err)
	}
	return crd
}

// versions gives a CRD the versions v1 and v2, of which one is stored.
func versions(t *testing.T, crd *unstructured.Unstructured, stored string) *unstructured.Unstructured {
	t.Helper()
	crd = crd.DeepCopy()
	list, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	other, _, _ := unstructured.NestedSlice(crd.DeepCopy().Object, "spec", "versions")
	list[0].(map[string]any)["storage"] = stored == "v1"
	other[0].(map[string]any)["name"], other[0].(map[string]any)["storage"] = "v2", stored == "v2"
	if err := unstructured.SetNestedSlice(crd.Object, append(list, other...), "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	return crd
}

// testForce: the operator is gone, with it the webhook that converts what is
// stored, and its finalizers are left.
func testForce(t *testing.T, c *Client) {
	nowhere := map[string]any{"service": map[string]any{"namespace": "default", "name": "nowhere"}}
	plain := crd(t, "force.example.com", "Force")
	u := object(t, "force.example.com", "Force", "a", 1)
	u.SetFinalizers([]string{"force.example.com/f"})
	for _, list := range [][]*unstructured.Unstructured{{versions(t, plain, "v1"), u}, {withConversion(t, versions(t, plain, "v2"), nowhere)}} {
		if _, err := c.Apply(t.Context(), list, ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// The API server converts from the moment that it has seen the change.
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		counts, err := c.Count(t.Context(), []*unstructured.Unstructured{plain})
		if err == nil && len(counts) == 1 && counts[0].String() == "unreadable Force objects" && counts[0].Stored == "v1" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("counted %+v, %v", counts, err)
		}
	}
	yes := func([]InstanceCount) (bool, error) { return true, nil }
	_, err := Uninstall(t.Context(), c, []*unstructured.Unstructured{plain}, yes, DeleteOptions{Timeout: 4 * time.Second})
	checkError(t, err, []string{"CustomResourceDefinition forces.force.example.com is not gone after 4s", "Force default/a has finalizers force.example.com/f"})
	// Begun by the attempt before, as after an interrupted uninstall.
	results, err := Uninstall(t.Context(), c, []*unstructured.Unstructured{plain}, yes, DeleteOptions{Force: true})
	// Without the finalizer the CRD may be gone before it is asked to go again.
	if err != nil || len(results) != 1 || results[0].Action != Deleted && results[0].Action != Absent {
		t.Errorf("with force: %v, %v", results, err)
	}
}

// testUninstallHeld: the operator works, and finishes with an object before its
// CRD is asked to go.
func testUninstallHeld(t *testing.T, c *Client) {
	def, u := crd(t, "finish.example.com", "Finish"), object(t, "finish.example.com", "Finish", "a", 1)
	u.SetFinalizers([]string{"finish.example.com/finalizer"})
	if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{def, u}, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	before := make(chan error, 1)
	go func() { before <- finishDeletion(t.Context(), c, def, u) }()
	yes := func([]InstanceCount) (bool, error) { return true, nil }
	results, err := Uninstall(t.Context(), c, []*unstructured.Unstructured{def}, yes, DeleteOptions{})
	if err != nil || len(results) != 1 || results[0].Action != Deleted {
		t.Errorf("%v, %v", results, err)
	}
	if err := <-before; err != nil {
		t.Error(err)
	}
}

// testInvalid: objects that a changed schema no longer allows are named, whatever
// updates of them would be judged by.
func testInvalid(t *testing.T, c *Client) {
	def := crd(t, "invalid.example.com", "Invalid")
	objs := []*unstructured.Unstructured{def, object(t, "invalid.example.com", "Invalid", "low", 2), object(t, "invalid.example.com", "Invalid", "high", 20)}
	if _, err := c.Apply(t.Context(), objs, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(def.Object, "spec", "versions")
	if err := unstructured.SetNestedField(versions[0].(map[string]any), int64(10), "schema", "openAPIV3Schema", "properties", "spec", "properties", "size", "minimum"); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(def.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(t.Context(), objs[:1], ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	var list []string
	err := poll(t.Context(), time.Minute, func(ctx context.Context) (_ bool, err error) { // the schema takes a moment
		list, err = c.Invalid(ctx, def)
		return len(list) > 0, err
	})
	if err != nil || len(list) != 1 || !strings.HasPrefix(list[0], "Invalid default/low: spec.size: ") {
		t.Errorf("%q, %v", list, err)
	}
}

// testUninstallRefused: a webhook that nothing serves any more refuses the
// deletion of objects, which that of their CRD does not ask.
func testUninstallRefused(t *testing.T, c *Client) {
	def, u := crd(t, "refused.example.com", "Refused"), object(t, "refused.example.com", "Refused", "a", 1)
	u.SetFinalizers([]string{"refused.example.com/finalizer"})
	hook := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": map[string]any{"name": "refused"},
		"webhooks": []any{map[string]any{
			"name": "refused.example.com", "sideEffects": "None", "admissionReviewVersions": []any{"v1"},
			"clientConfig": map[string]any{"service": map[string]any{"namespace": "default", "name": "nowhere"}},
			"rules":        []any{map[string]any{"apiGroups": []any{"refused.example.com"}, "apiVersions": []any{"*"}, "resources": []any{"*"}, "operations": []any{"DELETE"}}},
		}},
	}}
	if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{def, u, hook}, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	err := poll(t.Context(), 2*time.Minute, func(ctx context.Context) (bool, error) {
		_, err := c.Delete(ctx, []*unstructured.Unstructured{u}, DeleteOptions{DryRun: true})
		return err != nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	yes := func([]InstanceCount) (bool, error) { return true, nil }
	_, err = Uninstall(t.Context(), c, []*unstructured.Unstructured{def}, yes, DeleteOptions{Timeout: 4 * time.Second})
	checkError(t, err, []string{"CustomResourceDefinition refuseds.refused.example.com is not gone after 4s", "Refused default/a has finalizers"})
	if _, err := c.Delete(t.Context(), []*unstructured.Unstructured{hook}, DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// finishDeletion is an operator that has nothing to clean up.
func finishDeletion(ctx context.Context, c *Client, def, u *unstructured.Unstructured) error {
	err := poll(ctx, 2*time.Minute, func(ctx context.Context) (bool, error) {
		going, err := c.Deleting(ctx, []*unstructured.Unstructured{u})
		return len(going) == 1, err
	})
	if err != nil {
		return err
	}
	going, err := c.Deleting(ctx, []*unstructured.Unstructured{def})
	if err != nil {
		return err
	}
	if len(going) > 0 {
		return errors.New("the CRD is being deleted before its object is gone")
	}
	return c.dropFinalizers(ctx, def)
}

// testWorkingConversions: a conversion stays on where something does it.
func testWorkingConversions(t *testing.T, c *Client) {
	service := func(name string) map[string]any {
		return map[string]any{"service": map[string]any{"namespace": "default", "name": name}}
	}
	base := versions(t, crd(t, "conv.example.com", "Conv"), "v1")
	strategy := func(want string, off int) {
		t.Helper()
		list, without, err := c.WorkingConversions(t.Context(), []*unstructured.Unstructured{withConversion(t, base, service("conv-own")), crd(t, "plain.example.com", "X")})
		if err != nil || len(list) != 2 || len(without) != off {
			t.Fatalf("%v, %v, %v", list, without, err)
		}
		got := []string{}
		for _, path := range [][]string{{"strategy"}, {"webhook", "clientConfig", "url"}, {"webhook", "clientConfig", "service", "name"}} {
			s, _, _ := unstructured.NestedString(list[0].Object, append([]string{"spec", "conversion"}, path...)...)
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("conversion %q, want %q", s, want)
		}
	}
	apply := func(u *unstructured.Unstructured) {
		t.Helper()
		if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{u}, ApplyOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	makeService := func(name string) {
		apply(parse(t, "apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: default}\nspec: {ports: [{port: 443}]}\n", name)[0])
	}
	strategy("None  ", 1)
	apply(withConversion(t, base, service("conv-deployed")))
	strategy("None  ", 1)
	makeService("conv-own")
	strategy("Webhook  conv-own", 0)
	makeService("conv-deployed")
	strategy("Webhook  conv-deployed", 0)
	apply(withConversion(t, base, map[string]any{"url": "https://127.0.0.1:1/convert"}))
	strategy("Webhook https://127.0.0.1:1/convert ", 0)
	testConversionGoes(t, c, withConversion(t, base, service("conv-deployed")), base)
}

// testConversionGoes: a CRD whose conversion is to go applies, though somebody else
// owns a part of that, as operators own the caBundle of their certificates.
func testConversionGoes(t *testing.T, c *Client, converts, base *unstructured.Unstructured) {
	t.Helper()
	none := base.DeepCopy()
	if err := unstructured.SetNestedField(none.Object, "None", "spec", "conversion", "strategy"); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []*unstructured.Unstructured{none, base} {
		if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{converts}, ApplyOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		if err := c.Edit(t.Context(), base, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return live, unstructured.SetNestedField(live.Object, "/convert", "spec", "conversion", "webhook", "clientConfig", "service", "path")
		}); err != nil {
			t.Fatal(err)
		}
		broken := wanted.DeepCopy()
		if err := unstructured.SetNestedField(broken.Object, "Unheard", "spec", "scope"); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			crd    *unstructured.Unstructured
			dryRun bool
			on, ok bool
		}{{broken, false, true, false}, {wanted, true, true, true}, {wanted, false, false, true}} {
			results, err := c.Apply(t.Context(), []*unstructured.Unstructured{step.crd}, ApplyOptions{Force: true, DryRun: step.dryRun})
			if step.ok != (err == nil && len(results) == 1 && results[0].Action == Configured) {
				t.Errorf("%+v: %v, %v", step, results, err)
			}
			if live, err := c.Read(t.Context(), base); err != nil || Converts(live) != step.on {
				t.Errorf("%+v: %v, %v", step, live, err)
			}
		}
	}
}
