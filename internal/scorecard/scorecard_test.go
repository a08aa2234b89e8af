package scorecard

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
)

const testConfig = `
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
metadata: {name: config}
stages:
- parallel: true
  tests:
  - entrypoint: [scorecard-test, basic-check-spec]
    image: quay.io/operator-framework/scorecard-test:v1.42.3
    labels: {suite: basic, test: basic-check-spec-test}
  - entrypoint: [scorecard-test, olm-crds-have-validation]
    labels: {suite: olm, test: olm-crds-have-validation-test}
- tests:
  - entrypoint: [my-tests, first]
    image: example.com/my-tests:v1
    labels: {suite: custom, test: first}
`

const testCSV = `
metadata:
  name: shop-operator.v0.1.0
  annotations:
    alm-examples: |
      [{"apiVersion": "shop.example.com/v1", "kind": "Cart", "metadata": {"name": "cart-sample"},
        "spec": {"size": 1}, "status": {"ready": true}}]
spec:
  customresourcedefinitions:
    owned:
    - name: carts.shop.example.com
      kind: Cart
      version: v1
      resources: [{kind: Deployment, version: v1}]
      specDescriptors: [{path: size}]
      statusDescriptors: [{path: ready}]
`

const testCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Cart, plural: carts, singular: cart, listKind: CartList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 1}
              items: {type: array, items: {type: object, properties: {name: {type: string}}}}
              labels: {type: object, additionalProperties: {type: string}}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object}}}
              template: {type: object, x-kubernetes-embedded-resource: true, properties: {metadata: {type: object}, spec: {type: object}}}
          status: {type: object, properties: {ready: {type: boolean}}}
