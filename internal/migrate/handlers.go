package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// eventHandlers gives functions that map objects, filter events or handle
// them today's parameters, and their bodies today's fields.
func eventHandlers(f *goFile) {
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			f.eventFunc(n.Type, n.Body)
		case *ast.FuncLit:
			f.eventFunc(n.Type, n.Body)
		case *ast.CompositeLit:
			f.eventLiteral(n)
		case *ast.CallExpr:
			if c := f.calls(n, crHandler, "ToRequestsFunc"); c != nil && len(c.Args) == 1 {
				f.Replace(c, f.Text(c.Args[0]))
			}
		case *ast.SelectorExpr:
			if f.Is(n, crHandler, "ToRequestsFunc") {
				f.Replace(n.Sel, "MapFunc")
			}
		}
		return true
	})
}

// eventFunc changes one function, if it is such.
func (f *goFile) eventFunc(t *ast.FuncType, body *ast.BlockStmt) {
	if body == nil || t.Params == nil || len(t.Params.List) == 0 {
		return
	}
	p := t.Params.List[0]
	if len(p.Names) > 1 {
		return
	}
	isOnly, isOld := len(t.Params.List) == 1, f.Is(p.Type, crHandler, "MapObject")
	if isOnly && isOld {
		f.mapObject(p, body)
	}
	if isOnly && (isOld || f.Is(p.Type, crClient, "Object") && f.returnsRequests(t)) {
		f.mapContext(p, body)
		return
	}
	for event, fields := range eventFields {
		if f.Is(p.Type, crEvent, event) {
			f.renameFields(body, p, fields)
			f.contextParam(t)
		}
	}
	if f.ImportName(crEvent)+f.ImportName(crHandler) != "" {
		f.queueParams(t)
	}
}

// eventLiteral takes the metadata out of an event that has its object, too.
func (f *goFile) eventLiteral(lit *ast.CompositeLit) {
	for event, fields := range eventFields {
		if !f.Is(lit.Type, crEvent, event) {
			continue
		}
		for i, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok || fields[f.Text(kv.Key)] == "" {
				continue
			}
			if goedit.Field(lit, fields[f.Text(kv.Key)]) == nil {
				f.Replace(kv.Key, fields[f.Text(kv.Key)])
				continue
			}
			f.CutElement(lit, i)
		}
	}
}

// eventFields are the fields that events had besides the objects, and what is
// in their place.
var eventFields = map[string]map[string]string{
	"CreateEvent": {"Meta": "Object"}, "DeleteEvent": {"Meta": "Object"}, "GenericEvent": {"Meta": "Object"},
	"UpdateEvent": {"MetaOld": "ObjectOld", "MetaNew": "ObjectNew"},
}

// isParam says whether an expression is a parameter, and no other variable of
// its name.
func isParam(e ast.Expr, param *ast.Field) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Obj != nil && id.Obj.Decl == param
}

func (f *goFile) renameFields(body ast.Node, param *ast.Field, fields map[string]string) {
	for sel := range goedit.Each[*ast.SelectorExpr](body) {
		if isParam(sel.X, param) && fields[sel.Sel.Name] != "" {
			f.Replace(sel.Sel, fields[sel.Sel.Name])
		}
	}
}

// contextParam adds the context to functions that put requests of an event into
// a queue.
func (f *goFile) contextParam(t *ast.FuncType) {
	if len(t.Params.List) != 2 || !f.Is(t.Params.List[1].Type, workqueueAt, "RateLimitingInterface") {
		return
	}
	name := ""
	if len(t.Params.List[0].Names) > 0 {
		name = "_ "
	}
	f.Insert(t.Params.List[0].Pos(), name+f.Need("context", "")+".Context, ")
}

// queueParams gives parameters that are queues of requests their type.
func (f *goFile) queueParams(t *ast.FuncType) {
	for _, p := range t.Params.List {
		if f.Is(p.Type, workqueueAt, "RateLimitingInterface") {
			f.Replace(p.Type, fmt.Sprintf("%s.TypedRateLimitingInterface[%s.Request]", f.ImportName(workqueueAt), f.Need(crReconcile, "")))
		}
	}
}

