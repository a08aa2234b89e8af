// Package oldruntime rewrites what an older controller-runtime had in another
// place: the object of a webhook builder, and options of the manager. It knows
// single files, and nothing of projects and versions.
package oldruntime

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

const runtimePath = "sigs.k8s.io/controller-runtime"

// Note says what is left to the user, and where.
type Note func(at ast.Node, text string)

// Chain is a chain of calls on a webhook builder, by the name of what is called.
type Chain = map[string]*ast.CallExpr

// WebhookBuilders turns ctrl.NewWebhookManagedBy(mgr).For(x) into
// ctrl.NewWebhookManagedBy(mgr, x), and what follows into its custom form. further
// are calls to put into the place of For(x).
func WebhookBuilders(f *goedit.File, note Note, further func(c Chain, object ast.Expr) []string) {
	for first, c := range goedit.Chains(f.Tree, func(call *ast.CallExpr) bool {
		return f.Is(call.Fun, runtimePath, "NewWebhookManagedBy") || f.Is(call.Fun, runtimePath+"/pkg/builder", "WebhookManagedBy")
	}) {
		if len(first.Args) == 1 { // not today's form
			rewrite(f, first, c, note, further)
		}
	}
}

func rewrite(f *goedit.File, first *ast.CallExpr, c Chain, note Note, further func(Chain, ast.Expr) []string) {
	forCall := c["For"]
	if forCall == nil || len(forCall.Args) != 1 {
		note(first, "the webhook builder takes its object as second argument now, and no For: pass it here")
		return
	}
	sel, _ := forCall.Fun.(*ast.SelectorExpr)
	dot := f.Between(sel.X.End(), sel.Sel.Pos())
	if strings.Contains(dot, "//") || strings.Contains(dot, "/*") {
		note(forCall, "the webhook builder takes its object as second argument now, and no For: pass it there, and keep the comment")
		return
	}
	for _, name := range []string{"Validator", "Defaulter"} {
		if call := c["With"+name]; call != nil {
			if old, ok := call.Fun.(*ast.SelectorExpr); ok {
				f.Replace(old.Sel, "WithCustom"+name)
			}
		}
	}
	f.Insert(first.Args[0].End(), ", "+f.Text(forCall.Args[0])) // a comma may be behind it
	text := ""
	for _, name := range further(c, forCall.Args[0]) {
		text += dot + name
	}
	f.ReplaceRange(sel.X.End(), forCall.End(), text)
}

// group is a field of the manager's options that has others in it since v0.16.
type group struct {
	field, pkg, alias string
	format            string            // its value, by the package's name and the fields in it
	fields            map[string]string // the fields in it, with their values, by their old names
}

var groups = []group{
	{"Metrics", "metrics/server", "metricsserver", "%s.Options{%s}", map[string]string{"MetricsBindAddress": "BindAddress: %[2]s"}},
	{"WebhookServer", "webhook", "", "%[1]s.NewServer(%[1]s.Options{%[2]s})",
		map[string]string{"Host": "Host: %[2]s", "Port": "Port: %[2]s", "CertDir": "CertDir: %[2]s", "TLSOpts": "TLSOpts: %[2]s"}},
	{"Cache", "cache", "", "%s.Options{%s}",
		map[string]string{"Namespace": "DefaultNamespaces: map[string]%[1]s.Config{%[2]s: {}}", "SyncPeriod": "SyncPeriod: %[2]s"}},
}

// ManagerOptions puts options of the manager into the groups that they are in
// today.
func ManagerOptions(f *goedit.File, note Note) {
	for lit := range goedit.Each[*ast.CompositeLit](f.Tree) {
		if f.Is(lit.Type, runtimePath, "Options") || f.Is(lit.Type, runtimePath+"/pkg/manager", "Options") {
			for _, g := range groups {
				g.put(f, lit, note)
			}
		}
	}
}

// put puts a group in the place of the first of its fields and takes the others
// out.
func (g group) put(f *goedit.File, lit *ast.CompositeLit, note Note) {
	var first *ast.KeyValueExpr
	var within []string
	has := goedit.Field(lit, g.field) != nil
	for i, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok || g.fields[f.Text(kv.Key)] == "" {
			continue
		}
		if has {
			to := g.field
			if f.Text(kv.Key) == "Namespace" {
				to += ".DefaultNamespaces"
			}
			note(kv, "this option has moved into the manager's field "+to+": "+f.Text(kv))
			continue
		}
		within = append(within, fmt.Sprintf(g.fields[f.Text(kv.Key)], f.Need(runtimePath+"/pkg/"+g.pkg, g.alias), f.Text(kv.Value)))
		if first == nil {
			first = kv
		} else {
			f.CutElement(lit, i)
		}
	}
	if first != nil {
		f.Replace(first, g.field+": "+fmt.Sprintf(g.format, f.Need(runtimePath+"/pkg/"+g.pkg, g.alias), strings.Join(within, ", ")))
	}
}
