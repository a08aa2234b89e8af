package trace

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type disk struct{}

func (disk) ReadFile(name string) ([]byte, error)       { return os.ReadFile(name) }
func (disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// project writes files and returns the overlay for them, by relative path.
func project(t *testing.T, files map[string]string) (dir string, overlay map[string]string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("me@here.4711:1", filepath.Join(dir, ".#lock.go")); err != nil { // as Emacs does
		t.Fatal(err)
	}
	out, err := Overlay(disk{}, dir, "./cmd", Pod{"here", "/cache/namespace"}, map[string]string{"example.com/shop/api/v1": "shop.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	overlay = map[string]string{}
	for name, data := range out {
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		overlay[filepath.ToSlash(rel)] = string(data)
	}
	return dir, overlay
}

// module is of a project from before generics.
const module = "module example.com/shop\n\ngo 1.13\n"

// TestOverlay: which methods report, and that nothing moves to another line.
func TestOverlay(t *testing.T) {
	tests := map[string]struct{ src, want string }{
		"as scaffolded": {
			"package c\n\nimport \"context\"\n\nfunc (r *ShopReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {\n\treturn ctrl.Result{}, nil\n}\n\nfunc (r *ShopReconciler) SetupWithManager(mgr ctrl.Manager) error {\n\treturn ctrl.NewControllerManagedBy(mgr).For(&v1.Shop{}, x).Complete(r)\n}\n",
			"func (r *ShopReconciler) Reconcile(ctx context.Context, req ctrl.Request) (mysdkResult ctrl.Result, mysdkErr error) { defer mysdkreporter.Begin(&ctx, \"ShopReconciler\", \"\", \"Shop\", []string{\"Shop\"}, req)(&mysdkResult, &mysdkErr);",
		},
		"named, and ignored": {
			"package c\n\nimport \"context\"\n\nfunc (r R) Reconcile(_ context.Context, _ ctrl.Request) (res ctrl.Result, err error) { return }\n",
			"func (r R) Reconcile(mysdkCtx context.Context, mysdkRequest ctrl.Request) (res ctrl.Result, err error) { defer mysdkreporter.Begin(&mysdkCtx, \"R\", \"\", \"\", nil, mysdkRequest)(&res, &err); return }",
		},
		"of objects": {
			"package c\n\nimport \"context\"\n\nfunc (r *R[T]) Reconcile(ctx context.Context, o *v1.Shop) (ctrl.Result, error) {\n\treturn ctrl.Result{}, nil\n}\n",
			"func (r *R[T]) Reconcile(ctx context.Context, o *v1.Shop) (mysdkResult ctrl.Result, mysdkErr error) { defer mysdkreporter.Begin(&ctx, \"R\", \"\", \"Shop\", nil, o)(&mysdkResult, &mysdkErr);",
		},
		"of a group": {
			"package c\n\nimport \"context\"\nimport v1 \"example.com/shop/api/v1\"\n\nfunc (r *R) Reconcile(ctx context.Context, o *v1.Shop) (ctrl.Result, error) {\n\treturn ctrl.Result{}, nil\n}\n",
			"Begin(&ctx, \"R\", \"shop.example.com\", \"Shop\", nil, o)",
		},
		"of its builder's group": {
			"package c\n\nimport \"context\"\nimport shopv1 \"example.com/shop/api/v1\"\n\nfunc (r *R) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) { return x, nil }\n\nfunc (r *R) setup(mgr ctrl.Manager) error { return builder(mgr).Owns(&v1.Pod{}).For(&shopv1.Shop{}).Complete(r) }\n",
			"Begin(&ctx, \"R\", \"shop.example.com\", \"Shop\", []string{\"Pod\", \"Shop\"}, req)",
		},
		"a function": {"package c\n\nimport \"context\"\n\nfunc Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) { return x, nil }\n", ""},
		"before 0.7": {
			"package c\n\nfunc (r *R) Reconcile(req ctrl.Request) (ctrl.Result, error) { return x, nil }\n",
			"func (r *R) Reconcile(req ctrl.Request) (mysdkResult ctrl.Result, mysdkErr error) { defer mysdkreporter.Begin(nil, \"R\", \"\", \"\", nil, req)(&mysdkResult, &mysdkErr); return x, nil }",
		},
		"leader by its pod": {
			"package c\n\nimport lead \"github.com/operator-framework/operator-lib/leader\"\n\nfunc f() error {\n\tif err := lead.Become(ctx, \"lock\"); err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n",
			"\tif err := func(...interface{}) error { return nil }(ctx, \"lock\"); err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}; var _ = lead.Become\n",
		},
		"by another name": {
			"package c\n\nimport goctx \"context\"\n\nfunc (r *R) Reconcile(ctx goctx.Context, req ctrl.Request) (ctrl.Result, error) { return x, nil }\n",
			"Begin(&ctx, \"R\", \"\", \"\", nil, req)",
		},
		"options": {
			"package c\n\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n\nvar o = ctrl.Options{Scheme: s, LeaderElection: true}\n",
			"ctrl.Options{LeaderElectionNamespace: \"here\", Scheme: s, LeaderElection: true}",
		},
		"options of the manager": {
			"package c\n\nimport \"sigs.k8s.io/controller-runtime/pkg/manager\"\n\nvar o = manager.Options{Scheme: s, LeaderElection: true}\n",
			"manager.Options{LeaderElectionNamespace: \"here\", Scheme: s, LeaderElection: true}",
		},
		"its own options":    {"package c\n\nvar o = Options{Scheme: s, LeaderElection: true}\n", ""},
		"its own context":    {"package c\n\nfunc (r *R) Reconcile(ctx *Context, o *v1.Shop) (ctrl.Result, error) { return x, nil }\n", ""},
		"another context":    {"package c\n\nimport \"example.com/shop/context\"\n\nfunc (r *R) Reconcile(ctx context.Context, o *v1.Shop) (ctrl.Result, error) { return x, nil }\n", ""},
		"no request":         {"package c\n\nfunc (r *R) Reconcile(a string) (string, error) { return x, nil }\n", ""},
		"another method":     {"package c\n\nimport \"context\"\n\nfunc (r *R) Reconcile(ctx context.Context, a, b string) (string, error) { return x, nil }\n", ""},
		"does not parse":     {"package c\n\nfunc (r *R) Reconcile(\n", ""},
		"a generated client": {"package c\n\n// Reconcile( and .For( in a comment\nvar x = 1\n", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, overlay := project(t, map[string]string{"go.mod": module, "internal/c/c.go": tc.src})
			got, changed := overlay["internal/c/c.go"]
			if changed != (tc.want != "") {
				t.Fatalf("changed: %v\n%s", changed, got)
			}
			if !changed {
				return
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("no line\n%s\nin\n%s", tc.want, got)
			}
			if strings.Count(got, "\n") != strings.Count(tc.src, "\n") {
				t.Errorf("lines moved:\n%s", got)
			}
		})
	}
}

// TestOverlayNames: reconcilers of the same name are told apart by their packages.
func TestOverlayNames(t *testing.T) {
	const reconciler = "\n\nimport \"context\"\n\nfunc (r *R) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) { return x, nil }\n"
	_, overlay := project(t, map[string]string{
		"go.mod": module, "c/one/c.go": "package one" + reconciler, "c/two/c.go": "package two" + reconciler,
		"c/alone/c.go": "package alone" + strings.ReplaceAll(reconciler, "*R", "*S"),
	})
	for file, want := range map[string]string{"c/one/c.go": `"one.R"`, "c/two/c.go": `"two.R"`, "c/alone/c.go": `"S"`} {
		if !strings.Contains(overlay[file], "Begin(&ctx, "+want+",") {
			t.Errorf("%s: no %s in\n%s", file, want, overlay[file])
		}
	}
}

// TestWatches: which kinds a controller watches, as far as its code says it.
func TestWatches(t *testing.T) {
	const builder = "func (r *R) SetupWithManager(mgr ctrl.Manager) error { return ctrl.NewControllerManagedBy(mgr).For(&v1.Shop{})"
	tests := map[string]struct{ src, want string }{
		"of its builder":     {builder + ".Owns(&v1.Pod{}, builder.WithPredicates(predicate.Funcs{})).Watches(new(v1.Secret), handler.Funcs{}).Complete(r) }", `[]string{"Pod", "Secret", "Shop"}`},
		"by sources":         {builder + ".WatchesRawSource(source.Kind(mgr.GetCache(), &v1.Node{}, &handler.EnqueueRequestForObject{})).Complete(r) }", `[]string{"Node", "Shop"}`},
		"before 0.15":        {builder + ".Watches(&source.Kind{Type: &v1.Node{}}, h).Complete(r) }", `[]string{"Node", "Shop"}`},
		"from elsewhere too": {builder + ".WatchesRawSource(source.Channel(r.events, h)).Watches(&source.Channel{Source: r.events}, h).Complete(r) }", `[]string{"Shop"}`},
		"in another method":  {builder + ".Complete(r) }\nfunc (r *R) more(b *builder.Builder) { b.Owns(&v1.Pod{}) }", `[]string{"Pod", "Shop"}`},
		"in a function":      {builder + ".Complete(r) }\nfunc more(b *builder.Builder) { b.Owns(&v1.Pod{}) }", `[]string{"Pod", "Shop"}`},
		"another Watch":      {builder + ".Complete(r) }\nfunc (r *R) register(ctx context.Context) { r.watcher.Watch(ctx, r.name) }", `[]string{"Shop"}`},
		"at run time":        {builder + ".Complete(r) }\nfunc (r *R) follow(o client.Object) { r.controller.Watch(source.Kind(r.cache, o)) }", "nil"},
		"a variable":         {builder + ".Owns(r.child).Complete(r) }", "nil"},
		"of any kind":        {builder + ".Owns(&unstructured.Unstructured{}).Complete(r) }", "nil"},
		"without a builder":  {"func add(c controller.Controller) { c.Watch(&source.Kind{Type: &v1.Shop{}}, h) }", "nil"},
		"in a function only": {"func add(mgr manager.Manager, r reconcile.Reconciler) error { return builder.ControllerManagedBy(mgr).For(&v1.Shop{}).Complete(r) }", `[]string{"Shop"}`},
		"before builders":    {"func add(c controller.Controller) { c.Watch(&source.Kind{Type: &v1.Shop{}}, &handler.EnqueueRequestForObject{}); c.Watch(&source.Kind{Type: &v1.Pod{}}, &handler.EnqueueRequestForOwner{OwnerType: &v1.Shop{}}) }", `[]string{"Pod", "Shop"}`},
		"of another type":    {"func (s *S) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) { return x, nil }\n\nfunc add(mgr manager.Manager, r reconcile.Reconciler) error { return builder.ControllerManagedBy(mgr).For(&v1.Shop{}).Complete(r) }", "nil"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			src := "package c\n\nimport \"context\"\n\nfunc (r *R) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) { return x, nil }\n" + tc.src + "\n"
			_, overlay := project(t, map[string]string{"go.mod": module, "c/c.go": src})
			if !strings.Contains(overlay["c/c.go"], ", "+tc.want+", req)") {
				t.Errorf("want %s in\n%s", tc.want, overlay["c/c.go"])
			}
		})
	}
}

// TestOverlayFiles: what is laid over a project, and where it does not look.
func TestOverlayFiles(t *testing.T) {
	const reconciler = "package c\n\nimport \"context\"\n\nfunc (r *R) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) { return x, nil }\n"
	_, overlay := project(t, map[string]string{
		"go.mod": module, "internal/c/c.go": reconciler, "internal/c/c_test.go": reconciler, "vendor/x/c.go": reconciler,
		"testdata/c.go": reconciler, ".hidden/c.go": reconciler, "_old/c.go": reconciler, "nested/go.mod": module, "nested/c.go": reconciler,
	})
	var names []string
	for name := range overlay {
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"cmd/zz_mysdkreporter.go", "internal/c/c.go", "internal/mysdkreporter/reporter.go"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for requires, want := range map[string]bool{
		"": false,
		"require " + runtimeModule + " v0.13.1\n":                                                              false,
		"require " + runtimeModule + " v0.14.0\n":                                                              true,
		"require " + runtimeModule + " v0.24.1\nreplace " + runtimeModule + " => ../mine\n":                    false,
		"require " + runtimeModule + " v0.8.3\nreplace " + runtimeModule + " => " + runtimeModule + " v0.14.7": true,
	} {
		_, overlay := project(t, map[string]string{"go.mod": module + requires, "c/c.go": "package c\n\nimport ctrl \"" + runtimeModule + "\"\n\nfunc f(b *ctrl.Builder) { b.For(nil) }\n"})
		if got := strings.Contains(overlay["internal/mysdkreporter/reporter.go"], "ReconcileIDFromContext"); got != want {
			t.Errorf("%q: reads the IDs of the log: %v", requires, got)
		}
	}
	if _, err := Overlay(disk{}, t.TempDir(), ".", Pod{}, nil); err == nil {
		t.Error("a project without go.mod: no error")
	}
}

// TestModuleAbove: a project may be part of the module of a directory further up.
func TestModuleAbove(t *testing.T) {
	dir, _ := project(t, map[string]string{
		"go.mod":                 module + "require " + runtimeModule + " v0.24.1\n",
		"vendor/modules.txt":     "",
		"operator/c/c.go":        "package c\n\nimport \"context\"\nimport ctrl \"" + runtimeModule + "\"\n\nfunc (r *R) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) { return x, nil }\n",
		"elsewhere/reconcile.go": "package elsewhere\n\nimport \"context\"\n\nfunc (r *R) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) { return x, nil }\n",
	})
	dir = filepath.Join(dir, "operator")
	overlay, err := Overlay(disk{}, dir, "./cmd", Pod{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(overlay) != 3 {
		t.Errorf("%d files, want the reporter, the main package's and c.go", len(overlay))
	}
	for _, name := range []string{"cmd/zz_mysdkreporter.go", "c/c.go"} {
		if text := string(overlay[filepath.Join(dir, filepath.FromSlash(name))]); !strings.Contains(text, `"example.com/shop/operator/internal/mysdkreporter"`) {
			t.Errorf("%s does not import the reporter:\n%s", name, text)
		}
	}
	reporter := string(overlay[filepath.Join(dir, "internal", "mysdkreporter", "reporter.go")])
	if !strings.Contains(reporter, `CutPrefix(f.File, "example.com/shop/operator/")`) {
		t.Error("the reporter looks for the project's lines elsewhere")
	}
	if strings.Contains(reporter, "ReconcileIDFromContext") {
		t.Error("the reporter uses a package that is not among the vendored ones")
	}
}

// TestReporter compiles what is laid over a project. client-go stands in for
// itself: the reporter needs three names of it.
func TestReporter(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	const rest = `package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

type AuthProvider interface {
	WrapTransport(http.RoundTripper) http.RoundTripper
	Login() error
}
type AuthProviderConfigPersister interface{ Persist(map[string]string) error }

var client http.RoundTripper

type printing struct{}

func (printing) RoundTrip(r *http.Request) (*http.Response, error) {
	frame, _, _ := strings.Cut(r.Header.Get("Mysdk-Frames"), "<")
	fmt.Println(r.URL.Path, r.Header.Get("Mysdk-Reconcile") != "", frame)
	return nil, nil
}

func RegisterAuthProviderPlugin(_ string, provider func(string, map[string]string, AuthProviderConfigPersister) (AuthProvider, error)) error {
	p, err := provider("", nil, nil)
	client = p.WrapTransport(printing{})
	return err
}

// Get prints the path of a request, and whether it is tied to a call.
func Get(ctx context.Context, path string) {
	r, _ := http.NewRequestWithContext(ctx, "GET", "https://x/"+path, nil)
	client.RoundTrip(r)
}
`
	const program = `package main

import (
	"context"
	"sync"

	"example.org/helper/pkg/helper"
	"k8s.io/client-go/rest"
)

type Request struct{ Namespace, Name string }
type Result struct{ RequeueAfter int64 }
type R struct{}

func (R) Reconcile(ctx context.Context, req Request) (Result, error) {
	var wait sync.WaitGroup
	wait.Go(func() { rest.Get(ctx, "elsewhere") })
	wait.Wait()
	wait.Go(func() { rest.Get(context.Background(), "untied") })
	wait.Wait()
	wait.Go(helper.Get)
	wait.Wait()
	inner{}.Reconcile(req)
	rest.Get(context.Background(), req.Name)
	return Result{5}, nil
}

type inner struct{}

func (inner) Reconcile(req Request) (Result, error) {
	rest.Get(context.TODO(), "inner")
	return Result{}, nil
}

func main() {
	if r, err := (R{}).Reconcile(context.Background(), Request{"default", "s"}); err != nil || r.RequeueAfter != 5 {
		panic("the result was changed")
	}
	rest.Get(context.Background(), "after")
}
`
	library := t.TempDir()
	for name, text := range map[string]string{
		"client-go/go.mod":       "module k8s.io/client-go\n\ngo 1.13\n",
		"client-go/rest/rest.go": rest,
		"go.mod":                 "module example.org/helper\n\ngo 1.13\n\nrequire k8s.io/client-go v0.0.0\n",
		"pkg/helper/helper.go":   "package helper\n\nimport (\n\t\"context\"\n\n\t\"k8s.io/client-go/rest\"\n)\n\nfunc Get() { rest.Get(context.TODO(), \"library\") }\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(library, name)), 0o755), os.WriteFile(filepath.Join(library, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	dir, overlay := project(t, map[string]string{
		"go.mod":      module + "\nrequire (\n\tk8s.io/client-go v0.0.0\n\texample.org/helper v0.0.0\n)\n\nreplace (\n\tk8s.io/client-go => " + library + "/client-go\n\texample.org/helper => " + library + "\n)\n",
		"cmd/main.go": program,
	})
	for name, text := range overlay {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "go", "run", "./cmd")
	c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", ProjectEnv+"="+dir)
	out, err := c.CombinedOutput()
	want := `/elsewhere true cmd/main.go:17
/untied false cmd/main.go:19
/library false example.org/helper/pkg/helper/helper.go:9
/inner true cmd/main.go:31
/s true cmd/main.go:24
/after false cmd/main.go:39
`
	if diff := cmp.Diff(want, string(out)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
