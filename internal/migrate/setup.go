package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"

	lazy "go.podman.io/storage/pkg/regexp"
)

// readSetup turns Add, newReconciler and add into SetupWithManager, if they
// are what the scaffold wrote but for what is watched and how.
func (c *controller) readSetup(files []*goFile) {
	find := func(name string) (*goFile, *ast.FuncDecl) {
		for _, f := range files {
			if fn := f.function(name); fn != nil && fn.Body != nil {
				return f, fn
			}
		}
		return nil, nil
	}
	af, add := find("add")
	nf, newReconciler := find("newReconciler")
	xf, exported := find("Add")
	switch {
	case exported == nil:
		c.why = "there is no function Add"
	case add == nil || newReconciler == nil:
		c.why = "it does not call add(mgr, newReconciler(mgr))"
	case !c.readNew(nf, newReconciler):
		c.why = "newReconciler does more than to make the reconciler"
	case !c.readExported(xf, exported):
		c.why = "Add does more than to call add(mgr, newReconciler(mgr))"
	case c.collides(exported, newReconciler):
		c.why = "Add and newReconciler have variables of the same name"
	case af.function("Add") == nil || af.function("newReconciler") == nil:
		c.why = "Add, newReconciler and add are in several files"
	default:
		c.readAdd(af, add)
	}
	if exported != nil && exported.Type.Params.NumFields() > 1 {
		c.given = strings.Join(strings.Fields(xf.Text(exported.Type.Params)), " ")
	}
	if c.kind == "" && add != nil {
		c.kind = primaryKind(af, add)
	}
}

// errDeclared finds a statement that declares err for those behind it.
var errDeclared = lazy.Delayed(`(?m)^(\w+, )*err(, \w+)* :=|^var err `)

// squeeze takes out white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// readNew reads the fields that newReconciler sets, and the statements that it
// needs for them.
func (c *controller) readNew(f *goFile, fn *ast.FuncDecl) bool {
	mgr, list := f.managerParam(fn), fn.Body.List
	if mgr == "" || len(list) == 0 || fn.Type.Params.NumFields() != 1 {
		return false
	}
	ret, ok := list[len(list)-1].(*ast.ReturnStmt)
	if !ok || len(ret.Results) == 0 || len(ret.Results) > 2 || len(ret.Results) == 2 && f.Text(ret.Results[1]) != "nil" {
		return false
	}
	list = list[:len(list)-1]
	lit := literalOf(ret.Results[0])
	if id, isName := ret.Results[0].(*ast.Ident); isName && len(list) > 0 { // r := &ReconcileX{…}; return r
		if a, ok := list[len(list)-1].(*ast.AssignStmt); ok && a.Tok == token.DEFINE && len(a.Lhs) == 1 && f.Text(a.Lhs[0]) == id.Name {
			lit, list = literalOf(a.Rhs[0]), list[:len(list)-1]
		}
	}
	if lit == nil || f.Text(lit.Type) != c.typ || mgr != "mgr" && len(list) > 0 {
		return false
	}
	at := fn.Body.Lbrace
	for _, s := range list {
		text, ok := f.withoutNil(s, len(ret.Results))
		if !ok || declares(s, c.recv) {
			return false
		}
		c.before = append(c.before, f.comments(at, s.Pos())+text)
		at = s.End()
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, value := f.Text(kv.Key), f.Text(kv.Value)
		if to := c.fields[key]; to == "Client" && value == mgr+".GetClient()" || to == "Scheme" && value == mgr+".GetScheme()" {
			continue
		}
		if mgr != "mgr" {
			return false
		}
		if to := c.fields[key]; to != "" {
			key = to
		}
		c.extra = append(c.extra, setting{key, value})
	}
	return true
}

// withoutNil is the text of a statement of a function with results, for one
// that returns an error only. ok is false for a statement that returns
// something else.
func (f *goFile) withoutNil(s ast.Stmt, results int) (text string, ok bool) {
	var edits []goedit.Edit
	for r := range returns(s) {
		if results != 2 || len(r.Results) != 2 || f.Text(r.Results[0]) != "nil" || f.Text(r.Results[1]) == "nil" {
			return "", false
		}
		edits = append(edits, goedit.Edit{From: r.Results[0].Pos(), To: r.Results[1].Pos()})
	}
	return f.With(s, edits...), true
}

