package cmd_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// stamping is a controller that writes into each object which build of it was
// there last.
const stamping = `package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/shop/api/v1alpha1"
)

const build = "BUILD"

type MemcachedReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

func (r *MemcachedReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &v1alpha1.Memcached{}
	if err := r.Get(ctx, req.NamespacedName, m); err != nil || m.Annotations["build"] == build {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	old := m.DeepCopy()
	m.SetAnnotations(map[string]string{"build": build})
	return ctrl.Result{}, r.Patch(ctx, m, client.MergeFrom(old))
}

func (r *MemcachedReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Memcached{}).Complete(r)
}
`

// output is a stream that is read while it is written.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// watchRun is a 'run local --watch' of a scaffolded project on a cluster of the
// test's own.
type watchRun struct {
	t      testing.TB
	h      host.Host
	err    *output
	client *kube.Client
	object *unstructured.Unstructured
}

// startWatch scaffolds a project with the stamping controller, and waits until
// its first build has stamped an object.
func startWatch(t testing.TB) *watchRun {
	t.Helper()
	r := &watchRun{t: t, h: kubetest.World(t), err: &output{}}
	kubeconfig := kubetest.StartIn(t, r.h)
	r.h.IO = host.Streams{In: strings.NewReader(""), Out: &output{}, Err: r.err}
	r.h.Now = time.Now
	for _, args := range [][]string{
		{"init", "--domain", "example.com", "--repo", "example.com/shop", "--project-name", "shop"},
		{"create", "api", "--group", "cache", "--kind", "Memcached", "--pattern", "blank"},
	} {
		if code := root.Main(t.Context(), r.h, args); code != 0 {
			t.Fatalf("mysdk %v: exit code %d\n%s", args, code, r.err)
		}
	}
	r.save("one")
	r.write("sample.yaml", "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: sample, namespace: default}\nspec: {}\n")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		// The context is the one of --kubeconfig's file, an embedded cluster.
		ended <- root.Main(ctx, r.h, []string{"run", "local", "--watch", "--kubeconfig", kubeconfig, "--apply", "sample.yaml"})
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != clierr.CodeInterrupted {
			t.Errorf("exit code %d\n%s", code, r.err)
		}
	})
	objs, err := kube.ParseManifests([]byte("apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: sample, namespace: default}\n"), "sample")
	if err != nil {
		t.Fatal(err)
	}
	r.object = objs[0]
	if r.client, err = kube.Connect(t.Context(), kube.Options{Kubeconfig: kubeconfig, Host: r.h}); err != nil {
		t.Fatal(err)
	}
	r.shows("applied sample.yaml")
	r.reconciledBy("one")
	return r
}

func (r *watchRun) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.h.Dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// save writes the controller of that build.
func (r *watchRun) save(build string) {
	r.t.Helper()
	r.write("internal/controller/memcached_controller.go", strings.Replace(stamping, "BUILD", build, 1))
}

// shows waits for a text on stderr.
func (r *watchRun) shows(text string) {
	r.t.Helper()
	for !strings.Contains(r.err.String(), text) {
		r.pause(text)
	}
}

func (r *watchRun) pause(what string) {
	r.t.Helper()
	select {
	case <-r.t.Context().Done():
		r.t.Fatalf("%s did not come:\n%s", what, r.err)
	case <-time.After(50 * time.Millisecond):
	}
}

// stamp is the build that has stamped the object.
func (r *watchRun) stamp() string {
	r.t.Helper()
	live, err := r.client.Read(r.t.Context(), r.object)
	if err != nil || live == nil {
		r.t.Fatalf("read the object: %v, %v\n%s", live, err, r.err)
	}
	return live.GetAnnotations()["build"]
}

func (r *watchRun) reconciledBy(build string) {
	r.t.Helper()
	for r.stamp() != build {
		r.pause("build " + build)
	}
}

// TestWatch edits a project while its operator runs.
func TestWatch(t *testing.T) {
	t.Parallel()
	r := startWatch(t)
	t.Run("edits", func(t *testing.T) { r.t = t; r.edits(t) })
	t.Run("types", func(t *testing.T) { r.t = t; r.types(t) })
}

