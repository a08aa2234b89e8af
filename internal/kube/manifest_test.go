package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
)

func TestParseManifests(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string // Ref of each object
		err  []string // parts of the error; none means success
	}{
		"empty file":            {in: ""},
		"only separators":       {in: "---\n---\n# a comment\n---\n"},
		"empty mapping":         {in: "{}\n"},
		"one":                   {in: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n", want: []string{"ConfigMap a"}},
		"byte order mark":       {in: "\ufeffapiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", want: []string{"ConfigMap a"}},
		"windows line ends":     {in: "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: a}\r\n---\r\napiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: b}\r\n", want: []string{"ConfigMap a", "ConfigMap b"}},
		"two with comments":     {in: "# head\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\n--- # next\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n", want: []string{"ConfigMap x/a", "Namespace b"}},
		"json":                  {in: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, want: []string{"ConfigMap a"}},
		"separator in a scalar": {in: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  f: |\n    x\n    ---\n    y\n", want: []string{"ConfigMap a"}},
		"list":                  {in: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: b}\n", want: []string{"ConfigMap a", "Secret b"}},
		"typed list":            {in: "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n", want: []string{"ConfigMap a"}},
		"list in a list":        {in: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMapList\n  items:\n  - metadata: {name: a}\n", want: []string{"ConfigMap a"}},
		"empty list":            {in: "apiVersion: v1\nkind: List\nitems:\n"},
		"kind that ends in List": {
			in: "apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: a}\nspec: {}\n", want: []string{"AllowList a"}},

		"no kind":            {in: "\n# comment\napiVersion: v1\n", err: []string{"f.yaml:3: kind is missing"}},
		"no apiVersion":      {in: "kind: ConfigMap\n", err: []string{"f.yaml:1: apiVersion is missing"}},
		"kind is a number":   {in: "apiVersion: v1\nkind: 3\n", err: []string{"f.yaml:1: kind must be a string"}},
		"no metadata":        {in: "apiVersion: v1\nkind: ConfigMap\n", err: []string{"metadata is missing"}},
		"no name":            {in: "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: b}}\n", err: []string{"metadata.name is missing"}},
		"name is a number":   {in: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 12}\n", err: []string{"metadata.name must be a string"}},
		"namespace is yes":   {in: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: yes}\n", err: []string{"metadata.namespace must be a string"}},
		"a text":             {in: "hello\n", err: []string{"f.yaml:1: a Kubernetes object is a mapping"}},
		"a sequence":         {in: "---\n- a\n", err: []string{"f.yaml:2: a Kubernetes object is a mapping"}},
		"items no sequence":  {in: "apiVersion: v1\nkind: List\nitems: {a: b}\n", err: []string{"items is not a list"}},
		"item no object":     {in: "apiVersion: v1\nkind: List\nitems: [1]\n", err: []string{"item 0 is not an object"}},
		"bad item":           {in: "apiVersion: v1\nkind: List\nitems: [{kind: ConfigMap}]\n", err: []string{"apiVersion is missing"}},
		"second is broken":   {in: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\nkind: x\n  bad: y\n", err: []string{"f.yaml:7: mapping values are not allowed"}},
		"duplicate key":      {in: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: b\n  a: c\n", err: []string{"f.yaml:6: key \"a\" already set"}},
		"all errors at once": {in: "kind: x\n---\nkind: y\n", err: []string{"f.yaml:1: ", "f.yaml:3: "}},
		"unclosed bracket":   {in: "apiVersion: [\n", err: []string{"f.yaml:"}},
		"unknown alias":      {in: "apiVersion: *x\nkind: y\n", err: []string{"f.yaml:1: ", "unknown anchor"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			objs, err := ParseManifests([]byte(tc.in), "f.yaml")
			checkError(t, err, tc.err)
			var got []string
			for _, u := range objs {
				got = append(got, RefOf(u).String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// checkError wants no error, or one with a hint and all the parts.
func checkError(t *testing.T, err error, parts []string) {
	t.Helper()
	if len(parts) == 0 {
		if err != nil {
			t.Fatalf("error: %v", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("no error, want %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
	if clierr.HintOf(err) == "" {
		t.Errorf("error %q has no hint", err)
	}
}

// TestParseManifestsNumbers guards against integers that turn into floats:
// the API server refuses them.
func TestParseManifestsNumbers(t *testing.T) {
	objs, err := ParseManifests([]byte("apiVersion: v1\nkind: X\nmetadata: {name: a}\nspec: {size: 3, f: 1.5, mode: 0644, on: yes}\n"), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"size": int64(3), "f": 1.5, "mode": int64(420), "true": true}
	if diff := cmp.Diff(want, objs[0].Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func FuzzParseManifests(f *testing.F) {
	for _, s := range []string{
		"", "---\n", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\n# x\n",
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: b}}\n",
		"a: &x [*x]\n", "? [a]\n: b\n", "!!binary x\n", "kind: [\n--- %\n", "\"\\ud800\": 1\n", "{\"a\":1e999}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		objs, err := ParseManifests(data, "f.yaml")
		if err != nil {
			if !strings.Contains(err.Error(), "f.yaml:") {
				t.Errorf("error without a place: %v", err)
			}
			return
		}
		for _, u := range objs {
			if u.GetKind() == "" || u.GetAPIVersion() == "" || u.GetName() == "" {
				t.Errorf("accepted without a name or type: %v", u.Object)
			}
			if _, err := u.MarshalJSON(); err != nil {
				t.Errorf("accepted what cannot be sent: %v", err)
			}
			u.DeepCopy() // panics on values that are not JSON's
		}
	})
}

func BenchmarkParseManifests(b *testing.B) {
	one := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: b\n---\n"
	data := []byte(strings.Repeat(one, 100))
	for b.Loop() {
		if _, err := ParseManifests(data, "f.yaml"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestInOrder(t *testing.T) {
	var objs []*unstructured.Unstructured
	for _, s := range []string{
		"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration", "cache.example.com/v1 Memcached", "apps/v1 Deployment",
		"v1 Service", "rbac.authorization.k8s.io/v1 ClusterRole", "apiextensions.k8s.io/v1 CustomResourceDefinition",
		"v1 ServiceAccount", "cache.example.com/v1 Namespace", "v1 Namespace",
	} {
		apiVersion, kind, _ := strings.Cut(s, " ")
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(apiVersion)
		u.SetKind(kind)
		objs = append(objs, u)
	}
	want := []string{
		"Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "Service",
		"Deployment", "Memcached", "Namespace", "ValidatingWebhookConfiguration",
	}
	var got []string
	for _, u := range inOrder(objs) {
		got = append(got, u.GetKind())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if objs[0].GetKind() != "ValidatingWebhookConfiguration" {
		t.Error("the caller's slice was sorted")
	}
}
