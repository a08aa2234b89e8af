package generate

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/applyconfiguration"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"
)

// prefix is that of the markers that kubebuilder's tools share. Markers under
// it that nobody knows are mistakes; under other names anything may stand.
const prefix = "kubebuilder:"

// registry knows the markers: those that the generators register, and the
// ones that other tools of kubebuilder read.
type registry struct {
	*markers.Registry
	names []string // all under prefix, without it, sorted, each once
}

// foreign are prefixes of markers with free text behind them, read by
// kubebuilder's scaffolding and by the generator of its book.
func foreign(name string) bool {
	return strings.HasPrefix(name, prefix+"scaffold:") || strings.HasPrefix(name, prefix+"docs-gen:")
}

// newRegistry registers the markers of all generators, also of those that are
// not run: a marker is no mistake because its generator is left out today.
func newRegistry() (*registry, error) {
	r := &registry{Registry: &markers.Registry{}}
	for _, g := range []genall.Generator{
		deepcopy.Generator{}, crd.Generator{}, rbac.Generator{}, webhook.Generator{}, applyconfiguration.Generator{},
	} {
		if err := g.RegisterMarkers(r.Registry); err != nil {
			return nil, fmt.Errorf("generate: register markers: %w", err)
		}
	}
	// kubebuilder's own projects have these above the versions of a kind that is
	// converted. No generator reads them: the methods Hub and ConvertTo do the work.
	for _, name := range []string{"conversion:hub", "conversion:spoke"} {
		if err := r.Define(prefix+name, markers.DescribesType, struct{}{}); err != nil {
			return nil, fmt.Errorf("generate: register marker %s: %w", name, err)
		}
	}
	for _, def := range r.AllDefinitions() {
		if name, ok := strings.CutPrefix(def.Name, prefix); ok {
			r.names = append(r.names, name)
		}
	}
	slices.Sort(r.names)
	r.names = slices.Compact(r.names)
	return r, nil
}

// targets are the kinds of places that a marker may describe.
func targets() []markers.TargetType {
	return []markers.TargetType{markers.DescribesPackage, markers.DescribesType, markers.DescribesField}
}

// anywhere finds a definition of the marker for any target, and the targets that it has one for.
func (r *registry) anywhere(text string) (def *markers.Definition, at []markers.TargetType) {
	for _, target := range targets() {
		if d := r.Lookup(text, target); d != nil {
			at = append(at, target)
			if def == nil {
				def = d
			}
		}
	}
	return def, at
}

func (r *registry) takesArguments(name string) bool {
	def, _ := r.anywhere("+" + name)
	return def != nil && !def.Empty() && !def.AnonymousField()
}
