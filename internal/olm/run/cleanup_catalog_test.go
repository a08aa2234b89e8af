package run

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCleanupCatalog keeps of a catalog what other packages use.
func TestCleanupCatalog(t *testing.T) {
	const made = "labels: {mysdk.dev/catalog: shop-catalog, mysdk.dev/run: shop}}\n"
	source := strings.Replace(sourceYAML, "namespace: ns}", "namespace: ns, "+strings.TrimSpace(made), 1)
	source = strings.Replace(source, "sourceType: grpc,", "sourceType: grpc, secrets: [pull],", 1)
	world := nsYAML + source + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-catalog-0, namespace: ns, " + made +
		"---\napiVersion: v1\nkind: Service\nmetadata: {name: shop-catalog-server, namespace: ns, " + made +
		strings.Replace(secretYAML("pull", "kubernetes.io/dockerconfigjson", ""), "namespace: ns}", "namespace: ns, "+strings.TrimSpace(made), 1)
	other := strings.Replace(subYAML, "name: shop,", "name: db,", 2)
	for name, tc := range map[string]struct {
		world         string
		sources, rest []string
		said          string
	}{
		"alone": {world + subYAML, []string{"CatalogSource shop-catalog"}, []string{"ConfigMap shop-catalog-0", "Service shop-catalog-server", "Secret pull"}, ""},
		"a dependency": {world + subYAML + other, nil, nil,
			"CatalogSource ns/shop-catalog was kept: Subscription ns/db takes its operator from it; Secret ns/pull was kept: CatalogSource ns/shop-catalog needs it"},
		"another catalog's secret": {world + strings.Replace(source, "shop-catalog", "db-catalog", 1), []string{"CatalogSource shop-catalog"}, []string{"ConfigMap shop-catalog-0", "Service shop-catalog-server"},
			"Secret ns/pull was kept: CatalogSource ns/db-catalog needs it"},
		"the last that shares a secret": {world[:strings.Index(world, "---\napiVersion: v1\nkind: Secret")] + strings.Replace(secretYAML("pull", "kubernetes.io/dockerconfigjson", ""), "namespace: ns}", "namespace: ns, labels: {mysdk.dev/run: cart}}", 1),
			[]string{"CatalogSource shop-catalog"}, []string{"ConfigMap shop-catalog-0", "Service shop-catalog-server", "Secret pull"}, ""},
		"one of another namespace": {world + strings.Replace(other, "sourceNamespace: ns", "sourceNamespace: far", 1), []string{"CatalogSource shop-catalog"},
			[]string{"ConfigMap shop-catalog-0", "Service shop-catalog-server", "Secret pull"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cl := cleaning(t, tc.world)
			if err := cl.find(t.Context()); err != nil {
				t.Fatal(err)
			}
			var said []string
			cl.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
			sources, rest, err := cl.catalog(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([][]string{tc.sources, tc.rest}, [][]string{refs(sources), refs(rest)}); d != "" {
				t.Errorf("deleted (-want +got):\n%s", d)
			}
			if got := strings.Join(said, "; "); got != tc.said {
				t.Errorf("said %s", got)
			}
		})
	}
}
