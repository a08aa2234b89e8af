package cluster

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host"
)

func TestBadNamesAreUsageErrors(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	for _, name := range []string{"", "A", "../x", "a b", strings.Repeat("x", 64)} {
		calls := map[string]func() error{
			"Status": func() error { _, err := Status(t.Context(), h, name); return err },
			"Stop":   func() error { _, err := Stop(t.Context(), h, name); return err },
			"Reset":  func() error { _, err := Reset(t.Context(), h, name); return err },
			"Logs":   func() error { return Logs(t.Context(), h, name, false, &bytes.Buffer{}) },
			"Start": func() error {
				if name == "" {
					return clierr.Usagef("", "the empty name means the default one")
				}
				_, err := Start(t.Context(), h, Options{Name: name})
				return err
			},
		}
		for what, call := range calls {
			if err := call(); clierr.CodeOf(err) != clierr.CodeUsage {
				t.Errorf("%s of %q = %v, want exit code 2", what, name, err)
			}
		}
	}
}

func TestStatusOfFiles(t *testing.T) {
	tests := map[string]struct {
		state *state.State
		lock  bool
		want  string
		pid   int
	}{
		"never started":    {nil, false, Stopped, 0},
		"stopped":          {&state.State{Port: 20001, Server: "https://x"}, false, Stopped, 0},
		"killed":           {&state.State{PID: 1 << 30, ProcessStart: "x"}, false, Stale, 1 << 30},
		"starting":         {&state.State{}, true, Running, 0},
		"starting, killed": {&state.State{PID: 1 << 30, ProcessStart: "x", StartedAt: time.Unix(1e9, 0)}, true, Running, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := testHost(t, &fakeExec{}, nil)
			l, err := layoutOf(h, "dev")
			if err != nil {
				t.Fatal(err)
			}
			if tc.state != nil {
				if err := os.MkdirAll(l.Dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := l.Write(*tc.state); err != nil {
					t.Fatal(err)
				}
			}
			if tc.lock {
				k, err := l.Lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer k.Release()
			}
			got, err := Status(t.Context(), h, "dev")
			if err != nil {
				t.Fatal(err)
			}
			if got.State != tc.want || got.PID != tc.pid || got.Ready || !got.StartedAt.IsZero() {
				t.Errorf("Status() = %+v, want state %s, process %d", got, tc.want, tc.pid)
			}
			if got.Context != "mysdk-dev" || got.Kubeconfig != l.Kubeconfig() || got.StateDir != l.Dir {
				t.Errorf("Status() = %+v", got)
			}
		})
	}
}

func TestListIsSortedAndSkipsStrangers(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	if list, err := List(t.Context(), h); err != nil || list == nil || len(list) != 0 {
		t.Errorf("List() of nothing = %v, %v, want an empty list", list, err)
	}
	dir, err := h.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "a", "Not-One"} {
		if err := os.MkdirAll(filepath.Join(state.Root(dir), name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(state.Root(dir), "file"), "")
	list, err := List(t.Context(), h)
	if err != nil || len(list) != 2 || list[0].Name != "a" || list[1].Name != "b" {
		t.Errorf("List() = %v, %v", list, err)
	}
}

func TestStopClearsUpAfterAKilledServer(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(l.Dir, "run")
	writeFile(t, filepath.Join(run, "control.sock"), "")
	if err := l.Write(state.State{PID: 1 << 30, ProcessStart: "x", Port: 20001, RuntimeDir: run}); err != nil {
		t.Fatal(err)
	}
	operator := exec.CommandContext(t.Context(), "sleep", "2")
	if operator.Start() == nil { // there is such a program here
		if _, err := l.Orphans().Note(operator.Process.Pid); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if operator.Wait() == nil {
				t.Error("a program of the killed server went on")
			}
		}()
	}
	lock, err := l.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := clearStale(t.Context(), l); err != nil { // somebody is starting it
		t.Error(err)
	}
	if s, err := l.Read(); err != nil || s.PID == 0 {
		t.Errorf("state = %+v, %v, which is somebody else's", s, err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if stopped, err := Stop(t.Context(), h, "dev"); stopped || err != nil {
		t.Errorf("Stop() = %v, %v, want false: it was not running", stopped, err)
	}
	if _, err := os.Stat(run); !os.IsNotExist(err) {
		t.Errorf("the sockets are still there: %v", err)
	}
	s, err := l.Read()
	if err != nil || s.PID != 0 || s.Port != 20001 {
		t.Errorf("state = %+v, %v, want the port alone", s, err)
	}
}

func TestStopOfNoCluster(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	if stopped, err := Stop(t.Context(), h, "dev"); stopped || err != nil {
		t.Errorf("Stop() = %v, %v", stopped, err)
	}
	if dir, err := h.StateDir(); err != nil {
		t.Error(err)
	} else if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("Stop made %s: %v", dir, err)
	}
}

func TestReset(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	if done, err := Reset(t.Context(), h, "dev"); done || err != nil {
		t.Errorf("Reset() of nothing = %v, %v", done, err)
	}
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(l.Dir), "other", "file")
	for _, f := range []string{filepath.Join(l.Etcd(), "data"), l.Log(), filepath.Join(l.PKI(), "ca.key"), other} {
		writeFile(t, f, "x")
	}
	if done, err := Reset(t.Context(), h, "dev"); !done || err != nil {
		t.Errorf("Reset() = %v, %v", done, err)
	}
	if _, err := os.Stat(l.Dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", l.Dir, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another cluster's file is gone: %v", err)
	}
}

