package upgrade

import (
	"cmp"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/oldruntime"
	"github.com/example/mysdk/internal/rewrite/goedit"
	"github.com/example/mysdk/internal/webhookadapter"
)

// adapterKey says whose adapter it is, and for what.
type adapterKey struct {
	apiType
	aspect string // Defaulter or Validator
}

const (
	defaulter = "Defaulter"
	validator = "Validator"
)

// registered are the calls that register adapters of an object which was its
// own webhook.
func (w *rewriter) registered(s *goedit.File, c oldruntime.Chain, object ast.Expr) []string {
	if !w.own {
		return nil
	}
	hasDefaulter := c["WithDefaulter"] != nil || c["WithCustomDefaulter"] != nil
	hasValidator := c["WithValidator"] != nil || c["WithCustomValidator"] != nil
	t, qualifier, ok := w.typeOf(s, object)
	if !ok {
		if !(hasDefaulter && hasValidator) && w.anyOwn() {
			w.note(s, object, "which type the webhook is of cannot be told here: if it has methods Default or ValidateCreate, "+
				"they are no longer called; register a defaulter and a validator that call them")
		}
		return nil
	}
	var out []string
	methods := w.ownMethods(t)
	if _, is := methods[webhookadapter.Default]; is && !hasDefaulter {
		out = append(out, "WithDefaulter(&"+qualifier+w.adapter(t, defaulter)+"{})")
	}
	if isValidator(methods) && !hasValidator {
		out = append(out, "WithValidator(&"+qualifier+w.adapter(t, validator)+"{})")
	}
	return out
}

func isValidator(methods webhookadapter.Methods) bool {
	for _, name := range []string{webhookadapter.ValidateCreate, webhookadapter.ValidateUpdate, webhookadapter.ValidateDelete} {
		if _, ok := methods[name]; !ok {
			return false
		}
	}
	return true
}

// anyOwn says whether any type of the project can have been its own webhook.
func (w *rewriter) anyOwn() bool {
	for dir, p := range w.packages {
		for name := range p.types {
			if len(w.ownMethods(apiType{dir, name})) > 0 {
				return true
			}
		}
	}
	return false
}

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

// writeAdapters adds each adapter to the file that has the methods.
func (w *rewriter) writeAdapters() {
	keys := slices.SortedFunc(maps.Keys(w.adapters), func(a, b adapterKey) int {
		return cmp.Or(strings.Compare(a.dir, b.dir), strings.Compare(a.name, b.name), strings.Compare(a.aspect, b.aspect))
	})
	for _, key := range keys {
		a := webhookadapter.Adapter{
			Kind: key.name, Name: w.adapters[key], Type: key.name,
			// Deep copies are made of every exported type of an API's package.
			Marker: "// +kubebuilder:object:generate=false\n",
		}
		s := w.home(key.apiType, webhookadapter.Default)
		if key.aspect == validator {
			s = w.home(key.apiType, webhookadapter.ValidateCreate, webhookadapter.ValidateUpdate)
		}
		a.Context = s.Need("context", "context")
		if key.aspect == defaulter {
			s.Append(a.Defaulter())
			continue
		}
		a.Admission = s.Need(admissionPath, "admission")
		s.Append(a.Validator(w.ownMethods(key.apiType)))
	}
}

// interfaces rewrites where a file says that a type is its own webhook, and
// notes the other places that need what controller-runtime no longer has.
func (w *rewriter) interfaces(s *goedit.File) {
	done := map[ast.Node]bool{}
	ast.Inspect(s.Tree, func(n ast.Node) bool {
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
		if aspectOf(s, sel) != "" {
			w.note(s, sel, "controller-runtime's "+s.Text(sel)+" is no longer what a type implements for itself: use the adapters that call its methods")
		}
		if s.Is(sel, admissionPath, "DefaultingWebhookFor") || s.Is(sel, admissionPath, "ValidatingWebhookFor") {
			w.note(s, sel, "controller-runtime has no "+s.Text(sel)+" any more: use admission.WithDefaulter or admission.WithValidator with the adapters that call the type's methods")
		}
		return true
	})
}

// aspectOf says which of the interfaces an expression names that types
// implemented for themselves, empty for none.
func aspectOf(s *goedit.File, e ast.Expr) string {
	name := cmp.Or(s.Member(e, webhookPath), s.Member(e, admissionPath))
	if name == defaulter || name == validator {
		return name
	}
	return ""
}

// assertion turns "var _ webhook.Defaulter = &T{}" into one of the adapter;
// false where it is none or the type cannot be told.
func (w *rewriter) assertion(s *goedit.File, spec *ast.ValueSpec) bool {
	if spec.Type == nil || len(spec.Names) != 1 || spec.Names[0].Name != "_" || len(spec.Values) != 1 {
		return false
	}
	aspect := aspectOf(s, spec.Type)
	t, qualifier, ok := w.typeOf(s, spec.Values[0])
	methods := w.ownMethods(t)
	_, defaults := methods[webhookadapter.Default]
	if !ok || !(aspect == defaulter && defaults || aspect == validator && isValidator(methods)) {
		return false
	}
	name := qualifier + w.adapter(t, aspect)
	s.Replace(spec.Type, s.Need(admissionPath, "admission")+"."+aspect+"[*"+qualifier+t.name+"]")
	s.Replace(spec.Values[0], "&"+name+"{}")
	return true
}
