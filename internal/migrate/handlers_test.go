package migrate

import "testing"

const (
	importEvent     = `"sigs.k8s.io/controller-runtime/pkg/event"`
	importQueue     = `"k8s.io/client-go/util/workqueue"`
	importReconcile = `"sigs.k8s.io/controller-runtime/pkg/reconcile"`
)

func TestEventHandlers(t *testing.T) {
	runPasses(t, map[string]passCase{
		"predicate": {
			importEvent, "var p = Funcs{UpdateFunc: func(e event.UpdateEvent) bool {\n\t// the spec has changed\n\treturn e.MetaOld.GetGeneration() != e.MetaNew.GetGeneration()\n}}",
			"", "var p = Funcs{UpdateFunc: func(e event.UpdateEvent) bool {\n\t// the spec has changed\n\treturn e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()\n}}",
		},
		"predicate of today": {importEvent, "func p(e event.UpdateEvent) bool { return e.ObjectOld != e.ObjectNew }", "", ""},
		"another variable of the name": {
			importEvent, "func p(e event.DeleteEvent) bool {\n\tfor _, e := range list {\n\t\tg(e.Meta)\n\t}\n\treturn e.Meta == nil\n}",
			"", "func p(e event.DeleteEvent) bool {\n\tfor _, e := range list {\n\t\tg(e.Meta)\n\t}\n\treturn e.Object == nil\n}",
		},
		"Meta of something else": {importEvent, "func p(e event.CreateEvent) bool { return other.Meta == e.Object }", "", ""},
		"event of another package": {
			`"example.com/event"`, "func p(e event.CreateEvent) bool { return e.Meta == nil }", "", "",
		},
		"queue without names": {
			importEvent + "; " + importQueue, "func h(event.GenericEvent, workqueue.RateLimitingInterface) {}",
			importEvent + "; " + importQueue + "; " + importReconcile + "; " + importContext,
			"func h(context.Context, event.GenericEvent, workqueue.TypedRateLimitingInterface[reconcile.Request]) {}",
		},
		"queue of today": {
			importContext + "; " + importEvent + "; " + importQueue + "; " + importReconcile,
			"func h(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) { g(ctx, e.Object) }", "", "",
		},
		"the queue only": {importQueue, "func h(q workqueue.RateLimitingInterface) {}", "", ""},
	}, commonPasses(nil)...)
}

func TestMapFunctions(t *testing.T) {
	runPasses(t, map[string]passCase{
		"in a handler": {
			importHandler, "var h = &handler.EnqueueRequestsFromMapFunc{ToRequests: handler.ToRequestsFunc(func(o handler.MapObject) []int {\n\treturn g(o.Meta, o.Object.(*T))\n})}",
			importHandler + "; " + importContext + "; " + importClient,
			"var h = &handler.EnqueueRequestsFromMapFunc{ToRequests: func(_ context.Context, o client.Object) []int {\n\treturn g(o, o.(*T))\n}}",
		},
		"a method": {
			importHandler, "func (m *Mapper) Map(o handler.MapObject) []int { return g(m.Meta, o.Meta) }",
			importContext + "; " + importClient, "func (m *Mapper) Map(_ context.Context, o client.Object) []int { return g(m.Meta, o) }",
		},
		"a context of its own": {
			importContext + "; " + importHandler, "func m(o handler.MapObject) []int {\n\tctx := context.Background()\n\treturn g(ctx, o.Meta)\n}",
			importContext + "; " + importClient, "func m(_ context.Context, o client.Object) []int {\n\tctx := context.Background()\n\treturn g(ctx, o)\n}",
		},
		"an object": {
			importClient + "; " + importReconcile, "func m(o client.Object) []reconcile.Request { return g(o) }",
			importClient + "; " + importReconcile + "; " + importContext, "func m(_ context.Context, o client.Object) []reconcile.Request { return g(o) }",
		},
		"an object, with a context of its own": {
			importContext + "; " + importClient + `; ctrl "sigs.k8s.io/controller-runtime"`, "var m = func(client.Object) []ctrl.Request { return g(context.TODO()) }\n\nfunc n(o client.Object) []ctrl.Request { return g(context.TODO(), o) }",
			"", "var m = func(context.Context, client.Object) []ctrl.Request { return g(context.TODO()) }\n\nfunc n(ctx context.Context, o client.Object) []ctrl.Request { return g(ctx, o) }",
		},
		"an object of today":     {importContext + "; " + importClient + "; " + importReconcile, "func m(ctx context.Context, o client.Object) []reconcile.Request { return g(o) }", "", ""},
		"an object that is read": {importClient, "func m(o client.Object) []string { return g(o) }", "", ""},
		"without a name": {
			importHandler, "func m(handler.MapObject) []int { return nil }",
			importContext + "; " + importClient, "func m(context.Context, client.Object) []int { return nil }",
		},
		"another variable of the name": {
			importHandler, "func m(o handler.MapObject) []int {\n\tfor _, o := range list {\n\t\tg(o.Object)\n\t}\n\treturn h(o.Object)\n}",
			importContext + "; " + importClient, "func m(_ context.Context, o client.Object) []int {\n\tfor _, o := range list {\n\t\tg(o.Object)\n\t}\n\treturn h(o)\n}",
		},
		"the type of a variable": {importHandler, "var m handler.ToRequestsFunc", "", "var m handler.MapFunc"},
	}, commonPasses(nil)...)
}

