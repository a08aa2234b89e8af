package olm

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	ggcrtypes "github.com/google/go-containerregistry/pkg/v1/types"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	olmlisters "github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/listers/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/keymutex"

	"github.com/example/mysdk/internal/cluster/state"
)

// catalogImage is an image with a small catalog.
func catalogImage(t *testing.T, pkg string) v1.Image {
	t.Helper()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	text := smallCatalog(pkg)
	if err := w.WriteHeader(&tar.Header{Name: "configs/catalog.json", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer(layer.Bytes(), ggcrtypes.OCIUncompressedLayer))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// guarded is a registry over TLS that wants to know who asks.
type guarded struct {
	*httptest.Server
	address string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	serve := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // whatever this machine knows
	return &guarded{s, strings.TrimPrefix(s.URL, "https://")}
}

// secret is a pull secret for the registry.
func (g *guarded) secret(name, user string) *corev1.Secret {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":secret"))
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths": {"` + g.address + `": {"auth": "` + auth + `"}}}`)},
	}
}

// ca is a Secret with the registry's certificate.
func (g *guarded) ca() *corev1.Secret {
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "ca"}, Data: map[string][]byte{"cert.pem": data}}
}

// push brings an image or an index there, as one who may.
func (g *guarded) push(t *testing.T, ref string, what remote.Taggable) {
	t.Helper()
	a, err := accessOf(t.Context(), fake.NewClientset(g.secret("pull", "me")), "shop", []string{"pull"}, map[string]string{state.RegistryTLSAnnotation: "skip-verify"})
	if err != nil {
		t.Fatal(err)
	}
	to, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Push(to, what, a.Options(t.Context())...); err != nil {
		t.Fatal(err)
	}
}

// TestImageOfAnotherPlatform is as good as one of this machine's: a catalog's
// files have no architecture. What says how it was built is none.
func TestImageOfAnotherPlatform(t *testing.T) {
	g := newGuarded(t)
	ref := g.address + "/team/catalog:arm"
	platform := func(os, arch string) v1.Descriptor {
		return v1.Descriptor{Platform: &v1.Platform{OS: os, Architecture: arch}}
	}
	wanted := catalogImage(t, "one")
	g.push(t, ref, mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: catalogImage(t, "attestation"), Descriptor: platform("unknown", "unknown")},
		mutate.IndexAddendum{Add: wanted, Descriptor: platform("linux", "arm64")}))
	a, err := accessOf(t.Context(), fake.NewClientset(g.secret("pull", "me"), g.ca()), "shop", []string{"pull"}, map[string]string{state.RegistryCAAnnotation: "ca"})
	if err != nil {
		t.Fatal(err)
	}
	img, err := images(t.TempDir()).get(t.Context(), ref, a)
	if err != nil {
		t.Fatal(err)
	}
	got, err := img.Digest()
	if want, wantErr := wanted.Digest(); err != nil || wantErr != nil || got != want {
		t.Errorf("pulled %s, want %s: %v, %v", got, want, err, wantErr)
	}
}

