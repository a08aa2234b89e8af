package state

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadGivesWhatWriteTook(t *testing.T) {
	l := Layout{t.TempDir()}
	want := State{Name: "dev", PID: 7, ProcessStart: "9", Port: 20001, Nodes: 2, StartedAt: time.Unix(1e9, 0).UTC()}
	if err := l.Write(want); err != nil {
		t.Fatal(err)
	}
	got, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("state (-want +got):\n%s", d)
	}
	info, err := os.Stat(l.StateFile())
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
		t.Errorf("mode of the state file = %o, want 600", mode)
	}
	if left, err := filepath.Glob(filepath.Join(l.Dir, "state.json.*")); err != nil || len(left) > 0 {
		t.Errorf("Write left %v, %v", left, err)
	}
}

func TestReadOfNoOrDamagedState(t *testing.T) {
	for name, content := range map[string]string{
		"absent": "-", "empty": "", "cut off": `{"name": "de`, "other type": `[1]`, "wrong field": `{"pid": "x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			l := Layout{t.TempDir()}
			if content != "-" {
				if err := os.WriteFile(l.StateFile(), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := l.Read()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(State{}, got); d != "" {
				t.Errorf("state (-want +got):\n%s", d)
			}
		})
	}
}

func TestReadOfUnreadableStateFails(t *testing.T) {
	l := Layout{t.TempDir()}
	if err := os.Mkdir(l.StateFile(), 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := l.Read(); err == nil {
		t.Errorf("Read() = %v, want an error", s)
	}
}

func TestWriteFailsWithoutItsDirectory(t *testing.T) {
	l := Layout{filepath.Join(t.TempDir(), "gone")}
	if err := l.Write(State{}); err == nil {
		t.Error("Write() = nil, want an error")
	}
}

func TestAlive(t *testing.T) {
	me, err := ProcessStart(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		state State
		want  bool
	}{
		"this process":      {State{PID: os.Getpid(), ProcessStart: me}, true},
		"number used again": {State{PID: os.Getpid(), ProcessStart: "1@another-boot"}, false},
		"start not known":   {State{PID: os.Getpid()}, false},
		"none":              {State{ProcessStart: me}, false},
		"negative, a group": {State{PID: -1, ProcessStart: me}, false},
		"number not in use": {State{PID: 1 << 30, ProcessStart: me}, false},
		"another process":   {State{PID: 1, ProcessStart: me}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.state.Alive(); got != tc.want {
				t.Errorf("Alive() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestRuntimeDir(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	tests := map[string]struct {
		dir   string
		below bool // of the cluster's directory
	}{
		"short": {filepath.Join(base, "c"), true},
		"long":  {filepath.Join(base, strings.Repeat("long-", 20)), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := Layout{tc.dir}
			if err := os.Mkdir(l.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			got, err := l.RuntimeDir("a.sock")
			if err != nil {
				t.Fatal(err)
			}
			if below := strings.HasPrefix(got, l.Dir); below != tc.below {
				t.Errorf("RuntimeDir() = %s, below the cluster's directory: %v, want %v", got, below, tc.below)
			}
			info, err := os.Stat(got)
			if err != nil {
				t.Fatal(err)
			}
			if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o700 {
				t.Errorf("mode = %o, want 700", mode)
			}
			if err := l.RemoveRuntimeDir(State{RuntimeDir: got}); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(got); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", got, err)
			}
		})
	}
}

func TestRuntimeDirIsEmptiedOfStaleSockets(t *testing.T) {
	l := Layout{t.TempDir()}
	dir, err := l.RuntimeDir("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := l.RuntimeDir("x")
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(again); err != nil || len(left) > 0 {
		t.Errorf("RuntimeDir left %v, %v", left, err)
	}
}

func TestRuntimeDirWithNoShortPlace(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("t", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	t.Setenv("TMP", long)
	_, err := Layout{long}.RuntimeDir("a.sock")
	if err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("RuntimeDir() = %v, want an error that names TMPDIR", err)
	}
	if left, err := os.ReadDir(long); err != nil || len(left) > 0 {
		t.Errorf("RuntimeDir left %v, %v", left, err)
	}
}

func TestRemoveRuntimeDirRemovesNothingElse(t *testing.T) {
	l := Layout{t.TempDir()}
	other := t.TempDir()
	for name, dir := range map[string]string{
		"none": "", "the data": l.Etcd(), "the cluster": l.Dir, "somebody else's": other,
		"above": filepath.Join(l.Dir, ".."), "not made by us": filepath.Join(os.TempDir(), "mysdk"),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(l.Etcd(), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := l.RemoveRuntimeDir(State{RuntimeDir: dir}); err != nil {
				t.Fatal(err)
			}
			for _, kept := range []string{l.Etcd(), other} {
				if _, err := os.Stat(kept); err != nil {
					t.Errorf("%s is gone: %v", kept, err)
				}
			}
		})
	}
}
