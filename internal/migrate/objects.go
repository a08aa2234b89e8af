package migrate

import (
	"cmp"
	"go/ast"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// objectFunc says which parameters of a function are client objects, by the
// type that they have to have today.
type objectFunc map[int]string // index of the parameter to Object or ObjectList

// objectFuncs finds the functions of a package whose parameters of type
// runtime.Object end up as arguments of the client, directly or through each
// other: the client takes client.Object and client.ObjectList today.
func (m *migration) objectFuncs(dir string) map[string]objectFunc {
	files := slices.Collect(m.parse(inDir(m.files, dir)))
	found := map[string]objectFunc{}
	for changed := true; changed; {
		changed = false
		for _, f := range files {
			for fn := range f.Functions() {
				if f.findObjects(fn, found) {
					changed = true
				}
			}
		}
	}
	return found
}

// findObjects looks at one function and says whether something new was found.
func (f *goFile) findObjects(fn *ast.FuncDecl, found map[string]objectFunc) bool {
	news := false
	f.eachRuntimeObject(fn.Type, func(index int, name string) {
		if found[fn.Name.Name][index] != "" {
			return
		}
		if to := f.clientUse(fn.Body, name, found); to != "" {
			if found[fn.Name.Name] == nil {
				found[fn.Name.Name] = objectFunc{}
			}
			found[fn.Name.Name][index] = to
			news = true
		}
	})
	return f.findResults(fn, found) || news
}

// resultIndex is the index of a function's result among its parameters.
const resultIndex = -1

// findResults looks for functions whose result is passed to a client, and at
// parameters that are the result of such.
func (f *goFile) findResults(fn *ast.FuncDecl, found map[string]objectFunc) bool {
	news := false
	set := func(name string, index int) {
		if found[name] == nil {
			found[name] = objectFunc{}
		}
		if found[name][index] == "" {
			found[name][index] = "Object"
			news = true
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) != 1 || len(n.Rhs) != 1 {
				break
			}
			id, isName := n.Lhs[0].(*ast.Ident)
			call, isCall := n.Rhs[0].(*ast.CallExpr)
			if isName && isCall && f.clientUse(fn.Body, id.Name, found) == "Object" {
				set(callee(call), resultIndex)
			}
		case *ast.ReturnStmt:
			if found[fn.Name.Name][resultIndex] == "" || fn.Type.Results.NumFields() == 0 || !f.Is(fn.Type.Results.List[0].Type, apiRuntime, "Object") {
				break
			}
			f.eachRuntimeObject(fn.Type, func(index int, name string) {
				if len(n.Results) == 0 {
					return
				}
				if id, ok := n.Results[0].(*ast.Ident); ok && id.Name == name {
					set(fn.Name.Name, index)
				}
			})
		}
		return true
	})
	return news
}

// callee is the name of what is called, without what it is called on.
func callee(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.SelectorExpr:
		return fun.Sel.Name
	case *ast.Ident:
		return fun.Name
	}
	return ""
}

// eachRuntimeObject calls visit with every parameter of type runtime.Object.
func (f *goFile) eachRuntimeObject(t *ast.FuncType, visit func(index int, name string)) {
	index := 0
	for _, p := range t.Params.List {
		for _, name := range p.Names {
			if f.Is(p.Type, apiRuntime, "Object") {
				visit(index, name.Name)
			}
			index++
		}
		if len(p.Names) == 0 {
			index++
		}
	}
}

// clientUse is what a variable has to be, because it is passed to a client or
// to a function that passes it on.
func (f *goFile) clientUse(body ast.Node, name string, found map[string]objectFunc) string {
	use := ""
	f.eachObjectUse(body, found, func(e ast.Expr, to string) {
		if isNamed(e, name) {
			use = to
		}
	})
	return use
}

// eachObjectUse calls visit with every expression that is passed to a client, a
// source or a handler, or to a function that passes it on, and what it has to be.
func (f *goFile) eachObjectUse(body ast.Node, found map[string]objectFunc, visit func(e ast.Expr, to string)) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			for _, field := range []struct{ at, typ, name string }{{crSource, "Kind", "Type"}, {crHandler, "EnqueueRequestForOwner", "OwnerType"}} {
				if e := valueOf(n, field.name); e != nil && f.Is(n.Type, field.at, field.typ) {
					visit(e, "Object")
				}
			}
		case *ast.CallExpr:
			for i, arg := range n.Args {
				if to := found[callee(n)][i]; to != "" {
					visit(arg, to)
				}
				if to := clientParam(callee(n), i); to != "" && f.isContext(n.Args[0]) {
					visit(arg, to)
				}
				if f.calls(n, crClient, "ObjectKeyFromObject") != nil {
					visit(arg, "Object")
				}
			}
		}
		return true
	})
}

