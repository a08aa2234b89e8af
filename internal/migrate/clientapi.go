package migrate

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// renamedMembers are members of packages that have another name today, by
// package and old name.
var renamedMembers = map[string]map[string]string{
	crClient: {
		"ListOptionFunc": "ListOption", "CreateOptionFunc": "CreateOption", "UpdateOptionFunc": "UpdateOption",
		"DeleteOptionFunc": "DeleteOption", "PatchOptionFunc": "PatchOption", "ConstantPatch": "RawPatch",
	},
	crHandler: {"Mapper": "MapFunc"},
}

// clientAPI carries calls of controller-runtime's client over to how they are
// written today.
func clientAPI(f *goFile) {
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			for pkg, names := range renamedMembers {
				if to := names[n.Sel.Name]; to != "" && f.Is(n, pkg, n.Sel.Name) {
					f.Replace(n.Sel, to)
				}
			}
			f.budgets(n)
		case *ast.CallExpr:
			f.mutateCall(n)
		case *ast.AssignStmt:
			f.onlyResult(n)
		case *ast.FuncDecl:
			f.injector(n)
		case *ast.StarExpr:
			if f.Is(n.X, crAdmission, "Decoder") { // an interface since controller-runtime 0.15
				f.Replace(n, f.Text(n.X))
			}
		}
		return true
	})
	f.injected()
}

// injected drops the variables that say that a type takes what the manager
// injected.
func (f *goFile) injected() {
	for _, d := range f.Tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || len(g.Specs) != 1 {
			continue
		}
		if v, ok := g.Specs[0].(*ast.ValueSpec); ok && v.Type != nil && f.Member(v.Type, crInject) != "" && isNamed(v.Names[0], "_") {
			f.RemoveLines(d)
		}
	}
}

// budgets takes the typed client of budgets from the version that their types are
// taken from: no API server has them in the old one.
func (f *goFile) budgets(sel *ast.SelectorExpr) {
	group, ok := sel.X.(*ast.CallExpr)
	if ok && callee(group) == "PolicyV1beta1" && (sel.Sel.Name == "PodDisruptionBudgets" || sel.Sel.Name == "Evictions") {
		f.rename(group.Fun, "PolicyV1")
	}
}

// assigned is the value that a variable of the file got where it was declared.
func assigned(id *ast.Ident) ast.Expr {
	if id.Obj == nil {
		return nil
	}
	switch d := id.Obj.Decl.(type) {
	case *ast.AssignStmt:
		return valueOf(id.Name, d.Lhs, d.Rhs)
	case *ast.ValueSpec:
		return valueOf(id.Name, d.Names, d.Values)
	}
	return nil
}

func valueOf[E ast.Expr](name string, names []E, values []ast.Expr) ast.Expr {
	i := slices.IndexFunc(names, func(e E) bool { return isNamed(e, name) })
	if i < 0 || len(names) != len(values) {
		return nil
	}
	return values[i]
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

// onlyResult keeps code working that takes an error as the second result of what
// returns none today.
func (f *goFile) onlyResult(a *ast.AssignStmt) {
	if len(a.Lhs) != 2 || len(a.Rhs) != 1 {
		return
	}
	call := cmp.Or(f.calls(a.Rhs[0], crClient, "ObjectKeyFromObject"), f.calls(a.Rhs[0], crAdmission, "NewDecoder"))
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
			f.todo(d, "%s is no longer called: set the field where the value is made", d.Name.Name)
		}
	}
}

func callee(call *ast.CallExpr) string { return goedit.TypeName(call.Fun) }

// coreTypes carries over literals of types of k8s.io/api that got others in
// their fields.
func coreTypes(f *goFile) {
	if f.ImportName(coreV1) == "" {
		return
	}
	f.looseHandlers()
	for lit := range goedit.Each[*ast.CompositeLit](f.Tree) {
		switch {
		case f.Is(lit.Type, coreV1, "Probe"):
			f.handlerField(lit, "Handler", "ProbeHandler", "ProbeHandler")
		case f.Is(lit.Type, coreV1, "Lifecycle"):
			f.handlerField(lit, "PostStart", "PostStart", "LifecycleHandler")
			f.handlerField(lit, "PreStop", "PreStop", "LifecycleHandler")
		}
	}
}

// clusterName takes ObjectMeta.ClusterName out of literals: no API server ever
// looked at it.
func clusterName(f *goFile) {
	for lit := range goedit.Each[*ast.CompositeLit](f.Tree) {
		if !f.Is(lit.Type, metaV1, "ObjectMeta") {
			continue
		}
		for i, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && f.Text(kv.Key) == "ClusterName" {
				f.CutElement(lit, i)
			}
		}
	}
}

