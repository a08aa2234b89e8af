package generate

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const doubtfulFile = `package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	parts "example.com/apis/api/shared"
)

// Cache is a kind.
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=Ca
// +kubebuilder:printcolumn:name=A,type=string,JSONPath=.a
// +kubebuilder:printcolumn:name=B,type=string,JSONPath=.b
type Cache struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec CacheSpec ` + "`json:\"spec\"`" + `
}

// Word has a pattern.
// +kubebuilder:validation:Pattern=b
type Word string

// Inline has a default.
type Inline struct {
	// +kubebuilder:default=1
	Deep int32 ` + "`json:\"deep,omitempty\"`" + `
}

// CacheSpec is what is wanted.
type CacheSpec struct {
	Inline ` + "`json:\",inline\"`" + `

	// +kubebuilder:validation:Pattern=a
	Word Word ` + "`json:\"word\"`" + `
	// +kubebuilder:validation:items:MaxLength=3
	// +kubebuilder:validation:MaxItems=3
	Words []Word ` + "`json:\"words\"`" + `
	// Selector is of somebody else.
	Selector *metav1.LabelSelector  ` + "`json:\"selector,omitempty\"`" + `
	Things   map[string]*parts.Thing ` + "`json:\"things,omitempty\"`" + `
}
`

const sharedFile = `// Package shared is used by all versions.
// +kubebuilder:object:generate=true
package shared

// Thing has rules.
// +kubebuilder:validation:XValidation:rule="self.a == 1"
// +kubebuilder:validation:XValidation:rule="self.a == \"2\""
// +kubebuilder:validation:AtMostOneOf=a;b
type Thing struct {
	A int32 ` + "`json:\"a,omitempty\"`" + `
	B int32 ` + "`json:\"b,omitempty\"`" + `
}
`

// TestRefused has a judge refuse one field after another, and looks which place
// in the sources is named for it.
func TestRefused(t *testing.T) {
	const spec = "spec.versions[0].schema.openAPIV3Schema.properties[spec]"
	fields := map[string]string{
		spec + ".properties[deep].default":                                                 kindPath + ":27:5: marker +kubebuilder:default: bad",
		spec + ".properties[deep].default.x":                                               kindPath + ":27:5: marker +kubebuilder:default: x: bad",
		spec + ".properties[word].allOf[0].pattern":                                        "api/v1/cache_types.go:22:4: marker +kubebuilder:validation:Pattern: bad",
		spec + ".properties[words].items.maxLength":                                        "api/v1/cache_types.go:37:5: marker +kubebuilder:validation:items:MaxLength: bad",
		spec + ".properties[words].maxItems":                                               "api/v1/cache_types.go:38:5: marker +kubebuilder:validation:MaxItems: bad",
		spec + ".properties[words].items.pattern":                                          "api/v1/cache_types.go:22:4: marker +kubebuilder:validation:Pattern: bad",
		spec + ".properties[selector].properties[matchLabels].type":                        "api/v1/cache_types.go:41:2: CRD caches.cache.example.com: FIELD: bad",
		spec + ".properties[things].additionalProperties.x-kubernetes-validations[0].rule": "api/shared/shared.go:6:4: marker +kubebuilder:validation:XValidation: bad",
		spec + ".properties[things].additionalProperties.x-kubernetes-validations[1].rule": "api/shared/shared.go:7:4: marker +kubebuilder:validation:XValidation: bad",
		spec + ".properties[things].additionalProperties.x-kubernetes-validations[2].rule": "api/shared/shared.go:8:4: marker +kubebuilder:validation:AtMostOneOf: bad",
		spec + ".properties[things].additionalProperties.properties[b].type":               "api/shared/shared.go:11:2: CRD caches.cache.example.com: FIELD: bad",
		"spec.versions[0].additionalPrinterColumns[1].jsonPath":                            "api/v1/cache_types.go:13:4: marker +kubebuilder:printcolumn: bad",
		"spec.names.shortNames[0]":                                                         "api/v1/cache_types.go:11:4: marker +kubebuilder:resource: bad",
		"spec.versions[7].name":                                                            "config/crd/bases/cache.example.com_caches.yaml: CRD caches.cache.example.com: FIELD: bad",
	}
	p := newProject(t, small())
	p.write(kindPath, doubtfulFile)
	p.write("api/shared/shared.go", sharedFile)
	got := map[string]string{}
	judge := func(_ context.Context, crds map[string][]byte) (refused []Refusal, done bool, err error) {
		if len(crds) != 1 || crds[crdPath] == nil {
			t.Errorf("asked about %d CRDs", len(crds))
		}
		refused = append(refused, Refusal{File: crdPath, Field: "metadata.annotations[a]", Text: "bad"}) // kustomizations have it
		for field := range fields {
			refused = append(refused, Refusal{File: crdPath, Field: field, Text: "bad " + field})
		}
		return refused, true, nil
	}
	res := p.render(func(o *Options) { o.Judge, o.Lax = judge, true })
	for _, w := range res.Warnings {
		for field := range fields {
			if said, ok := strings.CutSuffix(w, " "+field); ok {
				got[field] = strings.ReplaceAll(said, field, "FIELD")
			}
		}
	}
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	_, err := p.tryRender(func(o *Options) { o.Judge, o.Foreign = judge, true })
	if n := len(problemsOf(t, err)); n != 11 {
		t.Errorf("%d of them are errors in a project of other tools", n)
	}
}

