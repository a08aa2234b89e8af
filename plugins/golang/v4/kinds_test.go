package v4

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// kinds are names that Go, Kubernetes, YAML, the libraries or the templates
// use for something else.
var kinds = strings.Fields(`Pod Status Spec Object M Type Interface String Error Scheme Reconciler Controller Deployment Condition
	Test Linux ObjectMeta TypeMeta ListMeta Context Client Manager Builder Handler Event Recorder Predicate Metrics Labels Meta
	Runtime Request Result Options Cache Config Environment Namespace Node Service Secret Time Duration Quantity Map Slice Func Struct
	Package Import Init Main True False Null Yes No On Off Y N Any Byte Int32 Hub Conversion Webhook Validator Defaulter Suite Root Fill
	Lost Group Version Kind Resource Item Names Size Replicas Selector Metadata Finalizer Image Log Setup Admission Ctrl
	Json Cmp Os Equality Unstructured Envtest PriceList A1 MEMCACHED Watch Scale`)

// TestKinds renders a kind of each name, with webhooks and a second version,
// type-checks the code with its tests and reads the samples. Some are in one
// project, where they could get in each other's way. The everyday lane does so
// with one such project.
func TestKinds(t *testing.T) {
	var c *checker
	for some := range slices.Chunk(kinds, 8) {
		if testing.Short() && c != nil {
			break
		}
		p := newTestProject(t)
		p.mustCreateAPI(t, "--group=cache", "--kind=Zone", "--namespaced=false")
		for _, kind := range some {
			p.mustCreateAPI(t, "--group=cache", "--kind="+kind, "--image-container-port=80")
			p.mustCreateAPI(t, "--group=cache", "--version=v1", "--kind="+kind, "--from=v1alpha1")
			p.mustCreateWebhook(t, "--group=cache", "--version=v1", "--kind="+kind, "--defaulting", "--programmatic-validation", "--conversion")
		}
		p.addDeepCopies(t)
		files := p.files(t)
		for _, kind := range some {
			for _, version := range []string{"v1alpha1", "v1"} {
				checkSample(t, files["config/samples/cache_"+version+"_"+strings.ToLower(kind)+".yaml"], version, kind)
			}
		}
		if c == nil {
			c = newChecker(t, files)
		}
		c.files = files
		for _, dir := range []string{"api/v1", "api/v1alpha1", "internal/controller", "internal/webhook/v1", "internal/certs", "cmd"} {
			c.check(t, dir)
		}
	}
}

func checkSample(t *testing.T, text, version, kind string) {
	t.Helper()
	var sample map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &sample); err != nil {
		t.Fatalf("the sample of %s: %v", kind, err)
	}
	if sample["kind"] != kind || sample["apiVersion"] != "cache.example.com/"+version {
		t.Errorf("the sample of %s is of kind %v in %v", kind, sample["kind"], sample["apiVersion"])
	}
}

// checker type-checks the packages of a project in memory. What they import of
// others it reads as the compiler has left it in the go command's cache.
type checker struct {
	files   map[string]string
	set     *token.FileSet
	checked map[string]*types.Package
	others  types.Importer
}

func newChecker(t *testing.T, files map[string]string) *checker {
	t.Helper()
	imports := map[string]bool{}
	for name, text := range files {
		if path.Ext(name) != ".go" {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range tree.Imports {
			if pkg, err := strconv.Unquote(spec.Path.Value); err == nil && !strings.HasPrefix(pkg, "example.com/") {
				imports[pkg] = true
			}
		}
	}
	list := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, slices.Sorted(maps.Keys(imports))...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		pkg, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[pkg] = file
	}
	set := token.NewFileSet()
	return &checker{
		files: files, set: set, checked: map[string]*types.Package{},
		others: importer.ForCompiler(set, "gc", func(pkg string) (io.ReadCloser, error) {
			data, err := os.ReadFile(exports[pkg])
			return io.NopCloser(bytes.NewReader(data)), err
		}),
	}
}

// Import implements types.Importer.
func (c *checker) Import(pkg string) (*types.Package, error) {
	if checked, ok := c.checked[pkg]; ok {
		return checked, nil
	}
	return c.others.Import(pkg)
}

// check checks the package of one directory together with its tests.
func (c *checker) check(t *testing.T, dir string) {
	t.Helper()
	var trees []*ast.File
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		if path.Dir(name) != dir || path.Ext(name) != ".go" {
			continue
		}
		tree, err := parser.ParseFile(c.set, name, c.files[name], parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, tree)
	}
	failed := 0
	config := types.Config{Importer: c, Error: func(err error) {
		if failed++; failed <= 20 {
			t.Error(err)
		}
	}}
	pkg, err := config.Check("example.com/shop/"+dir, c.set, trees, nil)
	if err != nil && failed == 0 || len(trees) == 0 {
		t.Errorf("%s: %d files: %v", dir, len(trees), err)
	}
	c.checked["example.com/shop/"+dir] = pkg
}
