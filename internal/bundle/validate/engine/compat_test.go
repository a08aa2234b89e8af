package engine_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"

	"github.com/example/mysdk/internal/bundle/validate/engine"
	"github.com/example/mysdk/internal/compat"
)

// TestCompareAsCrdify compares the CRDs of crdify's own test suite, and finds
// what crdify is expected to, but for descriptions, formats that change with the
// type, and what is said of fields that are gone besides that they are.
func TestCompareAsCrdify(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/crdify").Output()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "test", "*", "expected.json"))
	if err != nil || len(cases) < 20 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, file := range cases {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			read := func(name string) []byte {
				data, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
				if err != nil {
					t.Fatal(err)
				}
				return data
			}
			old, now := compat.CRDs{}, compat.CRDs{}
			if err := old.Add("a.yaml", read("a.yaml")); err != nil {
				t.Fatal(err)
			}
			if err := now.Add("b.yaml", read("b.yaml")); err != nil {
				t.Fatal(err)
			}
			changes, err := engine.Compare(t.Context(), compat.Request{Old: old, New: now})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes {
				got = append(got, c.Version+" "+c.Field+" "+c.Rule)
				if strings.Contains(c.Text, " : ") || c.Version != "" && !strings.HasPrefix(c.Path, "spec.versions[0].schema") {
					t.Errorf("%+v", c)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(expected(t, read("expected.json")), got); diff != "" {
				t.Errorf("crdify (-) and Compare (+) differ:\n%s", diff)
			}
		})
	}
}

