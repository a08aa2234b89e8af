package localrun

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

const webhookMain = `package main

import (
	"flag"
	"os"
)

func main() {
	flag.String("webhook-cert-path", "", "")
	flag.Int("webhook-port", 9443, "")
	_ = os.Getenv("ENABLE_WEBHOOKS")
}
`

// webhookWorld is a project with admission and conversion webhooks, whose fake
// operator serves them.
func webhookWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	now := time.Now() // certificates are checked against the real clock
	w.Now = func() time.Time { return now }
	w.write(t, "cmd/main.go", webhookMain)
	w.crds, w.webhooks = objects(t, convertedYAML), objects(t, hookYAML)
	w.put(objects(t, strings.Split(convertedYAML, "  conversion:")[0]+"  conversion: {strategy: None}\n")[0])
	w.operator = func(ctx context.Context, p *process) {
		s := w.serve(t, p.cmd.Args)
		p.obey(ctx)
		s()
	}
	return w
}

// serve is the operator's webhook server, as its flags want it.
func (w *world) serve(t *testing.T, args []string) (stop func()) {
	dir, _ := valueOf(args, "webhook-cert-path")
	port, _ := valueOf(args, "webhook-port")
	cert, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	if err != nil {
		t.Error(err)
		return func() {}
	}
	key, err := os.ReadFile(filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Error(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Error(err)
		return func() {}
	}
	stop = serveTLS(t, l, cert, key)
	w.event("operator serves webhooks")
	return stop
}

func (w *world) object(kindAndName string) *unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.store[kindAndName]
}

// journalFiles are what is left of journals on disk.
func (w *world) journalFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.Env["MYSDK_STATE_DIR"], "run-local", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const (
	hookKey = "ValidatingWebhookConfiguration shop-validating"
	crdKey  = "CustomResourceDefinition memcacheds.cache.example.com"
)

// TestRunWebhooks: the order of it all, and nothing left behind.
func TestRunWebhooks(t *testing.T) {
	w := webhookWorld(t)
	w.write(t, "sample.yaml", sample)
	before := w.object(crdKey).DeepCopy()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.onEvent = func(e string) {
		switch {
		case e == "edit "+hookKey:
			if files := w.journalFiles(t); len(files) != 1 {
				t.Errorf("the cluster was changed without a journal: %q", files)
			}
			if !w.happened("operator serves") {
				t.Error("webhooks are on before there is anybody to answer them")
			}
		case strings.HasPrefix(e, "apply Memcached"):
			if !calls(w.object(crdKey), baseOf(t, w.object(hookKey))) || w.object(hookKey) == nil {
				t.Error("--apply came before the webhooks")
			}
			cancel()
		case e == "operator interrupted":
			if w.object(hookKey) != nil {
				t.Error("the operator was stopped before its webhooks were off")
			}
		}
	}
	if err := Run(ctx, Options{Dir: w.Dir, Apply: []string{"sample.yaml"}}, w.deps()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error: %v\n%s", err, w.err)
	}
	w.ordered(t, "edit "+crdKey, "apply CustomResourceDefinition", "run operator", "operator serves", "edit "+hookKey,
		"apply Memcached", "delete "+hookKey, "operator interrupted", "stop cluster")
	if diff := cmp.Diff(before, w.object(crdKey)); diff != "" {
		t.Errorf("the CRD (-before +after):\n%s", diff)
	}
	if files := w.journalFiles(t); len(files) > 0 {
		t.Errorf("left: %q", files)
	}
	left, err := filepath.Glob(filepath.Join(w.Env["MYSDK_CACHE_DIR"], "run", "*", privatePrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("certificates left: %q, %v", left, err)
	}
	for _, want := range []string{"webhooks on (0.0s), at https://127.0.0.1:", ": conversion of memcacheds.cache.example.com, " + hookKey + "\n",
		"webhooks off (0.0s): " + hookKey + " deleted, conversion of memcacheds.cache.example.com put back\n"} {
		if !strings.Contains(w.err.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, w.err)
		}
	}
}

// baseOf is the URL that a configuration's first webhook calls, without its path.
func baseOf(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	list, _, err := unstructured.NestedSlice(u.Object, "webhooks")
	if err != nil {
		t.Fatal(err)
	}
	url, _, err := unstructured.NestedString(list[0].(map[string]any), "clientConfig", "url")
	if err != nil {
		t.Fatal(err)
	}
	return url[:strings.LastIndex(url, "/")]
}

