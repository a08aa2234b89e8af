package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// crdText is a CRD of v1beta1 with further fields of its spec.
func crdText(spec string) string {
	return "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.com}\nspec:\n" + indented(spec) + "status: {storedVersions: [v1]}\n"
}

func indented(text string) string {
	out := ""
	for line := range strings.Lines(text) {
		out += "  " + line
	}
	return out
}

func TestUpgradeCRDParts(t *testing.T) {
	tests := map[string]struct {
		spec string // in v1beta1
		want string // the spec in v1
	}{
		"no schema": {"version: v1\n", "versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]"},
		"a validation without schema": {"version: v1\nvalidation: {}\n",
			"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]"},
		"of all versions": {`version: v1
versions: [{name: v1, served: true, storage: true}, {name: v2, served: false, storage: false}]
subresources: {status: {}}
additionalPrinterColumns: [{name: A, type: string, JSONPath: .a}]
validation: {openAPIV3Schema: {properties: {a: {type: string}}}}
`, `versions:
- {name: v1, served: true, storage: true, subresources: {status: {}}, additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}], schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}
- {name: v2, served: false, storage: false, subresources: {status: {}}, additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}], schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}
`},
		"of each version": {`versions:
- {name: v1, served: true, storage: true, subresources: {scale: {specReplicasPath: .s, statusReplicasPath: .t}}, schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}
- {name: v2, served: true, storage: false, additionalPrinterColumns: [{name: A, type: string, JSONPath: .a}]}
`, `versions:
- {name: v1, served: true, storage: true, subresources: {scale: {specReplicasPath: .s, statusReplicasPath: .t}}, schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}
- {name: v2, served: true, storage: false, additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}], schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`},
		"unknown fields are cut": {"version: v1\npreserveUnknownFields: false\nvalidation: {openAPIV3Schema: {type: object, properties: {a: {type: object}}}}\n",
			"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: object}}}}}]"},
		"unknown fields are kept": {"version: v1\npreserveUnknownFields: true\nvalidation: {openAPIV3Schema: {type: object, properties: {a: {type: object}}}}\n",
			"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]"},
		"what every object has": {"version: v1\nvalidation: {openAPIV3Schema: {properties: {apiVersion: {}, kind: {type: string}, metadata: {}}}}\n",
			"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {apiVersion: {type: string}, kind: {type: string}, metadata: {type: object}}}}}]"},
		"fields of such names below": {"version: v1\nvalidation: {openAPIV3Schema: {properties: {spec: {properties: {kind: {}, metadata: {properties: {a: {type: string}}}}}}}}\n",
			"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {kind: {x-kubernetes-preserve-unknown-fields: true}, metadata: {type: object, properties: {a: {type: string}}}}}}}}}]"},
		"numbers or texts": {"version: v1\nvalidation: {openAPIV3Schema: {properties: {a: {x-kubernetes-int-or-string: true}, b: {anyOf: [{type: string}, {type: integer}]}, c: {type: string, anyOf: [{format: a}, {format: b}]}}}}\n",
			"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {x-kubernetes-int-or-string: true}, b: {x-kubernetes-int-or-string: true}, c: {type: string, anyOf: [{format: a}, {format: b}]}}}}}]"},
		"maps": {"version: v1\nvalidation: {openAPIV3Schema: {properties: {a: {additionalProperties: {properties: {b: {type: string}}}}, c: {additionalProperties: true}}}}\n",
			"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: object, additionalProperties: {type: object, properties: {b: {type: string}}}}, c: {type: object, additionalProperties: true}}}}}]"},
		"lists": {"version: v1\nvalidation: {openAPIV3Schema: {properties: {a: {items: {properties: {b: {type: string}}}}}}}\n",
			"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: array, items: {type: object, properties: {b: {type: string}}}}}}}}]"},
		"names by default": {"version: v1\ngroup: example.com\nscope: Cluster\nnames: {kind: X, plural: xs}\n",
			"group: example.com\nnames: {kind: X, plural: xs, singular: x, listKind: XList}\nscope: Cluster\nversions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]"},
		"no conversion": {"versions: []\nversion: v1\nconversion: {strategy: None}\n",
			"conversion: {strategy: None}\nversions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]"},
		"a conversion by webhook": {"version: v1\nconversion: {strategy: Webhook, webhookClientConfig: {url: u}, conversionReviewVersions: [v1, v1beta1]}\n",
			"conversion: {strategy: Webhook, webhook: {clientConfig: {url: u}, conversionReviewVersions: [v1, v1beta1]}}\nversions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]"},
		"reviews by default": {"version: v1\nconversion: {strategy: Webhook, webhookClientConfig: {url: u}}\n",
			"conversion: {strategy: Webhook, webhook: {clientConfig: {url: u}, conversionReviewVersions: [v1beta1]}}\nversions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			data := upgraded(t, crdText(test.spec))
			spec := test.want
			if !strings.Contains(spec, "group:") {
				spec = "group: ''\nnames: {kind: '', plural: ''}\nscope: Namespaced\n" + spec
			}
			if !strings.Contains(spec, "conversion:") {
				spec = "conversion: {strategy: None}\n" + spec
			}
			want := readYAML(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.com}\nspec:\n"+indented(spec))
			if d := cmp.Diff(want, readYAML(t, data)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			// One that is of v1 stays as it is.
			list, err := readObjects("x.yaml", []byte(data))
			if err != nil {
				t.Fatal(err)
			}
			again, err := newMigration(nil).joinObjects(list)
			if err != nil || string(again) != data {
				t.Errorf("a second time changes it (%v):\n%s", err, cmp.Diff(data, string(again)))
			}
		})
	}
}