// expected is what crdify finds, as version, field and rule.
func expected(t *testing.T, data []byte) (out []string) {
	t.Helper()
	var results runner.Results
	if err := json.Unmarshal(data, &results); err != nil {
		t.Fatal(err)
	}
	gone := map[string]bool{}
	for _, r := range results.CRDValidation {
		for _, text := range r.Errors {
			version, field := "", ""
			if removed, ok := strings.CutPrefix(text, "removed field : "); ok {
				version, field, _ = strings.Cut(removed, ".^.")
				gone["^."+field] = true
			}
			out = append(out, version+" "+field+" "+r.Name)
		}
	}
	for _, v := range results.SameVersionValidation {
		for _, p := range v.PropertyComparisons {
			typed := slices.ContainsFunc(p.ComparisonResults, func(r validations.ComparisonResult) bool { return r.Name == "type" })
			for _, r := range p.ComparisonResults {
				field := strings.TrimPrefix(p.Property, "^.")
				if gone[p.Property] || r.Name == "description" || r.Name == "unhandled" && typed {
					continue
				}
				if r.Name == "required" {
					field += "." + strings.Trim(strings.SplitN(r.Errors[0], "[", 2)[1], "]")
				}
				out = append(out, v.Version+" "+field+" "+r.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// shops is a CRD with these versions; each is NAME, SERVED and STORAGE, and the
// properties of its spec.
func shops(versions ...string) compat.CRDs {
	text := `{kind: CustomResourceDefinition, apiVersion: apiextensions.k8s.io/v1, metadata: {name: shops.x.io}, spec: {scope: Namespaced, group: x.io, names: {kind: Shop, plural: shops}, versions: [`
	for _, v := range versions {
		words := strings.SplitN(v, " ", 4)
		text += "{name: " + words[0] + ", served: " + words[1] + ", storage: " + words[2] + ", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {" + words[3] + "}}}}}},"
	}
	return compat.CRDs{"shops.x.io": []byte(text + "]}}")}
}

// quantity is a version whose field a has the schema of a resource.Quantity.
const quantity = `v1 true true a: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true, ` +
	`pattern: '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'}`

func TestCompare(t *testing.T) {
	size := "size: {type: integer}"
	webhook := compat.CRDs{"shops.x.io": []byte(strings.Replace(string(shops("v1 true true "+size, "v2 true false size: {type: string}")["shops.x.io"]), "scope:", "conversion: {strategy: Webhook}, scope:", 1))}
	for name, c := range map[string]struct {
		old, now compat.CRDs
		want     []string
	}{
		"alike":                     {shops("v1 true true " + size), shops("v1 true true " + size), nil},
		"a new one":                 {compat.CRDs{}, shops("v1 true true " + size), nil},
		"removed":                   {shops("v1 true true " + size), compat.CRDs{}, []string{"||crdRemoval|the CRD is removed|"}},
		"a version goes":            {shops("v1 true false "+size, "v2 true true "+size), shops("v2 true true " + size), []string{"v1||servedVersionRemoval|the version is no longer served|"}},
		"the stored version goes":   {shops("v1 true true " + size), shops("v2 true true " + size), []string{"||storedVersionRemoval|stored versions removed: [v1]|"}},
		"a version is not served":   {shops("v1 true true "+size, "v2 true false "+size), shops("v1 false true "+size, "v2 true false "+size), []string{"v1||servedVersionRemoval|the version is no longer served|spec.versions[0]"}},
		"one that was not served":   {shops("v1 false false "+size, "v2 true true "+size), shops("v2 true true " + size), nil},
		"a field and what is below": {shops("v1 true true a: {type: object, properties: {b: {type: string}}}"), shops("v1 true true " + size), []string{"v1|spec.a|existingFieldRemoval|the field is removed|spec.versions[0].schema.openAPIV3Schema.properties[spec]"}},
		"items":                     {shops("v1 true true a: {type: array, items: {type: object, properties: {b: {type: string}}}}"), shops("v1 true true a: {type: array, items: {type: object, properties: {b: {type: integer, format: int32}}}}"), []string{`v1|spec.a.items.b|type|type changed: "string" -> "integer"|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].items.properties[b].type`}},
		"values of a map":           {shops("v1 true true a: {type: object, additionalProperties: {type: integer}}"), shops("v1 true true a: {type: object, additionalProperties: {type: integer, minimum: 2}}"), []string{"v1|spec.a.additionalProperties|minimum|minimum constraint added when there was none previously: 2|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].additionalProperties.minimum"}},
		"a looser map":              {shops("v1 true true a: {type: object, additionalProperties: {type: integer, minimum: 2}}"), shops("v1 true true a: {type: object, additionalProperties: {type: integer, minimum: 1}}"), nil},
		"what no rule knows":        {shops("v1 true true a: {type: string}"), shops("v1 true true a: {type: string, format: date, x-kubernetes-validations: [{rule: 'true'}]}"), []string{"v1|spec.a|unhandled|changed: format, x-kubernetes-validations|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].format"}},
		"what was demanded twice": {shops("v1 true true a: {type: string, allOf: [{minLength: 1}, {minLength: 2}]}"), shops("v1 true true a: {type: string, minLength: 2}"), []string{
			"v1|spec.a|minLength|minimum constraint added when there was none previously: 2|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].minLength",
			"v1|spec.a|unhandled|changed: allOf|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].allOf"}},
		"lists are atomic anyway":    {shops("v1 true true a: {type: array, items: {type: string}}"), shops("v1 true true a: {type: array, items: {type: string}, x-kubernetes-list-type: atomic}"), nil},
		"a list that is a set":       {shops("v1 true true a: {type: array, items: {type: string}}"), shops("v1 true true a: {type: array, items: {type: string}, x-kubernetes-list-type: set}"), []string{"v1|spec.a|unhandled|changed: x-kubernetes-list-type|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-list-type"}},
		"an object that is atomic":   {shops("v1 true true a: {type: object, x-kubernetes-map-type: granular}"), shops("v1 true true a: {type: object, x-kubernetes-map-type: atomic}"), nil},
		"one that is not any more":   {shops("v1 true true a: {type: object, x-kubernetes-map-type: atomic}"), shops("v1 true true a: {type: object}"), []string{"v1|spec.a|unhandled|changed: x-kubernetes-map-type|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-map-type"}},
		"a port by name":             {shops("v1 true true a: {type: integer, format: int32}"), shops("v1 true true a: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}"), nil},
		"a quantity":                 {shops("v1 true true a: {type: string}"), shops(quantity), nil},
		"a pattern of one's own":     {shops("v1 true true a: {type: string}"), shops("v1 true true a: {x-kubernetes-int-or-string: true, pattern: x}"), []string{`v1|spec.a|pattern|pattern added: "" -> "x"|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].pattern`}},
		"a default":                  {shops("v1 true true a: {type: string, default: x}"), shops("v1 true true a: {type: string, default: z}"), []string{`v1|spec.a|default|default value changed: "x" -> "z"|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].default`}},
		"enums in any order":         {shops("v1 true true a: {type: string, enum: [a, b, c, d]}"), shops("v1 true true a: {type: string, enum: [c]}"), []string{`v1|spec.a|enum|allowed enum values removed: ["a" "b" "d"]|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].enum`}},
		"no schema":                  {shops("v1 true true " + size), compat.CRDs{"shops.x.io": []byte(`{apiVersion: apiextensions.k8s.io/v1, spec: {scope: Namespaced, versions: [{name: v1, served: true, storage: true}]}}`)}, []string{"v1||existingFieldRemoval|the field is removed|spec.versions[0].schema.openAPIV3Schema"}},
		"a new version that differs": {shops("v1 true true " + size), shops("v1 true true "+size, "v2 true false size: {type: string}"), []string{`v1 -> v2|spec.size|type|type changed: "integer" -> "string"|spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[size].type`}},
		"a new version that lacks":   {shops("v1 true true " + size), shops("v1 true true "+size, "v2 true false a: {type: string}"), []string{"v1 -> v2|spec.size|existingFieldRemoval|v2 has no such field, and there is no conversion webhook|spec.versions[1].schema.openAPIV3Schema.properties[spec]"}},
		"one that is converted":      {shops("v1 true true " + size), webhook, nil},
		"v1beta1, of no type": {
			compat.CRDs{"shops.x.io": []byte(`{apiVersion: apiextensions.k8s.io/v1beta1, spec: {group: x.io, scope: Namespaced, names: {kind: Shop, plural: shops}, version: v1, validation: {openAPIV3Schema: {properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}}`)},
			shops("v1 true true " + size), nil,
		},
		"v1beta1": {
			compat.CRDs{"shops.x.io": []byte(`{apiVersion: apiextensions.k8s.io/v1beta1, spec: {group: x.io, scope: Namespaced, names: {kind: Shop, plural: shops}, version: v1, validation: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string}}}}}}}}`)},
			shops("v1 true true " + size), []string{`v1|spec.size|type|type changed: "string" -> "integer"|spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].type`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			changes, err := compat.Compare(t.Context(), engine.Compare, compat.Request{Old: c.old, New: c.now})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes {
				got = append(got, strings.Join([]string{c.Version, c.Field, c.Rule, c.Text, c.Path}, "|"))
				if c.CRD != "shops.x.io" || c.Hint == "" {
					t.Errorf("%+v", c)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, c := range map[string]struct {
		config compat.Config
		want   string // of the changes, by rule
	}{
		"all":               {compat.Config{}, "enum unhandled"},
		"one is off":        {compat.Config{Validations: []compat.Validation{{Name: "enum", Enforcement: "None"}}}, "unhandled"},
		"one warns":         {compat.Config{Validations: []compat.Validation{{Name: "enum", Enforcement: "Warn"}}}, "enum: warning unhandled"},
		"more is allowed":   {compat.Config{Validations: []compat.Validation{{Name: "enum", Enforcement: "Error", Configuration: map[string]any{"additionPolicy": "Allow"}}}}, "unhandled"},
		"the rest warns":    {compat.Config{UnhandledEnforcement: "Warn"}, "enum unhandled: warning"},
		"descriptions, too": {compat.Config{UnhandledEnforcement: "None", Validations: []compat.Validation{{Name: "description", Enforcement: "Warn"}, {Name: "crdRemoval", Enforcement: "None"}}}, "description: warning enum"},
	} {
		changes, err := compat.Compare(t.Context(), engine.Compare, compat.Request{Config: c.config,
			Old: shops("v1 true true a: {type: string, enum: [x], description: old}"), New: shops("v1 true true a: {type: string, enum: [x, z], format: date, description: new}")})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, change := range changes {
			if change.Warning {
				change.Rule += ": warning"
			}
			got = append(got, change.Rule)
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	bad := compat.Config{Validations: []compat.Validation{{Name: "enum", Enforcement: "Error", Configuration: map[string]any{"additionPolicy": "Perhaps"}}}}
	if _, err := engine.Compare(t.Context(), compat.Request{Config: bad}); err == nil || !strings.Contains(err.Error(), "Perhaps") {
		t.Errorf("a bad setting: %v", err)
	}
	if _, err := engine.Compare(t.Context(), compat.Request{Old: shops("v1 true true " + size), New: compat.CRDs{"shops.x.io": []byte("spec: 1")}}); err == nil || !strings.Contains(err.Error(), "read the new CRD shops.x.io") {
		t.Errorf("%v", err)
	}
}
