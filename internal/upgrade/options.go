package upgrade

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// optionGroup is where options of the manager have gone.
type optionGroup struct {
	field       string // that has them now
	path, name  string // package of its type, and what a file calls it by choice
	open, close string // around them; % is the package
	options     []movedOption
}

// movedOption is an option that has gone, and how it is written now: % is the
// package, and $ its value.
type movedOption struct{ name, now string }

// optionGroups are the places that options of the manager have gone to.
func optionGroups() []optionGroup {
	return []optionGroup{
		{"Metrics", runtimePath + "/pkg/metrics/server", "metricsserver", "%.Options{", "}", []movedOption{{"MetricsBindAddress", "BindAddress: $"}}},
		{"WebhookServer", webhookPath, "webhook", "%.NewServer(%.Options{", "})", []movedOption{
			{"Host", "Host: $"}, {"Port", "Port: $"}, {"CertDir", "CertDir: $"}, {"TLSOpts", "TLSOpts: $"},
		}},
		{"Cache", runtimePath + "/pkg/cache", "cache", "%.Options{", "}", []movedOption{
			{"SyncPeriod", "SyncPeriod: $"}, {"Namespace", "DefaultNamespaces: map[string]%.Config{$: {}}"},
		}},
	}
}

// managerOptions moves the options of a manager to where they are today.
func (w *rewriter) managerOptions(s *source) {
	ast.Inspect(s.tree, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || s.member(lit.Type, runtimePath, "Options") == "" && s.member(lit.Type, runtimePath+"/pkg/manager", "Options") == "" {
			return true
		}
		for _, g := range optionGroups() {
			w.moveOptions(s, lit, g)
		}
		return true
	})
}

// moveOptions moves the options of one group: the first of them gives way to
// the field that has them all.
func (w *rewriter) moveOptions(s *source, lit *ast.CompositeLit, g optionGroup) {
	var moved []*ast.KeyValueExpr
	var texts []string
	taken := false
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return // without names there is nothing to tell them by
		}
		id, ok := kv.Key.(*ast.Ident)
		if !ok {
			return
		}
		taken = taken || id.Name == g.field
		if i := slices.IndexFunc(g.options, func(o movedOption) bool { return o.name == id.Name }); i >= 0 {
			moved = append(moved, kv)
			texts = append(texts, strings.ReplaceAll(g.options[i].now, "$", s.between(kv.Value.Pos(), kv.Value.End())))
		}
	}
	switch {
	case len(moved) == 0:
	case taken:
		for _, kv := range moved {
			w.notes = append(w.notes, note{s.name, s.line(kv.Pos()), s.between(kv.Key.Pos(), kv.Key.End()) + " is no option of the manager any more, but one of what its field " + g.field + " has"})
		}
	default:
		name := s.need(g.path, g.name, w.declared(s))
		text := strings.ReplaceAll(g.open+strings.Join(texts, ", ")+g.close, "%", name)
		s.replace(moved[0].Pos(), moved[0].End(), g.field+": "+text)
		for _, kv := range moved[1:] {
			s.dropElement(lit, kv)
		}
	}
}

// dropElement takes an element out of a literal, with the comma behind it. A
// comma before it stays: behind the last element that is Go, too.
func (s *source) dropElement(lit *ast.CompositeLit, e ast.Expr) {
	rest := s.between(e.End(), lit.Rbrace)
	comma := commaIn(rest)
	if comma >= 0 && strings.TrimLeft(rest[:comma], " \t") == "" {
		s.removeLine(e.Pos(), e.End()+token.Pos(comma+1))
		return
	}
	s.removeLine(e.Pos(), e.End())
	if comma >= 0 { // what stands between is a comment
		at := e.End() + token.Pos(comma)
		s.replace(at, at+1, "")
	}
}

// commaIn is where the comma is with which a text begins, comments aside; -1
// where it begins with something else.
func commaIn(text string) int {
	var sc scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	sc.Init(file, []byte(text), nil, 0)
	pos, tok, _ := sc.Scan()
	if tok != token.COMMA {
		return -1
	}
	return file.Offset(pos)
}
