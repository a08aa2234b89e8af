package generate

import (
	"fmt"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// strayPaths finds print columns and scale paths that name fields which the kind does
// not have, as after a change of its type. The API server takes them, and finds nothing.
func (r renderer) strayPaths(files map[string][]byte) (stray []problem, err error) {
	l := newLocator(r)
	for name, data := range files {
		if !isCRD(name, data) {
			continue
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return nil, fmt.Errorf("generate: read %s: %w", name, err)
		}
		for i, v := range crd.Spec.Versions {
			for field, path := range pathsOf(v) {
				missing := missingIn(v.Schema, path)
				if missing == "" {
					continue
				}
				p, _, err := l.problem(Refusal{File: name, Field: fmt.Sprintf("spec.versions[%d].%s", i, field), Text: "there is no field " + missing}, data)
				if err != nil {
					return nil, err
				}
				stray = append(stray, p)
			}
		}
	}
	return stray, nil
}

// pathsOf are the paths to fields in a version of a CRD, by where they are in it.
func pathsOf(v apiextensionsv1.CustomResourceDefinitionVersion) map[string]string {
	paths := map[string]string{}
	for i, c := range v.AdditionalPrinterColumns {
		paths[fmt.Sprintf("additionalPrinterColumns[%d].jsonPath", i)] = c.JSONPath
	}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		s := v.Subresources.Scale
		paths["subresources.scale.specReplicasPath"] = s.SpecReplicasPath
		paths["subresources.scale.statusReplicasPath"] = s.StatusReplicasPath
		paths["subresources.scale.labelSelectorPath"] = ptr.Deref(s.LabelSelectorPath, "")
	}
	return paths
}

var plainStep = lazy.Delayed(`^[\w-]+$`)

// missingIn is the beginning of a path up to the first field that the schema does not
// have; empty where it has all, or leaves open what there is.
func missingIn(v *apiextensionsv1.CustomResourceValidation, path string) string {
	if v == nil || v.OpenAPIV3Schema == nil || !strings.HasPrefix(path, ".") {
		return ""
	}
	s, at := *v.OpenAPIV3Schema, ""
	for step := range strings.SplitSeq(path[1:], ".") {
		name, _, indexed := strings.Cut(step, "[")
		open := s.XPreserveUnknownFields != nil || s.XEmbeddedResource || s.AdditionalProperties != nil || len(s.Properties) == 0
		everywhere := at == "" && slices.Contains([]string{"metadata", "kind", "apiVersion"}, name)
		if open || everywhere || !plainStep.MatchString(name) {
			return ""
		}
		next, ok := s.Properties[name]
		if at += "." + name; !ok {
			return at
		}
		if indexed {
			return ""
		}
		s = next
	}
	return ""
}
