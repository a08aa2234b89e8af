package migrate

import (
	"go/ast"
	"go/token"
	"path"

	"github.com/example/mysdk/internal/controllernames"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// isReconcile says whether a method is Reconcile as it was before
// controller-runtime 0.7: without a context.
func (f *goFile) isReconcile(fn *ast.FuncDecl) bool {
	if fn.Name.Name != "Reconcile" || fn.Recv.NumFields() == 0 || fn.Type.Results.NumFields() != 2 {
		return false
	}
	list := fn.Type.Params.List
	return len(list) > 0 && fn.Type.Params.NumFields() <= 2 &&
		f.isAny(list[len(list)-1].Type, "Request", crReconcile, crRoot)
}

func (f *goFile) function(name string) *ast.FuncDecl {
	for fn := range f.Functions() {
		if fn.Recv == nil && fn.Name.Name == name {
			return fn
		}
	}
	return nil
}

// reconcileContexts gives Reconcile its context.
func reconcileContexts(f *goFile) {
	for fn := range f.Functions() {
		if f.isReconcile(fn) && fn.Type.Params.NumFields() == 1 {
			f.reconcileContext(fn)
		}
	}
}

// uniqueNames names the controllers of the project that would have the name of
// another one.
func (m *migration) uniqueNames(f *goFile) {
	if m.names == nil {
		var all []controllernames.Builder
		for f := range m.parse(m.ownCode()) {
			all = append(all, controllernames.Find(f.File)...)
		}
		m.names = controllernames.Choose(all)
	}
	m.names.Apply(f.File)
}

// reconcileContext adds the context that the manager passes, and uses it.
func (f *goFile) reconcileContext(fn *ast.FuncDecl) {
	own := f.ownContext(fn.Body)
	name := "ctx"
	if own == nil && declares(fn.Body, "ctx") {
		name = "reconcileCtx"
	}
	if own != nil {
		f.RemoveLines(own)
	}
	if name == "reconcileCtx" && !goedit.Has(fn.Body, f.isFreshContext) {
		name = "_"
	}
	f.Insert(fn.Type.Params.Opening+1, name+" "+f.Need("context", "")+".Context, ")
	if len(fn.Type.Params.List[0].Names) == 0 {
		f.Insert(fn.Type.Params.List[0].Pos(), "_ ")
	}
	if name != "_" {
		f.freshContexts(fn.Body, name)
	}
}

// ownContext is the statement ctx := context.TODO() of a body.
func (f *goFile) ownContext(body *ast.BlockStmt) *ast.AssignStmt {
	for _, s := range body.List {
		a, ok := s.(*ast.AssignStmt)
		if ok && a.Tok == token.DEFINE && len(a.Lhs) == 1 && len(a.Rhs) == 1 && f.Text(a.Lhs[0]) == "ctx" && f.isFreshContext(a.Rhs[0]) {
			return a
		}
	}
	return nil
}

// watchHelpers finds functions that watch with a controller that they are given,
// and need the manager for that today, as their last parameter. It returns how
// many parameters they had, by the new import path of their package and their name.
func (m *migration) watchHelpers() map[string]int {
	if m.helpers != nil {
		return m.helpers
	}
	m.helpers = map[string]int{}
	for f := range m.parse(m.ownCode()) {
		for fn := range f.Functions() {
			if n, ok := f.watchHelper(fn); ok {
				m.helpers[path.Join(m.module, path.Dir(m.along(f.Name)), fn.Name.Name)] = n
			}
		}
	}
	return m.helpers
}

// watchHelper says whether a function is such, and how many parameters it has.
func (f *goFile) watchHelper(fn *ast.FuncDecl) (params int, ok bool) {
	if fn.Recv != nil || fn.Body == nil || f.managerParam(fn) != "" {
		return 0, false
	}
	variable := ""
	for _, p := range fn.Type.Params.List {
		if _, variadic := p.Type.(*ast.Ellipsis); variadic {
			return 0, false
		}
		if len(p.Names) == 1 && f.Is(p.Type, crController, "Controller") {
			variable = p.Names[0].Name
		}
	}
	return fn.Type.Params.NumFields(), goedit.Has(fn.Body, func(call *ast.CallExpr) bool {
		_, old := f.readWatch(call)
		return old && callee(call) == "Watch" && variable != "" && mentions(call.Fun, variable)
	})
}

// helperPass gives those functions the manager, and passes it where they are
// called.
func (m *migration) helperPass(f *goFile) {
	helpers, own := m.watchHelpers(), path.Join(m.module, path.Dir(m.along(f.Name)))
	for fn := range f.Functions() {
		mgr := f.managerParam(fn)
		if _, ok := helpers[path.Join(own, fn.Name.Name)]; ok && fn.Recv == nil && mgr == "" {
			mgr = "mgr"
			f.Insert(fn.Type.Params.List[len(fn.Type.Params.List)-1].End(), ", mgr "+f.Need(crManager, "")+".Manager")
		}
		for call := range goedit.Each[*ast.CallExpr](fn.Body) {
			switch n, ok := helpers[f.called(call, own)]; {
			case !ok || len(call.Args) != n:
			case mgr == "":
				f.todo(call, "%s takes the manager as its last argument now, which is not at hand here", callee(call))
			default:
				f.Insert(call.Args[n-1].End(), ", "+mgr)
			}
		}
	}
}

// called is the function that is called, by the import path of its package, which
// is the file's own or another; empty for methods.
func (f *goFile) called(call *ast.CallExpr, own string) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return path.Join(own, fun.Name)
	case *ast.SelectorExpr:
		if id, isName := fun.X.(*ast.Ident); isName && id.Obj == nil {
			return path.Join(f.ImportPath(id.Name), fun.Sel.Name)
		}
	}
	return ""
}
