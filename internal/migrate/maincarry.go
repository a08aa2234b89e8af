package migrate

import (
	"go/ast"
	"slices"
	"strings"
)

// carrier makes a statement of the old main program one of the new one.
type carrier struct {
	file     *goFile
	parts    *mainParts
	carried  map[*variable]bool // variables of statements before it
	declared map[*variable]bool // its own
	managed  bool               // there is a manager
	instead  map[ast.Node]string
	keys     map[*ast.Ident]bool // fields in literals, which bear names of variables by chance
	start    int
	edits    []edit
	ok       bool
}

func (c *carrier) replace(n ast.Node, text string) {
	c.edits = append(c.edits, edit{c.file.offset(n.Pos()) - c.start, c.file.offset(n.End()) - c.start, text})
}

// visit changes one node. It is for ast.Inspect.
func (c *carrier) visit(n ast.Node) bool {
	if text, other := c.instead[n]; other && n != nil {
		c.replace(n, text)
		return false
	}
	switch n := n.(type) {
	case *ast.CompositeLit:
		c.literal(n)
	case *ast.StarExpr: // of a flag, by its pointer
		if id, ok := n.X.(*ast.Ident); ok && id.Obj != nil {
			if field, pointer := strings.CutPrefix(c.parts.bound[id.Obj], "&"); pointer {
				c.replace(n, field)
				return false
			}
		}
	case *ast.SelectorExpr:
		if id, ok := n.X.(*ast.Ident); ok && id.Obj == nil && c.parts.aliases[id.Name] != "" {
			c.replace(id, c.parts.aliases[id.Name])
		}
	case *ast.Ident:
		if n.Obj == nil || c.keys[n] || c.declared[n.Obj] || c.carried[n.Obj] {
			return true
		}
		text, there := c.name(n)
		if text != "" && text != n.Name {
			c.replace(n, text)
		}
		c.ok = c.ok && there
	}
	return true
}

// literal notes the names of fields in a literal of a struct.
func (c *carrier) literal(lit *ast.CompositeLit) {
	switch lit.Type.(type) {
	case *ast.MapType, *ast.ArrayType:
		return
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok {
				c.keys[id] = true
			}
		}
	}
}

// returns makes the returns of a function that main left its work to what main
// does with an error.
func (c *carrier) returns(s ast.Node) {
	ast.Inspect(s, func(n ast.Node) bool {
		if _, isFunc := n.(*ast.FuncLit); isFunc {
			return false
		}
		r, ok := n.(*ast.ReturnStmt)
		if !ok || len(r.Results) == 0 {
			return true
		}
		if id, ok := r.Results[0].(*ast.Ident); ok && id.Name == "nil" && len(r.Results) == 1 {
			c.replace(r, "return")
			return false
		}
		c.ok = c.ok && len(r.Results) == 1
		from, to, end := c.file.offset(r.Pos())-c.start, c.file.offset(r.Results[0].Pos())-c.start, c.file.offset(r.End())-c.start
		c.edits = append(c.edits, edit{from, to, "setupLog.Error("}, edit{end, end, ", \"Failed to start\")\nos.Exit(1)"})
		return true
	})
}

// name is what a variable of the old main program is called in the new one,
// empty where its name stays, and whether it is there.
func (c *carrier) name(id *ast.Ident) (text string, there bool) {
	f := c.file
	if to, bound := c.parts.bound[id.Obj]; bound {
		return to, to != ""
	}
	if to := c.parts.signals[id.Obj]; to != "" {
		c.parts.signaled = true
		return to, true
	}
	if arg := c.parts.args[id.Obj]; arg != nil {
		return c.argument(arg)
	}
	if f.isOfPackage(id) && !isScaffoldName(id.Name) {
		return "", !slices.Contains(scaffoldFuncs(), id.Name)
	}
	switch {
	case slices.Contains([]string{"mgr", "err", "scheme", "setupLog"}, id.Name):
		return "", true
	case id.Name == "log":
		return "setupLog", true
	case isConfig(f, id) && c.managed:
		return "mgr.GetConfig()", true
	case isConfig(f, id):
		return restConfig, true
	case id.Name == "ctx":
		return "context.Background()", true
	case id.Name == "namespace" || id.Name == "watchNamespace":
		return `os.Getenv("WATCH_NAMESPACE")`, true
	case flagVariables()[id.Name] != "":
		return "opts." + flagVariables()[id.Name], true
	}
	return "", false
}

// argument is what a parameter of a function that main left its work to stood
// for.
func (c *carrier) argument(arg ast.Expr) (text string, there bool) {
	id, ok := arg.(*ast.Ident)
	if !ok {
		return "", false
	}
	if id.Obj == nil || c.carried[id.Obj] {
		return id.Name, true
	}
	if text, there = c.name(id); text == "" {
		text = id.Name
	}
	return text, there
}

// isConfig says whether a variable is the client's configuration.
func isConfig(f *goFile, id *ast.Ident) bool {
	if id.Name == "cfg" {
		return true
	}
	call, ok := assigned(id).(*ast.CallExpr)
	return ok && (f.calls(call, crRoot, "GetConfigOrDie") != nil || f.calls(call, crRoot, "GetConfig") != nil)
}

// declaredIn adds the variables that a statement declares and the new main
// program gets too.
func (p *mainParts) declaredIn(s ast.Node, into map[*variable]bool) {
	declaredIn(s, into)
	for o := range into {
		_, bound := p.bound[o]
		if flag := flagVariables()[o.Name] != "" || o.Name == "configFile"; bound || flag && !p.own[o] {
			delete(into, o)
		}
	}
}
