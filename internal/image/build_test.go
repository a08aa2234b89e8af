package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
)

func TestScratchImage(t *testing.T) {
	w, g := faked(t)
	w.Env["SOURCE_DATE_EPOCH"] = "1700000000"
	built := build(t, w, BuildOptions{
		Title: "shop", Base: Scratch, Platforms: []string{"linux/arm64"}, GoLDFlags: "-X main.v=1",
		Labels: []string{"team=a=b", "org.opencontainers.image.title=mine"},
	})
	c := stored(t, w, "")
	if err := validate.Image(c.image); err != nil {
		t.Fatal(err)
	}
	config := must(c.image.ConfigFile())(t)
	if d := cmp.Diff(v1.Config{
		User: "65532:65532", Entrypoint: []string{"/manager"}, WorkingDir: "/",
		Env: []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		Labels: map[string]string{
			"team": "a=b", "org.opencontainers.image.title": "mine",
			"org.opencontainers.image.created": "2023-11-14T22:13:20Z",
		},
	}, config.Config); d != "" {
		t.Errorf("configuration (-want +got):\n%s", d)
	}
	if config.OS != "linux" || config.Architecture != "arm64" || config.Created.Unix() != 1700000000 {
		t.Errorf("it is for %s/%s, of %s", config.OS, config.Architecture, config.Created)
	}
	checkScratchFiles(t, c.image, g)
	m := must(c.image.Manifest())(t)
	if m.MediaType != types.OCIManifestSchema1 || m.Config.MediaType != types.OCIConfigJSON || m.Layers[1].MediaType != types.OCILayer {
		t.Errorf("media types: %s, %s, %s", m.MediaType, m.Config.MediaType, m.Layers[1].MediaType)
	}
	if _, ok := m.Annotations["team"]; ok || m.Annotations["org.opencontainers.image.title"] != "mine" {
		t.Errorf("annotations: %v", m.Annotations)
	}
	if len(built.Platforms) != 1 || built.Platforms[0].Platform != "linux/arm64" || built.Platforms[0].Digest != built.Digest || built.Platforms[0].SBOM == "" {
		t.Errorf("built %+v", built)
	}
	call := g.calls[0]
	if want := []string{"build", "-trimpath", "-ldflags=-s -w -X main.v=1"}; !slices.Equal(call.Args[:3], want) {
		t.Errorf("go %v, want %v", call.Args, want)
	}
	if env(call, "CGO_ENABLED") != "0" || env(call, "GOARCH") != "arm64" || env(call, "GOPROXY") == "off" || call.Dir != w.Dir {
		t.Errorf("go build in %s with %v", call.Dir, call.Env)
	}
}

// checkScratchFiles: the operator belongs to root, so that it cannot change
// itself, and everybody may write to /tmp.
func checkScratchFiles(t *testing.T, img v1.Image, g *fakeGo) {
	t.Helper()
	headers, contents := files(t, img)
	for name, want := range map[string]struct {
		mode int64
		uid  int
	}{
		"manager": {0o755, 0}, "etc/passwd": {0o644, 0}, "etc/group": {0o644, 0}, "etc/ssl/certs/ca-certificates.crt": {0o644, 0},
		"tmp": {0o1777, 0}, "home/nonroot": {0o700, 65532}, "etc": {0o755, 0},
	} {
		h, ok := headers[name]
		if !ok {
			h, ok = headers[name+"/"]
		}
		if !ok || h.Mode != want.mode || h.Uid != want.uid || h.Gid != want.uid || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s: there is %t, mode %o, user %d:%d, %s", name, ok, h.Mode, h.Uid, h.Gid, h.ModTime)
		}
	}
	if contents["manager"] != string(g.program) {
		t.Error("the manager is not what was compiled")
	}
	if contents["etc/ssl/certs/ca-certificates.crt"] != authority() {
		t.Error("the certificates are not this machine's")
	}
	if !strings.Contains(contents["etc/passwd"], "nonroot:x:65532:65532:") || !strings.Contains(contents["etc/group"], "nonroot:x:65532:") {
		t.Errorf("passwd and group:\n%s%s", contents["etc/passwd"], contents["etc/group"])
	}
}

