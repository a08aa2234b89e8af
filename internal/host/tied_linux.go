package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// reap waits until the pipe on file descriptor 3 ends, and kills what carries
// the mark. It looks again for a while: between its fork and its exec a process
// has the environment of its parent.
const reap = `read -r _ <&3
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	for p in $(grep -lzFx -- "$1" /proc/[0-9]*/environ 2>/dev/null); do
		p=${p#/proc/}
		kill -KILL "${p%/environ}" 2>/dev/null
	done
	sleep 0.1
done`

// Tied returns h with an environment whose heirs are killed when this process
// ends before it calls the function: by kill -9, too. Detached processes are
// left out. Where there is no shell the world is as it was.
func (h Host) Tied(ctx context.Context) (Host, func(), error) {
	shell, err := h.LookPath("sh")
	if err != nil {
		return h, func() {}, nil
	}
	end, lifeline, err := os.Pipe()
	if err != nil {
		return h, nil, fmt.Errorf("tie child processes to this one: %w", err)
	}
	tie := rand.Text()
	mark := TieEnv + "=" + tie
	p, err := h.Exec.Start(ctx, Cmd{Name: shell, Args: []string{"-c", reap, "sh", mark}, Detach: true, Extra: []*os.File{end}})
	if err = errors.Join(err, end.Close()); err != nil {
		return h, nil, errors.Join(fmt.Errorf("tie child processes to this one: %w", err), lifeline.Close())
	}
	environ, getenv, exec := h.Environ, h.Getenv, h.Exec
	h.Environ = func() []string { return append(slices.Clip(environ()), mark) }
	h.Getenv = func(name string) string {
		if name == TieEnv {
			return tie
		}
		return getenv(name)
	}
	h.Exec = tiedExec{exec}
	return h, func() {
		// Nothing is left that it could reap, and nobody to tell.
		_ = p.Kill()
		_ = p.Wait()
		_ = lifeline.Close()
	}, nil
}

// tiedExec does not pass the mark on to detached processes.
type tiedExec struct{ Exec }

// Start implements Exec.
func (x tiedExec) Start(ctx context.Context, c Cmd) (Process, error) {
	if c.Detach {
		c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(e string) bool { return strings.HasPrefix(e, TieEnv+"=") })
	}
	return x.Exec.Start(ctx, c)
}

// start starts x; the function that it returns must be called once x has
// ended. For c.DieWithParent the kernel kills x when the thread that started it
// ends, not the whole process. So a thread is kept for it until then.
func start(x *exec.Cmd, c Cmd) (func(), error) {
	if !c.DieWithParent || c.Detach {
		return func() {}, x.Start()
	}
	if x.SysProcAttr == nil {
		x.SysProcAttr = &syscall.SysProcAttr{}
	}
	x.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := x.Start()
		started <- err
		if err == nil {
			<-ended
		}
	}()
	return sync.OnceFunc(func() { close(ended) }), <-started
}
