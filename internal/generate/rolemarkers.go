package generate

import (
	"context"
	"fmt"

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
	from, err := parse(ctx, opts)
	if err != nil {
		return nil, err
	}
	r, err := newRegistry()
	if err != nil {
		return nil, err
	}
	var list []RoleMarker
	for _, p := range from.sources.packages {
		for _, f := range p.files {
			for _, m := range markersOf(f.ast, r) {
				def := r.Lookup(m.text, markers.DescribesPackage)
				if nameOf(m.text) != rbac.RuleDefinition.Name && (def == nil || def.Name != rbac.RuleDefinition.Name) {
					continue
				}
				if m.place != (place{true, markers.DescribesPackage}) {
					continue // has no effect, as Render warns
				}
				rule, err := parseRule(def, m.text)
				if err != nil {
					continue
				}
				at := newProblem(from.tree, m.position(from.sources), "")
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

// parseRule reads a marker.
func parseRule(def *markers.Definition, text string) (rule rbac.Rule, err error) {
	v, err := arguments.Read(def, text)
	if err != nil {
		return rule, err
	}
	rule, ok := v.(rbac.Rule)
	if !ok {
		return rule, fmt.Errorf("marker %s is a %T", def.Name, v)
	}
	return rule, nil
}
