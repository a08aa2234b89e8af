package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

const (
	// kubectlGrace is how long kubectl may take to end after Ctrl-C.
	kubectlGrace = 5 * time.Second
	// brokenPipeCode is the exit code of a shell for a program that wrote to a
	// pipe which nobody reads any more: 128 and the number of SIGPIPE.
	brokenPipeCode = 128 + 13
)

// ExitError is the end of kubectl with another exit code than 0. It has said
// why itself.
type ExitError struct{ Code int }

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("kubectl ended with exit code %d", e.Code) }

// Kubectl runs the kubectl in mysdk-cluster with args, on h's streams, for the
// cluster of that name unless args name another one, which kubectl itself finds
// out. An exit code other than 0 is an *ExitError.
func Kubectl(ctx context.Context, h host.Host, name string, args []string) error {
	binary, err := Binary(ctx, h, func(step string) {
		// Talk on an unwritable stream is lost, and nothing more.
		_, _ = fmt.Fprintln(h.IO.Err, step)
	})
	if err != nil {
		return err
	}
	c, err := kubectlCmd(h, binary, name, args)
	if err != nil {
		return err
	}
	c.Stdin, c.Stdout, c.Stderr, c.Grace = h.IO.In, h.IO.Out, h.IO.Err, kubectlGrace
	err = host.Run(ctx, h.Exec, c)
	if host.BrokenPipe(err) {
		return &ExitError{brokenPipeCode}
	}
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &ExitError{exit.ExitCode()}
	}
	return err
}

// CompleteKubectl asks kubectl how its arguments may go on after args, the last
// of which is being typed. It answers as `kubectl __complete` does. Nothing is
// built for that, and a kubectl that is not there has no answer.
func CompleteKubectl(ctx context.Context, h host.Host, name string, args []string) ([]byte, error) {
	binary := installed(h)
	if binary == "" {
		return nil, nil
	}
	c, err := kubectlCmd(h, binary, name, append([]string{"__complete"}, args...))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, io.Discard
	err = host.Run(ctx, h.Exec, c)
	return out.Bytes(), err
}

// kubectlCmd is kubectl as a process. What could lead it to another cluster of
// the user's is out of its environment: mysdk-cluster puts KUBECONFIG back once
// it knows that the arguments name one.
func kubectlCmd(h host.Host, binary, name string, args []string) (host.Cmd, error) {
	l, err := layoutOf(h, name)
	if err != nil {
		return host.Cmd{}, err
	}
	// Half as much again would go into collecting the memory of a short run.
	gogc := cmp.Or(h.Getenv("GOGC"), "400")
	env := append(state.OutOfPod(h.Environ()), // the last of a name counts
		"KUBECONFIG="+l.Kubeconfig(),
		state.KubectlDirEnv+"="+l.Dir, state.KubectlConfigEnv+"="+h.Getenv("KUBECONFIG"), "GOGC="+gogc)
	return host.Cmd{Name: binary, Args: append([]string{"kubectl"}, args...), Dir: h.Dir, Env: env}, nil
}
