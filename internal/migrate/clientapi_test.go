package migrate

import "testing"

func TestClientAPI(t *testing.T) {
	const admission = `"sigs.k8s.io/controller-runtime/pkg/webhook/admission"`
	runPasses(t, map[string]passCase{
		"budgets":           {"", "func f() { kc.PolicyV1beta1().PodDisruptionBudgets(ns).List(ctx, o) }", "", "func f() { kc.PolicyV1().PodDisruptionBudgets(ns).List(ctx, o) }"},
		"security policies": {"", "func f() { kc.PolicyV1beta1().PodSecurityPolicies().List(ctx, o) }", "", ""},
		"a variable of the package's name": {
			importClient, "func f(client mine) { client.UseListOptions(client.MatchingField(a, b)) }\n\nvar x client.Client", "", "",
		},
		"list of something else":   {importClient, "func f() { users.List(ctx, page, 3) }", "", ""},
		"options of an own type":   {importClient, "func f() {\n\to := newOptions()\n\to.InNamespace(ns)\n\tc.List(ctx, o, list)\n}\n\nvar x client.Client", "", ""},
		"a key that is checked":    {importClient, "func f() {\n\tif k, err := client.ObjectKeyFromObject(o); err != nil {\n\t\tg(k)\n\t}\n}", "", "func f() {\n\tif k, err := client.ObjectKeyFromObject(o), error(nil); err != nil {\n\t\tg(k)\n\t}\n}"},
		"a key of today":           {importClient, "func f() { k := client.ObjectKeyFromObject(o) }", "", ""},
		"patch":                    {importClient, "func f() { c.Patch(ctx, o, client.ConstantPatch(a, b)) }", "", "func f() { c.Patch(ctx, o, client.RawPatch(a, b)) }"},
		"mapper":                   {importHandler, "var m handler.Mapper", "", "var m handler.MapFunc"},
		"recorder":                 {"", "func f() { r := mgr.GetRecorder(\"x\") }", "", "func f() { r := mgr.GetEventRecorderFor(\"x\") }"},
		"a recorder of no name":    {"", "func f() { r := mgr.GetRecorder() }", "", ""},
		"OnAdd with a type":        {"", "func (h *H) OnAdd(p *Pod) {}", "", ""},
		"OnAdd of today":           {"", "func (h *H) OnAdd(obj any, first bool) { h.next.OnAdd(obj, first) }", "", ""},
		"OnAdd that is a function": {"", "func OnAdd(obj any) {}", "", ""},
		"decoders": {
			admission, "type v struct{ decoder *admission.Decoder }\n\nfunc f() {\n\td, err := admission.NewDecoder(s)\n\tg(d, err)\n}", "",
			"type v struct{ decoder admission.Decoder }\n\nfunc f() {\n\td, err := admission.NewDecoder(s), error(nil)\n\tg(d, err)\n}",
		},
		"what is injected": {
			admission + `; "sigs.k8s.io/controller-runtime/pkg/runtime/inject"`, "var _ inject.Client = &v{}\nvar _ admission.Handler = &v{}", admission, "var _ admission.Handler = &v{}",
		},
		"injection": {
			"", "// InjectClient takes it.\nfunc (r *R) InjectClient(c any) error { return nil }\n\nfunc InjectScheme() {}",
			"", "// InjectClient takes it.\n// TODO(migrate): InjectClient is no longer called: set the field where the value is made\nfunc (r *R) InjectClient(c any) error { return nil }\n\nfunc InjectScheme() {}",
		},
	}, append(commonPasses(nil), newMigration(nil).compat)...)
}

func TestMutate(t *testing.T) {
	util := `"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"`
	runtime := `"k8s.io/apimachinery/pkg/runtime"; ` + util
	runPasses(t, map[string]passCase{
		"argument that is not used": {
			runtime, "func f() {\n\tcontrollerutil.CreateOrUpdate(ctx, c, o, func(e runtime.Object) error {\n\t\to.Name = x // ours\n\t\treturn nil\n\t})\n}",
			util, "func f() {\n\tcontrollerutil.CreateOrUpdate(ctx, c, o, func() error {\n\t\to.Name = x // ours\n\t\treturn nil\n\t})\n}",
		},
		"argument without a name": {
			runtime, "func f() { controllerutil.CreateOrUpdate(ctx, c, o, func(runtime.Object) error { return nil }) }",
			util, "func f() { controllerutil.CreateOrUpdate(ctx, c, o, func() error { return nil }) }",
		},
		"of today":           {util, "func f() { controllerutil.CreateOrUpdate(ctx, c, o, func() error { return nil }) }", "", ""},
		"a named function":   {util, "func f() { controllerutil.CreateOrUpdate(ctx, c, o, mutate) }", "", ""},
		"of another package": {"", "func f() { mine.CreateOrUpdate(ctx, c, o, func(e int) error { return g(e) }) }", "", ""},
	}, commonPasses(nil)...)
}

