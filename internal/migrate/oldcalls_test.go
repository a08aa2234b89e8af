package migrate

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOldCalls holds rewrites that projects needed most often.
func TestOldCalls(t *testing.T) {
	const (
		core  = `corev1 "k8s.io/api/core/v1"`
		meta  = `metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"`
		queue = `"k8s.io/client-go/util/workqueue"`
		event = `"sigs.k8s.io/controller-runtime/pkg/event"`
		recon = `"sigs.k8s.io/controller-runtime/pkg/reconcile"`
	)
	runPasses(t, map[string]passCase{
		"a package with two names":         {core + `; v1 "k8s.io/api/core/v1"`, "var a = corev1.Pod{}\n\nvar p = v1.Probe{Handler: v1.Handler{}}", "", "var a = corev1.Pod{}\n\nvar p = v1.Probe{ProbeHandler: v1.ProbeHandler{}}"},
		"the name of a cluster":            {meta, "var a = metav1.ObjectMeta{Name: n, ClusterName: c.ClusterName, Labels: l}", "", "var a = metav1.ObjectMeta{Name: n, Labels: l}"},
		"the name of a cluster at the end": {meta, "var a = metav1.ObjectMeta{\n\tName: n,\n\tClusterName: c,\n}", "", "var a = metav1.ObjectMeta{\n\tName: n,\n}"},
		"what is said of a neighbour":      {meta, "var a = metav1.ObjectMeta{\n\tName: n, // of a\n\tClusterName: c, // of b\n\t// of d\n\tLabels: l, // of e\n}", "", "var a = metav1.ObjectMeta{\n\tName: n, // of a\n\t// of d\n\tLabels: l, // of e\n}"},
		"events that are made": {event, "func f() {\n\tg(event.CreateEvent{Meta: o.GetObjectMeta(), Object: o}, q)\n\te := event.UpdateEvent{MetaOld: a, MetaNew: b}\n\tg(e, q)\n\tp.Delete(event.DeleteEvent{Object: o, Meta: o})\n}", "",
			"func f() {\n\tg(event.CreateEvent{Object: o}, q)\n\te := event.UpdateEvent{ObjectOld: a, ObjectNew: b}\n\tg(e, q)\n\tp.Delete(event.DeleteEvent{Object: o})\n}"},
		"a queue that is handed on": {queue + "; " + event, "var _ event.CreateEvent\n\nfunc add(n string, q workqueue.RateLimitingInterface) {}", queue + "; " + event + "; " + recon,
			"var _ event.CreateEvent\n\nfunc add(n string, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {}"},
	}, commonPasses(nil)...)
	runPasses(t, map[string]passCase{
		"cert-manager": {`c "github.com/jetstack/cert-manager/pkg/apis/certmanager/v1alpha2"; "github.com/jetstack/cert-manager/pkg/client/clientset/versioned/scheme"`, "var _, _ = c.X, scheme.X",
			`c "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"; "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"`, "var _, _ = c.X, scheme.X"},
	}, renameImports)
}

// TestWatchHelpers holds that functions which watch for others get the manager,
// whichever package calls them.
func TestWatchHelpers(t *testing.T) {
	files := memcached(t)
	const imports = "import (\n\t\"k8s.io/apimachinery/pkg/runtime\"\n\t\"sigs.k8s.io/controller-runtime/pkg/controller\"\n\t\"sigs.k8s.io/controller-runtime/pkg/handler\"\n\t\"sigs.k8s.io/controller-runtime/pkg/source\"\n)\n\n"
	files["pkg/common/watch.go"] = "package common\n\n" + imports + "// Watch watches what an object owns.\nfunc Watch(c controller.Controller, what runtime.Object, name string, owner runtime.Object) error {\n\treturn c.Watch(&source.Kind{Type: what}, &handler.EnqueueRequestForOwner{OwnerType: owner})\n}\n"
	const other = "pkg/controller/other/other_controller.go"
	files[other] = "package other\n\nimport (\n\t\"sigs.k8s.io/controller-runtime/pkg/controller\"\n\t\"sigs.k8s.io/controller-runtime/pkg/manager\"\n\n\t\"example.com/memcached-operator/pkg/common\"\n)\n\n" +
		"// Add adds it.\nfunc Add(mgr manager.Manager, c controller.Controller) error {\n\treturn common.Watch(c, nil, n, nil)\n}\n\nfunc later(c controller.Controller) error { return common.Watch(c, nil, n, nil) }\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"pkg/common/watch.go": {"func Watch(c controller.Controller, what runtime.Object, name string, owner runtime.Object, mgr manager.Manager) error {",
			"c.Watch(source.Kind(mgr.GetCache(), client.Object(what), handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), owner)))"},
		"internal/controller/other/other_controller.go": {"return common.Watch(c, nil, n, nil, mgr)", "// TODO(migrate): Watch takes the manager as its last argument now, which is not at hand here\nfunc later("},
	})
}

