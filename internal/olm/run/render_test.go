package run

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/kube"
)

// rendered plans a run and makes its objects.
func rendered(t *testing.T, world string, o Options) *installer {
	t.Helper()
	in := running(t, world, o)
	if err := errors.Join(in.plan(t.Context()), in.render(t.Context())); err != nil {
		t.Fatal(err)
	}
	return in
}

// refs names objects as "Kind name".
func refs(list []*unstructured.Unstructured) []string {
	var names []string
	for _, u := range list {
		names = append(names, u.GetKind()+" "+u.GetName())
	}
	return names
}

// TestRenderPublished has OLM make the catalog's pod from an image.
func TestRenderPublished(t *testing.T) {
	var published *catalog.Catalog
	o := Options{
		PullSecrets: []string{"pull"},
		Publish: func(_ context.Context, c *catalog.Catalog) (string, string, error) {
			published = c
			return "r.example.com/catalog@sha256:1", "/configs", nil
		},
	}
	in := rendered(t, nsYAML+secretYAML("pull", "kubernetes.io/dockerconfigjson", ".dockerconfigjson: e30="), o)
	if d := cmp.Diff([]string{"CatalogSource shop-catalog", "OperatorGroup mysdk-operators", "Subscription shop"}, refs(in.apply)); d != "" {
		t.Errorf("objects (-want +got):\n%s", d)
	}
	source := in.apply[0]
	want := map[string]any{
		"sourceType": "grpc", "displayName": "shop", "publisher": "mysdk run bundle", "image": "r.example.com/catalog@sha256:1", "secrets": []any{"pull"},
		"grpcPodConfig": map[string]any{"securityContextConfig": "restricted", "extractContent": map[string]any{"catalogDir": "/configs"}},
	}
	if d := cmp.Diff(want, source.Object["spec"]); d != "" {
		t.Errorf("CatalogSource (-want +got):\n%s", d)
	}
	if published == nil || len(published.Bundles) != 1 || published.Bundles[0].Name != "shop.v0.0.2" {
		t.Errorf("published is %+v", published)
	}
	o.Publish = func(context.Context, *catalog.Catalog) (string, string, error) { return "", "", errCut }
	o.PullSecrets = nil
	in = running(t, nsYAML, o)
	if err := errors.Join(in.plan(t.Context()), in.render(t.Context())); !errors.Is(err, errCut) {
		t.Errorf("a push that fails: %v", err)
	}
}

// TestRenderDropsWhatServedBefore: the way of serving a catalog may change
// between two runs.
func TestRenderDropsWhatServedBefore(t *testing.T) {
	before := rendered(t, nsYAML, Options{})
	var there []*unstructured.Unstructured
	for _, u := range before.apply {
		if k := u.GetKind(); k == "ConfigMap" || k == "Deployment" || k == "Service" || k == "CatalogSource" {
			there = append(there, u)
		}
	}
	world := nsYAML + "---\n" + asYAML(t, there...) + strings.ReplaceAll(sourceYAML, "shop-catalog", "another")
	now := rendered(t, world, Options{Publish: func(context.Context, *catalog.Catalog) (string, string, error) {
		return "r.example.com/catalog@sha256:1", "/configs", nil
	}})
	if d := cmp.Diff([]string{"ConfigMap shop-catalog-0", "Deployment shop-catalog-server", "Service shop-catalog-server"}, refs(now.stale)); d != "" {
		t.Errorf("stale (-want +got):\n%s", d)
	}
	if same := rendered(t, world, Options{}); len(same.stale) > 0 {
		t.Errorf("what is applied again is stale: %v", refs(same.stale))
	}
	if embedded := rendered(t, world, Options{Embedded: true}); len(embedded.stale) != 2 {
		t.Errorf("stale on the embedded cluster: %v", refs(embedded.stale))
	}
}

