package explore

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxDepth is how far below spec properties are looked for: pod templates go on
// for ever.
const maxDepth = 6

// mutation is a change of one property of an object.
type mutation struct {
	path  []string // below the object
	note  string
	value any // nil removes the property
	cost  int // the dearer, the later
}

// apply returns a changed copy of an object; nil where it does not fit.
func (m mutation) apply(object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	if m.value == nil {
		if _, found, err := unstructured.NestedFieldNoCopy(out, m.path...); err != nil || !found {
			return nil
		}
		unstructured.RemoveNestedField(out, m.path...)
		return out
	}
	if unstructured.SetNestedField(out, runtime.DeepCopyJSONValue(m.value), m.path...) != nil {
		return nil
	}
	return out
}

// schemaOf is the schema of a version of a CRD; nil where it has none.
func schemaOf(crd *unstructured.Unstructured, version string) map[string]any {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if m, ok := v.(map[string]any); ok && m["name"] == version {
			s, _, _ := unstructured.NestedMap(m, "schema", "openAPIV3Schema")
			return s
		}
	}
	return nil
}

// mutationsOf are changes of the properties below spec: what an operator makes up
// its mind about is at the top, and what it hands through lies deep, so that the
// top comes first, a property that has a value before one that has none, and a
// first value before a second one. Among equals the seed decides.
func mutationsOf(schema, object map[string]any, seed uint64) []mutation {
	g := &generator{object: object}
	spec, _, _ := unstructured.NestedMap(schema, "properties", "spec")
	g.walk(spec, []string{"spec"})
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same seed is to give the same plan
	random.Shuffle(len(g.all), func(i, j int) { g.all[i], g.all[j] = g.all[j], g.all[i] })
	slices.SortStableFunc(g.all, func(a, b mutation) int { return cmp.Compare(a.cost, b.cost) })
	return g.all
}

type generator struct {
	object map[string]any
	all    []mutation
}

// add takes the values that a property may be given besides the one it has.
func (g *generator) add(path []string, now any, values ...any) {
	cost := len(path)
	if now == nil {
		cost++
	}
	for _, v := range values {
		if fmt.Sprint(v) == fmt.Sprint(now) && v != nil || v == nil && now == nil {
			continue
		}
		note := fmt.Sprintf("%s: %v", strings.Join(path, "."), v)
		if v == nil {
			note = "no " + strings.Join(path, ".")
		}
		g.all = append(g.all, mutation{slices.Clone(path), note, v, cost})
		cost++
	}
}

// walk goes through the properties of a schema.
func (g *generator) walk(schema map[string]any, path []string) {
	properties, _, _ := unstructured.NestedMap(schema, "properties")
	if len(path) > maxDepth {
		return
	}
	required, _, _ := unstructured.NestedStringSlice(schema, "required")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if p, ok := properties[name].(map[string]any); ok {
			g.property(p, append(slices.Clone(path), name), slices.Contains(required, name))
		}
	}
}

func (g *generator) property(schema map[string]any, path []string, required bool) {
	now, _, err := unstructured.NestedFieldNoCopy(g.object, path...)
	if err != nil {
		return // a part of the path is something else
	}
	byDefault := schema["default"]
	removable := !required && now != nil && fmt.Sprint(now) != fmt.Sprint(byDefault)
	if now == nil {
		now = byDefault
	}
	values := valuesFor(schema, path[len(path)-1], now)
	if removable {
		values = append(values, nil)
	}
	g.add(path, now, values...)
	g.walk(schema, path)
}

// valuesFor are values of a property's type, the likeliest to matter first.
func valuesFor(schema map[string]any, name string, now any) []any {
	if enum, ok := schema["enum"].([]any); ok {
		return slices.Clone(enum)
	}
	if schema["x-kubernetes-int-or-string"] == true {
		if strings.Contains(fmt.Sprint(schema["pattern"]), "Ki|Mi|Gi") || strings.Contains(fmt.Sprint(schema["pattern"]), "[KMGTPE]i") {
			return quantities(schema, now)
		}
		return []any{int64(1), "50%"}
	}
	switch schema["type"] {
	case "integer", "number":
		return integers(schema, now)
	case "boolean":
		return []any{now != true}
	case "string":
		return texts(schema, name, now)
	case "array":
		return lists(schema, now)
	case "object":
		return objectsFor(schema, now)
	}
	return nil
}

