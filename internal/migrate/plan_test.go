package migrate

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// memcached are the files of the project in testdata.
func memcached(t *testing.T) map[string]string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/memcached.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range a.Files {
		out[f.Name] = string(f.Data)
	}
	return out
}

// makePlan plans the migration of files.
func makePlan(t *testing.T, files map[string]string) (*Plan, error) {
	t.Helper()
	const dir = "/shop"
	return Make(Options{Files: hosttest.NewMemory(t, dir, files), Dir: dir, Scaffolder: testScaffolder})
}

// testScaffolder renders the scaffold of today.
func testScaffolder(read func(string) ([]byte, error)) project.Scaffolder {
	return v4.Plugin{CLIVersion: "(devel)", Year: 2026, ReadFile: read}
}

func mustPlan(t *testing.T, files map[string]string) *Plan {
	t.Helper()
	p, err := makePlan(t, files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// content is a set as texts.
func content(s fileset.Set) map[string]string {
	out := map[string]string{}
	for _, name := range s.Paths() {
		f, _ := s.Get(name)
		out[name] = string(f.Data)
	}
	return out
}

func TestSDK0(t *testing.T) {
	p := mustPlan(t, memcached(t))
	if n := p.Open(); n != 3 { // the old main program, the argument for its flag, and the Dockerfile
		t.Errorf("%d files need somebody: %v", n, p.Files)
	}
	got := content(p.Result)
	for name, want := range map[string][]string{
		"PROJECT":                         {"namespaced: true", "group: cache", "controller: true", "domain: example.com", "projectName: memcached-operator"},
		"api/v1alpha1/memcached_types.go": {"Conditions []metav1.Condition `json", "+listMapKey=type", "const ConditionReady string", "+kubebuilder:resource:path=memcacheds,shortName=mc\n// +kubebuilder:subresource:status", "scheme.AddKnownTypes(SchemeGroupVersion, &Memcached{}, &MemcachedList{})"},
		"internal/controller/memcached/memcached_controller.go": {
			"func Add(mgr manager.Manager) error", "client.Object(&cachev1alpha1.Memcached{}), &handler.EnqueueRequestForObject{}, pred)", "mgr.GetEventRecorderFor",
			"Reconcile(ctx context.Context, request reconcile.Request)", "MaxConcurrentReconciles: 2})",
			`+kubebuilder:rbac:groups=apps,namespace=memcached-operator-system,resources=deployments,verbs="*"`, "meta.SetStatusCondition(&memcached.Status.Conditions",
			`"example.com/memcached-operator/api/v1alpha1"`, "ProbeHandler: corev1.ProbeHandler{",
		},
		"internal/controller/memcached/memcached_controller_test.go": {"package memcached", "WithStatusSubresource(&cachev1alpha1.Memcached{})"},
		"cmd/main.go":                       {"controller.AddToManager(mgr)", "apis.AddToScheme(scheme)", `apis "example.com/memcached-operator/api"`},
		"cmd/main.go.old":                   {"delay := pflag.Duration(", "time.Sleep(*delay)"},
		"config/manager/manager.yaml":       {"--zap-log-level=debug", "--delay=1s", "name: FLAVOUR", "memory: 200Mi"},
		"config/manager/kustomization.yaml": {"newName: quay.io/example/memcached-operator", `newTag: "v0.3.0"`},
		"config/samples/kustomization.yaml": {"- cache_v1alpha1_memcached.yaml"},
		"go.mod":                            {"sigs.k8s.io/controller-runtime " + v4.CurrentVersions().ControllerRuntime, "github.com/spf13/pflag"},
		"Makefile":                          {"VERSION ?= 0.3.0"},
		"README.md":                         {"This text stays."},
		"MIGRATION.md":                      {"- [ ] `cmd/main.go.old:43`: not in cmd/main.go: delay := pflag.Duration(", "- [ ] `cmd/main.go.old:59`: not in cmd/main.go: time.Sleep(*delay)", "on the ports 8383 and 8686. They are served on port 8443 by HTTPS now", "led for life", "| pkg/controller/memcached/memcached_controller.go | internal/controller/memcached/memcached_controller.go |"},
	} {
		for _, part := range want {
			if !strings.Contains(got[name], part) {
				t.Errorf("%s has no %q:\n%s", name, part, got[name])
			}
		}
	}
	for name, text := range got {
		for _, gone := range []string{"operator-sdk/pkg", "example.com/memcached-operator/pkg/", "k8s.io/client-go => "} {
			if strings.Contains(text, gone) && name != ReportName && name != keptMain {
				t.Errorf("%s still has %q", name, gone)
			}
		}
		for _, old := range []string{"pkg/", "deploy/", "build/", "cmd/manager/"} {
			if strings.HasPrefix(name, old) {
				t.Errorf("%s is still there", name)
			}
		}
	}
}

// TestTwice holds that a migrated project has nothing to migrate.
func TestTwice(t *testing.T) {
	for name, files := range map[string]map[string]string{"v0": memcached(t), "go/v3": goV3()} {
		t.Run(name, func(t *testing.T) {
			p := mustPlan(t, files)
			again := mustPlan(t, content(p.Result))
			if len(again.Files) > 0 || again.Changes.Len() > 0 || again.From != LayoutCurrent {
				t.Errorf("from %s: %v", again.From, again.Files)
			}
			second := mustPlan(t, files)
			if d := cmp.Diff(content(p.Result), content(second.Result)); d != "" {
				t.Errorf("the same project came out differently:\n%s", d)
			}
		})
	}
}

// TestRulesAreKept compares the rules of the old role with those that the
// markers stand for.
func TestRulesAreKept(t *testing.T) {
	tests := map[string]struct {
		rule      rule
		namespace string
		want      string
	}{
		"core":        {rule{Groups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}}, "", `// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list`},
		"several":     {rule{Groups: []string{"", "apps"}, Resources: []string{"*"}, Verbs: []string{"*"}}, "", `// +kubebuilder:rbac:groups=core;apps,resources="*",verbs="*"`},
		"namespaced":  {rule{Groups: []string{"apps"}, Resources: []string{"deployments/finalizers"}, Names: []string{"x"}, Verbs: []string{"update"}}, "x-system", `// +kubebuilder:rbac:groups=apps,namespace=x-system,resources=deployments/finalizers,resourceNames=x,verbs=update`},
		"not on URLs": {rule{URLs: []string{"/metrics"}, Verbs: []string{"get"}}, "x-system", `// +kubebuilder:rbac:urls=/metrics,verbs=get`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.rule.marker(test.namespace); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  string
	}{
		"ansible by PROJECT":  {map[string]string{"PROJECT": "layout: ansible.sdk.operatorframework.io/v1\nversion: \"3\"\n"}, "Ansible operator"},
		"helm by PROJECT":     {map[string]string{"PROJECT": "layout:\n- helm.sdk.operatorframework.io/v1\nversion: \"3\"\n"}, "Helm operator"},
		"ansible of v0":       {map[string]string{"watches.yaml": "[]", "roles/a/tasks/main.yml": ""}, "Ansible operator"},
		"helm of v0":          {map[string]string{"watches.yaml": "[]", "helm-charts/a/Chart.yaml": ""}, "Helm operator"},
		"nothing":             {map[string]string{"a.txt": ""}, "no project here"},
		"operator-sdk 0.0":    {map[string]string{"pkg/apis/a.go": "", "pkg/stub/handler.go": ""}, "0.0.x"},
		"kubebuilder 1":       {map[string]string{"PROJECT": "version: \"1\"\n", "cmd/manager/main.go": ""}, "kubebuilder 1"},
		"PROJECT is no YAML":  {map[string]string{"PROJECT": "\t"}, "PROJECT: "},
		"an unknown layout":   {map[string]string{"PROJECT": "layout: java.sdk/v1\nversion: \"3\"\n"}, "unsupported project layout"},
		"no kinds":            {map[string]string{"cmd/manager/main.go": "package main", "go.mod": "module m", "pkg/apis/x/v1/a.go": "package v1"}, "no kind"},
		"a module without it": {map[string]string{"cmd/manager/main.go": "package main", "go.mod": "go 1.13", "pkg/apis/x/v1/a.go": "package v1"}, "no module line"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := makePlan(t, test.files)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if clierr.HintOf(err) == "" {
				t.Errorf("%v has no hint", err)
			}
		})
	}
}

// TestEditsSurvive puts edits of a user's at random places and looks for them
// in the result.
func TestEditsSurvive(t *testing.T) {
	for seed := range hosttest.Rounds(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			files, marks := memcached(t), []string{}
			for i := range 1 + r.IntN(6) {
				mark := fmt.Sprintf("Mark%dOf%d", i, seed)
				if userEdit(r, files, mark) {
					marks = append(marks, mark)
				}
			}
			p := mustPlan(t, files)
			all := ""
			for name, text := range content(p.Result) {
				if name != ReportName {
					all += text
				}
				if filepath.Ext(name) == ".go" {
					if _, err := parseGo(name, []byte(text)); err != nil {
						t.Errorf("%v\n%s", err, text)
					}
				}
			}
			for _, mark := range marks {
				if !strings.Contains(all, mark) {
					t.Errorf("%s is lost", mark)
				}
			}
		})
	}
}

