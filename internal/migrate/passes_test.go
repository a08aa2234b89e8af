package migrate

import (
	"go/format"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wrap makes a Go file of imports and of code, formatted.
func wrap(t *testing.T, imports, code string) string {
	t.Helper()
	text := "package p\n\n"
	if imports != "" {
		text += "import (\n"
		for line := range strings.SplitSeq(imports, "; ") {
			text += "\t" + line + "\n"
		}
		text += ")\n\n"
	}
	out, err := format.Source([]byte(text + code))
	if err != nil {
		t.Fatalf("%v\n%s", err, text+code)
	}
	return string(out)
}

const (
	importClient  = `"sigs.k8s.io/controller-runtime/pkg/client"`
	importContext = `"context"`
	importHandler = `"sigs.k8s.io/controller-runtime/pkg/handler"`
	importSource  = `"sigs.k8s.io/controller-runtime/pkg/source"`
	importManager = `"sigs.k8s.io/controller-runtime/pkg/manager"`
)

func TestPasses(t *testing.T) {
	withStatus := newMigration(map[string]string{"a.go": "package a\n\nimport _ \"github.com/operator-framework/operator-sdk/pkg/status\"\n"})
	tests := map[string]struct {
		passes                  []pass
		imports, code           string
		wantImports, wantedCode string
	}{
		"list of today": {
			commonPasses(nil), importClient, "func f() { c.List(ctx, list, client.InNamespace(ns)) }",
			importClient, "func f() { c.List(ctx, list, client.InNamespace(ns)) }",
		},
		"renamed option types": {
			commonPasses(nil), importClient, "func f(o ...client.ListOptionFunc) { g(o) }",
			importClient, "func f(o ...client.ListOption) { g(o) }",
		},
		"a key that could fail": {
			commonPasses(nil), importClient, "func f() {\n\tkey, err := client.ObjectKeyFromObject(o)\n\tkey, _ = client.ObjectKeyFromObject(o)\n}",
			importClient, "func f() {\n\tkey, err := client.ObjectKeyFromObject(o), error(nil)\n\tkey = client.ObjectKeyFromObject(o)\n}",
		},
		"create or update": {
			commonPasses(nil), `"k8s.io/apimachinery/pkg/runtime"; "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"`,
			"func f() { controllerutil.CreateOrUpdate(ctx, c, obj, func(e runtime.Object) error { return g(e) }) }",
			`"k8s.io/apimachinery/pkg/runtime"; "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"`,
			"func f() { controllerutil.CreateOrUpdate(ctx, c, obj, func() error {\n\te := runtime.Object(obj)\n\treturn g(e)\n}) }",
		},
		"typed clients of today": {
			commonPasses(nil), "", "func f() { kc.CoreV1().Pods(ns).Get(ctx, name, o) }", "", "func f() { kc.CoreV1().Pods(ns).Get(ctx, name, o) }",
		},
		"conditions": {
			append(commonPasses(nil), withStatus.compat), `"github.com/operator-framework/operator-sdk/pkg/status"; corev1 "k8s.io/api/core/v1"`,
			"func f() {\n\to.Status.Conditions.SetCondition(status.Condition{Type: a, Status: corev1.ConditionTrue})\n\tif o.Status.Conditions.IsTrueFor(a) {\n\t}\n}",
			`metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; "k8s.io/apimachinery/pkg/api/meta"`,
			"func f() {\n\tmeta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{Type: a, Status: metav1.ConditionTrue})\n\tif meta.IsStatusConditionTrue(o.Status.Conditions, a) {\n\t}\n}",
		},
		"probe": {
			commonPasses(nil), `corev1 "k8s.io/api/core/v1"`, "var p = corev1.Probe{Handler: corev1.Handler{HTTPGet: g}}",
			`corev1 "k8s.io/api/core/v1"`, "var p = corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: g}}",
		},
		"handler in a variable": {
			commonPasses(nil), `corev1 "k8s.io/api/core/v1"`, "func f() {\n\th := corev1.Handler{HTTPGet: g}\n\tp = corev1.Probe{Handler: h}\n}",
			`corev1 "k8s.io/api/core/v1"`, "func f() {\n\th := corev1.ProbeHandler{HTTPGet: g}\n\tp = corev1.Probe{ProbeHandler: h}\n}",
		},
		"fake client": {
			commonPasses(map[string][]string{"example.com/api/v1": {"Cache"}}), `v1 "example.com/api/v1"; "sigs.k8s.io/controller-runtime/pkg/client/fake"`,
			"var c = fake.NewFakeClientWithScheme(s, &v1.Cache{}, objs...)",
			`v1 "example.com/api/v1"; "sigs.k8s.io/controller-runtime/pkg/client/fake"`,
			"var c = fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(&v1.Cache{}).WithRuntimeObjects(&v1.Cache{}, objs...).Build()",
		},
		"renamed packages": {
			commonPasses(nil), `logf "sigs.k8s.io/controller-runtime/pkg/runtime/log"; "k8s.io/api/extensions/v1beta1"`,
			"var l, d = logf.Log, v1beta1.Deployment{}",
			`logf "sigs.k8s.io/controller-runtime/pkg/log"; v1beta1 "k8s.io/api/apps/v1"`, "var l, d = logf.Log, v1beta1.Deployment{}",
		},
		"no successor": {
			[]pass{markGone}, `"github.com/operator-framework/operator-sdk/pkg/ansible"`, "var l = ansible.X",
			"", "// TODO(migrate): ansible.X of github.com/operator-framework/operator-sdk/pkg/ansible is gone\nvar l = ansible.X",
		},
		"an Ingress that is not served": {
			commonPasses(nil), `"k8s.io/api/networking/v1beta1"`, "var i = v1beta1.Ingress{}",
			"// TODO(migrate): networking/v1beta1 was removed in Kubernetes 1.22: use networking/v1, whose Ingress has other fields\n\t" + `"k8s.io/api/networking/v1beta1"`,
			"var i = v1beta1.Ingress{}",
		},
		"map function": {
			commonPasses(nil), importHandler, "func m(a handler.MapObject) []int {\n\tc.Get(context.TODO(), a.Meta.GetName(), a.Object)\n\treturn nil\n}",
			importContext + "; " + importClient, "func m(_ context.Context, a client.Object) []int {\n\tc.Get(context.TODO(), a.GetName(), a)\n\treturn nil\n}",
		},
		"event handler": {
			commonPasses(nil), `"k8s.io/client-go/util/workqueue"; "sigs.k8s.io/controller-runtime/pkg/event"`,
			"func m(e event.CreateEvent, q workqueue.RateLimitingInterface) { g(e.Meta) }",
			importContext + "; \n" + `"k8s.io/client-go/util/workqueue"; "sigs.k8s.io/controller-runtime/pkg/event"; "sigs.k8s.io/controller-runtime/pkg/reconcile"`,
			"func m(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) { g(e.Object) }",
		},
		"a watch that stays one": {
			[]pass{oldWatches}, importHandler + "; " + importManager + "; " + importSource,
			"func add(mgr manager.Manager) { c.Watch(&source.Kind{Type: o}, &handler.EnqueueRequestForOwner{IsController: true, OwnerType: p}, pred) }",
			importHandler + "; " + importManager + "; " + importSource + "; " + importClient,
			"func add(mgr manager.Manager) { c.Watch(source.Kind(mgr.GetCache(), client.Object(o), handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), p, handler.OnlyControllerOwner()), pred)) }",
		},
		"a watch without a manager": {
			[]pass{oldWatches}, importHandler + "; " + importSource,
			"func add() {\n\tc.Watch(&source.Kind{Type: o}, &handler.EnqueueRequestForObject{})\n}",
			importHandler + "; " + importSource,
			"func add() {\n\t// TODO(migrate): Watch(source.Kind(mgr.GetCache(), object, handler, predicates...)): the manager is not at hand here\n\tc.Watch(&source.Kind{Type: o}, &handler.EnqueueRequestForObject{})\n}",
		},
		"reconcile with a context of its own": {
			[]pass{reconcileContexts}, importContext + `; "sigs.k8s.io/controller-runtime/pkg/reconcile"`,
			"func (r *R) Reconcile(req reconcile.Request) (reconcile.Result, error) {\n\tctx := context.Background()\n\treturn g(ctx, context.TODO())\n}",
			importContext + `; "sigs.k8s.io/controller-runtime/pkg/reconcile"`,
			"func (r *R) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {\n\treturn g(ctx, ctx)\n}",
		},
		"suite of Ginkgo 1": {
			[]pass{suites}, "", "var _ = BeforeSuite(func(done Done) {\n\tg()\n\tclose(done)\n}, 60)", "", "var _ = BeforeSuite(func() {\n\tg()\n})",
		},
		"watches of a builder": {
			[]pass{kubebuilderWatches}, `ctrl "sigs.k8s.io/controller-runtime"; ` + importHandler + "; " + importSource,
			"func (r *R) SetupWithManager(mgr ctrl.Manager) error { return b.Watches(&source.Kind{Type: o}, handler.EnqueueRequestsFromMapFunc(f)).Complete(r) }",
			`ctrl "sigs.k8s.io/controller-runtime"; ` + importHandler,
			"func (r *R) SetupWithManager(mgr ctrl.Manager) error { return b.Watches(o, handler.EnqueueRequestsFromMapFunc(f)).Complete(r) }",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src := wrap(t, test.imports, test.code)
			got, err := transform("p.go", []byte(src), test.passes...)
			if err != nil {
				t.Fatal(err)
			}
			want := wrap(t, test.wantImports, test.wantedCode)
			if d := cmp.Diff(lines(want), lines(string(got))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			again, err := transform("p.go", got, test.passes...)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time it changed again (%v):\n%s", err, cmp.Diff(string(got), string(again)))
			}
		})
	}
}

