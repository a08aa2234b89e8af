package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxChanges bounds the changes of one write.
	maxChanges = 100
	// maxText bounds a text in a change, in bytes.
	maxText = 1 << 10
)

// listKeys are fields by which the items of a list are told apart, the first
// one that all items have with different values.
var listKeys = []string{"name", "type", "uid", "key", "ip", "containerPort", "port", "mountPath", "topologyKey"}

// Diff lists the fields in which two objects, as in JSON, differ; a missing one
// is nil. Fields that the API server keeps for itself are left out.
func Diff(before, after map[string]any) []Change {
	d := differ{}
	d.object("", before, after)
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) add(path string, before, after any) {
	if len(d.changes) < maxChanges {
		d.changes = append(d.changes, Change{Path: path, Old: short(before), New: short(after)})
	}
}

func (d *differ) object(path string, before, after map[string]any) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		at := strings.TrimPrefix(path+"."+k, ".")
		if at == "metadata.managedFields" || at == "metadata.resourceVersion" || at == "metadata.generation" {
			continue
		}
		d.value(at, before[k], after[k])
	}
}

// value goes down to the smallest parts that differ. Lists whose entries have a key
// are compared by it, so that an entry in front does not change all behind it.
func (d *differ) value(path string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	if b, ok := before.(map[string]any); ok {
		if a, ok := after.(map[string]any); ok {
			d.object(path, b, a)
			return
		}
	}
	b, isList := before.([]any)
	a, stays := after.([]any)
	switch key := keyOf(b, a); {
	case isList && stays && key != "":
		d.keyed(path, key, b, a)
	case isList && stays && len(a) == len(b):
		for i := range a {
			d.value(path+"["+strconv.Itoa(i)+"]", b[i], a[i])
		}
	default:
		d.add(path, before, after)
	}
}

// keyed compares the items of two lists by a field, and their order where
// nothing else differs.
func (d *differ) keyed(path, key string, before, after []any) {
	known := len(d.changes)
	old := map[string]any{}
	var was, is []any
	for _, item := range before {
		id := identity(item, key)
		old[id], was = item, append(was, id)
	}
	for _, item := range after {
		id := identity(item, key)
		d.value(path+"["+id+"]", old[id], item)
		delete(old, id)
		is = append(is, id)
	}
	for _, id := range slices.Sorted(maps.Keys(old)) {
		d.add(path+"["+id+"]", old[id], nil)
	}
	if len(d.changes) == known {
		d.add(path, was, is)
	}
}

// keyOf is the field that tells the items of both lists apart, or empty.
func keyOf(lists ...[]any) string {
	for _, key := range listKeys {
		ok, some := true, false
		for _, list := range lists {
			seen := map[string]bool{}
			for _, item := range list {
				id := identity(item, key)
				ok = ok && id != "" && !seen[id]
				seen[id], some = true, true
			}
		}
		if ok && some {
			return key
		}
	}
	return ""
}

// identity is the value of an item's field, empty where there is none.
func identity(item any, key string) string {
	m, ok := item.(map[string]any)
	if !ok || m[key] == nil {
		return ""
	}
	return fmt.Sprint(m[key])
}

// short cuts a long text, at any depth.
func short(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > maxText {
			return strings.ToValidUTF8(v[:maxText], "") + "…"
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = short(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = short(item)
		}
		return out
	}
	return v
}

// Text is what a change did, for people, each value cut to so many characters. Of
// a list it says what was removed and added: of long ones, the beginnings are alike.
func (c Change) Text(most int) string {
	before, wasList := c.Old.([]any)
	after, isList := c.New.([]any)
	removed, added := without(before, after), without(after, before)
	switch {
	case !wasList || !isList || len(removed)+len(added) == 0:
		return ValueText(c.Old, most) + " → " + ValueText(c.New, most)
	case len(added) == 0:
		return "removed " + ValueText(removed, most)
	case len(removed) == 0:
		return "added " + ValueText(added, most)
	}
	return "removed " + ValueText(removed, most) + ", added " + ValueText(added, most)
}

// without are the items of a list that another one does not have.
func without(list, other []any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		return slices.ContainsFunc(other, func(o any) bool { return reflect.DeepEqual(item, o) })
	})
}

// ValueText is a value of a Change for people, cut to so many characters.
func ValueText(v any, most int) string {
	if v == nil {
		return "none"
	}
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	text := []rune(strings.TrimSuffix(data.String(), "\n"))
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// lastApplied is where kubectl apply keeps the whole object once more.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Redact returns the object without the values of a Secret. Each becomes a hash
// with the salt, so that equal values are still seen to be equal.
func Redact(kind string, object map[string]any, salt []byte) map[string]any {
	if kind != "Secret" || object == nil {
		return object
	}
	out := maps.Clone(object)
	for _, field := range []string{"data", "stringData"} {
		if values, ok := out[field].(map[string]any); ok {
			hidden := make(map[string]any, len(values))
			for k, v := range values {
				hidden[k] = digest(v, salt)
			}
			out[field] = hidden
		}
	}
	meta, _ := out["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	if notes[lastApplied] != nil {
		meta, notes = maps.Clone(meta), maps.Clone(notes)
		notes[lastApplied] = digest(notes[lastApplied], salt)
		meta["annotations"], out["metadata"] = notes, meta
	}
	return out
}

func digest(v any, salt []byte) string {
	const shown = 6 // bytes
	sum := sha256.Sum256(append(slices.Clone(salt), fmt.Sprint(v)...))
	return fmt.Sprintf("hidden:%x", sum[:shown])
}