// TestWatchesWithoutBuilder holds that controllers of go/v3 which watch without
// a builder are carried over like those of v0.x.
func TestWatchesWithoutBuilder(t *testing.T) {
	files := goV3()
	files["pkg/common/add.go"] = "package common\n\nimport (\n\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n\t\"sigs.k8s.io/controller-runtime/pkg/controller\"\n\t\"sigs.k8s.io/controller-runtime/pkg/handler\"\n\t\"sigs.k8s.io/controller-runtime/pkg/manager\"\n\t\"sigs.k8s.io/controller-runtime/pkg/source\"\n)\n\n" +
		"// Add watches.\nfunc Add(mgr manager.Manager, c controller.Controller, owner, what client.Object) error {\n\treturn c.Watch(&source.Kind{Type: what}, &handler.EnqueueRequestForOwner{OwnerType: owner})\n}\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{"pkg/common/add.go": {
		"c.Watch(source.Kind(mgr.GetCache(), client.Object(what), handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), owner)))"}})
}

// TestTypesElsewhere holds that types are found where PROJECT does not say that
// they are, and go where the main program imports them from.
func TestTypesElsewhere(t *testing.T) {
	files := goV3()
	for name, text := range files {
		if rest, ok := strings.CutPrefix(name, "apis/cache/v1/"); ok {
			delete(files, name)
			files["api/store/v1/"+rest] = text
		} else {
			files[name] = strings.ReplaceAll(text, "example.com/shop/apis/cache/v1", "example.com/shop/api/store/v1")
		}
	}
	swap(files, "PROJECT", "  path: example.com/shop/api/store/v1\n", "")
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		newMain: {"cachev1 \"example.com/shop/api/cache/v1\"", "!/store/"}, "PROJECT": {"path: example.com/shop/api/cache/v1\n"}, "api/cache/v1/memcached_types.go": {"type Memcached struct"},
	})
}

// TestGroupOfTypes holds that the group is the one that the CRDs are generated for,
// whatever PROJECT made of it.
func TestGroupOfTypes(t *testing.T) {
	files := goV3()
	files["apis/cache/v1/groupversion_info.go"] = "// +groupName=shop.example.org\npackage v1\n"
	swap(files, "PROJECT", "resources:\n", "resources:\n- api:\n    crdVersion: v1\n  domain: example.com\n  group: cache\n  kind: Other\n  version: v1\n") // nothing has that name
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"PROJECT": {"!  group: cache\n", "  domain: example.org\n", "  group: shop\n", "  path: example.com/shop/api/shop/v1\n"}, newMain: {"shopv1 \"example.com/shop/api/shop/v1\""}, "api/shop/v1/memcached_types.go": {"type Memcached struct"},
		"config/crd/kustomization.yaml": {"- bases/shop.example.org_memcacheds.yaml\n"}, ReportName: {"- PROJECT had the group cache.example.com for types whose +groupName says shop.example.org"},
	})
}

// TestNamespaceOfItsOwn holds that the operator's Namespace is there once, where
// the project had it.
func TestNamespaceOfItsOwn(t *testing.T) {
	files := goV3()
	files["config/default/kustomization.yaml"] = "bases:\n- ../manager\n- namespace.yaml\n"
	files["config/default/namespace.yaml"] = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: system\n"
	files[managerPath] = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: controller-manager\n  namespace: system\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		managerPath: {"kind: Deployment\n", "!kind: Namespace"}, "config/default/namespace.yaml": {"kind: Namespace\n"}, "config/default/kustomization.yaml": {"- namespace.yaml\n"},
	})
}

