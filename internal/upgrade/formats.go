package upgrade

import (
	"go/ast"
	"go/token"
	"strings"
)

// constantFormats is the version of the language from which on go vet, also as
// go test runs it, refuses a format that is made at run time and has no
// arguments.
const constantFormats = "v1.24.0"

// formats turns fmt.Fprintf(w, text) into fmt.Fprint(w, text), where the text is
// the result of a call or a variable: it says the same, and percent signs in
// the text stay what they are.
func (s *source) formats() {
	ast.Inspect(s.tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || call.Ellipsis.IsValid() {
			return true
		}
		args := map[string]int{"Printf": 1, "Sprintf": 1, "Fprintf": 2}
		name := s.member(call.Fun, "fmt", "Printf", "Sprintf", "Fprintf")
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if ok && name != "" && len(call.Args) == args[name] && madeAtRunTime(call.Args[len(call.Args)-1]) {
			s.replace(sel.Sel.Pos(), sel.Sel.End(), strings.TrimSuffix(name, "f"))
		}
		return true
	})
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
