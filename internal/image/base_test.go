package image

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host/hosttest"
)

// baseImage is a base for a platform with one file that names it, as docker
// writes images, with labels of its own and a history with an empty layer.
func baseImage(t testing.TB, platform, mark string) v1.Image {
	t.Helper()
	p := must(parsePlatform(platform))(t)
	l, err := writeLayer(filepath.Join(t.TempDir(), "layer"), time.Unix(1, 0), []entry{{name: "etc/base", mode: 0o644, data: []byte(platform + mark)}})
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: p.OS, Architecture: p.Architecture, Variant: p.Variant, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: "0", Cmd: []string{"sh"}, Entrypoint: []string{"/entry"}, WorkingDir: "/home", Env: []string{"SSL_CERT_FILE=/certs"},
			Labels: map[string]string{"vendor": "base", "org.opencontainers.image.version": "12"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return must(mutate.Append(img,
		mutate.Addendum{Layer: l, MediaType: types.DockerLayer, History: v1.History{CreatedBy: "base"}},
		mutate.Addendum{History: v1.History{CreatedBy: "ENV", EmptyLayer: true}},
	))(t)
}

// pushBase puts an index of base images, and an attestation that is none, into
// a registry.
func pushBase(t testing.TB, ref, mark string, platforms ...string) v1.Hash {
	t.Helper()
	adds := []mutate.IndexAddendum{{Add: empty.Image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}}}
	for _, p := range platforms {
		platform := must(parsePlatform(p))(t)
		adds = append(adds, mutate.IndexAddendum{Add: baseImage(t, p, mark), Descriptor: v1.Descriptor{Platform: &platform}})
	}
	index := mutate.AppendManifests(empty.Index, adds...)
	if err := remote.WriteIndex(mustRef(t, ref), index); err != nil {
		t.Fatal(err)
	}
	return must(index.Digest())(t)
}

func TestBase(t *testing.T) {
	w, g := faked(t)
	at := serve(t)
	ref := at + "/distroless/static:nonroot"
	digest := pushBase(t, ref, "", "linux/amd64", "linux/arm64")
	built := build(t, w, BuildOptions{Title: "shop", Base: ref, Platforms: []string{"linux/amd64", "linux/arm64"}})
	if built.Base != ref || built.BaseDigest != digest.String() {
		t.Errorf("base %s %s", built.Base, built.BaseDigest)
	}
	c := stored(t, w, "")
	if err := validate.Index(c.index); err != nil {
		t.Fatal(err)
	}
	for _, p := range built.Platforms {
		img := must(c.index.Image(must(v1.NewHash(p.Digest))(t)))(t)
		_, contents := files(t, img)
		if contents["etc/base"] != p.Platform || contents["manager"] != string(g.program) {
			t.Errorf("%s is on the base for %q", p.Platform, contents["etc/base"])
		}
		config := must(img.ConfigFile())(t)
		if config.Config.User != User || config.Config.Cmd != nil || config.Config.WorkingDir != "/" || !slices.Equal(config.Config.Entrypoint, []string{"/manager"}) {
			t.Errorf("%s: configuration %+v", p.Platform, config.Config)
		}
		if !slices.Contains(config.Config.Env, "SSL_CERT_FILE=/certs") || len(config.History) != 2 {
			t.Errorf("%s: environment %v, history %v", p.Platform, config.Config.Env, config.History)
		}
		labels := config.Config.Labels
		if labels["vendor"] != "base" || labels["org.opencontainers.image.version"] == "12" ||
			labels["org.opencontainers.image.base.name"] != ref || labels["org.opencontainers.image.base.digest"] != digest.String() {
			t.Errorf("%s: labels %v", p.Platform, labels)
		}
		for _, l := range must(img.Manifest())(t).Layers {
			if l.MediaType != types.OCILayer {
				t.Errorf("%s: a layer is %s", p.Platform, l.MediaType)
			}
		}
	}
}

