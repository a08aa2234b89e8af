package trace

import (
	"go/ast"
	"maps"
	"slices"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// findBuilt reads what the reconcilers of a package are set up for: the calls of
// their builders. Functions that are no methods count for all of them.
func (o *overlay) findBuilt(files map[string]*goedit.File) map[string]built {
	calls := map[string][]watch{}
	for _, f := range files {
		for fn := range f.Functions() {
			for call := range goedit.Each[*ast.CallExpr](fn.Body) {
				if watching(call) != "" {
					calls[goedit.Receiver(fn)] = append(calls[goedit.Receiver(fn)], watch{f, call})
				}
			}
		}
	}
	// A function that sets controllers up does so for the only reconciler.
	if only := slices.Collect(maps.Keys(reconcilersIn(files))); len(only) == 1 {
		calls[only[0]] = append(calls[only[0]], calls[""]...)
		delete(calls, "")
	}
	out := map[string]built{}
	for name, list := range calls {
		if b := o.builtBy(slices.Concat(list, calls[""])); name != "" && b.kind != "" {
			out[name] = b
		}
	}
	return out
}

// reconcilersIn are the types of a package that have a method Reconcile.
func reconcilersIn(files map[string]*goedit.File) map[string]bool {
	names := map[string]bool{}
	for _, f := range files {
		for fn := range f.Functions() {
			if reconciles(f, fn) {
				names[goedit.Receiver(fn)] = true
			}
		}
	}
	return names
}

// watching is the name of a builder's method, or a controller's, that has it
// watch something; empty for other calls.
func watching(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	switch sel.Sel.Name {
	case "For", "Owns", "Watches", "WatchesMetadata", "WatchesRawSource":
		return sel.Sel.Name
	case "Watch": // a client's and others take a context
		if goedit.TypeName(call.Args[0]) != "ctx" {
			return sel.Sel.Name
		}
	}
	return ""
}

// watch is a call that has a controller watch something.
type watch struct {
	file *goedit.File
	*ast.CallExpr
}

// builtBy is what calls of a builder set up.
func (o *overlay) builtBy(calls []watch) built {
	var b built
	known := true
	for _, call := range calls {
		object := watched(call.Args[0])
		kind := goedit.TypeName(object)
		if kind != "" && (watching(call.CallExpr) == "For" || b.kind == "" && itself(call.CallExpr)) {
			b.group, b.kind = o.groupOf(call.file, object), kind
		}
		known = known && kind != ""
		if kind != channel {
			b.watches = append(b.watches, kind)
		}
	}
	if slices.Sort(b.watches); !known {
		b.watches = nil
	}
	b.watches = slices.Compact(b.watches)
	return b
}

// itself reports whether the watched object is the one to reconcile, as in what
// operator-sdk scaffolded before it had builders.
func itself(call *ast.CallExpr) bool {
	return watching(call) == "Watch" && len(call.Args) > 1 && goedit.Has(call.Args[1], func(id *ast.Ident) bool { return id.Name == "EnqueueRequestForObject" })
}

// channel stands for events that come from no object.
const channel = "Channel"

// groupOf is the API group of a type, empty where the project does not say.
func (o *overlay) groupOf(f *goedit.File, typ ast.Expr) string {
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if sel, ok := typ.(*ast.SelectorExpr); ok {
		return o.groups[f.ImportPath(goedit.TypeName(sel.X))]
	}
	return ""
}

// watched is the type of the object that an argument is, or watches: &T{},
// source.Kind(cache, &T{}), and &source.Kind{Type: &T{}} of before 0.15. It is
// nil where the code leaves that open.
func watched(arg ast.Expr) ast.Expr {
	switch a := ast.Unparen(arg).(type) {
	case *ast.UnaryExpr:
		return watched(a.X)
	case *ast.KeyValueExpr:
		return watched(a.Value)
	case *ast.CompositeLit:
		switch t := goedit.TypeName(a.Type); {
		case t == "Unstructured" || t == "PartialObjectMetadata":
			return nil // of any kind
		case t == "Kind" && len(a.Elts) == 1:
			return watched(a.Elts[0])
		default:
			return a.Type
		}
	case *ast.CallExpr:
		switch f := goedit.TypeName(a.Fun); {
		case f == channel || f == "TypedChannel":
			return &ast.Ident{Name: channel}
		case (f == "Kind" || f == "TypedKind") && len(a.Args) > 1:
			return watched(a.Args[1])
		case f == "new" && len(a.Args) == 1:
			return a.Args[0]
		}
	}
	return nil
}
