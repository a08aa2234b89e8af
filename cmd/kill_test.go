package cmd_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/host/hosttest"
)

// TestKill kills the real program, as kill -9 does, while it works. What it
// leaves is the old tree or the new one, or what the same command makes the new
// one of.
func TestKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing tells there that a process was killed")
	}
	prepare := map[string]func(*testing.T) (base *hosttest.World, command string){
		"upgrade": upgradeBase, "migrate": migrateBase, "pkgman-to-bundle": pkgmanBase,
	}
	for name, c := range transactions {
		prepare[name] = func(t *testing.T) (*hosttest.World, string) { return projectBy(t, c.before), c.command }
	}
	for name, base := range prepare {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "create api" {
				t.Skip("one command is enough there")
			}
			t.Parallel()
			project, command := base(t)
			kill(t, project, command)
		})
	}
}

// kill kills the command at moments spread over its whole run, and, every
// second time, over its commit.
func kill(t *testing.T, base *hosttest.World, command string) {
	old := hosttest.Snapshot(t, base.Dir)
	done := another(t, base)
	from := time.Now()
	if out, err := program(t, done, command).CombinedOutput(); err != nil {
		t.Fatalf("mysdk %s: %v\n%s", command, err, out)
	}
	whole, want := time.Since(from), hosttest.Snapshot(t, done.Dir)
	rounds, dirty := hosttest.KillRounds(t, 2), 0
	for i := range rounds {
		w := another(t, base)
		moment := after(hosttest.KillMoment(i, rounds, whole))
		if i%2 == 0 {
			moment = inCommit(w.Dir, hosttest.KillMoment(i, rounds, commitTime))
		}
		first, said := program(t, w, command), &bytes.Buffer{}
		first.Stderr = said
		killed := killAt(t, first, moment)
		now := hosttest.Snapshot(t, w.Dir)
		if cmp.Equal(old, now) {
			continue
		}
		delete(now, ".mysdk-lock") // beside the whole change: the commit had ended
		if cmp.Equal(want, now) {
			continue
		}
		dirty++
		out, err := program(t, w, command).CombinedOutput()
		if d := cmp.Diff(want, hosttest.Snapshot(t, w.Dir)); err != nil || d != "" {
			t.Errorf("round %d: killed %v, then %v\n%s\ntree (-want +got):\n%s\nfirst run:\n%s", i, killed, err, out, d, said)
		}
	}
	t.Logf("%d of %d kills met a commit", dirty, rounds)
	if rounds > 9 && dirty == 0 {
		t.Error("no kill met a commit: the test proves nothing")
	}
}

// commitTime is about what a commit takes, and a little more.
const commitTime = 40 * time.Millisecond

// inCommit is the moment d after the commit in dir begins.
func inCommit(dir string, d time.Duration) func(ended <-chan struct{}) {
	return func(ended <-chan struct{}) {
		for {
			select {
			case <-ended:
				return
			default:
			}
			if _, err := os.Lstat(filepath.Join(dir, ".mysdk-lock")); err == nil {
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		after(d)(ended)
	}
}

// program is the command as a process in w.
func program(t *testing.T, w *hosttest.World, command string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), "mysdk", strings.Fields(command)...)
	c.Dir, c.Env = w.Dir, append(w.Environ(), "CGO_ENABLED=0", "SOURCE_DATE_EPOCH=1767323045")
	return c
}

// killAt starts c and kills it as kill -9 does as soon as moment returns. It
// reports false if c ended on its own before that.
func killAt(t *testing.T, c *exec.Cmd, moment func(ended <-chan struct{})) (killed bool) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait() // how it ended is in c.ProcessState
	}()
	moment(ended)
	_ = c.Process.Kill() // fails where it has ended
	<-ended
	return !c.ProcessState.Exited()
}

// after is the moment d from the start, or the end of the command before that.
func after(d time.Duration) func(ended <-chan struct{}) {
	return func(ended <-chan struct{}) {
		select {
		case <-ended:
		case <-time.After(d):
		}
	}
}