// clientParam is the type of a parameter of the client's methods.
func clientParam(method string, index int) string {
	switch {
	case method == "Get" && index == 2, index == 1 && strings.Contains(" Create Update Delete Patch ", " "+method+" "):
		return "Object"
	case method == "List" && index == 1:
		return "ObjectList"
	case method == "CreateOrUpdate" && index == 2:
		return "Object"
	}
	return ""
}

// objectParams gives those parameters their types.
func objectParams(found map[string]objectFunc) pass {
	return func(f *goFile) {
		f.objectLists(found)
		f.objectFields(found)
		for fn := range f.Functions() {
			if found[fn.Name.Name] == nil {
				continue
			}
			if r := fn.Type.Results; r.NumFields() > 0 && found[fn.Name.Name][resultIndex] != "" && f.Is(r.List[0].Type, apiRuntime, "Object") {
				f.Replace(r.List[0].Type, f.Need(crClient, "")+".Object")
			}
			f.objectParams(fn.Type, found[fn.Name.Name])
		}
	}
}

// objectFields gives fields of structs that the file passes to the client, and
// parameters of the methods of interfaces, their types.
func (f *goFile) objectFields(found map[string]objectFunc) {
	uses := map[string]string{}
	f.eachObjectUse(f.Tree, found, func(e ast.Expr, to string) {
		if sel, ok := e.(*ast.SelectorExpr); ok {
			uses[sel.Sel.Name] = to
		}
	})
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if len(field.Names) == 1 && uses[field.Names[0].Name] != "" && f.Is(field.Type, apiRuntime, "Object") {
					f.Replace(field.Type, f.Need(crClient, "")+"."+uses[field.Names[0].Name])
				}
			}
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				if t, ok := method.Type.(*ast.FuncType); ok && len(method.Names) == 1 {
					f.objectParams(t, found[method.Names[0].Name])
				}
			}
		}
		return true
	})
}

// objectParams gives the parameters of a function their types.
func (f *goFile) objectParams(t *ast.FuncType, of objectFunc) {
	index := 0
	for _, p := range t.Params.List {
		to := ""
		for range max(1, len(p.Names)) {
			to = cmp.Or(to, of[index])
			index++
		}
		if to != "" && f.Is(p.Type, apiRuntime, "Object") {
			f.Replace(p.Type, f.Need(crClient, "")+"."+to)
		}
	}
}

// objectLists gives lists of objects that a loop passes to the client, or
// watches, their type.
func (f *goFile) objectLists(found map[string]objectFunc) {
	for loop := range goedit.Each[*ast.RangeStmt](f.Tree) {
		value, ok := loop.Value.(*ast.Ident)
		if !ok {
			continue
		}
		list := loop.X
		if id, ok := list.(*ast.Ident); ok {
			list = assigned(id)
		}
		lit, ok := list.(*ast.CompositeLit)
		if !ok {
			continue
		}
		array, ok := lit.Type.(*ast.ArrayType)
		if !ok || !f.Is(array.Elt, apiRuntime, "Object") {
			continue
		}
		use := f.clientUse(loop.Body, value.Name, found)
		if use == "" && f.watched(loop.Body, value.Name) {
			use = "Object"
		}
		if use != "" {
			f.Replace(array.Elt, f.Need(crClient, "")+"."+use)
		}
	}
}

// watched says whether a variable is what a source or a builder watches.
func (f *goFile) watched(body ast.Node, name string) bool {
	return goedit.Has(body, func(n ast.Expr) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			return f.Is(n.Type, crSource, "Kind") && isNamed(valueOf(n, "Type"), name)
		case *ast.CallExpr:
			return isNamed(firstArg(n), name) && strings.Contains(" Owns For Watches Object ", " "+callee(n)+" ")
		}
		return false
	})
}

func firstArg(call *ast.CallExpr) ast.Expr {
	if len(call.Args) == 0 {
		return nil
	}
	return call.Args[0]
}
