package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"iter"
	"slices"
	"strings"
)

// builder collects the calls of controller-runtime's builder.
type builder struct {
	file       *goFile
	controller *controller
	mgr        string
	reconciler string // name of add's parameter
	variable   string // name of the controller in add
	name       string // text of the controller's name
	options    string // text of further options
	primary    string // text of the object of For
	kept       []string
	calls      []string
	loops      []string // that add further calls
	declared   bool     // what is kept has declared err
	comment    string   // comments that belong to the next call or statement
}

// comments are the comments between two positions, each line with its end.
func (f *goFile) comments(from, to token.Pos) string {
	out := ""
	for _, group := range f.Tree.Comments {
		if group.Pos() > from && group.End() <= to {
			out += f.Text(group) + "\n"
		}
	}
	return out
}

// keep takes over a statement, with the comments above it.
func (b *builder) keep(text string) {
	b.kept = append(b.kept, b.comment+text)
	b.comment = ""
}

// call adds a call to the chain, with the comments above it.
func (b *builder) call(format string, args ...any) {
	b.calls = append(b.calls, b.comment+fmt.Sprintf(format, args...)+".")
	b.comment = ""
}

// read reads the statement at the head of the list and returns how many it
// took, an error check behind it included.
func (b *builder) read(list []ast.Stmt) (n int, ok bool) {
	s := list[0]
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return 1, len(list) == 1 && len(s.Results) == 1 && b.last(s.Results[0])
	case *ast.IfStmt: // if err := c.Watch(…); err != nil { return err }
		if a, ok := s.Init.(*ast.AssignStmt); ok && b.isCheck(s) && len(a.Rhs) == 1 {
			if call, ok := a.Rhs[0].(*ast.CallExpr); ok && b.watches(call) {
				return 1, true
			}
		}
		if s.Else == nil && b.block(s, s.Body) {
			return 1, true
		}
	case *ast.RangeStmt:
		if b.block(s, s.Body) {
			return 1, true
		}
	case *ast.AssignStmt:
		call, isCall := s.Rhs[0].(*ast.CallExpr)
		if len(s.Rhs) != 1 || !isCall {
			break
		}
		n := 1
		if len(list) > 1 {
			if check, ok := list[1].(*ast.IfStmt); ok && check.Init == nil && b.isCheck(check) {
				n = 2
			}
		}
		if n == 2 && (b.creates(s, call) || b.watches(call)) {
			return n, true
		}
	}
	if b.variable != "" && mentions(s, b.variable) || b.reconciler != "" && mentions(s, b.reconciler) {
		return 0, false
	}
	if b.variable != "" && returnsNil(s) {
		return 0, false // what is kept runs before there is a controller
	}
	if mentions(s, "err") && !declares(s, "err") && !b.declared {
		b.kept, b.declared = append(b.kept, "var err error"), true
	}
	b.declared = b.declared || declares(s, "err")
	b.keep(b.file.Text(s))
	return 1, true
}

// returnsNil says whether a statement may end the function without an error.
func returnsNil(s ast.Stmt) bool {
	for r := range returns(s) {
		if len(r.Results) == 1 && isNamed(r.Results[0], "nil") {
			return true
		}
	}
	return false
}

// returns are the statements in a node that return from the function that it
// is in, and not from one in it.
func returns(n ast.Node) iter.Seq[*ast.ReturnStmt] {
	return func(yield func(*ast.ReturnStmt) bool) {
		going := true
		ast.Inspect(n, func(n ast.Node) bool {
			if r, ok := n.(*ast.ReturnStmt); ok && going {
				going = yield(r)
			}
			_, inner := n.(*ast.FuncLit)
			return going && !inner
		})
	}
}

// isNamed says whether an expression is a name, one of several.
func isNamed(e ast.Expr, names ...string) bool {
	id, ok := e.(*ast.Ident)
	return ok && slices.Contains(names, id.Name)
}

// block reads a loop that watches one object after the other, or watches that
// are made under a condition.
func (b *builder) block(s ast.Stmt, body *ast.BlockStmt) bool {
	inner := &builder{file: b.file, controller: b.controller, mgr: b.mgr, reconciler: b.reconciler, variable: b.variable, name: b.name, primary: b.primary}
	if b.primary == "" {
		return false
	}
	list, at, lines, calls := body.List, body.Lbrace, "", 0
	for i := 0; i < len(list); i++ {
		lines += b.file.comments(at, list[i].Pos())
		n, ok := inner.read(list[i:])
		if !ok {
			return false
		}
		for _, call := range inner.calls {
			lines += "\tbuild = build." + strings.TrimSuffix(call, ".") + "\n"
			calls++
		}
		inner.calls = nil
		i += n - 1
		at = list[i].End()
	}
	lines += b.file.comments(at, body.Rbrace)
	if calls == 0 || len(inner.kept) > 0 {
		return false
	}
	text := b.comment + string(b.file.Src[b.file.Offset(s.Pos()):b.file.Offset(body.Lbrace)]) + "{\n" + lines
	b.comment = ""
	b.loops = append(b.loops, text+"}")
	return true
}