func TestIndex(t *testing.T) {
	w, _ := faked(t)
	built := build(t, w, BuildOptions{Base: Scratch, Platforms: []string{"linux/amd64", "linux/arm/v7"}, Image: "ghcr.io/me/op:v1"})
	c := stored(t, w, "ghcr.io/me/op:v1")
	if c.index == nil || c.image != nil {
		t.Fatal("it is not an index")
	}
	if err := validate.Index(c.index); err != nil {
		t.Fatal(err)
	}
	m := must(c.index.IndexManifest())(t)
	var got []string
	for i, d := range m.Manifests {
		got = append(got, platformName(*d.Platform))
		if d.Digest.String() != built.Platforms[i].Digest {
			t.Errorf("%s is %s, and %s was reported", got[i], d.Digest, built.Platforms[i].Digest)
		}
		if must(must(c.index.Image(d.Digest))(t).ConfigFile())(t).Variant != d.Platform.Variant {
			t.Errorf("%s: the image says another variant", got[i])
		}
	}
	if d := cmp.Diff([]string{"linux/amd64", "linux/arm/v7"}, got); d != "" {
		t.Error(d)
	}
	if m.Annotations["org.opencontainers.image.title"] != filepath.Base(w.Dir) {
		t.Errorf("annotations: %v", m.Annotations)
	}
	if len(c.sboms) != 2 || built.Digest != must(c.index.Digest())(t).String() {
		t.Errorf("%d SBOMs, digest %s", len(c.sboms), built.Digest)
	}
}

// TestSameDigest: neither the name, nor the directory, nor the clock is part
// of the image; the source, the flags, the labels and SOURCE_DATE_EPOCH are.
func TestSameDigest(t *testing.T) {
	digest := func(change func(w *hosttest.World, g *fakeGo, o *BuildOptions)) string {
		w, g := faked(t)
		o := BuildOptions{Title: "shop", Base: Scratch}
		change(w, g, &o)
		return build(t, w, o).Digest
	}
	want := digest(func(*hosttest.World, *fakeGo, *BuildOptions) {})
	for name, c := range map[string]struct {
		same   bool
		change func(w *hosttest.World, g *fakeGo, o *BuildOptions)
	}{
		"again": {true, func(*hosttest.World, *fakeGo, *BuildOptions) {}},
		"name":  {true, func(_ *hosttest.World, _ *fakeGo, o *BuildOptions) { o.Image = "other:v2" }},
		"clock": {true, func(w *hosttest.World, _ *fakeGo, _ *BuildOptions) { w.Now = time.Now }},
		"sbom":  {true, func(_ *hosttest.World, _ *fakeGo, o *BuildOptions) { o.NoSBOM = true }},
		"epoch": {false, func(w *hosttest.World, _ *fakeGo, _ *BuildOptions) { w.Env["SOURCE_DATE_EPOCH"] = "1" }},
		"label": {false, func(_ *hosttest.World, _ *fakeGo, o *BuildOptions) { o.Labels = []string{"a=b"} }},
		"program": {false, func(_ *hosttest.World, g *fakeGo, _ *BuildOptions) {
			g.program = append(slices.Clone(g.program), 0)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := digest(c.change); (got == want) != c.same {
				t.Errorf("%s, and %s without the change", got, want)
			}
		})
	}
}

func TestNoSBOM(t *testing.T) {
	w, _ := faked(t)
	built := build(t, w, BuildOptions{Base: Scratch, NoSBOM: true})
	if c := stored(t, w, ""); len(c.sboms) != 0 || built.Platforms[0].SBOM != "" {
		t.Errorf("there are %d SBOMs, %q is reported", len(c.sboms), built.Platforms[0].SBOM)
	}
}

