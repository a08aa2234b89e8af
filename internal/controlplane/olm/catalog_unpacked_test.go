package olm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	ggcrtypes "github.com/google/go-containerregistry/pkg/v1/types"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	olmfake "github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/clientset/versioned/fake"
	olmlisters "github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/listers/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/example/mysdk/internal/controlplane/supervise"
)

// TestCatalogsOfOneImage are pulled at the same time, by several CatalogSources.
func TestCatalogsOfOneImage(t *testing.T) {
	g := newGuarded(t)
	ref := g.address + "/team/catalog:v1"
	img := catalogImage(t, "one")
	g.push(t, ref, img)
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	l := newLoader(t, g.secret("pull", "me"), g.ca())
	l.unknown = func(name types.NamespacedName, reason string) { t.Errorf("catalog %s: %s", name, reason) }
	const catalogs = 8
	nameOf := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("cat", i)}
	}
	for i := range catalogs {
		source := polled(ref, "never")
		source.Name = nameOf(i).Name
		l.loadImage(t.Context(), nameOf(i), source)
	}
	l.pulling.Wait()
	for i := range catalogs {
		if got, err := bundlesOf(t, connectCatalog(t, l.catalogs, nameOf(i).Name+".shop.svc:50051")); err != nil || !cmp.Equal(got, []string{"one.v1.0.0"}) {
			t.Errorf("bundles of %s = %v, %v", nameOf(i), got, err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(l.dir, digest.Hex, "*"))
	if err != nil || len(kept) != 2 { // cache and content
		t.Errorf("kept is %v, %v", kept, err)
	}
	if halves, err := os.ReadDir(l.scratch); err != nil || len(halves) > 0 {
		t.Errorf("left is %v, %v", halves, err)
	}
}

// TestStartDropsHalves of a server that was killed while it unpacked an image.
func TestStartDropsHalves(t *testing.T) {
	o := &olm{
		Options: Options{Client: fake.NewClientset(), Log: log.New(io.Discard, "", 0), Dir: t.TempDir()},
		custom:  olmfake.NewSimpleClientset(), route: &catalogRoute{},
	}
	o.route.once.Do(func() {}) // it would be for the whole process
	whole, half := filepath.Join(o.Dir, "images", "abc", "content"), filepath.Join(o.scratch(), "image-1", "shop")
	if err := errors.Join(os.MkdirAll(whole, 0o700), os.MkdirAll(half, 0o700)); err != nil {
		t.Fatal(err)
	}
	parts := supervise.New(t.Context())
	err := o.startCatalogs(parts, "olm", images(t.TempDir()))
	parts.Stop()
	parts.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(o.scratch()); err != nil || len(left) > 0 {
		t.Errorf("left is %v, %v", left, err)
	}
	if _, err := os.Stat(whole); err != nil {
		t.Error(err)
	}
}

// TestUnpackedWholeOrNotAtAll has an image whose layer ends in the midst of a file.
func TestUnpackedWholeOrNotAtAll(t *testing.T) {
	layers, err := catalogImage(t, "one").Layers()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	half := make([]byte, 600) // the header of a file in a tar archive has 512
	if _, err := io.ReadFull(layer, half); err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer(half, ggcrtypes.OCIUncompressedLayer))
	if err != nil {
		t.Fatal(err)
	}
	l := newLoader(t)
	dir := filepath.Join(l.dir, "abc")
	_, err = l.serveImage(t.Context(), img, dir, "cat:v1 abc")
	if err == nil || !strings.Contains(err.Error(), "unpack catalog image cat:v1: ") {
		t.Errorf("serveImage() = %v", err)
	}
	if left, err := os.ReadDir(l.scratch); err != nil || len(left) > 0 {
		t.Errorf("left is %v, %v", left, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the image is there: %v", err)
	}
}

// TestCatalogEndsWithItsContent has the last ConfigMap of one catalog go, and
// the CatalogSource of another.
func TestCatalogEndsWithItsContent(t *testing.T) {
	for name, tc := range map[string]struct {
		source *operatorsv1alpha1.CatalogSource // what is left; nil for nothing
		digest string                           // of what was served; "" for a substitute
		want   bool                             // something is served on
		kept   int                              // directories of images
	}{
		"no ConfigMap any more":  {&operatorsv1alpha1.CatalogSource{}, "abc", false, 1},
		"no image any more":      {&operatorsv1alpha1.CatalogSource{}, "cat:v1 abc", false, 0},
		"no ConfigMap yet":       {&operatorsv1alpha1.CatalogSource{}, "", true, 1},
		"no source any more":     {nil, "cat:v1 abc", false, 0},
		"no source of a failure": {nil, "", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			at := types.NamespacedName{Namespace: "shop", Name: "cat"}
			l := newLoader(t)
			sources := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
			l.maps, l.sources = corelisters.NewConfigMapLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})), olmlisters.NewCatalogSourceLister(sources)
			if tc.source != nil {
				tc.source.Namespace, tc.source.Name = at.Namespace, at.Name
				if err := sources.Add(tc.source); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(l.dir, "abc"), 0o700); err != nil {
				t.Fatal(err)
			}
			served := newSubstitute(nil)
			served.digest = tc.digest
			l.put(at, served)
			if err := l.load(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			if got := l.served[at] != nil; got != tc.want {
				t.Errorf("something is served: %v, want %v", got, tc.want)
			}
			if kept, err := filepath.Glob(filepath.Join(l.dir, "*")); err != nil || len(kept) != tc.kept {
				t.Errorf("kept is %v, %v", kept, err)
			}
		})
	}
}

// TestSubstituteLeavesContentAlone that has come in the meantime.
func TestSubstituteLeavesContentAlone(t *testing.T) {
	c := testCatalogs(t)
	name := types.NamespacedName{Namespace: "shop", Name: "cat"}
	c.unknown = func(_ types.NamespacedName, reason string) { t.Errorf("told: %s", reason) }
	c.put(name, serveText(t, smallCatalog("one")))
	c.standFor(name, errors.New("late"), false)
	if c.digest(name) == "" {
		t.Error("a substitute is served in place of content")
	}
	c.unknown = func(types.NamespacedName, string) {}
	c.standFor(name, errors.New("its address is elsewhere"), true)
	if c.digest(name) != "" {
		t.Error("content is served in place of a failure")
	}
}
