package run

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestNewTemporary: what a run that was killed has left goes, and nothing that
// somebody has named or wants to keep.
func TestNewTemporary(t *testing.T) {
	w := hosttest.New(t)
	dir, err := w.Host.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	old := w.Host.Now().Add(-time.Hour)
	for name, made := range map[string]time.Time{
		"test-abcdefgh234567yz": old, "test-abcdefgh234567aa": w.Host.Now(), "test-abcd2345": old,
		"test-1": old, "test-configuration": old, "explore-abcdefgh234567yz": old,
	} {
		l := state.New(dir, name)
		if err := os.MkdirAll(l.Etcd(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(l.Dir, made, made); err != nil {
			t.Fatal(err)
		}
	}
	for keep, want := range map[bool]string{false: `^test-\w{16}$`, true: `^test-\w{8}$`} {
		name, err := newTemporary(t.Context(), w.Host, "test", keep)
		if err != nil || !regexp.MustCompile(want).MatchString(name) {
			t.Errorf("keep %t: %q, %v", keep, name, err)
		}
	}
	list, err := cluster.List(t.Context(), w.Host)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, c := range list {
		left = append(left, filepath.Base(c.StateDir))
	}
	want := []string{"explore-abcdefgh234567yz", "test-1", "test-abcd2345", "test-abcdefgh234567aa", "test-configuration"}
	if d := cmp.Diff(want, left); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
