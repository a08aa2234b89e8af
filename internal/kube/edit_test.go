package kube

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// testEdit: what Edit makes of an object is all that is left of it.
func testEdit(t *testing.T, c *Client) {
	id, err := c.ID(t.Context())
	if err != nil || len(id) != 36 {
		t.Errorf("the cluster's id is %q, %v", id, err)
	}
	cm := parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edited}\ndata: {a: one, b: two}\n")[0]
	if live, err := c.Read(t.Context(), cm); live != nil || err != nil {
		t.Errorf("what is not there: %v, %v", live, err)
	}
	edit := func(change func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) error {
		return c.Edit(t.Context(), cm, change)
	}
	data := func() map[string]string {
		live, err := c.Read(t.Context(), cm)
		if err != nil || live == nil {
			t.Fatalf("%v, %v", live, err)
		}
		m, _, err := unstructured.NestedStringMap(live.Object, "data")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if err := edit(func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live != nil {
			t.Errorf("got %v", live)
		}
		return nil, nil
	}); err != nil {
		t.Errorf("leaving things as they are: %v", err)
	}
	if err := edit(func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return cm, nil }); err != nil {
		t.Fatal(err)
	}
	before, err := c.Read(t.Context(), cm)
	if err != nil {
		t.Fatal(err)
	}
	// Server-side apply would keep a: it belongs to another manager.
	replace := func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return live, unstructured.SetNestedStringMap(live.Object, map[string]string{"c": "three"}, "data")
	}
	if err := edit(replace); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"c": "three"}, data()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// An object that was read before can be put back, whatever its version.
	if err := edit(func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return before, nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "one", "b": "two"}, data()); diff != "" {
		t.Errorf("put back (-want +got):\n%s", diff)
	}
	if err := c.Disown(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if live, err := c.Read(t.Context(), cm); err != nil || len(live.GetManagedFields()) > 0 {
		t.Errorf("owned by %v, %v", live.GetManagedFields(), err)
	}
	boom := errors.New("boom")
	if err := edit(func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, boom }); !errors.Is(err, boom) {
		t.Errorf("error: %v", err)
	}
}

// testEditContested: an object that others write at the same moment is edited
// on top of what they wrote, or given up with a reason.
func testEditContested(t *testing.T, c *Client) {
	cm := parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: raced}\ndata: {a: \"0\"}\n")[0]
	mustApply(t, c, ApplyOptions{}, []string{"ConfigMap default/raced created"}, cm)
	meanwhile := func(value string) {
		other := cm.DeepCopy()
		if err := unstructured.SetNestedField(other.Object, value, "data", "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{other}, ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	calls := 0
	err := c.Edit(t.Context(), cm, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if calls++; calls == 1 {
			meanwhile("1")
		}
		return live, unstructured.SetNestedField(live.Object, "ours", "data", "b")
	})
	live, readErr := c.Read(t.Context(), cm)
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	got, _, err := unstructured.NestedStringMap(live.Object, "data")
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "ours"}, got); diff != "" || err != nil || calls != 2 {
		t.Errorf("%d calls, %v (-want +got):\n%s", calls, err, diff)
	}
	err = c.Edit(t.Context(), cm, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		calls++
		meanwhile(strings.Repeat("x", calls))
		return live, unstructured.SetNestedField(live.Object, "ours again", "data", "b")
	})
	checkError(t, err, []string{"ConfigMap default/raced", "another client modified it"})
	if _, err := c.Read(t.Context(), object(t, "nowhere.example.com", "Nothing", "x", 1)); err == nil || !strings.Contains(err.Error(), "knows no kind") {
		t.Errorf("an unknown kind: %v", err)
	}
}

// testEditWebhooks: a webhook's service becomes a url and comes back, and its
// owners with it.
func testEditWebhooks(t *testing.T, c *Client) {
	u := parse(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: edited}
webhooks:
- name: a.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: s, namespace: ns, path: /x}}
  rules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]
`)[0]
	mustApply(t, c, ApplyOptions{FieldManager: "deployment"}, []string{"ValidatingWebhookConfiguration edited created"}, u)
	before, err := c.Read(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Edit(t.Context(), u, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		hooks, _, err := unstructured.NestedSlice(live.Object, "webhooks")
		if err != nil {
			return nil, err
		}
		hooks[0].(map[string]any)["clientConfig"] = map[string]any{"url": "https://127.0.0.1:7/x"}
		return live, unstructured.SetNestedSlice(live.Object, hooks, "webhooks")
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.Edit(t.Context(), u, func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return before, nil }); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := c.Disown(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	after, err := c.Read(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Object["webhooks"], after.Object["webhooks"]); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	// The deployment's owner can go on without a conflict.
	if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{u}, ApplyOptions{FieldManager: "deployment"}); err != nil {
		t.Error(err)
	}
	hooks, _, err := unstructured.NestedSlice(u.Object, "webhooks")
	if err != nil {
		t.Fatal(err)
	}
	hooks[0].(map[string]any)["clientConfig"] = map[string]any{"service": map[string]any{"name": "s2", "namespace": "ns", "path": "/y"}}
	if err := unstructured.SetNestedSlice(u.Object, hooks, "webhooks"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(t.Context(), []*unstructured.Unstructured{u}, ApplyOptions{FieldManager: "deployment"}); err != nil {
		t.Error("a later change of the deployment's:", err)
	}
}

// testTakeOver: what client-side kubectl apply has put there goes once the
// manifests lack it, and only where the caller says so.
func testTakeOver(t *testing.T, c *Client) {
	u := parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: taken, namespace: default, annotations: {old: a}}\ndata: {stays: a, goes: b}\n")[0]
	endpoint, _, err := c.resource(t.Context(), u, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := endpoint.Create(t.Context(), u, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}); err != nil {
		t.Fatal(err)
	}
	next := parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: taken, namespace: default}\ndata: {stays: a}\n")[0]
	for _, tc := range []struct {
		options ApplyOptions
		action  Action
		data    int
	}{
		{ApplyOptions{}, Unchanged, 2},
		{ApplyOptions{TakeOver: true, DryRun: true}, Unchanged, 2},
		{ApplyOptions{TakeOver: true}, Configured, 1},
		{ApplyOptions{TakeOver: true}, Unchanged, 1},
	} {
		mustApply(t, c, tc.options, []string{"ConfigMap default/taken " + string(tc.action)}, next)
		live, err := c.Read(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		data, _, _ := unstructured.NestedMap(live.Object, "data")
		if annotations := live.GetAnnotations(); len(data) != tc.data || len(annotations) != tc.data-1 {
			t.Errorf("after %+v it has data %v and annotations %v", tc.options, data, annotations)
		}
	}
}