// looseHandlers renames the type Handler where it stands by itself. Which of
// its two successors is meant shows by what else the file has.
func (f *goFile) looseHandlers() {
	members := f.members(coreV1)
	probes, hooks := slices.Contains(members, "Probe"), slices.Contains(members, "Lifecycle")
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			return !f.Is(n.Type, coreV1, "Probe") && !f.Is(n.Type, coreV1, "Lifecycle") // those know
		case *ast.SelectorExpr:
			switch {
			case !f.Is(n, coreV1, "Handler"):
			case probes && !hooks:
				f.Replace(n.Sel, "ProbeHandler")
			case hooks && !probes:
				f.Replace(n.Sel, "LifecycleHandler")
			default:
				f.todo(n, "Handler is ProbeHandler in probes today, and LifecycleHandler in hooks")
			}
		}
		return true
	})
}

// handlerField renames a field of a literal, and the type Handler of the literal in it.
func (f *goFile) handlerField(lit *ast.CompositeLit, key, newKey, typ string) {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok || !isNamed(kv.Key, key) {
			continue
		}
		f.Replace(kv.Key, newKey)
		if inner := goedit.Literal(kv.Value); inner != nil && f.Is(inner.Type, coreV1, "Handler") {
			f.rename(inner.Type, typ)
		}
	}
}

// fakeClients builds the clients of tests by today's builder. kinds are the
// project's own, by import path of their packages: their status is a
// subresource, which the client must be told. One that is told of a kind which its
// scheme lacks panics.
func fakeClients(kinds map[string][]string) pass {
	return func(f *goFile) {
		for call := range goedit.Each[*ast.CallExpr](f.Tree) {
			scheme, objects := "", call.Args
			switch {
			case f.calls(call, crFake, "NewFakeClient") != nil:
			case f.calls(call, crFake, "NewFakeClientWithScheme") != nil && len(call.Args) > 0:
				scheme, objects = ".WithScheme("+f.Text(call.Args[0])+")", call.Args[1:]
			default:
				continue
			}
			with := strings.Join(f.texts(objects), ", ")
			if call.Ellipsis.IsValid() {
				with += "..."
			}
			f.Replace(call, fmt.Sprintf("%s.NewClientBuilder()%s%s.WithRuntimeObjects(%s).Build()",
				f.ImportName(crFake), scheme, f.statusOf(kinds, scheme != ""), with))
		}
	}
}

// statusOf names the project's kinds that the file speaks of: those that it adds to a
// scheme or, where it adds none, as many as the scheme that it is given may have.
func (f *goFile) statusOf(kinds map[string][]string, given bool) string {
	added := func(importPath string) bool {
		return slices.ContainsFunc(f.members(importPath), func(m string) bool { return slices.Contains(schemeMembers, m) })
	}
	elsewhere := given && !slices.ContainsFunc(slices.Collect(maps.Keys(kinds)), added)
	var list []string
	for importPath, names := range kinds {
		if !elsewhere && !added(importPath) {
			continue
		}
		for _, member := range f.members(importPath) {
			text := fmt.Sprintf("&%s.%s{}", f.ImportName(importPath), member)
			if slices.Contains(names, member) && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return ".WithStatusSubresource(" + strings.Join(list, ", ") + ")"
}

// schemeMembers are what a package of API types has to be added to a scheme with.
var schemeMembers = []string{"AddToScheme", "SchemeBuilder", "SchemeGroupVersion", "GroupVersion"}

// loggers carries over how loggers are made.
func loggers(f *goFile) {
	for c := range goedit.Each[*ast.CallExpr](f.Tree) {
		if f.Is(c.Fun, crLog, "ZapLogger") && len(c.Args) == 1 {
			f.Replace(c, fmt.Sprintf("%s.New(%s.UseDevMode(%s))", f.Need(crZap, ""), f.Need(crZap, ""), f.Text(c.Args[0])))
		}
		// The same name, from the package that has it today.
		others := slices.ContainsFunc(f.members(sdkZap), func(m string) bool { return m != "Logger" })
		if local := f.ImportName(sdkZap); f.Is(c.Fun, sdkZap, "Logger") && !others {
			f.DropImport(sdkZap)
			f.AddImport(crZap, local)
			f.Replace(c, local+".New()")
		}
	}
}
