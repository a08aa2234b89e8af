package olm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	registryclient "github.com/operator-framework/operator-registry/pkg/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestCatalogName(t *testing.T) {
	tests := map[string]struct {
		want types.NamespacedName
		ok   bool
	}{
		"memcached.shop.svc:50051":               {types.NamespacedName{Namespace: "shop", Name: "memcached"}, true},
		"memcached.shop.svc.cluster.local:50051": {types.NamespacedName{Namespace: "shop", Name: "memcached"}, true},
		"memcached.shop.svc.:1":                  {types.NamespacedName{Namespace: "shop", Name: "memcached"}, true},
		"memcached.shop.svc":                     {},
		"10.0.0.7:50051":                         {},
		"quay.io:443":                            {},
		"a.b.c:1":                                {},
		".b.svc:1":                               {},
		"x.a.b.svc:1":                            {},
	}
	for address, tc := range tests {
		t.Run(address, func(t *testing.T) {
			got, err := catalogName(address)
			if got != tc.want || (err == nil) != tc.ok {
				t.Errorf("catalogName() = %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

// smallCatalog is a catalog with one package.
func smallCatalog(name string) string {
	return `{"schema":"olm.package","name":"` + name + `","defaultChannel":"alpha"}
{"schema":"olm.channel","package":"` + name + `","name":"alpha","entries":[{"name":"` + name + `.v1.0.0"}]}
{"schema":"olm.bundle","package":"` + name + `","name":"` + name + `.v1.0.0","image":"example.com/` + name + `:v1","properties":[{"type":"olm.package","value":{"packageName":"` + name + `","version":"1.0.0"}}]}
`
}

// serveText serves a catalog that is written out.
func serveText(t *testing.T, text string) *catalogServer {
	t.Helper()
	dir := t.TempDir()
	if err := writePieces(filepath.Join(dir, "content"), map[string][]byte{"catalog.json": []byte(text)}); err != nil {
		t.Fatal(err)
	}
	s, err := newCatalogServer(t.Context(), os.DirFS(filepath.Join(dir, "content")), filepath.Join(dir, "cache"), text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// connect is OLM's side of a connection to address.
func connectCatalog(t *testing.T, c *catalogs, address string) *registryclient.Client {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(_ context.Context, a string) (net.Conn, error) { return c.Dial("tcp", a) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return registryclient.NewClientFromConn(conn)
}

// bundlesOf lists what a client sees.
func bundlesOf(t *testing.T, c *registryclient.Client) ([]string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	it, err := c.ListBundles(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for b := it.Next(); b != nil; b = it.Next() {
		names = append(names, b.CsvName)
	}
	return names, it.Error()
}

func testCatalogs(t *testing.T) *catalogs {
	t.Helper()
	c := newCatalogs(log.New(io.Discard, "", 0), "olm")
	t.Cleanup(c.close)
	return c
}

func TestCatalogIsServedAndReplaced(t *testing.T) {
	c := testCatalogs(t)
	name := types.NamespacedName{Namespace: "shop", Name: "memcached"}
	client := connectCatalog(t, c, "memcached.shop.svc:50051")
	go c.put(name, serveText(t, smallCatalog("one"))) // the connection waits for it
	if got, err := bundlesOf(t, client); err != nil || !cmp.Equal(got, []string{"one.v1.0.0"}) {
		t.Fatalf("bundles = %v, %v", got, err)
	}
	c.put(name, serveText(t, smallCatalog("two")))
	deadline := time.Now().Add(time.Minute)
	for {
		// The client may have to see first that its connection has ended.
		got, err := bundlesOf(t, client)
		if err == nil && cmp.Equal(got, []string{"two.v1.0.0"}) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("bundles after the change = %v, %v", got, err)
		}
	}
}

func TestCatalogWithoutContent(t *testing.T) {
	tests := map[string]struct{ namespace, want string }{
		"in its own namespace": {"shop", "catalog shop/dead: no route"},
		"for all namespaces":   {"olm", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := testCatalogs(t)
			var told []string
			c.unknown = func(n types.NamespacedName, reason string) { told = append(told, n.String()+": "+reason) }
			for range 2 {
				c.standFor(types.NamespacedName{Namespace: tc.namespace, Name: "dead"}, errors.New("no route"), true)
			}
			got, err := bundlesOf(t, connectCatalog(t, c, "dead."+tc.namespace+".svc:50051"))
			if len(got) != 0 || (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("bundles = %v, %v, want the error %q", got, err, tc.want)
			}
			if d := cmp.Diff([]string{tc.namespace + "/dead: no route"}, told); d != "" {
				t.Errorf("told (-want +got):\n%s", d)
			}
		})
	}
}

func TestCatalogAddressesOfOtherMachines(t *testing.T) {
	c := testCatalogs(t)
	if _, err := c.Dial("tcp", "192.0.2.1:50051"); err == nil {
		t.Error("Dial() of another machine = nil")
	}
	c.owner = func(address string) (types.NamespacedName, bool) {
		return types.NamespacedName{Namespace: "shop", Name: "far"}, address == "192.0.2.1:50051"
	}
	if _, err := bundlesOf(t, connectCatalog(t, c, "192.0.2.1:50051")); err == nil || !strings.Contains(err.Error(), "no cluster network") {
		t.Errorf("bundles of a catalog elsewhere = %v", err)
	}
	c.close()
	if _, err := c.Dial("tcp", "far.shop.svc:1"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Dial() after the end = %v", err)
	}
}

func TestCatalogRouteLeadsToTheOLMThatRuns(t *testing.T) {
	var r catalogRoute
	if _, err := r.Dial("tcp", "memcached.shop.svc:50051"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Dial() before OLM runs = %v", err)
	}
	c := testCatalogs(t)
	c.put(types.NamespacedName{Namespace: "shop", Name: "memcached"}, serveText(t, smallCatalog("one")))
	r.to.Store(c)
	conn, err := r.Dial("tcp", "memcached.shop.svc:50051")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestBrokenCatalogIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := writePieces(dir, map[string][]byte{"catalog.json": []byte(`{"schema":"olm.channel","package":"x","name":"a","entries":[]}`)}); err != nil {
		t.Fatal(err)
	}
	if s, err := newCatalogServer(t.Context(), os.DirFS(dir), filepath.Join(t.TempDir(), "cache"), "d"); err == nil {
		s.stop(log.Default())
		t.Error("newCatalogServer() of a channel without a package = nil")
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestCatalogPieces(t *testing.T) {
	found := []*corev1.ConfigMap{
		{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"x.json": "1"}, BinaryData: map[string][]byte{"y.json.gz": zipped(t, "2"), "z.json": []byte("3")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Data: map[string]string{"x.json": "4"}},
	}
	got, err := catalogPieces(found)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"a-x.json": []byte("1"), "a-y.json": []byte("2"), "a-z.json": []byte("3"), "b-x.json": []byte("4")}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("pieces (-want +got):\n%s", d)
	}
	first := digestOf(got)
	if digestOf(want) != first {
		t.Error("equal contents have two digests")
	}
	want["b-x.json"] = []byte("5")
	if digestOf(want) == first {
		t.Error("two contents have one digest")
	}
	found[0].BinaryData["y.json.gz"] = []byte("no gzip")
	if _, err := catalogPieces(found); err == nil || !strings.Contains(err.Error(), "y.json.gz") {
		t.Errorf("catalogPieces() of a broken piece = %v", err)
	}
}

func TestExtractTakesFilesOnly(t *testing.T) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, h := range []tar.Header{
		{Name: "configs/", Typeflag: tar.TypeDir}, {Name: "configs/a.json", Typeflag: tar.TypeReg, Size: 2},
		{Name: "./configs/b.json", Typeflag: tar.TypeReg, Size: 2}, {Name: "../../configs/c.json", Typeflag: tar.TypeReg, Size: 2},
		{Name: "configs", Typeflag: tar.TypeReg, Size: 2}, {Name: "configs/../outside", Typeflag: tar.TypeReg, Size: 2},
		{Name: "configs/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, {Name: "other", Typeflag: tar.TypeReg, Size: 2},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := extractTar(&archive, map[string]string{"/configs": dir}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pattern := range []string{filepath.Join(dir, "*"), filepath.Join(dir, "..", "outside")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			names = append(names, filepath.Base(file))
		}
	}
	if d := cmp.Diff([]string{"a.json", "b.json", "c.json"}, names); d != "" {
		t.Errorf("unpacked (-want +got):\n%s", d)
	}
}

func TestPulls(t *testing.T) {
	var p pulls
	name := types.NamespacedName{Namespace: "shop", Name: "memcached"}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	begin := func(image string, at time.Time, want bool) {
		t.Helper()
		if got, _ := p.begin(name, image, false, 0, at); got != want {
			t.Errorf("begin(%s) = %v, want %v", image, got, want)
		}
	}
	begin("a", now, true)
	begin("a", now, false) // it runs
	begin("b", now, true)  // another is wanted meanwhile
	if p.end(name, "a", now) {
		t.Error("the first image is still wanted")
	}
	if !p.end(name, "b", now.Add(time.Minute)) {
		t.Error("the second image is not wanted")
	}
	begin("b", now, false) // it failed a moment ago
	begin("b", now.Add(time.Minute), true)
	p.forget(name)
	begin("b", now, true)
}
