package olm

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/example/mysdk/internal/catalog"
)

// TestPickVersion chooses by version numbers, not by names.
func TestPickVersion(t *testing.T) {
	fsys := fstest.MapFS{"shop.package.yaml": {Data: []byte("packageName: shop\ndefaultChannel: alpha\nchannels:\n- {name: alpha, currentCSV: shop.v0.0.10}\n- {name: beta, currentCSV: shop.v1.0.0}\n")}}
	for version, replaces := range map[string]string{"9.9.9": "", "0.0.1": "", "0.0.2": "shop.v0.0.1", "0.0.10": "shop.v0.0.2", "1.0.0": "shop.v0.0.10"} {
		fsys[version+"/csv.yaml"] = &fstest.MapFile{Data: fmt.Appendf(nil, "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: shop.v%[1]s}\nspec: {version: %[1]s, replaces: %[2]q}\n", version, replaces)}
	}
	list, err := catalog.FromPackageManifests(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for ask, want := range map[string]string{"": "0.0.10", "0.0.2": "0.0.2", "1.0.0": "1.0.0", "2.0.0": ""} {
		b, err := pickVersion(list, ask)
		switch {
		case want == "" && err == nil:
			t.Errorf("version %q: no error", ask)
		case want != "" && (err != nil || b.Version() != want):
			t.Errorf("version %q: %v, %v", ask, b, err)
		}
	}
}

// TestCatalogImageOf puts the catalog beside the bundle.
func TestCatalogImageOf(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("ab", 32)
	for ref, want := range map[string]string{
		"ghcr.io/you/shop-bundle:v1":    "ghcr.io/you/shop-bundle-catalog:v1",
		"localhost:5000/shop":           "localhost:5000/shop-catalog",
		"localhost:5000/shop" + digest:  "localhost:5000/shop-catalog",
		"localhost:5000/op:v1" + digest: "localhost:5000/op-catalog:v1",
	} {
		if got, err := catalogImageOf(ref); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", ref, got, err, want)
		}
	}
}