// The fake binary ends at once, as a server that fails does.
func TestFailedStartShowsTheLog(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "any")
	writeFile(t, binary, "")
	x := &fakeExec{run: func(c host.Cmd) error {
		if _, err := c.Stdout.Write([]byte(strings.Repeat("old line\n", tailLines) + "failed: the disk is full\n")); err != nil {
			t.Error(err)
		}
		return exitCode(1)
	}}
	h := testHost(t, x, map[string]string{BinaryEnv: binary})
	fsync := true
	_, err := Start(t.Context(), h, Options{Name: "dev", Nodes: 2, FSync: &fsync, Verbosity: 3})
	if err == nil || clierr.CodeOf(err) != clierr.CodeUnavailable || !strings.HasSuffix(clierr.HintOf(err), "cluster logs --cluster dev' for the whole log") {
		t.Fatalf("Start() = %v, code %d, hint %q", err, clierr.CodeOf(err), clierr.HintOf(err))
	}
	if text := err.Error(); !strings.Contains(text, "the disk is full") || strings.Count(text, "old line") != tailLines-1 {
		t.Errorf("Start() = %v", err)
	}
	if args := strings.Join(x.ran[0].Args, " "); !strings.HasSuffix(args, "--nodes 2 -v 3 --fsync") || !x.ran[0].Detach {
		t.Errorf("ran %s, detached: %v", args, x.ran[0].Detach)
	}
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Write(state.State{FSync: true}); err != nil {
		t.Fatal(err)
	}
	// The next start puts the log aside, and is as the last one was.
	_, err = Start(t.Context(), h, Options{Name: "dev"})
	if err == nil {
		t.Fatal("Start() = nil")
	}
	if args := strings.Join(x.ran[1].Args, " "); !strings.HasSuffix(args, "--nodes 1 -v 0 --fsync") {
		t.Errorf("ran %s", args)
	}
	for _, log := range []string{l.Log(), l.OldLog()} {
		if data, err := os.ReadFile(log); err != nil || strings.Count(string(data), "disk is full") != 1 {
			t.Errorf("%s holds %q, %v", log, data, err)
		}
	}
}

func TestStartOnAFullDisk(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no device is full here")
	}
	binary := filepath.Join(t.TempDir(), "any")
	writeFile(t, binary, "")
	h := testHost(t, &fakeExec{}, map[string]string{BinaryEnv: binary})
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(l.OldLog(), "x"), "") // the log cannot be put aside
	if err := os.Symlink(full, l.Log()); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), h, Options{Name: "dev"}); !errors.Is(err, syscall.ENOSPC) || clierr.HintOf(err) != "" {
		t.Errorf("Start() = %v, hint %q", err, clierr.HintOf(err))
	}
}