func TestUsageErrors(t *testing.T) {
	for name, c := range map[string]struct {
		o    BuildOptions
		env  map[string]string
		text string
	}{
		"image":    {o: BuildOptions{Image: "Op"}, text: "lower case"},
		"platform": {o: BuildOptions{Platforms: []string{"plan9/mips"}}, text: `unknown platform "plan9/mips"`},
		"label":    {o: BuildOptions{Labels: []string{"novalue"}}, text: `"novalue" is not a label`},
		"no key":   {o: BuildOptions{Labels: []string{" =x"}}, text: `" =x" is not a label`},
		"base":     {o: BuildOptions{Base: "Scratch!"}, text: `--base: "Scratch!"`},
		"epoch":    {env: map[string]string{"SOURCE_DATE_EPOCH": "yesterday"}, text: `SOURCE_DATE_EPOCH is "yesterday"`},
		"old":      {env: map[string]string{"SOURCE_DATE_EPOCH": "-1"}, text: `SOURCE_DATE_EPOCH is "-1"`},
		"far":      {env: map[string]string{"SOURCE_DATE_EPOCH": "999999999999"}, text: "SOURCE_DATE_EPOCH"},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := faked(t)
			for k, v := range c.env {
				w.Env[k] = v
			}
			c.o.Dir = w.Dir
			_, err := Build(t.Context(), w.Host, c.o)
			if err == nil || !strings.Contains(err.Error(), c.text) || clierr.CodeOf(err) != clierr.CodeUsage || clierr.HintOf(err) == "" {
				t.Errorf("%v, hint %q", err, clierr.HintOf(err))
			}
			if len(g.calls) > 0 {
				t.Error("the go command was run")
			}
		})
	}
}

func TestNoOperatorHere(t *testing.T) {
	w, _ := faked(t)
	_, err := Build(t.Context(), w.Host, BuildOptions{Dir: t.TempDir()})
	if clierr.CodeOf(err) != clierr.CodeUsage || !strings.Contains(clierr.HintOf(err), "mysdk init") {
		t.Errorf("%v, hint %q", err, clierr.HintOf(err))
	}
}

// TestCompileFails: the go command's own words, a hint that fits, and the
// image of the last build stays.
func TestCompileFails(t *testing.T) {
	for name, c := range map[string]struct{ output, text, hint string }{
		"source":    {"cmd/main.go:3:1: syntax error\n", "go build ./cmd failed:\n  cmd/main.go:3:1: syntax error", "correct it"},
		"modules":   {"main.go:4:2: no required module provides package x.y/z; to add it:\n\tgo get x.y/z\n", "x.y/z", "go mod tidy"},
		"offline":   {"go: x.y/z@v1: module lookup disabled by GOPROXY=off\n", "GOPROXY=off", "go mod download"},
		"workspace": {"no modules were found in the current workspace; see 'go help work'\n", "workspace", "go work use"},
		"git":       {"error obtaining VCS status: exit status 128\n", "VCS", "-buildvcs=false"},
		"much":      {strings.Repeat("a.go:1:1: wrong\n", 50), "and 30 lines more", "correct it"},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := faked(t)
			want := build(t, w, BuildOptions{Base: Scratch}).Digest
			g.output = c.output
			_, err := Build(t.Context(), w.Host, BuildOptions{Dir: w.Dir, Base: Scratch})
			if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(clierr.HintOf(err), c.hint) {
				t.Errorf("%v\nhint %q", err, clierr.HintOf(err))
			}
			if got := must(stored(t, w, "").digest())(t).String(); got != want {
				t.Errorf("the store has %s, want %s", got, want)
			}
		})
	}
}

func TestOfflineReachesGo(t *testing.T) {
	w, g := faked(t)
	build(t, w, BuildOptions{Base: Scratch, Offline: true})
	for key, want := range map[string]string{"GOPROXY": "off", "GONOPROXY": "none"} {
		if got := env(g.calls[0], key); got != want {
			t.Errorf("%s is %q", key, got)
		}
	}
}

