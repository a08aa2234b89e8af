package migrate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestReconcilerNames holds how the type and its fields get their new names,
// and what of the same name does not.
func TestReconcilerNames(t *testing.T) {
	c := &controller{typ: "ReconcileCache", newType: "CacheReconciler", fields: map[string]string{"client": "Client", "scheme": "Scheme"}}
	runPasses(t, map[string]passCase{
		"struct": {
			importClient + `; "k8s.io/apimachinery/pkg/runtime"`,
			"// ReconcileCache acts.\ntype ReconcileCache struct {\n\t// reads from the cache\n\tclient client.Client\n\tscheme *runtime.Scheme // of types\n}",
			"", "// CacheReconciler acts.\ntype CacheReconciler struct {\n\t// reads from the cache\n\tclient.Client\n\tScheme *runtime.Scheme // of types\n}",
		},
		"struct that embeds": {
			importClient, "type ReconcileCache struct {\n\tBase\n\tclient client.Client\n}", "", "type CacheReconciler struct {\n\tBase\n\tClient client.Client\n}",
		},
		"uses": {
			"", "var _ Reconciler = &ReconcileCache{}\n\nfunc (r *ReconcileCache) get() { r.client.Get(r.scheme, r.other) }",
			"", "var _ Reconciler = &CacheReconciler{}\n\nfunc (r *CacheReconciler) get() { r.Client.Get(r.Scheme, r.other) }",
		},
		"literal in a variable": {
			"", "func f() {\n\tr := &ReconcileCache{client: c, scheme: s}\n\tr.client.Get()\n}", "", "func f() {\n\tr := &CacheReconciler{Client: c, Scheme: s}\n\tr.Client.Get()\n}",
		},
		"fields of other types":   {"", "func (o *Other) get(r *Third) { o.client.Get(); r.scheme.Get(); g(Other{client: c}) }", "", ""},
		"a local variable":        {"", "func f() {\n\tReconcileCache := 1\n\tg(ReconcileCache)\n}", "", ""},
		"of another package":      {`"example.com/metrics"`, "func f() { metrics.ReconcileCache() }", "", ""},
		"a method of the name":    {"", "func (o *Other) ReconcileCache() {}", "", ""},
		"part of a longer name":   {"", "// ReconcileCacheSet and MyReconcileCache differ.\ntype ReconcileCacheSet struct{}\n\nfunc newReconcileCache() {}", "", ""},
		"in a string":             {"", "var s = \"ReconcileCache\"", "", ""},
		"another r in the method": {"", "func (r *ReconcileCache) get() {\n\tfor _, r := range list {\n\t\tr.client.Get()\n\t}\n}", "", "func (r *CacheReconciler) get() {\n\tfor _, r := range list {\n\t\tr.client.Get()\n\t}\n}"},
	}, c.reconcilerPass)
}

func TestReadController(t *testing.T) {
	imports := importClient + "; " + importReconcile + `; "k8s.io/apimachinery/pkg/runtime"`
	reconciler := func(typ string) string {
		return "type " + typ + " struct {\n\tclient client.Client\n\tscheme *runtime.Scheme\n}\n\nfunc (c *" + typ + ") Reconcile(q reconcile.Request) (reconcile.Result, error) { return g() }\n"
	}
	fields := map[string]string{"client": "Client", "scheme": "Scheme"}
	for name, test := range map[string]struct {
		code string
		want *controller // of what is compared
	}{
		"scaffold":         {reconciler("ReconcileCache"), &controller{typ: "ReconcileCache", newType: "CacheReconciler", fields: fields}},
		"new name is used": {reconciler("ReconcileCache") + "type CacheReconciler int", &controller{typ: "ReconcileCache", newType: "ReconcileCache", fields: fields}},
		"name of its own":  {reconciler("worker"), &controller{typ: "worker", newType: "worker", fields: fields}},
		"no controller":    {"func f() {}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readController(map[string][]byte{"a.go": []byte(wrap(t, imports, test.code)), "a_test.go": []byte("package p\n")})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, got, cmp.AllowUnexported(controller{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	if _, err := readController(map[string][]byte{"x.go": []byte("package")}); err == nil {
		t.Error("a syntax error is no error")
	}
}

// TestSetupByAdd holds that the scaffold's main program can set up a controller
// of old by the function that it has for that.
func TestSetupByAdd(t *testing.T) {
	const old = "func Add(m manager.Manager) error { return add(m, newReconciler(m)) }"
	const setup = "\n\n// SetupWithManager adds the controller to the manager.\nfunc (*CacheReconciler) SetupWithManager(mgr manager.Manager) error { return Add(mgr) }"
	runPasses(t, map[string]passCase{
		"of v0.x":       {importManager, old, "", old + setup},
		"has one":       {importManager, old + setup, "", ""},
		"takes more":    {importManager, "func Add(m manager.Manager, n int) error { return g(m, n) }", "", ""},
		"takes nothing": {importManager, "func Add() manager.Manager { return g() }", "", ""},
	}, (&controller{newType: "CacheReconciler"}).setupPass)
}
