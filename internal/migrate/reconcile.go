package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

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
	return len(list) > 0 && f.isRequest(list[len(list)-1].Type) && fn.Type.Params.NumFields() <= 2
}

func (f *goFile) isRequest(e ast.Expr) bool {
	return f.Is(e, crReconcile, "Request") || f.Is(e, crRoot, "Request")
}

// structOf is the struct type of the name, nil where the file has none.
func (f *goFile) structOf(name string) *ast.StructType {
	for _, t := range f.Types() {
		if t.Name.Name == name {
			st, _ := t.Type.(*ast.StructType)
			return st
		}
	}
	return nil
}

func (f *goFile) function(name string) *ast.FuncDecl {
	for fn := range f.Functions() {
		if fn.Recv == nil && fn.Name.Name == name {
			return fn
		}
	}
	return nil
}

// typeOf is the type in the text of an empty value: &T{} or new(T).
func typeOf(value string) string {
	if t, ok := strings.CutPrefix(value, "new("); ok {
		return strings.TrimSuffix(t, ")")
	}
	return strings.TrimSuffix(strings.TrimPrefix(value, "&"), "{}")
}

// setUpByAdd has the scaffold's main program and test, which name
// MemcachedReconciler, use a ReconcileMemcached by its function Add.
func setUpByAdd(f *goFile) {
	add := f.function("Add")
	if add == nil || f.managerParam(add) == "" || add.Type.Params.NumFields() != 1 {
		return
	}
	var old *ast.FuncDecl
	for fn := range f.Functions() {
		switch {
		case fn.Recv != nil && fn.Name.Name == "SetupWithManager":
			return
		case old == nil && f.isReconcile(fn):
			old = fn
		}
	}
	if old == nil {
		return
	}
	typ := goedit.Receiver(old)
	kind, ok := strings.CutPrefix(typ, "Reconcile")
	if st := f.structOf(typ); ok && st != nil && kind != "" && kind != "r" && f.Tree.Scope.Lookup(kind+"Reconciler") == nil {
		typ = kind + "Reconciler"
		f.standIn(typ, old, st)
	}
	f.Append(fmt.Sprintf("\n// SetupWithManager adds the controller to the manager.\nfunc (*%s) SetupWithManager(mgr %s) error { return Add(mgr) }\n",
		typ, f.Text(add.Type.Params.List[0].Type)))
}

// standIn declares a type with the fields of the scaffold's reconcilers, which
// reconciles by one of before.
func (f *goFile) standIn(name string, old *ast.FuncDecl, st *ast.StructType) {
	scheme, values := f.Need(apiRuntime, "")+".Scheme", ""
	for _, field := range st.Fields.List {
		for _, n := range append(field.Names, ast.NewIdent(goedit.TypeName(field.Type)))[:max(len(field.Names), 1)] {
			switch {
			case f.Is(field.Type, crClient, "Client"):
				values += n.Name + ": r.Client, "
			case f.Text(field.Type) == "*"+scheme:
				values += n.Name + ": r.Scheme, "
			}
		}
	}
	params := old.Type.Params.List
	f.Append(fmt.Sprintf(`
// %[1]s is what cmd/main.go sets up and tests call; %[2]s does the work.
type %[1]s struct {
	%[3]s.Client
	Scheme *%[4]s
}

// Reconcile calls %[2]s.
func (r *%[1]s) Reconcile(ctx %[5]s.Context, req %[6]s) (%[7]s, error) {
	return (&%[2]s{%[8]s}).Reconcile(ctx, req)
}
`, name, goedit.Receiver(old), f.Need(crClient, ""), scheme, f.Need("context", ""),
		f.Text(params[len(params)-1].Type), f.Text(old.Type.Results.List[0].Type), strings.TrimSuffix(values, ", ")))
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
	if name == "reconcileCtx" && !f.usesFreshContext(fn.Body) {
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
