package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const importsOfAdd = importClient + "; " + importReconcile + `; "k8s.io/apimachinery/pkg/runtime"; "sigs.k8s.io/controller-runtime/pkg/controller"; ` +
	importHandler + "; " + importManager + "; " + importSource + `; v1 "example.com/api/v1"; appsv1 "k8s.io/api/apps/v1"`

// withAdd is a controller's file in the scaffold's shape, around the
// statements of add.
func withAdd(t *testing.T, statements string) []byte {
	t.Helper()
	return []byte(wrap(t, importsOfAdd, `// Add adds.
func Add(mgr manager.Manager) error { return add(mgr, newReconciler(mgr)) }

func newReconciler(mgr manager.Manager) reconcile.Reconciler {
	return &ReconcileCache{client: mgr.GetClient(), scheme: mgr.GetScheme(), events: mgr.GetRecorder("c")}
}

// add wires it.
func add(mgr manager.Manager, r reconcile.Reconciler) error {
`+statements+`
}

// ReconcileCache acts.
type ReconcileCache struct {
	client client.Client
	scheme *runtime.Scheme
	events any
}

// Reconcile acts on one.
func (r *ReconcileCache) Reconcile(req reconcile.Request) (reconcile.Result, error) { return g(req, &appsv1.Deployment{}, &v1.Cache{}) }
`))
}

const (
	newController = "\tc, err := controller.New(\"cache\", mgr, controller.Options{Reconciler: r})\n\tif err != nil {\n\t\treturn err\n\t}\n"
	check         = "\n\tif err != nil {\n\t\treturn err\n\t}\n"
	watchPrimary  = "\terr = c.Watch(&source.Kind{Type: &v1.Cache{}}, &handler.EnqueueRequestForObject{})" + check
	watchOwned    = "c.Watch(&source.Kind{Type: &appsv1.Deployment{}}, &handler.EnqueueRequestForOwner{IsController: true, OwnerType: &v1.Cache{}})"
	setupEnd      = "\t\tNamed(\"cache\").\n\t\tComplete(r)\n}"
	setupStart    = "\tr.events = mgr.GetRecorder(\"c\")\n"
	managed       = "\treturn ctrl.NewControllerManagedBy(mgr).\n"
)

