package localrun

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/mainpkg"
)

// reloading is a fake run under Watch.
type reloading struct {
	*world
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// startReloading starts a run and waits until its operator runs.
func startReloading(t *testing.T, w *world, o Options) *reloading {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &reloading{world: w, t: t, stop: cancel, done: make(chan error, 1)}
	o.Dir, o.Watch = w.Dir, true
	go func() { r.done <- Run(ctx, o, w.deps()) }()
	t.Cleanup(r.end)
	return r
}

// end stops the run, which must be clean.
func (r *reloading) end() {
	if r.stop == nil {
		return
	}
	r.stop()
	r.stop = nil
	if err := <-r.done; !errors.Is(err, context.Canceled) {
		r.t.Errorf("the end: %v\n%s", err, r.err)
	}
}

// sees waits for a text on stderr, and forgets what came before it.
func (r *reloading) sees(text string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	r.shows(ctx, text)
	if ctx.Err() != nil {
		r.t.Fatalf("%q did not come:\n%s", text, r.err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err.after(text)
}

// fresh forgets the events so far.
func (w *world) fresh() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = nil
}

func (w *world) listed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

func TestReload(t *testing.T) {
	w := newWorld(t)
	r := startReloading(t, w, Options{})
	r.sees("operator started")
	w.fresh()
	w.write(t, "cmd/main.go", "package main\n\nfunc main() { println() }\n")
	r.sees("changed: cmd/main.go\n")
	r.sees("reloaded (0.0s): generated 0.0s, built 0.0s, restarted 0.0s\n")
	w.ordered(t, "build", "built", "operator interrupted", "run operator")
	w.ordered(t, "regenerate", "run operator")
	w.fresh()
	w.write(t, "cmd/main.go", "package main // again\n")
	r.sees("changed: cmd/main.go\nreloaded")
	if strings.Contains(r.err.String(), "ended") {
		t.Errorf("an operator that was replaced is told of:\n%s", r.err)
	}
	if w.happened("apply") {
		t.Errorf("CRDs that did not change were applied: %q", w.listed())
	}
	r.end()
	w.ordered(t, "built", "operator interrupted", "run operator", "stop cluster")
}

// TestReloadManifest: what is only applied needs no build and no restart.
func TestReloadManifest(t *testing.T) {
	w := newWorld(t)
	w.write(t, "config/crd/kustomization.yaml", "a: 1\n")
	r := startReloading(t, w, Options{})
	r.sees("operator started")
	w.write(t, "cmd/main.go", "package main // code before it\n")
	r.sees("reloaded")
	w.fresh()
	w.setCRDs(t, "v2")
	w.write(t, "config/crd/kustomization.yaml", "a: 2\n")
	r.sees("CRDs applied")
	r.sees("reloaded (0.0s): generated 0.0s, CRDs applied 0.0s\n")
	if w.happened("build") || w.happened("run operator") {
		t.Errorf("events: %q", w.listed())
	}
	w.ordered(t, "regenerate", "apply CustomResourceDefinition", "established")
}

// setCRDs changes what Render returns.
func (w *world) setCRDs(t *testing.T, label string) {
	t.Helper()
	crds := objects(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: memcacheds.cache.example.com, labels: {x: "+label+"}}\n")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.crds = crds
}

// TestReloadTypes: generators that write Go code have it in the build, and the
// CRDs are there before the operator that knows them.
func TestReloadTypes(t *testing.T) {
	w := newWorld(t)
	w.write(t, "api/v1/types.go", "package v1\n")
	r := startReloading(t, w, Options{})
	r.sees("operator started")
	w.fresh()
	w.mu.Lock()
	w.generated = func() ([]string, error) {
		w.write(t, "api/v1/zz_generated.deepcopy.go", "package v1\n")
		w.event("generated")
		return []string{"api/v1/zz_generated.deepcopy.go", "config/crd/bases/x.yaml"}, nil
	}
	w.mu.Unlock()
	w.setCRDs(t, "v2")
	w.write(t, "api/v1/types.go", "package v1 // 2\n")
	r.sees("reloaded")
	w.ordered(t, "generated", "apply CustomResourceDefinition", "established", "operator interrupted", "run operator")
	events := w.listed()
	last := len(events) - 1 - slices.Index(reversed(events), "build")
	if last < slices.Index(events, "generated") {
		t.Errorf("the build did not start again: %q", events)
	}
	r.end()
	if n := strings.Count(r.err.String(), "changed:"); n > 0 {
		t.Errorf("generated files counted as changes:\n%s", r.err)
	}
}

// TestInvalidObjects: the operator's log does not say which objects its types do not fit.
func TestInvalidObjects(t *testing.T) {
	w := newWorld(t)
	w.invalid = []string{"Memcached default/a: spec.size: must be a string", "Memcached default/b: spec.size: must be a string", "c", "d"}
	w.setCRDs(t, "v2")
	r := startReloading(t, w, Options{})
	r.sees("warning: the CRD no longer allows Memcached default/a: spec.size: must be a string")
	r.sees("warning: and 1 more")
	r.end()
}

func reversed(list []string) []string {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// TestReloadBroken: what cannot be built, generated or applied leaves the
// operator and the cluster as they are, and the next save is another chance.
func TestReloadBroken(t *testing.T) {
	boom := clierr.Failedf("mend it and run the command again", "boom")
	broken := func(out io.Writer) error {
		fmt.Fprint(out, "# shop/cmd\ncmd/main.go:3:1: undefined: x\n")
		return exited(1)
	}
	tests := map[string]struct {
		set  func(*world)
		want []string
	}{
		"build": {func(w *world) { w.build = broken }, []string{"cmd/main.go:3:1: undefined: x\n", "go build ./cmd: 1 error\n", "saving is enough"}},
		"generators": {func(w *world) { w.generated = func() ([]string, error) { return nil, boom } },
			[]string{"error: boom\n", "hint:  mend it; saving is enough\n"}},
		"both": {func(w *world) { w.build, w.generated = broken, func() ([]string, error) { return nil, boom } },
			[]string{"undefined: x\n", "go build ./cmd: 1 error\n"}},
		"manifests": {func(w *world) { w.renderErr = boom }, []string{"error: render the CRDs: boom\n"}},
		"CRDs":      {func(w *world) { w.applyErr[crdKind] = boom }, []string{"error: boom\n"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := startReloading(t, w, Options{})
			r.sees("operator started")
			w.fresh()
			w.setCRDs(t, "v2")
			w.mu.Lock()
			tc.set(w)
			w.mu.Unlock()
			w.write(t, "cmd/main.go", "package main // broken\n")
			for _, want := range tc.want {
				r.sees(want)
			}
			r.sees("the previous operator keeps running")
			if w.happened("operator interrupted") || w.happened("run operator") {
				t.Errorf("events: %q", w.listed())
			}
			if w.happened("apply") != (name == "CRDs") {
				t.Errorf("the cluster was changed: %q", w.listed())
			}
			w.fresh()
			w.mu.Lock()
			w.build, w.generated, w.renderErr = nil, nil, nil
			clear(w.applyErr)
			w.mu.Unlock()
			w.write(t, "cmd/main.go", "package main // mended\n")
			r.sees("reloaded")
			w.ordered(t, "built", "apply CustomResourceDefinition", "operator interrupted", "run operator")
		})
	}
}

// TestReloadStale: a manifest saved after code that did not compile must not
// bring the old code as if it were the new.
func TestReloadStale(t *testing.T) {
	w := newWorld(t)
	w.write(t, "config/a.yaml", "a: 1\n")
	r := startReloading(t, w, Options{})
	r.sees("operator started")
	w.setBuild(func(io.Writer) error { return exited(1) })
	w.write(t, "cmd/main.go", "package main // broken\n")
	r.sees("keeps running")
	w.fresh()
	w.setBuild(nil)
	w.write(t, "config/a.yaml", "a: 2\n")
	r.sees("reloaded")
	w.ordered(t, "build", "operator interrupted", "run operator")
}

func (w *world) setBuild(f func(io.Writer) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.build = f
}

// TestReloadDuringBuild: a change during a build starts another one after it,
// and what comes out is the newest.
func TestReloadDuringBuild(t *testing.T) {
	w := newWorld(t)
	w.Files = filesFake{w.Files, w}
	r := startReloading(t, w, Options{})
	r.sees("operator started")
	w.fresh()
	begun, first := make(chan bool), make(chan bool)
	w.setBuild(func(io.Writer) error { close(begun); <-first; return nil })
	w.write(t, "cmd/main.go", "package main // 1\n")
	r.sees("changed: cmd/main.go")
	<-begun
	w.setBuild(nil)
	w.write(t, "cmd/main.go", "package main // 2\n")
	// The build ends when the watcher has seen the file, and nobody asks for
	// changes before its look is over.
	w.awaits("read package main // 2\n")
	close(first)
	r.sees("changed again meanwhile")
	r.sees("reloaded")
	if events := w.listed(); countOf(events, "build") != 2 || countOf(events, "run operator") != 1 {
		t.Errorf("%d builds, %d operators: %q", countOf(events, "build"), countOf(events, "run operator"), events)
	}
	w.ordered(t, "build", "built", "operator interrupted", "run operator")
}

// awaits waits for an event.
func (w *world) awaits(event string) {
	for !w.happened(event) {
		pause()
	}
}

func countOf(list []string, what string) int {
	n := 0
	for _, e := range list {
		if e == what {
			n++
		}
	}
	return n
}

// TestReloadCrash: an operator that ends by itself is told of, and the next
// change starts it again, whatever changed.
func TestReloadCrash(t *testing.T) {
	w := newWorld(t)
	w.write(t, "config/a.yaml", "a: 1\n")
	crash := make(chan error)
	w.operator = func(ctx context.Context, p *process) {
		select {
		case err := <-crash:
			fmt.Fprintln(p.cmd.Stderr, "cannot go on")
			p.ended <- err
		case <-ctx.Done():
			p.ended <- nil
		}
	}
	r := startReloading(t, w, Options{})
	r.sees("operator started")
	crash <- exited(3)
	r.sees("exit code 3; its last lines:\n  cannot go on\n")
	r.sees("waiting for the next change")
	w.fresh()
	w.write(t, "config/a.yaml", "a: 2\n")
	r.sees("reloaded")
	w.ordered(t, "regenerate", "run operator")
	crash <- nil
	r.sees("operator ended by itself")
}

// TestReloadFirstBuild: a project that does not compile at the start is waited
// for, and --apply with it. Meanwhile no conversion calls an operator that is not there.
func TestReloadFirstBuild(t *testing.T) {
	w := webhookWorld(t)
	before := w.object(crdKey)
	w.write(t, "sample.yaml", sample)
	w.build = func(io.Writer) error { return exited(1) }
	r := startReloading(t, w, Options{Apply: []string{"sample.yaml"}})
	r.sees("waiting for the next change")
	if w.happened("run operator") || w.happened("apply Memcached") {
		t.Errorf("events: %q", w.listed())
	}
	if diff := cmp.Diff(before, w.object(crdKey)); diff != "" {
		t.Errorf("the CRD (-before +after):\n%s", diff)
	}
	w.setBuild(nil)
	w.write(t, "cmd/main.go", webhookMain+"// mended\n")
	r.sees(": conversion of memcacheds.cache.example.com, " + hookKey + "\n")
	r.sees("applied sample.yaml")
	if !calls(w.object(crdKey), baseOf(t, w.object(hookKey))) {
		t.Error("the conversion is off")
	}
	w.fresh()
	w.write(t, "cmd/main.go", webhookMain+"// again\n")
	r.sees("changed: ") // what applied the sample may still say "reloaded"
	r.sees("reloaded")
	r.end()
	if w.happened("apply Memcached") {
		t.Error("--apply was applied at each reload")
	}
}

// TestReloadWebhooks: they come with the code that brings them, stay while it
// restarts, and go when it drops them.
func TestReloadWebhooks(t *testing.T) {
	w := webhookWorld(t)
	hooks, crds := w.webhooks, w.crds
	w.webhooks, w.crds = nil, nil
	serving := w.operator
	w.operator = func(ctx context.Context, p *process) {
		if given(p.cmd.Args, "webhook-port") {
			serving(ctx, p)
			return
		}
		p.obey(ctx)
	}
	r := startReloading(t, w, Options{})
	r.sees("operator started")
	render := func(text string) {
		w.write(t, "cmd/main.go", webhookMain+"// "+text+"\n")
	}
	w.mu.Lock()
	w.webhooks, w.crds = hooks, crds
	w.mu.Unlock()
	render("with webhooks")
	r.sees("webhooks on")
	base := baseOf(t, w.object(hookKey))
	w.fresh()
	// A request that comes while the operator restarts is answered by the new
	// one, which takes its time.
	late := make(chan bool)
	w.mu.Lock()
	w.operator = func(ctx context.Context, p *process) { <-late; serving(ctx, p) }
	w.mu.Unlock()
	render("again")
	r.sees("changed: ") // what turned the webhooks on may still say "reloaded"
	r.sees("reloaded")
	answer := make(chan int)
	go func() { answer <- w.ask(t, base) }()
	select {
	case code := <-answer:
		t.Fatalf("a request during the restart was answered with %d:\n%s", code, w.err)
	case <-time.After(10 * quiet):
	}
	close(late)
	if code := <-answer; code != http.StatusNotFound { // what the fake operator says to everything
		t.Errorf("the request ended with %d", code)
	}
	if w.happened("edit") || w.happened("delete") || baseOf(t, w.object(hookKey)) != base {
		t.Errorf("a restart changed the cluster: %q", w.listed())
	}
	w.mu.Lock()
	w.webhooks = nil
	w.mu.Unlock()
	render("without admission")
	r.sees("webhooks: " + hookKey + " deleted")
	r.sees("reloaded")
	if w.object(hookKey) != nil || !calls(w.object(crdKey), base) {
		t.Error("the wrong one was taken away")
	}
	r.end()
	if calls(w.object(crdKey), base) || len(w.journalFiles(t)) > 0 {
		t.Error("not restored at the end")
	}
}

// ask sends a request to the proxy as the API server would, and returns the
// code of the answer.
func (w *world) ask(t *testing.T, base string) int {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	resp, err := (&http.Client{Transport: transport}).Get(base + "/validate")
	if err != nil {
		t.Error(err)
		return 0
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

// TestReloadInterrupted: Ctrl-C at any step of a reload is a clean stop.
func TestReloadInterrupted(t *testing.T) {
	for _, step := range []string{"regenerate", "build", "built", "apply Custom", "operator interrupted", "run operator"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			r := startReloading(t, w, Options{})
			r.sees("operator started")
			w.fresh()
			w.setCRDs(t, "v2")
			w.mu.Lock()
			stop := r.stop
			w.onEvent = func(e string) {
				if strings.HasPrefix(e, step) {
					stop()
				}
			}
			w.mu.Unlock()
			w.write(t, "cmd/main.go", "package main // 1\n")
			if err := <-r.done; !errors.Is(err, context.Canceled) {
				t.Errorf("error: %v", err)
			}
			r.stop = nil
			events := w.listed()
			if countOf(events, "run operator") > countOf(events, "operator interrupted") {
				t.Errorf("an operator was left running: %q", events)
			}
			if !w.happened("stop cluster") {
				t.Errorf("the cluster was left running: %q", events)
			}
		})
	}
}

func TestShorten(t *testing.T) {
	for want, names := range map[string][]string{
		"a": {"a"}, "a, b, c, d": {"a", "b", "c", "d"}, "a, b, c and 2 more": {"a", "b", "c", "d", "e"},
	} {
		if got := shorten(names); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBuildEnv(t *testing.T) {
	w := newWorld(t)
	if !slices.Contains(mainpkg.BuildEnv(w.Host), "CGO_ENABLED=0") {
		t.Error("cgo is on")
	}
	w.Env["CGO_ENABLED"] = "1"
	if diff := cmp.Diff(w.Environ(), mainpkg.BuildEnv(w.Host)); diff != "" {
		t.Errorf("the user's choice (-want +got):\n%s", diff)
	}
}