// integers go up and down within the bounds.
func integers(schema map[string]any, now any) []any {
	value, ok := now.(int64)
	if !ok {
		value, _ = schema["default"].(int64)
	}
	least, _ := number(schema["minimum"])
	within := func(v int64) bool {
		low, hasLow := number(schema["minimum"])
		high, hasHigh := number(schema["maximum"])
		return (!hasLow || v >= low) && (!hasHigh || v <= high)
	}
	var list []any
	for _, v := range []int64{value + 2, value + 1, value - 1, 0, 1, least} {
		if within(v) && v >= 0 && !slices.Contains(list, any(v)) {
			list = append(list, v)
		}
	}
	return list
}

func number(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	}
	return 0, false
}

// texts are strings that fit the name or the format.
func texts(schema map[string]any, name string, now any) []any {
	text, _ := now.(string)
	lower := strings.ToLower(name)
	switch {
	case schema["format"] == "date-time":
		return []any{"2030-01-01T00:00:00Z"}
	case schema["format"] == "duration" || strings.HasSuffix(lower, "timeout") || strings.HasSuffix(lower, "interval"):
		return []any{"30s", "5m"}
	case strings.Contains(lower, "image"):
		return []any{"registry.example.com/other:v2"}
	case strings.HasSuffix(lower, "size") || strings.Contains(lower, "storage") || strings.Contains(lower, "memory"):
		return append(quantities(schema, now), text+"x")
	}
	if text == "" {
		return []any{"changed"}
	}
	return []any{text + "x", "changed"}
}

// quantities are twice and half of what a property has, or usual ones.
func quantities(schema map[string]any, now any) []any {
	if now == nil {
		now = schema["default"]
	}
	twice, err := resource.ParseQuantity(fmt.Sprint(now))
	if err != nil {
		return []any{"2Gi", "100m"}
	}
	half := resource.NewMilliQuantity(twice.MilliValue()/2, twice.Format)
	twice.Add(twice)
	return []any{twice.String(), half.String()}
}

// lists lose and gain an item, and are reordered.
func lists(schema map[string]any, now any) []any {
	items, _ := schema["items"].(map[string]any)
	have, _ := now.([]any)
	var out []any
	if one := minimal(items, "item"); one != nil {
		out = append(out, append(slices.Clone(have), one))
	}
	if len(have) > 0 {
		out = append(out, slices.Clone(have[1:]))
	}
	if len(have) > 1 {
		turned := slices.Clone(have)
		slices.Reverse(turned)
		out = append(out, turned)
	}
	return out
}

// objectsFor are maps with one more entry, and objects that are not there yet.
func objectsFor(schema map[string]any, now any) []any {
	have, _ := now.(map[string]any)
	if extra, ok := schema["additionalProperties"].(map[string]any); ok {
		more := maps.Clone(have)
		if more == nil {
			more = map[string]any{}
		}
		if more["explored"] = minimal(extra, "explored"); more["explored"] != nil {
			return []any{more}
		}
		return nil
	}
	if have != nil {
		return nil // its properties are changed one by one
	}
	if one, ok := minimal(schema, "").(map[string]any); ok && len(one) > 0 {
		return []any{one} // an empty one says as much as none
	}
	return nil
}

// minimal is a value that a schema asks for at least; nil where that is not
// known.
func minimal(schema map[string]any, name string) any {
	if d, ok := schema["default"]; ok {
		return d
	}
	if schema["type"] != "object" {
		for _, v := range valuesFor(schema, name, nil) {
			return v
		}
		return nil
	}
	out := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _, _ := unstructured.NestedStringSlice(schema, "required")
	for _, name := range required {
		p, _ := properties[name].(map[string]any)
		v := minimal(p, name)
		if v == nil {
			return nil
		}
		out[name] = v
	}
	return out
}
