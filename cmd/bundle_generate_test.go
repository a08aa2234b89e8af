package cmd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host/hosttest"
)

// randomImage pushes an image with random contents and returns its digest.
func randomImage(t *testing.T, ref string) string {
	t.Helper()
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	img, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, img); err != nil {
		t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return v1.Hash.String(digest)
}

// bundleDeployment is an operator with an image of its own and a related one.
const bundleDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  template:
    spec:
      containers:
      - name: manager
        image: HOST/shop:v1
        env: [{name: RELATED_IMAGE_DB, value: "HOST/db:v1"}]
`

// TestBundleDigests resolves tags once and keeps them: the second bundle needs
// no registry and is the same, although the tag stands for another image.
func TestBundleDigests(t *testing.T) {
	asked := 0
	reg := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		reg.ServeHTTP(w, r)
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	shop, db := randomImage(t, host+"/shop:v1"), randomImage(t, host+"/db:v1")
	w := hosttest.New(t)
	manifest := strings.ReplaceAll(bundleDeployment, "HOST", host)
	run := func() map[string]string {
		t.Helper()
		w.IO.In = bytes.NewBufferString(manifest)
		w.Err.Reset()
		args := []string{"bundle", "generate", "--package", "shop", "--version", "0.1.0", "--use-image-digests"}
		if code := root.Main(t.Context(), w.Host, args); code != 0 {
			t.Fatalf("exit code %d\n%s", code, w.Err)
		}
		return hosttest.Snapshot(t, w.Dir)
	}
	first := run()
	csv := first["bundle/manifests/shop.clusterserviceversion.yaml"]
	for _, want := range []string{
		"image: " + host + "/shop@" + shop, "value: " + host + "/db@" + db,
		"relatedImages:\n  - image: " + host + "/db@" + db + "\n    name: db\n  - image: " + host + "/shop@" + shop + "\n    name: manager\n",
	} {
		if !strings.Contains(csv, want) {
			t.Errorf("lacks %s:\n%s", want, csv)
		}
	}
	if strings.Contains(csv, ":v1\n") {
		t.Errorf("a tag is left:\n%s", csv)
	}
	if randomImage(t, host+"/shop:v1") == shop {
		t.Fatal("the tag was to move")
	}
	before := asked
	if diff := cmp.Diff(first, run()); diff != "" {
		t.Error(diff)
	}
	if asked != before {
		t.Errorf("the registry was asked %d times again", asked-before)
	}
	lock := filepath.Join(w.Dir, "config/manifests/image-digests.yaml")
	if err := os.WriteFile(lock, []byte("images: {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := run(); strings.Contains(again["bundle/manifests/shop.clusterserviceversion.yaml"], shop) {
		t.Error("a tag taken out of the lock was not resolved again")
	}
}

// TestBundleDigestsMissing: an image that nobody has pushed has no digest, and
// no bundle is written.
func TestBundleDigestsMissing(t *testing.T) {
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	w := hosttest.New(t)
	w.IO.In = bytes.NewBufferString(strings.ReplaceAll(bundleDeployment, "HOST", strings.TrimPrefix(s.URL, "http://")))
	code := root.Main(t.Context(), w.Host, []string{"bundle", "generate", "--package", "shop", "--use-image-digests"})
	if said := w.Err.String(); code != 1 || !strings.Contains(said, "has no such image") || !strings.Contains(said, "push the image first") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	if files := hosttest.Snapshot(t, w.Dir); len(files) > 0 {
		t.Errorf("files were written: %v", files)
	}
}

// TestBundleWaitsForNobody: a pipe that stays open is told of, and Ctrl-C ends
// the wait.
func TestBundleWaitsForNobody(t *testing.T) {
	w := hosttest.New(t)
	r, pipe := io.Pipe()
	defer pipe.Close()
	w.IO.In = r
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := root.Main(ctx, w.Host, []string{"bundle", "generate", "--package", "shop"}); code != 130 {
		t.Errorf("exit code %d\n%s", code, w.Err)
	}
}

// TestBundleEpoch: SOURCE_DATE_EPOCH is the time of the bundle.
func TestBundleEpoch(t *testing.T) {
	for epoch, want := range map[string]string{"": "2026-01-02T03:04:05Z", "0": "1970-01-01T00:00:00Z", "x": ""} {
		w := hosttest.New(t)
		w.Env["SOURCE_DATE_EPOCH"] = epoch
		w.IO.In = bytes.NewBufferString(bundleDeployment)
		code := root.Main(t.Context(), w.Host, []string{"bundle", "generate", "--package", "shop", "--stdout"})
		if want == "" && code != 2 || want != "" && !strings.Contains(w.Out.String(), "createdAt: \""+want+"\"") {
			t.Errorf("epoch %q: exit code %d\n%s%s", epoch, code, w.Out, w.Err)
		}
	}
}

// TestBundleWithoutGo: an operator of a Helm chart has no Go types. What is
// printed is for a cluster, so scorecard's configuration is not in it.
func TestBundleWithoutGo(t *testing.T) {
	w := hosttest.New(t)
	for name, text := range map[string]string{
		"PROJECT": "domain: example.com\nlayout:\n- helm.sdk.operatorframework.io/v1\nprojectName: shop\n" +
			"resources:\n- {api: {crdVersion: v1, namespaced: true}, domain: example.com, group: shop, kind: Cart, version: v1}\nversion: \"3\"\n",
		"config/manifests/kustomization.yaml": "resources:\n- all.yaml\n",
		"config/manifests/all.yaml": bundleDeployment + "---\napiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\nmetadata: {name: config}\nstages: []\n" +
			"---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: carts.shop.example.com}\n" +
			"spec: {group: shop.example.com, names: {kind: Cart, plural: carts}, versions: [{name: v1}]}\n",
	} {
		file := filepath.Join(w.Dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if code := root.Main(t.Context(), w.Host, []string{"generate", "bundle", "--version", "0.1.0", "--stdout"}); code != 0 {
		t.Fatalf("exit code %d\n%s", code, w.Err)
	}
	for text, want := range map[string]bool{"name: shop.v0.1.0": true, "name: carts.shop.example.com": true, "project_layout: helm.sdk.operatorframework.io/v1": true, "kind: Configuration": false} {
		if strings.Contains(w.Out.String(), text) != want {
			t.Errorf("%q is in it: %v\n%s", text, !want, w.Out)
		}
	}
	if strings.Contains(w.Err.String(), "Go type") {
		t.Errorf("a Go type is missed:\n%s", w.Err)
	}
	if code := root.Main(t.Context(), w.Host, []string{"generate", "bundle", "--version", "0.1.0"}); code != 0 {
		t.Fatalf("exit code %d\n%s", code, w.Err)
	}
	if _, ok := hosttest.Snapshot(t, w.Dir)["bundle/tests/scorecard/config.yaml"]; !ok {
		t.Error("the bundle has no configuration of scorecard")
	}
}

// BenchmarkBundleGenerate is a bundle straight from the project: generators,
// kustomize and the CSV, with nothing of it there before.
func BenchmarkBundleGenerate(b *testing.B) {
	bench(b, benchBase(b, initCommand, createCommand, "generate kustomize manifests"), "bundle generate --version 0.0.1")
}
