package image

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	served "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/registry"
)

// TestPush pushes to registries that know referrers and to such that do not,
// and gets everything back from there.
func TestPush(t *testing.T) {
	for name, c := range map[string]struct {
		referrers bool
		platforms []string
	}{
		"one platform":                 {true, []string{"linux/amd64"}},
		"index":                        {true, []string{"linux/amd64", "linux/arm64"}},
		"index, registry of yesterday": {false, []string{"linux/amd64", "linux/arm64"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := faked(t)
			built := build(t, w, BuildOptions{Base: Scratch, Platforms: c.platforms})
			to := serve(t, served.WithReferrersSupport(c.referrers)) + "/team/op:v1"
			pushed, err := Push(t.Context(), w.Host, PushOptions{Image: DefaultName, To: to})
			if err != nil {
				t.Fatal(err)
			}
			if pushed.Digest != built.Digest || pushed.Image != to || pushed.Reference() != strings.TrimSuffix(to, ":v1")+"@"+built.Digest {
				t.Errorf("pushed %+v as %s", pushed, pushed.Reference())
			}
			desc, err := remote.Get(mustRef(t, to))
			if err != nil || desc.Digest.String() != built.Digest {
				t.Fatalf("the registry has %v (%v)", desc, err)
			}
			if desc.MediaType.IsIndex() {
				err = validate.Index(must(desc.ImageIndex())(t))
			} else {
				err = validate.Image(must(desc.Image())(t))
			}
			if err != nil {
				t.Error(err)
			}
			checkReferrers(t, mustRef(t, to).Context(), built, pushed)
			// A second push has nothing to send and changes nothing.
			if again, err := Push(t.Context(), w.Host, PushOptions{Image: DefaultName, To: to}); err != nil || !cmp.Equal(again, pushed) {
				t.Errorf("pushed again: %+v, %v", again, err)
			}
		})
	}
}

// checkReferrers asks the registry for what refers to each platform's image.
func checkReferrers(t *testing.T, repo name.Repository, built Built, pushed Pushed) {
	t.Helper()
	for i, p := range built.Platforms {
		index, err := remote.Referrers(repo.Digest(p.Digest))
		if err != nil {
			t.Fatal(err)
		}
		m := must(index.IndexManifest())(t)
		if len(m.Manifests) != 1 || m.Manifests[0].Digest.String() != p.SBOM || pushed.SBOMs[i] != p.SBOM {
			t.Fatalf("%s has the referrers %+v, want %s", p.Platform, m.Manifests, p.SBOM)
		}
		s := must(remote.Image(repo.Digest(p.SBOM)))(t)
		if text := sbomText(t, s); !strings.Contains(text, p.Digest) || !strings.Contains(text, `"SPDX-2.3"`) {
			t.Errorf("the SBOM of %s is about something else:\n%.300s", p.Platform, text)
		}
	}
}

// TestPushCredentials: the password that docker login has noted is used, and
// its lack is told.
func TestPushCredentials(t *testing.T) {
	w, _ := faked(t)
	build(t, w, BuildOptions{Base: Scratch})
	inner := served.New(served.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
			rw.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(rw, r)
	}))
	defer s.Close()
	at := strings.TrimPrefix(s.URL, "http://")
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("DOCKER_CONFIG", filepath.Join(home, ".docker")) // without, docker's library keeps the HOME that it sees first
	t.Setenv("XDG_RUNTIME_DIR", home)
	t.Setenv("REGISTRY_AUTH_FILE", "")
	o := PushOptions{Image: DefaultName, To: at + "/op:v1"}
	_, err := Push(t.Context(), w.Host, o)
	if err == nil || !strings.Contains(err.Error(), "does not permit it") || !strings.Contains(clierr.HintOf(err), "docker login "+at) {
		t.Errorf("without a password: %v, hint %q", err, clierr.HintOf(err))
	}
	auth := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, at, base64.StdEncoding.EncodeToString([]byte("me:secret")))
	for tool, file := range map[string]string{"podman": "containers/auth.json", "docker": ".docker/config.json"} {
		write(t, filepath.Join(home, file), auth)
		if _, err := Push(t.Context(), w.Host, o); err != nil {
			t.Errorf("with what %s login leaves: %v", tool, err)
		}
	}
}