// TestBaseCache: what a tag stands for is asked every time, what it stands for
// is pulled once, and without a registry the cache is enough.
func TestBaseCache(t *testing.T) {
	w, _ := faked(t)
	var asked []string
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		inner.ServeHTTP(rw, r)
	}))
	defer s.Close()
	ref := strings.TrimPrefix(s.URL, "http://") + "/base:1"
	pushBase(t, ref, "old", "linux/amd64")
	o := BuildOptions{Base: ref, Platforms: []string{"linux/amd64"}}
	blobs := func() (n int) {
		for _, a := range asked {
			if strings.HasPrefix(a, "GET") && strings.Contains(a, "/blobs/") {
				n++
			}
		}
		return n
	}
	asked = nil
	first := build(t, w, o)
	if blobs() == 0 {
		t.Error("nothing was pulled")
	}
	asked = nil
	if again := build(t, w, o); again.Digest != first.Digest || blobs() > 0 {
		t.Errorf("%s, then %s; asked for %v", first.Digest, again.Digest, asked)
	}
	pushBase(t, ref, "new", "linux/amd64")
	second := build(t, w, o)
	if second.Digest == first.Digest {
		t.Error("the tag stands for another image, and the old one was taken")
	}

	asked, o.Offline = nil, true
	if off := build(t, w, o); off.Digest != second.Digest || len(asked) > 0 {
		t.Errorf("offline: %s, want %s; asked for %v", off.Digest, second.Digest, asked)
	}
	// A newer one for another platform, or that cannot be pulled, takes nothing away.
	pushBase(t, ref, "newer", "linux/arm64")
	if _, err := Build(t.Context(), w.Host, BuildOptions{Base: ref, Platforms: []string{"linux/amd64"}}); err == nil {
		t.Error("a base without the platform was taken")
	}
	build(t, w, BuildOptions{Base: ref, Platforms: []string{"linux/arm64"}})
	if off := build(t, w, o); off.Digest != second.Digest {
		t.Errorf("offline, behind the other platform's: %s, want %s", off.Digest, second.Digest)
	}
	s.Close()
	o.Offline = false
	var warnings []string
	o.Warn = func(s string) { warnings = append(warnings, s) }
	if down := build(t, w, o); down.Digest != second.Digest || len(warnings) != 1 || !strings.Contains(warnings[0], "using the one in the cache") {
		t.Errorf("without the registry: %s, want %s; warned of %q", down.Digest, second.Digest, warnings)
	}
	o.Platforms = []string{"linux/amd64", "linux/arm64"}
	if _, err := Build(t.Context(), w.Host, o); err == nil {
		t.Error("the platforms of two different bases were built into one image")
	}
	o.Platforms = []string{"linux/s390x"}
	if _, err := Build(t.Context(), w.Host, o); err == nil {
		t.Error("a platform that is not in the cache was built")
	}
}

// pulledBase builds an image, and returns where its base is kept.
func pulledBase(t *testing.T) (w *hosttest.World, o BuildOptions, dir string) {
	t.Helper()
	w, _ = faked(t)
	ref := serve(t) + "/base:1"
	digest := pushBase(t, ref, "", "linux/amd64")
	o = BuildOptions{Dir: w.Dir, Base: ref, Platforms: []string{"linux/amd64"}}
	build(t, w, o)
	b := must(prepare(w.Host, o))(t)
	return w, o, filepath.Join(must(b.baseCache(mustRef(t, ref)))(t), digest.Hex)
}

// TestBaseOfAnotherBuild: what another build has pulled meanwhile is not pulled
// again, and so not taken away under it.
func TestBaseOfAnotherBuild(t *testing.T) {
	w, o, pulled := pulledBase(t)
	cache := filepath.Dir(pulled)
	aside := filepath.Join(cache, "aside")
	if err := os.Rename(pulled, aside); err != nil {
		t.Fatal(err)
	}
	held := must(filelock.Try(filepath.Join(cache, "lock")))(t)
	var said []string
	o.Progress = func(s string) {
		said = append(said, s)
		if strings.HasPrefix(s, "waiting for another build") {
			if err := errors.Join(os.Rename(aside, pulled), held.Release()); err != nil {
				t.Error(err)
			}
		}
	}
	build(t, w, o)
	if text := strings.Join(said, "\n"); !strings.Contains(text, "waiting for") || strings.Contains(text, "pulling") {
		t.Errorf("said %s", text)
	}
}

