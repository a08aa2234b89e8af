package generate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestNamedTypes: named lists and maps that JSON has as strings are strings in
// CRDs, although controller-tools has an error for them.
func TestNamedTypes(t *testing.T) {
	const types = `package v1

import (
	"encoding/json"
	"net"
)

// Words are separated by commas.
// +kubebuilder:validation:Type=string
type Words []string

// Pairs are separated by commas.
// +kubebuilder:validation:Type=string
type Pairs map[string]string

// Named has fields of named types.
type Named struct {
	// +optional
	A json.RawMessage %[1]sjson:"a,omitempty"%[1]s
	// +optional
	B []net.IP %[1]sjson:"b,omitempty"%[1]s
	// +optional
	C *Words %[1]sjson:"c,omitempty"%[1]s
	// +optional
	D Pairs %[1]sjson:"d,omitempty"%[1]s
	// +optional
	E map[string]net.IP %[1]sjson:"e,omitempty"%[1]s
	// +optional%[2]s
	F *Words %[1]sjson:"f,omitempty"%[1]s
}
`
	files := small()
	files["api/v1/named.go"] = fmt.Sprintf(types, "`", "")
	files[kindPath] = strings.Replace(kindFile, "type CacheSpec struct {\n", "type CacheSpec struct {\n\tNamed Named `json:\"named\"`\n", 1)
	var got apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(texts(newProject(t, files).render())[crdPath]), &got); err != nil {
		t.Fatal(err)
	}
	named := got.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["named"].Properties
	have := map[string]string{}
	for name, p := range named {
		have[name] = p.Type
		switch {
		case name == "b":
			have[name] += " of " + p.Items.Schema.Type
		case name == "e":
			have[name] += " of " + p.AdditionalProperties.Schema.Type
		}
	}
	want := map[string]string{"a": "string", "b": "array of string", "c": "string", "d": "string", "e": "object of string", "f": "string"}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}

	files["api/v1/named.go"] = fmt.Sprintf(types, "`", "\n\t// +kubebuilder:validation:Type=integer")
	_, err := newProject(t, files).tryRender()
	wantErr := "generate: api/v1/named.go:30:2: marker +kubebuilder:validation:Type=integer: the Go type of F has the type string"
	if err == nil || err.Error() != wantErr {
		t.Errorf("error %v, want %s", err, wantErr)
	}
}