// returnsRequests says whether requests are all that a function returns.
func (f *goFile) returnsRequests(t *ast.FuncType) bool {
	if t.Results.NumFields() != 1 {
		return false
	}
	list, ok := t.Results.List[0].Type.(*ast.ArrayType)
	return ok && f.isAny(list.Elt, "Request", crReconcile, crRoot)
}

// mapContext adds the context before the only parameter of a function that maps
// an object to requests, which it has since controller-runtime 0.15.
func (f *goFile) mapContext(object *ast.Field, body *ast.BlockStmt) {
	name := ""
	if len(object.Names) > 0 {
		name = f.givenContext(body) + " "
	}
	f.Insert(object.Pos(), name+f.Need("context", "")+".Context, ")
}

// givenContext is the name of a new parameter for the context: a body that makes
// one of its own uses it instead.
func (f *goFile) givenContext(body *ast.BlockStmt) string {
	if !goedit.Has(body, f.isFreshContext) || declares(body, "ctx") {
		return "_"
	}
	f.freshContexts(body, "ctx")
	return "ctx"
}

// mapObject makes a client.Object of a handler.MapObject, which had it in two fields.
func (f *goFile) mapObject(param *ast.Field, body *ast.BlockStmt) {
	f.Replace(param.Type, f.Need(crClient, "")+".Object")
	for sel := range goedit.Each[*ast.SelectorExpr](body) {
		if isParam(sel.X, param) && (sel.Sel.Name == "Meta" || sel.Sel.Name == "Object") {
			f.Replace(sel, f.Text(sel.X))
		}
	}
}

// isFreshContext says whether an expression is context.TODO() or
// context.Background().
func (f *goFile) isFreshContext(e ast.Expr) bool {
	return f.calls(e, "context", "TODO") != nil || f.calls(e, "context", "Background") != nil
}

// freshContexts replaces contexts that come from nowhere by one that is there.
func (f *goFile) freshContexts(body ast.Node, ctx string) {
	for e := range goedit.Each[ast.Expr](body) {
		if f.isFreshContext(e) {
			f.Replace(e, ctx)
		}
	}
}

// declares says whether a body declares a name.
func declares(body ast.Node, name string) bool {
	return goedit.Has(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			return n.Tok == token.DEFINE && slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { return isNamed(e, name) })
		case *ast.ValueSpec:
			return slices.ContainsFunc(n.Names, func(id *ast.Ident) bool { return id.Name == name })
		}
		return false
	})
}

// watch is one call of Watch on a controller.
type watch struct {
	object     ast.Expr // what is watched
	handler    ast.Expr // what makes requests of its events
	predicates []string
	channel    string // text of the channel, for a source that is one
}

// readWatch reads the arguments of Watch, in the form of controller-runtime
// before 0.15. ok is false for sources that are something else.
func (f *goFile) readWatch(call *ast.CallExpr) (w watch, ok bool) {
	if len(call.Args) < 2 {
		return w, false
	}
	lit := goedit.Literal(call.Args[0])
	if lit == nil {
		return w, false
	}
	switch {
	case f.Is(lit.Type, crSource, "Kind"):
		w.object = goedit.Field(lit, "Type")
	case f.Is(lit.Type, crSource, "Channel"):
		w.channel = f.value(lit, "Source")
	}
	w.handler = call.Args[1]
	for _, p := range call.Args[2:] {
		w.predicates = append(w.predicates, f.Text(p))
	}
	if n := len(w.predicates); call.Ellipsis.IsValid() && n > 0 {
		w.predicates[n-1] += "..."
	}
	return w, w.object != nil || w.channel != ""
}

func (f *goFile) value(lit *ast.CompositeLit, key string) string {
	if e := goedit.Field(lit, key); e != nil {
		return f.Text(e)
	}
	return ""
}

