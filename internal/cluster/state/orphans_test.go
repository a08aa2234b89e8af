package state

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestLeftoversAreEnded(t *testing.T) {
	l := Orphans{filepath.Join(t.TempDir(), "running")}
	if err := l.End(); err != nil {
		t.Errorf("End() of nothing = %v", err)
	}
	sleep := func() *exec.Cmd {
		c := exec.CommandContext(t.Context(), "sleep", "60")
		if err := c.Start(); err != nil {
			t.Skip(err) // no such program here
		}
		return c
	}
	left, ended, other := sleep(), sleep(), sleep()
	if _, err := l.Note(left.Process.Pid); err != nil {
		t.Fatal(err)
	}
	forget, err := l.Note(ended.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := forget(); err != nil {
		t.Fatal(err)
	}
	// Another process has got this number since.
	if err := os.WriteFile(filepath.Join(l.dir, strconv.Itoa(other.Process.Pid)), []byte("1@then"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.End(); err != nil {
		t.Fatal(err)
	}
	if err := left.Wait(); err == nil {
		t.Error("what was left goes on")
	}
	for _, c := range []*exec.Cmd{ended, other} {
		if start, err := ProcessStart(c.Process.Pid); err != nil || start == "" {
			t.Errorf("a process that is not ours has ended: %v", err)
		}
		if err := c.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = c.Wait() // it was killed
	}
	if _, err := os.Stat(l.dir); !os.IsNotExist(err) {
		t.Errorf("the notes are left: %v", err)
	}
}
