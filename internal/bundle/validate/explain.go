package validate

import (
	"regexp"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// explanation is what a result means to the author of the bundle.
type explanation struct {
	rule  string // the last part of the rule's name
	field string // path in the object
	at    string // the value to point at, where a field is not enough
	text  string
	hint  string
}

// known are the details of rules that have a field and a hint. $1 stands for
// what the first group of the pattern matched.
type knownDetail struct {
	pattern, rule, field, at, hint string
}

func knownDetails() []knownDetail {
	const base = "set it in the base of the CSV, config/manifests/bases, and run 'mysdk bundle generate'"
	return []knownDetail{
		{`metadata\.name "([^"]*)" is invalid`, "name", "metadata.name", "", "use lower-case letters, digits, '-' and '.', as in memcached-operator.v0.0.1"},
		{`spec\.replaces "([^"]*)" is invalid`, "replaces", "spec.replaces", "", "name the CSV that this one replaces, as in memcached-operator.v0.0.1"},
		{`annotations not found$`, "examples", "metadata.annotations", "", "add samples to config/samples: 'mysdk bundle generate' makes alm-examples of them"},
		{`^both .alm-examples. and .olm\.examples.`, "examples", "metadata.annotations.alm-examples", "", "remove olm.examples"},
		{`^invalid example|^error decoding example|^example must have`, "examples", "metadata.annotations.alm-examples", "", "correct the samples in config/samples and run 'mysdk bundle generate'"},
		{`^provided API should have an example annotation`, "examples", "metadata.annotations.alm-examples", "", "add a sample of that kind to config/samples and run 'mysdk bundle generate'"},
		{`install modes not found|none of InstallModeTypes|duplicate install modes`, "install-modes", "spec.installModes", "", base},
		{`only AllNamespaces InstallModeType`, "install-modes", "spec.installModes", "", "a conversion webhook serves the whole cluster: support AllNamespaces and no other mode"},
		{`[mM]inKubeVersion`, "min-kube-version", "spec.minKubeVersion", "", "set spec.minKubeVersion to the oldest Kubernetes that you support, such as 1.25.0"},
		{`csv\.Spec\.Icon`, "icon", "spec.icon", "", "add one icon with base64data and mediatype to the base of the CSV, or remove the empty one"},
		{`csv\.Spec\.Links`, "links", "spec.links", "", base},
		{`csv\.Spec\.Maintainers`, "maintainers", "spec.maintainers", "", base},
		{`csv\.Spec\.Provider`, "provider", "spec.provider", "", base},
		{`csv\.Spec\.Version`, "version", "spec.version", "", "run 'mysdk bundle generate --version 0.0.1'"},
		{`[cC]apabilities "?([^"]*)"? is not`, "capabilities", "metadata.annotations.capabilities", "", "one of: Basic Install, Seamless Upgrades, Full Lifecycle, Deep Insights, Auto Pilot"},
		{`Annotations\["categories"\] value "([^"]*)"`, "categories", "metadata.annotations.categories", "", "see https://operatorhub.io for the categories, or name a file with yours in OPERATOR_BUNDLE_CATEGORIES"},
		{`^provided annotation (\S+) uses wrong case`, "annotation-case", "metadata.annotations[\"$1\"]", "", "annotations are spelled exactly"},
		{`^owned CRD .* not found`, "crd-missing", "spec.customresourcedefinitions.owned", "", "put the CRD's manifest into the bundle: 'mysdk bundle generate' does"},
		{`^CRD "([^"]*)" is present`, "crd-unowned", "spec.customresourcedefinitions", "", "list the CRD under spec.customresourcedefinitions.owned, or remove its manifest"},
		{`^duplicate CRD`, "crd-twice", "", "", "remove one of the manifests"},
		{`invalid service account found in bundle`, "service-account", "spec.install.spec", "", "remove the ServiceAccount's manifest: OLM makes it from the CSV"},
		{`(?i)relatedImage`, "related-images", "spec.relatedImages", "", "name images as registry/name:tag or registry/name@sha256:…"},
		{`compressed|bundle size`, "size", "", "", "OLM keeps a bundle in a ConfigMap of 1 MiB: shorten descriptions and examples"},
		{`unable to find the resource requests for the container: \(([^)]*)\)`, "resources", "spec.install.spec.deployments", "$1", "set resources.requests in config/manager/manager.yaml"},
		{`csv\.metadata\.Name`, "csv-name", "metadata.name", "", "name it PACKAGE.vVERSION, as in memcached-operator.v0.0.1"},
		{`^channel\(s\)`, "channels", "", "", "the names candidate, fast and stable tell users what to expect"},
		{`permissions to create CRD`, "crd-permissions", "spec.install.spec.clusterPermissions", "", "let OLM install the CRDs of the bundle, and take the permission away"},
		{`CRD "([^"]*)" has an empty description`, "crd-description", "spec.customresourcedefinitions.owned", "$1", "write a comment above the Go type and run 'mysdk bundle generate'"},
		{`(?i)removed|deprecat`, "removed-apis", "", "", "see https://kubernetes.io/docs/reference/using-api/deprecation-guide/"},
		{`maxUnavailable`, "disruption-budget", "spec.maxUnavailable", "", "allow at least one pod to be unavailable, or nodes cannot be drained"},
		{`minAvailable`, "disruption-budget", "spec.minAvailable", "", "allow at least one pod to be unavailable, or nodes cannot be drained"},
		{`globalDefault`, "priority-class", "globalDefault", "", "leave globalDefault out: it changes the priority of every pod of the cluster"},
		{`^RBAC includes`, "permissions", "rules", "", "take the permission away if the operator does not need it"},
		{`^the rule does not compile`, "cel", "", "", "correct the expression: see https://github.com/google/cel-spec"},
		{`^a dependency of the type olm\.constraint: `, "constraint", "", "", dependencyHint},
		{`'apiVersion' is missing`, "type", "apiVersion", "", "apiVersion: operators.coreos.com/v1alpha1"},
		{`'kind' is missing`, "type", "kind", "", "kind: ClusterServiceVersion"},
	}
}

// explain finds out what a result is about.
func explain(r Result) explanation {
	e := explanation{rule: kebab(r.Type), field: r.Field, text: strings.TrimSpace(textOf(r))}
	if r.Validator == "crd" {
		// The API server's own words.
		if r.Field != "" {
			e.text = r.Field + ": " + e.text
		}
		e.hint = "correct the markers in the Go type and run 'mysdk generate' and 'mysdk bundle generate'"
		return e
	}
	for _, k := range knownDetails() {
		m := regexp.MustCompile(k.pattern).FindStringSubmatch(strings.TrimPrefix(r.Detail, "("+r.Object+") "))
		if m == nil {
			continue
		}
		first := append(m, "")[1] // "" where the pattern has no group
		e.rule, e.hint = k.rule, k.hint
		e.at = strings.ReplaceAll(k.at, "$1", first)
		if k.field != "" {
			e.field = strings.ReplaceAll(k.field, "$1", first)
		}
		return e
	}
	if r.Field != "" && r.Type == "FieldNotFound" {
		names := steps(r.Field)
		for i, n := range names { // as fields of Go begin in YAML
			names[i] = strings.ToLower(n[:1]) + n[1:]
		}
		e.rule, e.text, e.hint = "required", strings.Join(names, ".")+" is missing", "add it to the base of the CSV, config/manifests/bases, and run 'mysdk bundle generate'"
	}
	return e
}

// textOf is the result's message without what the finding says elsewhere.
func textOf(r Result) string {
	text := strings.TrimPrefix(r.Detail, "("+r.Object+") ")
	if r.Value != "" && r.Value != r.Object && !strings.Contains(text, r.Value) && len(r.Value) < 200 && !strings.Contains(r.Value, "\n") {
		text += ": " + r.Value
	}
	return strings.Join(strings.Fields(text), " ")
}

// capital is a letter that begins a word within a name.
var capital = lazy.Delayed(`([^A-Z])([A-Z])`)

// kebab turns FieldNotFound into field-not-found.
func kebab(s string) string {
	return strings.ReplaceAll(strings.ToLower(capital.ReplaceAllString(s, "$1-$2")), " ", "-")
}
