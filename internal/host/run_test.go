package host_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

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
