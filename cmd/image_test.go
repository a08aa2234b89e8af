package cmd_test

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host/hosttest"
)

// operator writes a project whose operator compiles at once.
func operator(t testing.TB) *hosttest.World {
	t.Helper()
	w := hosttest.New(t)
	w.Env["CGO_ENABLED"] = "0"
	for file, text := range map[string]string{
		"PROJECT":     "domain: example.com\nlayout:\n- go.kubebuilder.io/v4\nprojectName: shop\nrepo: example.com/shop\nversion: \"3\"\n",
		"go.mod":      "module example.com/shop\n\ngo 1.26\n",
		"cmd/main.go": "package main\n\nfunc main() { println(\"hello\") }\n",
	} {
		file = filepath.Join(w.Dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// TestImagePush builds with every flag and pushes, at once and apart.
func TestImagePush(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with the go command")
	}
	s := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	at := strings.TrimPrefix(s.URL, "http://")
	w := operator(t)
	run := func(args ...string) string {
		w.Out.Reset()
		w.Err.Reset()
		if code := root.Main(t.Context(), w.Host, args); code != 0 {
			t.Fatalf("mysdk %v: %d\n%s", args, code, w.Err)
		}
		return strings.TrimSpace(w.Out.String())
	}
	digest := run("image", "build", "-t", at+"/op:v1", "--base", "scratch", "--platform", "linux/amd64,linux/arm64",
		"--label", "team=a", "--label", "list=a,b", "--go-ldflags", "-X main.version=v1", "--push")
	checkPushed(t, at+"/op:v1", digest)
	if said := w.Err.String(); !strings.Contains(said, "Pushed "+at+"/op:v1 after") || strings.Contains(said, "Warning") {
		t.Errorf("it said:\n%s", said)
	}
	got := run("image", "push", at+"/op:v2", "--image", at+"/op:v1")
	checkPushed(t, at+"/op:v2", digest)
	if want := at + "/op@" + digest; got != want {
		t.Errorf("push printed %q, want %q", got, want)
	}
	if got = run("image", "push", at+"/op:v1", "-o", "json"); !strings.Contains(got, `"digest": "`+digest+`"`) {
		t.Errorf("push -o json printed %s", got)
	}
}

func checkPushed(t *testing.T, image, digest string) {
	t.Helper()
	ref, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := index.Digest(); err != nil || got.String() != digest {
		t.Errorf("the registry has %s (%v), and %s was printed", got, err, digest)
	}
	m, err := index.IndexManifest()
	if err != nil || len(m.Manifests) != 2 {
		t.Fatalf("manifest %+v, %v", m, err)
	}
	img, err := index.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	labels := config.Config.Labels
	if labels["team"] != "a" || labels["list"] != "a,b" || labels["org.opencontainers.image.title"] != "shop" {
		t.Errorf("labels %v", labels)
	}
}

// BenchmarkImageBuild is an image of an operator that has not changed since
// the last one, with the go build that finds that out.
func BenchmarkImageBuild(b *testing.B) {
	w := operator(b)
	args := []string{"image", "build", "--base", "scratch"}
	if code := root.Main(b.Context(), w.Host, args); code != 0 {
		b.Fatal(w.Err)
	}
	for b.Loop() {
		if code := root.Main(b.Context(), w.Host, args); code != 0 {
			b.Fatal(w.Err)
		}
	}
}
