package upgrade

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

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
