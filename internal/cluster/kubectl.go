package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/example/mysdk/internal/host"
)

// kubectlGrace is how long kubectl may take to end after Ctrl-C.
const kubectlGrace = 5 * time.Second

// ExitError is the end of kubectl with another exit code than 0. It has said
// why itself.
type ExitError struct{ Code int }

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("kubectl ended with exit code %d", e.Code) }

// Kubectl runs the kubectl in mysdk-cluster with args, on h's streams, for the
// cluster of a kubeconfig; an empty one leaves the choice to h's environment.
// An exit code other than 0 is an *ExitError.
func Kubectl(ctx context.Context, h host.Host, kubeconfig string, args []string) error {
	binary, err := Binary(ctx, h, func(step string) {
		// Talk on an unwritable stream is lost, and nothing more.
		_, _ = fmt.Fprintln(h.IO.Err, step)
	})
	if err != nil {
		return err
	}
	env := h.Environ()
	if kubeconfig != "" {
		env = setEnv(env, "KUBECONFIG", kubeconfig)
		// kubectl remembers a server's kinds for six hours, and an operator's
		// kinds change while it is written. Asking anew takes milliseconds.
		cache := filepath.Join(filepath.Dir(kubeconfig), "kubectl-cache")
		if err := os.RemoveAll(cache); err != nil {
			return fmt.Errorf("forget the kinds of the last time: %w", err)
		}
		env = setEnv(env, "KUBECACHEDIR", cache)
	}
	err = host.Run(ctx, h.Exec, host.Cmd{
		Name: binary, Args: append([]string{"kubectl"}, args...), Dir: h.Dir, Env: env,
		Stdin: h.IO.In, Stdout: h.IO.Out, Stderr: h.IO.Err, Grace: kubectlGrace,
	})
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &ExitError{exit.ExitCode()}
	}
	return err
}

// setEnv returns env with one variable set.
func setEnv(env []string, name, value string) []string {
	set := make([]string, 0, len(env)+1)
	for _, e := range env {
		if !strings.HasPrefix(e, name+"=") {
			set = append(set, e)
		}
	}
	return append(set, name+"="+value)
}