`

// subject is a bundle that passes every test, changed by change.
func subject(t *testing.T, change func(*Subject)) Subject {
	t.Helper()
	s := Subject{CSV: &v1alpha1.ClusterServiceVersion{}, Validate: func() (problems, warnings []string) { return nil, nil },
		Files: map[string][]byte{"manifests/csv.yaml": []byte(testCSV), "metadata/annotations.yaml": nil}}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	for text, into := range map[string]any{testCSV: s.CSV, testCRD: crd} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	s.CRDs = append(s.CRDs, crd)
	if change != nil {
		change(&s)
	}
	return s
}

func builtinTest(name string) v1alpha3.TestConfiguration {
	return v1alpha3.TestConfiguration{Entrypoint: []string{"scorecard-test", name}}
}

func TestBuiltin(t *testing.T) {
	owned := func(s *Subject) *v1alpha1.CRDDescription { return &s.CSV.Spec.CustomResourceDefinitions.Owned[0] }
	examples := func(text string) func(*Subject) {
		return func(s *Subject) { s.CSV.Annotations["alm-examples"] = text }
	}
	for name, tc := range map[string]struct {
		test       string
		change     func(*Subject)
		state      v1alpha3.State
		says       string
		suggestion string
	}{
		"spec":            {test: "basic-check-spec", state: "pass"},
		"no spec":         {"basic-check-spec", examples(`[{"apiVersion":"shop.example.com/v1","kind":"Cart","metadata":{"name":"a"}}]`), "pass", "", "give the example Cart a a spec"},
		"no examples":     {"basic-check-spec", examples(""), "pass", "", ""},
		"broken examples": {"basic-check-spec", examples("[{"), "error", "alm-examples", ""},
		"bundle":          {test: "olm-bundle-validation", state: "pass"},
		"invalid bundle": {"olm-bundle-validation", func(s *Subject) {
			s.Validate = func() ([]string, []string) { return []string{"no icon"}, []string{"no links"} }
		}, "fail", "no icon", "no links"},
		"schemas":            {test: "olm-crds-have-validation", state: "pass"},
		"field not in CRD":   {"olm-crds-have-validation", examples(`[{"apiVersion":"shop.example.com/v1","kind":"Cart","spec":{"colour":"red"}}]`), "fail", "", "add spec.colour to the schema of carts.shop.example.com"},
		"field in an item":   {"olm-crds-have-validation", examples(`[{"apiVersion":"shop.example.com/v1","kind":"Cart","spec":{"items":[{"name":"a"},{"title":"b"}]}}]`), "fail", "", "add spec.items.title to the schema of carts.shop.example.com"},
		"field below any":    {"olm-crds-have-validation", examples(`[{"apiVersion":"shop.example.com/v1","kind":"Cart","spec":{"any":{"known":{"a":1}}}}]`), "fail", "", "add spec.any.known.a to the schema of carts.shop.example.com"},
		"all there":          {"olm-crds-have-validation", examples(`[{"apiVersion":"shop.example.com/v1","kind":"Cart","metadata":{"name":"a"},"spec":{"items":[{"name":"a"}],"labels":{"x":"y"},"any":{"a":{"b":1}},"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{}}},"status":{"ready":true}}]`), "pass", "", ""},
		"no schema":          {"olm-crds-have-validation", func(s *Subject) { s.CRDs[0].Spec.Versions[0].Schema = nil }, "pass", "", "give version v1 of carts.shop.example.com a schema"},
		"other group":        {"olm-crds-have-validation", examples(`[{"apiVersion":"other.example.com/v1","kind":"Cart","spec":{"colour":"red"}}]`), "pass", "", ""},
		"resources":          {test: "olm-crds-have-resources", state: "pass"},
		"no resources":       {"olm-crds-have-resources", func(s *Subject) { owned(s).Resources = nil }, "fail", "owned CRD Cart v1 names no resources", "resources={{Deployment"},
		"spec descriptors":   {test: "olm-spec-descriptors", state: "pass"},
		"no descriptor":      {"olm-spec-descriptors", func(s *Subject) { owned(s).SpecDescriptors[0].Path = "other" }, "fail", "size does not have a spec descriptor", "type=spec"},
		"example not owned":  {"olm-spec-descriptors", func(s *Subject) { owned(s).Version = "v2" }, "fail", "owns no CRD", ""},
		"example, no spec":   {"olm-spec-descriptors", examples(`[{"apiVersion":"shop.example.com/v1","kind":"Cart","metadata":{"name":"a"}}]`), "fail", "has no spec", ""},
		"status descriptors": {test: "olm-status-descriptors", state: "pass"},
		"status, no words":   {"olm-status-descriptors", func(s *Subject) { owned(s).StatusDescriptors = nil }, "fail", "carts.shop.example.com does not have a status descriptor", "type=status"},
		"example, no status": {"olm-status-descriptors", examples(`[{"apiVersion":"shop.example.com/v1","kind":"Cart","metadata":{"name":"a"},"spec":{}}]`), "pass", "", "a status"},
	} {
		t.Run(name, func(t *testing.T) {
			check := builtin(builtinTest(tc.test))
			r := check(t.Context(), subject(t, tc.change), nil)
			if r.State != tc.state || r.Name != tc.test {
				t.Errorf("%s: %s, want %s; %+v", r.Name, r.State, tc.state, r)
			}
			contains(t, r.Errors, tc.says)
			contains(t, r.Suggestions, tc.suggestion)
		})
	}
}

// contains checks that the lines have the text, or are none where none is
// wanted.
func contains(t *testing.T, lines []string, text string) {
	t.Helper()
	all := strings.Join(lines, "\n")
	if text == "" && all != "" || !strings.Contains(all, text) {
		t.Errorf("got %q, want %q", all, text)
	}
}

func TestNotBuiltin(t *testing.T) {
	for name, tc := range map[string]v1alpha3.TestConfiguration{
		"other program": {Entrypoint: []string{"other", "basic-check-spec"}},
		"unknown test":  builtinTest("basic-check-everything"),
		"no command":    {Image: "example.com/test:v1"},
		"more words":    {Entrypoint: []string{"scorecard-test", "basic-check-spec", "--fast"}},
	} {
		t.Run(name, func(t *testing.T) {
			if builtin(tc) != nil {
				t.Error("is taken for a built-in test")
			}
		})
	}
}

func TestParseConfig(t *testing.T) {
	for name, tc := range map[string]struct{ data, want string }{
		"good":           {testConfig, ""},
		"not YAML":       {"stages: [", "read scorecard configuration x.yaml"},
		"unknown field":  {strings.Replace(testConfig, "parallel", "together", 1), "together"},
		"other kind":     {"apiVersion: v1\nkind: ConfigMap\n", `its kind is "ConfigMap" and its apiVersion "v1"`},
		"of old":         {"scorecard:\n  bundle: deploy\n", `its kind is "" and its apiVersion ""`},
		"test of no one": {strings.Replace(testConfig, "    image: example.com/my-tests:v1\n", "", 1), "stages[1].tests[0] has no image"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseConfig([]byte(tc.data), "x.yaml")
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || clierr.HintOf(err) == "" {
				t.Errorf("got %v (hint %q), want %q", err, clierr.HintOf(err), tc.want)
			}
		})
	}
}

