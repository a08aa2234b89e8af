package fields

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const shop = `
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations: [{rule: "size(self.metadata.name) < 9", message: short}]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, format: int32, minimum: 1, default: 2, description: how many}
              color: {type: string, enum: [red, green], x-kubernetes-validations: [{rule: "self != 'blue'", messageExpression: "'no'"}]}
              ratio: {type: number, exclusiveMinimum: true, minimum: 0}
              open: {type: boolean}
              port: {x-kubernetes-int-or-string: true}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
              more: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}
              made: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
              tags: {type: array, items: {type: string, minLength: 1}, maxItems: 3}
              dotted: {type: object, properties: {a.b: {type: string}}}
              labels: {type: object, additionalProperties: {type: string, enum: [b], pattern: a}}
              size2: {type: string, allOf: [{enum: [a, b, c], maxLength: 9}, {enum: [c, b]}]}
              address:
                type: object
                properties:
                  street: {type: string, pattern: "^[A-Z]"}
              doors:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name, kind]
                items: {type: object, required: [name], properties: {name: {type: string}}}
          status: {type: object}
`

func crd(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(shop), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// lines are the fields of all depths.
func lines(list []*Field) []string {
	var all []string
	for _, f := range list {
		line := fmt.Sprintf("%s: %s, %s", f.Path, f.Type, f.Input())
		for _, more := range append(append(f.Limits, f.Enum...), f.Default, f.Format) {
			if more != "" {
				line += ", " + more
			}
		}
		if f.Required {
			line += ", required"
		}
		all = append(append(all, line), lines(f.Fields)...)
	}
	return all
}

func TestOf(t *testing.T) {
	want := []string{
		"spec: object, group",
		"spec.address: object, group",
		"spec.address.street: string, text, matches ^[A-Z]",
		"spec.any: object, yaml, may have any other fields",
		"spec.color: string, choice, red, green",
		"spec.doors: list of object, yaml, list type map by name, kind",
		"spec.doors[].name: string, text, required",
		"spec.dotted: object, yaml",
		"spec.dotted.a.b: string, text",
		"spec.labels: map of string, yaml, each matches a, b",
		"spec.made: object, yaml",
		"spec.made.spec: object, yaml",
		"spec.more: object, yaml, may have any other fields",
		"spec.more.a: string, text",
		"spec.open: boolean, choice",
		"spec.port: integer or string, text",
		"spec.ratio: number, number, more than 0",
		"spec.size: integer, number, at least 1, 2, int32, required",
		"spec.size2: string, choice, at most 9 characters, b, c",
		"spec.tags: list of string, yaml, at most 3 items, each at least 1 character",
		"status: object, yaml",
	}
	if diff := cmp.Diff(want, lines(Of(crd(t), "v1"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Of(crd(t), "v2"); len(got) != 0 {
		t.Errorf("of a version that is not there: %v", got)
	}
	if got := Rules(crd(t), "v1"); len(got) != 1 || got[0].Message != "short" {
		t.Errorf("rules: %v", got)
	}
}

// TestFill: an object that a form shows comes back from it.
func TestFill(t *testing.T) {
	list := Of(crd(t), "v1")
	values := map[string]string{
		"spec.size": " 3 ", "spec.color": "red", "spec.ratio": "0.5", "spec.open": "false", "spec.port": "http",
		"spec.tags": "- a\n- b", "spec.labels": "x: z", "spec.address.street": "Main St\r\nBack", "spec.any": "deep: {m: 1}", "spec.more": "a: b\nc: d",
		"spec.dotted": "a.b: c",
	}
	got := map[string]any{}
	if err := Fill(got, nil, list, func(path string) string { return values[path] }); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"spec": map[string]any{
		"size": int64(3), "color": "red", "ratio": 0.5, "open": false, "port": "http", "tags": []any{"a", "b"},
		"labels": map[string]any{"x": "z"}, "address": map[string]any{"street": "Main St\nBack"}, "any": map[string]any{"deep": map[string]any{"m": int64(1)}}, "more": map[string]any{"a": "b", "c": "d"},
		"dotted": map[string]any{"a.b": "c"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	spec := got["spec"].(map[string]any)
	spec["address"], spec["size2"], spec["size"], spec["tags"] = map[string]any{"street": ""}, nil, nil, nil
	again := map[string]any{}
	shown := map[string]string{}
	var show func([]*Field)
	show = func(list []*Field) {
		for _, f := range list {
			if f.Input() == "group" {
				show(f.Fields)
			} else {
				shown[f.Path] = f.Text(got)
			}
		}
	}
	show(list)
	for _, path := range []string{"spec.address.street", "spec.size2", "spec.size", "spec.tags"} {
		if shown[path] != "" {
			t.Errorf("%s is shown as %q", path, shown[path])
		}
	}
	if err := Fill(again, got, list, func(path string) string { return shown[path] }); err != nil || !cmp.Equal(got, again) {
		t.Errorf("again: %v %v", again, err)
	}
}

func TestFillRefuses(t *testing.T) {
	for _, ratio := range []string{"x", "NaN", "Inf", "-infinity", "1e999"} {
		values := map[string]string{"spec.size": "many", "spec.ratio": ratio, "spec.tags": "[", "spec.color": "red"}
		err := Fill(map[string]any{}, nil, Of(crd(t), "v1"), func(path string) string { return values[path] })
		var bad Invalid
		if !errors.As(err, &bad) || len(bad) != 3 || !strings.Contains(bad["spec.size"], "whole number") || bad["spec.tags"] == "" {
			t.Errorf("Fill() with %s = %v", ratio, err)
		}
	}
}

func TestNearest(t *testing.T) {
	list := Of(crd(t), "v1")
	for path, want := range map[string]string{
		"spec.size": "spec.size", "spec": "spec", "spec.doors[0].name": "spec.doors", "spec.address.street": "spec.address.street",
		"spec.unknown": "spec", "metadata.name": "", "": "", "specific": "",
	} {
		if got := Nearest(list, path); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", path, got, want)
		}
	}
}
