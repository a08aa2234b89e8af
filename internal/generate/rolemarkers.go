package generate

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"

	"github.com/example/mysdk/internal/generate/arguments"
)

// RoleMarker is a +kubebuilder:rbac marker and its place.
type RoleMarker struct {
	File      string // slash-separated, relative to the project
	Line      int    // from 1
	Text      string // with the plus sign
	Namespace string // of a Role; empty for a ClusterRole
	Rule      rbacv1.PolicyRule
}

// RoleMarkers returns the markers that the project's roles are generated from,
// in the order of the files. A marker that does not parse, or that stands where it
// has no effect, is left out: Render reports it.
func RoleMarkers(ctx context.Context, opts Options) ([]RoleMarker, error) {
	r, err := parse(ctx, opts)
	if err != nil {
		return nil, err
	}
	var list []RoleMarker
	for _, p := range r.src.packages {
		for _, f := range p.files {
			for _, m := range markersOf(f.ast, r.registry) {
				def := r.registry.Lookup(m.text, markers.DescribesPackage)
				if def == nil || def.Name != rbac.RuleDefinition.Name || m.place != (place{true, markers.DescribesPackage}) {
					continue
				}
				v, err := arguments.Read(def, m.text)
				rule, ok := v.(rbac.Rule)
				if err != nil || !ok {
					continue
				}
				at := newProblem(r.tree, m.position(r.src), "")
				for i, group := range rule.Groups {
					if group == "core" {
						rule.Groups[i] = "" // as the generator takes it
					}
				}
				list = append(list, RoleMarker{File: at.file, Line: at.line, Text: m.text, Namespace: rule.Namespace, Rule: rule.ToRule()})
			}
		}
	}
	return list, nil
}
