package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Record remembers what was generated into a base: for each owned CRD, the
// hash of each field's value. A value with its hash is renewed when the Go
// types change; any other is its author's.
type Record map[string]map[string]string

// hash is a short hash of a value. It only has to tell one text of an author's
// from one of this package's, so 48 bits are plenty, and short lines are kinder
// to those who review the record's diff.
func hash(v any) string {
	data, _ := json.Marshal(v) // what was read from JSON, and maps in the order of their keys
	return fmt.Sprintf("%.6x", sha256.Sum256(data))
}

// Merged is a base with the descriptions of the Go types in it.
type Merged struct {
	Base   *unstructured.Unstructured
	Record Record
	// Described says where the fields that are not the author's come from, by
	// CRD and field; it is for Input.Described.
	Described map[string]string
	// Kept are fields in which the base differs from the Go types, one line each: the base wins.
	Kept []string
	// Unrecorded says that the base was there and nothing told whose its texts
	// are: in a base of operator-sdk's, those in Kept may be of types as they
	// once were.
	Unrecorded bool
}

// Merge puts the descriptions into a base. What the base's author wrote stays;
// what an earlier Merge wrote, as the record tells, follows the Go types. With a
// nil record, as for a base of operator-sdk's, every text that differs from the
// types counts as the author's. The base given is not changed.
func Merge(base *unstructured.Unstructured, descriptions []Description, record Record) *Merged {
	m := &Merged{Base: base.DeepCopy(), Record: Record{}, Described: map[string]string{}}
	old := objectsAt(m.Base.Object, "spec", "customresourcedefinitions", "owned")
	type placed struct {
		entry object
		order int
	}
	var list []placed
	used := map[string]bool{}
	descriptions = slices.Clone(descriptions)
	slices.SortStableFunc(descriptions, func(a, b Description) int {
		return cmp.Or(cmp.Compare(a.order, b.order), byName(a.entry, b.entry))
	})
	for _, d := range descriptions {
		key := ownedKey(d.entry)
		used[key] = true
		entry := object{}
		if i := slices.IndexFunc(old, func(e object) bool { return ownedKey(e) == key }); i >= 0 {
			entry = old[i]
		}
		f := fieldMerge{m: m, key: key, before: record[key], after: map[string]string{}, from: d.from}
		f.mergeEntry(entry, d.entry)
		m.Record[key] = f.after
		list = append(list, placed{entry, d.order})
	}
	// Entries without a Go type keep their index as their order, as in
	// operator-sdk: so an author can place them.
	for i, e := range old {
		key := ownedKey(e)
		gone := fieldMerge{before: record[key]}
		if !used[key] && !gone.leftover(e) {
			list = append(list, placed{e, i})
		}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.order, b.order) })
	var owned []any
	for _, p := range list {
		owned = append(owned, p.entry)
	}
	if len(owned) > 0 {
		put(m.Base.Object, owned, "spec", "customresourcedefinitions", "owned")
	} else {
		unstructured.RemoveNestedField(m.Base.Object, "spec", "customresourcedefinitions", "owned")
	}
	return m
}

// leftover reports whether an entry without a Go type is what an earlier Merge
// has written: the record knows the entry, and nothing in it is the author's.
func (f *fieldMerge) leftover(e object) bool {
	if f.before == nil {
		return false
	}
	for field, v := range e {
		switch field {
		case "name", "version", "kind":
		case "specDescriptors", "statusDescriptors":
			for _, d := range objectsAt(e, field) {
				if f.authored(d, field+"/"+textAt(d, "path")+"/") {
					return false
				}
			}
		default:
			if f.before[field] != hash(v) {
				return false
			}
		}
	}
	return true
}

// fieldMerge merges the fields of one owned CRD.
type fieldMerge struct {
	m             *Merged
	key           string
	before, after map[string]string // of the record
	from          map[string]string
}

// mergeEntry merges the generated entry into the one of the base.
func (f *fieldMerge) mergeEntry(entry, generated object) {
	for _, field := range []string{"name", "version", "kind"} {
		entry[field] = generated[field]
	}
	for _, field := range []string{"description", "displayName", "resources"} {
		f.mergeField(entry, generated, field, field)
	}
	for _, field := range []string{"specDescriptors", "statusDescriptors"} {
		f.mergeDescriptors(entry, generated, field)
	}
}

// mergeField merges one field; name is what the record calls it. A field that
// the base lacks is generated again: to be rid of a text, its author changes
// the comment or the marker, not the base.
func (f *fieldMerge) mergeField(entry, generated object, field, name string) {
	have, want := entry[field], generated[field]
	top, _, _ := strings.Cut(name, "/")
	switch {
	case empty(have) || f.before[name] == hash(have) || same(have, want):
		delete(entry, field)
		if empty(want) {
			return // the marker or comment has gone
		}
		entry[field] = want
		f.after[name] = hash(want)
		f.m.Described[f.key+" "+top] = f.from[top]
	case !empty(want):
		f.m.Kept = append(f.m.Kept, fmt.Sprintf("%s: %s is that of the base, not of %s", f.key, strings.ReplaceAll(name, "/", " "), cmp.Or(f.from[top], "the Go types")))
	}
}

// mergeDescriptors merges lists of descriptors, which go by their path: those
// of the types first, then those that are the author's alone.
func (f *fieldMerge) mergeDescriptors(entry, generated object, field string) {
	old := objectsAt(entry, field)
	var list []any
	done := map[string]bool{}
	for _, g := range objectsAt(generated, field) {
		p := textAt(g, "path")
		done[p] = true
		d := object{}
		if i := slices.IndexFunc(old, func(o object) bool { return textAt(o, "path") == p }); i >= 0 {
			d = maps.Clone(old[i])
		}
		d["path"] = p
		for _, part := range []string{"description", "displayName", "x-descriptors"} {
			f.mergeField(d, g, part, field+"/"+p+"/"+part)
		}
		list = append(list, d)
	}
	for _, o := range old {
		if p := textAt(o, "path"); !done[p] && f.authored(o, field+"/"+p+"/") {
			list = append(list, o)
		}
	}
	if delete(entry, field); len(list) > 0 {
		entry[field] = list
	}
}

// authored reports whether a descriptor that the types no longer have is, even
// in part, the author's.
func (f *fieldMerge) authored(o object, prefix string) bool {
	for part, v := range o {
		if part != "path" && f.before[prefix+part] != hash(v) {
			return true
		}
	}
	return len(o) == 1
}

// same compares two values; in texts, only words count.
func same(a, b any) bool {
	x, ok1 := a.(string)
	y, ok2 := b.(string)
	if ok1 && ok2 {
		return slices.Equal(strings.Fields(x), strings.Fields(y))
	}
	return reflect.DeepEqual(a, b)
}
