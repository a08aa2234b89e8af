package migrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// goV3 is a project of the layout go/v3 with a webhook.
func goV3() map[string]string {
	return map[string]string{
		"PROJECT": "domain: example.com\nlayout:\n- go.kubebuilder.io/v3\nmultigroup: true\nplugins:\n  manifests.sdk.operatorframework.io/v2: {}\n" +
			"projectName: shop\nrepo: example.com/shop\nresources:\n- api:\n    crdVersion: v1beta1\n    namespaced: true\n  controller: true\n  domain: example.com\n" +
			"  group: cache\n  kind: Memcached\n  path: example.com/shop/apis/cache/v1\n  version: v1\n  webhooks:\n    defaulting: true\n    webhookVersion: v1beta1\nversion: \"3\"\n",
		"go.mod": "module example.com/shop\n\ngo 1.16\n\nrequire (\n\tgithub.com/google/uuid v1.3.0\n\tgithub.com/acme/shelf v1.3.0\n\tsigs.k8s.io/controller-runtime v0.8.3\n)\n",
		"main.go": `package main

import (
	"flag"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	routev1 "github.com/openshift/api/route/v1"
	cachev1 "example.com/shop/apis/cache/v1"
	cachecontrollers "example.com/shop/controllers/cache"
)

var (
	scheme   = runtime.NewScheme()
	setupLog = ctrl.Log.WithName("setup")
)

func init() {
	utilruntime.Must(cachev1.AddToScheme(scheme))
	utilruntime.Must(routev1.AddToScheme(scheme))
}

func main() {
	var metricsAddr string
	var pause time.Duration
	flag.StringVar(&metricsAddr, "metrics-bind-address", ":8080", "x")
	flag.DurationVar(&pause, "pause", 0, "x")
	flag.Parse()
	sync := time.Hour
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme, MetricsBindAddress: metricsAddr, SyncPeriod: &sync})
	if err != nil {
		os.Exit(1)
	}
	if err = (&cachecontrollers.MemcachedReconciler{Client: mgr.GetClient(), Pause: pause}).SetupWithManager(mgr); err != nil {
		os.Exit(1)
	}
	if err = (&cachev1.Memcached{}).SetupWebhookWithManager(mgr); err != nil {
		os.Exit(1)
	}
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}
`,
		"apis/cache/v1/memcached_types.go": "package v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\ntype Memcached struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n}\n",
		"apis/cache/v1/memcached_webhook.go": `package v1

import (
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func (r *Memcached) SetupWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr).For(r).Complete()
}

//+kubebuilder:webhook:path=/mutate-x,mutating=true,failurePolicy=fail,groups=cache.example.com,resources=memcacheds,verbs=create,versions=v1,name=m.kb.io,admissionReviewVersions={v1,v1beta1}

var _ webhook.Defaulter = &Memcached{}

// Default is mine.
func (r *Memcached) Default() {}

func (r *Memcached) ValidateUpdate(old runtime.Object) error { return nil }

func (r *Memcached) ValidateCreate() error { return nil }
`,
		"controllers/cache/memcached_controller.go": "package cache\n\nimport cachev1 \"example.com/shop/apis/cache/v1\"\n\ntype MemcachedReconciler struct{ X cachev1.Memcached }\n",
		"config/manager/manager.yaml":               "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: controller-manager}\nspec:\n  template:\n    spec:\n      containers:\n      - name: manager\n        command: [/manager]\n        args: [--leader-elect, --pause=3s]\n        env: [{name: MINE, value: x}]\n",
		"config/rbac/kustomization.yaml":            "resources:\n- role.yaml\n- mine.yaml\n- auth_proxy_role.yaml\n",
		"config/rbac/mine.yaml":                     "kind: Role\n",
		"config/rbac/auth_proxy_role.yaml":          "kind: ClusterRole\n",
		"config/samples/cache_v1_memcached.yaml":    "kind: Memcached\nspec: {mine: 1}\n",
		"config/samples/kustomization.yaml":         "resources:\n- cache_v1_memcached.yaml\n",
	}
}

