package localrun

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/filelock"
)

// TestRemoveLeft: of killed runs no credentials stay, those of a run that goes
// on do.
func TestRemoveLeft(t *testing.T) {
	w := newWorld(t)
	r := newRun(Options{Dir: w.Dir}, w.deps())
	if err := r.plan.place(w.Host, w.Dir); err != nil {
		t.Fatal(err)
	}
	if err := r.removeLeft(); err != nil {
		t.Errorf("without a directory: %v", err)
	}
	mine, err := r.private("kubeconfig-operator-")
	if err == nil {
		err = os.WriteFile(mine, []byte("token"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubeconfig-operator-killed", "kubeconfig-killed", "kubeconfig-killed.lock", "kubeconfig-gone.lock", "program-killed.lock", "webhooks-killed.lock", "operator", recordingName} {
		if err := os.WriteFile(filepath.Join(r.plan.cache, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"program-killed/operator", "webhooks-killed/certs"} {
		if err := os.MkdirAll(filepath.Join(r.plan.cache, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lists := func(want ...string) {
		t.Helper()
		entries, err := os.ReadDir(r.plan.cache)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
	if err := r.removeLeft(); err != nil {
		t.Fatal(err)
	}
	base := filepath.Base(mine)
	lists(base, base+lockEnd, "operator", recordingName)
	if _, err := filelock.Try(mine + lockEnd); err == nil {
		t.Error("the run does not hold its file")
	}
	if err := r.stopAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	lists("operator", recordingName)
}
