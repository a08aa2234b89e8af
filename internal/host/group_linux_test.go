package host_test

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/mysdk/internal/host"
)

// TestGroupEndsAsAWhole has a script leave a child that holds its output open.
func TestGroupEndsAsAWhole(t *testing.T) {
	tests := map[string]struct {
		script string
		grace  time.Duration
		end    func(host.Process, context.CancelFunc) error
	}{
		"its context ends":               {"sleep 300 & echo $!; wait", time.Hour, func(_ host.Process, cancel context.CancelFunc) error { cancel(); return nil }},
		"its context ends without grace": {"sleep 300 & echo $!; wait", 0, func(_ host.Process, cancel context.CancelFunc) error { cancel(); return nil }},
		"interrupted":                    {"sleep 300 & echo $!; wait", time.Hour, func(p host.Process, _ context.CancelFunc) error { return p.Interrupt() }},
		"killed":                         {"sleep 300 & echo $!; wait", time.Hour, func(p host.Process, _ context.CancelFunc) error { return p.Kill() }},
		"by itself":                      {"sleep 300 & echo $!", 10 * time.Millisecond, func(host.Process, context.CancelFunc) error { return nil }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, w := io.Pipe()
			p, err := host.OSExec{}.Start(ctx, host.Cmd{Name: "sh", Args: []string{"-c", tc.script}, Stdout: w, Group: true, Grace: tc.grace})
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(r).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			child, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatalf("the script printed %q", line)
			}
			if err := tc.end(p, cancel); err != nil {
				t.Errorf("end it: %v", err)
			}
			_ = p.Wait() // how it ended differs
			awaitEnd(t, child)
		})
	}
}

func TestKillGroup(t *testing.T) {
	for _, group := range []bool{true, false} {
		p, err := host.OSExec{}.Start(t.Context(), host.Cmd{Name: "sleep", Args: []string{"300"}, Group: group})
		if err != nil {
			t.Fatal(err)
		}
		if err := host.KillGroup(p.Pid()); err != nil {
			t.Errorf("KillGroup() = %v", err)
		}
		if err := p.Wait(); err == nil {
			t.Error("it ended by itself")
		}
		if err := p.Interrupt(); err == nil {
			t.Error("Interrupt() of what has ended = nil")
		}
	}
}

// awaitEnd waits until a process has ended; one that has not been waited for by
// its parent yet counts too, where that can be told.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if syscall.Kill(pid, 0) != nil || !alive(pid) {
			return
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // leave nothing behind
	t.Errorf("process %d still runs", pid)
}
