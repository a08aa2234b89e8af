package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// crd is a CustomResourceDefinition of either version: JSON does not look at the
// case of JSONPath, and what else v1 has in another place is not needed here.
type crd = apiextensionsv1beta1.CustomResourceDefinition

// decodeCRD reads an object as a CRD.
func decodeCRD(doc *yaml.Node) (*crd, error) {
	var v map[string]any
	if err := doc.Decode(&v); err != nil {
		return nil, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	c := &crd{}
	return c, json.Unmarshal(data, c)
}

// documents splits a YAML file. One that is not YAML, a template for instance,
// is an error.
func documents(data []byte) ([]*yaml.Node, error) { return yamledit.Documents(data) }

// readCRDs finds the CRDs in YAML files.
func readCRDs(data []byte) []*crd {
	docs, err := documents(data)
	if err != nil {
		return nil
	}
	var out []*crd
	for _, d := range docs {
		if c, err := decodeCRD(d); err == nil && c.Kind == "CustomResourceDefinition" {
			out = append(out, c)
		}
	}
	return out
}

// crdMarkers are those that the type of the version needs, so that what is
// generated has the names, columns and subresources that the CRD had. have is
// the comment of the type: what is marked there already stays as it is.
func crdMarkers(c *crd, version, have string) []string {
	var out []string
	subs, columns, storage := c.Spec.Subresources, c.Spec.AdditionalPrinterColumns, false
	for _, v := range c.Spec.Versions {
		if v.Name != version {
			continue
		}
		storage = v.Storage && len(c.Spec.Versions) > 1
		subs = cmp.Or(v.Subresources, subs)
		if len(v.AdditionalPrinterColumns) > 0 {
			columns = v.AdditionalPrinterColumns
		}
	}
	add := func(marker, prefix string) {
		if !strings.Contains(have, prefix) {
			out = append(out, marker)
		}
	}
	if storage {
		add("+kubebuilder:storageversion", "+kubebuilder:storageversion")
	}
	if r := resourceMarker(c.Spec); r != "" {
		add(r, "+kubebuilder:resource:")
	}
	if subs != nil && subs.Status != nil {
		add("+kubebuilder:subresource:status", "+kubebuilder:subresource:status")
	}
	if subs != nil && subs.Scale != nil {
		add(scaleMarker(subs.Scale), "+kubebuilder:subresource:scale")
	}
	for _, col := range columns {
		add(columnMarker(col), "+kubebuilder:printcolumn:")
	}
	return out
}

// resourceMarker has what a CRD says of names and scope that cannot be told
// from the kind.
func resourceMarker(spec apiextensionsv1beta1.CustomResourceDefinitionSpec) string {
	n := spec.Names
	var parts []string
	if n.Plural != "" {
		parts = append(parts, "path="+n.Plural)
	}
	if spec.Scope == apiextensionsv1beta1.ClusterScoped {
		parts = append(parts, "scope=Cluster")
	}
	if len(n.ShortNames) > 0 {
		parts = append(parts, "shortName="+strings.Join(n.ShortNames, ";"))
	}
	if len(n.Categories) > 0 {
		parts = append(parts, "categories="+strings.Join(n.Categories, ";"))
	}
	if n.Singular != "" && n.Singular != strings.ToLower(n.Kind) {
		parts = append(parts, "singular="+n.Singular)
	}
	if len(parts) == 0 {
		return ""
	}
	return "+kubebuilder:resource:" + strings.Join(parts, ",")
}

func scaleMarker(s *apiextensionsv1beta1.CustomResourceSubresourceScale) string {
	out := fmt.Sprintf("+kubebuilder:subresource:scale:specpath=%s,statuspath=%s", s.SpecReplicasPath, s.StatusReplicasPath)
	if s.LabelSelectorPath != nil {
		out += ",selectorpath=" + *s.LabelSelectorPath
	}
	return out
}

func columnMarker(c apiextensionsv1beta1.CustomResourceColumnDefinition) string {
	out := fmt.Sprintf("+kubebuilder:printcolumn:name=%q,type=%s,JSONPath=%q", c.Name, c.Type, c.JSONPath)
	if c.Format != "" {
		out += ",format=" + c.Format
	}
	if c.Description != "" {
		out += fmt.Sprintf(",description=%q", c.Description)
	}
	if c.Priority != 0 {
		out += fmt.Sprintf(",priority=%d", c.Priority)
	}
	return out
}

// upgradeCRD makes apiextensions.k8s.io/v1 of a CRD of v1beta1 that no Go type
// stands behind. What has no schema gets one that keeps everything.
func upgradeCRD(doc *yaml.Node) ([]byte, error) {
	var c map[string]any
	if err := doc.Decode(&c); err != nil {
		return nil, err
	}
	spec, _ := c["spec"].(map[string]any)
	if spec == nil {
		return nil, fmt.Errorf("the CRD has no spec")
	}
	c["apiVersion"] = "apiextensions.k8s.io/v1"
	delete(c, "status")
	versions, _ := spec["versions"].([]any)
	if len(versions) == 0 {
		versions = []any{map[string]any{"name": spec["version"], "served": true, "storage": true}}
	}
	for _, v := range versions {
		m, ok := v.(map[string]any)
		if !ok {
			continue
		}
		upgradeVersion(m, spec)
	}
	for _, key := range []string{"version", "validation", "subresources", "additionalPrinterColumns", "preserveUnknownFields"} {
		delete(spec, key)
	}
	spec["versions"] = versions
	if w, ok := spec["conversion"].(map[string]any); ok {
		upgradeConversion(w)
	}
	return yamledit.Encode(c)
}

// upgradeVersion gives a version what v1beta1 said once for all of them: the schema,
// subresources and columns.
func upgradeVersion(m, spec map[string]any) {
	if m["schema"] == nil {
		m["schema"] = spec["validation"]
	}
	schema, _ := m["schema"].(map[string]any)
	root, _ := schema["openAPIV3Schema"].(map[string]any)
	if root == nil {
		root = map[string]any{"x-kubernetes-preserve-unknown-fields": true}
		m["schema"] = map[string]any{"openAPIV3Schema": root}
	}
	if root["type"] == nil {
		root["type"] = "object"
	}
	if spec["preserveUnknownFields"] != false {
		structuralRoot(root)
	}
	for _, key := range []string{"subresources", "additionalPrinterColumns"} {
		if m[key] == nil && spec[key] != nil {
			m[key] = spec[key]
		}
	}
	columns, _ := m["additionalPrinterColumns"].([]any)
	for _, c := range columns {
		if col, ok := c.(map[string]any); ok && col["JSONPath"] != nil {
			col["jsonPath"] = col["JSONPath"]
			delete(col, "JSONPath")
		}
	}
}

// structuralRoot makes the schema of a whole object structural. What every
// object has gets its type and nothing else: metadata may not keep fields that
// it does not name.
func structuralRoot(root map[string]any) {
	props, _ := root["properties"].(map[string]any)
	common := map[string]any{}
	for name, typ := range map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"} {
		if p, there := props[name]; there {
			if m, ok := p.(map[string]any); ok && m["type"] == nil {
				m["type"] = typ
			}
			common[name] = p
			delete(props, name)
		}
	}
	structural(root)
	maps.Copy(props, common)
}

