package migrate

import (
	"go/ast"
	"path"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// watchHelpers finds functions that watch with a controller that they are given,
// and need the manager for that today, as their last parameter. It returns how
// many parameters they had, by the new import path of their package and their name.
func (m *migration) watchHelpers() map[string]map[string]int {
	if m.helpers != nil {
		return m.helpers
	}
	m.helpers = map[string]map[string]int{}
	for f := range m.parse(m.ownCode()) {
		for fn := range f.Functions() {
			if n, ok := f.watchHelper(fn); ok {
				at := path.Join(m.module, path.Dir(m.along(f.Name)))
				if m.helpers[at] == nil {
					m.helpers[at] = map[string]int{}
				}
				m.helpers[at][fn.Name.Name] = n
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
	helpers := m.watchHelpers()
	own := helpers[path.Join(m.module, path.Dir(m.along(f.Name)))]
	for fn := range f.Functions() {
		mgr := f.managerParam(fn)
		if _, ok := own[fn.Name.Name]; ok && fn.Recv == nil && mgr == "" {
			mgr = "mgr"
			f.Insert(fn.Type.Params.List[len(fn.Type.Params.List)-1].End(), ", mgr "+f.Need(crManager, "")+".Manager")
		}
		for call := range goedit.Each[*ast.CallExpr](fn.Body) {
			switch n, ok := f.helperOf(call, own, helpers); {
			case !ok || len(call.Args) != n:
			case mgr == "":
				f.todo(call, "%s takes the manager as its last argument now, which is not at hand here", callee(call))
			default:
				f.Insert(call.Args[n-1].End(), ", "+mgr)
			}
		}
	}
}

// helperOf is how many parameters the helper had that is called, of the file's own
// package or another.
func (f *goFile) helperOf(call *ast.CallExpr, own map[string]int, all map[string]map[string]int) (params int, ok bool) {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		params, ok = own[fun.Name]
	case *ast.SelectorExpr:
		id, isName := fun.X.(*ast.Ident)
		if !isName || id.Obj != nil {
			return 0, false
		}
		params, ok = all[f.ImportPath(id.Name)][fun.Sel.Name]
	}
	return params, ok
}
