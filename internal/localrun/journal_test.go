package localrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
)

// TestLeftovers finds the journal of a run only after its end.
func TestLeftovers(t *testing.T) {
	w := hosttest.New(t)
	find := func() []Leftover {
		t.Helper()
		left, err := Leftovers(w.Host)
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	if left := find(); left != nil {
		t.Errorf("found %v where there is nothing", left)
	}
	dir, err := journalDir(w.Host, "some-cluster")
	if err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(w.Host, dir, "shop", record{Project: "/home/me/shop", Entries: []entry{
		{Kind: "MutatingWebhookConfiguration", Name: "shop"}, {Kind: crdKind, Name: "orders.shop.example.com"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if left := find(); left != nil {
		t.Errorf("found %v before anything was written down", left)
	}
	if err := j.write(); err != nil {
		t.Fatal(err)
	}
	if left := find(); left != nil {
		t.Errorf("found %v of a run that goes on", left)
	}
	taken, other := kube.Named("apiextensions.k8s.io/v1", crdKind, "", "orders.shop.example.com"), kube.Named("v1", "Namespace", "", "shop")
	for cluster, want := range map[string]bool{"some-cluster": true, "another": false} {
		err := RefuseTaken(w.Host, cluster, []*unstructured.Unstructured{other, taken})
		if (err != nil) != want || want && (!strings.Contains(err.Error(), "in /home/me/shop") || !strings.Contains(clierr.HintOf(err), "Ctrl-C")) {
			t.Errorf("%s: %v", cluster, err)
		}
	}
	if err := RefuseTaken(w.Host, "some-cluster", []*unstructured.Unstructured{other}); err != nil {
		t.Errorf("what no run has changed: %v", err)
	}
	if err := j.lock.Release(); err != nil { // as the system does for one that is killed
		t.Fatal(err)
	}
	want := []Leftover{{Project: "/home/me/shop", Objects: []string{"MutatingWebhookConfiguration shop", crdKind + " orders.shop.example.com"}}}
	for range 2 { // looking changes nothing
		if d := cmp.Diff(want, find()); d != "" {
			t.Errorf("leftovers (-want +got):\n%s", d)
		}
	}
	if err := os.WriteFile(j.file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Leftovers(w.Host); err == nil || !strings.Contains(err.Error(), filepath.Base(j.file)) {
		t.Errorf("error %v for a journal that cannot be read", err)
	}
}

// TestJournalBroken: a journal that cannot be read is no reason to guess.
func TestJournalBroken(t *testing.T) {
	w := webhookWorld(t)
	killed(t, w)
	file := w.journalFiles(t)[0]
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Restore(t.Context(), Options{Dir: w.Dir}, w.deps())
	if err == nil || !strings.Contains(err.Error(), file) || clierr.HintOf(err) == "" {
		t.Errorf("error: %v", err)
	}
}
