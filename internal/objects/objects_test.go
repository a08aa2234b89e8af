package objects

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/mysdk/internal/kube"
)

func kindOf(kind string) kube.Kind {
	return kube.Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: kind}}
}

// object is a v1 object of default, whose UID is its name.
func object(kind, name string, revision int, more map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for k, v := range more {
		u.Object[k] = v
	}
	u.SetAPIVersion("v1")
	u.SetKind(kind)
	u.SetName(name)
	u.SetNamespace("default")
	u.SetUID(types.UID(name))
	u.SetResourceVersion(fmt.Sprint(revision))
	return u
}

// owned makes owner the controller of u.
func owned(u *unstructured.Unstructured, owners ...string) *unstructured.Unstructured {
	var refs []metav1.OwnerReference
	for i, name := range owners {
		last := i == len(owners)-1
		refs = append(refs, metav1.OwnerReference{APIVersion: "v1", Kind: "Shop", Name: name, UID: types.UID(name), Controller: &last})
	}
	u.SetOwnerReferences(refs)
	return u
}

// started is a mirror that has read ConfigMaps and Secrets.
func started(t *testing.T, first ...*unstructured.Unstructured) *Mirror {
	t.Helper()
	m := New(func() time.Time { return time.Unix(1, 0) })
	for _, kind := range []string{"ConfigMap", "Secret"} {
		m.kinds[schema.GroupKind{Kind: kind}] = kindOf(kind)
	}
	m.replace(kindOf("Secret"), nil, "10")
	if now := m.Now(); now.Ready {
		t.Error("ready before all kinds were listed")
	}
	m.replace(kindOf("ConfigMap"), first, "10")
	if now := m.Now(); !now.Ready || len(now.Log) != 0 {
		t.Errorf("after the lists: %+v", now)
	}
	return m
}

