package image

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// compiled is a project that the real go command builds.
func compiled(t testing.TB) *hosttest.World {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles with the go command")
	}
	return project(t)
}

// TestReproducible: another directory, another cache of builds, another time,
// processors of another level, and the same digest; other source, and another one.
func TestReproducible(t *testing.T) {
	o := BuildOptions{Title: "tiny", Base: Scratch, Platforms: []string{"linux/amd64", "linux/arm64"}}
	first := build(t, compiled(t), o)
	w := compiled(t)
	w.Env["GOAMD64"], w.Env["GOARM64"] = "v3", "v9.0"
	if second := build(t, w, o); second.Digest != first.Digest {
		t.Errorf("%s, then %s", first.Digest, second.Digest)
	}
	write(t, filepath.Join(w.Dir, "cmd", "main.go"), strings.Replace(tinyMain, "Usage", "Help", 1))
	if third := build(t, w, o); third.Digest == first.Digest {
		t.Error("other source gives the same image")
	}
}

// TestStarts runs the operator as it comes out of the layers, and looks at
// what kind of program each platform has.
func TestStarts(t *testing.T) {
	w := compiled(t)
	built := build(t, w, BuildOptions{Base: Scratch, Platforms: []string{"linux/amd64", "linux/arm64"}})
	c := stored(t, w, "")
	machines := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
	for _, p := range built.Platforms {
		manager := extract(t, must(c.index.Image(must(v1.NewHash(p.Digest))(t)))(t))
		f := must(elf.Open(manager))(t)
		if f.Machine != machines[p.Platform] || f.Section(".interp") != nil {
			t.Errorf("%s: the program is for %s, and needs a loader: %t", p.Platform, f.Machine, f.Section(".interp") != nil)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if p.Platform != runtime.GOOS+"/"+runtime.GOARCH {
			continue
		}
		out, err := exec.Command(manager, "--help").CombinedOutput()
		if err != nil || string(out) != "Usage of manager\n" {
			t.Errorf("%s: %v\n%s", p.Platform, err, out)
		}
	}
}

// extract writes the operator of an image to a file, with its mode.
func extract(t *testing.T, img v1.Image) string {
	t.Helper()
	headers, contents := files(t, img)
	path := filepath.Join(t.TempDir(), "manager")
	if err := os.WriteFile(path, []byte(contents["manager"]), os.FileMode(headers["manager"].Mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUserSettings: neither CGO_ENABLED=1 nor a GOOS of the user's own makes a
// program that cannot run in the image, and a replaced module is in the SBOM.
func TestUserSettings(t *testing.T) {
	w := compiled(t)
	w.Env["CGO_ENABLED"], w.Env["GOOS"], w.Env["GOFLAGS"] = "1", "windows", "-ldflags=-X=main.x=1 -buildvcs=false"
	write(t, filepath.Join(w.Dir, "go.mod"), "module example.com/tiny\n\ngo 1.26\n\nrequire example.com/dep v1.2.3\n\nreplace example.com/dep => ./dep\n")
	write(t, filepath.Join(w.Dir, "dep", "go.mod"), "module example.com/dep\n\ngo 1.26\n")
	write(t, filepath.Join(w.Dir, "dep", "dep.go"), "package dep\n\nconst Name = \"dep\"\n")
	write(t, filepath.Join(w.Dir, "cmd", "dep.go"), "package main\n\nimport \"example.com/dep\"\n\nvar _ = dep.Name\n")
	build(t, w, BuildOptions{Base: Scratch, Platforms: []string{"linux/" + runtime.GOARCH}})
	c := stored(t, w, "")
	f := must(elf.Open(extract(t, c.image)))(t)
	defer f.Close()
	if f.Section(".interp") != nil || f.Section(".symtab") != nil {
		t.Error("the program needs a loader, or has its symbols")
	}
	if text := sbomText(t, c.sboms[0]); !strings.Contains(text, `"pkg:golang/example.com/dep"`) || !strings.Contains(text, "compiled from a directory") {
		t.Errorf("the SBOM:\n%s", text)
	}
}

// TestRevision: the commit that the go command records is a label.
func TestRevision(t *testing.T) {
	w := compiled(t)
	w.Env["GOFLAGS"] = "-buildvcs=true"
	git := func(args ...string) string {
		c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"}, args...)...)
		c.Dir, c.Env = w.Dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Skipf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	build(t, w, BuildOptions{Base: Scratch})
	labels := must(stored(t, w, "").image.ConfigFile())(t).Config.Labels
	if labels["org.opencontainers.image.revision"] != git("rev-parse", "HEAD") || labels["org.opencontainers.image.version"] == "" {
		t.Errorf("labels %v", labels)
	}
}

// TestCompilerSpeaks: a mistake is told in the compiler's own words.
func TestCompilerSpeaks(t *testing.T) {
	w := compiled(t)
	write(t, filepath.Join(w.Dir, "cmd", "main.go"), "package main\n\nfunc main() { undefined() }\n")
	_, err := Build(t.Context(), w.Host, BuildOptions{Dir: w.Dir, Base: Scratch})
	if err == nil || !strings.Contains(err.Error(), "cmd/main.go:3:15: undefined: undefined") {
		t.Errorf("%v", err)
	}
	write(t, filepath.Join(w.Dir, "cmd", "main.go"), "package lib\n")
	if _, err = Build(t.Context(), w.Host, BuildOptions{Dir: w.Dir, Base: Scratch}); err == nil {
		t.Error("a package that is no program was built")
	}
}

// BenchmarkImageUnchanged is an image of a project that has not changed: what
// mysdk adds to a go build that finds nothing to do.
func BenchmarkImageUnchanged(b *testing.B) {
	w := project(b)
	w.Env["CGO_ENABLED"] = "0"
	o := BuildOptions{Dir: w.Dir, Base: Scratch}
	build(b, w, o)
	for b.Loop() {
		if _, err := Build(b.Context(), w.Host, o); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGoBuildUnchanged is the go build within BenchmarkImageUnchanged.
func BenchmarkGoBuildUnchanged(b *testing.B) {
	w := project(b)
	w.Env["CGO_ENABLED"] = "0"
	out := filepath.Join(b.TempDir(), "manager")
	for b.Loop() {
		err := host.Run(b.Context(), w.Exec, host.Cmd{
			Name: "go", Args: []string{"build", "-trimpath", "-ldflags=-s -w", "-o", out, "./cmd"}, Dir: w.Dir, Env: w.Environ(),
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLayer compresses a program of an operator's size: itself, 60 MB.
func BenchmarkLayer(b *testing.B) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		b.Skip("there is no /proc here")
	}
	program := filepath.Join(b.TempDir(), "manager")
	for len(self) < 60_000_000 {
		self = append(self, self...)
	}
	if err := os.WriteFile(program, self[:60_000_000], 0o755); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(60_000_000)
	b.ResetTimer()
	for b.Loop() {
		if _, err := writeLayer(filepath.Join(b.TempDir(), "layer"), time.Unix(0, 0), []entry{{name: "manager", mode: 0o755, file: program}}); err != nil {
			b.Fatal(err)
		}
	}
}
