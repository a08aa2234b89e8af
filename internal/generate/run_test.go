package generate

import (
	"context"
	"errors"
	"go/ast"
	"go/build"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
)

// TestControllerToolsVersion holds the version that CRDs name against go.mod.
func TestControllerToolsVersion(t *testing.T) {
	f, err := modfile.Parse("go.mod", []byte(readFile(t, "../../go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(f.Require, func(r *modfile.Require) bool { return r.Mod.Path == "sigs.k8s.io/controller-tools" })
	if i < 0 || f.Require[i].Mod.Version != ControllerToolsVersion {
		t.Errorf("go.mod does not require controller-tools %s", ControllerToolsVersion)
	}
}

func TestAttribute(t *testing.T) {
	tests := map[string]struct{ crd, want string }{
		"none": {"kind: X\n", "kind: X\n"},
		"another version": {
			"metadata:\n  annotations:\n    controller-gen.kubebuilder.io/version: (devel)\n  name: x\n",
			"metadata:\n  annotations:\n    controller-gen.kubebuilder.io/version: " + ControllerToolsVersion + "\n  name: x\n",
		},
		"only the first": {
			"    controller-gen.kubebuilder.io/version: v1\n    controller-gen.kubebuilder.io/version: v1\n",
			"    controller-gen.kubebuilder.io/version: " + ControllerToolsVersion + "\n    controller-gen.kubebuilder.io/version: v1\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(attribute([]byte(tt.crd)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOutputPlaces checks where outputs go, and that none leaves the project.
func TestOutputPlaces(t *testing.T) {
	root := t.TempDir()
	tests := map[string]struct {
		pkg  *loader.Package
		want string // "" for an error
	}{
		"config":      {nil, "config/x/a.yaml"},
		"code":        {&loader.Package{Package: &packages.Package{GoFiles: []string{filepath.Join(root, "api", "v1", "x.go")}}}, "api/v1/a.yaml"},
		"no files":    {&loader.Package{Package: &packages.Package{PkgPath: "p"}}, ""},
		"out of here": {&loader.Package{Package: &packages.Package{GoFiles: []string{filepath.Dir(root) + "/x.go"}}}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := &output{tree: newTree(root, fileset.Set{}), dir: "config/x", files: map[string][]byte{}}
			w, err := o.Open(tt.pkg, "a.yaml")
			if err != nil {
				if tt.want != "" {
					t.Error(err)
				}
				return
			}
			if _, err := io.WriteString(w, "text"); err != nil {
				t.Fatal(err)
			}
			if len(o.files) > 0 {
				t.Error("a file is there before it is closed")
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string][]byte{tt.want: []byte("text")}, o.files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// panicky is a generator that panics.
type panicky struct{}

func (panicky) RegisterMarkers(*markers.Registry) error { return nil }

func (panicky) Generate(g *genall.GenerationContext) error {
	// From within controller-tools, as the real ones do.
	return markers.EachType(nil, g.Roots[0], nil)
}

func TestPanic(t *testing.T) {
	j := job{name: "crds", generator: panicky{}}
	ctx := &genall.GenerationContext{Roots: []*loader.Package{nil}}
	err := j.run(ctx, goEnv{GOVERSION: "go1.99.1"})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"generate crds: panic at collect.go:", "nil pointer", "is built with go1.", "uses go1.99.1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if clierr.HintOf(err) == "" {
		t.Error("no hint")
	}
}

// TestTypeCheckPanic has a package without what the loader gives one.
func TestTypeCheckPanic(t *testing.T) {
	refs := references{{Package: &packages.Package{PkgPath: "example.com/broken", Syntax: []*ast.File{}}}: nil}
	err := checkTypes(refs, goEnv{GOVERSION: "go1.99.1"})
	const want = "generate type-check example.com/broken: panic at loader.go:"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestLevels puts packages above what they refer to, and ends in a cycle.
func TestLevels(t *testing.T) {
	named := func(name string) *loader.Package { return &loader.Package{Package: &packages.Package{PkgPath: name}} }
	a, b, c, d := named("a"), named("b"), named("c"), named("d")
	level := map[*loader.Package]int{}
	for i, ps := range (references{a: {b, c}, b: {c}, c: nil, d: {a}}).levels() {
		for _, p := range ps {
			level[p] = i
		}
	}
	if diff := cmp.Diff([]int{2, 1, 0, 3}, []int{level[a], level[b], level[c], level[d]}); diff != "" {
		t.Error(diff)
	}
	count := 0
	for _, ps := range (references{a: {b}, b: {a}}).levels() {
		count += len(ps)
	}
	if count != 2 {
		t.Errorf("a cycle gives %d packages", count)
	}
}

func TestRunStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := workspace{Options: Options{jobs: []job{{name: "crds", generator: panicky{}}}}, registry: &registry{}}
	_, err := w.runAll(ctx, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestPrefetchIsComplete checks that the loader has nothing left to parse.
func TestPrefetchIsComplete(t *testing.T) {
	leaveToLong(t)
	p := caseProject(t, "types")
	w, err := parse(t.Context(), p.opts)
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.loadTyped(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := parsed(l)
	if _, err := w.runAll(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, parsed(l)); diff != "" || len(before) < 10 {
		t.Errorf("prefetched (-) and parsed in the end (+), %d packages:\n%s", len(before), diff)
	}
}

// parsed names the packages that have syntax.
func parsed(l *loaded) []string {
	var out []string
	seen := map[*loader.Package]bool{}
	var visit func(*loader.Package)
	visit = func(p *loader.Package) {
		if seen[p] {
			return
		}
		seen[p] = true
		if p.Syntax != nil {
			out = append(out, p.PkgPath)
		}
		for _, i := range p.Imports() {
			visit(i)
		}
	}
	for _, p := range l.typed {
		visit(p)
	}
	slices.Sort(out)
	return out
}

func TestGoVersions(t *testing.T) {
	tests := map[string]int{"go1.26.3": 26, "go1.9": 9, "go1.27rc1": 27, "go1.27-abc": 27, "devel go1.28": 0, "": 0, "go1.": 0}
	for version, want := range tests {
		if got := goMinor(version); got != want {
			t.Errorf("%q: %d, want %d", version, got, want)
		}
	}
}

func TestBuildContext(t *testing.T) {
	c := goEnv{GOVERSION: "go1.5", GOOS: "plan9", GOARCH: "arm", CGO_ENABLED: "0"}.buildContext(newTree(t.TempDir(), fileset.Set{}))
	if diff := cmp.Diff([]string{"go1.1", "go1.2", "go1.3", "go1.4", "go1.5"}, c.ReleaseTags); diff != "" {
		t.Error(diff)
	}
	if c.GOOS != "plan9" || c.GOARCH != "arm" || c.CgoEnabled || !slices.Contains(c.BuildTags, autogenerated) {
		t.Errorf("context %+v", c)
	}
	if got := (goEnv{GOVERSION: "devel"}).buildContext(newTree(t.TempDir(), fileset.Set{})).ReleaseTags; len(got) != len(build.Default.ReleaseTags) {
		t.Errorf("a development version has the tags %v", got)
	}
}

// TestNewerGo gives the hint that fits when dependencies do not parse.
func TestNewerGo(t *testing.T) {
	found := []problem{{file: filepath.Join(t.TempDir(), "std.go"), line: 1, msg: "bad"}}
	tests := map[string]struct {
		version string
		found   []problem
		newer   bool
	}{
		"same":                {"go1.20", found, false},
		"newer":               {"go1.99", found, true},
		"newer, but our code": {"go1.99", []problem{{file: "api/x.go", line: 1, msg: "bad"}}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			hint := clierr.HintOf(workspace{env: goEnv{GOVERSION: tt.version}}.sourceError(tt.found, "correct it"))
			if got := strings.Contains(hint, "newer"); got != tt.newer {
				t.Errorf("hint %q", hint)
			}
		})
	}
}
