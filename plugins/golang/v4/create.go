package v4

import (
	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
)

// creation is what creating an API and creating webhooks have in common.
type creation struct {
	plugin   Plugin
	config   config.Config
	resource *resource.Resource

	// From flags.
	plural          string
	force, generate bool
	external

	managerNamespaced bool               // PROJECT says namespaced: true
	core              bool               // the resource is built into Kubernetes
	existing          *resource.Resource // what PROJECT has of this group, version and kind
	notes             []string
}

// InjectConfig implements plugin.RequiresConfig.
func (s *creation) InjectConfig(c config.Config) error {
	s.config = c
	return nil
}

// InjectExtras takes the top-level fields of PROJECT that the config of
// kubebuilder/v3 does not know. Of these the plugin reads "namespaced".
func (s *creation) InjectExtras(project map[string]any) {
	s.managerNamespaced, _ = project["namespaced"].(bool)
}

// Generate says whether generators are to run afterwards: the flag --make.
func (s *creation) Generate() bool { return s.generate }

// Notes are sentences for the user about what was decided on the way, and
// what is left to do.
func (s *creation) Notes() []string { return s.notes }

// otherPlural is the error of a --plural that is not the recorded one.
func (s *creation) otherPlural() error {
	return usage("leave out --plural", "the plural of %s is %s", s.existing.Kind, s.existing.Plural)
}

// extras are the fields of any resource in PROJECT that the resource model of
// kubebuilder/v3 does not know.
func (s *creation) extras() map[string]any {
	extras := map[string]any{}
	if s.core {
		extras["core"] = true
	}
	s.addExternal(extras)
	return extras
}