// userEdit makes one change to one file, with the mark in it, and says whether
// it did.
func userEdit(r *rand.Rand, files map[string]string, mark string) bool {
	edits := []func(){
		func() { // a field
			swap(files, "pkg/apis/cache/v1alpha1/memcached_types.go", "\tSize int32 `json:\"size\"`", fmt.Sprintf("\tSize int32 `json:\"size\"`\n\n\t// %s is asked for.\n\t%s string `json:\"x\"`", mark, mark))
		},
		func() { // a helper
			files["pkg/controller/memcached/memcached_controller.go"] += fmt.Sprintf("\n// %s helps.\nfunc %s(x int) int { return x + 1 }\n", strings.ToLower(mark), mark)
		},
		func() { // a comment in Reconcile
			swap(files, "pkg/controller/memcached/memcached_controller.go", "\tmemcached := &", "\t// "+mark+"\n\tmemcached := &")
		},
		func() { // a comment in add
			swap(files, "pkg/controller/memcached/memcached_controller.go", "\t// the Deployment is healed\n", "\t// the Deployment is healed\n\t// "+mark+"\n")
		},
		func() { // a statement in add
			swap(files, "pkg/controller/memcached/memcached_controller.go", "\tpred := predicate", fmt.Sprintf("\tlog.Info(%q)\n\tpred := predicate", mark))
		},
		func() { // a further watch
			swap(files, "pkg/controller/memcached/memcached_controller.go", "\t// pods are told", fmt.Sprintf("\tif err := c.Watch(&source.Kind{Type: &corev1.%s{}}, &handler.EnqueueRequestForOwner{OwnerType: &cachev1alpha1.Memcached{}}); err != nil {\n\t\treturn err\n\t}\n\t// pods are told", mark))
		},
		func() { // a field of the reconciler
			swap(files, "pkg/controller/memcached/memcached_controller.go", "\tscheme   *runtime.Scheme", "\tscheme   *runtime.Scheme\n\tx"+mark+" string")
		},
		func() { // a statement of main
			swap(files, "cmd/manager/main.go", "\ttime.Sleep(*delay)", fmt.Sprintf("\ttime.Sleep(*delay)\n\tos.Setenv(%q, namespace)", mark))
		},
		func() { // a function beside main
			files["cmd/manager/main.go"] += fmt.Sprintf("\nfunc %s() { time.Sleep(1) }\n", mark)
		},
		func() { // a package
			files["pkg/util/"+strings.ToLower(mark)+".go"] = fmt.Sprintf("package util\n\nimport \"example.com/memcached-operator/pkg/apis/cache/v1alpha1\"\n\nvar %s v1alpha1.Memcached\n", mark)
		},
		func() { // in the deployment
			swap(files, "deploy/operator.yaml", "            - name: FLAVOUR\n", fmt.Sprintf("            - name: %s\n              value: x\n            - name: FLAVOUR\n", mark))
		},
		func() { // a rule
			swap(files, "deploy/role.yaml", "rules:\n", fmt.Sprintf("rules:\n- apiGroups: [%s.example.com]\n  resources: [a]\n  verbs: [get]\n", mark))
		},
		func() { // another object
			files["deploy/"+strings.ToLower(mark)+".yaml"] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: %s}\n", mark)
		},
		func() { // documentation
			files["docs/"+mark+".md"] = mark
		},
	}
	before := fmt.Sprint(files)
	edits[r.IntN(len(edits))]()
	return before != fmt.Sprint(files)
}

