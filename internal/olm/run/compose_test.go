package run

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/catalog"
)

// makeBundle is a bundle of package shop with one CRD. spec is more of the
// CSV's spec, as lines of YAML.
func makeBundle(t *testing.T, version, spec string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Load(fstest.MapFS{
		"metadata/annotations.yaml": {Data: []byte(`annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: shop
  operators.operatorframework.io.bundle.channels.v1: alpha,beta
  operators.operatorframework.io.bundle.channel.default.v1: beta
`)},
		"manifests/csv.yaml": {Data: fmt.Appendf(nil, `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v%[1]s}
spec:
  version: %[1]s
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions:
    owned: [{name: carts.shop.example.com, kind: Cart, version: v1}]
  install:
    strategy: deployment
    spec:
      deployments:
      - name: shop-manager
        spec: {template: {spec: {serviceAccountName: shop, containers: [{name: manager, image: "shop:v%[1]s"}, {name: proxy, image: proxy}]}}}
%[2]s`, version, spec)},
		"manifests/crd.yaml": {Data: []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Cart, plural: carts}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// step is a bundle that is added, and the CSV that is installed then.
type step struct {
	version, spec, installed string
}

// TestCompose adds bundles one after the other.
func TestCompose(t *testing.T) {
	entry := func(version, replaces string, skips ...string) catalog.Entry {
		e := catalog.Entry{Name: "shop.v" + version, Skips: skips}
		if replaces != "" {
			e.Replaces = "shop.v" + replaces
		}
		return e
	}
	const skips = "  skips: [shop.v0.0.1, shop.v0.0.2]\n"
	tests := map[string]struct {
		steps []step
		want  []catalog.Entry
	}{
		"first":                    {[]step{{"0.0.1", "", ""}}, []catalog.Entry{entry("0.0.1", "")}},
		"first, replaces unknown":  {[]step{{"0.0.2", "  replaces: shop.v0.0.1\n", ""}}, []catalog.Entry{entry("0.0.2", "0.0.1")}},
		"again":                    {[]step{{"0.0.1", "", ""}, {"0.0.1", "", "shop.v0.0.1"}}, []catalog.Entry{entry("0.0.1", "")}},
		"upgrade":                  {[]step{{"0.0.1", "", ""}, {"0.0.2", "", "shop.v0.0.1"}}, []catalog.Entry{entry("0.0.1", ""), entry("0.0.2", "0.0.1")}},
		"upgrade with replaces":    {[]step{{"0.0.1", "", ""}, {"0.0.2", "  replaces: shop.v0.0.1\n", "shop.v0.0.1"}}, []catalog.Entry{entry("0.0.1", ""), entry("0.0.2", "0.0.1")}},
		"replaces another":         {[]step{{"0.0.1", "", ""}, {"0.0.3", "  replaces: shop.v0.0.2\n", "shop.v0.0.1"}}, []catalog.Entry{entry("0.0.1", ""), entry("0.0.3", "0.0.2", "shop.v0.0.1")}},
		"upgrade of what is not":   {[]step{{"0.0.2", "", "elsewhere.v1"}}, []catalog.Entry{{Name: "shop.v0.0.2", Replaces: "elsewhere.v1"}}},
		"skips":                    {[]step{{"0.0.1", "", ""}, {"0.0.2", "", "shop.v0.0.1"}, {"0.0.3", "  replaces: shop.v0.0.1\n  skips: [shop.v0.0.2]\n", "shop.v0.0.2"}}, []catalog.Entry{entry("0.0.1", ""), entry("0.0.2", "0.0.1"), entry("0.0.3", "0.0.1", "shop.v0.0.2")}},
		"another one that failed":  {[]step{{"0.0.1", "", ""}, {"0.0.2", "", ""}}, []catalog.Entry{entry("0.0.1", ""), entry("0.0.2", "", "shop.v0.0.1")}},
		"three in a row":           {[]step{{"0.0.1", "", ""}, {"0.0.2", "", "shop.v0.0.1"}, {"0.0.3", "", "shop.v0.0.2"}}, []catalog.Entry{entry("0.0.1", ""), entry("0.0.2", "0.0.1"), entry("0.0.3", "0.0.2")}},
		"from the chain's middle":  {[]step{{"0.0.1", "", ""}, {"0.0.2", "", "shop.v0.0.1"}, {"0.0.3", "  replaces: shop.v0.0.2\n", "shop.v0.0.1"}}, []catalog.Entry{entry("0.0.1", ""), entry("0.0.2", "0.0.1"), entry("0.0.3", "0.0.2")}},
		"back to the first":        {[]step{{"0.0.1", "", ""}, {"0.0.2", "", "shop.v0.0.1"}, {"0.0.1", "", ""}}, []catalog.Entry{entry("0.0.1", "")}},
		"back over one that skips": {[]step{{"0.0.1", "", ""}, {"0.0.2", "", ""}, {"0.0.1", "", ""}}, []catalog.Entry{entry("0.0.1", "")}},
		"skips three times":        {[]step{{"0.0.3", skips, ""}, {"0.0.3", skips, ""}, {"0.0.3", skips, ""}}, []catalog.Entry{entry("0.0.3", "", "shop.v0.0.1", "shop.v0.0.2")}},
		"the middle changed again": {[]step{{"0.0.1", "", ""}, {"0.0.2", "", "shop.v0.0.1"}, {"0.0.2", "", "shop.v0.0.2"}}, []catalog.Entry{entry("0.0.1", ""), entry("0.0.2", "0.0.1")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := &catalog.Catalog{}
			for _, s := range tc.steps {
				if err := compose(c, makeBundle(t, s.version, s.spec), "alpha", s.installed); err != nil {
					t.Fatal(err)
				}
			}
			if len(c.Channels) != 1 || len(c.Packages) != 1 || c.Packages[0].DefaultChannel != "alpha" {
				t.Fatalf("%+v", c)
			}
			if diff := cmp.Diff(tc.want, c.Channels[0].Entries); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if _, err := c.Partition(catalog.PieceSize); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestComposeDropsNewer bundles of the channel, unless another channel has them.
func TestComposeDropsNewer(t *testing.T) {
	c := &catalog.Catalog{}
	for _, s := range []step{{"0.0.1", "", ""}, {"0.0.2", "", "shop.v0.0.1"}, {"0.0.3", "", "shop.v0.0.2"}} {
		if err := compose(c, makeBundle(t, s.version, s.spec), "alpha", s.installed); err != nil {
			t.Fatal(err)
		}
	}
	c.Channels = append(c.Channels, catalog.Channel{Schema: catalog.SchemaChannel, Name: "beta", Package: "shop", Entries: []catalog.Entry{{Name: "shop.v0.0.2"}}})
	old := func(name string) catalog.DeprecationEntry {
		return catalog.DeprecationEntry{Reference: catalog.Reference{Schema: catalog.SchemaBundle, Name: name}, Message: "old"}
	}
	c.Deprecations = []catalog.Deprecations{{Schema: catalog.SchemaDeprecations, Package: "shop", Entries: []catalog.DeprecationEntry{old("shop.v0.0.2"), old("shop.v0.0.3")}}}
	if err := compose(c, makeBundle(t, "0.0.1", ""), "alpha", ""); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range c.Bundles {
		names = append(names, b.Name)
	}
	if diff := cmp.Diff([]string{"shop.v0.0.2", "shop.v0.0.1"}, names); diff != "" {
		t.Errorf("bundles (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]catalog.DeprecationEntry{old("shop.v0.0.2")}, c.Deprecations[0].Entries); diff != "" {
		t.Errorf("deprecations (-want +got):\n%s", diff)
	}
}

// TestKeepFor leaves of an index what the bundle depends on.
func TestKeepFor(t *testing.T) {
	index, err := catalog.Parse([]byte(`
---
{schema: olm.package, name: shop, defaultChannel: stable}
---
{schema: olm.channel, package: shop, name: stable, entries: [{name: shop.v0.0.1}]}
---
{schema: olm.bundle, package: shop, name: shop.v0.0.1, image: "r/shop:1", properties: [{type: olm.package, value: {packageName: shop, version: 0.0.1}}]}
---
{schema: olm.package, name: etcd, defaultChannel: stable}
---
{schema: olm.channel, package: etcd, name: stable, entries: [{name: etcd.v1}]}
---
{schema: olm.bundle, package: etcd, name: etcd.v1, image: "r/etcd:1", properties: [{type: olm.package, value: {packageName: etcd, version: 1.0.0}}, {type: olm.gvk, value: {group: etcd.io, kind: Etcd, version: v1}}, {type: olm.constraint, value: {any: {constraints: [{gvk: {group: disk.io, version: v1, kind: Disk}}, {all: {constraints: [{package: {packageName: tape, versionRange: '>=1.0.0'}}]}}, {not: {constraints: [{package: {packageName: other}}]}}]}}}]}
---
{schema: olm.package, name: disk, defaultChannel: stable}
---
{schema: olm.channel, package: disk, name: stable, entries: [{name: disk.v1}]}
---
{schema: olm.bundle, package: disk, name: disk.v1, image: "r/disk:1", properties: [{type: olm.package, value: {packageName: disk, version: 1.0.0}}, {type: olm.gvk, value: {group: disk.io, kind: Disk, version: v1}}, {type: olm.package.required, value: {packageName: etcd, versionRange: '>=1.0.0'}}]}
---
{schema: olm.package, name: tape, defaultChannel: stable}
---
{schema: olm.channel, package: tape, name: stable, entries: [{name: tape.v1}]}
---
{schema: olm.bundle, package: tape, name: tape.v1, image: "r/tape:1", properties: [{type: olm.package, value: {packageName: tape, version: 1.0.0}}]}
---
{schema: olm.package, name: other, defaultChannel: stable}
---
{schema: olm.bundle, package: other, name: other.v1, image: "r/other:1", properties: [{type: olm.package, value: {packageName: other, version: 1.0.0}}, {type: olm.gvk, value: {group: other.io, kind: Other, version: v1}}]}
`), "index.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b := makeBundle(t, "0.0.2", "")
	b.CSV.Spec.CustomResourceDefinitions.Required = append(b.CSV.Spec.CustomResourceDefinitions.Required, b.CSV.Spec.CustomResourceDefinitions.Owned[0])
	b.CSV.Spec.CustomResourceDefinitions.Required[0].Name = "etcds.etcd.io"
	b.CSV.Spec.CustomResourceDefinitions.Required[0].Kind = "Etcd"
	kept, err := keepFor(index, b)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range kept.Packages {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "shop etcd disk tape" {
		t.Errorf("kept %s", got)
	}
	if needy, err := needsOthers(b); !needy || err != nil {
		t.Errorf("needs others: %v, %v", needy, err)
	}
	if needy, err := needsOthers(makeBundle(t, "0.0.2", "")); needy || err != nil {
		t.Errorf("needs others: %v, %v", needy, err)
	}
	if err := compose(kept, b, "stable", "shop.v0.0.1"); err != nil {
		t.Error(err)
	}
}
