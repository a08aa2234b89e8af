package bundle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// said is a description of a kind as Go types would give it.
func said(kind string, fields object) Description {
	d := Description{entry: object{"name": "carts.shop.example.com", "version": "v1", "kind": kind}, order: math.MaxInt, from: map[string]string{}}
	for k, v := range fields {
		d.entry[k] = v
		d.from[k] = "types.go:1"
	}
	return d
}

// withOwned is a base with these owned CRDs.
func withOwned(owned ...object) *unstructured.Unstructured {
	base := NewBase("shop", false)
	put(base.Object, anys(owned), "spec", "customresourcedefinitions", "owned")
	return base
}

func ownedOf(u *unstructured.Unstructured) []object {
	return objectsAt(u.Object, "spec", "customresourcedefinitions", "owned")
}

func TestMerge(t *testing.T) {
	id := func(more object) object {
		e := object{"name": "carts.shop.example.com", "version": "v1", "kind": "Cart"}
		for k, v := range more {
			e[k] = v
		}
		return e
	}
	descriptors := func(list ...any) object { return object{"specDescriptors": list} }
	size := object{"path": "size", "description": "how many", "displayName": "Size"}
	for name, c := range map[string]struct {
		before  []object     // what the types said at an earlier run; none: there was none
		edit    func(object) // what the author did to the entry then
		now     object
		want    object
		kept    int
		removed bool
	}{
		"new":     {now: object{"displayName": "Cart"}, want: id(object{"displayName": "Cart"})},
		"follows": {before: []object{{"displayName": "Cart", "description": "old"}}, now: object{"displayName": "Carts", "description": "new"}, want: id(object{"displayName": "Carts", "description": "new"})},
		"goes with its marker": {before: []object{{"displayName": "Cart", "resources": []any{object{"kind": "Pod"}}}}, now: object{"displayName": "Cart"},
			want: id(object{"displayName": "Cart"})},
		"the author wins": {before: []object{{"description": "old"}}, edit: func(e object) { e["description"] = "mine" }, now: object{"description": "new"},
			want: id(object{"description": "mine"}), kept: 1},
		"taken out comes back": {before: []object{{"description": "old"}}, edit: func(e object) { delete(e, "description") }, now: object{"description": "new"},
			want: id(object{"description": "new"})},
		"another field is the author's alone": {before: []object{{"description": "old"}}, edit: func(e object) { e["actionDescriptors"] = []any{"a"} }, now: object{"description": "new"},
			want: id(object{"description": "new", "actionDescriptors": []any{"a"}})},
		"descriptor follows in part": {before: []object{descriptors(size)},
			edit: func(e object) { objectsAt(e, "specDescriptors")[0]["displayName"] = "Mine" },
			now:  descriptors(object{"path": "size", "description": "how much", "displayName": "Size"}),
			want: id(descriptors(object{"path": "size", "description": "how much", "displayName": "Mine"})), kept: 1},
		"descriptor goes":               {before: []object{descriptors(size)}, now: object{}, want: id(nil)},
		"edited descriptor stays":       {before: []object{descriptors(size)}, edit: func(e object) { objectsAt(e, "specDescriptors")[0]["displayName"] = "Mine" }, now: object{}, want: id(descriptors(object{"path": "size", "description": "how many", "displayName": "Mine"}))},
		"descriptor of the author's":    {before: []object{{}}, edit: func(e object) { e["specDescriptors"] = []any{size} }, now: object{}, want: id(descriptors(size))},
		"descriptors of both":           {before: []object{{}}, edit: func(e object) { e["specDescriptors"] = []any{object{"path": "x", "displayName": "X"}} }, now: descriptors(size), want: id(descriptors(size, object{"path": "x", "displayName": "X"}))},
		"only blanks differ, no record": {edit: func(e object) { e["description"] = "two\nwords" }, now: object{"description": "two words"}, want: id(object{"description": "two words"})},
		"no record":                     {edit: func(e object) { e["description"] = "old" }, now: object{"description": "new"}, want: id(object{"description": "old"}), kept: 1},
	} {
		t.Run(name, func(t *testing.T) {
			base, record := NewBase("shop", false), Record(nil)
			for _, b := range c.before {
				m := Merge(base, []Description{said("Cart", b)}, nil)
				base, record = m.Base, m.Record
			}
			if c.before == nil && c.edit != nil {
				base = withOwned(id(nil))
			}
			if c.edit != nil {
				c.edit(ownedOf(base)[0])
			}
			m := Merge(base, []Description{said("Cart", c.now)}, record)
			if diff := cmp.Diff([]object{c.want}, ownedOf(m.Base)); diff != "" {
				t.Error(diff)
			}
			if len(m.Kept) != c.kept {
				t.Errorf("kept %q", m.Kept)
			}
			again := Merge(m.Base, []Description{said("Cart", c.now)}, m.Record)
			if diff := cmp.Diff(m, again); diff != "" {
				t.Errorf("a second merge differs: %s", diff)
			}
		})
	}
}