// TestLongBuild: one that takes long says that it goes on.
func TestLongBuild(t *testing.T) {
	w, g := faked(t)
	g.takes = 25 * time.Second
	var said []string
	synctest.Test(t, func(t *testing.T) {
		w.Now = time.Now
		build(t, w, BuildOptions{Base: Scratch, Platforms: []string{"linux/arm64"}, Progress: func(line string) { said = append(said, line) }})
	})
	want := []string{"compiling for linux/arm64: go build ./cmd", "still compiling for linux/arm64 (10.0s)", "still compiling for linux/arm64 (20.0s)"}
	if at := slices.Index(said, want[0]); at < 0 || !slices.Equal(said[at:min(at+3, len(said))], want) {
		t.Errorf("said %q, want %q", said, want)
	}
}

func TestBuildInterrupted(t *testing.T) {
	w, _ := faked(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Build(ctx, w.Host, BuildOptions{Dir: w.Dir, Base: Scratch})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, code %d", err, clierr.CodeOf(err))
	}
	if names := storedNames(w.Host); len(names) != 0 {
		t.Errorf("the store has %v", names)
	}
}

// TestRebuildReplaces: nothing of the last image stays in the store.
func TestRebuildReplaces(t *testing.T) {
	w, g := faked(t)
	build(t, w, BuildOptions{Base: Scratch})
	before := hosttest.Snapshot(t, filepath.Join(w.Env["MYSDK_STATE_DIR"], "images"))
	g.program = append(slices.Clone(g.program), 0)
	build(t, w, BuildOptions{Base: Scratch})
	after := hosttest.Snapshot(t, filepath.Join(w.Env["MYSDK_STATE_DIR"], "images"))
	if len(before) != len(after) || cmp.Equal(before, after) {
		t.Errorf("%d files, and %d after", len(before), len(after))
	}
}

func TestCannotWrite(t *testing.T) {
	w, _ := faked(t)
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for _, k := range []string{"MYSDK_CACHE_DIR", "MYSDK_STATE_DIR"} {
		before := w.Env[k]
		w.Env[k] = file
		if _, err := Build(t.Context(), w.Host, BuildOptions{Dir: w.Dir, Base: Scratch}); err == nil {
			t.Errorf("%s is a file, and the build goes well", k)
		}
		w.Env[k] = before
	}
	if data, err := os.ReadFile(file); err != nil || len(data) > 0 {
		t.Errorf("the file in the way: %q, %v", data, err)
	}
}