// edits are made in a row, each of which must be what reconciles afterwards, and
// broken ones between them, which must change nothing.
func (r *watchRun) edits(t *testing.T) {
	edits := 1
	if hosttest.Nightly() {
		edits = 20
	}
	for i := range edits {
		build := fmt.Sprintf("edit-%d", i)
		r.save(build)
		r.reconciledBy(build)
		if i%10 != 0 {
			continue
		}
		before := strings.Count(r.err.String(), "the previous operator keeps running")
		r.write("internal/controller/memcached_controller.go", strings.Replace(stamping, `"BUILD"`, "undefinedName", 1))
		for strings.Count(r.err.String(), "the previous operator keeps running") == before {
			r.pause("the compiler's message")
		}
		if !strings.Contains(r.err.String(), "internal/controller/memcached_controller.go:13:15: undefined: undefinedName") {
			t.Errorf("the compiler's message is missing:\n%s", r.err)
		}
		if err := r.client.Edit(t.Context(), r.object, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			live.SetAnnotations(nil)
			return live, nil
		}); err != nil {
			t.Fatal(err)
		}
		r.reconciledBy(build) // by the operator that still runs
	}
	if n := strings.Count(r.err.String(), "operator ended"); n > 0 {
		t.Errorf("%d operators ended by themselves:\n%s", n, r.err)
	}
}

// types: a new field is in the CRD, and in what the operator sees.
func (r *watchRun) types(t *testing.T) {
	types, err := os.ReadFile(filepath.Join(r.h.Dir, "api/v1alpha1/memcached_types.go"))
	if err != nil {
		t.Fatal(err)
	}
	r.write("api/v1alpha1/memcached_types.go", strings.Replace(string(types), "type MemcachedSpec struct {",
		"type MemcachedSpec struct {\n\t// sizes of things\n\t// +optional\n\tSizes map[string]int32 `json:\"sizes,omitempty\"`\n", 1))
	r.write("internal/controller/memcached_controller.go", strings.NewReplacer(
		"BUILD", "sizes", "m.SetAnnotations(map[string]string{\"build\": build})",
		"m.SetAnnotations(map[string]string{\"build\": build})\n\tm.DeepCopy().Spec.Sizes[\"a\"]++ // the copy is generated again").Replace(stamping))
	r.shows("CRDs applied")
	for {
		err := r.client.Edit(t.Context(), r.object, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return live, unstructured.SetNestedField(live.Object, map[string]any{"a": int64(3)}, "spec", "sizes")
		})
		if err != nil {
			t.Fatal(err)
		}
		live, err := r.client.Read(t.Context(), r.object)
		if err != nil {
			t.Fatal(err)
		}
		// Until the new CRD is served the API server drops the field.
		if _, ok, _ := unstructured.NestedMap(live.Object, "spec", "sizes"); ok {
			break
		}
		r.pause("the new field")
	}
	r.reconciledBy("sizes")
	copied, err := os.ReadFile(filepath.Join(r.h.Dir, "api/v1alpha1/zz_generated.deepcopy.go"))
	if err != nil || !strings.Contains(string(copied), "Sizes") {
		t.Errorf("the deep copy does not know the field: %v", err)
	}
}

// BenchmarkReload measures from save to the new operator's first write, and
// what of it the go command took.
func BenchmarkReload(b *testing.B) {
	r := startWatch(b)
	built := regexp.MustCompile(`reloaded \(.*built ([0-9.]+)s`)
	var whole, compiling float64
	n := 0
	for b.Loop() {
		build := fmt.Sprintf("bench-%d", n)
		n++
		from := r.h.Now()
		r.save(build)
		r.reconciledBy(build)
		whole += r.h.Now().Sub(from).Seconds()
		for len(built.FindAllString(r.err.String(), -1)) < n {
			r.pause("the report")
		}
		found := built.FindAllStringSubmatch(r.err.String(), -1)
		s, err := strconv.ParseFloat(found[n-1][1], 64)
		if err != nil {
			b.Fatal(err)
		}
		compiling += s
	}
	b.ReportMetric(whole/float64(n), "s/reload")
	b.ReportMetric(compiling/float64(n), "s/build")
	b.ReportMetric((whole-compiling)/float64(n), "s/rest")
}
