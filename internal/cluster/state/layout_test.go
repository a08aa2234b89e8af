package state

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	tests := map[string]struct {
		name string
		want string // part of the error, "" for none
	}{
		"word":            {"default", ""},
		"digits first":    {"2nd", ""},
		"inner dash":      {"test-1", ""},
		"one character":   {"a", ""},
		"longest":         {strings.Repeat("a", 63), ""},
		"too long":        {strings.Repeat("a", 64), "64 characters"},
		"empty":           {"", "empty"},
		"capital":         {"Dev", "a-z"},
		"dash first":      {"-x", "a-z"},
		"dash last":       {"x-", "a-z"},
		"dot":             {"a.b", "a-z"},
		"parent":          {"..", "a-z"},
		"path":            {"a/b", "a-z"},
		"newline":         {"a\n", "a-z"},
		"space":           {"a b", "a-z"},
		"letter of Greek": {"α", "a-z"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := CheckName(tc.name)
			if tc.want == "" && err != nil {
				t.Fatalf("CheckName(%q) = %v, want nil", tc.name, err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Fatalf("CheckName(%q) = %v, want an error with %q", tc.name, err, tc.want)
			}
		})
	}
}

// FuzzCheckName holds that no accepted name leaves the clusters' directory.
func FuzzCheckName(f *testing.F) {
	for _, seed := range []string{"default", "..", "a/../b", "", "A", "x\x00", "a-", "-a", "a..b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if CheckName(name) != nil {
			return
		}
		l := New("/state", name)
		if got := filepath.Dir(l.Dir); got != Root("/state") {
			t.Fatalf("cluster %q lies in %s", name, l.Dir)
		}
		for _, path := range []string{l.Kubeconfig(), l.PKI(), l.Etcd(), l.Log(), l.OldLog(), l.LockFile(), l.StartLock(), l.StateFile()} {
			if filepath.Dir(path) != l.Dir {
				t.Fatalf("cluster %q has a file at %s", name, path)
			}
		}
	})
}