// TestRenderWithAnIndex brings along what the bundle depends on, and no more,
// also where an earlier run has made a catalog without it.
func TestRenderWithAnIndex(t *testing.T) {
	index := &catalog.Catalog{
		Packages: []catalog.Package{{Schema: catalog.SchemaPackage, Name: "db", DefaultChannel: "stable"}, {Schema: catalog.SchemaPackage, Name: "other", DefaultChannel: "stable"}},
		Channels: []catalog.Channel{
			{Schema: catalog.SchemaChannel, Package: "db", Name: "stable", Entries: []catalog.Entry{{Name: "db.v1"}}},
			{Schema: catalog.SchemaChannel, Package: "other", Name: "stable", Entries: []catalog.Entry{{Name: "other.v1"}}},
		},
		Bundles: []catalog.Bundle{
			{Schema: catalog.SchemaBundle, Package: "db", Name: "db.v1", Image: "r.example.com/db:v1", Properties: []catalog.Property{
				{Type: property.TypePackage, Value: []byte(`{"packageName":"db","version":"1.0.0"}`)},
				{Type: property.TypeGVK, Value: []byte(`{"group":"db.example.com","kind":"Table","version":"v1"}`)},
			}},
			{Schema: catalog.SchemaBundle, Package: "other", Name: "other.v1", Image: "r.example.com/other:v1", Properties: []catalog.Property{
				{Type: property.TypePackage, Value: []byte(`{"packageName":"other","version":"1.0.0"}`)},
			}},
		},
	}
	earlier := nsYAML + "---\n" + asYAML(t, rendered(t, nsYAML, Options{Embedded: true}).apply...)
	older := func(from, to string) string { return strings.ReplaceAll(earlier, from, to) }
	dropped := `{"schema":"olm.package","name":"db","defaultChannel":"x"}{"schema":"olm.channel","package":"db","name":"x","entries":[{"name":"other.v1"}]}` +
		`{"schema":"olm.bundle","package":"db","name":"other.v1","image":"x","properties":[{"type":"olm.package","value":{"packageName":"db","version":"0.1.0"}}]}`
	content := `{"schema":"olm.package","name":"shop"`
	for name, world := range map[string]string{"first run": nsYAML, "later run": earlier, "newer index": older(content, dropped+content)} {
		if name == "newer index" && world == earlier {
			t.Fatalf("the catalog has no %s:\n%s", content, earlier)
		}
		in := running(t, world, Options{Embedded: true, Index: index})
		in.bundle = makeBundle(t, "0.0.2", "")
		crds := &in.bundle.CSV.Spec.CustomResourceDefinitions
		crds.Required = append(crds.Required, crds.Owned[0])
		crds.Required[0].Name, crds.Required[0].Kind = "tables.db.example.com", "Table"
		if err := errors.Join(in.plan(t.Context()), in.render(t.Context())); err != nil {
			t.Fatal(name, err)
		}
		for _, u := range in.apply {
			if u.GetKind() != "ConfigMap" {
				continue
			}
			text := asYAML(t, u)
			if !strings.Contains(text, "db.v1") || strings.Contains(text, "other.v1") {
				t.Errorf("%s: the catalog:\n%s", name, text)
			}
		}
	}
}

// TestDigestTellsBundlesApart, also of one version.
func TestDigestTellsBundlesApart(t *testing.T) {
	one := digest(makeBundle(t, "0.0.1", ""), "alpha")
	if again := digest(makeBundle(t, "0.0.1", ""), "alpha"); again != one || len(one) != 32 {
		t.Errorf("the same bundle has the digests %s and %s", one, again)
	}
	for what, other := range map[string]string{
		"another channel": digest(makeBundle(t, "0.0.1", ""), "beta"), "another text": digest(makeBundle(t, "0.0.1", "  description: x\n"), "alpha"),
	} {
		if other == one {
			t.Errorf("%s has the same digest", what)
		}
	}
}

// TestWaiterTells reports each stage once.
func TestWaiterTells(t *testing.T) {
	var said []string
	w := &waiter{namespace: "ns", want: "shop.v1", watch: watch{say: func(_ string, args ...any) { said = append(said, args[0].(string)) }}}
	sub := func(status string) *unstructured.Unstructured { return worldOf(t, subWith+status).objects[0] }
	csv := func(status string) *unstructured.Unstructured { return worldOf(t, csvYAML+status).objects[0] }
	w.tell(nil, nil)
	w.tell(sub("{}"), nil)
	w.tell(sub("{}"), nil)
	w.tell(sub("{installPlanRef: {name: install-1}, currentCSV: shop.v1}"), nil)
	w.tell(sub("{}"), csv("{phase: Pending}"))
	w.tell(nil, csv(succeeded))
	want := []string{"Subscription ns/shop: waiting for OLM", "InstallPlan ns/install-1 created", "ClusterServiceVersion ns/shop.v1: Pending", "ClusterServiceVersion ns/shop.v1: Succeeded"}
	if d := cmp.Diff(want, said); d != "" {
		t.Errorf("said (-want +got):\n%s", d)
	}
}

// TestDependencies are those that came with the run, and from its catalog.
func TestDependencies(t *testing.T) {
	sub := func(name, source string) string {
		return "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: " + name + ", namespace: ns}\nspec: {name: " + name + ", source: " + source + ", sourceNamespace: ns}\n"
	}
	before := nsYAML + sub("tea", "shop-catalog")
	in := running(t, before, Options{})
	if err := in.plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	in.reader = worldOf(t, before+sub("shop", "shop-catalog")+sub("cart", "shop-catalog")+sub("till", "others"))
	got, err := in.dependencies(t.Context())
	if err != nil || len(got) != 1 || got[0].GetName() != "cart" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNewObjects are those that a rollback deletes.
func TestNewObjects(t *testing.T) {
	there := worldOf(t, subYAML+sourceYAML).objects
	in := &installer{before: &survey{subscription: there[0], source: there[1]}, apply: append(objects{kube.Named("v1", "ConfigMap", "ns", "new")}, there...)}
	if d := cmp.Diff([]string{"ConfigMap new"}, refs(kube.Without(in.apply, in.before.all()))); d != "" {
		t.Errorf("new (-want +got):\n%s", d)
	}
	if quiet(kube.DeleteOptions{Progress: func(kube.Result) {}}).Progress != nil {
		t.Error("quiet tells")
	}
}
