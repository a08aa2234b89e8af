package migrate

import (
	"cmp"
	"fmt"
	"go/ast"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// renamedMembers are members of packages that have another name today, by
// package and old name.
var renamedMembers = map[string]map[string]string{
	crClient: {
		"ListOptionFunc": "ListOption", "CreateOptionFunc": "CreateOption", "UpdateOptionFunc": "UpdateOption",
		"DeleteOptionFunc": "DeleteOption", "PatchOptionFunc": "PatchOption", "ConstantPatch": "RawPatch",
	},
	crHandler: {"Mapper": "MapFunc"},
}

// clientAPI carries calls of controller-runtime's client over to how they are
// written today.
func clientAPI(f *goFile) {
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			for pkg, names := range renamedMembers {
				if to := names[n.Sel.Name]; to != "" && f.Is(n, pkg, n.Sel.Name) {
					f.Replace(n.Sel, to)
				}
			}
			f.budgets(n)
		case *ast.CallExpr:
			f.mutateCall(n)
		case *ast.AssignStmt:
			f.onlyResult(n)
		case *ast.FuncDecl:
			f.injector(n)
		case *ast.StarExpr:
			if f.Is(n.X, crAdmission, "Decoder") { // an interface since controller-runtime 0.15
				f.Replace(n, f.Text(n.X))
			}
		}
		return true
	})
	f.injected()
}

// injected drops the variables that say that a type takes what the manager
// injected.
func (f *goFile) injected() {
	for _, d := range f.Tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || len(g.Specs) != 1 {
			continue
		}
		if v, ok := g.Specs[0].(*ast.ValueSpec); ok && v.Type != nil && f.Member(v.Type, crInject) != "" && isNamed(v.Names[0], "_") {
			f.RemoveLines(d)
		}
	}
}

// budgets takes the typed client of budgets from the version that their types are
// taken from: no API server has them in the old one.
func (f *goFile) budgets(sel *ast.SelectorExpr) {
	group, ok := sel.X.(*ast.CallExpr)
	if ok && callee(group) == "PolicyV1beta1" && (sel.Sel.Name == "PodDisruptionBudgets" || sel.Sel.Name == "Evictions") {
		f.rename(group.Fun, "PolicyV1")
	}
}

// assigned is the value that a local variable got where it was declared.
func assigned(id *ast.Ident) ast.Expr {
	if id.Obj == nil {
		return nil
	}
	a, ok := id.Obj.Decl.(*ast.AssignStmt)
	if !ok || len(a.Lhs) != len(a.Rhs) {
		return nil
	}
	for i, l := range a.Lhs {
		if at, ok := l.(*ast.Ident); ok && at.Name == id.Name {
			return a.Rhs[i]
		}
	}
	return nil
}

// mutateCall gives the function that CreateOrUpdate calls today's signature.
func (f *goFile) mutateCall(call *ast.CallExpr) {
	if f.calls(call, crCtrlUtil, "CreateOrUpdate") == nil || len(call.Args) != 4 {
		return
	}
	fn, ok := call.Args[3].(*ast.FuncLit)
	if !ok || len(fn.Type.Params.List) != 1 {
		return
	}
	names := fn.Type.Params.List[0].Names
	f.Replace(fn.Type.Params, "()")
	if len(names) == 1 && names[0].Name != "_" && mentions(fn.Body, names[0].Name) {
		f.Insert(fn.Body.Lbrace+1, fmt.Sprintf("\n%s := %s.Object(%s)\n", names[0].Name, f.Need(apiRuntime, ""), f.Text(call.Args[2])))
	}
}

// mentions says whether a name occurs in a node, as one of its own.
func mentions(n ast.Node, name string) bool {
	members := map[*ast.Ident]bool{}
	for sel := range goedit.Each[*ast.SelectorExpr](n) {
		members[sel.Sel] = true
	}
	return goedit.Has(n, func(id *ast.Ident) bool { return id.Name == name && !members[id] })
}

// onlyResult keeps code working that takes an error as the second result of what
// returns none today.
func (f *goFile) onlyResult(a *ast.AssignStmt) {
	if len(a.Lhs) != 2 || len(a.Rhs) != 1 {
		return
	}
	call := cmp.Or(f.calls(a.Rhs[0], crClient, "ObjectKeyFromObject"), f.calls(a.Rhs[0], crAdmission, "NewDecoder"))
	if call == nil {
		return
	}
	if isNamed(a.Lhs[1], "_") {
		f.ReplaceRange(a.Lhs[0].End(), a.Lhs[1].End(), "")
		return
	}
	f.Insert(call.End(), ", error(nil)")
}

// injector marks methods that the manager called in the past.
func (f *goFile) injector(d *ast.FuncDecl) {
	switch d.Name.Name {
	case "InjectClient", "InjectScheme", "InjectDecoder", "InjectConfig", "InjectCache", "InjectLogger", "InjectFunc", "InjectMapper":
		if d.Recv != nil {
			f.todo(d, "%s is no longer called: set the field where the value is made", d.Name.Name)
		}
	}
}

// callee is the name of what is called, without what it is called on.
func callee(call *ast.CallExpr) string { return goedit.TypeName(call.Fun) }
