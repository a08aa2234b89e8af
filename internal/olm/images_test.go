package olm

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/kube"
)

// newRegistry is a registry on this machine.
func newRegistry(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// push makes an image of files and labels.
func push(t *testing.T, ref string, files, labels map[string]string) {
	t.Helper()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, l)
	if err == nil {
		img, err = mutate.Config(img, v1.Config{Labels: labels})
	}
	if err != nil {
		t.Fatal(err)
	}
	to, err := name.ParseReference(ref)
	if err == nil {
		err = remote.Write(to, img)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func pushBundle(t *testing.T, host, version, replaces string) {
	t.Helper()
	const prefix = "operators.operatorframework.io.bundle."
	labels := map[string]string{
		prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/",
		prefix + "package.v1": memcachedPackage, prefix + "channels.v1": "alpha", prefix + "channel.default.v1": "alpha",
	}
	annotations, err := json.Marshal(map[string]any{"annotations": labels})
	if err != nil {
		t.Fatal(err)
	}
	push(t, host+"/memcached-bundle:v"+version, map[string]string{
		"manifests/crd.yaml":        memcachedCRD,
		"manifests/csv.yaml":        strings.Replace(memcachedCSV(version, replaces), ", namespace: shop", "", 1),
		"metadata/annotations.yaml": string(annotations),
	}, labels)
}

// imageCatalog is a catalog whose bundles are images.
func imageCatalog(t *testing.T, host string, versions ...string) string {
	t.Helper()
	var out strings.Builder
	decoder := json.NewDecoder(strings.NewReader(memcachedCatalog(t, versions...)))
	for decoder.More() {
		var blob map[string]any
		if err := decoder.Decode(&blob); err != nil {
			t.Fatal(err)
		}
		if blob["schema"] == "olm.bundle" {
			_, version, _ := strings.Cut(blob["name"].(string), ".v")
			blob["image"] = host + "/memcached-bundle:v" + version
			blob["properties"] = blob["properties"].([]any)[:2]
		}
		data, err := json.Marshal(blob)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(data, '\n'))
	}
	return out.String()
}

// imageSource is a CatalogSource as it is written for real clusters.
func imageSource(t *testing.T, namespace, name, image string) []*unstructured.Unstructured {
	t.Helper()
	return manifests(t, fmt.Sprintf(`
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: %s, namespace: %s}
spec: {sourceType: grpc, image: %q, grpcPodConfig: {securityContextConfig: restricted}}
`, name, namespace, image))
}

// testCatalogAndBundleImages uses objects that were written for clusters with
// containers.
func testCatalogAndBundleImages(t *testing.T, l *lab) {
	host := newRegistry(t)
	pushBundle(t, host, "1.0.0", "")
	push(t, host+"/catalog:v1", map[string]string{"configs/memcached/catalog.json": imageCatalog(t, host, "1.0.0")},
		map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"})
	l.apply(manifests(t, shop, memcachedGroup))
	// One that every namespace sees, and that cannot be pulled.
	l.apply(imageSource(t, DefaultNamespace, "dead", "127.0.0.1:1/none:latest"))
	l.apply(manifests(t, `
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: elsewhere, namespace: olm}
spec: {sourceType: grpc, address: "192.0.2.1:50051"}
`))
	l.apply(imageSource(t, memcachedNamespace, "memcached", host+"/catalog:v1"))
	l.apply(manifests(t, memcachedSubscription))
	l.awaitCSV("1.0.0")
	l.await("word of the dead catalog", func() string { return l.missingEvent(DefaultNamespace, "dead", "pull image 127.0.0.1:1/none:latest") })
	l.await("word of the catalog elsewhere", func() string { return l.missingEvent(DefaultNamespace, "elsewhere", "no cluster network") })

	push(t, host+"/catalog:v2", map[string]string{"configs/catalog.json": imageCatalog(t, host, "1.0.0", "2.0.0")}, nil)
	l.apply(imageSource(t, memcachedNamespace, "memcached", host+"/catalog:v2"))
	l.await("the reason why the bundle is not unpacked", func() string {
		subscription := l.read(manifests(t, memcachedSubscription)[0])
		conditions, err := json.Marshal(subscription.Object["status"])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(conditions), "Bundle image pull failed") {
			return string(conditions)
		}
		return ""
	})
	pushBundle(t, host, "2.0.0", "1.0.0")
	l.awaitCSV("2.0.0")
	operator := append(manifests(t, memcachedSubscription), csvRef("2.0.0"))
	if _, err := l.Delete(t.Context(), operator, kube.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// missingEvent reports that there is no event with text on a CatalogSource.
func (l *lab) missingEvent(namespace, name, text string) string {
	l.t.Helper()
	event := schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	list, err := l.List(l.t.Context(), event, kube.ListOptions{Namespace: namespace})
	if err != nil {
		l.t.Fatal(err)
	}
	var messages []string
	for _, e := range list {
		involved, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		message, _, _ := unstructured.NestedString(e.Object, "message")
		if involved == name && strings.Contains(message, text) {
			return ""
		}
		messages = append(messages, involved+": "+message)
	}
	return strings.Join(messages, "\n")
}
