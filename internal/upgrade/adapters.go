package upgrade

import (
	"cmp"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/webhookadapter"
)

// adapter returns the name of an adapter, which is written if there is none of
// it yet: that of today's scaffold where the package has no such name.
func (w *rewriter) adapter(t apiType, aspect string) string {
	key := adapterKey{t, aspect}
	if name := w.adapters[key]; name != "" {
		return name
	}
	name := t.name + aspect
	for w.packages[t.dir].declared[name] {
		name = t.name + "Webhook" + strings.TrimPrefix(name, t.name)
	}
	w.packages[t.dir].declared[name] = true
	w.adapters[key] = name
	return name
}

func sortedKeys(adapters map[adapterKey]string) []adapterKey {
	return slices.SortedFunc(maps.Keys(adapters), func(a, b adapterKey) int {
		return cmp.Or(strings.Compare(a.dir, b.dir), strings.Compare(a.name, b.name), strings.Compare(a.aspect, b.aspect))
	})
}

// write adds an adapter to the file that has the methods.
func (w *rewriter) write(key adapterKey) {
	t, declared := key.apiType, w.packages[key.dir].declared
	a := webhookadapter.Adapter{
		Kind: t.name, Name: w.adapters[key], Type: t.name,
		// Deep copies are made of every exported type of an API's package.
		Marker: "// +kubebuilder:object:generate=false\n",
	}
	if key.aspect == defaulter {
		s := w.home(t, webhookadapter.Default)
		a.Context = s.need("context", "context", declared)
		s.tail += a.Defaulter()
		return
	}
	s := w.home(t, webhookadapter.ValidateCreate, webhookadapter.ValidateUpdate)
	a.Context, a.Admission = s.need("context", "context", declared), s.need(admissionPath, "admission", declared)
	s.tail += a.Validator(w.ownMethods(t))
}

// interfaces rewrites where a file says that a type is its own webhook, and
// notes the other places that need what controller-runtime no longer has.
func (w *rewriter) interfaces(s *source) {
	done := map[ast.Node]bool{}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && w.assertion(s, spec) {
			done[spec.Type] = true
		}
		if today, ok := n.(*ast.IndexExpr); ok { // admission.Defaulter[*T]
			done[today.X] = true
		}
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || done[sel] {
			return true
		}
		text := s.between(sel.Pos(), sel.End())
		switch {
		case s.member(sel, webhookPath, defaulter, validator) != "" || s.member(sel, admissionPath, defaulter, validator) != "":
			w.notes = append(w.notes, note{s.name, s.line(sel.Pos()), "controller-runtime's " + text + " is no longer what a type implements for itself: use the adapters that call its methods"})
		case s.member(sel, admissionPath, "DefaultingWebhookFor", "ValidatingWebhookFor") != "":
			w.notes = append(w.notes, note{s.name, s.line(sel.Pos()), "controller-runtime has no " + text + " any more: use admission.WithDefaulter or admission.WithValidator with the adapters that call the type's methods"})
		}
		return true
	})
}

// assertion turns "var _ webhook.Defaulter = &T{}" into one of the adapter;
// false where it is none or the type cannot be told.
func (w *rewriter) assertion(s *source, spec *ast.ValueSpec) bool {
	if spec.Type == nil || len(spec.Names) != 1 || spec.Names[0].Name != "_" || len(spec.Values) != 1 {
		return false
	}
	aspect := cmp.Or(s.member(spec.Type, webhookPath, defaulter, validator), s.member(spec.Type, admissionPath, defaulter, validator))
	if aspect == "" {
		return false
	}
	t, qualifier, ok := w.typeOf(s, spec.Values[0])
	if !ok {
		return false
	}
	methods := w.ownMethods(t)
	if _, is := methods[webhookadapter.Default]; aspect == defaulter && !is || aspect == validator && !isValidator(methods) {
		return false
	}
	name := qualifier + w.adapter(t, aspect)
	admission := s.need(admissionPath, "admission", w.declared(s))
	s.replace(spec.Type.Pos(), spec.Type.End(), admission+"."+aspect+"[*"+qualifier+t.name+"]")
	s.replace(spec.Values[0].Pos(), spec.Values[0].End(), "&"+name+"{}")
	return true
}
