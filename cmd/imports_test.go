package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/example/mysdk/"

// quarantine says which of our packages may import a library. A name ending in
// a slash stands for everything below it, a package of ours for itself, too.
var quarantine = map[string][]string{
	"sigs.k8s.io/kubebuilder/":       {"internal/project", "plugins/golang/v4", "internal/cli/"},
	"sigs.k8s.io/controller-tools/":  {"internal/generate", "internal/generate/arguments"},
	"k8s.io/kube-openapi/":           {"internal/openapi", "internal/controlplane/"},
	"k8s.io/gengo/":                  {"internal/openapi"},
	"helm.sh/helm/":                  {}, // tests only: it would make mysdk a third bigger
	"github.com/prometheus/":         {}, // tests only: they read and evaluate what the dashboards and alerts ask
	"sigs.k8s.io/kustomize/":         {"internal/kustomize"},
	"k8s.io/client-go/":              {"internal/kube", "internal/cluster", "internal/controlplane/", "cmd/mysdk-cluster"}, // of it, internal/cluster takes clientcmd
	"k8s.io/kubernetes/":             {"internal/controlplane/"},
	"k8s.io/kubectl/":                {"cmd/mysdk-cluster", "internal/translations"},
	"go.etcd.io/etcd/":               {"internal/controlplane/"},
	"sigs.k8s.io/kwok/":              {"internal/controlplane/"},
	"sigs.k8s.io/kube-api-linter/":   {"internal/lint"},
	"sigs.k8s.io/crdify/":            {"internal/bundle/validate/engine"},
	"github.com/gofrs/flock":         {"internal/filelock"},
	"github.com/spf13/cobra":         {"internal/cli/", "cmd/mysdk-cluster", "internal/extras"}, // kubectl is made of it
	"github.com/spf13/viper":         {"internal/cli"},
	"github.com/operator-framework/": {"internal/bundle", "internal/bundle/validate", "internal/bundle/validate/engine", "internal/catalog", "internal/catalog/opm", "internal/olm", "internal/olm/run", "internal/scorecard", "internal/controlplane/"},
	// The control plane pulls catalogs and bundles, and knows nothing of internal/image.
	"github.com/google/go-containerregistry/": {"internal/registry", "internal/image", "internal/controlplane/"},
}

// layers are our packages from the bottom up: one may import those of lower
// rows only. localrun may use generate, which stands below it for that.
var layers = [][]string{
	{"internal/clierr", "internal/dockerfile", "internal/host", "internal/filelock", "internal/gcpercent", "internal/recording", "internal/sarif", "internal/translations"},
	{"internal/certmanager", "internal/fields", "internal/fileset", "internal/lastrun", "internal/mainpkg", "internal/oldapi", "internal/rewrite/goedit", "internal/rewrite/yamledit", "internal/registry", "internal/recording/otlp", "internal/cluster/state", "internal/host/hosttest", "internal/controlplane/supervise"},
	{"internal/apidocs", "internal/compat", "internal/controlplane/faults", "internal/controlplane/hostpods", "internal/controlplane/olm", "internal/controlplane/recorder", "internal/controlplane/removedapis", "internal/generate/arguments", "internal/localrun/trace", "internal/rewrite/merge3"},
	{"internal/kube", "internal/image", "internal/relayout", "internal/cluster", "internal/kustomize", "internal/controlplane", "internal/generate", "internal/controllernames", "internal/oldruntime", "internal/webhookadapter"},
	{"internal/manifests", "internal/openapi"},
	{"internal/hostprogram", "internal/project", "internal/localrun", "internal/objects", "internal/kube/kubetest", "internal/cluster/clustertest", "internal/generate/calls", "plugins/golang/v4", "internal/bundle"},
	{"internal/adopt", "internal/chart", "internal/explore", "internal/grafana", "internal/lint", "internal/scaffold", "internal/ui", "internal/upgrade", "internal/bundle/validate", "internal/catalog", "internal/olm"},
	{"internal/bundle/validate/engine", "internal/catalog/opm", "internal/olm/run", "internal/scorecard", "internal/migrate", "internal/explore/gotest"},
	{"internal/doctor"},
	{"internal/cli"},
	{"internal/cli/chart"},
	{"internal/cli/cluster", "internal/cli/deploy", "internal/cli/image", "internal/cli/migrate", "internal/cli/project", "internal/cli/recorded"},
	{"internal/cli/bundle"},
	{"internal/cli/generate", "internal/cli/olm"},
	{"internal/cli/run"},
	{"internal/cli/legacy"},
	{"internal/cli/root"},
	{"cmd/mysdk", "cmd/mysdk-cluster", "internal/quickstart", "internal/e2e", "internal/extras", "internal/figures"},
}