// TestBaseByDigest: a digest is never asked for what it stands for.
func TestBaseByDigest(t *testing.T) {
	w, _ := faked(t)
	at := serve(t)
	ref := at + "/base@" + pushBase(t, at+"/base:1", "", "linux/amd64").String()
	built := build(t, w, BuildOptions{Base: ref, Platforms: []string{"linux/amd64"}})
	off := build(t, w, BuildOptions{Base: ref, Platforms: []string{"linux/amd64"}, Offline: true})
	if built.Digest != off.Digest || !strings.HasSuffix(ref, built.BaseDigest) {
		t.Errorf("%s, offline %s, base %s", built.Digest, off.Digest, built.BaseDigest)
	}
}

func TestSingleBase(t *testing.T) {
	w, _ := faked(t)
	ref := serve(t) + "/base:1"
	if err := remote.Write(mustRef(t, ref), baseImage(t, "linux/arm64", "")); err != nil {
		t.Fatal(err)
	}
	build(t, w, BuildOptions{Base: ref, Platforms: []string{"linux/arm64"}})
	_, err := Build(t.Context(), w.Host, BuildOptions{Dir: w.Dir, Base: ref, Platforms: []string{"linux/s390x"}})
	if err == nil || !strings.Contains(err.Error(), "has no linux/s390x") || !strings.Contains(clierr.HintOf(err), "it has linux/arm64") {
		t.Errorf("%v, hint %q", err, clierr.HintOf(err))
	}
}

func TestBaseErrors(t *testing.T) {
	w, g := faked(t)
	at := serve(t)
	pushBase(t, at+"/base:1", "", "linux/amd64", "linux/arm64")
	locked := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) }))
	defer locked.Close()
	for name, c := range map[string]struct {
		base, text, hint string
		offline          bool
	}{
		"platform":      {base: at + "/base:1", text: "has no linux/s390x", hint: "it has linux/amd64, linux/arm64"},
		"tag":           {base: at + "/base:2", text: "has no such image", hint: "check the name"},
		"login":         {base: strings.TrimPrefix(locked.URL, "http://") + "/base:1", text: "does not permit it", hint: "docker login 127.0.0.1"},
		"nobody there":  {base: "127.0.0.1:1/base:1", text: "127.0.0.1:1 cannot be reached", hint: "check the address"},
		"offline":       {base: at + "/other:1", offline: true, text: "is not in the cache", hint: "--base scratch"},
		"offline, std.": {offline: true, text: DefaultBase + " is not in the cache", hint: "--base scratch"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(t.Context(), w.Host, BuildOptions{Dir: w.Dir, Base: c.base, Platforms: []string{"linux/s390x"}, Offline: c.offline})
			if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(clierr.HintOf(err), c.hint) || clierr.CodeOf(err) != clierr.CodeFailed {
				t.Errorf("%v\nhint %q", err, clierr.HintOf(err))
			}
		})
	}
	if len(g.calls) > 0 {
		t.Error("it was compiled before the base was found")
	}
}

// TestDefaultBaseError: whatever keeps the default base away, scratch needs no
// network.
func TestDefaultBaseError(t *testing.T) {
	b := &builder{BuildOptions: BuildOptions{Base: DefaultBase}}
	err := b.baseError(clierr.Failedf("check the name", "it cannot be reached"))
	if !strings.Contains(clierr.HintOf(err), "'--base scratch'") || err.Error() != "it cannot be reached" {
		t.Errorf("%v, hint %q", err, clierr.HintOf(err))
	}
	b.Base = "other"
	if err := b.baseError(clierr.Failedf("check the name", "x")); clierr.HintOf(err) != "check the name" {
		t.Errorf("another base: hint %q", clierr.HintOf(err))
	}
}

// TestDamagedCache: a cache that was tampered with is told, not built on.
func TestDamagedCache(t *testing.T) {
	w, o, pulled := pulledBase(t)
	write(t, filepath.Join(pulled, "linux_amd64", "index.json"), `{"schemaVersion":2,"manifests":[]}`)
	_, err := Build(t.Context(), w.Host, o)
	if err == nil || !strings.Contains(clierr.HintOf(err), "remove the directory") {
		t.Errorf("%v, hint %q", err, clierr.HintOf(err))
	}
}