func TestStartDuringAReset(t *testing.T) {
	l := state.Layout{Dir: t.TempDir()}
	held, err := filelock.Try(l.StartLock())
	if err != nil {
		t.Fatal(err)
	}
	starting, err := lockStart(t.Context(), l, Options{Progress: func(string) {
		if err := errors.Join(os.RemoveAll(l.Dir), held.Release()); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := starting.Release(); err != nil {
		t.Error(err)
	}
}

func TestInterruptedEmptyIsDoneAgain(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(l.Etcd(), "data"), "")
	writeFile(t, filepath.Join(l.StateFile(), "x"), "") // cannot be read
	if err := empty(t.Context(), h, l, "dev"); err == nil {
		t.Error("empty() = nil")
	}
	if err := os.RemoveAll(l.StateFile()); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(state.State{Port: 20001, UID: "x", Kubernetes: "1.34.0"}); err != nil {
		t.Fatal(err)
	}
	if err := empty(t.Context(), h, l, "dev"); err != nil {
		t.Error(err)
	}
	if s, err := l.Read(); err != nil || s.Port != 0 || s.UID != "" || s.Kubernetes != "" {
		t.Errorf("state = %+v, %v", s, err)
	}
	if _, err := os.Stat(l.Etcd()); !os.IsNotExist(err) {
		t.Errorf("the data are still there: %v", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k, err := l.Lock(t.Context()) // somebody who never becomes ready
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*pollInterval, cancel)
	if _, err := Start(ctx, h, Options{Name: "dev"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start() = %v, want exit code 130", err)
	}
}

// TestStartBrokenOff: of a server that was killed before it was ready, nothing is left.
func TestStartBrokenOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	binary := filepath.Join(t.TempDir(), "any")
	writeFile(t, binary, "")
	var l state.Layout
	h := testHost(t, &fakeExec{run: func(host.Cmd) error {
		cancel()
		return l.Write(state.State{PID: 1 << 30, ProcessStart: "x"})
	}}, map[string]string{BinaryEnv: binary})
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(ctx, h, Options{Name: "dev"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start() = %v", err)
	}
	if got, err := Status(t.Context(), h, "dev"); err != nil || got.State != Stopped {
		t.Errorf("Status() = %+v, %v", got, err)
	}
}

func TestLogs(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	var out bytes.Buffer
	if err := Logs(t.Context(), h, "dev", false, &out); err == nil || clierr.HintOf(err) == "" {
		t.Errorf("Logs() of no cluster = %v, hint %q", err, clierr.HintOf(err))
	}
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, l.Log(), "one\n")
	if err := Logs(t.Context(), h, "dev", false, &out); err != nil || out.String() != "one\n" {
		t.Errorf("Logs() = %q, %v", &out, err)
	}
}

// watcher is a writer that calls each with everything written so far.
type watcher struct {
	all  string
	each func(string)
}

func (w *watcher) Write(p []byte) (int, error) {
	w.all += string(p)
	w.each(w.all)
	return len(p), nil
}

func TestLogsFollowsALaterStart(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, l.Log(), "one\n")
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{each: func(all string) {
		switch all {
		case "one\n":
			f, err := openLog(l)
			if err != nil {
				t.Error(err)
			}
			_, err = f.WriteString("two\n")
			if err := errors.Join(err, f.Close()); err != nil {
				t.Error(err)
			}
		default:
			if strings.HasSuffix(all, "two\n") {
				cancel()
			}
		}
	}}
	if err := Logs(ctx, h, "dev", true, w); err != nil {
		t.Errorf("Logs() = %v", err)
	}
	if got := w.all; !strings.HasPrefix(got, "one\nmysdk ") || !strings.HasSuffix(got, " starts the control plane\ntwo\n") {
		t.Errorf("followed %q", got)
	}
}

func TestLogsStopsWhenTheReaderIsGone(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, l.Log(), "one\n")
	closed, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(closed.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := Logs(t.Context(), h, "dev", true, w); err == nil {
		t.Error("Logs() to a closed stream = nil")
	}
}

func TestKubectl(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "any")
	writeFile(t, binary, "")
	other := errors.New("no such file")
	tests := map[string]struct {
		result error
		code   int
	}{
		"good":              {nil, 0},
		"its own exit code": {exitCode(7), 7},
		"does not run":      {other, 1},
		"killed":            {exitCode(-1), 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			x := &fakeExec{run: func(host.Cmd) error { return tc.result }}
			h := testHost(t, x, map[string]string{
				BinaryEnv: binary, "KUBECONFIG": "/mine", "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_MASTER": "https://10.0.0.1",
			})
			err := Kubectl(t.Context(), h, "dev", []string{"get", "pods"})
			var exit *ExitError
			switch {
			case tc.code == 0 && err != nil, tc.code == 1 && !errors.Is(err, tc.result):
				t.Errorf("Kubectl() = %v", err)
			case tc.code > 1 && (!errors.As(err, &exit) || exit.Code != tc.code):
				t.Errorf("Kubectl() = %v, want exit code %d", err, tc.code)
			}
			c := x.ran[0]
			if got := strings.Join(c.Args, " "); got != "kubectl get pods" || c.Name != binary || c.Dir != h.Dir {
				t.Errorf("ran %s %s in %s", c.Name, got, c.Dir)
			}
			l, err := layoutOf(h, "dev")
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]string{
				"KUBECONFIG": l.Kubeconfig(), "KUBERNETES_SERVICE_HOST": "unset", "KUBERNETES_MASTER": "unset", state.KubectlDirEnv: l.Dir, state.KubectlConfigEnv: "/mine",
			} {
				got := "unset"
				for _, e := range c.Env {
					if v, ok := strings.CutPrefix(e, name+"="); ok {
						got = v // os/exec passes the last one on
					}
				}
				if got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestStartRefusesNodesBeforeTheFirstWrite(t *testing.T) {
	for _, nodes := range []int{-1, 251} {
		x := &fakeExec{run: func(host.Cmd) error { return nil }}
		binary := filepath.Join(t.TempDir(), "any")
		writeFile(t, binary, "")
		h := testHost(t, x, map[string]string{BinaryEnv: binary})
		if _, err := Start(t.Context(), h, Options{Nodes: nodes}); clierr.CodeOf(err) != clierr.CodeUsage {
			t.Errorf("Start() of %d nodes = %v, want exit code 2", nodes, err)
		}
		if left, err := os.ReadDir(h.Dir); err != nil || len(left) > 0 {
			t.Errorf("Start() of %d nodes left %v, %v", nodes, left, err)
		}
	}
}
