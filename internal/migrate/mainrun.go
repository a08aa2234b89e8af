package migrate

import (
	"go/ast"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// work is what main does, and who does it.
type work struct {
	list    []ast.Stmt
	through []*ast.FuncDecl // functions that main leaves it to
}

// workOf finds the statements of main. Where main leaves them to a function,
// they stand in the place of its call. ok is false where no manager is made
// among them.
func (p *mainParts) workOf(f *goFile, fn *ast.FuncDecl) (w work, ok bool) {
	if slices.ContainsFunc(fn.Body.List, func(s ast.Stmt) bool { return f.makesManager(s) }) {
		return work{list: fn.Body.List}, true
	}
	for i, s := range fn.Body.List {
		call, next := f.delegate(s)
		if next == nil {
			continue
		}
		inner, found := p.workOf(f, next)
		if !found {
			continue
		}
		rest := fn.Body.List[i+1:]
		if len(rest) > 0 && f.isReport(rest[0]) {
			rest = rest[1:] // what it returned
		}
		p.readArguments(call, next)
		return work{slices.Concat(fn.Body.List[:i], inner.list, rest), append(inner.through, next)}, true
	}
	return work{list: fn.Body.List}, false
}

// makesManager says whether a statement makes the manager, by itself or by a
// function that returns it.
func (f *goFile) makesManager(s ast.Node) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			found = found || f.isNewManager(n)
		case *ast.AssignStmt:
			id, ok := n.Lhs[0].(*ast.Ident)
			found = found || ok && id.Name == "mgr"
		}
		return !found
	})
	return found
}

func (f *goFile) isNewManager(e ast.Expr) bool {
	return f.calls(e, crRoot, "NewManager") != nil || f.calls(e, crManager, "New") != nil
}

// delegate is the function of the file that a statement calls, with nothing
// done about it but that its error is reported; nil for any other.
func (f *goFile) delegate(s ast.Stmt) (*ast.CallExpr, *ast.FuncDecl) {
	if check, ok := s.(*ast.IfStmt); ok {
		if check.Init == nil || !f.isReport(check) {
			return nil, nil
		}
		s = check.Init
	}
	var call *ast.CallExpr
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, _ = s.X.(*ast.CallExpr)
	case *ast.AssignStmt:
		if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
			call, _ = s.Rhs[0].(*ast.CallExpr)
		}
	}
	if call == nil {
		return nil, nil
	}
	id, ok := call.Fun.(*ast.Ident)
	if !ok || !f.isOfPackage(id) || f.mentionsOf(id) != 2 { // here, and where it is declared
		return nil, nil
	}
	fn, ok := id.Obj.Decl.(*ast.FuncDecl)
	if !ok || fn.Body == nil || fn.Type.Params.NumFields() != len(call.Args) || fn.Type.Results.NumFields() > 1 ||
		fn.Type.Results.NumFields() == 1 && f.text(fn.Type.Results.List[0].Type) != "error" {
		return nil, nil
	}
	return call, fn
}

// mentionsOf counts the places where a name of the file stands.
func (f *goFile) mentionsOf(id *ast.Ident) int {
	n := 0
	ast.Inspect(f.tree, func(node ast.Node) bool {
		if other, ok := node.(*ast.Ident); ok && other.Obj == id.Obj {
			n++
		}
		return true
	})
	return n
}

// isReport says whether a statement reports an error and ends the program, and
// does nothing else.
func (f *goFile) isReport(s ast.Stmt) bool {
	check, ok := s.(*ast.IfStmt)
	if !ok || check.Else != nil || squeeze(f.text(check.Cond)) != "err!=nil" {
		return false
	}
	only := true
	ast.Inspect(check.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			text := f.text(call.Fun)
			only = only && (hasAnyPrefix(text, "log.", "setupLog.", "klog.", "fmt.", "err.") || text == "os.Exit" || text == "panic")
		}
		return only
	})
	return only
}

// isBareReturn says whether a statement ends a function with what it has: nil,
// or the error of the statement before.
func isBareReturn(s ast.Stmt) bool {
	r, ok := s.(*ast.ReturnStmt)
	return ok && !slices.ContainsFunc(r.Results, func(e ast.Expr) bool {
		id, isName := e.(*ast.Ident)
		return !isName || id.Name != "nil" && id.Name != "err"
	})
}

// readArguments notes what the parameters of a function stand for.
func (p *mainParts) readArguments(call *ast.CallExpr, fn *ast.FuncDecl) {
	i := 0
	for _, field := range fn.Type.Params.List {
		for _, name := range field.Names {
			if name.Obj != nil {
				p.args[name.Obj] = call.Args[i]
			}
			i++
		}
	}
}