func TestPushErrors(t *testing.T) {
	w, _ := faked(t)
	build(t, w, BuildOptions{Base: Scratch})
	at := serve(t)
	for name, c := range map[string]struct {
		o          PushOptions
		text, hint string
		code       int
	}{
		"bad name":     {PushOptions{To: "ghcr.io/Me/op"}, "lower case", `did you mean "ghcr.io/me/op"?`, 2},
		"bad source":   {PushOptions{To: at + "/op", Image: "Op"}, "--image: ", "did you mean", 2},
		"no registry":  {PushOptions{Image: DefaultName}, "names no registry", "mysdk image push ghcr.io/you/controller:latest", 2},
		"not built":    {PushOptions{To: at + "/op:v1"}, "no image " + at + "/op:v1 has been built", "mysdk image build --image " + at + "/op:v1', or name one of these with --image: controller:latest", 1},
		"misspelt":     {PushOptions{To: at + "/op:v1", Image: "controler:latest"}, "no image controler:latest has been built", "did you mean --image controller:latest?", 1},
		"nobody there": {PushOptions{To: "127.0.0.1:1/op:v1", Image: DefaultName}, "push 127.0.0.1:1/op:v1: 127.0.0.1:1 cannot be reached", "check the address", 1},
		"no such host": {PushOptions{To: "registry.invalid/op:v1", Image: DefaultName}, "the name registry.invalid cannot be resolved", "check the name", 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Push(t.Context(), w.Host, c.o)
			if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(clierr.HintOf(err), c.hint) || clierr.CodeOf(err) != c.code {
				t.Errorf("%v\nhint %q\ncode %d", err, clierr.HintOf(err), clierr.CodeOf(err))
			}
		})
	}
}

// TestPushOfAnotherProject: all projects share the default name, so what is
// pushed may be another's.
func TestPushOfAnotherProject(t *testing.T) {
	w, _ := faked(t)
	build(t, w, BuildOptions{Base: Scratch})
	from := w.Dir
	var warnings []string
	o := PushOptions{Image: DefaultName, To: serve(t) + "/op:v1", Warn: func(s string) { warnings = append(warnings, s) }}
	if _, err := Push(t.Context(), w.Host, o); err != nil || len(warnings) > 0 {
		t.Errorf("%v, warned of %q", err, warnings)
	}
	w.Dir = t.TempDir()
	if _, err := Push(t.Context(), w.Host, o); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], from) {
		t.Errorf("%v, warned of %q", err, warnings)
	}
}

// TestSBOMRefused: a registry that takes images only; the image is there, and
// that it came without its SBOM is no success.
func TestSBOMRefused(t *testing.T) {
	w, _ := faked(t)
	built := build(t, w, BuildOptions{Base: Scratch})
	inner := served.New(served.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, built.Platforms[0].SBOM) {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		inner.ServeHTTP(rw, r)
	}))
	defer s.Close()
	to := strings.TrimPrefix(s.URL, "http://") + "/op:v1"
	pushed, err := Push(t.Context(), w.Host, PushOptions{Image: DefaultName, To: to})
	if err == nil || !strings.Contains(err.Error(), to+" is pushed, but not its SBOM") || !strings.Contains(clierr.HintOf(err), "--sbom none") {
		t.Errorf("%v, hint %q", err, clierr.HintOf(err))
	}
	if desc, err := remote.Head(mustRef(t, to)); err != nil || desc.Digest.String() != built.Digest || pushed.Digest != built.Digest {
		t.Errorf("the registry has %v (%v), %+v is reported", desc, err, pushed)
	}
}

// TestPushRefused: what the registry says is told.
func TestPushRefused(t *testing.T) {
	w, _ := faked(t)
	build(t, w, BuildOptions{Base: Scratch})
	for text, tc := range map[string]struct {
		code       int
		body, hint string
	}{
		"127.0.0.1 has no such repository (repository op not known)": {404, `{"errors": [{"code": "NAME_UNKNOWN", "message": "repository op not known"}]}`, "create it first"},
		"127.0.0.1 has no such repository":                           {404, "", "create it first"},
		"127.0.0.1 does not permit it (quota exceeded; ask Ann)":     {403, `{"errors": [{"code": "DENIED", "message": "quota exceeded"}, {"message": "ask Ann"}]}`, "docker login"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost:
				rw.WriteHeader(tc.code)
				_, _ = rw.Write([]byte(tc.body)) // a client that is gone fails the test
			case r.URL.Path != "/v2/":
				rw.WriteHeader(http.StatusNotFound)
			}
		}))
		_, err := Push(t.Context(), w.Host, PushOptions{Image: DefaultName, To: strings.TrimPrefix(s.URL, "http://") + "/op:v1"})
		s.Close()
		got := regexp.MustCompile(`:\d+ `).ReplaceAllString(fmt.Sprint(err), " ")
		if !strings.HasSuffix(got, text) || !strings.Contains(clierr.HintOf(err), tc.hint) {
			t.Errorf("%v, hint %q, want %q", err, clierr.HintOf(err), text)
		}
	}
}

