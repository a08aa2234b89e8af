// Package trace makes the overlay with which `mysdk run local` builds an
// operator, so that it reports where its requests come from and what Reconcile
// is called for. The project's files stay as they are, and so do their line
// numbers in the program. It knows Go source; what the reports are for is
// internal/recording's.
package trace

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/recording"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

const (
	// Provider is the name of the plug-in for client-go that the operator's
	// kubeconfig names.
	Provider = "mysdk"
	// ProjectEnv is the operator's variable for the directory of the project.
	ProjectEnv = "MYSDK_PROJECT"
	// ReportEnv is the operator's variable for the control socket.
	ReportEnv = "MYSDK_REPORT"

	packageName = "mysdkreporter"
)

//go:embed reporter.go.txt
var reporter string

// Files is what an overlay is made from.
type Files interface {
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
}

// Overlay returns the files to build with, by absolute path: the reporter, one
// file that links it into the main package, and those with a method Reconcile, or
// that look for the namespace of the operator's pod, which they find as pod says.
// dir is the project's, and groups are the API groups of its kinds, by the import
// path of their types. A file that does not parse is left out: the compiler has
// more to say about it.
func Overlay(files Files, dir, mainPkg string, pod Pod, groups map[string]string) (map[string][]byte, error) {
	root, mod, err := Module(files, dir)
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, fmt.Errorf("read the project's module: %w", err)
	}
	project := path.Join(mod.Module.Mod.Path, filepath.ToSlash(below)) // as packages in dir are imported
	pkg := project + "/internal/" + packageName
	out := map[string][]byte{}
	o := overlay{files: files, pkg: pkg, out: out, pod: pod, groups: groups, receivers: map[string]int{}}
	if err := o.walk(dir); err != nil {
		return nil, err
	}
	for _, parsed := range o.found {
		of := o.findBuilt(parsed)
		for name, f := range parsed {
			if err := o.instrument(name, f, of); err != nil {
				return nil, err
			}
		}
	}
	var text bytes.Buffer
	if err := template.Must(template.New("").Parse(reporter)).Execute(&text, map[string]any{
		"Provider": Provider, "FramesHeader": recording.FramesHeader, "ReconcileHeader": recording.ReconcileHeader,
		"FrameSeparator": recording.FrameSeparator, "Path": state.ReconcilesPath, "Project": project, "Panic": recording.Panic,
		"LogIDs": o.builds && hasLogIDs(files, root, mod),
	}); err != nil {
		return nil, fmt.Errorf("make the reporter: %w", err)
	}
	out[filepath.Join(dir, "internal", packageName, "reporter.go")] = text.Bytes()
	out[filepath.Join(dir, filepath.FromSlash(mainPkg), "zz_"+packageName+".go")] = []byte("package main\n\nimport _ " + strconv.Quote(pkg) + "\n")
	return out, nil
}

