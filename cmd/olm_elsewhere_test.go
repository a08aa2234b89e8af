package cmd_test

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
)

// writeBundle writes a version of package cache as a bundle's directory.
func (r *olmRun) writeBundle(t *testing.T, dir, patch, more string) {
	t.Helper()
	for _, f := range cacheBundle(t, patch, more).Files {
		name := filepath.Join(r.h.Dir, dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRunBundleElsewhere takes the ways of a cluster that runs containers. The
// cluster is an embedded one under another name: its pods are simulated, and
// the API server judges everything that is applied.
func TestRunBundleElsewhere(t *testing.T) {
	r := newOLMRun(t)
	r.mysdk("olm install --timeout 10m")
	r.writeElsewhere()
	r.writeBundle(t, "one", "1", "")
	r.writeBundle(t, "two", "2", "")
	const there = " --kubeconfig elsewhere.yaml -n shop"

	t.Run("a directory names no registry", func(t *testing.T) {
		r.t = t
		r.fails(2, "run bundle ./one"+there, "the bundle is a directory, which names none", "--no-push")
	})
	t.Run("from ConfigMaps", func(t *testing.T) {
		r.t = t
		// The namespace takes restricted pods only: the catalog's is one, and
		// the operator's is not.
		r.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {pod-security.kubernetes.io/enforce: restricted}}\n")
		r.fails(1, "run bundle ./one --no-push --rollback"+there, "no pod can be made", "violates PodSecurity", "securityContext", "Rolled back")
		r.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {pod-security.kubernetes.io/enforce: baseline}}\n")
		r.mysdk("run bundle ./one --no-push" + there)
		pods, err := r.client.List(t.Context(), schema.FromAPIVersionAndKind("v1", "Pod"), kube.ListOptions{Namespace: "shop", Selector: "mysdk.dev/catalog=cache-catalog"})
		if err != nil || len(pods) != 1 || r.read("v1 Service shop/cache-catalog-server") == nil {
			t.Errorf("%d pods serve the catalog, %v", len(pods), err)
		}
		r.mysdk("run bundle-upgrade ./two --no-push" + there)
		if got := r.csvs("shop"); len(got) != 1 || got[0] != "cache.v0.0.2" {
			t.Errorf("CSVs %v", got)
		}
	})
	t.Run("an operator of somebody else's", func(t *testing.T) {
		r.t = t
		r.apply(groupYAML("theirs", "v1"))
		r.fails(2, "run bundle ./one --no-push --kubeconfig elsewhere.yaml -n theirs --pull-secret-name pull", "namespace theirs has no Secret pull, and this machine knows no credentials to make it of", "create secret docker-registry")
		r.fails(2, "run bundle ./one --no-push --kubeconfig elsewhere.yaml -n theirs --service-account reader", "namespace theirs has no ServiceAccount reader")
	})
	t.Run("with what it depends on", func(t *testing.T) {
		hosttest.LeaveToNightly(t, "OLM resolves as it does for one operator")
		r.t = t
		s := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
		defer s.Close()
		repo := strings.TrimPrefix(s.URL, "http://")
		r.writeBundle(t, "needed", "1", "")
		r.writeBundle(t, "needy", "1", "")
		// The same operator under another name, which provides another kind.
		for _, name := range []string{"metadata/annotations.yaml", "manifests/crd.yaml", "manifests/csv.yaml"} {
			path := filepath.Join(r.h.Dir, "needy", filepath.FromSlash(name))
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.NewReplacer("caches.cache.", "shelves.depot.", "cache.example.com", "depot.example.com", "plural: caches", "plural: shelves", "singular: cache", "singular: shelf", "Cache", "Shelf", "cache", "depot").Replace(string(data))
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(r.h.Dir, "needy", "metadata", "dependencies.yaml"), []byte("dependencies:\n- {type: olm.package, value: {packageName: cache, version: '>=0.0.1'}}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		const needs = " --kubeconfig elsewhere.yaml --no-push -n needs"
		r.fails(1, "run bundle ./needy --rollback"+needs, "something that the operator depends on is in no catalog", "Rolled back")
		r.mysdk("bundle build ./needed --image "+repo+"/needed:v1 --push", "bundle catalog "+repo+"/needed:v1 --tag "+repo+"/index:v1 --push",
			"run bundle ./needy --index-image "+repo+"/index:v1"+needs)
		if got := strings.Join(r.csvs("needs"), " "); got != "cache.v0.0.1 depot.v0.0.1" {
			t.Errorf("CSVs %s", got)
		}
		r.mysdk("cleanup depot --delete-all -n needs --kubeconfig elsewhere.yaml", "cleanup cache --delete-all -n needs --kubeconfig elsewhere.yaml")
	})
	t.Run("from a registry", func(t *testing.T) {
		r.t = t
		s := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
		defer s.Close()
		repo := strings.TrimPrefix(s.URL, "http://") + "/cache-bundle"
		for dir, tag := range map[string]string{"one": ":v1", "two": ":v2"} {
			r.mysdk("bundle build ./"+dir+" --image "+repo+tag, "bundle push "+repo+tag)
		}
		docker := t.TempDir()
		t.Setenv("DOCKER_CONFIG", docker) // the library that reads it asks the process
		if err := os.WriteFile(filepath.Join(docker, "config.json"), []byte(`{"auths": {"`+strings.TrimPrefix(s.URL, "http://")+`": {"auth": "bWU6c2VjcmV0"}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		r.mysdk("cleanup cache"+there, "run bundle "+repo+":v1 --pull-secret-name pull"+there)
		if r.read("v1 Secret shop/pull") == nil || !strings.Contains(fmt.Sprint(r.read("v1 ServiceAccount shop/cache").Object["imagePullSecrets"]), "pull") {
			t.Error("the operator's service account has not got the credentials")
		}
		image := at(r.read("operators.coreos.com/v1alpha1 CatalogSource shop/cache-catalog"), "spec", "image")
		if !strings.HasPrefix(image, repo+"-catalog@sha256:") {
			t.Errorf("the catalog is %s", image)
		}
		if r.read("apps/v1 Deployment shop/cache-catalog-server") != nil {
			t.Error("a Deployment serves the catalog too")
		}
		r.mysdk("run bundle-upgrade "+repo+":v2"+there, "cleanup cache --delete-all"+there)
		if r.read("apiextensions.k8s.io/v1 CustomResourceDefinition caches.cache.example.com") != nil {
			t.Error("the CRD is there")
		}
		if r.read("v1 Secret shop/pull") != nil {
			t.Error("the pull secret is there")
		}
	})
	t.Run("from a registry with a password", r.privateRegistry)
}
