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

const (
	webhookMarker = "+kubebuilder:webhook:"
	// webhookSuite is what sets up webhooks for the tests of a package of types.
	webhookSuite = "webhook_suite_test.go"
)

// webhookFile is what the package of a kind has of old webhooks, in whatever
// files: methods of the type itself, which the manager called.
type webhookFile struct {
	*apiVersion
	kind    string
	to      string         // directory of the types as it will be
	below   string         // internal/webhook: the group's directory, where there is one
	setUp   string         // the file that sets them up, empty for none
	methods map[string]int // number of results
	files   map[string]bool
	markers []string
	custom  bool   // SetupWebhookWithManager names types of the user's that do the work
	more    bool   // SetupWebhookWithManager does more than that
	other   string // what sets them up in the place of the type, and where; empty for nothing
}

// webhooks reads the webhooks of the project's kinds. The server converts for
// hubs, too, whose types set none up.
func (m *migration) webhooks() []*webhookFile {
	var out []*webhookFile
	for _, a := range m.apis {
		w := &webhookFile{
			apiVersion: a, kind: a.kinds[0].name, to: m.moved(a.dir), methods: map[string]int{}, files: map[string]bool{},
		}
		if m.multigroup {
			w.below = a.label
		}
		for f := range m.parse(m.codeIn(a.dir)) {
			w.read(f)
		}
		switch {
		case w.setUp != "":
		case a.webhooks || a.hub:
			w.other = m.setUpElsewhere(a.dir, w.kind)
			if !a.webhooks {
				w.methods = map[string]int{}
			}
		default:
			continue
		}
		out = append(out, w)
	}
	for _, w := range out {
		for f := range m.parse(m.codeIn(w.dir)) {
			w.readMarkers(f, out)
		}
	}
	return out
}

// setUpElsewhere is the type in another package that sets up the webhooks of a
// kind, with the place of its method; empty for none.
func (m *migration) setUpElsewhere(dir, kindName string) string {
	for f := range m.parse(m.ownCode()) {
		if path.Dir(f.Name) == dir || strings.HasSuffix(f.Name, "_test.go") {
			continue
		}
		for fn := range f.Functions() {
			if fn.Name.Name == setupWebhook && fn.Recv != nil && strings.Contains(f.Text(fn), "."+kindName+"{}") {
				return fmt.Sprintf("%s.%s (%s:%d)", f.Tree.Name.Name, goedit.Receiver(fn), m.along(f.Name), f.Line(fn.Pos()))
			}
		}
	}
	return ""
}

// read finds the methods of the kind in a file.
func (w *webhookFile) read(f *goFile) {
	for fn := range f.Functions() {
		if goedit.Receiver(fn) != w.kind {
			continue
		}
		name := fn.Name.Name
		w.methods[name] = fn.Type.Results.NumFields()
		if name == "Default" || name == setupWebhook || strings.HasPrefix(name, "Validate") {
			w.files[f.Name] = true
		}
		if name == setupWebhook {
			w.setUp, w.custom, w.more = f.Name, isCustom(f.Text(fn)), doesMore(f, fn)
		}
	}
}

// readMarkers finds the markers in a file that are of the kind's webhooks.
func (w *webhookFile) readMarkers(f *goFile, all []*webhookFile) {
	mates := slices.DeleteFunc(slices.Clone(all), func(o *webhookFile) bool { return o.dir != w.dir })
	for _, group := range f.Tree.Comments {
		for _, c := range group.List {
			if strings.Contains(c.Text, webhookMarker) && markedBy(f, c, mates) == w {
				w.markers = append(w.markers, c.Text)
			}
		}
	}
}

// markedBy is the kind that a marker is for: the one that its path ends in, the
// one that stands below it, or the only one there is.
func markedBy(f *goFile, c *ast.Comment, all []*webhookFile) *webhookFile {
	below := func(w *webhookFile) bool {
		i := slices.IndexFunc(f.Tree.Decls, func(d ast.Decl) bool { return d.Pos() > c.Pos() })
		return i >= 0 && w.isOf(f, f.Tree.Decls[i])
	}
	for _, is := range []func(*webhookFile) bool{
		func(w *webhookFile) bool {
			return regexp.MustCompile(`path="?[^,"]*-` + strings.ToLower(w.kind) + `("|,|$)`).MatchString(c.Text)
		},
		below,
		func(w *webhookFile) bool { return w.files[f.Name] },
		func(*webhookFile) bool { return true },
	} {
		found := slices.DeleteFunc(slices.Clone(all), func(w *webhookFile) bool { return !is(w) })
		if len(found) == 1 {
			return found[0]
		}
	}
	return nil
}

