package localrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// TestRestart: a wish for a restart builds and starts the operator again without
// Watch, too, and what every start says is printed at the first one only.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	w.operator = func(ctx context.Context, p *process) {
		fmt.Fprint(p.cmd.Stderr, "2026-01-02T03:04:05Z\tINFO\tStarting Controller\t{}\n2026-01-02T03:04:05Z\tINFO\treconciled\n")
		<-ctx.Done()
		fmt.Fprint(p.cmd.Stderr, "2026-01-02T03:04:05Z\tINFO\tAll workers finished\t{}\n")
		p.ended <- nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	again := make(chan struct{})
	deps := w.deps()
	deps.Restart = again
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Options{Dir: w.Dir}, deps) }()
	w.shows(ctx, "type r and Enter to build and start the operator again")
	w.shows(ctx, "reconciled")
	w.fresh()
	again <- struct{}{}
	w.shows(ctx, "reloaded (0.0s): generated 0.0s, built 0.0s, restarted 0.0s\n")
	for strings.Count(w.err.String(), "reconciled") < 2 && ctx.Err() == nil {
		pause()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	w.ordered(t, "regenerate", "run operator", "stop cluster")
	if n := strings.Count(w.err.String(), "Starting Controller"); n != 1 {
		t.Errorf("a start is told of %d times:\n%s", n, w.err)
	}
	if n := strings.Count(w.err.String(), "All workers finished"); n != 0 {
		t.Errorf("a stop is told of %d times:\n%s", n, w.err)
	}
}

// TestCrash: an operator that is killed gets no time to stop, and runs again.
func TestCrash(t *testing.T) {
	w := newWorld(t)
	w.operator = func(ctx context.Context, p *process) {
		fmt.Fprint(p.cmd.Stderr, "reconciled\n")
		p.obey(ctx)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := make(chan struct{})
	deps := w.deps()
	deps.Crash = asked
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Options{Dir: w.Dir}, deps) }()
	w.shows(ctx, "reconciled")
	asked <- struct{}{}
	w.shows(ctx, "killing the operator")
	for strings.Count(w.err.String(), "reconciled") < 2 && ctx.Err() == nil {
		pause()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	w.ordered(t, "run operator", "operator killed", "operator interrupted")
}

// TestOwnProgram: what another run of the project builds does not become the
// operator of this one.
func TestOwnProgram(t *testing.T) {
	w := newWorld(t)
	w.reads = ""
	started := make(chan string)
	w.operator = func(ctx context.Context, p *process) {
		program, err := os.ReadFile(p.cmd.Name)
		if err != nil {
			t.Error(err)
		}
		started <- string(program)
		p.obey(ctx)
	}
	asked := make(chan struct{})
	deps := w.deps()
	deps.Crash = asked
	begin := func(want string) (end func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- Run(ctx, Options{Dir: w.Dir}, deps) }()
		if got := <-started; got != want {
			t.Errorf("the operator is of %s, want %s", got, want)
		}
		return func() {
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	}
	end := begin("build 1")
	begin("build 2")()
	asked <- struct{}{}
	if got := <-started; got != "build 1" {
		t.Errorf("after its crash the operator is of %s", got)
	}
	end()
	if left, err := filepath.Glob(filepath.Join(w.Env["MYSDK_CACHE_DIR"], "run", "*", programPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// TestRestartFails: where nothing would start the operator again, the run ends.
func TestRestartFails(t *testing.T) {
	w := newWorld(t)
	crash := make(chan error, 1)
	w.operator = func(ctx context.Context, p *process) {
		<-ctx.Done()
		crash <- nil
		p.ended <- nil
	}
	again := make(chan struct{})
	deps := w.deps()
	deps.Restart = again
	done := make(chan error, 1)
	go func() { done <- Run(t.Context(), Options{Dir: w.Dir}, deps) }()
	w.shows(t.Context(), "operator started")
	w.mu.Lock()
	w.operator = func(_ context.Context, p *process) { p.ended <- exited(3) }
	w.mu.Unlock()
	again <- struct{}{}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "exit code 3") {
		t.Errorf("error: %v", err)
	}
}

func TestRoutine(t *testing.T) {
	for line, want := range map[string]bool{
		"2026-01-02T03:04:05Z\tINFO\tStarting EventSource\t{}":                                  true,
		"2026-01-02T03:04:05Z\tINFO\tsetup\tStarting the manager":                               true,
		"2026-01-02T03:04:05Z\tINFO\tcontroller-runtime.metrics\tServing metrics server":        true,
		`{"level":"info","ts":"x","logger":"setup","msg":"Starting workers","worker count":1}`:  true,
		`{"level":"error","ts":"x","msg":"Starting workers"}`:                                   false,
		`time=x level=INFO msg="Stopping and waiting for caches"`:                               true,
		`I0102 03:04:05.678901       1 controller.go:186] "Starting Controller" controller="x"`: true,
		"2026-01-02T03:04:05Z\tERROR\tsetup\tStarting the manager":                              false,
		"2026-01-02T03:04:05Z\tINFO\tI am Starting workers of my own":                           false,
		"Starting workers": false,
	} {
		if got := routine.MatchString(line); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// lost runs the go command, and, once the operator's program is gone, nothing else.
type lost struct {
	execFake
	gone atomic.Bool
}

func (x *lost) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	if filepath.Base(c.Name) != "go" && x.gone.Load() {
		return nil, errors.New("no such program")
	}
	return x.execFake.Start(ctx, c)
}

// TestCrashFails: an operator that cannot be started again after a crash is waited for,
// as after any other change, and what has been lost is a moment.
func TestCrashFails(t *testing.T) {
	w := newWorld(t)
	x := &lost{execFake: execFake{w}}
	w.Exec = x
	w.operator = func(ctx context.Context, p *process) {
		fmt.Fprint(p.cmd.Stderr, "reconciled\n")
		p.obey(ctx)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := make(chan struct{})
	deps := w.deps()
	deps.Crash = asked
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Options{Dir: w.Dir, Watch: true}, deps) }()
	w.shows(ctx, "reconciled")
	x.gone.Store(true)
	asked <- struct{}{}
	w.shows(ctx, "waiting for the next change")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	if want := "error: run the operator: no such program\nwaiting for the next change (0.0s)\n"; !strings.Contains(w.err.String(), want) {
		t.Errorf("printed:\n%s", w.err)
	}
}

// TestReloadCrashWebhooks: an operator that has ended leaves no webhook that
// refuses everything; the next one brings it back.
func TestReloadCrashWebhooks(t *testing.T) {
	w := webhookWorld(t)
	crash, serving := make(chan error), w.operator
	w.operator = func(ctx context.Context, p *process) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			select {
			case err := <-crash:
				p.ended <- err
			case <-ctx.Done():
			}
		}()
		serving(ctx, p)
	}
	r := startReloading(t, w, Options{})
	r.sees("webhooks on")
	crash <- exited(3)
	r.sees("webhooks: " + hookKey + " deleted")
	r.sees("waiting for the next change")
	if w.object(hookKey) != nil || !strings.Contains(fmt.Sprint(w.object(crdKey).Object), "127.0.0.1") {
		t.Error("the wrong one was taken away")
	}
	w.write(t, "cmd/main.go", webhookMain+"// mended\n")
	r.sees("webhooks on")
	if w.object(hookKey) == nil {
		t.Error("it did not come back")
	}
}

