package migrate

import "testing"

func TestReconcileContext(t *testing.T) {
	const sign, today = "(req reconcile.Request) (reconcile.Result, error)", "(ctx context.Context, req reconcile.Request) (reconcile.Result, error)"
	both := importContext + "; " + importReconcile
	ctrl := `ctrl "sigs.k8s.io/controller-runtime"`
	runPasses(t, map[string]passCase{
		"no context":        {importReconcile, "// Reconcile acts.\nfunc (r *R) Reconcile" + sign + " { return r.next(req) }", both, "// Reconcile acts.\nfunc (r *R) Reconcile" + today + " { return r.next(req) }"},
		"request of ctrl":   {ctrl, "func (r *R) Reconcile(req ctrl.Request) (ctrl.Result, error) { return g(req) }", importContext + "; " + ctrl, "func (r *R) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) { return g(req) }"},
		"ctrl without name": {`"sigs.k8s.io/controller-runtime"`, "func (r *R) Reconcile(req controllerruntime.Request) (controllerruntime.Result, error) { return g(req) }", importContext + `; "sigs.k8s.io/controller-runtime"`, "func (r *R) Reconcile(ctx context.Context, req controllerruntime.Request) (controllerruntime.Result, error) {\n\treturn g(req)\n}"},
		"no name":           {importReconcile, "func (R) Reconcile(reconcile.Request) (reconcile.Result, error) { return g() }", both, "func (R) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) { return g() }"},
		"name is taken": {
			both, "func (r *R) Reconcile" + sign + " {\n\tctx, stop := context.WithCancel(context.TODO())\n\treturn g(ctx, stop)\n}",
			"", "func (r *R) Reconcile(reconcileCtx context.Context, req reconcile.Request) (reconcile.Result, error) {\n\tctx, stop := context.WithCancel(reconcileCtx)\n\treturn g(ctx, stop)\n}",
		},
		"name is taken by something else": {
			importReconcile, "func (r *R) Reconcile" + sign + " {\n\tctx := r.ctx\n\treturn g(ctx)\n}",
			both, "func (r *R) Reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {\n\tctx := r.ctx\n\treturn g(ctx)\n}",
		},
		"declared and set": {
			both, "func (r *R) Reconcile" + sign + " {\n\tvar ctx context.Context\n\tctx = context.TODO()\n\treturn g(ctx)\n}",
			"", "func (r *R) Reconcile(reconcileCtx context.Context, req reconcile.Request) (reconcile.Result, error) {\n\tvar ctx context.Context\n\tctx = reconcileCtx\n\treturn g(ctx)\n}",
		},
		"on one line": {
			both, "func (r *R) Reconcile" + sign + " { ctx := context.TODO(); return g(ctx) }",
			"", "func (r *R) Reconcile" + today + " { return g(ctx) }",
		},
		"comment above its own": {
			both, "func (r *R) Reconcile" + sign + " {\n\t// Begin.\n\tctx := context.Background() // for now\n\treturn g(ctx)\n}",
			"", "func (r *R) Reconcile" + today + " {\n\t// Begin.\n\treturn g(ctx)\n}",
		},
		"generic": {
			importReconcile, "func (r *R[T]) Reconcile" + sign + " { return r.next(req) }",
			both, "func (r *R[T]) Reconcile" + today + " { return r.next(req) }",
		},
		"of today":       {both, "func (r *R) Reconcile" + today + " { return g(context.TODO()) }", "", ""},
		"a function":     {importReconcile, "func Reconcile" + sign + " { return g(req) }", "", ""},
		"one result":     {importReconcile, "func (r *R) Reconcile(req reconcile.Request) error { return g(req) }", "", ""},
		"another type":   {importReconcile, "func (r *R) Reconcile(o *Pod) (reconcile.Result, error) { return g(o) }", "", ""},
		"empty receiver": {importReconcile, "func () Reconcile" + sign + " { return g(req) }", "", ""},
	}, reconcileContexts)
}