// isOf says whether a declaration is a method of the kind, or a variable that
// says what its type is.
func (w *webhookFile) isOf(f *goFile, d ast.Decl) bool {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return goedit.Receiver(d) == w.kind
	case *ast.GenDecl:
		return strings.Contains(squeeze(f.Text(d)), "&"+w.kind+"{}")
	}
	return false
}

// isUselessSuite says whether a file is the set-up of an environment that no
// test needs any more. That of webhooks sets up what is in internal/webhook
// now.
func (m *migration) isUselessSuite(name string) bool {
	base := path.Base(name)
	return (base == webhookSuite || base == "suite_test.go" && !m.hasSpecs(path.Dir(name))) && !m.isSpec(name)
}

// isSpec says whether a file of a suite tests something itself.
func (m *migration) isSpec(name string) bool {
	f, err := parseGo(name, m.files[name].data)
	if err != nil {
		return true
	}
	for fn := range f.Functions() {
		if fn.Recv == nil && len(fn.Body.List) > 0 && hasAnyPrefix(fn.Name.Name, "Test", "Benchmark", "Fuzz", "Example") &&
			fn.Name.Name != "TestMain" && !strings.Contains(f.Text(fn), "RunSpecs") {
			return true
		}
	}
	return goedit.Has(f.Tree, func(call *ast.CallExpr) bool {
		return slices.Contains([]string{"Describe", "Context", "When", "It", "Specify", "DescribeTable", "Entry"}, callee(call))
	})
}

// methodsOf are the texts of a type's methods, by their names.
func (m *migration) methodsOf(dir, kind string) map[string]string {
	out := map[string]string{}
	for f := range m.parse(inDir(m.files, dir)) {
		for fn := range f.Functions() {
			if goedit.Receiver(fn) == kind {
				out[fn.Name.Name] = f.Text(fn)
			}
		}
	}
	return out
}

// conversions finds out by the types' methods which versions are converted to
// which: PROJECT did not always know, and never of the spokes. The entries are
// those of PROJECT, in the order of m.apis.
func (m *migration) conversions(entries []map[string]any) {
	for i, hub := range m.apis {
		webhooks, _ := entries[i]["webhooks"].(map[string]any)
		claimed := webhooks["conversion"] == true
		delete(webhooks, "conversion")
		kindName := hub.kinds[0].name
		var spokes []string
		for j, other := range m.apis {
			if i != j && other.group == hub.group && other.kinds[0].name == kindName && m.methodsOf(other.dir, kindName)["ConvertTo"] != "" {
				spokes = append(spokes, other.version)
			}
		}
		switch isHub := m.methodsOf(hub.dir, kindName)["Hub"] != ""; {
		case isHub && len(spokes) > 0:
			if webhooks == nil {
				webhooks = map[string]any{}
				entries[i]["webhooks"] = webhooks
			}
			webhooks["conversion"], webhooks["spoke"], webhooks["webhookVersion"] = true, spokes, "v1"
			hub.hub = true
		case isHub:
			m.know("%s of %s is a hub, and no other version is converted to it: 'mysdk create webhook --conversion' sets the webhook up once there is one.", kindName, hub.version)
		case claimed && !m.hasHub(hub):
			m.know("PROJECT had a conversion webhook for %s, and no version of it has the method Hub: nothing could be converted, and nothing is.", kindName)
		}
		if claimed && !hub.hub && webhooks["defaulting"] != true && webhooks["validation"] != true {
			delete(entries[i], "webhooks")
		}
	}
}

// hasHub says whether some version of the kind is a hub.
func (m *migration) hasHub(of *apiVersion) bool {
	return slices.ContainsFunc(m.apis, func(a *apiVersion) bool {
		return a.group == of.group && a.kinds[0].name == of.kinds[0].name && m.methodsOf(a.dir, a.kinds[0].name)["Hub"] != ""
	})
}