// TestReloadHalfEdited: while config/default cannot be built, the webhooks that are
// known only from there stay in the cluster, through restarts too.
func TestReloadHalfEdited(t *testing.T) {
	w := webhookWorld(t)
	r := startReloading(t, w, Options{})
	r.sees("webhooks on")
	base := baseOf(t, w.object(hookKey))
	hooks := w.webhooks
	half := func(hooks []*unstructured.Unstructured, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.webhooks, w.roleErr = hooks, err
	}
	half(nil, errors.New("half edited"))
	w.write(t, "config/a.yaml", "a: 1\n")
	r.sees("warning: the webhooks stay as they were: half edited\n")
	r.sees("reloaded")
	w.write(t, "cmd/main.go", webhookMain+"// still\n")
	r.sees("changed: ")
	r.shows(t.Context(), "reloaded")
	if u := w.object(hookKey); u == nil || baseOf(t, u) != base || strings.Contains(r.err.String(), "stay as they were") {
		t.Errorf("the configuration is %v:\n%s", u, r.err)
	}
	r.sees("reloaded")
	half(hooks, nil)
	w.write(t, "config/a.yaml", "a: 2\n")
	r.sees("changed: ")
	r.sees("reloaded")
	half(nil, nil)
	w.write(t, "config/a.yaml", "a: 3\n")
	r.sees("webhooks: " + hookKey + " deleted")
}