func TestBuilder(t *testing.T) {
	ownerOf := func(owner string) string {
		return "\terr = c.Watch(&source.Kind{Type: &appsv1.Deployment{}}, &handler.EnqueueRequestForOwner{OwnerType: &" + owner + "{}}, p)" + check
	}
	for name, test := range map[string]struct{ add, want string }{
		"scaffold": {
			"\t// Create it.\n" + newController + "\n\t// the object itself\n" + watchPrimary + "\n\t// and what it owns\n\terr = " + watchOwned + check + "\treturn nil",
			setupStart + managed + "\t\t// Create it.\n\t\t// the object itself\n\t\tFor(&v1.Cache{}).\n\t\t// and what it owns\n\t\tOwns(&appsv1.Deployment{}).\n" + setupEnd,
		},
		"comments behind": {
			newController + strings.Replace(watchPrimary, "{})\n", "{}) // the object\n", 1) + "\tindex(mgr) // by name\n\treturn nil // done",
			setupStart + "\tindex(mgr)\n" + managed + "\t\t// the object\n\t\tFor(&v1.Cache{}).\n\t\t// by name\n\t\t// done\n" + setupEnd,
		},
		"last one returned": {newController + watchPrimary + "\treturn " + watchOwned, setupStart + managed + "\t\tFor(&v1.Cache{}).\n\t\tOwns(&appsv1.Deployment{}).\n" + setupEnd},
		"check in the if": {
			newController + watchPrimary + "\tif err := " + watchOwned + "; err != nil {\n\t\treturn err\n\t}\n\treturn nil",
			setupStart + managed + "\t\tFor(&v1.Cache{}).\n\t\tOwns(&appsv1.Deployment{}).\n" + setupEnd,
		},
		"every owner": {
			newController + watchPrimary + ownerOf("v1.Cache") + "\treturn nil",
			setupStart + managed + "\t\tFor(&v1.Cache{}).\n\t\tOwns(&appsv1.Deployment{}, builder.MatchEveryOwner, builder.WithPredicates(p)).\n" + setupEnd,
		},
		"another's owner": {
			newController + watchPrimary + ownerOf("v1.Store") + "\treturn nil",
			setupStart + managed + "\t\tFor(&v1.Cache{}).\n\t\tWatches(&appsv1.Deployment{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1.Store{}), builder.WithPredicates(p)).\n" + setupEnd,
		},
		"channel": {
			newController + watchPrimary + "\terr = c.Watch(&source.Channel{Source: ch}, &handler.EnqueueRequestForObject{})" + check + "\treturn nil",
			setupStart + managed + "\t\tFor(&v1.Cache{}).\n\t\tWatchesRawSource(source.Channel(ch, &handler.EnqueueRequestForObject{})).\n" + setupEnd,
		},
		"options": {
			strings.Replace(newController, "Reconciler: r", "Reconciler: r, MaxConcurrentReconciles: 3", 1) + watchPrimary + "\treturn nil",
			setupStart + managed + "\t\tFor(&v1.Cache{}).\n\t\tWithOptions(controller.Options{MaxConcurrentReconciles: 3}).\n" + setupEnd,
		},
		"a statement more": {
			newController + "\t// Look it up by name.\n\tif err := index(mgr); err != nil {\n\t\treturn err\n\t}\n" + watchPrimary + "\treturn nil",
			setupStart + "\t// Look it up by name.\n\tif err := index(mgr); err != nil {\n\t\treturn err\n\t}\n" + managed + "\t\tFor(&v1.Cache{}).\n" + setupEnd,
		},
		"nothing to do": {
			"\tif off {\n\t\treturn nil\n\t}\n" + newController + watchPrimary + "\treturn nil",
			setupStart + "\tif off {\n\t\treturn nil\n\t}\n" + managed + "\t\tFor(&v1.Cache{}).\n" + setupEnd,
		},
		"loop": {
			newController + watchPrimary + "\tfor _, o := range owned {\n\t\t// as we made it\n\t\tif err := c.Watch(&source.Kind{Type: o}, &handler.EnqueueRequestForOwner{IsController: true, OwnerType: &v1.Cache{}}); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n\treturn nil",
			setupStart + "\tbuild := ctrl.NewControllerManagedBy(mgr).\n\t\tFor(&v1.Cache{}).\n\t\tNamed(\"cache\")\n\tfor _, o := range owned {\n\t\t// as we made it\n\t\tbuild = build.Owns(o)\n\t}\n\treturn build.Complete(r)\n}",
		},
		"on a condition": {
			newController + watchPrimary + "\tif routes {\n\t\tif err := " + watchOwned + "; err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n\treturn nil",
			setupStart + "\tbuild := ctrl.NewControllerManagedBy(mgr).\n\t\tFor(&v1.Cache{}).\n\t\tNamed(\"cache\")\n\tif routes {\n\t\tbuild = build.Owns(&appsv1.Deployment{})\n\t}\n\treturn build.Complete(r)\n}",
		},
		"predicates in a slice": {
			newController + "\terr = c.Watch(&source.Kind{Type: &v1.Cache{}}, &handler.EnqueueRequestForObject{}, list...)" + check + "\treturn nil",
			setupStart + managed + "\t\tFor(&v1.Cache{}, builder.WithPredicates(list...)).\n" + setupEnd,
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := withAdd(t, test.add)
			c, got := migrateController(t, src)
			if c.why != "" || c.kind != "v1.Cache" {
				t.Fatalf("kind %q, stays because %q", c.kind, c.why)
			}
			_, code := halves(t, string(got))
			setup, _, _ := strings.Cut(code, "\n\n// CacheReconciler acts.")
			want := "// SetupWithManager registers the controller and says what wakes it.\nfunc (r *CacheReconciler) SetupWithManager(mgr ctrl.Manager) error {\n" + test.want
			if d := cmp.Diff(want, setup); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			_, twice := migrateController(t, got)
			if d := cmp.Diff(string(got), string(twice)); d != "" {
				t.Errorf("a second time it changed again:\n%s", d)
			}
		})
	}
}

