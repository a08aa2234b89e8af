package olm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host/hosttest"
)

func TestCleanVersion(t *testing.T) {
	for version, want := range map[string]string{"0.46.0": "0.46.0", "v0.30.1": "0.30.1", "latest": Version, "": Version, "0.46.0-rc.1": "0.46.0-rc.1"} {
		if got, err := CleanVersion(version); got != want || err != nil {
			t.Errorf("CleanVersion(%q) = %q, %v, want %q", version, got, err, want)
		}
	}
	for _, version := range []string{"0.46", "vv1.0.0", "newest", "../0.46.0", "0.46.0/x"} {
		if _, err := CleanVersion(version); clierr.CodeOf(err) != clierr.CodeUsage {
			t.Errorf("CleanVersion(%q) = %v, want a usage error", version, err)
		}
	}
}

// otherCRD and otherOLM are what a release of another version may look like.
const (
	otherCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusterserviceversions.operators.coreos.com}
spec: {group: operators.coreos.com}
`
	otherOLM = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: catalog-operator, namespace: manager}
spec:
  template:
    spec:
      containers:
      - {name: c, image: "quay.io/operator-framework/olm@sha256:00", args: ["--opmImage=quay.io/opm:latest", "--namespace=quay.io"]}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: packageserver, namespace: manager, labels: {olm.version: v0.30.0}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: operatorhubio-catalog, namespace: manager}
spec: {image: "quay.io/operatorhubio/catalog:latest"}
`
)

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// place writes the files of another OLM.
func place(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{"crds.yaml": otherCRD, "olm.yaml": otherOLM, "README.md": "no manifest"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoadDirectory(t *testing.T) {
	h := hosttest.New(t).Host
	dir := t.TempDir()
	place(t, dir)
	m, err := Source{Host: h, Place: dir, Registry: "registry.example.com/mirror/"}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != "0.30.0" || m.Namespace != "manager" || len(m.CRDs) != 1 || len(m.Objects) != 2 {
		t.Fatalf("Load() = %s in %s, %d CRDs, %d objects", m.Version, m.Namespace, len(m.CRDs), len(m.Objects))
	}
	if got := m.CRDs[0].GetAnnotations()[state.OLMNamespaceAnnotation]; got != "manager" {
		t.Errorf("the CRD tells the namespace %q", got)
	}
	containers, _, _ := unstructured.NestedSlice(m.Objects[0].Object, "spec", "template", "spec", "containers")
	want := map[string]any{
		"name": "c", "image": "registry.example.com/mirror/operator-framework/olm@sha256:00",
		"args": []any{"--opmImage=registry.example.com/mirror/opm:latest", "--namespace=quay.io"},
	}
	if d := cmp.Diff(want, containers[0]); d != "" {
		t.Errorf("container (-want +got):\n%s", d)
	}
	with, err := Source{Host: h, Place: dir, Catalog: true}.Load(t.Context())
	if err != nil || len(with.Objects) != 3 {
		t.Errorf("Load() with the catalog = %d objects, %v", len(with.Objects), err)
	}
	if _, err := (Source{Host: h, Place: dir, Namespace: "elsewhere"}).Load(t.Context()); clierr.CodeOf(err) != clierr.CodeUsage {
		t.Errorf("Load() into another namespace = %v", err)
	}
	if _, err := (Source{Host: h, Place: dir, Sums: []string{sum(otherCRD), sum(otherCRD)}}).Load(t.Context()); err == nil || !strings.Contains(clierr.HintOf(err), sum(otherOLM)) {
		t.Errorf("Load() with a wrong checksum = %v, hint %q", err, clierr.HintOf(err))
	}
}

func TestLoadURL(t *testing.T) {
	dir := t.TempDir()
	place(t, dir)
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()
	h := hosttest.New(t).Host
	sums := []string{sum(otherCRD), strings.ToUpper(sum(otherOLM))}
	tests := map[string]struct {
		source Source
		want   string // part of the error, "" for none
	}{
		"place":            {Source{Place: s.URL + "/", Sums: sums}, ""},
		"without checksum": {Source{Place: s.URL}, "need their checksum"},
		"one checksum":     {Source{Place: s.URL, Sums: sums[:1]}, "1 checksums for 2 files"},
		"wrong checksum":   {Source{Place: s.URL, Sums: []string{sums[0], sums[0]}}, "its SHA-256 is " + sum(otherOLM)},
		"not there":        {Source{Place: s.URL + "/none.yaml", Sums: sums[:1]}, "404"},
		"another machine":  {Source{Place: "http://192.0.2.1/olm.yaml", Sums: sums[:1]}, "over https"},
		"no OLM":           {Source{Place: s.URL + "/olm.yaml", Sums: sums[1:]}, "they are not OLM's"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.source.Host = h
			m, err := tc.source.Load(t.Context())
			if tc.want == "" {
				if err != nil || m.Version != "0.30.0" {
					t.Errorf("Load() = %s, %v", m.Version, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || clierr.HintOf(err) == "" {
				t.Errorf("Load() = %v, hint %q, want %q", err, clierr.HintOf(err), tc.want)
			}
		})
	}
}

func TestLoadOfAnotherVersionIsDownloaded(t *testing.T) {
	var asked []string
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		w := httptest.NewRecorder()
		if strings.HasSuffix(r.URL.Path, "/crds.yaml") {
			_, _ = w.WriteString(otherCRD) // a recorder takes everything
		} else {
			_, _ = w.WriteString(strings.ReplaceAll(otherOLM, "manager", "olm"))
		}
		return w.Result(), nil
	})}
	var warned []string
	m, err := Source{Host: hosttest.New(t).Host, Client: client, Version: "v0.30.0", Warn: func(s string) { warned = append(warned, s) }}.Load(t.Context())
	if err != nil || m.Version != "0.30.0" || len(warned) != 1 {
		t.Fatalf("Load() = %s, %v, warned %q", m.Version, err, warned)
	}
	if d := cmp.Diff([]string{releases + "0.30.0/crds.yaml", releases + "0.30.0/olm.yaml"}, asked); d != "" {
		t.Errorf("downloads (-want +got):\n%s", d)
	}
	for version, want := range map[string]string{"0.30.0": "its SHA-256 is", Version: "there is nothing to check"} {
		_, err := Source{Host: hosttest.New(t).Host, Client: client, Version: version, Sums: []string{"0", "1"}}.Load(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load() of %s with other checksums = %v", version, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestLoadErrors(t *testing.T) {
	h := hosttest.New(t).Host
	page := filepath.Join(t.TempDir(), "olm.yaml")
	if err := os.WriteFile(page, []byte("<!DOCTYPE html>\n<title>Sign in</title>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ place, want string }{
		"no such place": {"none", "there is no none"}, "web page": {page, "is a web page"}, "empty directory": {t.TempDir(), "they are not OLM's"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := (Source{Host: h, Place: tc.place}).Load(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Load() = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestBuiltInElsewhere(t *testing.T) {
	m, err := Source{Host: hosttest.New(t).Host, Namespace: "manager", Registry: "registry.example.com"}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(m.Objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`"olm"`, "quay.io", "-olm"} {
		for _, part := range strings.Split(string(data), ",") {
			if strings.Contains(part, text) && !strings.Contains(part, "keywords") && part != `"olm"` && !strings.Contains(part, "aggregate-") {
				t.Errorf("OLM in namespace manager has %s", part)
			}
		}
	}
	for _, u := range m.CRDs {
		if got := u.GetAnnotations()[state.OLMNamespaceAnnotation]; (u.GetName() == csvCRD) != (got == "manager") {
			t.Errorf("%s has the annotation %q", u.GetName(), got)
		}
	}
}

func FuzzRedirect(f *testing.F) {
	f.Add("quay.io/operator-framework/olm:v1")
	f.Add("--opmImage=quay.io/opm")
	f.Add("text about quay.io/images")
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := redirect(s, "mirror.example.com/").(string)
		if !ok {
			t.Fatalf("redirect(%q) is no text", s)
		}
		if again := redirect(got, "mirror.example.com/"); strings.HasPrefix(s, publicRegistry) && again != got {
			t.Errorf("redirect(%q) = %q, and again %q", s, got, again)
		}
	})
}