const columnsFile = `package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Cache is a kind.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.gone,selectorpath=.status.selector
COLUMNS
type Cache struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec   CacheSpec   ` + "`json:\"spec\"`" + `
	Status CacheStatus ` + "`json:\"status,omitempty\"`" + `
}

// CacheSpec is what is wanted.
type CacheSpec struct {
	Size   int32                  ` + "`json:\"size\"`" + `
	Labels map[string]string      ` + "`json:\"labels,omitempty\"`" + `
	Port   intstr.IntOrString     ` + "`json:\"port,omitempty\"`" + `
	Pod    corev1.PodTemplateSpec ` + "`json:\"pod,omitempty\"`" + `
	// +kubebuilder:pruning:PreserveUnknownFields
	Raw runtime.RawExtension ` + "`json:\"raw,omitempty\"`" + `
	// +kubebuilder:validation:XEmbeddedResource
	Object runtime.RawExtension ` + "`json:\"object,omitempty\"`" + `
}

// CacheStatus is what there is.
type CacheStatus struct {
	Selector   string             ` + "`json:\"selector,omitempty\"`" + `
	Conditions []metav1.Condition ` + "`json:\"conditions,omitempty\"`" + `
}
`

// TestStrayPaths warns about columns and scale paths that name no field of the kind,
// also when nothing else is to do, and about nothing that may be there.
func TestStrayPaths(t *testing.T) {
	leaveToLong(t)
	columns := []struct{ path, missing string }{
		{".spec.size", ""}, {".spec.count", ".spec.count"}, {".sepc.size", ".sepc"}, {".status.condition[0].type", ".status.condition"},
		{".spec.pod.spec.hostNam", ".spec.pod.spec.hostNam"}, {".spec.pod.spec.hostname", ""}, {".spec.pod.metadata.labels.app", ""},
		{`.status.conditions[?(@.type=="Ready")].status`, ""}, {".status.conditions[0].reasons", ""}, {".status.conditions[*].type", ""},
		{".metadata.creationTimestamp", ""}, {`.metadata.labels.example\.com/a`, ""}, {".metadata.annotations['example.com/a']", ""}, {".kind", ""}, {".apiVersion", ""},
		{".spec.labels.any", ""}, {`.spec.labels.example\.com/a`, ""}, {".spec['labels'].a", ""}, {`.spec.example\.com`, ""},
		{".spec.port", ""}, {".spec.raw.any.thing", ""}, {".spec.object.spec.any", ""}, {".spec..any", ""}, {".spec.*", ""}, {".", ""},
	}
	const at, first = kindPath + ":%d:4: marker +kubebuilder:%s: there is no field %s", 13
	want := []string{fmt.Sprintf(at, first-1, "subresource:scale", ".status.gone")}
	var lines []string
	for i, c := range columns {
		lines = append(lines, fmt.Sprintf("// +kubebuilder:printcolumn:name=C%d,type=string,JSONPath=%q", i, c.path))
		if c.missing != "" {
			want = append(want, fmt.Sprintf(at, first+i, "printcolumn", c.missing))
		}
	}
	p := newProject(t, small())
	p.write(kindPath, strings.Replace(columnsFile, "COLUMNS", strings.Join(lines, "\n"), 1))
	res := p.render()
	if diff := cmp.Diff(want, res.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	p.accept(res)
	if res := p.render(); !cmp.Equal(want, res.Warnings) || res.Set.Len() > 0 {
		t.Errorf("the second time: %v, %v", res.Warnings, res.Set.Paths())
	}
}

// TestStoredTwice: of two stored versions the judge hears, whatever else the markers are.
func TestStoredTwice(t *testing.T) {
	stored := strings.Replace(kindFile, "// +kubebuilder:object:root=true", "// +kubebuilder:object:root=true\n// +kubebuilder:storageversion", 1)
	for name, second := range map[string]string{"one": kindFile, "two": stored} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, small())
			p.write(kindPath, stored)
			p.write("api/v2/group.go", strings.Replace(groupFile, "package v1", "package v2", 1))
			p.write("api/v2/cache_types.go", strings.Replace(second, "package v1", "package v2", 1))
			asked := false
			p.render(func(o *Options) {
				o.Judge = func(_ context.Context, crds map[string][]byte) ([]Refusal, bool, error) {
					asked = len(crds) > 0
					return nil, true, nil
				}
			})
			if asked != (name == "two") {
				t.Errorf("asked: %v", asked)
			}
		})
	}
}
