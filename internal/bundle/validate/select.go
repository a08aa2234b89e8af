package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/example/mysdk/internal/clierr"
)

// multiArch is the optional validator that asks registries.
const multiArch = "multiarch"

// Optional is a validator that is not needed for OLM to install a bundle.
type Optional struct {
	Name    string   `json:"name"`
	Labels  []string `json:"labels"` // KEY=VALUE, for --select-optional
	Does    string   `json:"description"`
	Default bool     `json:"default"` // run, for warnings, where nothing is selected
}

// Optionals are the optional validators, by the names and labels that operator-sdk gives them.
func Optionals() []Optional {
	list := []Optional{
		{Name: "operatorhubv2", Does: "what OperatorHub.io demands of the metadata", Default: true},
		{Name: "capabilities", Does: "the annotation capabilities is one of OperatorHub.io's levels", Default: true},
		{Name: "categories", Does: "the annotation categories has OperatorHub.io's categories only", Default: true},
		{Name: "operatorhub", Does: "deprecated: operatorhubv2, capabilities and categories in one"},
		{Name: "community", Does: "deprecated: the labels of an OpenShift index image (--optional-values index-path=bundle.Dockerfile)"},
		{Name: "alpha-deprecated-apis", Does: "manifests of APIs that Kubernetes has removed (--optional-values k8s-version=1.25)", Default: true},
		{Name: "good-practices", Does: "resource requests, names of channels and versions, descriptions", Default: true},
		{Name: multiArch, Does: "the labels and node affinities name the platforms that the images are for; asks the registries"},
		{Name: "objects", Does: "PodDisruptionBudgets, PriorityClasses and roles that get in the way of others", Default: true},
	}
	for i := range list {
		o := &list[i]
		o.Labels = []string{"name=" + o.Name}
		if o.Default && o.Name != "objects" {
			o.Labels = append(o.Labels, "suite=operatorframework")
		}
	}
	return list
}

// Selection is which optional validators run.
type Selection struct {
	Names  []string
	Strict bool // they were asked for: their errors count as such
}

func (s Selection) has(name string) bool { return slices.Contains(s.Names, name) }

// ParseSelector reads a label selector, such as name=operatorhubv2. Empty
// selects the default ones, for warnings. One that matches nothing is an error.
func ParseSelector(text string) (Selection, error) {
	if strings.TrimSpace(text) == "" {
		return DefaultSelection(), nil
	}
	sel, err := labels.Parse(text)
	if err != nil {
		return Selection{}, clierr.Usagef("write it like name=operatorhubv2 or suite=operatorframework", "--select-optional: %q is not a label selector: %w", text, err)
	}
	s := Selection{Strict: true}
	var names []string
	for _, o := range Optionals() {
		set, err := labels.ConvertSelectorToLabelsMap(strings.Join(o.Labels, ","))
		if err != nil {
			return s, err
		}
		if sel.Matches(set) {
			s.Names = append(s.Names, o.Name)
		}
		names = append(names, "name="+o.Name)
	}
	if len(s.Names) == 0 {
		hint := cmp.Or(clierr.DidYouMean(text, append(names, "suite=operatorframework")), "see 'mysdk bundle validate --list-optional'")
		return s, clierr.Usagef(hint, "--select-optional: %q selects no validator", text)
	}
	return s, nil
}

// DefaultSelection is what runs where nothing is selected.
func DefaultSelection() Selection {
	var s Selection
	for _, o := range Optionals() {
		if o.Default {
			s.Names = append(s.Names, o.Name)
		}
	}
	return s
}

// ParseValues reads KEY=VALUE pairs for the optional validators.
func ParseValues(list []string) (map[string]string, error) {
	known := []string{"k8s-version", "index-path", "container-tools"}
	values := map[string]string{}
	for _, pair := range list {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || !slices.Contains(known, k) {
			return nil, clierr.Usagef(cmp.Or(clierr.DidYouMean(k, known), "write it like k8s-version=1.25"), "--optional-values: %q is not one of %s with a value", pair, strings.Join(known, ", "))
		}
		values[k] = v
	}
	return values, nil
}

func isDefault(validator string) bool {
	return slices.Contains([]string{"csv", "crd", "bundle", "dependencies", "external"}, validator)
}

// selectFor adds the validators that a target wants, as errors.
func (s Selection) selectFor(names ...string) Selection {
	if !s.Strict {
		s = Selection{Strict: true}
	}
	for _, n := range names {
		if !s.has(n) {
			s.Names = append(slices.Clone(s.Names), n)
		}
	}
	return s
}

// The targets: where a bundle is to go.
const (
	OperatorHub = "operatorhub" // OperatorHub.io, the community's catalog
	Certified   = "certified"   // a catalog for clusters without the internet
	OLMv1       = "olmv1"       // OLM 1, operator-controller
)

// Targets are the values of Options.Target.
func Targets() []string { return []string{OperatorHub, Certified, OLMv1} }

