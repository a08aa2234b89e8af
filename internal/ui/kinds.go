package ui

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/fields"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/objects"
)

func renderKinds(_ context.Context, r *Request) (any, error) {
	now := r.Mirror.Now()
	return kindsData{now.Ready, within(definitions(now), r.Query.Get("at"))}, nil
}

type kindsData struct {
	Ready bool
	Kinds []definition
}

// definition is what a CRD says of its kind.
type definition struct {
	Name, Kind, Group, Scope string
	Short                    []string
	Problem                  string // why it is not served
	Versions                 []definedVersion
}

type definedVersion struct {
	Name            string
	Served, Storage bool
	Fields          []field
	Rules           []fields.Rule

	declared []*fields.Field
}

// field is a field with those below it, or with the place where they are shown.
type field struct {
	*fields.Field
	Fields []field
	Link   string // value of "at"; empty: Fields has all
	Open   bool
}

// fieldsShown bounds the fields of the page: what kinds embed of pods has thousands.
const fieldsShown = 250

// within is the part of the kinds that the address asks for, a CRD's name, a
// version and a field's path with slashes between them, as deep as the page has
// room for.
func within(list []definition, at string) []definition {
	name, rest, _ := strings.Cut(at, "/")
	version, path, _ := strings.Cut(rest, "/")
	if name != "" {
		list = slices.DeleteFunc(list, func(d definition) bool { return d.Name != name })
	}
	for i := range list {
		if version != "" {
			list[i].Versions = slices.DeleteFunc(list[i].Versions, func(v definedVersion) bool { return v.Name != version })
		}
		for j := range list[i].Versions {
			if v := &list[i].Versions[j]; path != "" {
				v.declared = find(v.declared, path)
			}
		}
	}
	for _, depth := range []int{-1, 1, 0} {
		if n := lay(list, depth, path != ""); n <= fieldsShown {
			break
		}
	}
	return list
}

// find is the field of that path.
func find(list []*fields.Field, path string) []*fields.Field {
	for _, f := range list {
		if f.Path == path {
			return []*fields.Field{f}
		}
		if found := find(f.Fields, path); found != nil {
			return found
		}
	}
	return nil
}

// lay shows the fields to a depth, -1 for all, and counts them.
func lay(list []definition, depth int, open bool) int {
	n := 0
	var below func(at string, list []*fields.Field, depth int) []field
	below = func(at string, list []*fields.Field, depth int) []field {
		var out []field
		for _, f := range list {
			one := field{Field: f, Open: open || f.Path == "spec"}
			if n++; depth == 0 && len(f.Fields) > 0 {
				one.Link = at + f.Path
			} else {
				one.Fields = below(at, f.Fields, depth-1)
			}
			out = append(out, one)
		}
		return out
	}
	for i := range list {
		for j := range list[i].Versions {
			v := &list[i].Versions[j]
			v.Fields = below(list[i].Name+"/"+v.Name+"/", v.declared, depth)
		}
	}
	return n
}

func definitions(now objects.Snapshot) []definition {
	var list []definition
	for _, crd := range now.CRDs() {
		gk := kube.ServedKind(crd)
		d := definition{Name: crd.GetName(), Kind: gk.Kind, Group: gk.Group, Problem: kube.NotReady(crd)}
		d.Scope, _, _ = unstructured.NestedString(crd.Object, "spec", "scope")
		d.Short, _, _ = unstructured.NestedStringSlice(crd.Object, "spec", "names", "shortNames")
		for _, m := range fields.Versions(crd) {
			name, _ := m["name"].(string)
			d.Versions = append(d.Versions, definedVersion{
				Name: name, Served: m["served"] == true, Storage: m["storage"] == true,
				declared: fields.Of(crd, name), Rules: fields.Rules(crd, name),
			})
		}
		slices.SortStableFunc(d.Versions, func(a, b definedVersion) int { return -compareBool(a.Storage, b.Storage) })
		list = append(list, d)
	}
	return list
}