// TestMergeEntries: entries of the author's keep their place, those that a Go
// type no longer backs go, unless the author has changed them.
func TestMergeEntries(t *testing.T) {
	first, second := said("First", object{"displayName": "First"}), said("Second", object{"displayName": "Second"})
	first.entry["name"], second.entry["name"] = "as.x", "bs.x"
	second.order = 0
	m := Merge(withOwned(object{"name": "mine.x", "version": "v1", "kind": "Mine"}), []Description{first, second}, nil)
	var names []string
	for _, e := range ownedOf(m.Base) {
		names = append(names, textAt(e, "kind"))
	}
	if diff := cmp.Diff([]string{"Second", "Mine", "First"}, names); diff != "" {
		t.Error(diff)
	}
	ownedOf(m.Base)[2]["displayName"] = "changed"
	m = Merge(m.Base, nil, m.Record)
	names = nil
	for _, e := range ownedOf(m.Base) {
		names = append(names, textAt(e, "kind"))
	}
	if diff := cmp.Diff([]string{"Mine", "First"}, names); diff != "" {
		t.Error(diff)
	}
	// An edit deep inside of an entry counts as well.
	deep := said("First", object{"specDescriptors": []any{object{"path": "a", "displayName": "A"}}})
	m = Merge(NewBase("x", false), []Description{deep}, nil)
	if got := ownedOf(Merge(m.Base, nil, m.Record).Base); len(got) > 0 {
		t.Errorf("a leftover stays: %v", got)
	}
	objectsAt(ownedOf(m.Base)[0], "specDescriptors")[0]["displayName"] = "mine"
	if got := ownedOf(Merge(m.Base, nil, m.Record).Base); len(got) != 1 {
		t.Errorf("an edited entry goes: %v", got)
	}
	if got := at(Merge(NewBase("x", false), nil, nil).Base.Object, "spec", "customresourcedefinitions", "owned"); got != nil {
		t.Errorf("a base without APIs owns %v", got)
	}
}

// TestMergeNeverLosesAnEdit makes random changes on both sides: what the author
// has written is there afterwards, and everything else is what the types say.
func TestMergeNeverLosesAnEdit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() object {
		o := object{}
		for _, f := range []string{"description", "displayName"} {
			if r.IntN(4) > 0 {
				o[f] = fmt.Sprint("generated ", r.IntN(3))
			}
		}
		var list []any
		for _, p := range []string{"a", "b", "c"} {
			if r.IntN(3) > 0 {
				list = append(list, object{"path": p, "displayName": fmt.Sprint("generated ", r.IntN(3))})
			}
		}
		o["specDescriptors"] = list
		return o
	}
	for range 500 {
		m := Merge(NewBase("shop", false), []Description{said("Cart", random())}, nil)
		mine := map[string]string{}
		entry := ownedOf(m.Base)[0]
		for _, f := range []string{"description", "displayName"} {
			if r.IntN(2) == 0 {
				mine[f] = fmt.Sprint("mine ", r.IntN(9))
				entry[f] = mine[f]
			}
		}
		for _, d := range objectsAt(entry, "specDescriptors") {
			if r.IntN(2) == 0 {
				mine["/"+textAt(d, "path")] = fmt.Sprint("mine ", r.IntN(9))
				d["displayName"] = mine["/"+textAt(d, "path")]
			}
		}
		now := random()
		merged := ownedOf(Merge(m.Base, []Description{said("Cart", now)}, m.Record).Base)[0]
		want := map[string]string{}
		for f, v := range mine {
			want[f] = v
		}
		for _, f := range []string{"description", "displayName"} {
			if v := textAt(now, f); want[f] == "" && v != "" {
				want[f] = v
			}
		}
		for _, d := range objectsAt(now, "specDescriptors") {
			if p := "/" + textAt(d, "path"); want[p] == "" {
				want[p] = textAt(d, "displayName")
			}
		}
		got := map[string]string{}
		for _, f := range []string{"description", "displayName"} {
			if v := textAt(merged, f); v != "" {
				got[f] = v
			}
		}
		for _, d := range objectsAt(merged, "specDescriptors") {
			got["/"+textAt(d, "path")] = textAt(d, "displayName")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v onto %v: %s", now, mine, diff)
		}
	}
}
