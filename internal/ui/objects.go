package ui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/fields"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/objects"
	"github.com/example/mysdk/internal/recording"
)

const (
	// allNamespaces and ownKinds are values of the parameter namespace: all, and
	// objects of the project's kinds only, in whichever namespace.
	allNamespaces, ownKinds = "*", ""
	// changesShown bounds the changes of an object that are shown.
	changesShown = 30
)

func renderObjects(_ context.Context, r *Request) (any, error) {
	now := r.Mirror.Now()
	if key := keyFrom(r.Query); key.Name != "" {
		return objectsData{Ready: now.Ready, Object: detailOf(now, key, r.Recording)}, nil
	}
	return objectsData{Ready: now.Ready, Trees: forest(now, r.Query.Get("namespace")), Namespaces: namespaces(now), Namespace: r.Query.Get("namespace")}, nil
}

// objectsData is the page's data: trees, or one object.
type objectsData struct {
	Ready      bool
	Namespaces []string
	Namespace  string
	Trees      []*objects.Node
	Object     *objectDetail
}

type objectDetail struct {
	objects.Key
	Gone       bool
	Node       *objects.Node // nil if it is gone
	Owners     []objects.Key
	Conditions []conditionRow
	Events     []eventRow
	Changes    []authored
	YAML       string
}

type conditionRow struct{ Type, Status, Reason, Message, Since string }

// Bad reports whether the condition speaks against the object.
func (c conditionRow) Bad() bool {
	negative := slices.Contains([]string{"Degraded", "Stalled", "ReplicaFailure", "Failed"}, c.Type)
	return negative && c.Status == "True" || !negative && c.Type != "Progressing" && c.Status == "False"
}

type eventRow struct {
	Type, Reason, Message, Last string
	Count                       int64
}

type authored struct {
	objects.Change
	Request *recording.Request // nil: not recorded
}

// forest are the trees of a namespace. In one, objects are roots whose owner has
// no namespace.
func forest(now objects.Snapshot, namespace string) []*objects.Node {
	own := now.Custom()
	trees := objects.Tree(inNamespace(now.Objects, namespace))
	if namespace == ownKinds {
		trees = slices.DeleteFunc(trees, func(n *objects.Node) bool { return !own[n.GroupKind] })
	}
	slices.SortStableFunc(trees, func(a, b *objects.Node) int {
		return cmp.Or(-compareBool(own[a.GroupKind], own[b.GroupKind]), -compareBool(len(a.Owned) > 0, len(b.Owned) > 0))
	})
	return trees
}

// inNamespace picks the objects of one namespace; of all for the other values of
// the parameter.
func inNamespace(objs map[objects.Key]*unstructured.Unstructured, namespace string) map[objects.Key]*unstructured.Unstructured {
	if namespace == allNamespaces || namespace == ownKinds {
		return objs
	}
	picked := maps.Clone(objs)
	maps.DeleteFunc(picked, func(key objects.Key, _ *unstructured.Unstructured) bool { return key.Namespace != namespace })
	return picked
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	rank := map[bool]int{true: 1}
	return cmp.Compare(rank[a], rank[b])
}

func namespaces(now objects.Snapshot) []string {
	var list []string
	for key := range now.Objects {
		if key.Kind == "Namespace" && key.Group == "" {
			list = append(list, key.Name)
		}
	}
	slices.Sort(list)
	return list
}

// keyFrom is the object that an address or a form names; the zero key: none.
func keyFrom(v url.Values) objects.Key {
	return objects.Key{GroupKind: schema.ParseGroupKind(v.Get("kind")), Namespace: v.Get("namespace"), Name: v.Get("name")}
}

func objectURL(key objects.Key) string { return "/objects?" + objectQuery(key).Encode() }

func objectQuery(key objects.Key) url.Values {
	v := url.Values{"kind": {key.GroupKind.String()}, "name": {key.Name}}
	if key.Namespace != "" {
		v.Set("namespace", key.Namespace)
	}
	return v
}