// upgraded is a CRD in v1.
func upgraded(t *testing.T, text string) string {
	t.Helper()
	docs, err := yamledit.Documents([]byte(text))
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents: %v\n%s", len(docs), err, text)
	}
	data, err := upgradeCRD(docs[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func readYAML(t *testing.T, text string) (v any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}

// TestUpgradeCRDPatch holds that a patch of a CRD, which has no versions, stays.
func TestUpgradeCRDPatch(t *testing.T) {
	const patch = "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1beta1\nmetadata:\n  name: xs.example.com\n"
	if d := cmp.Diff(patch, upgraded(t, patch)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestCRDMarkers(t *testing.T) {
	const k = "+kubebuilder:"
	tests := map[string]struct {
		spec, version, have string
		want                []string
	}{
		"nothing":               {"scope: Namespaced\n", "v1", "", nil},
		"names":                 {"scope: Cluster\nnames: {kind: Ox, plural: oxen, singular: one, shortNames: [o, x], categories: [all, zoo]}\n", "v1", "", []string{k + "resource:path=oxen,scope=Cluster,shortName=o;x,categories=all;zoo,singular=one"}},
		"a singular like any":   {"names: {kind: Ox, plural: oxen, singular: ox}\n", "v1", "", []string{k + "resource:path=oxen"}},
		"status":                {"version: v1\nsubresources: {status: {}}\n", "v1", "", []string{k + "subresource:status"}},
		"scale":                 {"version: v1\nsubresources: {scale: {specReplicasPath: .spec.n, statusReplicasPath: .status.n}}\n", "v1", "", []string{k + "subresource:scale:specpath=.spec.n,statuspath=.status.n"}},
		"scale with a selector": {"version: v1\nsubresources: {scale: {specReplicasPath: .a, statusReplicasPath: .b, labelSelectorPath: .c}}\n", "v1", "", []string{k + "subresource:scale:specpath=.a,statuspath=.b,selectorpath=.c"}},
		"of the version":        {"versions: [{name: v2, served: true, subresources: {status: {}}}, {name: v1, served: true, subresources: {scale: {specReplicasPath: .a, statusReplicasPath: .b}}}]\n", "v1", "", []string{k + "subresource:scale:specpath=.a,statuspath=.b"}},
		"a version that is new": {"versions: [{name: v2, subresources: {status: {}}, storage: true}]\n", "v3", "", []string{k + "subresource:status"}},
		"of another version":    {"versions: [{name: v2, served: true, subresources: {status: {}}, storage: true}, {name: v1, served: true}]\n", "v1", "", nil},
		"what is stored":        {"versions: [{name: v1, served: true}, {name: v2, served: true, storage: true}]\n", "v2", "", []string{k + "storageversion"}},
		"the only one":          {"versions: [{name: v2, served: true, storage: true}]\n", "v2", "", nil},
		"what is not served":    {"versions: [{name: v1, served: false}, {name: v2, served: true, storage: true}]\n", "v1", "", []string{k + "unservedversion"}},
		"columns": {"version: v1\nadditionalPrinterColumns: [{name: Is it, type: date, JSONPath: .a}, {name: B, type: integer, jsonPath: '.c[?(@.t==\"R\")].s', format: int32, description: 'x, y', priority: 1}]\n", "v1", "",
			[]string{k + `printcolumn:name="Is it",type=date,JSONPath=".a"`, k + `printcolumn:name="B",type=integer,JSONPath=".c[?(@.t==\"R\")].s",format=int32,description="x, y",priority=1`}},
		"columns of the version": {"versions: [{name: v2, additionalPrinterColumns: [{name: A, type: date, JSONPath: .a}]}, {name: v1, served: true, additionalPrinterColumns: [{name: B, type: date, jsonPath: .b}]}]\n", "v1", "", []string{k + `printcolumn:name="B",type=date,JSONPath=".b"`}},
		"what is there stays":    {"version: v1\nscope: Cluster\nsubresources: {status: {}, scale: {specReplicasPath: .a, statusReplicasPath: .b}}\nadditionalPrinterColumns: [{name: A, type: date, JSONPath: .a}]\n", "v1", "// +kubebuilder:resource:path=mine\n// +kubebuilder:subresource:status\n// +kubebuilder:printcolumn:name=x", []string{k + "subresource:scale:specpath=.a,statuspath=.b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := compat.ReadCRD([]byte(crdText(test.spec)))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, crdMarkers(c, test.version, test.have)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestCRDMetadata holds that labels and annotations of a CRD are markers, but for
// those that tools write.
func TestCRDMetadata(t *testing.T) {
	c, err := compat.ReadCRD([]byte(strings.Replace(crdText("version: v1\n"), "{name: xs.example.com}", "{name: xs.example.com, labels: {b: x, a: z, controller-tools.k8s.io: '1.0'}, "+
		"annotations: {api-approved.kubernetes.io: 'unapproved, \"for now\"', controller-gen.kubebuilder.io/version: v0.3.0, kubectl.kubernetes.io/last-applied-configuration: '{}'}}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	labels := []string{`+kubebuilder:metadata:labels="a=z"`, `+kubebuilder:metadata:labels="b=x"`}
	annotation := `+kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, \"for now\""`
	if d := cmp.Diff(append(labels, annotation), crdMarkers(c, "v1", "")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(labels, crdMarkers(c, "v1", "// "+annotation)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestForGenerators holds that types get what the generators ask for, once.
func TestForGenerators(t *testing.T) {
	const want = "package v1\n\n// Part is embedded.\ntype Part struct{ A int }\n\ntype Whole struct {\n\t*Part `json:\",inline\"` // all of it\n\tOther `json:\"other\"`\n}\n\n// App is an interface.\n// +kubebuilder:object:generate=false\ntype App interface{ F() }\n"
	src := strings.NewReplacer("\t*Part `json:\",inline\"`", "\t*Part", "// +kubebuilder:object:generate=false\n", "").Replace(want)
	for _, text := range []string{src, want} {
		got, err := transform("a.go", []byte(text), forGenerators)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, string(got)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// TestCRDsBefore holds which of a project's CRDs are those that it was deployed
// with.
func TestCRDsBefore(t *testing.T) {
	crd := func(name, of string) string {
		return "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + "}\nspec: {version: v1}\n# " + of + "\n"
	}
	m := newMigration(map[string]string{
		"deploy/a_installer.yaml":       crd("carts", "installer") + "---\n" + crd("shops", "installer"),
		"deploy/crds/cart.yaml":         crd("carts", "crds"),
		"deploy/crds/cart_cr.yaml":      "kind: Cart\n",
		"deploy/csv/1.0.0/shop.yml":     crd("shops", "csv"),
		"deploy/csv/1.0.0/till.yml":     crd("tills", "csv"),
		"deploy/olm-catalog/b/m/b.yaml": crd("bundled", "bundle"),
		"deploy/chart/templates/c.yaml": crd("templated", "chart"),
		"deploy/crds/broken.yaml":       "{{ CustomResourceDefinition",
		"config/crd/bases/x_desks.yaml": crd("desks", "bases"),
		"config/samples/x.yaml":         crd("sampled", "samples"),
	})
	for layout, want := range map[Layout]map[string]string{
		LayoutSDK0: {"carts": "crds", "shops": "installer", "tills": "csv"}, LayoutGo3: {"desks": "bases"},
	} {
		m.layout = layout
		got := map[string]string{}
		for name, data := range m.crdsBefore() {
			_, of, _ := strings.Cut(string(data), "# ")
			got[name] = strings.TrimSpace(of)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", layout, d)
		}
	}
}

// TestMarked holds that markers come above a field of that line and name, and
// nowhere else.
func TestMarked(t *testing.T) {
	const src = "package v1\n\ntype S struct {\n\t// Size is one.\n\tSize int `json:\"size\"`\n\tZone string\n}\n"
	for name, test := range map[string]struct {
		line  int
		field string
		want  string
	}{
		"the field":         {5, "size", strings.Replace(src, "\tSize", "\t// +nullable\n\t// +optional\n\tSize", 1)},
		"another line":      {4, "size", src},
		"another name":      {5, "Size", src},
		"one without a tag": {6, "Zone", src},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Marked("s.go", []byte(src), map[Field][]string{{test.line, test.field}: {"nullable", "optional"}})
			if d := cmp.Diff(test.want, string(got)); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}