func TestCoreTypes(t *testing.T) {
	core := `corev1 "k8s.io/api/core/v1"`
	hook := "// TODO(migrate): Handler is ProbeHandler in probes today, and LifecycleHandler in hooks\n"
	runPasses(t, map[string]passCase{
		"hooks": {
			core, "var l = &corev1.Lifecycle{PreStop: &corev1.Handler{Exec: e}, PostStart: &corev1.Handler{Exec: g}}",
			"", "var l = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: e}, PostStart: &corev1.LifecycleHandler{Exec: g}}",
		},
		"both": {
			core, "var p = corev1.Probe{Handler: corev1.Handler{}}\nvar l = corev1.Lifecycle{PreStop: &corev1.Handler{}}\n\nvar h corev1.Handler",
			"", "var p = corev1.Probe{ProbeHandler: corev1.ProbeHandler{}}\nvar l = corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}\n\n" + hook + "var h corev1.Handler",
		},
		"resources of a container": {core, "var c = corev1.Container{Resources: corev1.ResourceRequirements{}}", "", ""},
		"probe of an own type":     {core, "var p = Probe{Handler: Handler{}}\nvar c corev1.Container", "", ""},
		"a field's name only":      {core, "var c corev1.Container\nvar h = server{Handler: mux}", "", ""},
	}, commonPasses(nil)...)
}

func TestFakes(t *testing.T) {
	fake := `"sigs.k8s.io/controller-runtime/pkg/client/fake"`
	kinds := map[string][]string{"example.com/api/v1": {"Cache", "Store"}, "example.com/api/v2": {"Shop"}}
	const own = "var a, b, l, s = &api.Store{}, &api.Cache{}, &api.CacheList{}, &api.Store{}\n"
	runPasses(t, map[string]passCase{
		"without a scheme":        {fake, "var c = fake.NewFakeClient(a, b)", "", "var c = fake.NewClientBuilder().WithRuntimeObjects(a, b).Build()"},
		"objects in a slice":      {fake, "var c = fake.NewFakeClient(objs...)", "", "var c = fake.NewClientBuilder().WithRuntimeObjects(objs...).Build()"},
		"without objects":         {fake, "var c = fake.NewFakeClientWithScheme(s)", "", "var c = fake.NewClientBuilder().WithScheme(s).WithRuntimeObjects().Build()"},
		"of today":                {fake, "var c = fake.NewClientBuilder().Build()", "", ""},
		"of client-go":            {`"k8s.io/client-go/kubernetes/fake"`, "var c = fake.NewFakeClient(a)", "", ""},
		"a variable of that name": {fake, "func f(fake factory) { fake.NewFakeClient(a) }\n\nvar b = fake.NewClientBuilder()", "", ""},
		"own kinds of a scheme from elsewhere, once each": {
			fake + `; api "example.com/api/v1"`, own + "var c = fake.NewFakeClientWithScheme(x, a)",
			"", own + "var c = fake.NewClientBuilder().WithScheme(x).WithStatusSubresource(&api.Cache{}, &api.Store{}).WithRuntimeObjects(a).Build()",
		},
		"own kinds that are added to the scheme": {
			fake + `; api "example.com/api/v1"; "example.com/api/v2"`, own + "var e = api.AddToScheme(scheme.Scheme)\nvar c = fake.NewFakeClient(&v2.Shop{})",
			"", own + "var e = api.AddToScheme(scheme.Scheme)\nvar c = fake.NewClientBuilder().WithStatusSubresource(&api.Cache{}, &api.Store{}).WithRuntimeObjects(&v2.Shop{}).Build()",
		},
		"own kinds that are not": {
			fake + `; api "example.com/api/v1"`, own + "var c = fake.NewFakeClient(a)", "", own + "var c = fake.NewClientBuilder().WithRuntimeObjects(a).Build()",
		},
	}, fakeClients(kinds))
}

func TestLoggers(t *testing.T) {
	crLogs, zaps := `logf "sigs.k8s.io/controller-runtime/pkg/log"`, `"sigs.k8s.io/controller-runtime/pkg/log/zap"`
	runPasses(t, map[string]passCase{
		"of controller-runtime": {
			`logf "sigs.k8s.io/controller-runtime/pkg/runtime/log"`, "func f() { logf.SetLogger(logf.ZapLogger(true)) }",
			crLogs + "; " + zaps, "func f() { logf.SetLogger(zap.New(zap.UseDevMode(true))) }",
		},
		"of operator-sdk": {
			`"github.com/operator-framework/operator-sdk/pkg/log/zap"`, "func f() { g(zap.Logger()) }",
			zaps, "func f() { g(zap.New()) }",
		},
		"of operator-sdk, twice": {
			`"github.com/operator-framework/operator-sdk/pkg/log/zap"`, "func f() { g(zap.Logger(), zap.Logger()) }",
			zaps, "func f() { g(zap.New(), zap.New()) }",
		},
		"of operator-sdk under another name": {
			`sdkzap "github.com/operator-framework/operator-sdk/pkg/log/zap"`, "func f() { g(sdkzap.Logger()) }",
			"sdkzap " + zaps, "func f() { g(sdkzap.New()) }",
		},
		"of uber": {`"go.uber.org/zap"`, "func f() { g(zap.Logger()) }", "", ""},
	}, commonPasses(nil)...)
}