// last reads what add returns: nil, or the result of the last watch.
func (b *builder) last(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	return isNamed(e, "nil") || ok && b.watches(call)
}

// isCheck says whether a statement returns if there is an error, and does
// nothing else.
func (b *builder) isCheck(s *ast.IfStmt) bool {
	if squeeze(b.file.Text(s.Cond)) != "err!=nil" || s.Else != nil || len(s.Body.List) != 1 {
		return false
	}
	_, ok := s.Body.List[0].(*ast.ReturnStmt)
	return ok
}

// creates reads c, err := controller.New(name, mgr, options).
func (b *builder) creates(s *ast.AssignStmt, call *ast.CallExpr) bool {
	if b.file.calls(call, crController, "New") == nil || len(call.Args) != 3 || len(s.Lhs) != 2 {
		return false
	}
	lit := literalOf(call.Args[2])
	if lit == nil || b.name != "" {
		return false
	}
	var options []string
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		if b.file.Text(kv.Key) == "Reconciler" {
			if b.file.Text(kv.Value) != b.reconciler {
				return false
			}
			continue
		}
		options = append(options, b.file.Text(kv))
	}
	if len(options) > 0 {
		b.options = b.file.ImportName(crController) + ".Options{" + strings.Join(options, ", ") + "}"
	}
	b.variable, b.name = b.file.Text(s.Lhs[0]), b.file.Text(call.Args[0])
	return true
}

// watches reads c.Watch(…) into calls of the builder.
func (b *builder) watches(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Watch" || b.variable == "" || b.file.Text(sel.X) != b.variable {
		return false
	}
	w, ok := b.file.readWatch(call)
	if !ok {
		return false
	}
	if w.channel != "" {
		b.call("WatchesRawSource(%s.Channel(%s, %s))", b.file.ImportName(crSource), w.channel, b.file.handlerText(w.handler, b.mgr))
		return len(w.predicates) == 0
	}
	options := ""
	if len(w.predicates) > 0 {
		options = fmt.Sprintf(", builder.WithPredicates(%s)", strings.Join(w.predicates, ", "))
	}
	owner, controls, owns := b.file.isOwnerOf(w.handler)
	switch {
	case b.primary == "" && b.file.isForObject(w.handler):
		b.primary = w.object
		b.call("For(%s%s)", w.object, options)
	case owns && typeOf(squeeze(owner)) == typeOf(squeeze(b.primary)) && controls:
		b.call("Owns(%s%s)", w.object, options)
	case owns && typeOf(squeeze(owner)) == typeOf(squeeze(b.primary)):
		b.call("Owns(%s, builder.MatchEveryOwner%s)", w.object, options)
	default:
		b.call("Watches(%s, %s%s)", w.object, b.file.handlerText(w.handler, b.mgr), options)
	}
	return true
}

// text is SetupWithManager.
func (b *builder) text() string {
	c := b.controller
	var t strings.Builder
	fmt.Fprintf(&t, "// SetupWithManager registers the controller and says what wakes it.\n")
	fmt.Fprintf(&t, "func (%s *%s) SetupWithManager(mgr ctrl.Manager) error {\n", c.recv, c.newType)
	for _, s := range c.before {
		fmt.Fprintf(&t, "\t%s\n", s)
	}
	for _, s := range c.extra {
		fmt.Fprintf(&t, "\t%s.%s = %s\n", c.recv, s.field, s.value)
	}
	for _, s := range slices.Concat(c.after, b.kept) {
		fmt.Fprintf(&t, "\t%s\n", s)
	}
	start := "return "
	if len(b.loops) > 0 {
		start = "build := "
	}
	t.WriteString("\t" + start + "ctrl.NewControllerManagedBy(mgr).\n")
	for _, call := range b.calls {
		fmt.Fprintf(&t, "\t\t%s\n", call)
	}
	t.WriteString(b.comment)
	if b.options != "" {
		fmt.Fprintf(&t, "\t\tWithOptions(%s).\n", b.options)
	}
	fmt.Fprintf(&t, "\t\tNamed(%s)", b.name)
	if len(b.loops) == 0 {
		fmt.Fprintf(&t, ".\n\t\tComplete(%s)\n}", c.recv)
		return t.String()
	}
	for _, l := range b.loops {
		t.WriteString("\n" + l)
	}
	fmt.Fprintf(&t, "\nreturn build.Complete(%s)\n}", c.recv)
	return t.String()
}
