package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

func TestReplaceFailsWithTheOldFile(t *testing.T) {
	for at, want := range map[int]string{0: "new", 1: "old", 2: "old"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "f")
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := host.ReplaceData(&hosttest.Faults{Files: host.OSFiles{}, At: at}, name, []byte("new"), 0o600)
		if (at > 0) != errors.Is(err, hosttest.ErrFault) {
			t.Errorf("failing at write %d: %v", at, err)
		}
		if d := cmp.Diff(map[string]string{"f": want}, hosttest.Snapshot(t, dir)); d != "" {
			t.Errorf("failing at write %d (-want +got):\n%s", at, d)
		}
	}
}

// TestReplaceNamesTheFile: nobody knows the name of a draft.
func TestReplaceNamesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none", "f")
	err := host.ReplaceData(host.OSFiles{}, name, nil, 0o600)
	if err == nil || !strings.Contains(err.Error(), " "+name+": ") {
		t.Errorf("%v does not name %s", err, name)
	}
}

// TestReplaceAtOnce: two commands that replace a file at the same time do not
// write into each other's draft.
func TestReplaceAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	err := host.Replace(host.OSFiles{}, name, func(draft string) error {
		if err := os.WriteFile(draft, []byte("first"), 0o600); err != nil {
			return err
		}
		return host.ReplaceData(host.OSFiles{}, name, []byte("second"), 0o600)
	})
	if data, readErr := os.ReadFile(name); err != nil || readErr != nil || string(data) != "first" {
		t.Errorf("content %q, %v, %v", data, err, readErr)
	}
}