// lines are those of a text that say something: which import stands in which
// group is not what is tested.
func lines(s string) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			out[line]++
		}
	}
	return out
}

func TestSyntaxErrorIsNamed(t *testing.T) {
	_, err := transform("pkg/x.go", []byte("package x\n\nfunc {"), clientAPI)
	if err == nil || !strings.HasPrefix(err.Error(), "pkg/x.go:3:6: ") {
		t.Errorf("got %v", err)
	}
}

// FuzzTransform holds that what was Go is Go afterwards, or an error.
func FuzzTransform(f *testing.F) {
	f.Add("import \"sigs.k8s.io/controller-runtime/pkg/client\"\nfunc f() { c.List(a, &client.ListOptions{}, b) }")
	f.Add("import ( s \"github.com/operator-framework/operator-sdk/pkg/status\" )\nvar c s.Conditions")
	f.Add("import \"sigs.k8s.io/controller-runtime/pkg/source\"\nfunc f(){c.Watch(&source.Kind{Type:x},h)}")
	f.Fuzz(func(t *testing.T, code string) {
		src := []byte("package p\n" + code)
		if _, err := format.Source(src); err != nil {
			t.Skip()
		}
		out, err := transform("p.go", src, commonPasses(nil)...)
		if err != nil {
			return
		}
		if _, err := format.Source(out); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
