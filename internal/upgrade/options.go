package upgrade

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// optionGroup is where options of the manager have gone.
type optionGroup struct {
	field       string            // that has them now
	path, name  string            // package of its type, and what a file calls it by choice
	open, close string            // around them; % is the package
	options     map[string]string // how each is written now: % is the package, and $ its value
}

// optionGroups are the places that options of the manager have gone to.
func optionGroups() []optionGroup {
	return []optionGroup{
		{"Metrics", runtimePath + "/pkg/metrics/server", "metricsserver", "%.Options{", "}", map[string]string{"MetricsBindAddress": "BindAddress: $"}},
		{"WebhookServer", webhookPath, "webhook", "%.NewServer(%.Options{", "})", map[string]string{
			"Host": "Host: $", "Port": "Port: $", "CertDir": "CertDir: $", "TLSOpts": "TLSOpts: $",
		}},
		{"Cache", runtimePath + "/pkg/cache", "cache", "%.Options{", "}", map[string]string{
			"SyncPeriod": "SyncPeriod: $", "Namespace": "DefaultNamespaces: map[string]%.Config{$: {}}",
		}},
	}
}

// managerOptions moves the options of a manager to where they are today.
func (w *rewriter) managerOptions(s *goedit.File) {
	for lit := range goedit.Each[*ast.CompositeLit](s.Tree) {
		if s.Is(lit.Type, runtimePath, "Options") || s.Is(lit.Type, runtimePath+"/pkg/manager", "Options") {
			for _, g := range optionGroups() {
				w.moveOptions(s, lit, g)
			}
		}
	}
}

// moveOptions moves the options of one group: the first of them gives way to
// the field that has them all.
func (w *rewriter) moveOptions(s *goedit.File, lit *ast.CompositeLit, g optionGroup) {
	var moved []ast.Node
	var cuts []goedit.Edit
	var texts []string
	end, safe := lit.Lbrace+1, true
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return // without names there is nothing to tell them by
		}
		name := s.Text(kv.Key)
		safe = safe && name != g.field
		if now, ok := g.options[name]; ok {
			if len(moved) > 0 { // with the comma before it, and no comment
				cuts = append(cuts, goedit.Edit{From: end, To: kv.End()})
				safe = safe && strings.Trim(s.Between(end, kv.Pos()), ", \t\r\n") == ""
			}
			moved = append(moved, kv)
			texts = append(texts, strings.ReplaceAll(now, "$", s.Text(kv.Value)))
		}
		end = kv.End()
	}
	if len(moved) > 0 && !safe {
		w.note(s, moved[0], "options of the manager are no longer its own, but those of its field "+g.field+": "+strings.Join(texts, ", "))
		return
	}
	if len(moved) == 0 {
		return
	}
	name := s.Need(g.path, g.name)
	s.Replace(moved[0], g.field+": "+strings.ReplaceAll(g.open+strings.Join(texts, ", ")+g.close, "%", name))
	for _, c := range cuts {
		s.ReplaceRange(c.From, c.To, "")
	}
}

// formats turns fmt.Fprintf(w, text) into fmt.Fprint(w, text), where the text is
// the result of a call or a variable: it says the same, and percent signs in
// the text stay what they are.
func formats(s *goedit.File) {
	args := map[string]int{"Printf": 1, "Sprintf": 1, "Fprintf": 2}
	for call := range goedit.Each[*ast.CallExpr](s.Tree) {
		if call.Ellipsis.IsValid() {
			continue
		}
		name := s.Member(call.Fun, "fmt")
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if ok && args[name] > 0 && len(call.Args) == args[name] && madeAtRunTime(call.Args[len(call.Args)-1]) {
			s.Replace(sel.Sel, strings.TrimSuffix(name, "f"))
		}
	}
}

// madeAtRunTime says whether a text is certainly no constant.
func madeAtRunTime(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return madeAtRunTime(e.X)
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (madeAtRunTime(e.X) || madeAtRunTime(e.Y))
	case *ast.Ident:
		return e.Obj != nil && e.Obj.Kind == ast.Var
	case *ast.CallExpr:
		switch fun := e.Fun.(type) {
		case *ast.SelectorExpr:
			return true
		case *ast.Ident:
			isFunc := fun.Obj != nil && fun.Obj.Kind == ast.Fun
			return isFunc || fun.Name == "string" && len(e.Args) == 1 && madeAtRunTime(e.Args[0])
		}
	}
	return false
}