// Module reads the nearest go.mod at dir or above it, as the go command does.
func Module(files Files, dir string) (root string, mod *modfile.File, err error) {
	var data []byte
	for root = dir; ; root = filepath.Dir(root) {
		if data, err = files.ReadFile(filepath.Join(root, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if root == filepath.Dir(root) {
			return "", nil, fmt.Errorf("read the project's module: no go.mod in %s or above", dir)
		}
	}
	if err == nil {
		if mod, err = modfile.Parse("go.mod", data, nil); err != nil {
			mod, err = modfile.ParseLax("go.mod", data, nil) // that of a newer go command
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("read the project's module: %w", err)
	}
	if mod.Module == nil {
		return "", nil, fmt.Errorf("read the project's module: %s names none", filepath.Join(root, "go.mod"))
	}
	return root, mod, nil
}

// runtimeModule is controller-runtime.
const runtimeModule = "sigs.k8s.io/controller-runtime"

// hasLogIDs reports whether the project's controller-runtime gives each call an ID
// that its log has, too, and lets others read it.
func hasLogIDs(files Files, root string, mod *modfile.File) bool {
	const since, pkg = "v0.14.0", "pkg/controller"
	version := ""
	for _, r := range mod.Require {
		if r.Mod.Path == runtimeModule && !r.Indirect {
			version = r.Mod.Version
		}
	}
	for _, r := range mod.Replace {
		if r.Old.Path == runtimeModule && (r.Old.Version == "" || r.Old.Version == version) {
			version = r.New.Version // none for a directory
		}
	}
	if _, err := files.ReadFile(filepath.Join(root, "vendor", "modules.txt")); err == nil {
		if _, err := files.ReadDir(filepath.Join(root, "vendor", filepath.FromSlash(runtimeModule+"/"+pkg))); err != nil {
			return false
		}
	}
	return semver.Compare(version, since) >= 0
}

type overlay struct {
	files     Files
	pkg       string
	out       map[string][]byte
	pod       Pod
	groups    map[string]string         // API groups by import path
	builds    bool                      // with controller-runtime's builder, so that all modules are there that it needs
	found     []map[string]*goedit.File // by path, of each package that may have reconcilers
	receivers map[string]int            // how many packages have a reconciler of that name
}

// built is what a controller is set up for.
type built struct {
	group   string   // empty: not known
	kind    string   // of For
	watches []string // kinds; none where the code does not say them all
}

// walk looks through the packages of one module.
func (o *overlay) walk(dir string) error {
	entries, err := o.files.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for reconcilers: %w", err)
	}
	parsed := map[string]*goedit.File{}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case strings.ContainsAny(e.Name()[:1], "._"): // the go command passes over these
		case e.IsDir():
			// Nor does it look for packages in these, or in another module.
			_, err := o.files.ReadFile(filepath.Join(name, "go.mod"))
			if err == nil || e.Name() == "vendor" || e.Name() == "testdata" {
				continue
			}
			if err := o.walk(name); err != nil {
				return err
			}
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			src, err := o.files.ReadFile(name)
			if err != nil {
				return fmt.Errorf("look for reconcilers: %w", err)
			}
			if !slices.ContainsFunc(append(leaderPackages, "Reconcile(", ".For(", ".Owns(", "Watch", podNamespace, "LeaderElection:"), func(s string) bool { return bytes.Contains(src, []byte(s)) }) {
				continue
			}
			if f, err := goedit.Parse(name, src); err == nil {
				parsed[name] = f
				o.builds = o.builds || slices.ContainsFunc(f.Tree.Imports, func(i *ast.ImportSpec) bool {
					return i.Path.Value == strconv.Quote(runtimeModule) || i.Path.Value == strconv.Quote(runtimeModule+"/pkg/builder")
				})
			}
		}
	}
	o.found = append(o.found, parsed)
	for name := range reconcilersIn(parsed) {
		o.receivers[name]++
	}
	return nil
}

// instrument has each Reconcile of a file report. All that is added is on lines
// that are there, so that their numbers stay.
func (o *overlay) instrument(name string, f *goedit.File, of map[string]built) error {
	for fn := range f.Functions() {
		if reconciles(f, fn) {
			o.begin(f, fn, of[goedit.Receiver(fn)])
		}
	}
	if f.Edited() {
		f.Insert(f.Tree.Name.End(), "; import "+packageName+" "+strconv.Quote(o.pkg))
	}
	o.pod.place(f)
	if !f.Edited() {
		return nil
	}
	out, err := f.Apply()
	if err != nil {
		return fmt.Errorf("%s: report its calls of Reconcile: %w", name, err)
	}
	o.out[name] = out
	return nil
}

// reconciles reports whether a method has the form of Reconcile: a context, which
// was not there before controller-runtime 0.7, and one more parameter, a result
// and an error.
func reconciles(f *goedit.File, fn *ast.FuncDecl) bool {
	if fn.Name.Name != "Reconcile" || goedit.Receiver(fn) == "" || fn.Body == nil || fn.Type.Results == nil {
		return false
	}
	params, results := fn.Type.Params, fn.Type.Results
	if results.NumFields() != 2 || len(results.List) != 2 || goedit.TypeName(results.List[1].Type) != "error" || params.NumFields() != len(params.List) {
		return false
	}
	switch len(params.List) {
	case 1:
		return goedit.TypeName(params.List[0].Type) == "Request"
	case 2:
		return f.Is(params.List[0].Type, "context", "Context")
	}
	return false
}

