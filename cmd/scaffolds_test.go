package cmd_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/mysdk/cmd"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kustomize"
)

// TestScaffoldsBuild does to every golden tree what its user will do next:
// build, vet, format, tidy, build every kustomization and run the tests.
// Nothing may be downloaded that mysdk itself does not need, and nothing may
// be left to change.
func TestScaffoldsBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles every scaffold and runs its tests against the control plane")
	}
	for _, dir := range goldenCases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			w := hosttest.New(t)
			// Where the path has a space, a script that forgets to quote shows.
			w.Dir = filepath.Join(w.Dir, "my projects", filepath.Base(dir))
			if err := os.CopyFS(w.Dir, os.DirFS(filepath.Join(dir, "want"))); err != nil {
				t.Fatal(err)
			}
			w.Env["GOFLAGS"], w.Env["CGO_ENABLED"] = "-mod=readonly", "0"
			if bin := os.Getenv("MYSDK_CLUSTER_BIN"); bin != "" {
				w.Env["MYSDK_CLUSTER_BIN"] = bin
			}
			run(t, w, "go", "build", "./...")
			run(t, w, "go", "vet", "./...")
			if out := run(t, w, "gofmt", "-l", "."); out != "" {
				t.Errorf("not formatted: %s", out)
			}
			delete(w.Env, "GOFLAGS")
			run(t, w, "go", "mod", "tidy", "-diff")
			buildKustomizations(t, w)
			if code := cmd.Main(t.Context(), w.Host, []string{"generate", "--check"}); code != 0 {
				t.Errorf("generate --check: exit code %d\n%s%s", code, w.Out, w.Err)
			}
			if code := cmd.Main(t.Context(), w.Host, []string{"test"}); code != 0 {
				t.Errorf("mysdk test: exit code %d\n%s%s", code, w.Out, w.Err)
			}
		})
	}
}

// run runs a program in w's directory and environment and returns its output.
func run(t *testing.T, w *hosttest.World, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = w.Dir, w.Environ()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// buildKustomizations builds every kustomization that stands on its own.
func buildKustomizations(t *testing.T, w *hosttest.World) {
	t.Helper()
	built := 0
	err := filepath.WalkDir(filepath.Join(w.Dir, "config"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "kustomization.yaml" {
			return err
		}
		rel, err := filepath.Rel(w.Dir, filepath.Dir(p))
		if err != nil {
			return err
		}
		built++
		src := kustomize.Source{Dir: w.Dir, Overlay: fileset.Set{}, Files: host.OSFiles{}}
		if _, err := kustomize.Build(t.Context(), src, filepath.ToSlash(rel)); err != nil {
			t.Errorf("kustomize build %s: %v", rel, err)
		}
		return nil
	})
	if err != nil || built < 5 {
		t.Errorf("built %d kustomizations: %v", built, err)
	}
}
