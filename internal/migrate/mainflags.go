package migrate

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// flagFields are the flags of the new main program, and those of old scaffolds
// that became one of them, by the fields of its options. One without a field
// is gone.
func flagFields() map[string]string {
	return map[string]string{
		"metrics-addr": "metricsAddr", "metrics-bind-address": "metricsAddr", "metrics-secure": "secureMetrics", "health-probe-bind-address": "probeAddr",
		"enable-leader-election": "leaderElect", "leader-elect": "leaderElect", "leader-election-id": "leaderElectionID", "enable-http2": "enableHTTP2", "config": "",
		"webhook-host": "webhookHost", "webhook-port": "webhookPort",
		"webhook-cert-path": "webhookCert.path", "webhook-cert-name": "webhookCert.name", "webhook-cert-key": "webhookCert.key",
		"metrics-cert-path": "metricsCert.path", "metrics-cert-name": "metricsCert.name", "metrics-cert-key": "metricsCert.key",
	}
}

// isOldFlag says whether the scaffolds of old had a flag: their default of it
// is nothing of the user's.
func isOldFlag(name string) bool {
	return slices.Contains([]string{"metrics-addr", "enable-leader-election", "metrics-bind-address", "health-probe-bind-address", "leader-elect", "config",
		"metrics-secure", "enable-http2"}, name)
}

// flagVariables are the variables that the scaffolds of old had for flags, by
// the fields of the new main program's options.
func flagVariables() map[string]string {
	return map[string]string{"metricsAddr": "metricsAddr", "probeAddr": "probeAddr", "enableLeaderElection": "leaderElect", "secureMetrics": "secureMetrics", "enableHTTP2": "enableHTTP2"}
}

// flagCall is a call that defines a flag.
type flagCall struct {
	name   string
	target ast.Expr // what the value goes to, nil where the call returns it
	value  ast.Expr // the default
}

// flagCall reads a call that defines a flag of the process, nil for any other.
func (f *goFile) flagCall(n ast.Node) *flagCall {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) < 3 || !hasAnyPrefix(f.text(call.Fun), "flag.", "pflag.") {
		return nil
	}
	c, args := &flagCall{}, call.Args
	if strings.Contains(callee(call), "Var") {
		c.target, args = args[0], args[1:]
	}
	name, ok := stringLiteral(args[0])
	if !ok {
		return nil
	}
	c.name, c.value = name, args[1]
	if strings.HasSuffix(callee(call), "P") && len(args) > 2 {
		c.value = args[2] // behind the short name
	}
	return c
}

// flagOf is the call of a statement that does nothing but to define a flag,
// and the variable that has its value or a pointer to it.
func (f *goFile) flagOf(s ast.Stmt) (c *flagCall, to ast.Expr) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if c = f.flagCall(s.X); c != nil && c.target != nil {
			if at, ok := c.target.(*ast.UnaryExpr); ok && at.Op == token.AND {
				return c, at.X
			}
		}
	case *ast.AssignStmt:
		if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
			if c = f.flagCall(s.Rhs[0]); c != nil && c.target == nil {
				return c, s.Lhs[0]
			}
		}
	}
	return nil, nil
}

// definesFlag is the name of a flag that a node defines somewhere inside of it
// and the new main program too, empty for none.
func (f *goFile) definesFlag(n ast.Node) string {
	name := ""
	ast.Inspect(n, func(n ast.Node) bool {
		if c := f.flagCall(n); c != nil && name == "" {
			if _, known := flagFields()[c.name]; known {
				name = c.name
			}
		}
		return name == ""
	})
	return name
}

// readFlags finds the variables of main that are bound to flags which the new
// main program has too: its options take their place.
func (p *mainParts) readFlags(f *goFile, list []ast.Stmt) {
	for _, s := range list {
		c, to := f.flagOf(s)
		id, ok := to.(*ast.Ident)
		if !ok || id.Obj == nil || f.isOfPackage(id) {
			continue
		}
		field, known := flagFields()[c.name]
		switch {
		case !known || !p.takeDefault(f, c):
			p.own[id.Obj] = true
		case field == "":
			p.bound[id.Obj] = ""
		case c.target == nil:
			p.bound[id.Obj] = "&opts." + field
		default:
			p.bound[id.Obj] = "opts." + field
		}
	}
}

