package upgrade

import (
	"go/ast"
	"slices"
	"strings"

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

// chain is a chain of calls on a webhook builder that is yet to be told its
// object: the calls in the order of their execution, the first makes it.
type chain []*ast.CallExpr

// chains finds those of a file.
func (s *source) chains() []chain {
	var out []chain
	seen := map[*ast.CallExpr]bool{}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || seen[call] {
			return true
		}
		var c chain
		for ok {
			c = append(c, call)
			sel, isSel := call.Fun.(*ast.SelectorExpr)
			if !isSel {
				return true
			}
			if s.member(sel, runtimePath, "NewWebhookManagedBy") != "" || s.member(sel, builderPath, "WebhookManagedBy") != "" {
				if len(call.Args) != 1 {
					return true // today's form
				}
				for _, call := range c {
					seen[call] = true
				}
				slices.Reverse(c)
				out = append(out, c)
				return true
			}
			call, ok = sel.X.(*ast.CallExpr)
		}
		return true
	})
	return out
}

// find returns the selector of the first call of one of these methods, and the
// call.
func (c chain) find(names ...string) (*ast.SelectorExpr, *ast.CallExpr) {
	for _, call := range c[1:] {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(names, sel.Sel.Name) {
			return sel, call
		}
	}
	return nil, nil
}

// chain turns ctrl.NewWebhookManagedBy(mgr).For(x) into
// ctrl.NewWebhookManagedBy(mgr, x), and what follows into its custom form. Where
// x is its own webhook, adapters are registered for it.
func (w *rewriter) chain(s *source, c chain) {
	sel, forCall := c.find("For")
	if sel == nil || len(forCall.Args) != 1 {
		w.notes = append(w.notes, note{s.name, s.line(c[0].Pos()), "the webhook builder takes its object as second argument now, and no For: pass it here"})
		return
	}
	for _, name := range []string{"WithValidator", "WithDefaulter"} {
		if old, _ := c.find(name); old != nil {
			s.replace(old.Sel.Pos(), old.Sel.End(), "WithCustom"+strings.TrimPrefix(name, "With"))
		}
	}
	object := s.between(forCall.Args[0].Pos(), forCall.Args[0].End())
	manager := c[0].Args[0].End() // a comma may be behind it
	s.replace(manager, manager, ", "+object)
	gap := s.between(sel.X.End(), sel.Sel.Pos())
	dot := gap
	if commented(gap) {
		dot = "."
	}
	text := ""
	for _, name := range w.registered(s, c, forCall.Args[0]) {
		text += dot + name
	}
	if !commented(gap) {
		s.replace(sel.X.End(), forCall.End(), text)
		return
	}
	// A comment above For stays where it is: what comes after it closes up.
	text = strings.TrimPrefix(text, ".")
	next := c.after(forCall)
	switch {
	case next == nil && text == "":
		s.replace(sel.X.End(), forCall.End(), strings.TrimPrefix(gap, "."))
	case next == nil:
		s.replace(sel.Sel.Pos(), forCall.End(), text)
	case text == "":
		s.replace(sel.Sel.Pos(), next.Sel.Pos(), "")
	default:
		s.replace(sel.Sel.Pos(), next.Sel.Pos(), text+".")
	}
}

// commented says whether there is a comment between two calls of a chain.
func commented(gap string) bool { return strings.Contains(gap, "//") || strings.Contains(gap, "/*") }

// after returns the selector of the call behind another one, nil where that is
// the last.
func (c chain) after(call *ast.CallExpr) *ast.SelectorExpr {
	if i := slices.Index(c, call) + 1; i < len(c) {
		sel, _ := c[i].Fun.(*ast.SelectorExpr)
		return sel
	}
	return nil
}

// registered are the calls that register adapters of an object which was its
// own webhook.
func (w *rewriter) registered(s *source, c chain, object ast.Expr) []string {
	if !w.own {
		return nil
	}
	hasDefaulter, _ := c.find("WithDefaulter", "WithCustomDefaulter")
	hasValidator, _ := c.find("WithValidator", "WithCustomValidator")
	t, qualifier, ok := w.typeOf(s, object)
	if !ok {
		if w.foreign(s, object) || hasDefaulter != nil && hasValidator != nil || !w.anyOwn() {
			return nil
		}
		w.notes = append(w.notes, note{s.name, s.line(object.Pos()), "which type the webhook is of cannot be told here: if it has methods Default or ValidateCreate, " +
			"they are no longer called; register a defaulter and a validator that call them"})
		return nil
	}
	var out []string
	methods := w.ownMethods(t)
	if _, is := methods[webhookadapter.Default]; is && hasDefaulter == nil {
		out = append(out, "WithDefaulter(&"+qualifier+w.adapter(t, defaulter)+"{})")
	}
	if isValidator(methods) && hasValidator == nil {
		out = append(out, "WithValidator(&"+qualifier+w.adapter(t, validator)+"{})")
	}
	return out
}

// foreign says whether an object is written down as one of another module's
// types, which this project cannot have made their own webhooks.
func (w *rewriter) foreign(s *source, object ast.Expr) bool {
	if u, ok := object.(*ast.UnaryExpr); ok {
		object = u.X
	}
	lit, ok := object.(*ast.CompositeLit)
	if !ok {
		return false
	}
	sel, ok := lit.Type.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && s.importPath(id.Name) != "" && !strings.HasPrefix(s.importPath(id.Name), w.module+"/")
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
		for name := range p.methods {
			if p.homes[name] != nil && len(w.ownMethods(apiType{dir, name})) > 0 {
				return true
			}
		}
	}
	return false
}
