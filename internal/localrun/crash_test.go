package localrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
)

// contents copies what is in the cluster.
func (w *world) contents() map[string]*unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := maps.Clone(w.store)
	for k, u := range all {
		all[k] = u.DeepCopy()
	}
	return all
}

// TestClusterLost: the cluster goes away at any of the writes of a run, before
// or after it took effect. What is restored later is what was there before.
func TestClusterLost(t *testing.T) {
	for _, deployed := range []bool{false, true} {
		for at := 1; ; at++ {
			lost := false
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("write %d, done %v, deployed %v", at, after, deployed), func(t *testing.T) {
					lost = lostAt(t, at, after, deployed) || lost
				})
			}
			if !lost {
				break // a run has no more writes than that
			}
		}
	}
}

// lostAt loses the cluster at one write, and reports whether there was such one.
func lostAt(t *testing.T, at int, after, deployed bool) bool {
	w := webhookWorld(t)
	if deployed {
		w.put(objects(t, hookYAML)[0])
	}
	before := w.contents()
	w.dieAt, w.dieAfter = at, after
	err := Run(cancelWhen(t, w, "webhooks on"), Options{Dir: w.Dir}, w.deps())
	if code := clierr.CodeOf(err); !errors.Is(err, context.Canceled) && code != clierr.CodeUnavailable {
		t.Errorf("error: %v", err)
	}
	happened := w.writes >= at
	w.mu.Lock()
	w.dieAt = 0
	w.mu.Unlock()
	if err := Restore(t.Context(), Options{Dir: w.Dir}, w.deps()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, w.contents()); diff != "" {
		t.Errorf("the cluster (-before +after):\n%s", diff)
	}
	if files := w.journalFiles(t); len(files) > 0 {
		t.Errorf("journals left: %q", files)
	}
	return happened
}

// TestWebhooksInterrupted: Ctrl-C at any step, and nothing is left in the
// cluster or on disk.
func TestWebhooksInterrupted(t *testing.T) {
	for _, step := range []string{"start cluster", "connect", "apply Custom", "established", "edit " + crdKey, "run operator",
		"operator serves webhooks", "edit " + hookKey, "apply Memcached", "delete " + hookKey, "operator interrupted"} {
		t.Run(step, func(t *testing.T) {
			w := webhookWorld(t)
			w.write(t, "sample.yaml", sample)
			before := w.contents()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.onEvent = func(e string) {
				if strings.HasPrefix(e, step) {
					cancel()
				}
			}
			go func() { // the last steps come with the end only
				w.shows(ctx, "applied sample.yaml")
				cancel()
			}()
			err := Run(ctx, Options{Dir: w.Dir, Apply: []string{"sample.yaml"}}, w.deps())
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error: %v", err)
			}
			if diff := cmp.Diff(before, w.contents()); diff != "" {
				t.Errorf("the cluster (-before +after):\n%s", diff)
			}
			if files := w.journalFiles(t); len(files) > 0 {
				t.Errorf("journals left: %q", files)
			}
			if w.happened("run operator") && !w.happened("operator interrupted") {
				t.Errorf("an operator was left running: %q", w.listed())
			}
		})
	}
}