// takeDefault makes the default of a flag that is the user's the new main
// program's, and says whether it can be.
func (p *mainParts) takeDefault(f *goFile, c *flagCall) bool {
	if isOldFlag(c.name) {
		return true
	}
	text := f.text(c.value)
	if strings.Contains(c.name, "-cert-") { // one function defines them for both servers
		return slices.Contains([]string{`""`, `"tls.crt"`, `"tls.key"`}, text)
	}
	if _, isLiteral := c.value.(*ast.BasicLit); !isLiteral && text != "true" && text != "false" {
		return false
	}
	p.flags[c.name] = text
	return true
}

// flag reads a statement that defines a flag of the new main program, and says
// whether it is one. What is no variable of main gets the flag's value after
// the flags are parsed.
func (r *optionReader) flag(s ast.Stmt) bool {
	c, to := r.file.flagOf(s)
	if c == nil {
		return false
	}
	field, known := flagFields()[c.name]
	id, isName := to.(*ast.Ident)
	if isName && id.Obj != nil {
		if _, bound := r.parts.bound[id.Obj]; bound {
			return true
		}
	}
	local := isName && id.Obj != nil && !r.file.isOfPackage(id)
	if !known || local || !r.parts.takeDefault(r.file, c) {
		return false
	}
	if field == "" {
		return true
	}
	value := "opts." + field
	if c.target == nil {
		value = "&" + value
	}
	l := leftover{file: r.file.name, first: r.file.line(s.Pos()), last: r.file.line(s.End()), phase: beforeManager}
	l.text, l.carried = r.file.carry(to, r.carried, r.parts, false, nil)
	if l.text += " = " + value; !l.carried {
		l.text = r.file.text(s)
	}
	r.parts.left = append(r.parts.left, l)
	return true
}

// isOfPackage says whether a name is of a declaration beside main.
func (f *goFile) isOfPackage(id *ast.Ident) bool {
	return id.Obj != nil && f.tree.Scope.Lookup(id.Name) == id.Obj
}

// goes says whether a variable of main has its successor in the options.
func (p *mainParts) goes(id *ast.Ident) bool {
	if id.Obj == nil {
		return false
	}
	_, bound := p.bound[id.Obj]
	return bound || (flagVariables()[id.Name] != "" || id.Name == "configFile") && !p.own[id.Obj]
}

// withoutFlags says what of a declaration goes, for carry, and whether there
// is something left of it.
func (p *mainParts) withoutFlags(f *goFile, s ast.Stmt) (instead map[ast.Node]string, left bool) {
	d, ok := s.(*ast.DeclStmt)
	if !ok {
		return nil, true
	}
	g, ok := d.Decl.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return nil, true
	}
	instead = map[ast.Node]string{}
	for _, spec := range g.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			left = p.withoutNames(f, v, instead) || left
		}
	}
	return instead, left
}

func (p *mainParts) withoutNames(f *goFile, v *ast.ValueSpec, instead map[ast.Node]string) (left bool) {
	var names []string
	for _, id := range v.Names {
		if !p.goes(id) {
			names = append(names, id.Name)
		}
	}
	switch {
	case len(names) == len(v.Names):
	case len(names) == 0:
		instead[v] = ""
	case len(v.Values) == 0:
		instead[v] = strings.Join(names, ", ") + " " + f.text(v.Type)
	default: // each name has a value
		for _, id := range v.Names {
			if p.goes(id) {
				instead[id] = "_"
			}
		}
	}
	return len(names) > 0
}

// markFlags marks definitions of flags that the new main program defines too.
func markFlags(f *goFile) {
	for _, d := range f.tree.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			c := f.flagCall(n)
			if c == nil {
				return true
			}
			if _, known := flagFields()[c.name]; known {
				f.todo(n, "%s defines the flag %s too, and a second definition is a panic at the start: use its options, or give this one another name", newMain, c.name)
			}
			return true
		})
	}
}
