package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// renamedMembers are members of packages that have another name today, by
// package and old name.
func renamedMembers() map[string]map[string]string {
	return map[string]map[string]string{
		crClient: {
			"ListOptionFunc": "ListOption", "CreateOptionFunc": "CreateOption", "UpdateOptionFunc": "UpdateOption",
			"DeleteOptionFunc": "DeleteOption", "PatchOptionFunc": "PatchOption", "ConstantPatch": "RawPatch",
		},
		crHandler: {"Mapper": "MapFunc"},
	}
}

// clientAPI carries calls of controller-runtime's client over to how they are
// written today.
func clientAPI(f *goFile) {
	renamed := renamedMembers()
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			for pkg, names := range renamed {
				if to := names[n.Sel.Name]; to != "" && f.Is(n, pkg, n.Sel.Name) {
					f.Replace(n.Sel, to)
				}
			}
		case *ast.CallExpr:
			f.listCall(n)
			f.listOptions(n)
			f.mutateCall(n)
			f.recorderCall(n)
		case *ast.AssignStmt:
			f.objectKey(n)
		case *ast.FuncDecl:
			f.injector(n)
			f.onAdd(n)
		}
		return true
	})
}

// onAdd gives handlers of client-go's informers the parameter that tells
// whether an object is of the first list.
func (f *goFile) onAdd(d *ast.FuncDecl) {
	if d.Name.Name != "OnAdd" || d.Recv == nil || d.Type.Params.NumFields() != 1 {
		return
	}
	p := d.Type.Params.List[0]
	if text := squeeze(f.Text(p.Type)); text != "interface{}" && text != "any" {
		return
	}
	if len(p.Names) == 0 {
		f.Insert(p.Pos(), "_ ")
	}
	f.Insert(p.End(), ", _ bool")
}

// isOptions says whether an expression is options for a list: written so, or
// a variable that was set to such.
func (f *goFile) isOptions(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.CompositeLit)
		return ok && f.Is(lit.Type, crClient, "ListOptions")
	case *ast.CallExpr:
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok && f.isOptions(sel.X) {
			return true
		}
		return f.calls(e, crClient, "InNamespace") != nil || f.calls(e, crClient, "MatchingLabels") != nil
	case *ast.Ident:
		value := assigned(e)
		return value != nil && f.isOptions(value)
	}
	return false
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

// listCall puts the arguments of List in today's order: List(ctx, list, opts).
func (f *goFile) listCall(call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "List" || len(call.Args) != 3 {
		return
	}
	opts, list := call.Args[1], call.Args[2]
	if isNamed(opts, "nil") {
		f.ReplaceRange(opts.Pos(), list.Pos(), "")
		return
	}
	if f.isOptions(opts) && !f.isOptions(list) {
		f.Replace(opts, f.Text(list))
		f.Replace(list, f.Text(opts))
	}
}

// listOptions rewrites the functions that made and changed list options.
func (f *goFile) listOptions(call *ast.CallExpr) {
	if c := f.calls(call, crClient, "UseListOptions"); c != nil && len(c.Args) == 1 {
		f.Replace(c, f.Text(c.Args[0]))
		return
	}
	if c := f.calls(call, crClient, "MatchingField"); c != nil && len(c.Args) == 2 {
		f.Replace(c, fmt.Sprintf("%s.MatchingFields{%s: %s}", f.ImportName(crClient), f.Text(c.Args[0]), f.Text(c.Args[1])))
		return
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 || !f.isOptions(sel.X) {
		return
	}
	arg := f.Text(call.Args[0])
	if from := f.calls(sel.X, crClient, "InNamespace"); from != nil && sel.Sel.Name == "MatchingLabels" && len(from.Args) == 1 {
		f.Replace(call, fmt.Sprintf("&%s.ListOptions{Namespace: %s, LabelSelector: %s.SelectorFromSet(%s)}",
			f.ImportName(crClient), f.Text(from.Args[0]), f.Need(apiLabels, ""), arg))
		return
	}
	if _, isVariable := sel.X.(*ast.Ident); !isVariable {
		return
	}
	switch sel.Sel.Name {
	case "InNamespace":
		f.Replace(call, f.Text(sel.X)+".Namespace = "+arg)
	case "MatchingLabels":
		f.Replace(call, fmt.Sprintf("%s.LabelSelector = %s.SelectorFromSet(%s)", f.Text(sel.X), f.Need(apiLabels, ""), arg))
	case "SetLabelSelector", "SetFieldSelector":
		f.todo(call, "ListOptions.%s is gone: parse the selector with labels.Parse and set LabelSelector", sel.Sel.Name)
	}
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

func (f *goFile) recorderCall(call *ast.CallExpr) {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "OnAdd" && len(call.Args) == 1 {
		f.Insert(call.Args[0].End(), ", false")
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "GetRecorder" && len(call.Args) == 1 {
		f.Replace(sel.Sel, "GetEventRecorderFor")
	}
}

// objectKey keeps code that takes two results of ObjectKeyFromObject working,
// which has one today.
func (f *goFile) objectKey(a *ast.AssignStmt) {
	if len(a.Lhs) != 2 || len(a.Rhs) != 1 {
		return
	}
	call := f.calls(a.Rhs[0], crClient, "ObjectKeyFromObject")
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
			f.todo(d, "nothing calls %s any more: set the field where the value is made", d.Name.Name)
		}
	}
}

var clientGroup = lazy.Delayed(`^[A-Z][A-Za-z0-9]*V[0-9]+((alpha|beta)[0-9]+)?$`)

// typedClient adds the context, and the options that became mandatory, to
// calls of client-go's typed clients: clientset.CoreV1().Pods(ns).Get(name, …).
func typedClient(f *goFile) {
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			f.budgets(n)
			return true
		}
		verb, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !f.isTypedResource(verb.X) || !isOldVerb(call, verb.Sel.Name) || f.isContext(call.Args[0]) {
			return true
		}
		f.typedVerb(call, verb.Sel.Name)
		return true
	})
}

