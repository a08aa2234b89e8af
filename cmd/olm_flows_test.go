package cmd_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
)

// cacheCRD and cacheCSV are an operator as the first guides had it: its image
// is one that the embedded cluster simulates.
const cacheCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: caches.cache.example.com}
spec:
  group: cache.example.com
  names: {kind: Cache, plural: caches, singular: cache, listKind: CacheList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// cacheCSV is version 0.0.%s of package cache; more is more of its spec.
func cacheCSV(patch, more string) string {
	return fmt.Sprintf(`apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: cache.v0.0.%[1]s}
spec:
  displayName: Cache
  version: 0.0.%[1]s
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: MultiNamespace, supported: false}
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned: [{name: caches.cache.example.com, kind: Cache, version: v1}]
  install:
    strategy: deployment
    spec:
      permissions: [{serviceAccountName: cache, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}]
      deployments:
      - name: cache
        spec:
          replicas: 1
          selector: {matchLabels: {app: cache}}
          template:
            metadata: {labels: {app: cache}}
            spec: {serviceAccountName: cache, containers: [{name: cache, image: "registry.example.com/cache:0.0.%[1]s"}]}
%[2]s`, patch, more)
}

// cacheBundle is that version as a bundle.
func cacheBundle(t *testing.T, patch, more string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Load(fstest.MapFS{
		"metadata/annotations.yaml": {Data: []byte(`annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: cache
  operators.operatorframework.io.bundle.channels.v1: stable
`)},
		"manifests/crd.yaml": {Data: []byte(cacheCRD)},
		"manifests/csv.yaml": {Data: []byte(cacheCSV(patch, more))},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// catalogYAML is a CatalogSource "mine" with the catalog in a ConfigMap, as
// anybody may write it for an embedded cluster.
func catalogYAML(t *testing.T, namespace string, channels map[string][]catalog.Entry, bundles ...*bundle.Bundle) string {
	t.Helper()
	c := &catalog.Catalog{Packages: []catalog.Package{{Schema: catalog.SchemaPackage, Name: "cache", DefaultChannel: "stable"}}}
	for name, entries := range channels {
		c.Channels = append(c.Channels, catalog.Channel{Schema: catalog.SchemaChannel, Package: "cache", Name: name, Entries: entries})
	}
	for _, b := range bundles {
		rendered, err := catalog.Render(b, "")
		if err != nil {
			t.Fatal(err)
		}
		c.Bundles = append(c.Bundles, rendered)
	}
	data, err := c.Encode(catalog.JSON)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: mine, namespace: %[1]s, labels: {mysdk.dev/catalog: mine}}
data:
  catalog.json: |
%[2]s
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: mine, namespace: %[1]s}
spec: {sourceType: grpc, address: "mine.%[1]s.svc:50051", displayName: Mine}
`, namespace, "    "+strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", "\n    "))
}

// subscriptionYAML subscribes to package cache in that catalog.
func subscriptionYAML(namespace, channel, approval, start string) string {
	return fmt.Sprintf(`
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: cache, namespace: %[1]s}
spec: {name: cache, channel: %[2]s, source: mine, sourceNamespace: %[1]s, installPlanApproval: %[3]s, startingCSV: %[4]s}
`, namespace, channel, approval, start)
}

// groupYAML is a namespace with an OperatorGroup for itself.
func groupYAML(namespace, version string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %[1]s}\n---\napiVersion: operators.coreos.com/%[2]s\nkind: OperatorGroup\nmetadata: {name: group, namespace: %[1]s}\nspec: {targetNamespaces: [%[1]s]}\n---\n", namespace, version)
}

// inNamespace gives a CSV its namespace.
func inNamespace(csv, namespace string) string {
	return strings.Replace(csv, "metadata: {name:", "metadata: {namespace: "+namespace+", name:", 1)
}

// accountYAML is what OLM makes from a bundle, and a user who applies a CSV by
// hand makes first.
func accountYAML(namespace string) string {
	return strings.ReplaceAll(`
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: cache, namespace: NS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cache, namespace: NS}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cache, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cache}
subjects: [{kind: ServiceAccount, name: cache, namespace: NS}]
---
`, "NS", namespace)
}

// TestUpdateFlows plays the ways of installing and updating an operator that
// the guides have, old and new, and has the failures among them explained.
func TestUpdateFlows(t *testing.T) {
	t.Parallel()
	hosttest.LeaveToNightly(t, "installs and updates as other tests do, in OLM's other ways")
	r := newOLMRun(t)
	r.mysdk("olm install --timeout 10m")
	one := catalog.Entry{Name: "cache.v0.0.1"}
	two := catalog.Entry{Name: "cache.v0.0.2", Replaces: "cache.v0.0.1"}
	first, second := cacheBundle(t, "1", ""), cacheBundle(t, "2", "  replaces: cache.v0.0.1\n")
	step := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { r.t = t; f(t) })
	}

	for _, version := range []string{"v1alpha2", "v1"} {
		step("by hand, OperatorGroup "+version, func(t *testing.T) {
			ns := "hand-" + version
			r.apply(groupYAML(ns, version) + cacheCRD + accountYAML(ns) + inNamespace(cacheCSV("1", ""), ns))
			r.phase(ns+"/cache.v0.0.1", "Succeeded")
			r.apply("apiVersion: cache.example.com/v1\nkind: Cache\nmetadata: {name: c, namespace: " + ns + "}\n")
			uid := r.read("cache.example.com/v1 Cache " + ns + "/c").GetUID()
			r.apply(inNamespace(cacheCSV("2", "  replaces: cache.v0.0.1\n"), ns))
			r.phase(ns+"/cache.v0.0.2", "Succeeded")
			r.phase(ns+"/cache.v0.0.1", "")
			if r.read("cache.example.com/v1 Cache "+ns+"/c").GetUID() != uid {
				t.Error("the object is another one")
			}
			r.until("all is well", func() bool { return r.try("olm explain -n "+ns) == 0 })
			r.remove("operators.coreos.com/v1alpha1 ClusterServiceVersion "+ns+"/cache.v0.0.2", "operators.coreos.com/v1 OperatorGroup "+ns+"/group")
		})
	}
	step("automatic, from a catalog of one's own", func(t *testing.T) {
		r.apply(groupYAML("auto", "v1") + catalogYAML(t, "auto", map[string][]catalog.Entry{"stable": {one}}, first) + subscriptionYAML("auto", "stable", "Automatic", "cache.v0.0.1"))
		r.phase("auto/cache.v0.0.1", "Succeeded")
		r.apply(catalogYAML(t, "auto", map[string][]catalog.Entry{"stable": {one, two}}, first, second))
		r.phase("auto/cache.v0.0.2", "Succeeded")
		r.phase("auto/cache.v0.0.1", "")
		r.mysdk("cleanup cache -n auto")
		if r.read("operators.coreos.com/v1alpha1 CatalogSource auto/mine") == nil || r.read("operators.coreos.com/v1 OperatorGroup auto/group") == nil {
			t.Error("cleanup took what mysdk did not make")
		}
		r.mysdk("cluster status")
	})
	step("manual approval", func(t *testing.T) {
		r.apply(groupYAML("manual", "v1") + catalogYAML(t, "manual", map[string][]catalog.Entry{"stable": {one, two}}, first, second) + subscriptionYAML("manual", "stable", "Manual", "cache.v0.0.1"))
		// Without the first one nothing runs; an upgrade that waits leaves what runs healthy.
		for i, csv := range []string{"cache.v0.0.1", "cache.v0.0.2"} {
			code := []int{clierr.CodeUnavailable, 0}[i]
			r.until("an InstallPlan of "+csv, func() bool { return r.waiting("manual", csv) != nil })
			if got := r.try("olm explain cache -n manual"); got != code || !strings.Contains(r.err.String(), "waits for approval") || !strings.Contains(r.err.String(), `"approved":true`) {
				t.Errorf("exit code %d, want %d, and how to approve %s:\n%s", got, code, csv, r.err.String())
			}
			if list := strings.Join(r.csvs("manual"), " "); strings.Contains(list, csv) {
				t.Errorf("%s came without approval: %s", csv, list)
			}
			if err := r.client.Edit(t.Context(), r.waiting("manual", csv), func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				return live, unstructured.SetNestedField(live.Object, true, "spec", "approved")
			}); err != nil {
				t.Fatal(err)
			}
			r.phase("manual/"+csv, "Succeeded")
		}
		r.phase("manual/cache.v0.0.1", "")
		r.mysdk("cleanup cache -n manual")
	})
	step("another channel", func(t *testing.T) {
		channels := map[string][]catalog.Entry{"stable": {one}, "fast": {one, two}}
		r.apply(groupYAML("channel", "v1") + catalogYAML(t, "channel", channels, first, second) + subscriptionYAML("channel", "stable", "Automatic", "cache.v0.0.1"))
		r.phase("channel/cache.v0.0.1", "Succeeded")
		r.apply(subscriptionYAML("channel", "fast", "Automatic", "cache.v0.0.1"))
		r.phase("channel/cache.v0.0.2", "Succeeded")
		r.phase("channel/cache.v0.0.1", "")
		r.apply(subscriptionYAML("channel", "slow", "Automatic", "cache.v0.0.1"))
		r.until("OLM finds no such channel", func() bool {
			return r.try("olm explain cache -n channel") == clierr.CodeUnavailable &&
				strings.Contains(r.err.String(), `the catalog has no channel "slow" for package cache`) && strings.Contains(r.err.String(), "spec.channel")
		})
		r.mysdk("cleanup cache -n channel")
	})
	step("an install mode that is not supported", func(t *testing.T) {
		csv := strings.Replace(inNamespace(cacheCSV("1", ""), "mode"), "{type: OwnNamespace, supported: true}", "{type: OwnNamespace, supported: false}", 1)
		r.apply(groupYAML("mode", "v1") + accountYAML("mode") + csv)
		r.phase("mode/cache.v0.0.1", "Failed")
		r.fails(clierr.CodeUnavailable, "olm explain -n mode",
			"OperatorGroup mode/group is for namespace mode (install mode OwnNamespace), and the operator supports only: AllNamespaces, SingleNamespace",
			"condition: phase Failed (UnsupportedOperatorGroup)", "set spec.installModes of type OwnNamespace to supported: true")
		r.remove("operators.coreos.com/v1alpha1 ClusterServiceVersion mode/cache.v0.0.1")
	})
	step("two operators of one API", func(t *testing.T) {
		everywhere := strings.Replace(groupYAML("all", "v1"), "targetNamespaces: [all]", "", 1)
		r.apply(everywhere + accountYAML("all") + inNamespace(cacheCSV("1", ""), "all"))
		r.phase("all/cache.v0.0.1", "Succeeded")
		r.apply(groupYAML("mine", "v1") + accountYAML("mine") + strings.ReplaceAll(inNamespace(cacheCSV("3", ""), "mine"), "name: cache.v0.0.3", "name: depot.v0.0.3"))
		r.phase("mine/depot.v0.0.3", "Failed")
		r.fails(clierr.CodeUnavailable, "olm explain -n mine",
			"caches.cache.example.com is already provided by ClusterServiceVersion all/cache.v0.0.1, which watches all namespaces, and in one namespace an API can have only one operator",
			"condition: phase Failed (InterOperatorGroupOwnerConflict)", "remove the other one")
		r.remove("operators.coreos.com/v1alpha1 ClusterServiceVersion mine/depot.v0.0.3", "operators.coreos.com/v1alpha1 ClusterServiceVersion all/cache.v0.0.1")
	})
	step("OLM can go", func(*testing.T) { r.mysdk("olm uninstall") })
}

// waiting is the InstallPlan that asks for approval of a CSV.
func (r *olmRun) waiting(namespace, csv string) *unstructured.Unstructured {
	r.t.Helper()
	sub := r.read("operators.coreos.com/v1alpha1 Subscription " + namespace + "/cache")
	name := at(sub, "status", "installPlanRef", "name")
	if name == "" {
		return nil
	}
	plan := r.read("operators.coreos.com/v1alpha1 InstallPlan " + namespace + "/" + name)
	if at(plan, "status", "phase") != "RequiresApproval" || !strings.Contains(fmt.Sprint(plan.Object["spec"]), csv) {
		return nil
	}
	return plan
}
