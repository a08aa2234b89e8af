package hostpods

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestLead: a link comes and goes, takes the place of a dead one, and leaves
// alone what others have there.
func TestLead(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "tmp", "certs"), filepath.Join(dir, "volume")
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 { // again after a clean end
		undo, err := lead(path, target)
		if err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(path); err != nil || to != target {
			t.Errorf("leads to %s, %v", to, err)
		}
		if _, err := lead(path, dir); !errors.Is(err, fs.ErrExist) {
			t.Errorf("beside another program: %v", err)
		}
		if err := undo(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the link or its directory is left: %v", err)
		}
	}

	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "gone"), path); err != nil {
		t.Fatal(err)
	}
	undo, err := lead(path, target)
	if err != nil {
		t.Fatalf("after a kill: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, path); err != nil {
		t.Fatal(err)
	}
	if err := undo(); err != nil {
		t.Errorf("the link of another: %v", err)
	}
	if to, err := os.Readlink(path); err != nil || to != dir {
		t.Errorf("the link of another leads to %s, %v", to, err)
	}
}
