package migrate

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// addedFunc is a function that pkg/controller adds to the manager.
type addedFunc struct {
	importPath string
	pkg        string // name by which the new main program calls its package
	name       string
	text       string // as it stood
}

// managerFuncs is the list of operator-sdk v0.x of what is added to the manager.
const managerFuncs = "AddToManagerFuncs"

// addedFuncs reads what pkg/controller adds to the manager, but for the Add of
// controllers. What cannot be called from another package is marked.
func (m *migration) addedFuncs(p *oldProgram) ([]addedFunc, error) {
	var out []addedFunc
	for _, name := range inDir(m.files, "pkg/controller") {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parseGo(name, m.files[name].data)
		if err != nil {
			return nil, err
		}
		for _, e := range f.managerFuncs() {
			fn, ok := m.addedFunc(f, e)
			switch {
			case !ok:
				p.setup += addedLines(f, e)
			case fn.name != "Add" || m.controllerOf(fn.importPath) == nil:
				out = append(out, fn)
			}
		}
		m.addedByHand(f, p)
	}
	return out, nil
}

// addedLines mark a part of pkg/controller in the new main program.
func addedLines(f *goFile, n ast.Node) string {
	return markedLines(f.Name, f, n, "did this with the manager, besides adding the controllers")
}

// managerFuncs are the entries of the list in a file.
func (f *goFile) managerFuncs() []ast.Expr {
	var out []ast.Expr
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f.Text(n.Fun) == "append" && len(n.Args) > 1 && f.Text(n.Args[0]) == managerFuncs {
				out = append(out, n.Args[1:]...)
			}
		case *ast.ValueSpec:
			if len(n.Values) == 1 && n.Names[0].Name == managerFuncs {
				if lit := literalOf(n.Values[0]); lit != nil {
					out = append(out, lit.Elts...)
				}
			}
		}
		return true
	})
	return out
}

// addedFunc finds out which function of which package an entry is.
func (m *migration) addedFunc(f *goFile, e ast.Expr) (addedFunc, bool) {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return addedFunc{}, false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok || id.Obj != nil {
		return addedFunc{}, false
	}
	at, pkg := f.ImportPath(id.Name), id.Name
	if dir, below := strings.CutPrefix(at, m.module+"/pkg/controller/"); below && !strings.Contains(dir, "/") {
		pkg = m.controllerName(&controller{dir: dir})
	}
	return addedFunc{importPath: at, pkg: pkg, name: sel.Sel.Name, text: f.Text(e)}, at != ""
}

// controllerOf is the controller in a package, nil where there is none.
func (m *migration) controllerOf(importPath string) *controller {
	for _, c := range m.controllers {
		if importPath == path.Join(m.module, c.where()) {
			return c
		}
	}
	return nil
}

// addedByHand marks what AddToManager does besides going through the list.
func (m *migration) addedByHand(f *goFile, p *oldProgram) {
	fn := f.function("AddToManager")
	if fn == nil || fn.Body == nil {
		return
	}
	for _, s := range fn.Body.List {
		if r, ok := s.(*ast.RangeStmt); ok && f.Text(r.X) == managerFuncs || isBareReturn(s) || m.addsControllers(f, s) {
			continue
		}
		p.setup += addedLines(f, s)
	}
}

// addsControllers says whether a statement adds controllers of the project to
// the manager, and does nothing else.
func (m *migration) addsControllers(f *goFile, s ast.Stmt) bool {
	calls, only := 0, true
	for call := range goedit.Each[*ast.CallExpr](s) {
		fn, known := m.addedFunc(f, call.Fun)
		calls++
		only = only && known && fn.name == "Add" && m.controllerOf(fn.importPath) != nil
	}
	return calls > 0 && only
}

// isOnlyList says whether a file of pkg/controller does nothing but to put
// functions into the list of what is added to the manager.
func (m *migration) isOnlyList(name string) bool {
	f, err := parseGo(name, m.files[name].data)
	if err != nil {
		return false // it is told when the file is carried over
	}
	lists := 0
	for _, d := range f.Tree.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				return false
			}
		case *ast.FuncDecl:
			if !f.isList(d) {
				return false
			}
			lists++
		}
	}
	return lists > 0
}

// isList says whether a function is an init that does nothing else.
func (f *goFile) isList(fn *ast.FuncDecl) bool {
	if fn.Recv != nil || fn.Name.Name != "init" || fn.Body == nil {
		return false
	}
	return !slices.ContainsFunc(fn.Body.List, func(s ast.Stmt) bool { return !f.addsToList(s) })
}

func (f *goFile) addsToList(s ast.Stmt) bool {
	a, ok := s.(*ast.AssignStmt)
	return ok && len(a.Lhs) == 1 && f.Text(a.Lhs[0]) == managerFuncs
}

// withoutList takes out what puts functions into the list, which is gone.
func withoutList(f *goFile) {
	for fn := range f.Functions() {
		if f.isList(fn) {
			f.RemoveLines(fn)
			continue
		}
		for _, s := range fn.Body.List {
			if f.addsToList(s) {
				f.RemoveLines(s)
			}
		}
	}
}
