package localrun

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/mysdk/internal/kube"
)

// TestRunFinishesDeletion: a CRD that is being deleted waits for the operator,
// which runs with its conversion on; then the CRD is applied again, with its
// conversion, and what --apply names follows.
func TestRunFinishesDeletion(t *testing.T) {
	w := webhookWorld(t)
	w.write(t, "sample.yaml", sample)
	dying := w.object(crdKey).DeepCopy()
	now := metav1.Now()
	dying.SetDeletionTimestamp(&now)
	w.put(dying)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.onEvent = func(e string) {
		switch {
		case e == "operator serves webhooks":
			if w.happened("apply ") || !w.happened("edit "+crdKey) {
				t.Errorf("a CRD on its way out was applied, or its conversion is off: %q", w.events)
			}
			w.mu.Lock()
			delete(w.store, crdKey) // the operator has removed its finalizers
			w.mu.Unlock()
		case strings.HasPrefix(e, "apply Memcached"):
			if !strings.Contains(w.err.String(), crdKey+" is gone") || !kube.Converts(w.object(crdKey)) {
				t.Errorf("the CRD's conversion is off, or nothing was said:\n%s", w.err)
			}
			cancel()
		}
	}
	if err := Run(ctx, Options{Dir: w.Dir, Apply: []string{"sample.yaml"}}, w.deps()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error: %v\n%s", err, w.err)
	}
	w.ordered(t, "edit "+crdKey, "run operator", "apply CustomResourceDefinition", "established", "apply Memcached")
	if got := strings.Count(w.err.String(), "is being deleted: the operator finishes that"); got != 1 {
		t.Errorf("told %d times:\n%s", got, w.err)
	}
	if kube.Converts(w.object(crdKey)) {
		t.Error("the conversion of the new CRD still calls this machine")
	}
}