func TestOldWatches(t *testing.T) {
	imports := importHandler + "; " + importManager + "; " + importSource
	runPasses(t, map[string]passCase{
		"channel": {
			imports, "func add(mgr manager.Manager) {\n\tc.Watch(&source.Channel{Source: events}, &handler.EnqueueRequestForObject{})\n}",
			"", "func add(mgr manager.Manager) {\n\tc.Watch(source.Channel(events, &handler.EnqueueRequestForObject{}))\n}",
		},
		"manager under another name": {
			imports, "func add(m manager.Manager) {\n\t// the owners\n\tc.Watch(&source.Kind{Type: o}, &handler.EnqueueRequestForOwner{OwnerType: p})\n}",
			imports + "; " + importClient,
			"func add(m manager.Manager) {\n\t// the owners\n\tc.Watch(source.Kind(m.GetCache(), client.Object(o), handler.EnqueueRequestForOwner(m.GetScheme(), m.GetRESTMapper(), p)))\n}",
		},
		"a function that maps": {
			imports, "func add(mgr manager.Manager) {\n\tf := func() {}\n\tc.Watch(&source.Kind{Type: o}, &handler.EnqueueRequestsFromMapFunc{ToRequests: f})\n}",
			imports + "; " + importClient,
			"func add(mgr manager.Manager) {\n\tf := func() {}\n\tc.Watch(source.Kind(mgr.GetCache(), client.Object(o), handler.EnqueueRequestsFromMapFunc(f)))\n}",
		},
		"a variable that is a function": {
			imports, "var f = func() {}\n\nfunc add(mgr manager.Manager) {\n\tvar g = f\n\tc.Watch(&source.Kind{Type: o}, &handler.EnqueueRequestsFromMapFunc{ToRequests: g})\n}",
			imports + "; " + importClient,
			"var f = func() {}\n\nfunc add(mgr manager.Manager) {\n\tvar g = f\n\tc.Watch(source.Kind(mgr.GetCache(), client.Object(o), handler.EnqueueRequestsFromMapFunc(g)))\n}",
		},
		"a variable that maps": {
			imports, "func add(mgr manager.Manager) {\n\tvar g = &mapper{c}\n\tc.Watch(&source.Kind{Type: o}, &handler.EnqueueRequestsFromMapFunc{ToRequests: g})\n}",
			imports + "; " + importClient,
			"func add(mgr manager.Manager) {\n\tvar g = &mapper{c}\n\tc.Watch(source.Kind(mgr.GetCache(), client.Object(o), handler.EnqueueRequestsFromMapFunc(g.Map)))\n}",
		},
		"a value that maps": {
			imports, "func add(mgr manager.Manager) {\n\tc.Watch(&source.Kind{Type: o}, &handler.EnqueueRequestsFromMapFunc{ToRequests: &mapper{c}})\n}",
			imports + "; " + importClient,
			"func add(mgr manager.Manager) {\n\tc.Watch(source.Kind(mgr.GetCache(), client.Object(o), handler.EnqueueRequestsFromMapFunc((&mapper{c}).Map)))\n}",
		},
		"informer": {
			imports, "func add(mgr manager.Manager) {\n\tc.Watch(&source.Informer{Informer: i}, &handler.EnqueueRequestForObject{})\n}", "",
			"func add(mgr manager.Manager) {\n\t// TODO(migrate): sources have their handler in them today: Watch(source.Kind(mgr.GetCache(), object, handler, predicates...))\n\tc.Watch(&source.Informer{Informer: i}, &handler.EnqueueRequestForObject{})\n}",
		},
		"predicates in a slice": {
			imports, "func add(mgr manager.Manager) {\n\tc.Watch(&source.Kind{Type: o}, &handler.EnqueueRequestForObject{}, list...)\n}", imports + "; " + importClient,
			"func add(mgr manager.Manager) {\n\tc.Watch(source.Kind(mgr.GetCache(), client.Object(o), &handler.EnqueueRequestForObject{}, list...))\n}",
		},
		"of today":               {imports, "func add(mgr manager.Manager) { c.Watch(source.Kind(mgr.GetCache(), o, &handler.EnqueueRequestForObject{})) }", "", ""},
		"files":                  {"", "func add() { w.Watch(\"a\", \"b\"); w.Watch(dir) }", "", ""},
		"kind of another source": {`"example.com/source"`, "func add() { c.Watch(&source.Kind{Type: o}, h) }", "", ""},
	}, oldWatches)
}
