package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"

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
			if d.Name.Name == setupWebhook && goedit.Receiver(d) == w.kind {
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
			if lit := literalOf(ast.Unparen(sel.X)); lit != nil && f.Is(lit.Type, path.Join(m.module, w.dir), w.kind) {
				name := f.Need(path.Join(m.module, path.Dir(w.target())), "webhook"+w.version)
				f.Replace(call.Fun, fmt.Sprintf("%s.Setup%sWebhookWithManager", name, w.kind))
			}
		}
	}
}

// write writes internal/webhook's file for the kind.
func (w *webhookFile) write(m *migration) {
	switch {
	case w.custom:
		m.put(w.target(), []byte(w.wrapper(m)))
		return
	case w.other != "":
		m.put(w.target(), []byte(w.placeholder(m)))
		return
	}
	_, defaults := w.methods["Default"]
	_, validates := w.methods["ValidateCreate"]
	if !defaults && !validates && !w.hub {
		m.general = append(m.general, Note{Text: fmt.Sprintf("%s set up a webhook without defaults and validation, of a version that the others are not converted to: it did nothing, and is gone.", w.setUp)})
		return
	}
	alias := w.alias()
	var b strings.Builder
	b.WriteString(m.header())
	fmt.Fprintf(&b, "package %s\n\nimport (\n", w.version)
	if defaults || validates {
		b.WriteString("\t\"context\"\n\n")
	}
	fmt.Fprintf(&b, "\tctrl %q\n", crRoot)
	if validates {
		b.WriteString("\t\"sigs.k8s.io/controller-runtime/pkg/webhook/admission\"\n")
	}
	fmt.Fprintf(&b, "\n\t%s %q\n)\n\n", alias, path.Join(m.module, w.dir))
	fmt.Fprintf(&b, "// Setup%sWebhookWithManager serves the webhooks of %s on the manager's webhook server.\n", w.kind, w.kind)
	fmt.Fprintf(&b, "func Setup%sWebhookWithManager(mgr ctrl.Manager) error {\n\treturn ctrl.NewWebhookManagedBy(mgr, &%s.%s{}).\n", w.kind, alias, w.kind)
	if defaults {
		fmt.Fprintf(&b, "\t\tWithDefaulter(&%sDefaulter{}).\n", w.kind)
	}
	if validates {
		fmt.Fprintf(&b, "\t\tWithValidator(&%sValidator{}).\n", w.kind)
	}
	b.WriteString("\t\tComplete()\n}\n")
	if defaults {
		b.WriteString(w.adapter("Defaulter", "mutating=true").Defaulter())
	}
	if validates {
		b.WriteString(w.adapter("Validator", "mutating=false").Validator(w.methods))
	}
	m.put(w.target(), []byte(b.String()))
}

// target is the file of the kind's webhooks.
func (w *webhookFile) target() string {
	dir := path.Join("internal/webhook", w.version)
	if w.byGroup {
		dir = path.Join("internal/webhook", w.group, w.version)
	}
	return path.Join(dir, strings.ToLower(w.kind)+"_webhook.go")
}

// alias is the name by which the file imports the types.
func (w *webhookFile) alias() string {
	if w.group == "" {
		return "api" + w.version
	}
	return strings.NewReplacer("-", "", ".", "").Replace(w.group) + w.version
}

// wrapper is the file for a type that sets its webhooks up itself.
func (w *webhookFile) wrapper(m *migration) string {
	return fmt.Sprintf("%spackage %s\n\nimport (\n\tctrl %q\n\n\t%s %q\n)\n\n"+
		"// Setup%[6]sWebhookWithManager serves the webhooks of %[6]s, which its type sets up, on the manager's webhook server.\n"+
		"func Setup%[6]sWebhookWithManager(mgr ctrl.Manager) error {\n\treturn (&%[4]s.%[6]s{}).%[7]s(mgr)\n}\n",
		m.header(), w.version, crRoot, w.alias(), path.Join(m.module, w.dir), w.kind, setupWebhook)
}

// placeholder is the file for a kind whose webhooks a type of another package sets
// up: what that needs is in the old main program.
func (w *webhookFile) placeholder(m *migration) string {
	return fmt.Sprintf("%spackage %s\n\nimport ctrl %q\n\n"+
		"// Setup%[4]sWebhookWithManager serves the webhooks of %[4]s on the manager's webhook server.\n"+
		"func Setup%[4]sWebhookWithManager(mgr ctrl.Manager) error {\n\t%[5]s\n\treturn nil\n}\n",
		m.header(), w.version, crRoot, w.kind, todoLine("%s sets them up: make one here as %s does, and return what its %s(mgr) returns", w.other, keptMain, setupWebhook))
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