func detailOf(now objects.Snapshot, key objects.Key, rec recording.Recording) *objectDetail {
	d := &objectDetail{Key: key}
	for _, c := range now.Of(key) {
		if len(d.Changes) < changesShown {
			d.Changes = append(d.Changes, author(rec, c))
		}
	}
	u := now.Objects[key]
	if u == nil {
		d.Gone = true
		return d
	}
	if d.Node = objects.Find(objects.Tree(now.Objects), key); d.Node == nil { // such as an Event
		d.Node = &objects.Node{Key: key, Object: u, Health: objects.HealthOf(u)}
	}
	for _, ref := range u.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil {
			continue
		}
		owner := objects.Key{GroupKind: schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, Namespace: key.Namespace, Name: ref.Name}
		if now.Objects[owner] == nil {
			owner.Namespace = ""
		}
		d.Owners = append(d.Owners, owner)
	}
	d.Conditions, d.Events = conditionsOf(u), eventsOf(now, u)
	d.YAML, _ = indented(u.Object) // it comes from JSON
	return d
}

func conditionsOf(u *unstructured.Unstructured) []conditionRow {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	var rows []conditionRow
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string { s, _ := m[key].(string); return s }
		rows = append(rows, conditionRow{text("type"), text("status"), text("reason"), text("message"), text("lastTransitionTime")})
	}
	return rows
}

func eventsOf(now objects.Snapshot, u *unstructured.Unstructured) []eventRow {
	var rows []eventRow
	for _, e := range now.Events(u) {
		text := func(key string) string { s, _, _ := unstructured.NestedString(e.Object, key); return s }
		count, _, _ := unstructured.NestedInt64(e.Object, "count")
		rows = append(rows, eventRow{text("type"), text("reason"), text("message"), cmp.Or(text("lastTimestamp"), text("eventTime")), count})
	}
	return rows
}

// author finds the request that made a change: the one for the object as it was
// before.
func author(rec recording.Recording, c objects.Change) authored {
	for i, q := range slices.Backward(rec.Requests) {
		if q.Name != c.Name || q.Namespace != c.Namespace || q.Group != c.Group || q.DryRun || !q.Writes() || q.Code >= 300 || q.Time.After(c.Time) {
			continue
		}
		if c.Before != "" && q.Revision == c.Before || c.Effect == "created" && q.Effect() == "created" && q.Kind == c.Kind {
			return authored{c, &rec.Requests[i]}
		}
	}
	return authored{Change: c}
}

// replicasOf is the wanted number of replicas of an object, where its kind has
// one: empty otherwise.
func replicasOf(now objects.Snapshot, u *unstructured.Unstructured) string {
	path := "spec.replicas"
	if crd := crdOf(now, objects.KeyOf(u).GroupKind); crd != nil {
		path = cmp.Or(scalePath(crd), path)
	}
	n, ok, err := unstructured.NestedInt64(u.Object, strings.Split(path, ".")...)
	if !ok || err != nil {
		return ""
	}
	return fmt.Sprint(n)
}

// scalePath is where objects of a CRD have the number that scale sets.
func scalePath(crd *unstructured.Unstructured) string {
	for _, v := range fields.Versions(crd) {
		if path, ok, _ := unstructured.NestedString(v, "subresources", "scale", "specReplicasPath"); ok {
			return strings.TrimPrefix(path, ".")
		}
	}
	return ""
}

// crdOf is the definition of a kind; nil: it is built in.
func crdOf(now objects.Snapshot, gk schema.GroupKind) *unstructured.Unstructured {
	for _, crd := range now.CRDs() {
		if kube.ServedKind(crd).GroupKind() == gk {
			return crd
		}
	}
	return nil
}

// ownObjects are the objects of kinds that CRDs define, in order.
func ownObjects(now objects.Snapshot) []*objects.Node {
	own := now.Custom()
	var list []*objects.Node
	var walk func([]*objects.Node)
	walk = func(nodes []*objects.Node) {
		for _, n := range nodes {
			if own[n.GroupKind] {
				list = append(list, n)
			}
			walk(n.Owned)
		}
	}
	walk(objects.Tree(now.Objects))
	return list
}
