package migrate

import (
	"go/ast"
	"slices"

	"github.com/example/mysdk/internal/oldruntime"
)

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