// ForTarget is the selection that the target wants besides the one given.
func ForTarget(target string, s Selection) (Selection, error) {
	switch target {
	case "", OLMv1:
		return s, nil
	case OperatorHub:
		return s.selectFor("operatorhubv2", "capabilities", "categories"), nil
	case Certified:
		return s.selectFor("operatorhubv2", "good-practices", "alpha-deprecated-apis"), nil
	}
	return s, clierr.Usagef(clierr.DidYouMean(target, Targets()), "--target: %q is not one of %s", target, strings.Join(Targets(), ", "))
}

// target runs the checks of the target's own.
func (r *run) target() {
	if r.bundle.CSV == nil {
		return
	}
	switch r.Target {
	case OperatorHub:
		r.reachableUpgrade()
	case Certified:
		r.pinnedImages()
	case OLMv1:
		r.installableByV1()
	}
}

// reachableUpgrade: what replaces itself can never be reached.
func (r *run) reachableUpgrade() {
	if csv := r.bundle.CSV; csv.Spec.Replaces == csv.Name {
		r.add(Error, "operatorhub/replaces", r.bundle.CSVFile, "spec.replaces", "the CSV replaces itself", "name the version before this one")
	}
}

// pinnedImages: every image is named by its digest, and is among the related
// images, or a mirror does not have it.
func (r *run) pinnedImages() {
	const hint = "run 'mysdk bundle generate --use-image-digests'"
	var related []string
	for i, img := range r.bundle.CSV.Spec.RelatedImages {
		related = append(related, img.Image)
		if !strings.Contains(img.Image, "@sha256:") {
			r.add(Error, "certified/digests", r.bundle.CSVFile, fmt.Sprintf("spec.relatedImages[%d].image", i), img.Image+" is not named by its digest", hint)
		}
	}
	for i, d := range r.bundle.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		pod := d.Spec.Template.Spec
		at := fmt.Sprintf("spec.install.spec.deployments[%d].spec.template.spec.", i)
		for j, c := range pod.Containers {
			r.pinned(fmt.Sprintf("%scontainers[%d].image", at, j), c.Image, related, hint)
			for k, e := range c.Env {
				if strings.HasPrefix(e.Name, "RELATED_IMAGE_") {
					r.pinned(fmt.Sprintf("%scontainers[%d].env[%d].value", at, j, k), e.Value, related, hint)
				}
			}
		}
		for j, c := range pod.InitContainers {
			r.pinned(fmt.Sprintf("%sinitContainers[%d].image", at, j), c.Image, related, hint)
		}
	}
	if v := r.bundle.CSV.Annotations["features.operators.openshift.io/disconnected"]; v == "" {
		r.add(Warning, "certified/features", r.bundle.CSVFile, "metadata.annotations", "the annotation features.operators.openshift.io/disconnected is missing", `say "true" where the operator works without the internet, else "false"`)
	}
}

func (r *run) pinned(field, image string, related []string, hint string) {
	switch {
	case !strings.Contains(image, "@sha256:"):
		r.add(Error, "certified/digests", r.bundle.CSVFile, field, image+" is not named by its digest", hint)
	case !slices.Contains(related, image):
		r.add(Error, "certified/related-images", r.bundle.CSVFile, field, image+" is not among spec.relatedImages", hint)
	}
}

// installableByV1: OLM 1 installs operators for the whole cluster, and knows
// neither dependencies nor API services. It has no webhooks without a feature
// gate.
func (r *run) installableByV1() {
	csv, file := r.bundle.CSV, r.bundle.CSVFile
	if !slices.ContainsFunc(csv.Spec.InstallModes, func(m v1alpha1.InstallMode) bool {
		return m.Type == v1alpha1.InstallModeTypeAllNamespaces && m.Supported
	}) {
		r.add(Error, "olmv1/install-modes", file, "spec.installModes", "OLM 1 installs for all namespaces, which the CSV does not support", "support the install mode AllNamespaces")
	}
	if len(csv.Spec.WebhookDefinitions) > 0 {
		r.add(Error, "olmv1/webhooks", file, "spec.webhookdefinitions", "OLM 1 has no certificates for webhooks unless a feature gate of the cluster is on", "ship the webhooks apart, or keep to OLM 0")
	}
	if len(csv.Spec.APIServiceDefinitions.Owned)+len(csv.Spec.APIServiceDefinitions.Required) > 0 {
		r.add(Error, "olmv1/api-services", file, "spec.apiservicedefinitions", "OLM 1 installs no API services", "serve a CRD instead")
	}
	if len(csv.Spec.CustomResourceDefinitions.Required) > 0 {
		r.add(Error, "olmv1/dependencies", file, "spec.customresourcedefinitions.required", "OLM 1 installs no dependencies", "let users install them first, and say so in the description")
	}
	for _, f := range r.bundle.Files {
		for _, d := range r.docs[f.Name] {
			if key, _ := child(d.Content[0], "dependencies"); key != nil && strings.HasPrefix(f.Name, "metadata/") {
				r.add(Error, "olmv1/dependencies", f.Name, "dependencies", "OLM 1 installs no dependencies", "let users install them first, and say so in the description")
			}
		}
	}
}