// TestRunWebhooksDeployed: what a deployment has in the cluster comes back.
func TestRunWebhooksDeployed(t *testing.T) {
	w := webhookWorld(t)
	w.put(objects(t, hookYAML)[0])
	deployed := strings.Replace(convertedYAML, "cache.example.com}", "cache.example.com, annotations: {cert-manager.io/inject-ca-from: shop-system/shop-cert, team: shop}}", 1)
	w.crds = objects(t, deployed)
	w.put(w.crds[0])
	before, crdBefore := w.object(hookKey), w.object(crdKey)
	w.onEvent = func(e string) {
		if got := w.object(crdKey).GetAnnotations(); e == "edit "+hookKey && (len(got) != 1 || got["team"] != "shop") {
			t.Errorf("cert-manager would undo the conversion: %q", got)
		}
	}
	ctx := cancelWhen(t, w, "webhooks on")
	if err := Run(ctx, Options{Dir: w.Dir}, w.deps()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error: %v\n%s", err, w.err)
	}
	w.ordered(t, "edit "+hookKey, "operator interrupted")
	if diff := cmp.Diff([]any{before, crdBefore}, []any{w.object(hookKey), w.object(crdKey)}); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if w.happened("delete") {
		t.Errorf("something was deleted: %q", w.events)
	}
	// Nor does a later application bring back what cert-manager goes by.
	r := &run{}
	r.hooks.Store(&hooks{})
	list, err := r.withConversion(t.Context(), w.crds)
	if err != nil || len(list[0].GetAnnotations()) != 1 {
		t.Errorf("applied with %q, %v", list[0].GetAnnotations(), err)
	}
}

// cancelWhen ends a context when stderr has the text.
func cancelWhen(t *testing.T, w *world, text string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		w.shows(ctx, text)
		cancel()
	}()
	return ctx
}

func TestRunNoWebhooks(t *testing.T) {
	for name, o := range map[string]Options{"flag": {NoWebhooks: true}, "environment": {Env: []string{"ENABLE_WEBHOOKS=false"}}, "shell": {}, "shell, unread": {}} {
		t.Run(name, func(t *testing.T) {
			w := webhookWorld(t)
			if strings.HasPrefix(name, "shell") {
				w.Env["ENABLE_WEBHOOKS"] = "false"
			}
			unread := name == "shell, unread"
			if unread {
				w.write(t, "cmd/main.go", strings.Replace(webhookMain, "ENABLE_WEBHOOKS", "OTHER", 1))
			}
			w.operator = nil
			o.Dir = w.Dir
			if err := Run(cancelOn(t, w, "run operator"), o, w.deps()); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if unread { // by an operator that does not look at it, it is another's
				if !w.happened("edit " + crdKey) {
					t.Errorf("webhooks were left out: %q", w.listed())
				}
				return
			}
			if w.happened("edit") || len(w.journalFiles(t)) > 0 {
				t.Errorf("webhooks were turned on: %q", w.events)
			}
			if !strings.Contains(w.err.String(), "warning: conversion of memcacheds.cache.example.com is off: ") {
				t.Errorf("stderr:\n%s", w.err)
			}
			cmd := w.started[len(w.started)-1]
			if !slices.Contains(cmd.Env, "ENABLE_WEBHOOKS=false") || given(cmd.Args, "webhook-port") {
				t.Errorf("the operator was started for webhooks: %q", cmd.Args)
			}
		})
	}
}

// TestRunWebhooksFail: whatever goes wrong, what was changed is put back.
func TestRunWebhooksFail(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		set     func(*world)
		options Options
		err     string
		code    int
	}{
		"conversion is refused": {set: func(w *world) { w.editErr[crdKind] = boom }, err: "boom", code: 1},
		"webhooks are refused":  {set: func(w *world) { w.editErr["ValidatingWebhookConfiguration"] = boom }, err: "boom", code: 1},
		"operator crashes":      {set: func(w *world) { w.operator = func(_ context.Context, p *process) { p.ended <- exited(3) } }, err: "exit code 3", code: 1},
		"unknown cluster":       {set: func(w *world) { w.context = "production" }, options: Options{Context: "production"}, err: "reaches this machine is unknown", code: 2},
		"certificates by hand":  {options: Options{OperatorArgs: []string{"--webhook-cert-path=x"}}, err: "certificates of this run's own", code: 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := webhookWorld(t)
			before := w.object(crdKey)
			if tc.set != nil {
				tc.set(w)
			}
			tc.options.Dir = w.Dir
			err := Run(t.Context(), tc.options, w.deps())
			if err == nil || !strings.Contains(err.Error(), tc.err) || clierr.CodeOf(err) != tc.code {
				t.Errorf("code %d, error: %v", clierr.CodeOf(err), err)
			}
			clear(w.editErr)
			if diff := cmp.Diff(before, w.object(crdKey)); diff != "" && len(w.journalFiles(t)) == 0 {
				t.Errorf("the CRD is not as before, and no journal tells (-before +after):\n%s", diff)
			}
			if w.object(hookKey) != nil {
				t.Error("the configuration is left")
			}
		})
	}
}