// TestBuildLeavesOut: what only the Dockerfile puts into the image is told; the program
// and what it is compiled of are not.
func TestBuildLeavesOut(t *testing.T) {
	for name, tc := range map[string]struct {
		dockerfile string
		want       []string
	}{
		"the scaffold's": {"FROM golang AS builder\nCOPY . .\nRUN go build -o manager ./cmd\nFROM distroless\nWORKDIR /\nCOPY --from=builder /w/manager .\nUSER 65532:65532\nENTRYPOINT [\"/manager\"]\n", nil},
		"files":          {"FROM golang AS builder\nCOPY . .\nFROM distroless\nCOPY templates/ /templates/\nADD [\"a b\", \"/a\"]\nCOPY --chown=1:1 --from=builder /x /x\n", []string{"Dockerfile:4: COPY templates/ /templates/:", "Dockerfile:5: ADD [\"a b\", \"/a\"]:", "Dockerfile:6: COPY --chown=1:1 --from=builder /x /x:"}},
		"around the program": {"FROM golang AS builder\nRUN go build -o=bin/op ./cmd\nFROM alpine\nRUN apk add git\nLABEL a=b\nLABEL c=d\nWORKDIR /work\nCOPY --from=builder /workspace/templates /templates\nUSER 1001\nCOPY --from=builder /workspace/bin/op /usr/bin/\n", []string{
			"Dockerfile:4: RUN apk add git: the image has only the operator; if that needs what this does,", "Dockerfile:6: LABEL c=d: this is not in the image; set it with --label", "Dockerfile:7: WORKDIR /work: this is not in the image; set it in config",
			"Dockerfile:8: COPY --from=builder /workspace/templates /templates: the image has only the operator;", "Dockerfile:9: USER 1001: the image runs as 65532:65532; for another user, set runAsUser in config/manager/manager.yaml",
		}},
		"from nothing": {"FROM golang AS builder\nFROM scratch\nCOPY --from=builder /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/\nCOPY --from=builder /etc/passwd /etc/passwd\nCOPY --from=builder /src/out/* /bin/op\nENTRYPOINT [\"/bin/op\"]\nUSER nonroot:nonroot\n", nil},
		"compiled otherwise": {"FROM golang AS builder\nRUN go build -ldflags=\"-s -w\" -o a . && go test -tags=e2e ./...\nRUN go build -tags fips -ldflags=\"-s -X main.version=${V}\" -o manager ./cmd\nFROM distroless\n", []string{
			"Dockerfile:3: go build -tags fips: the operator is compiled without this; set it in the environment variable GOFLAGS", "Dockerfile:3: go build -ldflags -s -X main.version=${V}: the operator is compiled without this; set it with --go-ldflags",
		}},
		"its program": {"FROM distroless\nCOPY bin/manager /\n", nil},
		"what is set": {"FROM golang AS builder\nENV CGO_ENABLED=0\nFROM distroless\nENV MODE=fast\nENTRYPOINT [\"/manager\", \"--x\"]\nCMD --y\n", []string{
			"Dockerfile:4: ENV MODE=fast: this is not in the image; set it in config/manager/manager.yaml", "Dockerfile:5: ENTRYPOINT [\"/manager\", \"--x\"]:", "Dockerfile:6: CMD --y:",
		}},
		"nothing set":                    {"FROM distroless\nENTRYPOINT [\"/op\"]\n", nil},
		"a command":                      {"FROM distroless\nCMD [\"/op\"]\n", nil},
		"one stage":                      {"FROM golang\nCOPY . .\nRUN go build -o /op ./cmd\n", nil},
		"one stage that sets a variable": {"FROM golang\nENV CGO_ENABLED=0\nRUN go build -o /op ./cmd\nENV MODE=fast\n", []string{"Dockerfile:4: ENV MODE=fast:"}},
		"another program":                {"FROM distroless\nENTRYPOINT [\"/tini\", \"--\", \"/manager\"]\n", []string{"Dockerfile:2: ENTRYPOINT [\"/tini\", \"--\", \"/manager\"]: the image starts /manager"}},
		"another signal":                 {"FROM distroless\nSTOPSIGNAL SIGTERM\nSTOPSIGNAL SIGINT\n", []string{"Dockerfile:3: STOPSIGNAL SIGINT: containers of the image get SIGTERM"}},
		"documents":                      {"FROM golang AS builder\nRUN <<EOF\nset -e\ngo build -o op ./cmd\nEOF\nFROM distroless\nCOPY --from=builder /w/op /\nCOPY <<EOF /etc/motd\nUSER 1\nEOF\n", []string{"Dockerfile:8: COPY <<EOF /etc/motd: the image has only"}},
		"none":                           {"", nil},
	} {
		w, _ := faked(t)
		if err := w.Host.Files.WriteFile(filepath.Join(w.Dir, "Dockerfile"), []byte(tc.dockerfile), 0o644); err != nil {
			t.Fatal(err)
		}
		var got []string
		build(t, w, BuildOptions{Base: Scratch, Labels: []string{"a=c"}, Warn: func(s string) { got = append(got, s) }})
		if len(got) != len(tc.want) || !slices.EqualFunc(got, tc.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		w.Env["GOFLAGS"], got = "-tags=fips", nil
		build(t, w, BuildOptions{Base: Scratch, GoLDFlags: "-X main.version=v1", Labels: []string{"a=c"}, Warn: func(s string) { got = append(got, s) }})
		if slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "go build -") }) {
			t.Errorf("%s: %q, although both are given", name, got)
		}
	}
}
