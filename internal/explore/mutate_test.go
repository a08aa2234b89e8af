package explore

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/fields"
)

const shopCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  names: {kind: Shop, plural: shops}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            required: [mode, size]
            properties:
              mode: {type: string, enum: [slow, fast]}
              size: {type: integer, minimum: 1, maximum: 5}
              open: {type: boolean}
              image: {type: string}
              backupSchedule: {type: string}
              tags: {type: array, items: {type: string}}
              labels: {type: object, additionalProperties: {type: string}}
              limits:
                type: object
                required: [memory]
                properties:
                  memory: {x-kubernetes-int-or-string: true, pattern: "^[0-9]+(Ki|Mi|Gi)$"}
                  cpu: {type: string}
`

const shop = "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: s}\nspec: {mode: slow, size: 3, tags: [a, b]}\n"

// TestMutations: what a property may be besides, and never what the schema
// forbids.
func TestMutations(t *testing.T) {
	crd, sample := object(t, shopCRD), object(t, shop)
	all := mutated(t, crd, sample, 1)
	var notes []string
	for _, m := range all {
		notes = append(notes, m.note)
		if m.apply(sample.Object) == nil {
			t.Errorf("%s does not apply", m.note)
		}
	}
	slices.Sort(notes)
	if d := cmp.Diff([]string{
		"no spec.tags", "spec.backupSchedule: 30 4 * * *", "spec.backupSchedule: @weekly", "spec.image: registry.example.com/other:v2", "spec.labels: map[explored:changed]",
		"spec.limits.cpu: changed", "spec.limits.memory: 100m", "spec.limits.memory: 2Gi", "spec.limits: map[memory:2Gi]",
		"spec.mode: fast", "spec.open: true", "spec.size: 1", "spec.size: 2", "spec.size: 4", "spec.size: 5", "spec.tags: []", "spec.tags: [a b changed]", "spec.tags: [b a]", "spec.tags: [b]",
	}, notes); d != "" {
		t.Errorf("mutations (-want +got):\n%s", d)
	}
	if sample.Object["spec"].(map[string]any)["size"] != int64(3) {
		t.Error("the sample has changed")
	}
}

func mutated(t *testing.T, crd, sample *unstructured.Unstructured, seed uint64) []mutation {
	t.Helper()
	return mutationsOf(fields.Schema(crd, "v1"), sample.Object, seed)
}

// TestSeed: the same seed has the same order, another one another.
func TestSeed(t *testing.T) {
	crd, sample := object(t, shopCRD), object(t, shop)
	order := func(seed uint64) (list []string) {
		for _, m := range mutated(t, crd, sample, seed) {
			list = append(list, m.note)
		}
		return list
	}
	if d := cmp.Diff(order(7), order(7)); d != "" {
		t.Errorf("the same seed:\n%s", d)
	}
	if slices.Equal(order(7), order(8)) {
		t.Error("another seed has the same order")
	}
}

// TestMutations_inside: items of lists and entries of maps are changed too, and what
// is behind a switch only together with the switch.
func TestMutations_texts(t *testing.T) {
	crd := object(t, `{"kind": "CustomResourceDefinition", "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {
		"imagePullPolicy": {"type": "string"}, "image": {"type": "string"}, "text": {"type": "string"}}}}}}}]}}`)
	notes := map[string]bool{}
	for _, m := range mutated(t, crd, object(t, `{"kind": "Shop", "spec": {"text": "a\nb"}}`), 1) {
		notes[m.note] = true
	}
	for _, want := range []string{"spec.imagePullPolicy: Always", "spec.image: registry.example.com/other:v2", `spec.text: "a\nbx"`} {
		if !notes[want] {
			t.Errorf("%q is not among %v", want, notes)
		}
	}
}

func TestMutations_inside(t *testing.T) {
	crd := object(t, `{"kind": "CustomResourceDefinition", "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {
		"listeners": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "on": {"type": "boolean"}}}},
		"labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"tls": {"type": "object", "properties": {"enabled": {"type": "boolean"}, "secret": {"type": "string", "enum": ["own"]}}}}}}}}}]}}`)
	sample := object(t, `{"kind": "Shop", "spec": {"listeners": [{"name": "a", "on": true}, {"name": "b"}], "labels": {"x": "1", "y": "2"}}}`)
	want := map[string]string{
		"spec.listeners[0].on: false":                `{"labels":{"x":"1","y":"2"},"listeners":[{"name":"a","on":false},{"name":"b"}]}`,
		"no spec.listeners[0].on":                    `{"labels":{"x":"1","y":"2"},"listeners":[{"name":"a"},{"name":"b"}]}`,
		"spec.labels: map[x:1x y:2]":                 `{"labels":{"x":"1x","y":"2"},"listeners":[{"name":"a","on":true},{"name":"b"}]}`,
		"spec.labels: map[y:2]":                      `{"labels":{"y":"2"},"listeners":[{"name":"a","on":true},{"name":"b"}]}`,
		"spec.tls.enabled: true":                     `{"labels":{"x":"1","y":"2"},"listeners":[{"name":"a","on":true},{"name":"b"}],"tls":{"enabled":true}}`,
		"spec.tls.secret: own":                       `{"labels":{"x":"1","y":"2"},"listeners":[{"name":"a","on":true},{"name":"b"}],"tls":{"enabled":true,"secret":"own"}}`,
		"spec.listeners[0].name: ax":                 `{"labels":{"x":"1","y":"2"},"listeners":[{"name":"ax","on":true},{"name":"b"}]}`,
		"spec.listeners: [map[name:b]]":              `{"labels":{"x":"1","y":"2"},"listeners":[{"name":"b"}]}`,
		"no spec.labels":                             `{"listeners":[{"name":"a","on":true},{"name":"b"}]}`,
		"spec.labels: map[explored:changed x:1 y:2]": `{"labels":{"explored":"changed","x":"1","y":"2"},"listeners":[{"name":"a","on":true},{"name":"b"}]}`,
	}
	got := map[string]string{}
	for _, m := range mutated(t, crd, sample, 1) {
		if want[m.note] == "" {
			continue
		}
		data, err := json.Marshal(m.apply(sample.Object)["spec"])
		if err != nil {
			t.Fatal(err)
		}
		got[m.note] = string(data)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestMinimal: what the schema asks for, within its bounds, and no more.
func TestMinimal(t *testing.T) {
	crd := object(t, `{"kind": "CustomResourceDefinition", "spec": {"group": "example.com", "names": {"kind": "Shop"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
		"properties": {"spec": {"type": "object", "required": ["size", "kind", "parts"], "properties": {
			"size": {"type": "integer", "minimum": 3}, "kind": {"type": "string", "enum": ["small", "large"]}, "other": {"type": "string"},
			"parts": {"type": "object", "required": ["color"], "properties": {"color": {"type": "string", "default": "red"}}}}}}}}}]}}`)
	want := object(t, `{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "shop-sample"}, "spec": {"size": 3, "kind": "small", "parts": {"color": "red"}}}`)
	if d := cmp.Diff(want, Minimal(crd)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
