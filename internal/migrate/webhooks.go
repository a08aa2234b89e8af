package migrate

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/oldruntime"
	"github.com/example/mysdk/internal/rewrite/goedit"
	"github.com/example/mysdk/internal/webhookadapter"
)

// setupWebhook is the method by which types registered their webhooks.
const setupWebhook = "SetupWebhookWithManager"

// isCustom says whether the text of a set-up does more than to register the
// type itself.
func isCustom(text string) bool {
	return strings.Contains(text, ".WithDefaulter(") || strings.Contains(text, ".WithValidator(") || strings.Contains(text, ".Register(")
}

// doesMore says whether a set-up of several statements does something beside the
// builder's call.
func doesMore(f *goFile, setUp *ast.FuncDecl) bool {
	return setUp.Body != nil && len(setUp.Body.List) > 1 && slices.ContainsFunc(setUp.Body.List, func(s ast.Stmt) bool {
		text, _, _ := strings.Cut(f.Text(s), " {\n")
		return !strings.Contains(text, "WebhookManagedBy(") && !slices.Contains([]string{"if err != nil", "return err", "return nil"}, text)
	})
}

// ownWebhook says whether a call in main sets up webhooks of the project's own
// kinds, which the new main program does.
func (m *migration) ownWebhook(call string) bool {
	return slices.ContainsFunc(m.apis, func(a *apiVersion) bool {
		return slices.ContainsFunc(a.kinds, func(k kind) bool { return strings.Contains(call, "."+k.name+"{}") })
	})
}

// pass takes out of the types' package what registered the webhooks. The
// methods stay: the new webhooks call them.
func (w *webhookFile) pass(f *goFile) {
	if w.custom {
		return
	}
	for _, d := range f.Tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case d.Name.Name != setupWebhook || goedit.Receiver(d) != w.kind:
			case doesMore(f, d):
				f.todo(d, "this is no longer called: do in "+newMain+" what it does beside setting the webhook up, then remove it")
			default:
				f.RemoveLines(d)
			}
		case *ast.GenDecl:
			text := squeeze(f.Text(d))
			if d.Tok == token.VAR && strings.HasPrefix(text, "var_webhook.") && strings.Contains(text, w.kind+"{}") {
				f.RemoveLines(d)
			}
		}
	}
	for _, group := range f.Tree.Comments {
		for _, c := range group.List {
			if slices.Contains(w.markers, c.Text) {
				f.RemoveLines(c)
			}
		}
	}
}

// calls has code that set the webhooks up, beside the main program, call what
// does so now.
func (w *webhookFile) calls(m *migration) pass {
	return func(f *goFile) {
		for call := range goedit.Each[*ast.CallExpr](f.Tree) {
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != setupWebhook {
				continue
			}
			if lit := goedit.Literal(ast.Unparen(sel.X)); lit != nil && f.Is(lit.Type, path.Join(m.module, w.to), w.kind) {
				name := f.Need(path.Join(m.module, path.Dir(w.target())), "webhook"+w.version)
				f.Replace(call.Fun, fmt.Sprintf("%s.Setup%sWebhookWithManager", name, w.kind))
			}
		}
	}
}

//go:embed files/webhook.go.tmpl
var webhookText string

// write writes internal/webhook's file for the kind: for a type that sets its
// webhooks up itself it calls that, and what a type of another package needs to set
// them up is in the old main program.
func (w *webhookFile) write(m *migration) {
	data := map[string]any{
		"Header": m.header(), "Version": w.version, "Kind": w.kind, "Alias": w.alias(), "Types": path.Join(m.module, w.to),
		"Custom": w.custom, "Todo": "", "Defaulter": "", "Validator": "",
	}
	_, defaults := w.methods["Default"]
	_, validates := w.methods["ValidateCreate"]
	switch {
	case w.custom:
	case w.other != "":
		data["Todo"] = todoLine("%s sets them up: make one here as %s does, and return what its %s(mgr) returns", w.other, keptMain, setupWebhook)
	case !defaults && !validates && !w.hub:
		if !w.more {
			m.know("%s set up a webhook without defaults and validation, of a version that the others are not converted to: it did nothing, and is gone.", w.setUp)
		}
		return
	default:
		if defaults {
			data["Defaulter"] = w.adapter("Defaulter", "mutating=true").Defaulter()
		}
		if validates {
			data["Validator"] = w.adapter("Validator", "mutating=false").Validator(w.methods)
		}
	}
	text, err := fill(webhookText, data)
	m.fail(err)
	m.put(w.target(), text)
}

// target is the file of the kind's webhooks.
func (w *webhookFile) target() string {
	return path.Join("internal/webhook", w.below, w.version, strings.ToLower(w.kind)+"_webhook.go")
}

// alias is the name by which the file imports the types.
func (w *webhookFile) alias() string {
	return cmp.Or(strings.NewReplacer("-", "", ".", "").Replace(w.label), "api") + w.version
}

// adapter is the type that calls the methods of the kind, below the marker of
// its webhook.
func (w *webhookFile) adapter(aspect, which string) webhookadapter.Adapter {
	return webhookadapter.Adapter{
		Kind: w.kind, Name: w.kind + aspect, Type: w.alias() + "." + w.kind,
		Comment: w.marker(which), Context: "context", Admission: "admission",
	}
}

// marker is the marker of one webhook, with what became mandatory.
func (w *webhookFile) marker(which string) string {
	for _, text := range w.markers {
		if !strings.Contains(text, which) {
			continue
		}
		text = strings.TrimSpace(strings.TrimPrefix(text, "//"))
		text = strings.TrimSuffix(regexp.MustCompile(`webhookVersions=(?:\{[^}]*\}|[^,]*),?`).ReplaceAllString(text, ""), ",")
		if !strings.Contains(text, "sideEffects=") {
			text += ",sideEffects=None"
		}
		versions := regexp.MustCompile(`admissionReviewVersions=("?\{[^}]*\}"?|[^,]*)`)
		if versions.MatchString(text) {
			text = versions.ReplaceAllString(text, "admissionReviewVersions=v1")
		} else {
			text += ",admissionReviewVersions=v1"
		}
		return "// " + text + "\n\n"
	}
	return ""
}

// webhookBuilders brings the builders of webhooks to today's form: the object
// is an argument of the first call, and handlers that take any object have
// methods of their own.
func webhookBuilders(f *goFile) {
	oldruntime.WebhookBuilders(f.File, f.remark, func(oldruntime.Chain, ast.Expr) []string { return nil })
	for fn := range f.Functions() {
		if fn.Recv != nil {
			f.customValidator(fn)
		}
	}
}

// managerOptions puts options of the manager into the groups that they are in
// today.
func managerOptions(f *goFile) { oldruntime.ManagerOptions(f.File, f.remark) }

func (f *goFile) remark(at ast.Node, text string) { f.todo(at, "%s", text) }

// customValidator adds the warnings to the results of a validator's method.
func (f *goFile) customValidator(fn *ast.FuncDecl) {
	results := fn.Type.Results
	if !slices.Contains([]string{"ValidateCreate", "ValidateUpdate", "ValidateDelete"}, fn.Name.Name) || results.NumFields() != 1 || fn.Type.Params.NumFields() < 2 ||
		!f.Is(fn.Type.Params.List[0].Type, "context", "Context") || f.Text(results.List[0].Type) != "error" || len(results.List[0].Names) > 0 {
		return
	}
	f.Replace(results, "("+f.Need(crAdmission, "")+".Warnings, error)")
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
			f.Insert(r.Results[0].Pos(), "nil, ")
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
}