// elsewhere marks all of main, where it makes its manager in a place that it
// cannot be followed to.
func (p *mainParts) elsewhere(f *goFile, fn *ast.FuncDecl) {
	l := leftover{file: f.name, first: f.line(fn.Body.Lbrace), last: f.line(fn.Body.Rbrace), phase: beforeManager}
	var lines []string
	for _, s := range fn.Body.List {
		lines = append(lines, f.text(s))
	}
	l.text = strings.Join(lines, "\n")
	p.left = append(p.left, l)
}

// markManagers marks functions that go on making a manager.
func markManagers(f *goFile) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && f.isNewManager(e) {
			f.todo(n, "%s makes the manager now: move there what is done with this one, and take this out", newMain)
		}
		return true
	})
}

// isSignal says whether an expression waits for the signal to stop.
func (f *goFile) isSignal(e ast.Expr) bool {
	for _, at := range []string{crRoot, crManager + "/signals", "sigs.k8s.io/controller-runtime/pkg/runtime/signals"} {
		if f.calls(e, at, "SetupSignalHandler") != nil {
			return true
		}
	}
	return false
}

// signal reads the statement that makes the context which ends with the signal
// to stop. The new main program makes it at the same place, if something needs
// it there.
func (p *mainParts) signal(f *goFile, s ast.Stmt, phase int) bool {
	a, ok := s.(*ast.AssignStmt)
	if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 || !f.isSignal(a.Rhs[0]) {
		return false
	}
	id, ok := a.Lhs[0].(*ast.Ident)
	if !ok || id.Obj == nil || p.stop != "" {
		return false
	}
	p.addSignal(f, id, phase)
	return true
}

// addSignal notes the name of the context. It was a channel once.
func (p *mainParts) addSignal(f *goFile, id *ast.Ident, phase int) {
	p.stop, p.signals[id.Obj] = id.Name, id.Name
	if p.channels {
		p.signals[id.Obj] += ".Done()"
	}
	p.left = append(p.left, leftover{file: f.name, phase: phase, text: id.Name + " := ctrl.SetupSignalHandler()", carried: true, signal: true})
}

// signalArguments finds the context among what main gives to the function that
// it leaves the work to.
func (p *mainParts) signalArguments(f *goFile, through []*ast.FuncDecl) {
	for _, fn := range through {
		for _, field := range fn.Type.Params.List {
			for _, name := range field.Names {
				if arg := p.args[name.Obj]; name.Obj != nil && arg != nil && f.isSignal(arg) && p.stop == "" {
					p.addSignal(f, name, beforeFlags)
				}
			}
		}
	}
}

// startCall is the call in a statement that starts the manager, nil for none.
func startCall(f *goFile, s ast.Stmt) *ast.CallExpr {
	var found *ast.CallExpr
	ast.Inspect(s, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 && squeeze(f.text(call.Fun)) == "mgr.Start" {
			found = call
		}
		return found == nil
	})
	return found
}

// start reads the statement that starts the manager, and says whether it is
// one that the new main program has.
func (r *optionReader) start(s ast.Stmt) bool {
	call := startCall(r.file, s)
	if call == nil || !r.m.isScaffoldStatement(r.file, s) {
		return false
	}
	id, ok := call.Args[0].(*ast.Ident)
	if !ok || id.Obj == nil {
		return true
	}
	if r.carried[id.Obj] || r.file.isOfPackage(id) {
		r.parts.start = id.Name
	}
	return true
}

// starts has the new main program's manager stopped by what stopped the old
// one's.
func (p *mainParts) starts(text string) string {
	const handler = "mgr.Start(ctrl.SetupSignalHandler())"
	switch {
	case p.start != "":
		return strings.Replace(text, handler, "mgr.Start("+p.start+")", 1)
	case p.signaled:
		return strings.Replace(text, handler, "mgr.Start("+p.stop+")", 1)
	}
	return text
}

// signalsByChannel says whether the project is of before controller-runtime
// 0.7, which gave channels where there are contexts today.
func (m *migration) signalsByChannel() bool {
	old, err := modfile.ParseLax("go.mod", m.files["go.mod"].data, nil)
	if err != nil {
		return false // it is told when go.mod is carried over
	}
	for _, r := range old.Require {
		if r.Mod.Path == crRoot {
			return semver.Compare(r.Mod.Version, "v0.7.0") < 0
		}
	}
	return m.layout == LayoutSDK0
}

// isOwnTypes says whether a package has types that PROJECT knows: those the new
// main program adds to the scheme itself.
func (m *migration) isOwnTypes(importPath string) bool {
	return importPath == m.module+"/pkg/apis" || slices.ContainsFunc(m.apis, func(a *apiVersion) bool { return importPath == path.Join(m.module, a.dir) })
}
