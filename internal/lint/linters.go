package lint

import (
	"sigs.k8s.io/kube-api-linter/pkg/analysis/initializer"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/registry"

	"sigs.k8s.io/kube-api-linter/pkg/analysis/arrayofstruct"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/commentstart"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/conditions"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/conflictingmarkers"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/defaultorrequired"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/defaults"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/dependenttags"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/duplicatemarkers"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/forbiddenmarkers"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/integers"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/jsontags"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/maxlength"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/minlength"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/namingconventions"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/nobools"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/nodurations"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/nofloats"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/nomaps"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/nonpointerstructs"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/nonullable"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/nophase"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/noreferences"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/notimestamp"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/optionalfields"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/optionalorrequired"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/preferredmarkers"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/requiredfields"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/ssatags"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/statusoptional"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/statussubresource"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/uniquemarkers"
)

// linters are those of kube-api-linter. Its own registry does not give them out,
// and with them the types of their configurations.
func linters() []initializer.AnalyzerInitializer {
	return []initializer.AnalyzerInitializer{
		arrayofstruct.Initializer(), commentstart.Initializer(), conditions.Initializer(), conflictingmarkers.Initializer(),
		defaultorrequired.Initializer(), defaults.Initializer(), dependenttags.Initializer(), duplicatemarkers.Initializer(),
		forbiddenmarkers.Initializer(), integers.Initializer(), jsontags.Initializer(), maxlength.Initializer(),
		minlength.Initializer(), namingconventions.Initializer(), nobools.Initializer(), nodurations.Initializer(),
		nofloats.Initializer(), nomaps.Initializer(), nonpointerstructs.Initializer(), nonullable.Initializer(),
		nophase.Initializer(), noreferences.Initializer(), notimestamp.Initializer(), optionalfields.Initializer(),
		optionalorrequired.Initializer(), preferredmarkers.Initializer(), requiredfields.Initializer(), ssatags.Initializer(),
		statusoptional.Initializer(), statussubresource.Initializer(), uniquemarkers.Initializer(),
	}
}

func newRegistry() registry.Registry {
	r := registry.NewRegistry()
	for _, l := range linters() {
		r.RegisterLinter(l)
	}
	return r
}
