package validate

import (
	"cmp"
	"slices"
	"strings"

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