// readExported reads Add: the statements besides those that make the
// reconciler and hand it to add.
func (c *controller) readExported(f *goFile, fn *ast.FuncDecl) bool {
	list, made, at := fn.Body.List, "newReconciler(mgr)", fn.Body.Lbrace
	if f.managerParam(fn) != "mgr" || len(list) == 0 || fn.Type.Params.NumFields() != 1 {
		return false
	}
	after := false
	for i, s := range list {
		last := i == len(list)-1
		check, isCheck := s.(*ast.IfStmt)
		a, isAssign := s.(*ast.AssignStmt)
		switch text := squeeze(f.Text(s)); {
		case last:
			return text == "returnadd(mgr,"+made+")"
		case isAssign && len(a.Rhs) == 1 && squeeze(f.Text(a.Rhs[0])) == "newReconciler(mgr)":
			made, after = f.Text(a.Lhs[0]), true
		case after && i > 0 && isCheck && check.Init == nil && squeeze(f.Text(list[i-1])) == made+",err:=newReconciler(mgr)" && squeeze(f.Text(check)) == "iferr!=nil{returnerr}":
		case mentions(s, made) || declares(s, c.recv):
			return false
		case after:
			c.after = append(c.after, f.comments(at, s.Pos())+f.Text(s))
		default:
			c.before = append(c.before, f.comments(at, s.Pos())+f.Text(s))
		}
		at = s.End()
	}
	return false
}

// collides says whether two of the functions that become one declare variables
// of the same name at their top.
func (c *controller) collides(exported, newReconciler *ast.FuncDecl) bool {
	seen := map[string]bool{}
	for _, fn := range []*ast.FuncDecl{exported, newReconciler} {
		here := map[string]bool{}
		for _, s := range fn.Body.List {
			if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE && !callsNew(a) {
				for _, l := range a.Lhs {
					if id, ok := l.(*ast.Ident); ok && id.Name != "_" && id.Name != c.recv && (id.Name != "err" || len(a.Lhs) == 1) {
						here[id.Name] = true
					}
				}
			}
		}
		for name := range here {
			if seen[name] {
				return true
			}
			seen[name] = true
		}
	}
	return false
}

// callsNew says whether an assignment is of what newReconciler makes.
func callsNew(a *ast.AssignStmt) bool {
	call, ok := a.Rhs[0].(*ast.CallExpr)
	return ok && len(a.Rhs) == 1 && callee(call) == "newReconciler"
}

// readAdd makes SetupWithManager of add.
func (c *controller) readAdd(f *goFile, fn *ast.FuncDecl) {
	b := &builder{file: f, controller: c, mgr: f.managerParam(fn)}
	if b.mgr != "mgr" || fn.Type.Params.NumFields() != 2 {
		c.why = "add has other parameters than the scaffold's"
		return
	}
	if names := fn.Type.Params.List[len(fn.Type.Params.List)-1].Names; len(names) == 1 {
		b.reconciler = names[0].Name
	}
	for _, s := range slices.Concat(c.before, c.after) {
		b.declared = b.declared || errDeclared.MatchString(s)
	}
	list, at := fn.Body.List, fn.Body.Lbrace
	for i := 0; i < len(list); i++ {
		b.comment += f.comments(at, list[i].Pos())
		if at = list[i].End(); i+1 < len(list) {
			if check, ok := list[i+1].(*ast.IfStmt); ok && check.Init == nil && b.isCheck(check) {
				b.comment += f.comments(at, check.Pos())
				at = check.Pos()
			}
		}
		n, ok := b.read(list[i:])
		if !ok {
			c.why = fmt.Sprintf("line %d of add is no plain watch", f.Line(list[i].Pos()))
			return
		}
		i += n - 1
		at = max(at, list[i].End())
	}
	b.comment += f.comments(at, fn.Body.Rbrace)
	if b.name == "" {
		c.why = "add does not call controller.New"
		return
	}
	c.setup = b.text()
	c.kind = typeOf(b.primary)
}