// TestRestoreAfterKill: what a killed run left is put back, at the next start
// or by Restore.
func TestRestoreAfterKill(t *testing.T) {
	for name, again := range map[string]func(*world) error{
		"restore": func(w *world) error { return Restore(t.Context(), Options{Dir: w.Dir}, w.deps()) },
		"next start": func(w *world) error {
			d := w.deps()
			d.Render = func(ctx context.Context) (Manifests, error) {
				host.Pause(ctx, 10*quiet)
				if w.object(hookKey) == nil {
					t.Error("restored before the run can put its own in the place")
				}
				return w.deps().Render(ctx)
			}
			return Run(cancelOn(t, w, "apply Custom"), Options{Dir: w.Dir}, d)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := webhookWorld(t)
			before := w.object(crdKey)
			killed(t, w)
			if w.object(hookKey) == nil || len(w.journalFiles(t)) != 1 {
				t.Fatalf("the killed run left nothing: %q", w.events)
			}
			w.webhooks, w.crds, w.events = nil, objects(t, strings.Split(convertedYAML, "spec:")[0]), nil
			if err := again(w); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, w.object(crdKey)); diff != "" {
				t.Errorf("the CRD (-before +after):\n%s", diff)
			}
			if w.object(hookKey) != nil || len(w.journalFiles(t)) > 0 {
				t.Error("not restored")
			}
			left, err := filepath.Glob(filepath.Join(w.Env["MYSDK_CACHE_DIR"], "run", "*", privatePrefix+"*"))
			if err != nil || len(left) > 0 {
				t.Errorf("certificates left: %q, %v", left, err)
			}
			if !strings.Contains(w.err.String(), "restored webhooks left behind by an interrupted run (0.0s): "+hookKey+" deleted") {
				t.Errorf("stderr:\n%s", w.err)
			}
			w.ordered(t, "start cluster", "delete "+hookKey, "stop cluster")
		})
	}
}

// killed does what a run does up to its kill -9: the kernel gives its locks
// back, and nothing else happens.
func killed(t *testing.T, w *world) {
	t.Helper()
	r, err := prepare(t.Context(), Options{Dir: w.Dir}, w.deps())
	if err != nil {
		t.Fatal(err)
	}
	r.client = clientFake{w}
	r.embedded = true
	if err := r.want(t.Context(), Manifests{CRDs: w.crds, Webhooks: w.webhooks}); err != nil {
		t.Fatal(err)
	}
	h := r.hooks.Load()
	if err := h.convert(t.Context(), w.crds); err != nil {
		t.Fatal(err)
	}
	if _, err := h.admit(t.Context(), w.webhooks); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.journal.lock.Release(), h.proxy.close(), os.Remove(h.private+lockEnd)); err != nil {
		t.Fatal(err)
	}
}

