package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestExploreSamples: where samples are looked for, and what is said of those that
// cannot be used.
func TestExploreSamples(t *testing.T) {
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "example.com", "names": map[string]any{"kind": "Shop"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
	}}}
	shop := func(version, name string) string {
		return "apiVersion: example.com/" + version + "\nkind: Shop\nmetadata: {name: " + name + "}\n"
	}
	const secret, space = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n", "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: space}\n"
	const base, record = "../manifests/bases/shop.clusterserviceversion.yaml", "../manifests/bases/shop.generated.yaml"
	const example = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: shop.v0.0.0\n  annotations:\n    alm-examples: '[{\"apiVersion\": \"example.com/v1\", \"kind\": \"Shop\", \"metadata\": {\"name\": \"alm\"}}]'\n"
	for name, tc := range map[string]struct {
		files  map[string]string // below the samples' directory
		names  []string
		notes  []string // how they begin
		beside []string
	}{
		"with a Secret":         {files: map[string]string{"a.yaml": shop("v1", "a") + secret + space, "deep/b.yaml": secret}, names: []string{"a"}, beside: []string{"Secret s"}},
		"a Secret below":        {files: map[string]string{"a.yaml": shop("v1", "a"), "deep/b.yaml": secret}, names: []string{"a"}, beside: []string{"Secret s"}},
		"none":                  {nil, []string{"shop-sample"}, []string{"config/samples has no Shop, so it is from the schema"}, nil},
		"files":                 {map[string]string{"a.yaml": shop("v1", "a"), "deep/b.yaml": shop("v1", "b")}, []string{"a"}, nil, nil},
		"a kustomization":       {map[string]string{"a.yaml": shop("v1", "a"), "b.yaml": shop("v1", "b"), "kustomization.yaml": "resources: [b.yaml]\n"}, []string{"b"}, nil, nil},
		"a broken one":          {map[string]string{"a.yaml": shop("v1", "a"), "kustomization.yaml": "resources: [none.yaml]\n"}, []string{"a"}, []string{"the files of config/samples are read one by one: "}, nil},
		"directories":           {map[string]string{"shop/v1/a.yaml": shop("v1", "a"), "shop/v1beta1/b.yaml": shop("v1beta1", "b")}, []string{"a"}, nil, nil},
		"a broken base":         {map[string]string{"a.yaml": shop("v1", "a"), base: "a: [\n", record: "version: 1\n"}, []string{"a"}, nil, nil},
		"a base":                {map[string]string{base: example, record: "version: 1\n"}, []string{"alm"}, []string{"config/samples has no Shop, so it is from the examples in config/manifests/bases"}, nil},
		"a directory of others": {map[string]string{"a.yaml": shop("v1", "a"), "values/x.yaml": "a: [\n"}, []string{"a"}, []string{"config/samples/values is left out: "}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			for file, text := range tc.files {
				file = filepath.Join(w.Dir, "config/samples", file)
				if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			what, err := exploreSamples(t.Context(), &cli.Factory{Host: w.Host}, []*unstructured.Unstructured{crd}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range what.Samples {
				names = append(names, s.Object.GetName())
			}
			if d := cmp.Diff(tc.names, names); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			var beside []string
			for _, u := range what.Beside {
				beside = append(beside, u.GetKind()+" "+u.GetName())
			}
			if d := cmp.Diff(tc.beside, beside); d != "" {
				t.Errorf("beside them (-want +got):\n%s", d)
			}
			if len(what.Notes) != len(tc.notes) {
				t.Fatalf("notes: %q", what.Notes)
			}
			for i, want := range tc.notes {
				if !strings.HasPrefix(what.Notes[i], want) {
					t.Errorf("note %q, want %q", what.Notes[i], want)
				}
			}
		})
	}
	_, err := exploreSamples(t.Context(), &cli.Factory{Host: hosttest.New(t).Host}, []*unstructured.Unstructured{crd}, []string{"shop", "Shpo", "Cart"})
	if err == nil || !strings.HasSuffix(err.Error(), "the project has no kind Shpo or Cart") {
		t.Errorf("kinds that there are not: %v", err)
	}
}
