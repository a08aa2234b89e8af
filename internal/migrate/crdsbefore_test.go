package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
