package olm

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

// The operator that the tests install: a Deployment, a CRD, and rights.
const (
	memcachedNamespace = "shop"
	memcachedPackage   = "memcached-operator"
)

const memcachedCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: memcacheds.cache.example.com
spec:
  group: cache.example.com
  names: {kind: Memcached, listKind: MemcachedList, plural: memcacheds, singular: memcached}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// memcachedAccess is what OLM wants to find before it installs a
// ClusterServiceVersion that was written by hand.
const memcachedAccess = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: memcached-operator, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: memcached-operator, namespace: shop}
rules:
- {apiGroups: [cache.example.com], resources: [memcacheds], verbs: [get, list, watch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: memcached-operator, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: memcached-operator}
subjects:
- {kind: ServiceAccount, name: memcached-operator, namespace: shop}
`

// memcachedGroup is written in the version of old guides, which OLM still
// serves.
const memcachedGroup = `
apiVersion: operators.coreos.com/v1alpha2
kind: OperatorGroup
metadata: {name: memcached-group, namespace: shop}
spec: {targetNamespaces: [shop]}
`

// memcachedCSV is one version of the operator.
func memcachedCSV(version, replaces string) string {
	csv := fmt.Sprintf(`
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: memcached-operator.v%[1]s, namespace: shop}
spec:
  displayName: Memcached Operator
  version: %[1]s
  minKubeVersion: 1.30.0
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: MultiNamespace, supported: false}
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned:
    - {name: memcacheds.cache.example.com, version: v1alpha1, kind: Memcached}
  install:
    strategy: deployment
    spec:
      permissions:
      - serviceAccountName: memcached-operator
        rules:
        - {apiGroups: [cache.example.com], resources: [memcacheds], verbs: [get, list, watch, update]}
      deployments:
      - name: memcached-operator
        spec:
          replicas: 1
          selector: {matchLabels: {app: memcached-operator}}
          template:
            metadata: {labels: {app: memcached-operator}}
            spec:
              serviceAccountName: memcached-operator
              containers:
              - {name: manager, image: "example.com/memcached-operator:v%[1]s"}
`, version)
	if replaces != "" {
		csv += "  replaces: memcached-operator.v" + replaces + "\n"
	}
	return csv
}

// manifests parses YAML that a test has made.
func manifests(t testing.TB, texts ...string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := kube.ParseManifests([]byte(strings.Join(texts, "\n---\n")), "test")
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// memcachedCatalog is a file-based catalog with these versions, each of which
// replaces the one before.
func memcachedCatalog(t testing.TB, versions ...string) string {
	t.Helper()
	blobs := []any{map[string]any{"schema": "olm.package", "name": memcachedPackage, "defaultChannel": "alpha"}}
	var entries []any
	before := ""
	for _, v := range versions {
		entry := map[string]any{"name": memcachedPackage + ".v" + v}
		if before != "" {
			entry["replaces"] = memcachedPackage + ".v" + before
		}
		entries = append(entries, entry)
		blobs = append(blobs, memcachedBundle(t, v, before))
		before = v
	}
	blobs = append(blobs, map[string]any{"schema": "olm.channel", "package": memcachedPackage, "name": "alpha", "entries": entries})
	var out strings.Builder
	for _, b := range blobs {
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(data, '\n'))
	}
	return out.String()
}

// memcachedBundle is a bundle without an image, with its objects in it.
func memcachedBundle(t testing.TB, version, replaces string) map[string]any {
	t.Helper()
	properties := []any{
		map[string]any{"type": "olm.package", "value": map[string]any{"packageName": memcachedPackage, "version": version}},
		map[string]any{"type": "olm.gvk", "value": map[string]any{"group": "cache.example.com", "version": "v1alpha1", "kind": "Memcached"}},
	}
	for _, u := range manifests(t, memcachedCRD, memcachedCSV(version, replaces)) {
		u.SetNamespace("")
		data, err := u.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		properties = append(properties, map[string]any{
			"type": "olm.bundle.object", "value": map[string]any{"data": base64.StdEncoding.EncodeToString(data)},
		})
	}
	return map[string]any{"schema": "olm.bundle", "package": memcachedPackage, "name": memcachedPackage + ".v" + version, "properties": properties}
}

// memcachedSource is a CatalogSource whose content the ConfigMap holds.
func memcachedSource(t testing.TB, catalog string) []*unstructured.Unstructured {
	t.Helper()
	objects := manifests(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: memcached-catalog, namespace: shop, labels: {mysdk.dev/catalog: memcached}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: memcached, namespace: shop}
spec: {sourceType: grpc, address: "memcached.shop.svc:50051", displayName: Memcached}
`)
	objects[0].Object["data"] = map[string]any{"catalog.json": catalog}
	return objects
}

const memcachedSubscription = `
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: memcached, namespace: shop}
spec: {source: memcached, sourceNamespace: shop, name: memcached-operator, channel: alpha}
`