// TestTLS: a certificate that nobody vouches for is not accepted, and plain
// http where TLS is expected is told apart.
func TestTLS(t *testing.T) {
	w, _ := faked(t)
	build(t, w, BuildOptions{Base: Scratch})
	s := httptest.NewTLSServer(served.New(served.Logger(log.New(io.Discard, "", 0))))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer s.Close()
	_, err := Push(t.Context(), w.Host, PushOptions{Image: DefaultName, To: strings.TrimPrefix(s.URL, "https://") + "/op:v1"})
	if err == nil || !strings.Contains(clierr.HintOf(err), "SSL_CERT_FILE") {
		t.Errorf("%v, hint %q", err, clierr.HintOf(err))
	}
	repo := mustRef(t, "10.0.0.5:5000/op:v1").Context()
	err = explain(t.Context(), fmt.Errorf("ping: %w", registry.ErrPlainHTTP), "push x", repo)
	if !strings.Contains(clierr.HintOf(err), "--use-http") || !strings.Contains(err.Error(), "10.0.0.5:5000 does not answer with TLS") {
		t.Errorf("%v, hint %q", err, clierr.HintOf(err))
	}
	if explain(t.Context(), nil, "push x", repo) != nil {
		t.Error("no error became one")
	}
}

// TestWaits: what another process uses is waited for, and said.
func TestWaits(t *testing.T) {
	w, _ := faked(t)
	build(t, w, BuildOptions{Base: Scratch})
	dir, err := storeDir(w.Host, must(parseTag(""))(t))
	if err != nil {
		t.Fatal(err)
	}
	held := must(filelock.Try(dir + ".lock"))(t)
	var said []string
	_, err = Save(t.Context(), w.Host, SaveOptions{File: "op.tar", Progress: func(s string) {
		said = append(said, s)
		if err := held.Release(); err != nil {
			t.Error(err)
		}
	}})
	if err != nil || !slices.Equal(said, []string{"waiting for another command that uses controller:latest"}) {
		t.Errorf("%v, said %q", err, said)
	}
	held = must(filelock.Try(dir + ".lock"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Save(ctx, w.Host, SaveOptions{File: "op.tar", Progress: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Error(err)
	}
}

// TestKilledBefore: what a killed process has left is no obstacle and does not
// stay.
func TestKilledBefore(t *testing.T) {
	w, _ := faked(t)
	dir, err := storeDir(w.Host, must(parseTag(""))(t))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(newName(dir), "new", "blobs", "half"), "x")
	build(t, w, BuildOptions{Base: Scratch})
	if left := must(filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")))(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestReplaceDirFails: what cannot be put in its place leaves the old one there.
func TestReplaceDirFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image")
	write(t, filepath.Join(dir, "index.json"), "old")
	if err := replaceDir(dir, func(string) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing was put in its place: %v", err)
	}
	if data := must(os.ReadFile(filepath.Join(dir, "index.json")))(t); string(data) != "old" {
		t.Errorf("%q is there", data)
	}
}

// TestStoreNames: the list of images is sorted, and junk in the store is no
// image.
func TestStoreNames(t *testing.T) {
	w, _ := faked(t)
	for _, n := range []string{"bb:1", "aa", "ghcr.io/me/op:v1"} {
		build(t, w, BuildOptions{Base: Scratch, Image: n})
	}
	write(t, filepath.Join(must(storeRoot(w.Host))(t), "junk", originFile), "{")
	if got := storedNames(w.Host); !slices.Equal(got, []string{"aa:latest", "bb:1", "ghcr.io/me/op:v1"}) {
		t.Errorf("names %q", got)
	}
}

// TestDamagedStore names the way out.
func TestDamagedStore(t *testing.T) {
	for name, damage := range map[string]struct{ file, text string }{
		"index":  {"index.json", "{"},
		"empty":  {"index.json", `{"schemaVersion":2,"manifests":[]}`},
		"origin": {originFile, "{"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := faked(t)
			build(t, w, BuildOptions{Base: Scratch})
			tag := must(parseTag(""))(t)
			dir, err := storeDir(w.Host, tag)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, damage.file), damage.text)
			_, err = Push(t.Context(), w.Host, PushOptions{Image: DefaultName, To: "localhost:1/op"})
			if err == nil || !strings.Contains(clierr.HintOf(err), "build it again") {
				t.Errorf("%v, hint %q", err, clierr.HintOf(err))
			}
			build(t, w, BuildOptions{Base: Scratch}) // and it works
			if stored(t, w, "").image == (v1.Image)(nil) {
				t.Error("there is no image after the build")
			}
		})
	}
}
