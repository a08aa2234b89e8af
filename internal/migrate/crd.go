package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/rewrite/goedit"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

type crd = apiextensionsv1.CustomResourceDefinition

func decodeCRD(doc *yaml.Node) (*crd, error) {
	var v map[string]any
	if err := doc.Decode(&v); err != nil {
		return nil, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return compat.ReadCRD(data)
}

// crdMarkers are those that the type of the version needs, so that what is
// generated has the names, columns and subresources that the CRD had. have is
// the comment of the type: what is marked there already stays as it is.
func crdMarkers(c *crd, version, have string) []string {
	var out []string
	v := apiextensionsv1.CustomResourceDefinitionVersion{}
	for _, other := range c.Spec.Versions {
		if other.Name == version || v.Name == "" { // one that it does not have is taken for the first
			v = other
		}
	}
	add := func(marker, prefix string) {
		if !strings.Contains(have, prefix) {
			out = append(out, marker)
		}
	}
	if v.Name == version && v.Storage && len(c.Spec.Versions) > 1 {
		add("+kubebuilder:storageversion", "+kubebuilder:storageversion")
	}
	if v.Name == version && !v.Served {
		add("+kubebuilder:unservedversion", "+kubebuilder:unservedversion")
	}
	metadata := func(marker string, values map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !hasAnyPrefix(name, "controller-gen.", "controller-tools.", "kubectl.") { // of tools
				add(fmt.Sprintf("%s%q", marker, name+"="+values[name]), marker)
			}
		}
	}
	metadata("+kubebuilder:metadata:labels=", c.Labels)
	metadata("+kubebuilder:metadata:annotations=", c.Annotations)
	if r := resourceMarker(c.Spec); r != "" {
		add(r, "+kubebuilder:resource:")
	}
	if subs := v.Subresources; subs != nil && subs.Status != nil {
		add("+kubebuilder:subresource:status", "+kubebuilder:subresource:status")
	}
	if subs := v.Subresources; subs != nil && subs.Scale != nil {
		add(scaleMarker(subs.Scale), "+kubebuilder:subresource:scale")
	}
	for _, col := range v.AdditionalPrinterColumns {
		add(columnMarker(col), "+kubebuilder:printcolumn:")
	}
	return out
}

// resourceMarker has what a CRD says of names and scope that cannot be told
// from the kind.
func resourceMarker(spec apiextensionsv1.CustomResourceDefinitionSpec) string {
	n := spec.Names
	var parts []string
	add := func(key, value string) {
		if value != "" {
			parts = append(parts, key+"="+value)
		}
	}
	add("path", n.Plural)
	if spec.Scope == apiextensionsv1.ClusterScoped {
		add("scope", "Cluster")
	}
	add("shortName", strings.Join(n.ShortNames, ";"))
	add("categories", strings.Join(n.Categories, ";"))
	if n.Singular != strings.ToLower(n.Kind) {
		add("singular", n.Singular)
	}
	if len(parts) == 0 {
		return ""
	}
	return "+kubebuilder:resource:" + strings.Join(parts, ",")
}

func scaleMarker(s *apiextensionsv1.CustomResourceSubresourceScale) string {
	out := fmt.Sprintf("+kubebuilder:subresource:scale:specpath=%s,statuspath=%s", s.SpecReplicasPath, s.StatusReplicasPath)
	if s.LabelSelectorPath != nil {
		out += ",selectorpath=" + *s.LabelSelectorPath
	}
	return out
}

func columnMarker(c apiextensionsv1.CustomResourceColumnDefinition) string {
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
	c, err := decodeCRD(doc)
	if err != nil {
		return nil, err
	}
	if len(c.Spec.Versions) == 0 {
		return yamledit.Encode(doc) // a patch of one
	}
	for _, v := range c.Spec.Versions {
		if v.Schema.OpenAPIV3Schema == nil {
			v.Schema.OpenAPIV3Schema = &schema{XPreserveUnknownFields: new(true)}
		}
		root := v.Schema.OpenAPIV3Schema
		root.Type = cmp.Or(root.Type, "object")
		if c.Spec.PreserveUnknownFields {
			structuralRoot(root)
		}
	}
	c.Spec.PreserveUnknownFields = false
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := yaml.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	delete(out, "status")
	return yamledit.Encode(out)
}

type schema = apiextensionsv1.JSONSchemaProps

// structuralRoot makes the schema of a whole object structural. What every
// object has gets its type and nothing else: metadata may not keep fields that
// it does not name.
func structuralRoot(root *schema) {
	common := map[string]schema{}
	for name, typ := range map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"} {
		if p, there := root.Properties[name]; there {
			p.Type = cmp.Or(p.Type, typ)
			common[name] = p
			delete(root.Properties, name)
		}
	}
	structural(root)
	maps.Copy(root.Properties, common)
}

// structural makes a schema structural: every part says its type, and objects
// that name no fields keep what they are given, as they did.
func structural(s *schema) {
	number, text := schema{Type: "integer"}, schema{Type: "string"}
	if reflect.DeepEqual(s.AnyOf, []schema{number, text}) || reflect.DeepEqual(s.AnyOf, []schema{text, number}) {
		s.AnyOf, s.Type, s.XIntOrString = nil, "", true // today's schemas allow no types in alternatives
	}
	if s.Type == "" && !s.XIntOrString && s.XPreserveUnknownFields == nil {
		switch {
		case s.Properties != nil || s.AdditionalProperties != nil:
			s.Type = "object"
		case s.Items != nil:
			s.Type = "array"
		default:
			s.XPreserveUnknownFields = new(true)
		}
	}
	if s.Type == "object" && s.Properties == nil && s.AdditionalProperties == nil {
		s.XPreserveUnknownFields = new(true)
	}
	for name, p := range s.Properties {
		structural(&p)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		structural(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		structural(s.AdditionalProperties.Schema)
	}
}

// crdsBefore are the CRDs that the project was deployed with: those of config/crd
// or, with operator-sdk v0.x, of deploy. One that is there several times, in
// installers and old bundles, is that of the usual directory.
func (m *migration) crdsBefore() compat.CRDs {
	usual := []string{"deploy/crds", "deploy"}
	rank := func(name string) int {
		if i := slices.Index(usual, path.Dir(name)); i >= 0 {
			return i
		}
		return len(usual)
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(m.files)), func(name string) bool {
		if m.layout == LayoutSDK0 {
			return !inDeploy(name)
		}
		return !isYAML(name) || path.Dir(name) != "config/crd/bases"
	})
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	out := compat.CRDs{}
	for _, name := range names {
		found := compat.CRDs{}
		if found.Add(name, m.files[name].data) != nil {
			continue // markUnread tells of those in deploy, and what is generated replaces the others
		}
		for crd, data := range found {
			if out[crd] == nil {
				out[crd] = data
			}
		}
	}
	return out
}

// Field is a field of a type, by the line that it begins in and its name in objects.
type Field struct {
	Line int
	Name string
}

// Marked is the text of a Go file with markers above fields.
func Marked(name string, src []byte, markers map[Field][]string) ([]byte, error) {
	done := false // the lines are those of the text as it was
	return transform(name, src, func(f *goFile) {
		for at := range goedit.Each[*ast.Field](f.Tree) {
			json, _, _ := strings.Cut(goedit.JSONTag(at), ",")
			if list := markers[Field{f.Line(at.Pos()), json}]; !done && len(list) > 0 {
				f.Insert(at.Pos(), "// +"+strings.Join(list, "\n// +")+"\n")
			}
		}
		done = true
	})
}