// TestRestoreLeavesOthers: what somebody changed since is theirs.
func TestRestoreLeavesOthers(t *testing.T) {
	w := webhookWorld(t)
	killed(t, w)
	deployed := objects(t, hookYAML)[0]
	w.put(deployed)
	w.mu.Lock()
	delete(w.store, crdKey)
	w.mu.Unlock()
	if err := Restore(t.Context(), Options{Dir: w.Dir}, w.deps()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(deployed, w.object(hookKey)); diff != "" || w.object(crdKey) != nil {
		t.Errorf("(-deployed +after):\n%s", diff)
	}
	if len(w.journalFiles(t)) > 0 || !strings.Contains(w.err.String(), "nothing to restore") {
		t.Errorf("stderr:\n%s", w.err)
	}
}

// TestTwoRuns: a second run must not take the first one's webhooks for what the
// cluster was like.
func TestTwoRuns(t *testing.T) {
	w := webhookWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- Run(ctx, Options{Dir: w.Dir}, w.deps()) }()
	w.shows(t.Context(), "webhooks on")
	err := Run(t.Context(), Options{Dir: w.Dir}, w.deps())
	if err == nil || !strings.Contains(err.Error(), "another 'mysdk run local' of this project (pid ") {
		t.Errorf("the same project: %v", err)
	}
	other := t.TempDir()
	if err := os.CopyFS(other, os.DirFS(w.Dir)); err != nil {
		t.Fatal(err)
	}
	err = Run(t.Context(), Options{Dir: other}, w.deps())
	if err == nil || !strings.Contains(err.Error(), " in "+w.Dir) || !strings.Contains(err.Error(), "memcacheds") {
		t.Errorf("a copy of it: %v", err)
	}
	if w.object(hookKey) == nil {
		t.Error("the first run's webhooks are gone")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRestoreLater: a cluster that cannot be restored now keeps its journal.
func TestRestoreLater(t *testing.T) {
	w := webhookWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		w.shows(ctx, "webhooks on")
		w.mu.Lock()
		w.editErr[crdKind] = clierr.Unavailablef("start it", "no answer")
		w.mu.Unlock()
		cancel()
	}()
	err := Run(ctx, Options{Dir: w.Dir}, w.deps())
	if err == nil || !strings.Contains(err.Error(), "take the webhooks out of the cluster") || len(w.journalFiles(t)) != 1 {
		t.Fatalf("error: %v", err)
	}
	clear(w.editErr)
	if err := Restore(t.Context(), Options{Dir: w.Dir}, w.deps()); err != nil {
		t.Fatal(err)
	}
	if calls(w.object(crdKey), "https://127.0.0.1") || len(w.journalFiles(t)) > 0 {
		t.Error("not restored")
	}
}

// TestRestoreKilled: the second Ctrl-C breaks off what takes the webhooks out of
// the cluster, says so, and leaves no operator behind: not under a debugger either,
// which is asked to end, as it would let the operator go when killed.
func TestRestoreKilled(t *testing.T) {
	for debug, ends := range map[int]string{0: "operator killed", DebugPort: "operator interrupted"} {
		t.Run(ends, func(t *testing.T) {
			w := webhookWorld(t)
			w.deleteHang = true
			second := sync.OnceFunc(func() { close(w.kill) })
			w.onEvent = func(e string) {
				if strings.HasPrefix(e, "delete ") {
					second()
				}
			}
			err := Run(cancelWhen(t, w, "webhooks on"), Options{Dir: w.Dir, Debug: debug}, w.deps())
			if err == nil || errors.Is(err, context.Canceled) || clierr.HintOf(err) != "run 'mysdk run local --restore'" {
				t.Errorf("error: %v", err)
			}
			if !w.happened(ends) {
				t.Errorf("events: %q", w.listed())
			}
		})
	}
}

func TestWebhookArgs(t *testing.T) {
	w := webhookWorld(t)
	h := &hooks{r: &run{Deps: w.deps()}, private: "/p"}
	scaffold := []string{"webhook-cert-path", "webhook-port", "webhook-host"}
	certs := "--webhook-cert-path=" + h.certDir()
	tests := map[string]struct {
		flags     []string
		args      []string
		want      []string // * stands for a free port
		env       []string
		addressIs string
	}{
		"today's scaffold": {scaffold, nil, []string{certs, "--webhook-port=*", "--webhook-host=127.0.0.1"}, nil, "127.0.0.1:*"},
		"the user's host":  {scaffold, []string{"--webhook-host="}, []string{certs, "--webhook-port=*"}, nil, "127.0.0.1:*"},
		"no flags":         {nil, nil, nil, []string{"TMPDIR=/p"}, "127.0.0.1:9443"},
		"the user's port":  {scaffold[:2], []string{"--webhook-port=8"}, []string{certs}, nil, "127.0.0.1:8"},
		"in two words":     {nil, []string{"-webhook-port", "8"}, nil, []string{"TMPDIR=/p"}, "127.0.0.1:8"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			facts := mainFacts{flags: map[string]bool{}}
			for _, f := range tc.flags {
				facts.flags[f] = true
			}
			args, env, address, err := h.webhookArgs(t.Context(), facts, Options{OperatorArgs: tc.args})
			if err != nil {
				t.Fatal(err)
			}
			_, port, _ := strings.Cut(address, ":")
			for i := range tc.want {
				tc.want[i] = strings.Replace(tc.want[i], "*", port, 1)
			}
			if diff := cmp.Diff([][]string{tc.want, tc.env}, [][]string{args, env}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want := strings.Replace(tc.addressIs, "*", port, 1); address != want {
				t.Errorf("address %s, want %s", address, want)
			}
		})
	}
}
