package image

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/example/mysdk/internal/clierr"
)

func TestDigests(t *testing.T) {
	at := serve(t)
	img, err := random.Image(16, 1)
	if err != nil {
		t.Fatal(err)
	}
	index, err := random.Index(16, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(mustRef(t, at+"/one:v1"), img); err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(mustRef(t, at+"/many:v1"), index); err != nil {
		t.Fatal(err)
	}
	pinned := at + "/other@sha256:" + strings.Repeat("a", 64)
	want := map[string]string{
		at + "/one:v1":  must(img.Digest())(t).String(),
		at + "/many:v1": must(index.Digest())(t).String(),
		pinned:          "sha256:" + strings.Repeat("a", 64),
	}
	got, err := Digests(t.Context(), []string{at + "/one:v1", at + "/many:v1", pinned}, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err = Digests(t.Context(), []string{at + "/one:v1", at + "/none:v1"}, false)
	if err == nil || !strings.Contains(err.Error(), "has no such image") || !strings.HasPrefix(clierr.HintOf(err), "push the image first") {
		t.Errorf("error %v, hint %q", err, clierr.HintOf(err))
	}
	if _, err := Digests(t.Context(), []string{"Upper:v1"}, false); clierr.CodeOf(err) != clierr.CodeUsage {
		t.Errorf("a bad name: %v", err)
	}
}

// TestDigestsWithoutHead: some registries do not answer HEAD.
func TestDigestsWithoutHead(t *testing.T) {
	reg := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	deaf := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if deaf && r.Method == http.MethodHead {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		reg.ServeHTTP(w, r)
	}))
	defer s.Close()
	image := strings.TrimPrefix(s.URL, "http://") + "/one:v1"
	img, err := random.Image(16, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(mustRef(t, image), img); err != nil {
		t.Fatal(err)
	}
	deaf = true
	got, err := Digests(t.Context(), []string{image}, false)
	if err != nil || got[image] != must(img.Digest())(t).String() {
		t.Errorf("%v, %v", got, err)
	}
}

func TestPinnedRef(t *testing.T) {
	for in, want := range map[string]string{
		"a:v1": "a@sha256:x", "localhost:5000/a/b": "localhost:5000/a/b@sha256:x", "r.io:5000/a:v1@sha256:y": "r.io:5000/a@sha256:x", "r.io/a": "r.io/a@sha256:x",
	} {
		if got := PinnedRef(in, "sha256:x"); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