// handlerText is how a handler is written today. mgr is the name of the
// manager that is at hand.
func (f *goFile) handlerText(e ast.Expr, mgr string) string {
	lit := goedit.Literal(e)
	if lit == nil {
		return f.Text(e)
	}
	pkg := f.ImportName(crHandler)
	switch {
	case f.Is(lit.Type, crHandler, "EnqueueRequestForOwner"):
		option := ""
		if f.value(lit, "IsController") == "true" {
			option = ", " + pkg + ".OnlyControllerOwner()"
		}
		return fmt.Sprintf("%s.EnqueueRequestForOwner(%s.GetScheme(), %s.GetRESTMapper(), %s%s)", pkg, mgr, mgr, f.value(lit, "OwnerType"), option)
	case f.Is(lit.Type, crHandler, "EnqueueRequestsFromMapFunc"):
		return fmt.Sprintf("%s.EnqueueRequestsFromMapFunc(%s)", pkg, f.mapperText(goedit.Field(lit, "ToRequests")))
	}
	return f.Text(e)
}

// mapperText is the function of what maps objects to requests: a function as
// such, or the method Map of a value.
func (f *goFile) mapperText(e ast.Expr) string {
	switch v := e.(type) {
	case nil:
		return "nil"
	case *ast.Ident:
		if !isFunc(v) {
			return v.Name + ".Map"
		}
	case *ast.UnaryExpr, *ast.CompositeLit:
		return "(" + f.Text(e) + ").Map"
	}
	return f.Text(e)
}

func isFunc(e ast.Expr) bool {
	if v, ok := e.(*ast.Ident); ok {
		return v.Obj == nil || v.Obj.Kind == ast.Fun || isFunc(assigned(v))
	}
	_, ok := e.(*ast.FuncLit)
	return ok
}

// oldWatches rewrites the watches that stay calls of Watch, because what is
// around them is not a list of watches only.
func oldWatches(f *goFile) {
	for fn := range f.Functions() {
		mgr := f.managerParam(fn)
		for call := range goedit.Each[*ast.CallExpr](fn.Body) {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Watch" {
				f.oldWatch(call, mgr)
			}
		}
	}
}

func (f *goFile) oldWatch(call *ast.CallExpr, mgr string) {
	w, ok := f.readWatch(call)
	var lit *ast.CompositeLit
	if len(call.Args) > 0 {
		lit = goedit.Literal(call.Args[0])
	}
	pkg := f.ImportName(crSource)
	switch {
	case !ok && lit != nil && slices.Contains([]string{"Kind", "Channel", "Informer"}, f.Member(lit.Type, crSource)):
		f.todo(call, "sources have their handler in them today: Watch(source.Kind(mgr.GetCache(), object, handler, predicates...))")
	case !ok:
	case mgr == "":
		f.todo(call, "Watch(source.Kind(mgr.GetCache(), object, handler, predicates...)): the manager is not at hand here")
	case w.channel != "":
		f.replaceArgs(call, fmt.Sprintf("%s.Channel(%s, %s)", pkg, w.channel, f.handlerText(w.handler, mgr)))
	default:
		args := []string{mgr + ".GetCache()", f.Need(crClient, "") + ".Object(" + f.Text(w.object) + ")", f.handlerText(w.handler, mgr)}
		f.replaceArgs(call, pkg+".Kind("+strings.Join(append(args, w.predicates...), ", ")+")")
	}
}

func (f *goFile) replaceArgs(call *ast.CallExpr, text string) {
	f.ReplaceRange(call.Lparen+1, call.Rparen, text)
}

// managerParam is the name of a function's parameter that is the manager.
func (f *goFile) managerParam(fn *ast.FuncDecl) string {
	for _, p := range fn.Type.Params.List {
		if f.isAny(p.Type, "Manager", crManager, crRoot) && len(p.Names) > 0 {
			return p.Names[0].Name
		}
	}
	return ""
}
