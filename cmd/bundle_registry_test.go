package cmd_test

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
)

// bundleWorld is a world in which bundles can be validated.
func bundleWorld(t testing.TB) *hosttest.World {
	t.Helper()
	w := hosttest.New(t)
	bin, err := validatorBinary()
	if err != nil {
		t.Fatal(err)
	}
	w.Env["MYSDK_CLUSTER_BIN"] = bin
	return w
}

// aBundle writes a small bundle to bundle/ of a new world.
func aBundle(t testing.TB) *hosttest.World {
	t.Helper()
	w := bundleWorld(t)
	for file, text := range map[string]string{
		"manifests/csv.yaml": `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v0.1.0}
spec:
  displayName: Shop
  version: 0.1.0
  installModes: [{type: AllNamespaces, supported: true}]
  install:
    strategy: deployment
    spec:
      deployments:
      - name: manager
        spec:
          selector: {matchLabels: {app: shop}}
          template:
            metadata: {labels: {app: shop}}
            spec: {containers: [{name: manager, image: "ghcr.io/example/shop:v0.1.0"}]}
`,
		"metadata/annotations.yaml": `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: shop
  operators.operatorframework.io.bundle.channels.v1: stable
`,
	} {
		file = filepath.Join(w.Dir, "bundle", file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// TestBundleRegistry takes a bundle to a registry, and reads it from there on
// another machine: to validate it, and to make catalogs of it.
func TestBundleRegistry(t *testing.T) {
	s := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	at := strings.TrimPrefix(s.URL, "http://")
	here, there := aBundle(t), bundleWorld(t)
	run := func(w *hosttest.World, args ...string) string {
		t.Helper()
		w.Out.Reset()
		w.Err.Reset()
		if code := root.Main(t.Context(), w.Host, args); code != 0 {
			t.Fatalf("mysdk %v: %d\n%s%s", args, code, w.Out, w.Err)
		}
		return strings.TrimSpace(w.Out.String())
	}
	digest := run(here, "bundle", "build", "--image", at+"/shop-bundle:v0.1.0", "-q")
	if got, want := run(here, "bundle", "push", "--image", at+"/shop-bundle:v0.1.0"), at+"/shop-bundle@"+digest; got != want {
		t.Errorf("push printed %q, want %q", got, want)
	}
	if got := run(there, "bundle", "validate", at+"/shop-bundle@"+digest); !strings.Contains(got, "shop.v0.1.0 is valid") {
		t.Errorf("validate printed %q", got)
	}
	got := run(there, "bundle", "catalog", at+"/shop-bundle:v0.1.0", "--tag", at+"/shop-catalog:v1", "--push", "-q")
	if !strings.HasPrefix(got, at+"/shop-catalog@sha256:") {
		t.Errorf("catalog printed %q", got)
	}
	got = run(hosttest.New(t), "bundle", "catalog", "--from-index", at+"/shop-catalog:v1", "-q")
	if !strings.Contains(got, "image: "+at+"/shop-bundle:v0.1.0") || !strings.Contains(got, "name: shop.v0.1.0") {
		t.Errorf("the catalog in the registry is\n%s", got)
	}
	again := run(here, "bundle", "build", "bundle", "--image", at+"/other:v1", "--push", "-o", "json")
	if !strings.Contains(again, digest) {
		t.Errorf("built again it is %s, want %s", again, digest)
	}
	there.Err.Reset()
	if code := root.Main(t.Context(), there.Host, []string{"bundle", "validate", at + "/nothing:v1"}); code != clierr.CodeFailed || !strings.Contains(there.Err.String(), "has no such image") {
		t.Errorf("%d: %s", code, there.Err)
	}
}

// BenchmarkBundleValidate is 'bundle validate' of a small bundle.
func BenchmarkBundleValidate(b *testing.B) {
	w := aBundle(b)
	for b.Loop() {
		if code := root.Main(b.Context(), w.Host, []string{"bundle", "validate", "bundle"}); code != 0 {
			b.Fatal(w.Err)
		}
	}
}