// structural makes a schema structural: every part says its type, and objects
// that name no fields keep what they are given, as they did.
func structural(s map[string]any) {
	props, _ := s["properties"].(map[string]any)
	if isIntOrString(s["anyOf"]) {
		delete(s, "anyOf")
		delete(s, "type")
		s["x-kubernetes-int-or-string"] = true
	}
	if s["type"] == nil && s["x-kubernetes-int-or-string"] == nil && s["x-kubernetes-preserve-unknown-fields"] == nil {
		switch {
		case props != nil || s["additionalProperties"] != nil:
			s["type"] = "object"
		case s["items"] != nil:
			s["type"] = "array"
		default:
			s["x-kubernetes-preserve-unknown-fields"] = true
		}
	}
	if s["type"] == "object" && props == nil && s["additionalProperties"] == nil {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	for _, p := range props {
		if m, ok := p.(map[string]any); ok {
			structural(m)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if m, ok := s[key].(map[string]any); ok {
			structural(m)
		}
	}
}

// isIntOrString says whether alternatives are a number and a text, which today's
// schemas have a word for, and allow no types in alternatives.
func isIntOrString(anyOf any) bool {
	list, _ := anyOf.([]any)
	var types []string
	for _, item := range list {
		if m, ok := item.(map[string]any); ok && len(m) == 1 {
			types = append(types, fmt.Sprint(m["type"]))
		}
	}
	slices.Sort(types)
	return len(list) == 2 && slices.Equal(types, []string{"integer", "string"})
}

// upgradeConversion nests what says how to convert by webhook.
func upgradeConversion(c map[string]any) {
	if c["webhookClientConfig"] == nil {
		return
	}
	reviews := c["conversionReviewVersions"]
	if reviews == nil {
		reviews = []any{"v1beta1"} // the default of old, which v1 has none of
	}
	c["webhook"] = map[string]any{"clientConfig": c["webhookClientConfig"], "conversionReviewVersions": reviews}
	delete(c, "webhookClientConfig")
	delete(c, "conversionReviewVersions")
}
