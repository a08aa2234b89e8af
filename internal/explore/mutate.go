package explore

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxDepth is how far below spec properties are looked for: pod templates go on
// for ever.
const maxDepth = 6

type mutation struct {
	path    []string // below the object
	note    string
	value   any        // nil removes the property
	enabled [][]string // switches that are turned on with it, without which it has no effect
	cost    int        // the dearer, the later
}

// apply returns a changed copy of an object; nil where it does not fit.
func (m mutation) apply(object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	for _, path := range m.enabled {
		if unstructured.SetNestedField(out, true, path...) != nil {
			return nil
		}
	}
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
	object  map[string]any
	enabled [][]string // switches above where it is
	all     []mutation
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
		if strings.Contains(note, "\n") {
			note = fmt.Sprintf("%s: %q", strings.Join(path, "."), v)
		}
		if v == nil {
			note = "no " + strings.Join(path, ".")
		}
		g.all = append(g.all, mutation{path: slices.Clone(path), note: note, value: v, enabled: g.enabled, cost: cost})
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
	above, off := g.enabled, g.switchedOff(properties, path)
	defer func() { g.enabled = above }()
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if g.enabled = above; off != nil && name != off[len(off)-1] {
			g.enabled = append(slices.Clone(above), off)
		}
		if p, ok := properties[name].(map[string]any); ok {
			g.property(p, append(slices.Clone(path), name), slices.Contains(required, name))
		}
	}
}

// switchedOff is the path of the switch among properties that has to be on for
// the others to have an effect; nil where there is none, or it is on.
func (g *generator) switchedOff(properties map[string]any, path []string) []string {
	for _, name := range []string{"enabled", "enable"} {
		p, _ := properties[name].(map[string]any)
		if p["type"] != "boolean" {
			continue
		}
		at := append(slices.Clone(path), name)
		now, found, _ := unstructured.NestedFieldNoCopy(g.object, at...)
		if !found {
			now = p["default"]
		}
		if now != true {
			return at
		}
	}
	return nil
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
	if have, ok := now.([]any); ok {
		g.items(schema, path, have)
	}
	if now != nil || coreValue(schema) == nil {
		g.walk(schema, path)
	}
}

// items changes the first item of a list, property by property.
func (g *generator) items(schema map[string]any, path []string, have []any) {
	items, _ := schema["items"].(map[string]any)
	if len(have) == 0 || len(path) >= maxDepth {
		return
	}
	first, ok := have[0].(map[string]any)
	if !ok {
		return
	}
	of := &generator{object: first}
	of.walk(items, nil)
	for _, m := range of.all {
		changed := slices.Clone(have)
		if changed[0] = m.apply(first); changed[0] == nil {
			continue
		}
		at := strings.Join(path, ".") + "[0]."
		note := at + m.note
		if m.value == nil {
			note = "no " + at + strings.Join(m.path, ".")
		}
		g.all = append(g.all, mutation{path: path, note: note, value: changed, enabled: g.enabled, cost: len(path) + 1 + m.cost})
	}
}