func TestGoV3(t *testing.T) {
	p := mustPlan(t, goV3())
	got := content(p.Result)
	for name, want := range map[string][]string{
		"PROJECT": {"layout:\n- go.kubebuilder.io/v4", "path: example.com/shop/api/cache/v1", "crdVersion: v1\n", "validation: true", "multigroup: true", "webhookVersion: v1\n"},
		"internal/webhook/cache/v1/memcached_webhook.go": {"obj.Default()", "return nil, newObj.ValidateUpdate(oldObj)", "sideEffects=None", "admissionReviewVersions=v1,", "path=/mutate-x"},
		"api/cache/v1/memcached_webhook.go":              {"// Default is mine.", "func (r *Memcached) ValidateCreate() error"},
		"internal/controller/cache/memcached_controller.go": {
			`"example.com/shop/api/cache/v1"`,
		},
		"cmd/main.go": {
			"utilruntime.Must(routev1.AddToScheme(scheme))", "MemcachedReconciler{\n\t\tClient: mgr.GetClient(),\n\t\t// TODO(migrate): cmd/main.go.old:37 has Pause: pause: set it here\n\t}).SetupWithManager(mgr)",
		},
		"config/manager/manager.yaml":            {"--pause=3s", "name: MINE"},
		"config/rbac/kustomization.yaml":         {"- mine.yaml"},
		"config/rbac/mine.yaml":                  {"kind: Role"},
		"config/samples/cache_v1_memcached.yaml": {"mine: 1"},
		"go.mod":                                 {"github.com/google/uuid v1.6.0\n", "github.com/acme/shelf v1.3.0\n", "sigs.k8s.io/controller-runtime " + v4.CurrentVersions().ControllerRuntime},
	} {
		for _, part := range want {
			if !strings.Contains(got[name], part) {
				t.Errorf("%s has no %q:\n%s", name, part, got[name])
			}
		}
	}
	for _, gone := range []string{"main.go", "config/rbac/auth_proxy_role.yaml", "apis/cache/v1/memcached_types.go"} {
		if _, ok := got[gone]; ok {
			t.Errorf("%s is still there", gone)
		}
	}
	for _, part := range []string{"SetupWebhookWithManager", "kubebuilder:webhook", "var _ webhook"} {
		if strings.Contains(got["api/cache/v1/memcached_webhook.go"], part) {
			t.Errorf("the types still have %q", part)
		}
	}
	e, ok := p.entry(keptMain)
	if !ok || e.From != "main.go" || len(e.Notes) != 1 || e.Notes[0].Line != 28 {
		t.Errorf("%s: %v", keptMain, e)
	}
}

// TestControllerNames holds that controllers of one kind in two groups get names
// of their own, and that one which the old main program set up twice is set up
// once.
func TestControllerNames(t *testing.T) {
	files := goV3()
	for _, group := range []string{"batch", "cache"} {
		files["controllers/"+group+"/job_controller.go"] = fmt.Sprintf(`package %[1]s

import (
	ctrl "sigs.k8s.io/controller-runtime"

	v1 "example.com/shop/apis/%[1]s/v1"
)

type JobReconciler struct{}

func (r *JobReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1.Job{}).
		Complete(r)
}
`, group)
	}
	const setup = "\tif err = (&cachecontrollers.JobReconciler{}).SetupWithManager(mgr); err != nil {\n\t\tos.Exit(1)\n\t}\n"
	files["main.go"] = strings.Replace(files["main.go"], "\tif err := mgr.Start(", setup+setup+"\tif err := mgr.Start(", 1)
	p := mustPlan(t, files)
	got := content(p.Result)
	for name, want := range map[string]string{
		"internal/controller/batch/job_controller.go": "NewControllerManagedBy(mgr).\n\t\tNamed(\"batch-job\").\n\t\tFor(",
		"internal/controller/cache/job_controller.go": "NewControllerManagedBy(mgr).\n\t\tNamed(\"cache-job\").\n\t\tFor(",
		ReportName: "- main.go:46 set up JobReconciler a second time, which controller-runtime refuses: it is set up once now.\n",
	} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s has no %q:\n%s", name, want, got[name])
		}
	}
	if n := strings.Count(got["cmd/main.go"], "JobReconciler{"); n != 1 {
		t.Errorf("the controller is set up %d times:\n%s", n, got["cmd/main.go"])
	}
}

