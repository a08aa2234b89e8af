package host_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/host"
)

// TestRunSaysWhy: the cause of a cancelled context and the process's own end
// are both in the error.
func TestRunSaysWhy(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip("no program to run")
	}
	why := errors.New("the other half failed")
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := host.OSExec{}.Start(ctx, host.Cmd{Name: "sleep", Args: []string{"60"}})
	if err != nil {
		t.Fatal(err)
	}
	cancel(why)
	err = host.Run(ctx, started{p}, host.Cmd{Name: "/bin/sleep"})
	var exit *exec.ExitError
	if !errors.Is(err, why) || !errors.As(err, &exit) || !strings.Contains(err.Error(), "sleep: ") {
		t.Errorf("Run() = %v", err)
	}
	if _, err := (host.OSExec{}).Start(ctx, host.Cmd{Name: "sleep"}); !errors.Is(err, why) {
		t.Errorf("Start() = %v", err)
	}
}

// started is an Exec whose process runs already.
type started struct{ process host.Process }

func (s started) LookPath(name string) (string, error) { return name, nil }

func (s started) Start(context.Context, host.Cmd) (host.Process, error) { return s.process, nil }

// TestLastWordsAreHeard: a process that is given no time to stop is heard to
// its end where it ends by itself.
func TestLastWordsAreHeard(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	var said slow
	p, err := host.OSExec{}.Start(t.Context(), host.Cmd{Name: sh, Args: []string{"-c", "echo last; sleep 0.02; echo words; exit 3"}, Stdout: &said, Stderr: &said, Grace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 || said.text != "last\nwords\n" {
		t.Errorf("Wait() = %v and it said %q", err, said.text)
	}
}

// slow takes what it is given after a while.
type slow struct{ text string }

func (s *slow) Write(data []byte) (int, error) {
	time.Sleep(50 * time.Millisecond)
	s.text += string(data)
	return len(data), nil
}

// TestDirectoryByItsPath: a process finds its directory by the path that it was
// started with, whatever the environment says.
func TestDirectoryByItsPath(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Skip(err)
	}
	var said strings.Builder
	err = host.Run(t.Context(), host.OSExec{}, host.Cmd{Name: sh, Args: []string{"-c", "pwd"}, Dir: link, Env: []string{"PWD=/"}, Stdout: &said})
	if err != nil || said.String() != link+"\n" {
		t.Errorf("%q, %v; want %s", said.String(), err, link)
	}
}

// TestPauseEndsWithItsContext, and by itself.
func TestPauseEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if !host.Pause(ctx, time.Nanosecond) {
		t.Error("the context has not ended")
	}
	cancel()
	if host.Pause(ctx, time.Hour) {
		t.Error("the context has ended")
	}
}
