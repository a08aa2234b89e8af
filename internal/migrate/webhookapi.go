package migrate

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// webhookBuilders brings the builders of webhooks to today's form: the object
// is an argument of the first call, and handlers that take any object have
// methods of their own.
func webhookBuilders(f *goFile) {
	for call := range goedit.Each[*ast.CallExpr](f.Tree) {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		root := f.webhookRoot(call)
		if root == nil || root == call {
			continue
		}
		switch sel.Sel.Name {
		case "For":
			if len(call.Args) == 1 {
				f.Insert(root.Rparen, ", "+f.Text(call.Args[0]))
				f.ReplaceRange(sel.X.End(), call.End(), "")
			}
		case "WithDefaulter", "WithValidator":
			f.Replace(sel.Sel, strings.Replace(sel.Sel.Name, "With", "WithCustom", 1))
		}
	}
	for fn := range f.Functions() {
		if fn.Recv != nil {
			f.customValidator(fn)
		}
	}
}

// webhookRoot is the call that begins a chain of a builder of webhooks in the
// form of before, nil for other chains.
func (f *goFile) webhookRoot(call *ast.CallExpr) *ast.CallExpr {
	for call != nil {
		if f.Is(call.Fun, crRoot, "NewWebhookManagedBy") || f.Is(call.Fun, crBuilder, "WebhookManagedBy") {
			if len(call.Args) == 1 {
				return call
			}
			return nil
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil
		}
		call, _ = sel.X.(*ast.CallExpr)
	}
	return nil
}

// customValidator adds the warnings to the results of a validator's method.
func (f *goFile) customValidator(fn *ast.FuncDecl) {
	results := fn.Type.Results
	if !slices.Contains([]string{"ValidateCreate", "ValidateUpdate", "ValidateDelete"}, fn.Name.Name) || results.NumFields() != 1 || fn.Type.Params.NumFields() < 2 ||
		!f.Is(fn.Type.Params.List[0].Type, "context", "Context") || f.Text(results.List[0].Type) != "error" || len(results.List[0].Names) > 0 {
		return
	}
	f.Replace(results, "("+f.Need(crAdmission, "")+".Warnings, error)")
	for r := range returns(fn.Body) {
		if len(r.Results) == 1 {
			f.Insert(r.Results[0].Pos(), "nil, ")
		}
	}
}
