package cmd_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host/hosttest"
)

// binary builds mysdk once for a benchmark of whole processes.
func binary(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "mysdk")
	build := exec.Command("go", "build", "-o", bin, "./mysdk")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// bench runs args in a new copy of base at every turn; only the command counts.
func bench(b *testing.B, base *hosttest.World, args string) {
	b.Helper()
	bin := binary(b)
	for b.Loop() {
		b.StopTimer()
		w := benchCopy(b, base)
		b.StartTimer()
		c := exec.Command(bin, strings.Fields(args)...)
		c.Dir, c.Env = w.Dir, w.Environ()
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}

// benchCopy is base's project in another directory, with base's cache.
func benchCopy(b *testing.B, base *hosttest.World) *hosttest.World {
	b.Helper()
	w := hosttest.New(b)
	w.Env["MYSDK_CACHE_DIR"] = base.Env["MYSDK_CACHE_DIR"]
	w.Dir = filepath.Join(w.Dir, "memcached-operator")
	if err := os.CopyFS(w.Dir, os.DirFS(base.Dir)); err != nil {
		b.Fatal(err)
	}
	return w
}

func benchBase(b *testing.B, commands ...string) *hosttest.World {
	b.Helper()
	w := hosttest.New(b)
	w.Dir = filepath.Join(w.Dir, "memcached-operator")
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		b.Fatal(err)
	}
	for _, c := range commands {
		if code := root.Main(context.Background(), w.Host, strings.Fields(c)); code != 0 {
			b.Fatalf("mysdk %s: %s", c, w.Err)
		}
	}
	return w
}

const (
	initCommand   = "init --domain example.com"
	createCommand = "create api --group cache --kind Memcached"
)

// BenchmarkHelp is the start-up time of the binary.
func BenchmarkHelp(b *testing.B) { bench(b, benchBase(b), "--help") }

// BenchmarkInit is a new project, files and all.
func BenchmarkInit(b *testing.B) { bench(b, benchBase(b), initCommand) }

// BenchmarkCreateAPI is a new kind, with generation.
func BenchmarkCreateAPI(b *testing.B) { bench(b, benchBase(b, initCommand), createCommand) }

// BenchmarkGenerate renders everything again: the project is another directory
// each time, for which no fingerprint is kept.
func BenchmarkGenerate(b *testing.B) { bench(b, benchBase(b, initCommand, createCommand), "generate") }

// BenchmarkGenerateUnchanged is the second run, which finds nothing to do.
func BenchmarkGenerateUnchanged(b *testing.B) {
	base := benchBase(b, initCommand, createCommand, "generate")
	bin := binary(b)
	for b.Loop() {
		c := exec.Command(bin, "generate")
		c.Dir, c.Env = base.Dir, base.Environ()
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}

// BenchmarkTestStart is what a test suite costs before and after its tests:
// compiling what changed, etcd and kube-apiserver up, and both down again.
func BenchmarkTestStart(b *testing.B) {
	base := benchBase(b, initCommand, createCommand)
	base.Env["CGO_ENABLED"] = "0"
	if bin := os.Getenv("MYSDK_CLUSTER_BIN"); bin != "" {
		base.Env["MYSDK_CLUSTER_BIN"] = bin
	}
	bin := binary(b)
	for b.Loop() {
		c := exec.Command(bin, "test", "./internal/controller", "-count=1", "-run", "TestNothing")
		c.Dir, c.Env = base.Dir, base.Environ()
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}