// TestPatchOfSecondContainer holds that patches of the manager by its index find it
// without the proxy before it, and that those of others and in files are not touched.
func TestPatchOfSecondContainer(t *testing.T) {
	files := goV3()
	const patch = "- op: add\n  path: /spec/template/spec/containers/1/env/-\n  value: {name: A, value: a}\n"
	files["config/default/kustomization.yaml"] = "patchesStrategicMerge:\n- manager_auth_proxy_patch.yaml\npatches:\n- target:\n    kind: Deployment\n  patch: |-\n    " + strings.ReplaceAll(strings.TrimSpace(patch), "\n", "\n    ") + "\n- target:\n    kind: Deployment\n    name: other\n  patch: |-\n    - op: remove\n      path: /spec/template/spec/containers/1/tty\n- target:\n    kind: Deployment\n  path: mine.yaml\n"
	files["config/default/manager_auth_proxy_patch.yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: controller-manager\n"
	files["config/default/mine.yaml"] = patch
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"config/default/kustomization.yaml": {"/containers/0/env/-", "!/containers/1/env", "/containers/1/tty"}, "config/default/mine.yaml": {"TODO(migrate): the manager is the only container now", "/containers/1/env/-"},
	})
}

// TestWebhooksElsewhere holds that a program beside the main one sets webhooks up
// by what does so now.
func TestWebhooksElsewhere(t *testing.T) {
	files := goV3()
	files["launcher/launch.go"] = "package launcher\n\nimport (\n\tctrl \"sigs.k8s.io/controller-runtime\"\n\n\tcachev1 \"example.com/shop/apis/cache/v1\"\n)\n\n// Launch sets webhooks up.\nfunc Launch(mgr ctrl.Manager) error { return (&cachev1.Memcached{}).SetupWebhookWithManager(mgr) }\n"
	expect(t, content(mustPlan(t, files).Result), map[string][]string{"launcher/launch.go": {
		"webhookv1 \"example.com/shop/internal/webhook/cache/v1\"", "return webhookv1.SetupMemcachedWebhookWithManager(mgr)", "!cachev1"}})
}

// TestPackagesBelowControllers holds that packages at any depth go along, and that
// the main program imports them from where they are.
func TestPackagesBelowControllers(t *testing.T) {
	files := goV3()
	const old, now = "controllers/shop/restore/", "internal/controller/shop/restore/"
	files[old+"restore_controller.go"] = "package restore\n\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n\n// Reconciler restores.\ntype Reconciler struct{}\n\n// SetupWithManager does.\nfunc (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error { return nil }\n"
	swap(files, "main.go", "import (", "import (\n\t\"example.com/shop/controllers/shop/restore\"")
	swap(files, "main.go", "\tif err := mgr.Start(", "\tif err = (&restore.Reconciler{}).SetupWithManager(mgr); err != nil {\n\t\tos.Exit(1)\n\t}\n\tif err := mgr.Start(")
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{newMain: {"example.com/shop/" + path.Clean(now) + "\"", "(&restore.Reconciler{}).SetupWithManager(mgr)", "!/controllers/"}, now + "restore_controller.go": {"package restore"}})
}

// TestFilesOfPackages holds that what a package embeds, or its tests read, goes
// where the package goes.
func TestFilesOfPackages(t *testing.T) {
	files := goV3()
	files["controllers/cache/resources/board.json"] = "{}\n"
	files["controllers/cache/testdata/a.yaml"] = "a: 1\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{"internal/controller/cache/resources/board.json": {"{}"}, "internal/controller/cache/testdata/a.yaml": {"a: 1"}})
	for name := range got {
		if strings.HasPrefix(name, "controllers/") {
			t.Errorf("%s is where no package is", name)
		}
	}
}

// TestLegacyTests holds that tests which need what the tests on operator-sdk's
// framework declare are kept out of the build with them.
func TestLegacyTests(t *testing.T) {
	files := memcached(t)
	const ignored = "//go:build ignore\n\n// TODO(migrate): operator-sdk's test framework is gone"
	files["test/e2e/setup/setup.go"] = "package setup\n\nimport _ \"github.com/operator-framework/operator-sdk/pkg/test\"\n\n// Ready is true.\nfunc Ready() bool { return true }\n"
	files["test/e2e/setup/setup_test.go"] = "package setup\n\nvar _ = Ready()\n"
	files["test/e2e/setup/more_test.go"] = "package setup\n\nvar _ = 1\n"
	files["test/e2e/all/all_test.go"] = "package all\n\nimport \"example.com/memcached-operator/test/e2e/setup\"\n\nvar _ = setup.Ready()\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{"test/e2e/setup/setup.go": {ignored}, "test/e2e/setup/setup_test.go": {ignored}, "test/e2e/setup/more_test.go": {"!ignore"}, "test/e2e/all/all_test.go": {ignored}})
}

