package migrate

import (
	"go/ast"
	"go/token"

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
	return len(list) > 0 && f.isAny(list[len(list)-1].Type, "Request", crReconcile, crRoot) && fn.Type.Params.NumFields() <= 2
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
