package cmd_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kustomize"
)

// linkedScaffolds are the trees whose tests are linked and run, and whose code is
// generated again: together they have every test. The compiler sees the others,
// too, and TestGolden generates theirs. Where MYSDK_NIGHTLY is set, the tests of
// all are run and their programs linked.
var linkedScaffolds = []string{"controller-only", "webhook-conversion", "webhook-olm", "webhook-self"}

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
			t.Parallel()
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
			run(t, w, "go", "vet", "./...") // compiles what it looks at, tests included
			if out := run(t, w, "gofmt", "-l", "."); out != "" {
				t.Errorf("not formatted: %s", out)
			}
			delete(w.Env, "GOFLAGS")
			run(t, w, "go", "mod", "tidy", "-diff")
			buildKustomizations(t, w)
			switch {
			case nightly():
				run(t, w, "go", "build", "./...")
			case !slices.Contains(linkedScaffolds, filepath.Base(dir)):
				return
			}
			for _, args := range [][]string{{"generate", "--check"}, {"test"}} {
				if code := root.Main(t.Context(), w.Host, args); code != 0 {
					t.Errorf("mysdk %s: exit code %d\n%s%s", strings.Join(args, " "), code, w.Out, w.Err)
				}
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

// TestLinkedScaffolds makes sure that the linked trees have every test that the
// others have, apart from names.
func TestLinkedScaffolds(t *testing.T) {
	var linked, all []string
	for _, dir := range goldenCases(t) {
		tests := testNames(t, filepath.Join(dir, "want"))
		all = append(all, tests...)
		if slices.Contains(linkedScaffolds, filepath.Base(dir)) {
			linked = append(linked, tests...)
		}
	}
	for _, name := range all {
		if !slices.Contains(linked, name) {
			t.Errorf("no linked scaffold has %s", name)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func Test\w+_(\w+)\(`)

// testNames are the tests below dir without the names of their kinds.
func testNames(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		data, err := os.ReadFile(p)
		for _, m := range testFunction.FindAllSubmatch(data, -1) {
			names = append(names, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