// TestOldRegister holds kinds that register.go registers, and markers that
// controller-tools gave up.
func TestOldRegister(t *testing.T) {
	files := memcached(t)
	const types, register = "pkg/apis/cache/v1alpha1/memcached_types.go", "pkg/apis/cache/v1alpha1/register.go"
	const call = "func init() {\n\tSchemeBuilder.Register(&Memcached{}, &MemcachedList{})\n}\n"
	if !strings.Contains(files[types], call) {
		t.Fatal("the types register themselves in another way")
	}
	files[types] = strings.Replace(files[types], call, "", 1)
	files[types] = strings.Replace(files[types], "// Memcached is", "// +kubebuilder:singular=cache\n// Memcached is", 1)
	files[register] += "\n" + call
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"api/v1alpha1/register.go":        {"SchemeBuilder.Register(func(scheme *runtime.Scheme) error {"},
		"api/v1alpha1/memcached_types.go": {"!+kubebuilder:singular"},
	})
}

// TestAddToManagerWithMore holds that controllers which take more than the manager
// are marked where the new main program sets controllers up.
func TestAddToManagerWithMore(t *testing.T) {
	files := memcached(t)
	swap(files, oldMain, "controller.AddToManager(mgr)", "controller.AddToManager(mgr, *delay)")
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{newMain: {
		"\t// TODO(migrate): cmd/main.go.old:", " sets controllers up: do that here\n\t//\tcontroller.AddToManager(mgr, *delay)\n", "!err := controller.AddToManager(",
	}})
}

// TestVersionOfMakefile holds that the version in the code becomes that of the
// Makefile.
func TestVersionOfMakefile(t *testing.T) {
	files := memcached(t)
	files["version/version.go"] = "package version\n\nvar Version = \"0.3.0\"\n"
	expect(t, content(mustPlan(t, files).Result), map[string][]string{"Makefile": {"\nVERSION ?= 0.3.0\n"}})
}

// TestPinned holds that versions from before Kubernetes had modules are
// replaced by those of the project, and that those which nobody has any more
// are excluded.
func TestPinned(t *testing.T) {
	const mod = "module a\n\nrequire k8s.io/client-go v0.36.3\n"
	const gone = "go: example.com/b@v1.0.0 requires\n\texample.com/c@v1.0.0 requires\n\texample.org/gone@v0.1.0: "
	for name, test := range map[string]struct{ mod, said, want string }{
		"gone":        {mod, gone + "reading https://proxy: 404 Not Found\n", mod + "\nexclude example.org/gone v0.1.0\n"},
		"gone, host":  {mod, gone + "unrecognized import path \"example.org/gone\": dial tcp: no such host\n", mod + "\nexclude example.org/gone v0.1.0\n"},
		"out already": {mod + "\nexclude example.org/gone v0.1.0\n", gone + "404 Not Found\n", ""},
		"no network":  {mod, gone + "dial tcp: lookup proxy: no such host\n", ""},
		"no password": {mod, gone + "git: fatal: could not read Username\n", ""},
		"asked for":   {mod, "\tk8s.io/client-go@v12.0.0+incompatible: invalid version: no\n\tk8s.io/client-go@v11.0.0+incompatible: no\n", mod + "\nreplace k8s.io/client-go => k8s.io/client-go v0.36.3\n"},
		"not asked":   {mod, "k8s.io/client-go@v0.18.2: no\n", ""},
		"not needed":  {mod, "k8s.io/api@v12.0.0+incompatible: no\n", ""},
		"replaced":    {mod + "\nreplace k8s.io/client-go => ./c\n", "k8s.io/client-go@v12.0.0+incompatible: no\n", ""},
		"other trees": {mod, "example.com/k8s.io/client-go@v1: no\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, notes, err := Pinned([]byte(test.mod), []byte(test.mod), test.said)
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if want == "" {
				want = test.mod
			}
			if d := cmp.Diff(want, string(got)); d != "" || len(notes) > 0 != (test.want != "") {
				t.Errorf("notes %v (-want +got):\n%s", notes, d)
			}
		})
	}
	got, notes, err := Pinned([]byte(mod), []byte(strings.Replace(mod, "v0.36.3", "v10.0.0+incompatible", 1)), "")
	if d := cmp.Diff(mod+"\nreplace k8s.io/client-go => k8s.io/client-go v0.36.3\n", string(got)); d != "" || len(notes) != 1 || err != nil {
		t.Errorf("a version that was selected without a word: notes %v, %v (-want +got):\n%s", notes, err, d)
	}
}
