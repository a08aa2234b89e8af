// Package controllernames gives controllers of one name names of their own:
// since v0.19 controller-runtime refuses to start the second one. It knows the
// chains of calls that build a controller, and how the builder names one that
// nobody has named: after its kind. It knows nothing of projects and versions.
package controllernames

import (
	"cmp"
	"go/ast"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// The packages that have the builder.
const (
	runtimePath = "sigs.k8s.io/controller-runtime"
	builderPath = runtimePath + "/pkg/builder"
)

// Builder is a chain of calls that builds a controller.
type Builder struct {
	Dir, Owner string // of the file; the type, or the function, that builds the controller
	Name       string // by Named, else the kind's
	group      string // directory above that of the kind's version, such as batch
	named      bool
	first      *ast.CallExpr // the call that makes the builder
}

// key tells the builders of a project apart, wherever the types of their kinds
// are.
func (b Builder) key() string { return path.Join(b.Dir, b.Owner, b.Name) }

// Find lists the controllers that a file builds, as far as the chain says which
// kind they are for.
func Find(f *goedit.File) []Builder {
	var out []Builder
	for fn := range f.Functions() {
		for first, calls := range goedit.Chains(fn.Body, func(call *ast.CallExpr) bool {
			return f.Is(call.Fun, runtimePath, "NewControllerManagedBy") || f.Is(call.Fun, builderPath, "ControllerManagedBy")
		}) {
			b := Builder{Dir: path.Dir(f.Name), Owner: cmp.Or(goedit.Receiver(fn), fn.Name.Name), first: first}
			switch named, object := calls["Named"], calls["For"]; {
			case named != nil && len(named.Args) > 0:
				b.named = true
				b.Name, _ = goedit.StringLiteral(named.Args[0])
			case object != nil && len(object.Args) > 0:
				b.kind(f, object.Args[0])
			}
			if b.Name != "" {
				out = append(out, b)
			}
		}
	}
	return out
}

// kind reads the kind of an object: &v1.Captain{}, or new(v1.Captain).
func (b *Builder) kind(f *goedit.File, object ast.Expr) {
	lit := goedit.Literal(object)
	if lit == nil {
		return
	}
	switch t := lit.Type.(type) {
	case *ast.Ident:
		b.Name = strings.ToLower(t.Name)
	case *ast.SelectorExpr:
		if id, ok := t.X.(*ast.Ident); ok && t.Sel.Name != "Unstructured" { // the kind is in the object
			b.group, b.Name = path.Base(path.Dir(f.ImportPath(id.Name))), strings.ToLower(t.Sel.Name)
		}
	}
}

// Names are those that builders need whose controllers would have the name of
// another one: the group and the kind, as kubebuilder names them where there are
// several groups, else what the reconciler is called.
type Names map[string]string

// Choose finds a name for each of the builders of a project that needs one.
func Choose(all []Builder) Names {
	out, taken := Names{}, map[string][]Builder{}
	for _, b := range all {
		taken[b.Name] = append(taken[b.Name], b)
	}
	byGroup := func(b Builder) string {
		if b.group == "" {
			return ""
		}
		return b.group + "-" + b.Name
	}
	byOwner := func(b Builder) string { return strings.TrimSuffix(strings.ToLower(b.Owner), "reconciler") }
	for _, list := range taken {
		by := byGroup
		if !distinct(list, by) {
			by = byOwner
		}
		if len(list) < 2 || slices.ContainsFunc(list, func(b Builder) bool { return b.named }) || !distinct(list, by) {
			continue
		}
		for _, b := range list {
			out[b.key()] = by(b)
		}
	}
	return out
}

// distinct says whether each builder gets a name, and another one.
func distinct(list []Builder, by func(Builder) string) bool {
	names := map[string]bool{"": true}
	for _, b := range list {
		names[by(b)] = true
	}
	return len(names) == len(list)+1
}

// Apply names the controllers of a file.
func (n Names) Apply(f *goedit.File) {
	for _, b := range Find(f) {
		if name := n[b.key()]; name != "" && name != b.Name && !b.named {
			f.Insert(b.first.End(), cmp.Or(b.dot(f), ".")+"Named(\""+name+"\")")
		}
	}
}

// dot is what stands between the first call of a chain and the next one, empty
// where that is a comment, too.
func (b Builder) dot(f *goedit.File) string {
	after := string(f.Src[f.Offset(b.first.End()):])
	dot := after[:strings.IndexFunc(after, func(r rune) bool { return r != '.' && !strings.ContainsRune(" \t\r\n", r) })]
	if !strings.Contains(dot, ".") {
		return ""
	}
	return dot
}
