package cmd_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// killLimit is for how long something may outlive a killed run local: nobody is
// to wait for longer, but a machine that compiles beside it is given its time.
func killLimit() time.Duration {
	if hosttest.Nightly() {
		return 5 * time.Second
	}
	return time.Minute
}

// TestKillRunLocal kills run local, and explore, with SIGKILL in each phase. What it
// started, at whatever depth, carries a variable of the test's, and is gone
// within killLimit.
func TestKillRunLocal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles, and starts clusters")
	}
	mysdk, err := exec.LookPath("mysdk")
	if err != nil {
		t.Fatal(err)
	}
	w := kubetest.World(t)
	w.IO = host.Streams{In: strings.NewReader(""), Out: &output{}, Err: &output{}}
	for _, args := range [][]string{
		{"init", "--domain", "example.com", "--repo", "example.com/shop", "--project-name", "shop"},
		{"create", "api", "--group", "cache", "--kind", "Memcached", "--pattern", "blank"},
	} {
		if code := root.Main(t.Context(), w, args); code != 0 {
			t.Fatalf("mysdk %v: exit code %d\n%s", args, code, w.IO.Err)
		}
	}
	slow := t.TempDir()
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range slowTools {
		script = "#!/bin/sh\n" + strings.Replace(script, "REAL", real, 1)
		if err := os.WriteFile(filepath.Join(slow, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for n := range hosttest.KillRounds(t, 1) {
		for _, phase := range killPhases {
			t.Run(fmt.Sprintf("%s/%d", phase.name, n), func(t *testing.T) {
				if phase.nightly {
					hosttest.LeaveToNightly(t, "another phase has the same kinds of processes")
				}
				phase.kill(t, w, mysdk, slow, n)
			})
		}
	}
}

// killPhase is a moment of a command: a text is on the screen, then a process
// with this text on its command line is there.
type killPhase struct {
	name  string
	does  []string // the command; none: run local
	args  []string // %d is the round
	env   []string // TEMP is a new directory, SLOW the one of slowTools
	until string
	then  func(t *testing.T, dir string, p *os.Process)
	sees  string
	// nightly is a phase for the long lane.
	nightly bool
}

// slowTools are a go command that hangs where it lists packages or builds a
// control plane, and a compiler and a linker that hang.
var slowTools = map[string]string{
	"go":   "case \"$*\" in list*|*mysdk-cluster*) sleep 300;; esac\nexec REAL \"$@\"\n",
	"tool": "[ \"$2\" = -V=full ] || sleep 300\nexec \"$@\"\n",
}

var killPhases = []killPhase{
	{name: "operator runs", until: "Starting workers"},
	{name: "generate", nightly: true, env: []string{"MYSDK_CACHE_DIR=TEMP", "PATH=SLOW:/usr/bin:/bin"}, sees: "sleep 300"},
	{name: "build the cluster", nightly: true, env: []string{"MYSDK_CLUSTER_BIN=", "PATH=SLOW:/usr/bin:/bin"}, sees: "sleep 300"},
	{name: "start the cluster", nightly: true, sees: "serve"},
	{name: "compile", nightly: true, env: []string{"GOCACHE=TEMP", "GOFLAGS=-toolexec=SLOW/tool"}, sees: "sleep 300"},
	{name: "link", args: []string{"--go-ldflags", "-X main.round=%d"}, env: []string{"GOFLAGS=-toolexec=SLOW/tool"}, sees: "sleep 300"},
	{name: "operator starts", nightly: true, sees: "/operator --"},
	{name: "reload", nightly: true, args: []string{"--watch"}, until: "Starting workers", then: func(t *testing.T, dir string, _ *os.Process) {
		name := filepath.Join(dir, "cmd", "main.go")
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, append(data, "\nvar _ = 1\n"...), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}, sees: "go build"},
	{name: "stop", nightly: true, until: "Starting workers", then: func(t *testing.T, _ string, p *os.Process) {
		if err := p.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "explore's cluster", nightly: true, does: []string{"explore"}, sees: "serve"},
	{name: "explore's operator", nightly: true, does: []string{"explore"}, sees: "/operator --"},
	{name: "explore's trials", nightly: true, does: []string{"explore", "-v"}, until: "trial 2 ("},
}

// kill runs run local up to the phase, kills it and looks for what is left.
func (k killPhase) kill(t *testing.T, w host.Host, mysdk, slow string, n int) {
	mark := fmt.Sprintf("KILL_TEST=%d-%s-%d", os.Getpid(), strings.ReplaceAll(k.name, " ", "-"), n)
	out := &output{}
	args := k.does
	if args == nil {
		args = []string{"run", "local"}
	}
	for _, a := range k.args {
		args = append(args, strings.ReplaceAll(a, "%d", strconv.Itoa(n)))
	}
	c := exec.CommandContext(t.Context(), mysdk, args...)
	c.Dir, c.Stdout, c.Stderr = w.Dir, out, out
	c.Env = append(w.Environ(), mark)
	for _, e := range k.env {
		c.Env = append(c.Env, strings.NewReplacer("TEMP", t.TempDir(), "SLOW", slow).Replace(e))
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer endMarked(t, mark)
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	wait := func(what string, there func() bool) {
		for !there() {
			select {
			case err := <-ended:
				t.Fatalf("%s: mysdk ended before: %v\n%s", what, err, out)
			case <-t.Context().Done():
				t.Fatalf("%s did not come\n%s", what, out)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	wait(k.until, func() bool { return strings.Contains(out.String(), k.until) })
	if k.then != nil {
		k.then(t, w.Dir, c.Process)
	}
	wait(k.sees, func() bool { return k.sees == "" || strings.Contains(marked(mark), k.sees) })
	// Later rounds are killed later.
	time.Sleep(time.Duration(n%10) * 20 * time.Millisecond)
	started := markedProcesses(mark)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for from := time.Now(); marked(mark) != ""; time.Sleep(20 * time.Millisecond) {
		if time.Since(from) > killLimit() {
			t.Fatalf("%s after the kill there are still:\n%s\nthe screen:\n%s", killLimit(), marked(mark), out)
		}
	}
	// The environment goes first, and files with their locks last.
	for _, pid := range started {
		for pid != c.Process.Pid && syscall.Kill(pid, 0) == nil {
			time.Sleep(time.Millisecond)
		}
	}
}

// marked lists the processes that have the variable, one command line each. One
// that has ended but was not waited for has no environment any more.
func marked(mark string) string {
	var b strings.Builder
	for _, p := range markedProcesses(mark) {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p)) // gone: an empty line
		fmt.Fprintf(&b, "%d %s\n", p, bytes.ReplaceAll(data, []byte{0}, []byte{' '}))
	}
	return b.String()
}

func markedProcesses(mark string) []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	var pids []int
	for _, dir := range dirs {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		pid, notPid := strconv.Atoi(filepath.Base(dir))
		if err == nil && notPid == nil && bytes.Contains(environ, []byte(mark+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// endMarked leaves nothing behind, whatever the test found.
func endMarked(t *testing.T, mark string) {
	for range 100 {
		left := markedProcesses(mark)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("processes of the test cannot be killed")
}