// TestAccessOfACatalog pulls with the Secrets that a CatalogSource names.
func TestAccessOfACatalog(t *testing.T) {
	g := newGuarded(t)
	ref := g.address + "/team/catalog:v1"
	g.push(t, ref, catalogImage(t, "one"))
	client := fake.NewClientset(g.secret("pull", "me"), g.secret("wrong", "you"), g.ca(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "empty"}})
	ca, skip := map[string]string{state.RegistryCAAnnotation: "ca"}, map[string]string{state.RegistryTLSAnnotation: "plain-http,skip-verify"}
	for name, tc := range map[string]struct {
		secrets []string
		notes   map[string]string
		want    string // of the error
	}{
		"with both":          {[]string{"pull"}, ca, ""},
		"not verified":       {[]string{"pull"}, skip, ""},
		"one of two secrets": {[]string{"none", "pull"}, ca, ""},
		"without the CA":     {[]string{"pull"}, nil, "certificate signed by unknown authority"},
		"without the secret": {nil, ca, "UNAUTHORIZED"},
		"of somebody else":   {[]string{"wrong"}, ca, "UNAUTHORIZED"},
		"secret missing":     {[]string{"none"}, ca, "(pull secrets not found: shop/none)"},
		"CA missing":         {nil, map[string]string{state.RegistryCAAnnotation: "none"}, `secrets "none" not found`},
		"CA without one":     {nil, map[string]string{state.RegistryCAAnnotation: "empty"}, "read cert.pem of Secret shop/empty: there is no certificate in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := accessOf(t.Context(), client, "shop", tc.secrets, tc.notes)
			if err == nil {
				_, err = images(t.TempDir()).get(t.Context(), ref, a)
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// newLoader is a loader of nothing but images.
func newLoader(t *testing.T, objects ...*corev1.Secret) *catalogLoader {
	t.Helper()
	client := fake.NewClientset()
	for _, o := range objects {
		if _, err := client.CoreV1().Secrets(o.Namespace).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	l := &catalogLoader{
		catalogs: testCatalogs(t), client: client, dir: t.TempDir(), scratch: t.TempDir(), images: images(t.TempDir()),
		sources: olmlisters.NewCatalogSourceLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})),
		queue:   workqueue.NewTypedDelayingQueue[types.NamespacedName](), unpacked: keymutex.NewHashed(0),
	}
	t.Cleanup(l.queue.ShutDown)
	return l
}

// polled is a CatalogSource of an image.
func polled(ref, every string) *operatorsv1alpha1.CatalogSource {
	s := &operatorsv1alpha1.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cat", Annotations: map[string]string{state.RegistryCAAnnotation: "ca"}}}
	s.Spec.Image, s.Spec.Secrets = ref, []string{"pull"}
	if d, err := time.ParseDuration(every); err == nil {
		s.Spec.UpdateStrategy = &operatorsv1alpha1.UpdateStrategy{RegistryPoll: &operatorsv1alpha1.RegistryPoll{Interval: &metav1.Duration{Duration: d}}}
	}
	return s
}

// TestPolledCatalogFollowsItsTag has a tag move below a catalog that wants to be
// looked at, and below one that does not.
func TestPolledCatalogFollowsItsTag(t *testing.T) {
	g := newGuarded(t)
	ref := g.address + "/team/catalog:latest"
	name := types.NamespacedName{Namespace: "shop", Name: "cat"}
	for every, want := range map[string]string{"1ns": "two.v1.0.0", "1h": "one.v1.0.0", "never": "one.v1.0.0"} {
		t.Run(every, func(t *testing.T) {
			g.push(t, ref, catalogImage(t, "one"))
			l := newLoader(t, g.secret("pull", "me"), g.ca())
			load := func() {
				l.loadImage(t.Context(), name, polled(ref, every))
				l.pulling.Wait()
			}
			load()
			first := l.digest(name)
			client := connectCatalog(t, l.catalogs, "cat.shop.svc:50051")
			if got, err := bundlesOf(t, client); err != nil || !cmp.Equal(got, []string{"one.v1.0.0"}) {
				t.Fatalf("bundles = %v, %v", got, err)
			}
			load()
			if l.digest(name) != first {
				t.Error("the same image is served again")
			}
			g.push(t, ref, catalogImage(t, "two"))
			load()
			if got, err := bundlesOf(t, connectCatalog(t, l.catalogs, "cat.shop.svc:50051")); err != nil || !cmp.Equal(got, []string{want}) {
				t.Errorf("bundles after the tag moved = %v, %v, want %s", got, err, want)
			}
			if kept, err := filepath.Glob(filepath.Join(l.dir, "*")); err != nil || len(kept) != 1 {
				t.Errorf("kept is %v, %v", kept, err)
			}
		})
	}
}

// TestOldContentIsSwept once all catalogs are there: of a tag that moved while the
// cluster was stopped, and of an image that the catalog had before.
func TestOldContentIsSwept(t *testing.T) {
	g := newGuarded(t)
	l := newLoader(t, g.secret("pull", "me"), g.ca())
	sources := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	l.sources = olmlisters.NewCatalogSourceLister(sources)
	if err := os.MkdirAll(filepath.Join(l.dir, "aaa", "content"), 0o700); err != nil {
		t.Fatal(err)
	}
	load := func(source *operatorsv1alpha1.CatalogSource, want int) {
		t.Helper()
		l.loadImage(t.Context(), types.NamespacedName{Namespace: "shop", Name: source.Name}, source)
		l.pulling.Wait()
		if kept, err := filepath.Glob(filepath.Join(l.dir, "*")); err != nil || len(kept) != want {
			t.Errorf("kept is %v, %v, want %d", kept, err, want)
		}
	}
	one, two := polled(g.address+"/team/catalog:one", "never"), polled(g.address+"/team/catalog:two", "never")
	two.Name = "dog"
	for _, source := range []*operatorsv1alpha1.CatalogSource{one, two} {
		g.push(t, source.Spec.Image, catalogImage(t, source.Name))
		if err := sources.Add(source); err != nil {
			t.Fatal(err)
		}
	}
	load(one, 2) // the other catalog may be what is there
	load(two, 2)
	one.Spec.Image = two.Spec.Image
	load(one, 1)
}

// TestPolledCatalogKeepsItsContent while its registry does not answer.
func TestPolledCatalogKeepsItsContent(t *testing.T) {
	g := newGuarded(t)
	ref := g.address + "/team/catalog:latest"
	g.push(t, ref, catalogImage(t, "one"))
	l := newLoader(t, g.secret("pull", "me"), g.ca())
	name := types.NamespacedName{Namespace: "shop", Name: "cat"}
	l.loadImage(t.Context(), name, polled(ref, "1ns"))
	l.pulling.Wait()
	g.Close()
	l.loadImage(t.Context(), name, polled(ref, "1ns"))
	l.pulling.Wait()
	if got, err := bundlesOf(t, connectCatalog(t, l.catalogs, "cat.shop.svc:50051")); err != nil || !cmp.Equal(got, []string{"one.v1.0.0"}) {
		t.Errorf("bundles = %v, %v", got, err)
	}
	if begun, later := l.pulls.begin(name, ref, true, time.Nanosecond, time.Now()); begun || later <= 0 {
		t.Errorf("it is asked again at once: %v, %s", begun, later)
	}
}

func TestPullsByTheClock(t *testing.T) {
	name := types.NamespacedName{Namespace: "shop", Name: "cat"}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var p pulls
	check := func(served bool, every time.Duration, at time.Time, begun bool, later time.Duration) {
		t.Helper()
		if gotBegun, gotLater := p.begin(name, "a", served, every, at); gotBegun != begun || gotLater != later {
			t.Errorf("begin() = %v, %s, want %v, %s", gotBegun, gotLater, begun, later)
		}
	}
	check(false, time.Minute, now, true, time.Minute)
	check(false, time.Minute, now, false, 0) // it runs
	p.end(name, "a", time.Time{})
	check(true, time.Minute, now.Add(20*time.Second), false, 40*time.Second)
	check(true, 10*time.Second, now.Add(20*time.Second), true, 10*time.Second) // a shorter interval counts at once
	p.end(name, "a", now.Add(time.Hour))
	check(true, time.Minute, now.Add(30*time.Minute), false, 30*time.Minute) // it failed
	check(true, 0, now.Add(2*time.Hour), false, 0)                           // nobody wants to know any more
	check(false, 0, now.Add(2*time.Hour), true, 0)                           // something else was served meanwhile
}

func TestDropContentKeepsWhatIsServed(t *testing.T) {
	l := newLoader(t)
	l.put(types.NamespacedName{Name: "a"}, &catalogServer{digest: "x:1 aaa", listener: newSubstitute(nil).listener, server: newSubstitute(nil).server})
	for _, hex := range []string{"aaa", "bbb"} {
		if err := os.Mkdir(filepath.Join(l.dir, hex), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, served := range []string{"y:2 aaa", "y:2 bbb", ""} {
		l.dropContent(served)
	}
	if left, err := filepath.Glob(filepath.Join(l.dir, "*")); err != nil || len(left) != 1 || filepath.Base(left[0]) != "aaa" {
		t.Errorf("left is %v, %v", left, err)
	}
}