// alone are packages that import nothing of ours but what is named.
var alone = map[string][]string{
	"internal/chart":            {"internal/clierr", "internal/relayout", "internal/rewrite/merge3", "internal/rewrite/yamledit"},
	"internal/apidocs":          {"internal/fields"},
	"internal/grafana":          {"internal/clierr", "internal/rewrite/yamledit"},
	"internal/certmanager":      {},
	"internal/clierr":           {},
	"internal/compat":           {"internal/clierr", "internal/rewrite/yamledit"},
	"internal/host":             {},
	"internal/fields":           {},
	"internal/filelock":         {},
	"internal/lastrun":          {"internal/host"},
	"internal/gcpercent":        {},
	"internal/fileset":          {"internal/filelock"},
	"internal/recording":        {},
	"internal/recording/otlp":   {"internal/recording"},
	"internal/registry":         {},
	"internal/sarif":            {},
	"internal/translations":     {},
	"internal/rewrite/goedit":   {"internal/clierr"},
	"internal/rewrite/yamledit": {},
	"internal/controlplane": {
		"internal/clierr", "internal/host", "internal/cluster/state", "internal/filelock",
		"internal/controlplane/faults", "internal/controlplane/hostpods", "internal/controlplane/olm", "internal/controlplane/recorder", "internal/controlplane/removedapis", "internal/controlplane/supervise",
	},
	"internal/controlplane/faults":      {"internal/cluster/state"},
	"internal/controlplane/removedapis": {},
	"internal/controlplane/hostpods":    {"internal/host", "internal/cluster/state"},
	"internal/controlplane/olm":         {"internal/host", "internal/registry", "internal/cluster/state", "internal/controlplane/supervise"},
	"internal/controlplane/recorder":    {"internal/cluster/state", "internal/recording"},
	"internal/controlplane/supervise":   {"internal/host"},
	"internal/localrun/trace":           {"internal/cluster/state", "internal/recording", "internal/rewrite/goedit"},
	"plugins/golang/v4":                 {"internal/clierr", "internal/rewrite/goedit"},
}

// worldly are calls that only the host package and the two main programs make.
var worldly = map[string][]string{
	"context": {"Background", "TODO"},
	"os":      {"Exit", "Chdir", "Stdin", "Stdout", "Stderr", "Getenv", "Environ", "Setenv"},
	"os/exec": {"Command", "CommandContext", "LookPath"},
	"log":     {"Fatal", "Fatalf", "Fatalln"},
	"time":    {"Now"},
}

// worldlyAllowed may make some of them; the reason stands with each.
var worldlyAllowed = map[string][]string{
	"internal/host":                  {"os", "os/exec", "time"},            // this is the world
	"internal/host/hosttest":         {"os", "os/exec"},                    // has tests ask the go command, and the environment how long they may take
	"cmd/mysdk":                      {"os", "context"},                    // the exit code
	"cmd/mysdk-cluster":              {"os", "time", "context"},            // the exit code; when the process started
	"internal/figures":               {"os", "os/exec", "time", "context"}, // another, which measures the go command
	"internal/translations":          {"os"},                               // the language is asked for before main runs
	"internal/extras":                {"os"},                               // a main program too
	"internal/registry":              {"os"},                               // where podman has its credentials, as the library does with docker's
	"internal/controlplane":          {"time", "os"},                       // a server of its own, with certificates that expire
	"internal/controlplane/hostpods": {"time", "os", "os/exec"},            // runs processes of this machine
	"internal/controlplane/olm":      {"time", "os", "context"},            // dials in memory, for an interface that passes none
	"internal/controlplane/recorder": {"time"},
}