// TestPackageNames holds that controllers are set up whose package is imported
// without a name of its own and has another one than its directory.
func TestPackageNames(t *testing.T) {
	files := goV3()
	files["PROJECT"] = strings.Replace(files["PROJECT"], "multigroup: true\n", "", 1)
	const code = "import ctrl \"sigs.k8s.io/controller-runtime\"\n\ntype ToolReconciler struct{}\n\nfunc (*ToolReconciler) SetupWithManager(ctrl.Manager) error { return nil }\n"
	files["controllers/tool_controller.go"] = "package mycontrollers\n\n" + code
	files["controllers/gen.go"] = "//go:build ignore\n\npackage main\n\nfunc main() {}\n"
	files["pkg/tool-x/tool_controller.go"] = "package tool\n\n" + code
	files["main.go"] = strings.NewReplacer(
		"\tcachecontrollers \"", "\t\"example.com/shop/controllers\"\n\t\"example.com/shop/pkg/tool-x\"\n\tcachecontrollers \"",
		"\tif err := mgr.Start(", "\tif err = (&mycontrollers.ToolReconciler{}).SetupWithManager(mgr); err != nil {\n\t\tos.Exit(1)\n\t}\n"+
			"\tif err = (&tool.ToolReconciler{}).SetupWithManager(mgr); err != nil {\n\t\tos.Exit(1)\n\t}\n\tif err := mgr.Start(",
	).Replace(files["main.go"])
	got := content(mustPlan(t, files).Result)
	for name, want := range map[string][]string{
		"internal/controller/tool_controller.go": {"package controller\n"},
		"pkg/tool-x/tool_controller.go":          {"package tool\n"},
		"cmd/main.go": {
			"\"example.com/shop/internal/controller\"\n", "(&controller.ToolReconciler{}).SetupWithManager(mgr)",
			"tool \"example.com/shop/pkg/tool-x\"\n", "(&tool.ToolReconciler{}).SetupWithManager(mgr)",
		},
	} {
		for _, part := range want {
			if !strings.Contains(got[name], part) {
				t.Errorf("%s has no %q:\n%s", name, part, got[name])
			}
		}
	}
}

// TestHandlersElsewhere holds that webhooks which a type of another package sets
// up stay its own: methods of the kind's type are not taken for them.
func TestHandlersElsewhere(t *testing.T) {
	files := goV3()
	files["apis/cache/v1/memcached_webhook.go"] = strings.Replace(files["apis/cache/v1/memcached_webhook.go"], "SetupWebhookWithManager(", "Prepare(", 1)
	files["hooks/memcached.go"] = `package hooks

import (
	ctrl "sigs.k8s.io/controller-runtime"

	cachev1 "example.com/shop/apis/cache/v1"
)

type Hook struct{}

func (h *Hook) SetupWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr).For(&cachev1.Memcached{}).WithDefaulter(h).Complete()
}
`
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"internal/webhook/cache/v1/memcached_webhook.go": {"// TODO(migrate): hooks.Hook (hooks/memcached.go:11) sets them up", "\treturn nil\n", "!Defaulter struct"},
		"PROJECT":            {"defaulting: true", "!validation: true"},
		"hooks/memcached.go": {"NewWebhookManagedBy(mgr, &cachev1.Memcached{}).WithCustomDefaulter(h)"},
	})
}