func options(t *testing.T, selector string) Options {
	t.Helper()
	c, err := ParseConfig([]byte(testConfig), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Config: c, Selector: s, Wait: time.Minute}
}

func TestSelected(t *testing.T) {
	for selector, want := range map[string][]string{
		"":                          {"basic-check-spec-test", "olm-crds-have-validation-test", "first"},
		"suite=olm":                 {"olm-crds-have-validation-test"},
		"suite in (basic,custom)":   {"basic-check-spec-test", "first"},
		"suite=olm,test=basic-none": nil,
	} {
		t.Run(selector, func(t *testing.T) {
			var got []string
			for _, item := range Selected(options(t, selector)).Items {
				got = append(got, Name(item.Spec))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func states(list v1alpha3.TestList) map[string]v1alpha3.State {
	got := map[string]v1alpha3.State{}
	for _, item := range list.Items {
		for _, r := range item.Status.Results {
			got[Name(item.Spec)] = r.State
		}
	}
	return got
}

func TestRun(t *testing.T) {
	list, err := Run(t.Context(), subject(t, nil), options(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]v1alpha3.State{"basic-check-spec-test": "pass", "olm-crds-have-validation-test": "pass", "first": "error"}
	if diff := cmp.Diff(want, states(list)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	contains(t, list.Items[2].Status.Results[0].Errors, "needs a cluster that runs containers")
	o := options(t, "suite=custom")
	o.Unasked = true
	if unasked, err := Run(t.Context(), subject(t, nil), o); err != nil {
		t.Error(err)
	} else {
		contains(t, unasked.Items[0].Status.Results[0].Errors, "and --no-cluster asks none")
		contains(t, unasked.Items[0].Status.Results[0].Suggestions, "leave --no-cluster out")
	}
	if Passed(list) {
		t.Error("passed, with a test that could not run")
	}
	list, err = Run(t.Context(), subject(t, nil), options(t, "suite!=custom"))
	if err != nil || !Passed(list) {
		t.Errorf("%v, %+v", err, list)
	}
}

func TestRunOutOfTime(t *testing.T) {
	o := options(t, "suite=olm")
	o.Wait = 0
	list, err := Run(t.Context(), subject(t, nil), o)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, list.Items[0].Status.Results[0].Errors, "not begun")
	if name := list.Items[0].Status.Results[0].Name; name != "olm-crds-have-validation" {
		t.Errorf("the result is called %s", name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, subject(t, nil), options(t, "")); err == nil {
		t.Error("no error after the end of the context")
	}
}

func TestReport(t *testing.T) {
	list, err := Run(t.Context(), subject(t, func(s *Subject) { s.CSV.Spec.CustomResourceDefinitions.Owned[0].SpecDescriptors = nil }), options(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string][]string{
		"text":  {"PASS  basic-check-spec (basic)\n", "ERROR first (custom)\n      image example.com/my-tests:v1 needs", "      suggestion: name another cluster"},
		"json":  {`"kind": "TestList"`, `"state": "pass"`, `"state": "error"`},
		"junit": {`<testsuite name="first" tests="1" failures="0" errors="1">`, `<error message="image example.com/my-tests:v1`},
		"xunit": {`<testsuites name="scorecard">`},
	} {
		t.Run(format, func(t *testing.T) {
			out, err := Report(list, format)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if !strings.Contains(string(out), w) {
					t.Errorf("no %q in:\n%s", w, out)
				}
			}
			wellFormed(t, format, out)
		})
	}
}

func wellFormed(t *testing.T, format string, out []byte) {
	t.Helper()
	var err error
	switch format {
	case "json":
		err = json.Unmarshal(out, &v1alpha3.TestList{})
	case "junit", "xunit":
		err = xml.Unmarshal(out, &junitReport{})
	}
	if err != nil {
		t.Errorf("%s: %v", format, err)
	}
}