// budgets takes the typed client of budgets from the version that their types are
// taken from: PodSecurityPolicies have been in the old one, too.
func (f *goFile) budgets(n ast.Node) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "PodDisruptionBudgets" && sel.Sel.Name != "Evictions" {
		return
	}
	if group, ok := sel.X.(*ast.CallExpr); ok && callee(group) == "PolicyV1beta1" {
		f.rename(group.Fun, "PolicyV1")
	}
}

// isTypedResource says whether an expression ends in a typed client of one
// resource, such as CoreV1().Pods(ns), or a variable of it.
func (f *goFile) isTypedResource(e ast.Expr) bool {
	if id, ok := e.(*ast.Ident); ok {
		value := assigned(id)
		return value != nil && f.isTypedResource(value)
	}
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) > 1 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	group, ok := sel.X.(*ast.CallExpr)
	if !ok || len(group.Args) != 0 {
		return false
	}
	of, ok := group.Fun.(*ast.SelectorExpr)
	return ok && clientGroup.MatchString(of.Sel.Name)
}

// isContext says whether an argument is a context, as far as its text tells.
func (f *goFile) isContext(e ast.Expr) bool {
	text := f.Text(e)
	pkg := f.ImportName("context")
	return strings.HasSuffix(strings.ToLower(text), "ctx") || pkg != "" && strings.HasPrefix(text, pkg+".") ||
		strings.HasPrefix(text, "context.") || strings.HasSuffix(text, ".Context()")
}

// isOldVerb says whether a call of a typed client's method has as many arguments
// as it had before the context was one of them.
func isOldVerb(call *ast.CallExpr, verb string) bool {
	switch verb {
	case "List", "Watch", "Create", "Update", "UpdateStatus", "Bind", "Evict", "Finalize":
		return len(call.Args) == 1
	case "Get", "Delete", "DeleteCollection", "GetScale", "UpdateScale":
		return len(call.Args) == 2
	case "Patch": // maybe of a subresource; with a context it has five or more
		return len(call.Args) == 3 || len(call.Args) == 4
	}
	return false
}

func (f *goFile) typedVerb(call *ast.CallExpr, verb string) {
	options := map[string]string{"Create": "CreateOptions", "Update": "UpdateOptions", "UpdateStatus": "UpdateOptions",
		"UpdateScale": "UpdateOptions", "Finalize": "UpdateOptions", "Bind": "CreateOptions", "Patch": "PatchOptions"}
	f.Insert(call.Args[0].Pos(), f.todoContext()+", ")
	last := call.Args[len(call.Args)-1]
	if verb == "Patch" && len(call.Args) > 3 {
		last = call.Args[2] // subresources come behind the options
	}
	if strings.HasPrefix(verb, "Delete") {
		f.deleteOptions(call)
		return
	}
	if want := options[verb]; want != "" && !strings.Contains(f.Text(last), want) {
		f.Insert(last.End(), fmt.Sprintf(", %s.%s{}", f.Need(metaV1, "metav1"), want))
	}
}

// requests gives what sends a request of client-go, such as
// clientset.CoreV1().RESTClient().Get().Do(), a context.
func requests(f *goFile) {
	for call := range goedit.Each[*ast.CallExpr](f.Tree) {
		if len(call.Args) == 0 && slices.Contains([]string{"Do", "DoRaw", "Stream", "Watch"}, callee(call)) && isRequestChain(call.Fun) {
			f.Insert(call.Rparen, f.todoContext())
		}
	}
}

// isRequestChain says whether calls in a row begin with a request.
func isRequestChain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return isRequestChain(e.X)
	case *ast.Ident:
		value := assigned(e)
		return value != nil && isRequestChain(value)
	case *ast.CallExpr:
		return callee(e) == "RESTClient" || callee(e) == "GetLogs" || isRequestChain(e.Fun)
	}
	return false
}

// todoContext is a context for code that has none.
func (f *goFile) todoContext() string { return f.Need("context", "") + ".TODO()" }

// deleteOptions makes values of what were pointers to delete options.
func (f *goFile) deleteOptions(call *ast.CallExpr) {
	for _, arg := range call.Args {
		switch a := arg.(type) {
		case *ast.UnaryExpr:
			if a.Op == token.AND && strings.Contains(f.Text(a.X), "DeleteOptions{") {
				f.ReplaceRange(a.Pos(), a.X.Pos(), "")
			}
		case *ast.Ident:
			if a.Name == "nil" {
				f.Replace(a, f.Need(metaV1, "metav1")+".DeleteOptions{}")
			} else if v, ok := assigned(a).(*ast.UnaryExpr); ok && strings.Contains(f.Text(v), "DeleteOptions{") {
				f.Insert(a.Pos(), "*")
			}
		}
	}
}
