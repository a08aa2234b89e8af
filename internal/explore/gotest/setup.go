package gotest

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// Setup is how a main package sets its controllers up.
type Setup struct {
	Imports []string // lines of an import declaration
	Schemes []string // functions that add types to a scheme
	Setups  []string // expressions with an error, of the manager mgr
}

// SetupOf reads a main package's file. What a controller gets from other
// variables of it cannot be known, which is an error.
func SetupOf(name string, src []byte) (Setup, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return Setup{}, fmt.Errorf("read the operator's main package: %w", err)
	}
	r := reader{fset: fset, imports: map[string]*ast.ImportSpec{}, used: map[string]bool{}}
	r.mgr = cmp.Or((&goedit.File{Tree: file}).ResultOf("sigs.k8s.io/controller-runtime", "NewManager"), "mgr")
	for _, spec := range file.Imports {
		r.imports[goedit.LocalName(spec)] = spec
	}
	for call := range goedit.Each[*ast.CallExpr](file) {
		if r.err == nil {
			r.call(call)
		}
	}
	if r.err == nil && len(r.out.Setups) == 0 {
		r.err = clierr.Failedf("write the tests by hand: the report has the steps", "%s sets no controller up by SetupWithManager", name)
	}
	for as, spec := range r.imports {
		line := spec.Path.Value
		if spec.Name != nil {
			line = as + " " + line
		}
		if !r.used[as] || strings.Contains(operatorText, "\t"+line+"\n") {
			continue
		}
		if declares(as) {
			return Setup{}, clierr.Failedf("import it under another name there", "%s imports %s as %s, a name that the tests have for something else", name, spec.Path.Value, as)
		}
		r.out.Imports = append(r.out.Imports, line)
	}
	slices.Sort(r.out.Imports)
	return r.out, r.err
}

// declarations are the names of a file: types and functions, constants, imports.
var declarations = lazy.Delayed(`(?m)^(?:type|func) (\w+)|^\t(\w+) += |^\t(?:(\w+) )?"(?:\S*/)?(\w+)"$`)

// declares reports whether the tests' own file has the name.
func declares(name string) bool {
	return slices.ContainsFunc(declarations.FindAllStringSubmatch(operatorText, -1), func(m []string) bool {
		return m[1] == name || m[2] == name || m[3] == name || m[3] == "" && m[4] == name
	})
}

type reader struct {
	fset    *token.FileSet
	imports map[string]*ast.ImportSpec // by the name in the file
	used    map[string]bool            // of these
	mgr     string                     // the variable
	out     Setup
	err     error
}

// call takes calls of SetupWithManager and AddToScheme.
func (r *reader) call(call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	switch sel.Sel.Name {
	case "AddToScheme":
		pkg, ok := sel.X.(*ast.Ident)
		if ok && r.imports[pkg.Name] != nil && !strings.HasSuffix(r.imports[pkg.Name].Path.Value, `k8s.io/client-go/kubernetes/scheme"`) {
			r.used[pkg.Name] = true
			r.out.Schemes = append(r.out.Schemes, pkg.Name+".AddToScheme")
		}
	case "SetupWithManager":
		ast.Inspect(call, r.name)
		var b bytes.Buffer
		if err := format.Node(&b, r.fset, call); err != nil && r.err == nil {
			r.err = fmt.Errorf("print the set-up of a controller: %w", err)
		}
		r.out.Setups = append(r.out.Setups, b.String())
	}
}

// name refuses variables other than the manager, and renames that.
func (r *reader) name(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		ast.Inspect(n.X, r.name)
		return false
	case *ast.KeyValueExpr:
		ast.Inspect(n.Value, r.name)
		return false
	case *ast.Ident:
		switch {
		case n.Name == r.mgr:
			n.Name = "mgr"
		case r.imports[n.Name] != nil:
			r.used[n.Name] = true
		case slices.Contains([]string{"nil", "true", "false", "string", "int", "bool", "error", "new", "len"}, n.Name):
		case r.err == nil:
			r.err = clierr.Failedf("set it up from the manager alone, or write the tests by hand: the report has the steps",
				"%s: the controller gets %s, which a test does not know", r.fset.Position(n.Pos()), n.Name)
		}
	}
	return true
}

// PackageOf is the name of a file's package; empty where it does not parse.
func PackageOf(src []byte) string {
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return file.Name.Name
}
