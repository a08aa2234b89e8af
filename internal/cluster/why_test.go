package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/localrun/trace"
	"github.com/example/mysdk/internal/recording"
)

const (
	shops = "/apis/example.com/v1/namespaces/default/shops"
	// scripted is how many changes are made, and scriptedNightly where there is time.
	scripted, scriptedNightly = 64, 1000
	// quiet is how long no call may begin for a change to be over. What comes
	// later counts against the next one.
	quiet = 200 * time.Millisecond
)

// TestWhy makes changes whose consequences are known, and has each explained. A
// change counts as right if all of its causes are named, and no other.
func TestWhy(t *testing.T) {
	h := realHost(t)
	info, admin := start(t, h, Options{Name: "why"})
	control, err := Control(t.Context(), h, "why")
	if err != nil {
		t.Fatal(err)
	}
	admin.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object{
		"metadata": object{"name": "shops.example.com"},
		"spec": object{
			"group": "example.com", "scope": "Namespaced",
			"names": object{"kind": "Shop", "listKind": "ShopList", "plural": "shops", "singular": "shop"},
			"versions": []object{{
				"name": "v1", "served": true, "storage": true, "subresources": object{"status": object{}},
				"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{
					"spec":   object{"type": "object", "properties": object{"n": object{"type": "integer"}, "tick": object{"type": "integer"}, "do": object{"type": "string"}}},
					"status": object{"type": "object", "properties": object{"n": object{"type": "integer"}}},
				}}},
			}},
		},
	})
	admin.await(shops, func(object) bool { return true })
	stop := record(t, control)
	defer stop()
	n, workers := scripted, 2
	if hosttest.Nightly() {
		n, workers = scriptedNightly, 4
	}
	s := &script{info: info, control: control, pokes: runShop(t, control)}
	s.follow(t)
	t.Run("changes", func(t *testing.T) {
		for w := range workers {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				s.play(t, fmt.Sprintf("shop-%d", w), n/workers, w)
			})
		}
	})
	rec, err := control.Recording(t.Context(), recording.Position{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.judge(t, rec)
}

// runShop builds the operator as 'mysdk run local' does, and returns its standard
// input.
func runShop(t *testing.T, control state.Control) io.Writer {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{"testdata/shop/main.go": "main.go", "../../go.mod": "go.mod", "../../go.sum": "go.sum"} {
		data, err := os.ReadFile(filepath.FromSlash(from))
		if err != nil {
			t.Fatal(err)
		}
		if to == "go.mod" {
			_, rest, _ := strings.Cut(string(data), "\n")
			data = []byte("module example.com/shop\n" + rest)
		}
		if err := os.WriteFile(filepath.Join(dir, to), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := trace.Overlay(host.OSFiles{}, dir, ".", trace.Pod{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for name, data := range files {
		replace[name] = filepath.Join(t.TempDir(), "file.go")
		if err := os.WriteFile(replace[name], data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(object{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay, config := filepath.Join(t.TempDir(), "overlay.json"), filepath.Join(t.TempDir(), "kubeconfig")
	data, err := control.Kubeconfig(t.Context(), state.User{Name: operatorUser, Groups: []string{"system:masters"}, AuthProvider: trace.Provider})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{overlay: list, config: data} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-overlay", overlay, "-o", "operator", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	op := exec.CommandContext(t.Context(), filepath.Join(dir, "operator"))
	op.Env = append(os.Environ(), "KUBECONFIG="+config, trace.ProjectEnv+"="+dir, trace.ReportEnv+"="+control.Socket)
	op.Stderr = t.Output()
	in, err := op.StdinPipe()
	if err == nil {
		err = op.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = op.Wait() }) // the test's context has ended it
	return in
}

// script is what was done, and what came of it.
type script struct {
	info    *Info
	control state.Control
	pokes   io.Writer

	mu    sync.Mutex
	steps []step
	calls map[string][]recording.Reconcile // by object, as of the last look
}

// step is one change.
type step struct {
	name  string
	shop  string
	begin time.Time
	want  []expected
}

// expected is a cause.
type expected struct {
	text string
	is   func(recording.Cause) bool
}

// follow keeps calls up to date until the test ends.
func (s *script) follow(t *testing.T) {
	ctx := t.Context()
	go func() {
		for at := (recording.Position{}); ctx.Err() == nil; time.Sleep(pollInterval) {
			rec, err := s.control.Recording(ctx, at, 0)
			if err != nil {
				return
			}
			at = rec.Position()
			calls := map[string][]recording.Reconcile{}
			for _, c := range rec.Reconciles {
				calls[c.Name] = append(calls[c.Name], c)
			}
			s.mu.Lock()
			s.calls = calls
			s.mu.Unlock()
		}
	}()
}

// over waits for that many calls since a time to have ended, and for quiet.
func (s *script) over(t *testing.T, shop string, since time.Time, calls int) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(pollInterval) {
		s.mu.Lock()
		list := slices.DeleteFunc(slices.Clone(s.calls[shop]), func(c recording.Reconcile) bool { return c.Begin.Before(since) })
		s.mu.Unlock()
		ended := !slices.ContainsFunc(list, func(c recording.Reconcile) bool { return c.End.IsZero() })
		if len(list) >= calls && ended && time.Since(list[len(list)-1].End) > quiet {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d calls of %d", shop, len(list), calls)
		}
	}
}

// play makes n changes of a shop and what is around it.
func (s *script) play(t *testing.T, shop string, n, seed int) {
	c := newClient(t, s.info)
	own, owned, watched := shops+"/"+shop, configMaps+"/"+shop+"-owned", configMaps+"/"+shop+"-watched"
	label := func(path string, i int) {
		c.do(http.MethodPatch, path, object{"metadata": object{"annotations": object{"i": fmt.Sprint(i)}}})
	}
	set := func(i int) { c.do(http.MethodPatch, own, object{"spec": object{"n": i, "do": ""}}) }
	tell := func(i int, do string) { c.do(http.MethodPatch, own, object{"spec": object{"tick": i, "do": do}}) }
	by := func(reason, kind, name, effect string) expected {
		return expected{fmt.Sprintf("%s %s %s by the test", kind, name, effect), func(x recording.Cause) bool {
			q := x.Request
			return x.Reason == reason && q.User != operatorUser && q.Kind == kind && q.Name == name && q.Effect() == effect
		}}
	}
	reason := func(reason string) expected {
		return expected{reason, func(x recording.Cause) bool { return x.Reason == reason }}
	}
	object1 := by(recording.ObjectChanged, "Shop", shop, "changed")
	ownedChanged, watchedChanged := by(recording.OwnedChanged, "ConfigMap", shop+"-owned", "changed"), by(recording.WatchedChanged, "ConfigMap", shop+"-watched", "changed")
	kinds := []struct {
		name  string
		calls int // at least
		do    func(i int)
		want  []expected
	}{
		{"spec", 2, set, []expected{object1}},
		{"owned", 1, func(i int) { label(owned, i) }, []expected{ownedChanged}},
		{"set back", 2, func(i int) { c.do(http.MethodPatch, owned, object{"data": object{"n": "wrong"}}) }, []expected{ownedChanged}},
		{"deleted", 2, func(int) { c.del(owned) }, []expected{by(recording.OwnedChanged, "ConfigMap", shop+"-owned", "deleted")}},
		{"watched", 1, func(i int) { label(watched, i) }, []expected{watchedChanged}},
		{"event", 1, func(int) { s.poke(t, shop) }, []expected{reason(recording.Unknown)}},
		{"after", 2, func(i int) { tell(i, "after") }, []expected{object1, reason(recording.Requeued)}},
		{"requeue", 2, func(i int) { tell(i, "requeue") }, []expected{object1, reason(recording.Requeued)}},
		{"error", 2, func(i int) { tell(i, "fail") }, []expected{object1, reason(recording.Retried)}},
		{"status", 2, func(i int) { tell(i, "status") }, []expected{object1, {"its own status", func(x recording.Cause) bool {
			return x.Reason == recording.ObjectChanged && x.Request.User == operatorUser && x.Request.Subresource == "status"
		}}}},
		{"metadata", 1, func(i int) { label(own, i) }, []expected{object1}},
		{"at once", 2, func(i int) { set(i); label(watched, i); label(owned, i) }, []expected{object1, watchedChanged, ownedChanged}},
		{"while it runs", 2, func(i int) {
			began := time.Now()
			tell(i, "slow")
			s.running(t, shop, began)
			label(watched, i)
			label(owned, i)
			label(own, i)
		}, []expected{object1, watchedChanged, ownedChanged}},
	}
	began := time.Now()
	c.post(configMaps, object{"metadata": object{"name": shop + "-watched", "labels": object{"shop": shop}}})
	c.post(shops, object{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": object{"name": shop}})
	s.over(t, shop, began, 2)
	for i := range n {
		k := kinds[(i+seed*5)%len(kinds)]
		begin := time.Now()
		k.do(i + 1)
		s.mu.Lock()
		s.steps = append(s.steps, step{k.name, shop, begin, k.want})
		s.mu.Unlock()
		s.over(t, shop, begin, k.calls)
	}
}

// poke has the operator called by an event from outside of the cluster.
func (s *script) poke(t *testing.T, shop string) {
	t.Helper()
	if _, err := io.WriteString(s.pokes, shop+"\n"); err != nil {
		t.Error(err)
	}
}

// running waits for a call that has begun since.
func (s *script) running(t *testing.T, shop string, since time.Time) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(pollInterval) {
		s.mu.Lock()
		ok := slices.ContainsFunc(s.calls[shop], func(c recording.Reconcile) bool { return !c.Begin.Before(since) })
		s.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not called", shop)
		}
	}
}

// judge compares what was done with what is said of it.
func (s *script) judge(t *testing.T, rec recording.Recording) {
	enough := 95 // percent
	if !hosttest.Nightly() {
		enough = 70 // times are evidence, and a busy machine blurs them
	}
	calls := map[string][]recording.Call{}
	bad, all := map[string]int{}, map[string]int{}
	wrong := 0
	for i, st := range s.steps {
		end := time.Now()
		for _, later := range s.steps[i+1:] {
			if later.shop == st.shop {
				end = later.begin
				break
			}
		}
		if calls[st.shop] == nil {
			calls[st.shop] = rec.Why(recording.Object{Kind: "Shop", Namespace: "default", Name: st.shop})
		}
		problems := st.problems(calls[st.shop], end)
		all[st.name]++
		if len(problems) > 0 {
			bad[st.name]++
			wrong++
			t.Logf("%d: %s of %s: %s", i, st.name, st.shop, strings.Join(problems, "; "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Logf("%-14s %d of %d right", name, all[name]-bad[name], all[name])
	}
	right := len(s.steps) - wrong
	t.Logf("%d of %d changes explained, %.1f %%; %d requests, %d calls", right, len(s.steps), 100*float64(right)/float64(len(s.steps)), len(rec.Requests), len(rec.Reconciles))
	if right*100 < enough*len(s.steps) {
		t.Errorf("%d of %d changes are explained wrongly", wrong, len(s.steps))
	}
}

// problems are the causes that are missing of a step, and those that are wrong.
func (st step) problems(calls []recording.Call, end time.Time) []string {
	var problems []string
	missing := slices.Clone(st.want)
	for _, c := range calls {
		if c.Begin.Before(st.begin) || !c.Begin.Before(end) {
			continue
		}
		for _, cause := range c.Causes {
			// What it did about the change, and what it did again as its cache was behind.
			known := cause.Request != nil && cause.Request.User == operatorUser || strings.Contains(cause.Error, "has been modified")
			for _, e := range st.want {
				if e.is(cause) {
					known = true
					missing = slices.DeleteFunc(missing, func(m expected) bool { return m.text == e.text })
				}
			}
			if !known {
				problems = append(problems, "wrong: "+cause.Text())
			}
		}
	}
	for _, m := range missing {
		problems = append(problems, "missing: "+m.text)
	}
	return problems
}