// migrateController makes the passes for a controller on its only file.
func migrateController(t *testing.T, src []byte) (*controller, []byte) {
	t.Helper()
	c, err := readController("cache", map[string][]byte{"a.go": src})
	if err != nil {
		t.Fatal(err)
	}
	if c == nil {
		return nil, src
	}
	got, err := transform("a.go", src, c.setupPass, oldWatches, c.reconcilerPass, callPass)
	if err != nil {
		t.Fatal(err)
	}
	return c, got
}

// TestAddStays holds what add does that no builder is made of.
func TestAddStays(t *testing.T) {
	for name, test := range map[string]struct{ add, why string }{
		"an end between watches": {newController + watchPrimary + "\tif !routes {\n\t\treturn nil\n\t}\n\treturn " + watchOwned, "is no plain watch"},
		"controller handed on":   {newController + watchPrimary + "\treturn more(c)", "is no plain watch"},
		"reconciler used":        {newController + watchPrimary + "\tr.(*ReconcileCache).start()\n\treturn nil", "is no plain watch"},
		"no controller":          {"\tg()\n\treturn nil", "add does not call controller.New"},
		"options in a variable":  {"\tc, err := controller.New(\"cache\", mgr, options)" + check + watchPrimary + "\treturn nil", "add does not call controller.New"},
	} {
		t.Run(name, func(t *testing.T) {
			c, got := migrateController(t, withAdd(t, test.add))
			if c.setup != "" || !strings.Contains(c.why, test.why) {
				t.Errorf("why: %q, want %q; setup:\n%s", c.why, test.why, c.setup)
			}
			for _, want := range []string{"func Add(mgr manager.Manager) error {", "type ReconcileCache struct {", "client client.Client", "Reconcile(ctx context.Context, req reconcile.Request)"} {
				if !strings.Contains(string(got), want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			_, twice := migrateController(t, got)
			if d := cmp.Diff(string(got), string(twice)); d != "" {
				t.Errorf("a second time it changed again:\n%s", d)
			}
		})
	}
}

// TestAddDoesMore holds what becomes of Add and newReconciler that do more than
// the scaffold's.
func TestAddDoesMore(t *testing.T) {
	const (
		exported = "func Add(mgr manager.Manager) error { return add(mgr, newReconciler(mgr)) }"
		made     = "\treturn &ReconcileCache{client: mgr.GetClient(), scheme: mgr.GetScheme(), events: mgr.GetRecorder(\"c\")}\n"
		index    = "\tif err := mgr.GetFieldIndexer().IndexField(f); err != nil {\n\t\treturn err\n\t}\n"
		end      = managed + "\t\tFor(&v1.Cache{}).\n" + setupEnd
	)
	for name, test := range map[string]struct{ exported, made, want, why string }{
		"an index":            {"func Add(mgr manager.Manager) error {\n\t// By name.\n" + index + "\treturn add(mgr, newReconciler(mgr))\n}", "", "\t// By name.\n" + index + setupStart + end, ""},
		"a runnable behind":   {"func Add(mgr manager.Manager) error {\n\tw := newReconciler(mgr)\n\tif err := mgr.Add(job); err != nil {\n\t\treturn err\n\t}\n\treturn add(mgr, w)\n}", "", setupStart + "\tif err := mgr.Add(job); err != nil {\n\t\treturn err\n\t}\n" + end, ""},
		"a statement":         {"", "\tx := load()\n\tuse(x)\n" + made, "\tx := load()\n\tuse(x)\n" + setupStart + end, ""},
		"a variable":          {"", "\tw := &ReconcileCache{client: mgr.GetClient(), events: load()}\n\treturn w\n", "\tr.events = load()\n" + end, ""},
		"the reconciler used": {"func Add(mgr manager.Manager) error {\n\tw := newReconciler(mgr)\n\tuse(w)\n\treturn add(mgr, w)\n}", "", "", "Add does more"},
		"something else":      {"func Add(mgr manager.Manager) error {\n\treturn add(mgr, other(mgr))\n}", "", "", "Add does more"},
		"an end":              {"", "\tif off {\n\t\treturn nil\n\t}\n" + made, "", "newReconciler does more"},
		"two of a name":       {"func Add(mgr manager.Manager) error {\n\tx := load()\n\tuse(x)\n\treturn add(mgr, newReconciler(mgr))\n}", "\tx := load()\n\tuse(x)\n" + made, "", "variables of the same name"},
	} {
		t.Run(name, func(t *testing.T) {
			src := string(withAdd(t, newController+watchPrimary+"\treturn nil"))
			if test.exported != "" {
				src = strings.Replace(src, exported, test.exported, 1)
			}
			if test.made != "" {
				src = strings.Replace(src, made, test.made, 1)
			}
			c, got := migrateController(t, []byte(src))
			if test.why != "" {
				if c.setup != "" || !strings.Contains(c.why, test.why) || !strings.Contains(string(got), "func Add(") {
					t.Errorf("why: %q, setup:\n%s", c.why, c.setup)
				}
				return
			}
			_, code := halves(t, string(got))
			setup, _, _ := strings.Cut(code, "\n\n// CacheReconciler acts.")
			want := "// SetupWithManager registers the controller and says what wakes it.\nfunc (r *CacheReconciler) SetupWithManager(mgr ctrl.Manager) error {\n" + test.want
			if d := cmp.Diff(want, setup); d != "" {
				t.Errorf("stays because %q (-want +got):\n%s", c.why, d)
			}
		})
	}
}

// TestNewReconcilerWithError holds the form with an error beside the
// reconciler.
func TestNewReconcilerWithError(t *testing.T) {
	src := string(withAdd(t, newController+watchPrimary+"\treturn nil"))
	for _, s := range [][2]string{
		{"{ return add(mgr, newReconciler(mgr)) }", "{\n\tw, err := newReconciler(mgr)\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn add(mgr, w)\n}"},
		{"newReconciler(mgr manager.Manager) reconcile.Reconciler {", "newReconciler(mgr manager.Manager) (reconcile.Reconciler, error) {\n\tx, err := load()\n\tif err != nil {\n\t\treturn nil, fmt.Errorf(\"load: %w\", err)\n\t}"},
		{"events: mgr.GetRecorder(\"c\")}", "events: x}, nil"},
	} {
		src = strings.Replace(src, s[0], s[1], 1)
	}
	c, got := migrateController(t, []byte(src))
	want := "\tx, err := load()\n\tif err != nil {\n\t\treturn fmt.Errorf(\"load: %w\", err)\n\t}\n\tr.events = x\n" + managed
	if !strings.Contains(string(got), want) {
		t.Errorf("stays because %q:\n%s", c.why, got)
	}
}

// TestControllerRuntimeAlias holds that the setup calls controller-runtime as
// the file does.
func TestControllerRuntimeAlias(t *testing.T) {
	src := strings.Replace(string(withAdd(t, newController+watchPrimary+"\treturn nil")), "import (", "import (\n\tcr \"sigs.k8s.io/controller-runtime\"", 1)
	_, got := migrateController(t, []byte(src))
	for _, want := range []string{"SetupWithManager(mgr cr.Manager) error", "return cr.NewControllerManagedBy(mgr)."} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// FuzzController holds that no file of a controller's package makes the passes
// panic, or leaves text behind that does not parse.
func FuzzController(f *testing.F) {
	f.Add("func (r *R) Reconcile(q reconcile.Request) (a, b int)\nfunc () Reconcile(q reconcile.Request) (a, b int) { ctx := g() }")
	f.Add("type R struct{ client client.Client }\nfunc Add(mgr manager.Manager) error { return add(mgr, newReconciler(mgr)) }\nfunc add(mgr manager.Manager, r int) error { c, err := controller.New(\"x\", mgr, controller.Options{}); return nil }")
	f.Fuzz(func(t *testing.T, code string) {
		src := []byte("package p\nimport (\n\t\"" + crReconcile + "\"\n\t\"" + crClient + "\"\n\t\"" + crManager + "\"\n\t\"" + crController + "\"\n)\n" + code)
		c, err := readController("x", map[string][]byte{"a.go": src})
		if err != nil || c == nil {
			return
		}
		out, err := transform("a.go", src, c.setupPass, oldWatches, c.reconcilerPass, callPass)
		if err != nil {
			return
		}
		if _, err := parseGo("a.go", out); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
