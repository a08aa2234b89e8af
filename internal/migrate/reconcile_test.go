package migrate

import (
	"strings"
	"testing"
)

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

// TestSetUpByAdd holds that the scaffold's main program and test can use a
// controller of old by the function that it has for that.
func TestSetUpByAdd(t *testing.T) {
	const (
		add       = "func Add(m manager.Manager) error { return add(m, newReconciler(m)) }"
		reconcile = ") Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) { return g(ctx) }"
		setup     = "\n\n// SetupWithManager adds the controller to the manager.\nfunc (*CacheReconciler) SetupWithManager(mgr manager.Manager) error { return Add(mgr) }"
		old       = add + "\n\ntype ReconcileCache struct {\n\tclient client.Client\n\tmy     *runtime.Scheme\n\tn, o   int\n}\n\nfunc (r *ReconcileCache" + reconcile
		named     = add + "\n\ntype CacheReconciler struct{}\n\nfunc (r *CacheReconciler" + reconcile
		standIn   = "\n\n// CacheReconciler is what cmd/main.go sets up and tests call; ReconcileCache does the work.\ntype CacheReconciler struct {\n\tclient.Client\n\tScheme *runtime.Scheme\n}" +
			"\n\n// Reconcile calls ReconcileCache.\nfunc (r *CacheReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {\n\treturn (&ReconcileCache{client: r.Client, my: r.Scheme}).Reconcile(ctx, req)\n}"
		imports = importContext + "; " + importClient + "; " + importManager + "; " + importReconcile + `; "k8s.io/apimachinery/pkg/runtime"`
	)
	runPasses(t, map[string]passCase{
		"of v0.x":           {imports, old, "", old + standIn + setup},
		"has the name":      {imports, named, "", named + setup},
		"has one":           {imports, named + setup, "", ""},
		"has no controller": {imports, add, "", ""},
		"takes more":        {importManager, "func Add(m manager.Manager, n int) error { return g(m, n) }", "", ""},
		"takes nothing":     {importManager, "func Add() manager.Manager { return g() }", "", ""},
		"embeds": {
			imports, strings.Replace(old, "client client.Client", "client.Client", 1),
			"", strings.Replace(strings.Replace(old, "client client.Client", "client.Client", 1)+standIn+setup, "{client: r.", "{Client: r.", 1),
		},
	}, setUpByAdd)
}
