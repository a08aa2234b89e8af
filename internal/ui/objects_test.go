package ui

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/manifests"
	"github.com/example/mysdk/internal/objects"
	"github.com/example/mysdk/internal/recording"
)

// snapshotOf is a cluster with those objects.
func snapshotOf(list ...*unstructured.Unstructured) objects.Snapshot {
	now := objects.Snapshot{Objects: map[objects.Key]*unstructured.Unstructured{}}
	for _, u := range list {
		now.Objects[objects.KeyOf(u)] = u
	}
	return now
}

// TestVersionOfForm: a form has the fields of the version that it is filled from.
func TestVersionOfForm(t *testing.T) {
	crd := parseObjects(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  names: {kind: Shop, plural: shops}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {old: {type: string}, status: {type: object}}}}}
  - {name: v2, served: true, schema: {openAPIV3Schema: {type: object, properties: {new: {type: string}, status: {type: object}}}}}
`)[0]
	object := parseObjects(t, "apiVersion: example.com/v2\nkind: Shop\nmetadata: {name: s, namespace: default}\nnew: x\n")[0]
	sample := []manifests.File{{Objects: []*unstructured.Unstructured{object}}}
	key := objects.Key{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Shop"}, Namespace: "default", Name: "s"}
	inDefault := key
	inDefault.Namespace = ""
	for name, tc := range map[string]struct {
		now     objects.Snapshot
		key     objects.Key
		samples []manifests.File
		field   string
		exists  bool
	}{
		"of the object":                {snapshotOf(crd, object), key, nil, "new", true},
		"of one without its namespace": {snapshotOf(crd, object), inDefault, nil, "new", true},
		"of the sample":                {snapshotOf(crd), key, sample, "new", false},
		"of neither":                   {snapshotOf(crd), key, nil, "old", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := formOf(tc.now, crd, tc.key, tc.samples)
			if len(f.Fields) != 1 || f.Fields[0].Name != tc.field || f.Exists != tc.exists {
				t.Fatalf("version %s, exists: %v, fields: %v", f.Version, f.Exists, f.Fields)
			}
			if want := map[string]string{"new": "x"}[tc.field]; f.Fields[0].Text(f.Object) != want || f.Version != map[string]string{"new": "v2", "old": "v1"}[tc.field] {
				t.Errorf("version %s with %q, want %q", f.Version, f.Fields[0].Text(f.Object), want)
			}
		})
	}
}

// TestOutsideTrees: what is in no tree has a page, too.
func TestOutsideTrees(t *testing.T) {
	now := snapshotOf(parseObjects(t, `
apiVersion: v1
kind: Event
metadata: {name: e, namespace: default, uid: e}
`)...)
	for key := range now.Objects {
		if d := detailOf(now, key, recording.Recording{}); d.Node == nil || d.Node.Health.State != objects.Ready {
			t.Errorf("%s: %+v", key, d.Node)
		}
	}
}

// TestAuthor: who created an object that was created before, too.
func TestAuthor(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	create := func(second int64) recording.Request {
		return recording.Request{Time: at(second), Verb: "create", Kind: "Shop", Resource: "shops", Name: "s", Code: 201}
	}
	rec := recording.Recording{Requests: []recording.Request{create(10), create(20)}}
	for second, want := range map[int64]int{11: 0, 21: 1} {
		c := objects.Change{Key: objects.Key{GroupKind: schema.GroupKind{Kind: "Shop"}, Name: "s"}, Effect: "created", Time: at(second)}
		if got := author(rec, c).Request; got != &rec.Requests[want] {
			t.Errorf("at %d: %+v", second, got)
		}
	}
}
