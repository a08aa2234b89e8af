package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
	low, hasLow, _ := unstructured.NestedNumberAsFloat64(schema, "minimum") // what is no number bounds nothing
	high, hasHigh, _ := unstructured.NestedNumberAsFloat64(schema, "maximum")
	within := func(v int64) bool { return (!hasLow || float64(v) >= low) && (!hasHigh || float64(v) <= high) }
	var list []any
	for _, v := range []int64{value + 2, value + 1, value - 1, 0, 1, int64(low)} {
		if within(v) && v >= 0 && !slices.Contains(list, any(v)) {
			list = append(list, v)
		}
	}
	return list
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
	case strings.HasSuffix(lower, "schedule") || strings.HasSuffix(lower, "cron"):
		return []any{"30 4 * * *", "@weekly"}
	case coreTexts[lower] != nil:
		return slices.Clone(coreTexts[lower])
	case strings.Contains(lower, "image"):
		return []any{"registry.example.com/other:v2"}
	case strings.HasSuffix(lower, "size") || strings.Contains(lower, "storage") || strings.Contains(lower, "memory"):
		return append(quantities(schema, now), text+"x")
	}
	if text == "" {
		return []any{"changed"}
	}
	return []any{text + "x", "changed", ""}
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
		out = append(out, turned, []any{})
	}
	return out
}

// objectsFor are maps with other entries, and objects that are not there yet.
func objectsFor(schema map[string]any, now any) []any {
	have, _ := now.(map[string]any)
	if of, ok := schema["additionalProperties"].(map[string]any); ok {
		return entries(of, have)
	}
	if have != nil {
		return nil // its properties are changed one by one
	}
	if one, ok := minimal(schema, "").(map[string]any); ok && len(one) > 0 {
		return []any{one} // an empty one says as much as none
	}
	return nil
}

// entries are maps with an entry more, another value, and an entry less.
func entries(of map[string]any, have map[string]any) []any {
	var out []any
	with := func(key string, v any) {
		other := map[string]any{}
		maps.Copy(other, have)
		other[key] = v
		out = append(out, other)
	}
	keys := slices.Sorted(maps.Keys(have))
	if key := freshKey(of, have); key != "" {
		if v := minimal(of, key); v != nil {
			with(key, v)
		}
	}
	if len(keys) == 0 {
		return out
	}
	for _, v := range valuesFor(of, keys[0], have[keys[0]]) {
		if fmt.Sprint(v) != fmt.Sprint(have[keys[0]]) {
			with(keys[0], v)
			break
		}
	}
	less := maps.Clone(have)
	delete(less, keys[0])
	return append(out, less)
}

// freshKey is a key that a map does not have; of resources one that pods may ask
// for, and none where storage is asked for.
func freshKey(of map[string]any, have map[string]any) string {
	if of["x-kubernetes-int-or-string"] != true {
		return "explored"
	}
	if have["storage"] != nil {
		return ""
	}
	for _, key := range []string{"memory", "cpu"} {
		if have[key] == nil {
			return key
		}
	}
	return ""
}

// minimal is a value that a schema asks for at least, or one of the type of
// Kubernetes' own that it is; nil where that is not known.
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
	if v := coreValue(schema); v != nil {
		return v
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
