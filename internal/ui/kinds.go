package ui

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/fields"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/objects"
)

func kindsPage() Page {
	return Page{
		Name: "kinds", Title: "Kinds", Question: "Which fields do my kinds have?",
		Fragments: []string{"list"},
		Render: func(_ context.Context, r *Request) (any, error) {
			now, _ := r.Mirror.Now()
			return kindsData{now.Ready, definitions(now)}, nil
		},
	}
}

// kindsData is the page's data.
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

// definedVersion is one version of a kind.
type definedVersion struct {
	Name            string
	Served, Storage bool
	Fields          []*fields.Field
	Rules           []fields.Rule
}

// definitions reads all CRDs.
func definitions(now objects.Snapshot) []definition {
	var list []definition
	for _, crd := range now.CRDs() {
		gk := groupKindOf(crd)
		d := definition{Name: crd.GetName(), Kind: gk.Kind, Group: gk.Group, Problem: kube.NotReady(crd)}
		d.Scope, _, _ = unstructured.NestedString(crd.Object, "spec", "scope")
		d.Short, _, _ = unstructured.NestedStringSlice(crd.Object, "spec", "names", "shortNames")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, v := range versions {
			m, ok := v.(map[string]any)
			if !ok {
				continue
			}
			name, _ := m["name"].(string)
			d.Versions = append(d.Versions, definedVersion{
				Name: name, Served: m["served"] == true, Storage: m["storage"] == true,
				Fields: fields.Of(crd, name), Rules: fields.Rules(crd, name),
			})
		}
		slices.SortStableFunc(d.Versions, func(a, b definedVersion) int { return -compareBool(a.Storage, b.Storage) })
		list = append(list, d)
	}
	return list
}