// begin adds the call to the first line of the body, and names to what has none.
func (o *overlay) begin(f *goedit.File, fn *ast.FuncDecl, b built) {
	params, results := fn.Type.Params.List, fn.Type.Results
	if !results.Opening.IsValid() {
		return
	}
	ctx := "nil"
	if len(params) == 2 {
		ctx = "&" + named(f, params[0], "mysdkCtx")
	}
	last := params[len(params)-1]
	request := named(f, last, "mysdkRequest")
	result := named(f, results.List[0], "mysdkResult")
	err := named(f, results.List[1], "mysdkErr")
	controller := goedit.Receiver(fn)
	if o.receivers[controller] > 1 {
		controller = f.Tree.Name.Name + "." + controller
	}
	if t := goedit.TypeName(last.Type); b.kind == "" && t != "Request" {
		b.group, b.kind = o.groupOf(f, last.Type), t
	}
	watches := "nil"
	if len(b.watches) > 0 {
		watches = fmt.Sprintf("%#v", b.watches)
	}
	f.Insert(fn.Body.Lbrace+1, fmt.Sprintf(" defer %s.Begin(%s, %q, %q, %q, %s, %s)(&%s, &%s);", packageName, ctx, controller, b.group, b.kind, watches, request, result, err))
}

// named is the name of a parameter or result, which gets one where it has none.
func named(f *goedit.File, field *ast.Field, name string) string {
	if len(field.Names) == 0 {
		f.Insert(field.Type.Pos(), name+" ")
		return name
	}
	if field.Names[0].Name == "_" {
		f.Replace(field.Names[0], name)
		return name
	}
	return field.Names[0].Name
}

// podNamespace is the file in which a pod finds the name of its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leaderPackages have Become, by which an operator is the leader as long as its pod
// is there. Without the pod it fails.
var leaderPackages = []string{"github.com/operator-framework/operator-lib/leader", "github.com/operator-framework/operator-sdk/pkg/leader"}

// Pod is what the operator's code finds of its pod, which it has not.
type Pod struct {
	Namespace     string
	NamespaceFile string // has the Namespace, in place of the pod's own file
}

// place has code find the namespace: where it reads the pod's file, and where
// it leaves it to controller-runtime to do so for a leader's lease. The only
// operator there is need not become the leader by its pod.
func (p Pod) place(f *goedit.File) {
	for lit := range goedit.Each[*ast.BasicLit](f.Tree) {
		if text, _ := goedit.StringLiteral(lit); text == podNamespace {
			f.Replace(lit, strconv.Quote(p.NamespaceFile))
		}
	}
	for lit := range goedit.Each[*ast.CompositeLit](f.Tree) {
		if !f.Is(lit.Type, runtimeModule, "Options") && !f.Is(lit.Type, runtimeModule+"/pkg/manager", "Options") {
			continue
		}
		keys := map[string]bool{}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				keys[goedit.TypeName(kv.Key)] = true
			}
		}
		if keys["LeaderElection"] && keys["Scheme"] && !keys["LeaderElectionNamespace"] {
			f.Insert(lit.Lbrace+1, "LeaderElectionNamespace: "+strconv.Quote(p.Namespace)+", ")
		}
	}
	for call := range goedit.Each[*ast.CallExpr](f.Tree) {
		become := slices.ContainsFunc(leaderPackages, func(path string) bool { return f.Is(call.Fun, path, "Become") })
		if become && !call.Ellipsis.IsValid() {
			f.Insert(f.Tree.End(), "; var _ = "+f.Text(call.Fun)) // the import is used as before
			f.Replace(call.Fun, "func(...interface{}) error { return nil }")
		}
	}
}