// swap replaces text in a file, once.
func swap(files map[string]string, name, old, text string) {
	files[name] = strings.Replace(files[name], old, text, 1)
}

func TestSeveralControllers(t *testing.T) {
	files := memcached(t)
	other := strings.NewReplacer("package memcached", "package other", "ReconcileMemcached", "ReconcileOther", "memcached-controller", "other-controller").
		Replace(files["pkg/controller/memcached/memcached_controller.go"])
	files["pkg/controller/other/other_controller.go"] = other
	files["pkg/controller/add_other.go"] = strings.ReplaceAll(files["pkg/controller/add_memcached.go"], "memcached.Add", "other.Add")
	files["pkg/controller/add_other.go"] = strings.ReplaceAll(files["pkg/controller/add_other.go"], "controller/memcached", "controller/other")
	got := content(mustPlan(t, files).Result)
	for name, want := range map[string][]string{
		"cmd/main.go":                          {"controller.AddToManager(mgr)"},
		"internal/controller/controller.go":    {"func AddToManager("},
		"internal/controller/add_memcached.go": {`"example.com/memcached-operator/internal/controller/memcached"`, "memcached.Add)"},
		"internal/controller/add_other.go":     {"other.Add)"},
		"internal/controller/other/other_controller.go": {
			"func Add(mgr manager.Manager) error", "c.Watch(source.Kind(mgr.GetCache(), client.Object(&appsv1.Deployment{}), handler.EnqueueRequestForOwner(mgr.GetScheme()",
			"Reconcile(ctx context.Context, request reconcile.Request)",
		},
	} {
		for _, part := range want {
			if !strings.Contains(got[name], part) {
				t.Errorf("%s has no %q:\n%s", name, part, got[name])
			}
		}
	}
}