// TestReloadSample: a sample that changed is applied again, alone, wherever in
// the project it is, and nothing is built for it.
func TestReloadSample(t *testing.T) {
	w := newWorld(t)
	w.write(t, "demo/a.yaml", sample)
	w.write(t, "demo/b.yaml", strings.Replace(sample, "sample", "other, namespace: elsewhere", 1))
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := os.WriteFile(pipe, []byte(strings.Replace(sample, "sample", "piped", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startReloading(t, w, Options{Apply: []string{"demo", pipe}, WatchNamespaces: []string{"default"}})
	r.sees("applied demo (0.0s): Memcached sample created, Memcached elsewhere/other created\n" +
		"warning: Memcached elsewhere/other is in namespace elsewhere, which the operator does not watch: it watches default\n")
	r.sees("Memcached piped created\n")
	w.fresh()
	remove(t, pipe) // read once
	w.write(t, "demo/a.yaml", sample+"spec: {size: 2}\n")
	r.sees("changed: demo/a.yaml\n")
	r.sees("applied demo (0.0s): Memcached sample created\n")
	if w.happened("build") || w.happened("run operator") {
		t.Errorf("events: %q", w.listed())
	}
	w.write(t, "demo/a.yaml", "not: [an, object")
	r.sees("error: --apply: ")
	r.sees("the previous operator keeps running")
}

// TestReloadDeleted: a CRD that was deleted comes back with the next change, and what
// --apply named of its kind.
func TestReloadDeleted(t *testing.T) {
	w := newWorld(t)
	w.write(t, "demo/a.yaml", sample)
	w.crds = objects(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: memcacheds.cache.example.com}
spec: {group: cache.example.com, names: {kind: Memcached, plural: memcacheds}, versions: [{name: v1, served: true, storage: true}]}
`)
	r := startReloading(t, w, Options{Apply: []string{"demo"}})
	r.sees("applied demo")
	w.fresh()
	w.mu.Lock()
	delete(w.store, crdKey)
	w.mu.Unlock()
	w.write(t, "cmd/extra.go", "package main\n")
	r.sees("applied demo (0.0s): Memcached sample created\n")
	w.ordered(t, "apply CustomResourceDefinition", "run operator", "apply Memcached")
}

// TestLookElsewhere: objects that somebody else creates where the operator does
// not look are told of, once each, in the embedded cluster.
func TestLookElsewhere(t *testing.T) {
	w := newWorld(t)
	w.crds = objects(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: memcacheds.cache.example.com}
spec:
  group: cache.example.com
  names: {kind: Memcached, plural: memcacheds}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true}]
`)
	for _, namespace := range []string{"default", "elsewhere"} {
		for _, u := range objects(t, strings.Replace(sample, "sample", "sample, namespace: "+namespace, 1)) {
			w.put(u)
		}
	}
	r := startReloading(t, w, Options{WatchNamespaces: []string{"default"}})
	r.sees("warning: Memcached elsewhere/sample is in namespace elsewhere, which the operator does not watch: it watches default\n")
	r.end()
	if strings.Contains(w.err.String(), "Memcached default/sample is in") {
		t.Errorf("what it watches is told of, too:\n%s", w.err)
	}
}

// TestNamespacesNotRead: an operator that never asks which namespaces to watch is told
// of, and does not run in a cluster other than the embedded one.
func TestNamespacesNotRead(t *testing.T) {
	w := newWorld(t)
	w.reads = ""
	w.write(t, "demo/b.yaml", strings.Replace(sample, "sample", "other, namespace: elsewhere", 1))
	r := startReloading(t, w, Options{Apply: []string{"demo"}, WatchNamespaces: []string{"default"}})
	r.sees("warning: the operator never reads WATCH_NAMESPACE, and so is not limited to default: read the variable in ./cmd")
	r.sees("Memcached elsewhere/other created\n")
	r.end()
	if strings.Contains(w.err.String(), "does not watch") {
		t.Errorf("it watches all namespaces:\n%s", w.err)
	}
	w = newWorld(t)
	w.reads = ""
	err := Run(t.Context(), Options{Dir: w.Dir, Context: "kind-dev", WatchNamespaces: []string{"default"}}, w.deps())
	if err == nil || !strings.Contains(err.Error(), "never reads WATCH_NAMESPACE") || !strings.Contains(clierr.HintOf(err), "with --watch-namespace=") {
		t.Errorf("error: %v, hint: %s", err, clierr.HintOf(err))
	}
	if w.happened("run operator") {
		t.Errorf("events: %q", w.events)
	}
}

// TestContains: a text is found wherever it is in a file, also across the parts that are
// read at once.
func TestContains(t *testing.T) {
	const part = 1 << 20
	for at, want := range map[int]bool{0: true, part - 2: true, part: true, 2*part - 1: true, -1: false} {
		data := bytes.Repeat([]byte("x"), 2*part+9)
		if want {
			copy(data[at:], "TEXT")
		}
		name := filepath.Join(t.TempDir(), "operator")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := contains(name, []byte("TEXT")); got != want || err != nil {
			t.Errorf("at %d: %v, %v", at, got, err)
		}
	}
	if _, err := contains(filepath.Join(t.TempDir(), "none"), []byte("TEXT")); err == nil {
		t.Error("no error for a file that is not there")
	}
}

// TestDeployedBeside: a deployed copy of the operator is warned of while it has
// pods.
func TestDeployedBeside(t *testing.T) {
	for replicas, warned := range map[int]bool{0: false, 1: true} {
		w := newWorld(t)
		for _, u := range objects(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-controller-manager, namespace: shop-system}
spec: {replicas: %d}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other-controller-manager, namespace: other-system}
spec: {replicas: 1}
`, replicas)) {
			w.put(u)
		}
		ctx := cancelOn(t, w, "run operator")
		err := Run(ctx, Options{Dir: w.Dir, Deployment: "shop-controller-manager"}, w.deps())
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		lines := strings.Split(w.err.String(), "\n")
		got := slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "warning: Deployment shop-system/shop-controller-manager in this cluster runs the same operator")
		})
		if got != warned || strings.Contains(w.err.String(), "other-controller-manager") {
			t.Errorf("%d replicas:\n%s", replicas, w.err)
		}
	}
}