func names(objs map[Key]*unstructured.Unstructured) string {
	var list []string
	for key, u := range objs {
		value, _, _ := unstructured.NestedString(u.Object, "data", "k")
		list = append(list, key.Name+"="+value)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func data(value string) map[string]any { return map[string]any{"data": map[string]any{"k": value}} }

// TestPast shows the cluster after each change.
func TestPast(t *testing.T) {
	m := started(t, object("ConfigMap", "a", 1, data("1")), object("ConfigMap", "gone", 2, nil))
	changed := m.Changed()
	m.put(object("ConfigMap", "a", 11, data("2")))
	<-changed
	m.put(object("ConfigMap", "b", 12, data("x")))
	m.put(object("ConfigMap", "b", 12, data("x"))) // told twice
	m.drop(Key{schema.GroupKind{Kind: "ConfigMap"}, "default", "gone"}, "13")
	m.replace(kindOf("ConfigMap"), []*unstructured.Unstructured{object("ConfigMap", "a", 14, data("3"))}, "15") // b went meanwhile
	for seq, want := range []string{"a=1 gone=", "a=2 gone=", "a=2 b=x gone=", "a=2 b=x", "a=3 b=x", "a=3"} {
		objs, err := m.At(uint64(seq))
		if got := names(objs); err != nil || got != want {
			t.Errorf("after %d changes: %s %v, want %s", seq, got, err, want)
		}
	}
	now := m.Now()
	if got := names(now.Objects); got != "a=3" {
		t.Errorf("now: %s", got)
	}
	var got []string
	for _, c := range now.Log {
		got = append(got, fmt.Sprint(c.Seq, " ", c.Revision, " ", c.Name, " ", c.Effect, " ", c.Before, " ", len(c.Fields)))
	}
	want := []string{"1 11 a changed 1 1", "2 12 b created  0", "3 13 gone deleted 2 0", "4 14 a changed 11 1", "5 15 b deleted 12 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if of := now.Of(now.Log[0].Key); len(of) != 2 || of[0].Seq != 4 {
		t.Errorf("changes of a: %+v", of)
	}
}

// TestAnotherCluster: an object of a cluster that has taken the place of another is
// a new one, even at the same revision.
func TestAnotherCluster(t *testing.T) {
	m := started(t, object("ConfigMap", "a", 1, data("1")))
	other := object("ConfigMap", "a", 1, data("2"))
	other.SetUID("other")
	m.replace(kindOf("ConfigMap"), []*unstructured.Unstructured{other}, "10")
	if now := m.Now(); names(now.Objects) != "a=2" || len(now.Log) != 1 {
		t.Errorf("%s, log %+v", names(now.Objects), now.Log)
	}
}

// TestLogIsBounded: the oldest changes go, and the past begins behind them.
func TestLogIsBounded(t *testing.T) {
	m := started(t)
	large := strings.Repeat("x", maxLog/4)
	for i := range 10 {
		m.put(object("ConfigMap", "a", 20+i, data(fmt.Sprint(large, i))))
	}
	now := m.Now()
	if n := len(now.Log); n == 0 || n > 4 || now.Log[n-1].Seq != 10 {
		t.Errorf("%d changes are kept", n)
	}
	objs, err := m.At(now.Log[0].Seq - 1)
	if got := names(objs); err != nil || !strings.HasSuffix(got, fmt.Sprint("x", now.Log[0].Seq-2)) {
		t.Errorf("before the first: …%s %v", got[len(got)-3:], err)
	}
}

// TestSecretsStayHidden: no value is in an object, a change or the past.
func TestSecretsStayHidden(t *testing.T) {
	m := started(t)
	for i, value := range []string{"aHVudGVyMg==", "aHVudGVyMw=="} {
		m.put(object("Secret", "s", 30+i, map[string]any{"data": map[string]any{"password": value}}))
	}
	now := m.Now()
	past, err := m.At(1)
	key := now.Log[0].Key
	text := fmt.Sprint(now.Objects[key].Object, past[key].Object, now.Log[0].Fields, now.Log[1].Fields, err)
	if strings.Contains(text, "aHVudGVy") || strings.Count(text, "password") != 3 {
		t.Errorf("%s", text)
	}
}

// TestTree puts objects below their controllers and carries up what is wrong.
func TestTree(t *testing.T) {
	waiting := map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "message": "no image"}}}}
	list := []*unstructured.Unstructured{
		object("Shop", "shop", 1, nil),
		owned(object("Deployment", "web", 2, nil), "other", "shop"),
		owned(object("Pod", "web-1", 3, waiting), "web"),
		owned(object("Pod", "stray", 4, map[string]any{"status": map[string]any{"phase": "Pending"}}), "nobody"),
		object("Event", "event", 5, nil),
		object("Shop", "other", 6, nil),
		owned(object("Ring", "ring-a", 7, nil), "ring-b"),
		owned(object("Ring", "ring-b", 8, nil), "ring-a"),
	}
	objs := map[Key]*unstructured.Unstructured{}
	for _, u := range list {
		objs[KeyOf(u)] = u
	}
	roots := Tree(objs)
	var lines []string
	var walk func(string, []*Node)
	walk = func(indent string, nodes []*Node) {
		for _, n := range nodes {
			lines = append(lines, fmt.Sprint(indent, n.Name, " ", n.Health.State, " ", n.Health.Reason))
			walk(indent+" ", n.Owned)
		}
	}
	walk("", roots)
	want := []string{
		"stray not ready phase Pending", "ring-a ready ", "ring-b ready ", "other ready ",
		"shop not ready Pod web-1: no image", " web not ready Pod web-1: no image", "  web-1 not ready no image",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := Find(roots, KeyOf(list[2])); n == nil || n.Name != "web-1" {
		t.Errorf("Find() = %v", n)
	}
	now := metav1.Now()
	list[0].SetDeletionTimestamp(&now)
	list[0].SetFinalizers([]string{"example.com/clean"})
	if got := HealthOf(list[0]); got.State != Deleting || !strings.Contains(got.Reason, "example.com/clean") {
		t.Errorf("while it is deleted: %+v", got)
	}
}
