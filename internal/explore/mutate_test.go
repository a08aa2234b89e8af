package explore

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	all := mutationsOf(schemaOf(crd, "v1"), sample.Object, 1)
	var notes []string
	for _, m := range all {
		notes = append(notes, m.note)
		if m.apply(sample.Object) == nil {
			t.Errorf("%s does not apply", m.note)
		}
	}
	slices.Sort(notes)
	if d := cmp.Diff([]string{
		"no spec.tags", "spec.image: registry.example.com/other:v2", "spec.labels: map[explored:changed]",
		"spec.limits.cpu: changed", "spec.limits.memory: 100m", "spec.limits.memory: 2Gi", "spec.limits: map[memory:2Gi]",
		"spec.mode: fast", "spec.open: true", "spec.size: 1", "spec.size: 2", "spec.size: 4", "spec.size: 5", "spec.tags: [a b changed]", "spec.tags: [b a]", "spec.tags: [b]",
	}, notes); d != "" {
		t.Errorf("mutations (-want +got):\n%s", d)
	}
	if sample.Object["spec"].(map[string]any)["size"] != int64(3) {
		t.Error("the sample has changed")
	}
}

// TestSeed: the same seed has the same order, another one another.
func TestSeed(t *testing.T) {
	crd, sample := object(t, shopCRD), object(t, shop)
	order := func(seed uint64) (list []string) {
		for _, m := range mutationsOf(schemaOf(crd, "v1"), sample.Object, seed) {
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

// TestMinimal: what the schema asks for, within its bounds, and no more.
func TestMinimal(t *testing.T) {
	crd := object(t, `{"kind": "CustomResourceDefinition", "spec": {"group": "example.com", "names": {"kind": "Shop"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
		"properties": {"spec": {"type": "object", "required": ["size", "kind", "parts"], "properties": {
			"size": {"type": "integer", "minimum": 3}, "kind": {"type": "string", "enum": ["small", "large"]}, "other": {"type": "string"},
			"parts": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "default": "p"}}}}}}}}}]}}`)
	want := object(t, `{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "shop-sample"}, "spec": {"size": 3, "kind": "small", "parts": {"name": "p"}}}`)
	if d := cmp.Diff(want, Minimal(crd)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
