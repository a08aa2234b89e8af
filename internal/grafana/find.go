package grafana

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Metric is one that the project's code makes, or that ConfigFile lists.
type Metric struct {
	Name   string
	Kind   string // counter, gauge, histogram, summary
	Help   string
	Labels []string
	Expr   string // PromQL, in place of the one that fits the kind
	Unit   string // of Grafana's, in place of the one that the name ends in
}

const library = "github.com/prometheus/client_golang/prometheus"

// kinds are the constructors of Prometheus' library, without New, Vec and Func.
// A collector that describes its metrics itself says their kind at run time only.
var kinds = map[string]string{"Counter": "counter", "Gauge": "gauge", "Histogram": "histogram", "Summary": "summary", "Untyped": "gauge", "Desc": ""}

// finder has the packages of a module by their paths. Their types are checked
// for the values of constants, without the packages of other modules.
type finder struct {
	files    *token.FileSet
	sources  map[string][]*ast.File
	checked  map[string]*types.Package
	info     *types.Info
	found    []Metric
	problems []string
}

// Find returns the metrics that the Go code below a tree makes with Prometheus'
// library, by their names, and what is not known of others, after file:line:col.
// module is the path of the tree's Go module. Tests and other
// modules are left out; a file that is not Go is an error.
func Find(tree fs.FS, module string) (found []Metric, problems []string, err error) {
	f := &finder{
		files: token.NewFileSet(), sources: map[string][]*ast.File{}, checked: map[string]*types.Package{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}},
	}
	err = fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && foreign(tree, name):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a link to nothing, such as an editor's lock
		}
		file, err := parser.ParseFile(f.files, name, text, parser.SkipObjectResolution)
		at := path.Join(module, path.Dir(name))
		f.sources[at] = append(f.sources[at], file)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for _, at := range slices.Sorted(maps.Keys(f.sources)) {
		if _, err := f.Import(at); err != nil {
			return nil, nil, err
		}
		for _, file := range f.sources[at] {
			ast.Inspect(file, f.visit)
		}
	}
	slices.SortStableFunc(f.found, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(f.found, func(a, b Metric) bool { return a.Name == b.Name }), f.problems, nil
}

// foreign says whether a directory is not part of the module.
func foreign(tree fs.FS, dir string) bool {
	base := path.Base(dir)
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return dir != "." && (err == nil || base[0] == '.' || base[0] == '_' || base == "vendor" || base == "testdata")
}

// Import checks the types of one of the module's packages. Those of others are
// missing, which is no error: the names of metrics are not theirs.
func (f *finder) Import(at string) (*types.Package, error) {
	files := f.sources[at]
	if p, ok := f.checked[at]; ok || len(files) == 0 {
		if p == nil {
			return nil, fmt.Errorf("%s is not looked into", at)
		}
		return p, nil
	}
	f.checked[at] = nil // packages that import each other end here
	conf := types.Config{Importer: f, Error: func(error) {}}
	p, _ := conf.Check(at, f.files, files, f.info) // whether the project compiles is not the question
	f.checked[at] = p
	return p, nil
}

// visit notes the metric that a call makes, if it makes one.
func (f *finder) visit(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return true
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return true
	}
	name, isNew := strings.CutPrefix(fun.Sel.Name, "New")
	name, isVec := strings.CutSuffix(strings.TrimSuffix(name, "Func"), "Vec")
	kind, known := kinds[name]
	opts, _ := call.Args[0].(*ast.CompositeLit)
	if !isNew || !known || !f.ofLibrary(fun.X) && (opts == nil || !f.ofLibrary(opts.Type)) {
		return true
	}
	m := Metric{Kind: kind}
	problem := "the name of this metric is not a constant"
	if kind == "" {
		problem = "prometheus.NewDesc does not say the type of the metric"
	}
	if m.Name, m.Help, ok = f.options(opts); !ok {
		f.problems = append(f.problems, f.files.Position(call.Pos()).String()+": "+problem)
		return true
	}
	if isVec && len(call.Args) > 1 {
		m.Labels = f.labels(call.Args[1])
	}
	f.found = append(f.found, m)
	return true
}

// ofLibrary says whether an expression begins with a package of Prometheus'
// library, as in prometheus.CounterOpts and promauto.With(registry).
func (f *finder) ofLibrary(x ast.Expr) bool {
	for {
		switch e := x.(type) {
		case *ast.CallExpr:
			x = e.Fun
		case *ast.SelectorExpr:
			x = e.X
		case *ast.Ident:
			p, ok := f.info.Uses[e].(*types.PkgName)
			return ok && (p.Imported().Path() == library || p.Imported().Path() == library+"/promauto")
		default:
			return false
		}
	}
}

// options reads the name, joined as prometheus.BuildFQName does, and the help.
func (f *finder) options(opts *ast.CompositeLit) (name, help string, ok bool) {
	fields := map[string]string{}
	for i := 0; opts != nil && i < len(opts.Elts); i++ {
		if field, ok := opts.Elts[i].(*ast.KeyValueExpr); ok {
			key, value := types.ExprString(field.Key), ""
			if value, ok = f.text(field.Value); !ok && slices.Contains([]string{"Namespace", "Subsystem", "Name"}, key) {
				return "", "", false
			}
			fields[key] = value
		}
	}
	for _, part := range []string{fields["Namespace"], fields["Subsystem"], fields["Name"]} {
		if name != "" && part != "" {
			name += "_"
		}
		name += part
	}
	return name, fields["Help"], fields["Name"] != ""
}

func (f *finder) text(x ast.Expr) (string, bool) {
	v := f.info.Types[x].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// labels are nil where they are not all constants.
func (f *finder) labels(x ast.Expr) (names []string) {
	list, ok := x.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, e := range list.Elts {
		name, ok := f.text(e)
		if !ok {
			return nil
		}
		names = append(names, name)
	}
	return names
}
