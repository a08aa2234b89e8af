package cluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// tinyModule writes a module of our name whose mysdk-cluster does nothing.
func tinyModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "go.mod"), "module "+modulePath+"\n\ngo 1.26\n")
	writeFile(t, filepath.Join(dir, "cmd", "mysdk-cluster", "main.go"), "package main\n\nfunc main() {}\n")
	return dir
}

// tinyBinary compiles it, so that it carries what the go command records.
func tinyBinary(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the Go compiler")
	}
	path := filepath.Join(t.TempDir(), exeName())
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/mysdk-cluster")
	cmd.Dir = tinyModule(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, to, string(data))
	if err := os.Chmod(to, 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestFindPrefersTheBinaryBesideMysdk(t *testing.T) {
	binary := tinyBinary(t)
	pathBin := filepath.Join(t.TempDir(), exeName())
	copyFile(t, binary, pathBin)
	h := testHost(t, &fakeExec{paths: map[string]string{exeName(): pathBin}}, nil)
	beside := filepath.Join(filepath.Dir(h.Executable), exeName())
	f := &finder{host: h, version: state.Devel, progress: func(string) {}}

	if got, err := f.find(t.Context()); err != nil || got != pathBin {
		t.Errorf("find() without one beside mysdk = %s, %v, want %s", got, err, pathBin)
	}
	copyFile(t, binary, beside)
	if got, err := f.find(t.Context()); err != nil || got != beside {
		t.Errorf("find() = %s, %v, want %s", got, err, beside)
	}
}

func TestFindFollowsTheLinkToMysdk(t *testing.T) {
	binary := tinyBinary(t)
	h := testHost(t, &fakeExec{}, nil)
	real := filepath.Join(h.Dir, "opt", "mysdk")
	writeFile(t, real, "")
	copyFile(t, binary, filepath.Join(h.Dir, "opt", exeName()))
	if err := os.Mkdir(filepath.Dir(h.Executable), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, h.Executable); err != nil {
		t.Skip("no links here:", err)
	}
	f := &finder{host: h, version: state.Devel, progress: func(string) {}}
	got, err := f.find(t.Context())
	if err != nil || filepath.Base(filepath.Dir(got)) != "opt" {
		t.Errorf("find() = %s, %v, want the one beside the link's target", got, err)
	}
}

func TestFindNamesWhatDoesNotFit(t *testing.T) {
	other := filepath.Join(t.TempDir(), exeName())
	writeFile(t, other, "#!/bin/sh\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ path, want string }{
		"no Go program":   {other, "is not a Go program"},
		"another program": {self, "is another program"},
		"another version": {"", "is of version (devel), and this is mysdk v0.0.0-20260102030405-0123456789ab"},
		"none":            {filepath.Join(t.TempDir(), "none"), "it is not beside mysdk"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.path == "" {
				tc.path = tinyBinary(t)
			}
			f := &finder{
				host:     testHost(t, &fakeExec{paths: map[string]string{exeName(): tc.path}}, nil),
				version:  "v0.0.0-20260102030405-0123456789ab",
				progress: func(string) {},
			}
			_, err := f.find(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(clierr.HintOf(err), SourceEnv) {
				t.Errorf("find() = %v, hint %q, want an error with %q", err, clierr.HintOf(err), tc.want)
			}
		})
	}
}

func TestFindTakesTheBinaryThatIsNamed(t *testing.T) {
	named := filepath.Join(t.TempDir(), "any")
	h := testHost(t, &fakeExec{}, map[string]string{BinaryEnv: named})
	if _, err := Binary(t.Context(), h, func(string) {}); err == nil || !strings.Contains(err.Error(), BinaryEnv) {
		t.Errorf("Binary() = %v, want an error that names %s", err, BinaryEnv)
	}
	writeFile(t, named, "")
	if got, err := Binary(t.Context(), h, func(string) {}); err != nil || got != named {
		t.Errorf("Binary() = %s, %v, want %s", got, err, named)
	}
}

func TestIsRelease(t *testing.T) {
	for v, want := range map[string]bool{
		"v1.2.3": true, "v0.1.0-rc.1": true, "(devel)": false, "": false, "v1.2": false, "latest": false,
		"v0.0.0-20260102030405-0123456789ab": false, "v1.2.4-0.20260102030405-0123456789ab": false,
		"v1.2.3+dirty": false, "v0.0.0-20260102030405-0123456789ab+dirty": false, "v1.2.3 -x": false,
	} {
		if got := isRelease(v); got != want {
			t.Errorf("isRelease(%q) = %v, want %v", v, got, want)
		}
	}
}

func TestCheckout(t *testing.T) {
	module, other := tinyModule(t), t.TempDir()
	writeFile(t, filepath.Join(other, "go.mod"), "module example.com/other\n")
	tests := map[string]struct {
		env, source, want string
		fails             bool
	}{
		"compiled there":      {"", module, module, false},
		"named":               {module, other, module, false},
		"named, is another":   {other, module, "", true},
		"source is gone":      {"", filepath.Join(other, "gone"), "", false},
		"source is another":   {"", other, "", false},
		"built with trimpath": {"", modulePath, "", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := &finder{host: testHost(t, &fakeExec{}, map[string]string{SourceEnv: tc.env}), source: tc.source}
			got, err := f.checkout()
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("checkout() = %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestSourceOfThisPackage(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if root := sourceOf(filepath.Join(dir, "binary.go")); !isCheckout(root) {
		t.Errorf("%s is not our module's root", root)
	}
}

func TestBuildFromSource(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the Go compiler")
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	h := testHost(t, host.OSExec{}, map[string]string{SourceEnv: tinyModule(t), "GOCACHE": strings.TrimSpace(string(cache))})
	var steps []string
	f := &finder{host: h, version: "v0.0.0-20260102030405-0123456789ab", progress: func(s string) { steps = append(steps, s) }}
	path, err := f.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if cache, err := h.CacheDir(); err != nil || !strings.HasPrefix(path, filepath.Join(cache, "bin", f.version)) {
		t.Errorf("built %s, which is not in the cache %s, %v", path, cache, err)
	}
	if out, err := exec.Command(path).CombinedOutput(); err != nil {
		t.Errorf("it does not run: %v\n%s", err, out)
	}
	if len(steps) < 2 || !strings.Contains(steps[0], "minutes") || !strings.HasPrefix(steps[len(steps)-1], "built") {
		t.Errorf("progress = %q", steps)
	}
}

// fakeGo is a go command that installs binary, with what it printed.
func fakeGo(t *testing.T, binary, output string, result error) *fakeExec {
	return &fakeExec{
		paths: map[string]string{"go": "/usr/bin/go"},
		run: func(c host.Cmd) error {
			if _, err := c.Stderr.Write([]byte(output)); err != nil {
				t.Error(err)
			}
			for _, e := range c.Env {
				if dir, ok := strings.CutPrefix(e, "GOBIN="); ok && result == nil {
					copyFile(t, binary, filepath.Join(dir, exeName()))
				}
			}
			return result
		},
	}
}

func TestReleaseIsBuiltByItsVersionOnce(t *testing.T) {
	x := fakeGo(t, tinyBinary(t), "k8s.io/api\n", nil)
	f := &finder{host: testHost(t, x, map[string]string{"CGO_ENABLED": ""}), version: "v1.2.3", progress: func(string) {}}
	path, err := f.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(x.ran[0].Env, "CGO_ENABLED=0") {
		t.Error("with cgo it shares no package with the operators that are built without")
	}
	if len(x.ran) != 1 || x.ran[0].Args[len(x.ran[0].Args)-1] != packagePath+"@v1.2.3" {
		t.Fatalf("ran %v", x.ran)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 { // the binary and the lock
		t.Errorf("the cache holds %v, %v", entries, err)
	}
	// What other versions have built goes when it has not been used for long.
	old := filepath.Join(filepath.Dir(filepath.Dir(path)), "v1.0.0", exeName())
	recent := filepath.Join(filepath.Dir(filepath.Dir(path)), "v1.1.0", exeName())
	linked := filepath.Join(filepath.Dir(filepath.Dir(path)), "v1.0.1", exeName())
	for name, age := range map[string]time.Duration{old: 2 * unused, linked: 2 * unused, recent: 0} {
		if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		copyFile(t, path, name)
		at := f.host.Now().Add(-age)
		if err := os.Chtimes(filepath.Dir(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	assets := filepath.Join(filepath.Dir(path), "..", "..", "assets", "etcd")
	if err := os.Mkdir(filepath.Dir(assets), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(linked, assets); err != nil {
		linked = recent // there it is no link
	}
	// The fake binary says (devel), so it stands for one of another version:
	// that is not used but recreated.
	if _, err := f.build(t.Context()); err != nil || len(x.ran) != 2 {
		t.Errorf("build() = %v after %d runs, want a second run", err, len(x.ran))
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("a binary that nobody uses: %v", err)
	}
	for _, kept := range []string{recent, linked} {
		if _, err := os.Stat(kept); err != nil {
			t.Error(err)
		}
	}
	if d, ok := f.host.CacheDir(); ok != nil || !strings.HasPrefix(path, d) {
		t.Errorf("path = %s", path)
	}
}

func TestFailedBuildShowsItsErrorsOnly(t *testing.T) {
	x := fakeGo(t, "", "k8s.io/api\nk8s.io/client-go\n# example\nx.go:1:2: undefined: y", exitCode(1))
	f := &finder{host: testHost(t, x, nil), version: "v1.2.3", progress: func(string) {}}
	_, err := f.build(t.Context())
	if err == nil || clierr.HintOf(err) == "" {
		t.Fatalf("build() = %v, hint %q", err, clierr.HintOf(err))
	}
	if text := err.Error(); !strings.Contains(text, "undefined: y") || strings.Contains(text, "k8s.io/api") {
		t.Errorf("build() = %v", err)
	}
	if !errors.Is(err, exitCode(1)) {
		t.Errorf("the go command's end is not in %v", err)
	}
}

func TestBuildWithoutGo(t *testing.T) {
	f := &finder{host: testHost(t, &fakeExec{}, nil), version: "v1.2.3", progress: func(string) {}}
	if _, err := f.build(t.Context()); err == nil || !strings.Contains(clierr.HintOf(err), "go.dev") {
		t.Errorf("build() = %v, hint %q", err, clierr.HintOf(err))
	}
}

func TestCacheKey(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3-", "(devel)": "devel-", "v1.2.3+dirty": "v1.2.3+dirty-", "../x": "x-",
	} {
		if got := cacheKey(version); !strings.HasPrefix(got, want) || strings.ContainsAny(got, `/\()`) {
			t.Errorf("cacheKey(%q) = %s, want %s…", version, got, want)
		}
	}
}

func TestBuildOutput(t *testing.T) {
	o := &buildOutput{}
	for _, p := range []string{"a/b\nc", "/d\n", "# x\nerror in", " y\nlast"} {
		if n, err := o.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", p, n, err)
		}
	}
	if got, _ := o.read(); got != 2 {
		t.Errorf("read() = %d packages, want 2", got)
	}
	if got, want := o.errors(), "\n  # x\n  error in y\n  last"; got != want {
		t.Errorf("errors() = %q, want %q", got, want)
	}
}
