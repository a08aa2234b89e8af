package apidocs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const crd = `
metadata: {name: shops.x.io}
spec:
  group: x.io
  scope: Namespaced
  names: {kind: Shop, plural: shops, shortNames: [sh]}
  versions:
  - name: v1alpha1
    served: false
    deprecated: true
    deprecationWarning: use v1
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        description: Shop sells <things>.
        required: [spec]
        x-kubernetes-validations: [{rule: size(self.metadata.name) < 9, message: too long}]
        properties:
          kind: {type: string}
          'x.y': {type: object, properties: {'a.b': {type: string}}}
          data: {type: string}
          spec:
            type: object
            description: spec is asked for.
            minProperties: 1
            required: [name]
            properties:
              name: {type: string, minLength: 1, pattern: '^a|b\.c*$', description: "name of\nit.\n- or\n  so\n\nUse ` + "`a_b`" + ` or a_b."}
              size: {type: integer, format: int32, default: 3, minimum: 1}
              mode: {type: string, enum: [a, b]}
              part: {x-kubernetes-int-or-string: true, pattern: '` + quantityPattern + `'}
              tags: {type: array, items: {type: object, x-kubernetes-validations: [{rule: self.k == 'a||b'}], properties: {k: {type: string}}}}
              more: {type: object, additionalProperties: {type: object, properties: {v: {type: boolean}}}}
`

const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

const sample = "# a shop\napiVersion: x.io/v1\nkind: Shop\nmetadata:\n  name: a\n---\napiVersion: x.io/v1\nkind: Shop\n"

const want = "# API reference\n\nWritten by `mysdk generate docs` from the Go types; do not edit.\n\n" +
	"* [Shop](#shop-xiov1alpha1) `x.io/v1alpha1`\n* [Shop](#shop-xiov1) `x.io/v1`\n\n" +
	"## <a id=\"shop-xiov1alpha1\"></a>Shop `x.io/v1alpha1`\n\nScope: Namespaced. Resource: shops. Short: sh.\n\n**This version is not served.**\n\n**use v1**\n\n" +
	"## <a id=\"shop-xiov1\"></a>Shop `x.io/v1`\n\nScope: Namespaced. Resource: shops. Short: sh.\n\nShop sells &lt;things&gt;.\n\n" +
	"* `size(self.metadata.name) < 9`: too long\n\n" +
	"```yaml\n# a shop\napiVersion: x.io/v1\nkind: Shop\nmetadata:\n  name: a\n```\n\n" +
	"| Field | Type | Default | Description |\n|---|---|---|---|\n| `data` | string |  |  |\n" +
	"| `spec` **required** | object |  | spec is asked for.<br>at least 1 entry |\n| `x.y` | object |  |  |\n\n" +
	"### `spec`\n\n| Field | Type | Default | Description |\n|---|---|---|---|\n" +
	"| `mode` | string |  | one of a, b |\n| `more` | map of object |  |  |\n" +
	"| `name` **required** | string |  | name of it.<br>- or so<br>Use `a_b` or a\\_b.<br>at least 1 character<br>matches `^a\\|b\\.c*$` |\n" +
	"| `part` | integer or string |  | a quantity, such as 500m or 2Gi |\n| `size` | integer (int32) | `3` | at least 1 |\n| `tags` | list of object |  |  |\n\n" +
	"### `spec.more.*`\n\n| Field | Type | Default | Description |\n|---|---|---|---|\n| `v` | boolean |  |  |\n\n" +
	"### `spec.tags[]`\n\n* `self.k == 'a||b'`\n\n| Field | Type | Default | Description |\n|---|---|---|---|\n| `k` | string |  |  |\n\n" +
	"### `x.y`\n\n| Field | Type | Default | Description |\n|---|---|---|---|\n| `a.b` | string |  |  |\n"

func kinds(t *testing.T) []Kind {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(crd), &u.Object); err != nil {
		t.Fatal(err)
	}
	list, err := Kinds([]*unstructured.Unstructured{u}, []Sample{{"a.yaml", []byte(sample)}, {"patch.yaml", []byte("- {op: remove, path: /spec}\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestKinds_BrokenSample(t *testing.T) {
	_, err := Kinds(nil, []Sample{{"a.yaml", []byte(sample)}, {"b.yaml", []byte("kind: [")}})
	if err == nil || !strings.HasPrefix(err.Error(), "read the example in b.yaml: ") {
		t.Errorf("error %v", err)
	}
}

func TestWithoutLicense(t *testing.T) {
	for in, out := range map[string]string{
		"# Copyright 2020\n#\n# License\n\n# a\nkind: A": "# a\nkind: A",
		"# a\nkind: A": "# a\nkind: A", "kind: A # Copyright": "kind: A # Copyright", "# Copyright": "",
	} {
		if got := withoutLicense(in); got != out {
			t.Errorf("%q: %q, want %q", in, got, out)
		}
	}
}

func TestTestOfSamples(t *testing.T) {
	for header, want := range map[string]string{"": "// Package samples", "/*\nA\n*/\n": "/*\nA\n*/\n\n// Package samples"} {
		got := string(TestOfSamples([]byte(header), []string{"a/b", "c"}))
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "}\n") {
			t.Errorf("%q:\n%s", header, got)
		}
		if dirs := `[]string{filepath.Join(root, "a", "b"), filepath.Join(root, "c")},`; !strings.Contains(got, dirs) {
			t.Errorf("no %s in\n%s", dirs, got)
		}
	}
}

func TestMarkdown(t *testing.T) {
	data, err := Markdown(kinds(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
}

func TestHTML(t *testing.T) {
	data, err := HTML(kinds(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`<h2 id="shop-xiov1">Shop <code>x.io/v1</code></h2>`, "Shop sells &lt;things&gt;.", "<strong>use v1</strong>", "<code>size(self.metadata.name) &lt; 9</code>: too long",
		`section > p { white-space: pre-line; }`, `<code>spec</code> <span class="required">required</span>`, `<code>name</code> <span class="required">required</span>`, "<td>integer (int32)</td><td><code>3</code></td>", "<p>one of a, b</p>", "<h3><code>spec.tags[]</code></h3>", "<pre># a shop",
	} {
		if !strings.Contains(string(data), part) {
			t.Errorf("no %s in\n%s", part, data)
		}
	}
	for _, foreign := range []string{"http:", "https:", "<script", "<link"} {
		if strings.Contains(string(data), foreign) {
			t.Errorf("%s in\n%s", foreign, data)
		}
	}
}

func TestCode(t *testing.T) {
	for in, out := range map[string]string{"": "", "a": "`a`", "a`b": "`` a`b ``", "a\n  b": "`a b`"} {
		if got := code(in); got != out {
			t.Errorf("%q: %s, want %s", in, got, out)
		}
	}
	for in, out := range map[string]string{"a_`b": "a\\_\\`b", "`a_b`_": "`a_b`\\_"} {
		if got := escaped(in); got != out {
			t.Errorf("%q: %s, want %s", in, got, out)
		}
	}
}