func TestProjectVersions(t *testing.T) {
	for version, text := range map[string]string{
		"2":       "domain: example.com\nrepo: example.com/shop\nresources:\n- group: cache\n  kind: Memcached\n  version: v1\nversion: \"2\"\n",
		"3-alpha": "domain: example.com\nlayout: go.kubebuilder.io/v2\nprojectName: shop\nrepo: example.com/shop\nplugins:\n  go.sdk.operatorframework.io/v2-alpha: {}\nresources:\n- group: cache\n  kind: Memcached\n  version: v1\nversion: 3-alpha\n",
	} {
		t.Run(version, func(t *testing.T) {
			files := map[string]string{}
			for name, data := range goV3() {
				name = strings.ReplaceAll(strings.Replace(name, "apis/cache/", "api/", 1), "controllers/cache/", "controllers/")
				data = strings.ReplaceAll(strings.ReplaceAll(data, "shop/apis/cache/", "shop/api/"), "shop/controllers/cache", "shop/controllers")
				files[name] = strings.ReplaceAll(data, "package cache\n", "package controllers\n")
			}
			files["PROJECT"] = text
			got := content(mustPlan(t, files).Result)
			var p struct {
				Version, Domain string
				Layout          []string
				Plugins         map[string]any
				Resources       []struct {
					Path       string
					Controller bool
					Webhooks   map[string]any
				}
			}
			if err := yaml.Unmarshal([]byte(got["PROJECT"]), &p); err != nil {
				t.Fatal(err)
			}
			if p.Version != "3" || !slices.Equal(p.Layout, []string{string(LayoutCurrent)}) || len(p.Resources) != 1 {
				t.Fatalf("%+v", p)
			}
			r := p.Resources[0]
			if r.Path != "example.com/shop/api/v1" || !r.Controller || r.Webhooks["defaulting"] != true {
				t.Errorf("%+v", r)
			}
			if len(p.Plugins) != 2 || p.Plugins["manifests.sdk.operatorframework.io/v2"] == nil {
				t.Errorf("plugins %v", p.Plugins)
			}
		})
	}
}

// TestKindsByPath holds that the packages of kinds are known by where they are, also
// where they stay.
func TestKindsByPath(t *testing.T) {
	m := newMigration(nil)
	m.moves = map[string]string{"apis/sales/v1": "api/sales/v1"}
	m.apis = []*apiVersion{{dir: "apis/sales/v1", kinds: []kind{{name: "Cart"}}}, {dir: "api/v1", kinds: []kind{{name: "Shop"}}}}
	want := map[string][]string{"example.com/shop/api/sales/v1": {"Cart"}, "example.com/shop/api/v1": {"Shop"}}
	if d := cmp.Diff(want, m.kindsByPath()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestPathOfProject holds that types are looked for where PROJECT says that
// they are.
func TestPathOfProject(t *testing.T) {
	files := goV3()
	swap(files, "PROJECT", "path: example.com/shop/apis/cache/v1", "path: example.com/shop/api/v1")
	for _, name := range []string{"memcached_types.go", "memcached_webhook.go"} {
		files["api/v1/"+name] = files["apis/cache/v1/"+name]
		delete(files, "apis/cache/v1/"+name)
	}
	swap(files, "main.go", "shop/apis/cache/v1", "shop/api/v1")
	swap(files, "controllers/cache/memcached_controller.go", "shop/apis/cache/v1", "shop/api/v1")
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"PROJECT": {"path: example.com/shop/api/cache/v1\n"}, "api/cache/v1/memcached_types.go": {"type Memcached struct"}, hookTarget: {"WithDefaulter("},
		newMain: {`"example.com/shop/api/cache/v1"`, `!"example.com/shop/api/v1"`}, "internal/controller/cache/memcached_controller.go": {`"example.com/shop/api/cache/v1"`},
	})
	if _, there := got["api/v1/memcached_types.go"]; there {
		t.Error("the types are at their old place, too")
	}
}
