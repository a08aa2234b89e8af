package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/fields"
)

// TestKindsOfManyFields: a kind that embeds much, such as pods, is shown a part at
// a time.
func TestKindsOfManyFields(t *testing.T) {
	// tree is a field with n below it, each with as many, to a depth.
	var tree func(path string, n, depth int) *fields.Field
	tree = func(path string, n, depth int) *fields.Field {
		f := &fields.Field{Name: path[strings.LastIndex(path, ".")+1:], Path: path}
		for i := 0; depth > 0 && i < n; i++ {
			f.Fields = append(f.Fields, tree(fmt.Sprintf("%s.f%d", path, i), n, depth-1))
		}
		return f
	}
	kinds := func(n, depth int) []definition {
		one := func(name string) definition {
			return definition{Name: name, Versions: []definedVersion{{Name: "v1", declared: []*fields.Field{tree("spec", n, depth)}}, {Name: "v2"}}}
		}
		return []definition{one("shops"), one("carts")}
	}
	for name, tc := range map[string]struct {
		n, depth int
		at       string
		kinds    int
		top      string // Path of the first field
		link     string // of the first field, or of the first one below it
	}{
		"few":            {3, 2, "", 2, "spec", ""},
		"many below":     {20, 2, "", 2, "spec", "shops/v1/spec.f0"},
		"many at once":   {200, 2, "", 2, "spec", "shops/v1/spec"},
		"one kind":       {20, 2, "carts", 1, "spec", "carts/v1/spec.f0"},
		"a part of it":   {20, 2, "carts/v1/spec.f3", 1, "spec.f3", ""},
		"a larger part":  {20, 3, "carts/v1/spec.f3", 1, "spec.f3", "carts/v1/spec.f3.f0"},
		"no such kind":   {3, 2, "nothing", 0, "", ""},
		"no such field":  {3, 2, "carts/v1/spec.nothing", 1, "", ""},
		"a deeper field": {3, 3, "carts/v1/spec.f1.f2", 1, "spec.f1.f2", ""},
	} {
		list := within(kinds(tc.n, tc.depth), tc.at)
		if len(list) != tc.kinds {
			t.Errorf("%s: %d kinds", name, len(list))
			continue
		}
		top, link := "", ""
		if tc.kinds > 0 && len(list[0].Versions[0].Fields) > 0 {
			first := list[0].Versions[0].Fields[0]
			if top, link = first.Path, first.Link; link == "" && len(first.Fields) > 0 {
				link = first.Fields[0].Link
			}
		}
		if top != tc.top || link != tc.link {
			t.Errorf("%s: %q, link %q", name, top, link)
		}
	}
}
