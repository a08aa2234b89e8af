package cmd_test

import (
	"go/format"
	"io/fs"
	"maps"
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

// linkedScaffolds are the trees that are built, vetted and generated again, and
// the packages of each whose tests are linked and run: together they have every
// test. The others are type-checked. Where MYSDK_NIGHTLY is set, all are built,
// and all of their tests run.
var linkedScaffolds = map[string]string{
	"controller-only":    "./internal/controller/...",
	"webhook-conversion": "./api/... ./internal/storageversion/...",
	"webhook-olm":        "./internal/...",
	"webhook-self":       "./...",
}

// TestScaffoldsBuild does to every golden tree what its user will do next:
// build, vet, format, tidy, build every kustomization and run the tests.
// Nothing may be downloaded that mysdk itself does not need, and nothing may
// be left to change.
func TestScaffoldsBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles every scaffold and runs its tests against the control plane")
	}
	var others []string
	for _, dir := range goldenCases(t) {
		packages, linked := linkedScaffolds[filepath.Base(dir)]
		switch {
		case hosttest.Nightly():
			packages = "./..."
		case !linked:
			others = append(others, dir)
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			w := hosttest.New(t)
			// Where the path has a space, a script that forgets to quote shows.
			w.Dir = filepath.Join(w.Dir, "my projects", filepath.Base(dir))
			if err := os.CopyFS(w.Dir, os.DirFS(filepath.Join(dir, "want"))); err != nil {
				t.Fatal(err)
			}
			w.Env["GOFLAGS"], w.Env["CGO_ENABLED"] = os.Getenv("GOFLAGS")+" -mod=readonly", "0"
			if bin := os.Getenv("MYSDK_CLUSTER_BIN"); bin != "" {
				w.Env["MYSDK_CLUSTER_BIN"] = bin
			}
			run(t, w, "go", "vet", "./...") // compiles what it looks at, tests included
			if out := run(t, w, "gofmt", "-l", "."); out != "" {
				t.Errorf("not formatted: %s", out)
			}
			w.Env["GOFLAGS"] = os.Getenv("GOFLAGS")
			run(t, w, "go", "mod", "tidy", "-diff")
			buildKustomizations(t, w)
			if hosttest.Nightly() {
				run(t, w, "go", "build", "./...")
			}
			test := append([]string{"test", "-count=1"}, strings.Fields(packages)...)
			for _, args := range [][]string{{"generate", "--check"}, test} {
				if code := root.Main(t.Context(), w.Host, args); code != 0 {
					t.Errorf("mysdk %s: exit code %d\n%s%s", strings.Join(args, " "), code, w.Out, w.Err)
				}
			}
		})
	}
	checkScaffolds(t, others)
}

// checkScaffolds holds of trees what can be seen without a compiler: that their
// types are right, that they are formatted, and that their kustomizations build.
// Their modules are tidy as those of the linked trees are.
func checkScaffolds(t *testing.T, dirs []string) {
	t.Helper()
	linked, imports := map[string]goTree{}, map[string]bool{}
	for name := range linkedScaffolds {
		linked[name] = readGoTree(t, filepath.Join("../testdata/golden", name))
	}
	trees := map[string]goTree{}
	for _, dir := range dirs {
		trees[dir] = readGoTree(t, dir)
		for _, pkg := range trees[dir].imports {
			imports[pkg] = true
		}
	}
	if len(trees) == 0 {
		return
	}
	from := hosttest.New(t)
	from.Env["CGO_ENABLED"] = "0"
	checker, err := hosttest.NewTypeChecker(trees[dirs[0]].dir, from.Environ(), slices.Sorted(maps.Keys(imports)))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			tree := trees[dir]
			if n, err := checker.Check(tree.module, tree.files); n < 4 || err != nil {
				t.Errorf("%d packages: %v", n, err)
			}
			for name, text := range tree.files {
				if !strings.HasSuffix(name, ".go") {
					continue
				}
				if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
					t.Errorf("%s is not formatted: %v", name, err)
				}
			}
			w := hosttest.New(t)
			w.Dir = tree.dir
			buildKustomizations(t, w)
			isTidy(t, tree, linked)
		})
	}
}

// goTree is a golden tree as the go command sees it.
type goTree struct {
	dir, module, requires string
	imports               []string
	files                 map[string]string
}

func readGoTree(t *testing.T, golden string) goTree {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(golden, "want"))
	if err != nil {
		t.Fatal(err)
	}
	files := hosttest.Snapshot(t, dir)
	first, requires, _ := strings.Cut(files["go.mod"], "\n")
	module := strings.TrimPrefix(first, "module ")
	imports, err := hosttest.GoImports(module, files)
	if err != nil {
		t.Fatal(err)
	}
	return goTree{dir, module, requires + files["go.sum"], imports, files}
}

// isTidy compares with linked trees, which are tidy: with the same go.mod and
// go.sum, a tree is, too, if it imports no less than one of them and no more than
// another.
func isTidy(t *testing.T, tree goTree, linked map[string]goTree) {
	t.Helper()
	least, most := false, false
	for _, l := range linked {
		least = least || l.requires == tree.requires && len(missing(l.imports, tree.imports)) == 0
		most = most || l.requires == tree.requires && len(missing(tree.imports, l.imports)) == 0
	}
	if !least || !most {
		t.Errorf("no linked scaffold has the same go.mod and go.sum, and its imports: at least %v, at most %v", least, most)
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
		all = append(all, testNames(t, filepath.Join(dir, "want"))...)
		if packages, ok := linkedScaffolds[filepath.Base(dir)]; ok {
			for pattern := range strings.FieldsSeq(packages) {
				linked = append(linked, testNames(t, filepath.Join(dir, "want", strings.TrimSuffix(pattern, "...")))...)
			}
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