func TestImportsPointDown(t *testing.T) {
	row := map[string]int{}
	for i, layer := range layers {
		for _, p := range layer {
			row[p] = i
		}
	}
	eachFile(t, func(pkg string, f *ast.File, fset *token.FileSet) {
		at, ok := row[pkg]
		if !ok {
			t.Errorf("package %s stands in no layer of this test", pkg)
		}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			where := fset.Position(spec.Pos())
			checkLibrary(t, pkg, imp, where)
			ours, isOurs := strings.CutPrefix(imp, modulePath)
			if !isOurs {
				continue
			}
			if row[ours] >= at && !strings.HasPrefix(ours, pkg+"/") {
				t.Errorf("%s: %s imports %s, which does not stand below it", where, pkg, ours)
			}
			if list, ok := alone[pkg]; ok && !slices.Contains(list, ours) {
				t.Errorf("%s: %s is to know nothing of %s", where, pkg, ours)
			}
		}
	})
}

func checkLibrary(t *testing.T, pkg, imp string, where token.Position) {
	t.Helper()
	for lib, allowed := range quarantine {
		if imp != lib && !(strings.HasSuffix(lib, "/") && strings.HasPrefix(imp, lib)) {
			continue
		}
		if !slices.ContainsFunc(allowed, func(a string) bool { return a == pkg || strings.HasSuffix(a, "/") && strings.HasPrefix(pkg+"/", a) }) {
			t.Errorf("%s: only %s may import %s", where, strings.Join(allowed, ", "), imp)
		}
	}
}

func TestOnlyHostTouchesTheWorld(t *testing.T) {
	eachFile(t, func(pkg string, f *ast.File, fset *token.FileSet) {
		names := map[string]string{}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			name := path.Base(imp)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			names[name] = imp
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if fn, ok := n.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s: func init", fset.Position(n.Pos()))
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || id.Obj != nil {
				return true
			}
			imp := names[id.Name]
			if slices.Contains(worldly[imp], sel.Sel.Name) && !slices.Contains(worldlyAllowed[pkg], imp) {
				t.Errorf("%s: %s.%s is for package host and the main programs", fset.Position(n.Pos()), id.Name, sel.Sel.Name)
			}
			return true
		})
	})
}

// eachFile parses every file of ours that is not a test.
func eachFile(t *testing.T, visit func(pkg string, f *ast.File, fset *token.FileSet)) {
	t.Helper()
	fset := token.NewFileSet()
	for _, top := range []string{"cmd", "internal", "plugins"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "testdata" || d.Name() == "templates") {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
				return nil
			}
			f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel("..", filepath.Dir(p))
			visit(filepath.ToSlash(rel), f, fset)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRegexps holds the regular expressions of packages back until something
// needs them: compiling them all would take an eighth of --help.
func TestRegexps(t *testing.T) {
	eachFile(t, func(_ string, f *ast.File, fset *token.FileSet) {
		for _, d := range f.Decls {
			vars, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			ast.Inspect(vars, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 1 {
					return true
				}
				lit, isLit := call.Args[0].(*ast.BasicLit)
				switch sel, ok := call.Fun.(*ast.SelectorExpr); {
				case ok && sel.Sel.Name == "MustCompile":
					t.Errorf("%s: use lazy.Delayed of go.podman.io/storage/pkg/regexp for a variable of the package", fset.Position(n.Pos()))
				case ok && sel.Sel.Name == "Delayed" && isLit:
					if pattern, err := strconv.Unquote(lit.Value); err != nil {
						t.Error(err)
					} else if _, err := regexp.Compile(pattern); err != nil {
						t.Errorf("%s: %v", fset.Position(n.Pos()), err)
					}
				}
				return true
			})
		}
	})
}

func TestNoFileIsLong(t *testing.T) {
	eachFile(t, func(_ string, f *ast.File, fset *token.FileSet) {
		if n := fset.Position(f.FileEnd).Line; n > 501 {
			t.Errorf("%s has %d lines: 500 are the most", fset.Position(f.Pos()).Filename, n)
		}
	})
}