func TestOLM(t *testing.T) {
	const csv = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: memcached-operator.vX\n  annotations:\n    alm-examples: '[1]'\nspec:\n  displayName: Shown\n  version: X\n  replaces: a\n  install:\n    strategy: deployment\n    spec:\n      deployments:\n      - name: a\n"
	files := memcached(t)
	for _, v := range []string{"0.2.0", "0.10.0"} {
		files["deploy/olm-catalog/memcached-operator/"+v+"/memcached-operator.v"+v+".clusterserviceversion.yaml"] = strings.ReplaceAll(csv, "X", v)
	}
	files["deploy/olm-catalog/memcached-operator/memcached-operator.package.yaml"] = "packageName: memcached-operator\n"
	base := "config/manifests/bases/memcached-operator.clusterserviceversion.yaml"

	p := mustPlan(t, files)
	got := content(p.Result)
	for _, part := range []string{"displayName: Shown", "version: 0.0.0", "alm-examples: '[]'"} {
		if !strings.Contains(got[base], part) && !strings.Contains(got[base], strings.ReplaceAll(part, "'", "\"")) {
			t.Errorf("the base has no %q:\n%s", part, got[base])
		}
	}
	if strings.Contains(got[base], "replaces") || strings.Contains(got[base], "install") {
		t.Errorf("the base has what the generator of bundles fills in:\n%s", got[base])
	}
	if !strings.Contains(got["config/manifests/kustomization.yaml"], "\n- bases/") {
		t.Error("the base is not listed")
	}
	if got["deploy/olm-catalog/memcached-operator/memcached-operator.package.yaml"] == "" {
		t.Error("without a conversion the package is to stay")
	}
}

// entry returns the plan's entry for a path of the result.
func (p *Plan) entry(name string) (Entry, bool) {
	i := slices.IndexFunc(p.Files, func(e Entry) bool { return e.Path == name })
	if i < 0 {
		return Entry{}, false
	}
	return p.Files[i], true
}

// TestDomains holds that groups of several domains keep their names, and that
// all of a version is in one directory, with what imports it.
func TestDomains(t *testing.T) {
	const types = "package v1\n\nimport (\n\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n\t\"example.com/memcached-operator/pkg/apis/queues/v1/types\"\n)\n\n// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object\n\n// Queue is one.\ntype Queue struct {\n\tmetav1.TypeMeta   `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n\tSize types.Size `json:\"size\"`\n}\n"
	files := memcached(t)
	files["pkg/apis/queues/v1/queue_types.go"] = types
	files["pkg/apis/queues/v1/register.go"] = "package v1\n\nimport \"k8s.io/apimachinery/pkg/runtime/schema\"\n\nvar SchemeGroupVersion = schema.GroupVersion{Group: \"queues.strimzi.io\", Version: \"v1\"}\n"
	files["pkg/apis/queues/v1/types/size.go"] = "package types\n\n// Size is a number.\ntype Size int\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"api/queues/v1/queue_types.go":          {`"example.com/memcached-operator/api/queues/v1/types"`},
		"api/queues/v1/types/size.go":           {"type Size int"},
		"api/queues/v1/register.go":             {`Group: "queues.strimzi.io"`},
		"api/cache/v1alpha1/memcached_types.go": {"type Memcached struct"},
		"PROJECT":                               {"domain: strimzi.io\n  group: queues\n", "domain: example.com\n  group: cache\n"},
		"config/crd/kustomization.yaml":         {"bases/queues.strimzi.io_queues.yaml", "bases/cache.example.com_memcacheds.yaml"},
		"cmd/main.go":                           {`queuesv1 "example.com/memcached-operator/api/queues/v1"`},
	})
	for name := range got {
		if strings.Contains(name, "strimzi.io/") || name == "api/queues/v1/groupversion_info.go" {
			t.Errorf("there is %s", name)
		}
	}
}
