package hostpods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/host"
)

// ending is how a program ended.
type ending struct {
	code          int32
	signal        int32
	started, done time.Time
	message       string
	cause         error // why it was stopped; nil where it ended by itself
}

func (e ending) ran() time.Duration { return e.done.Sub(e.started) }

// isNone reports whether it is no end of what the pod is for: it runs again.
func (e ending) isNone() bool {
	return errors.Is(e.cause, errProgramChanged) || errors.Is(e.cause, errReplaced)
}

func (c *container) execute(ctx context.Context, l *launch) ending {
	alive, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	source := l.program.Source
	if source != "" {
		source = ", from " + source
	}
	c.pod.event(corev1.EventTypeNormal, "Pulled", "Program %s stands in for image %q%s", l.program.Path, c.spec.Image, source)
	if l.leader {
		c.pod.event(corev1.EventTypeWarning, "LeaderElectionOff", "started without leader election: the program looks for its namespace in a file that only containers have; "+
			"set LeaderElectionNamespace in its main package to have it elect")
	}
	defer c.leadToCerts(l)()
	end := ending{started: time.Now()}
	process, err := c.start(context.WithoutCancel(ctx), halt, l)
	if err != nil {
		end.code, end.message, end.done = cannotStart, err.Error(), time.Now()
		c.pod.event(corev1.EventTypeWarning, "Failed", "Error: %v", err)
		c.finish(end, "StartError")
		return end
	}
	c.pod.event(corev1.EventTypeNormal, "Started", "Started container %s: process %d, %s", c.spec.Name, process.Pid(), l.program.Path)
	running, ended := context.WithCancel(context.WithoutCancel(ctx))
	stays := context.AfterFunc(alive, func() { c.terminate(running, process, l, context.Cause(alive)) })
	watched := c.watch(alive, halt, l)
	forget, noted := c.pod.left.Note(process.Pid())
	err = process.Wait()
	stays()
	ended()
	end.done = time.Now()
	if noted == nil {
		noted = forget()
	}
	if noted != nil {
		c.pod.log.Printf("note process %d: %v", process.Pid(), noted)
	}
	end.code, end.signal = exitOf(err)
	if alive.Err() != nil {
		end.cause = context.Cause(alive)
	}
	halt(nil)
	watched.Wait()
	if err := c.log.Close(); err != nil {
		c.pod.log.Printf("close the log of container %s: %v", c.spec.Name, err)
	}
	if end.code != 0 {
		end.message = c.log.message()
	}
	if end.cause != nil && ctx.Err() == nil {
		end.message = strings.TrimSpace(end.cause.Error() + "\n" + end.message)
		c.pod.event(corev1.EventTypeNormal, "Killing", "Stopped container %s: %v", c.spec.Name, end.cause)
	}
	c.finish(end, "")
	return end
}

// Exit codes with a meaning, as container runtimes have them.
const (
	cannotStart = 128
	bySignal    = 128 // plus the signal's number
)

func (c *container) start(ctx context.Context, halt context.CancelCauseFunc, l *launch) (host.Process, error) {
	if l.missing != nil {
		return nil, l.missing
	}
	log, err := createLog(logName(c.pod.logs, c.spec.Name, c.run))
	if err != nil {
		return nil, fmt.Errorf("write the log: %w", err)
	}
	old := logName(c.pod.logs, c.spec.Name, c.run-2)
	_, _ = os.Remove(old), os.Remove(old+".old") // what stays goes with the pod
	dir := l.workDir(&c.spec)
	if err := makeDirs(dir); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	process, err := startInto(ctx, log, host.Cmd{
		Name: l.program.Path, Args: l.args, Dir: dir, Env: l.env, Group: true, DieWithParent: true,
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	c.change(func() {
		c.log, c.ports, c.stopped = log, l.ports, make(chan struct{})
		c.halt, c.process, c.pid = halt, process, process.Pid()
		c.meter = reading{at: time.Now()}
		c.to(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now().Rfc3339Copy()}})
		c.now.ContainerID = fmt.Sprintf("process://%d", process.Pid())
		c.now.ImageID = l.program.ID
		c.now.Started = ptr.To(c.spec.StartupProbe == nil)
		c.now.Ready = c.spec.StartupProbe == nil && c.spec.ReadinessProbe == nil
	})
	return process, nil
}

// terminate has the process end for that cause, and kills it after its grace; ctx
// ends with the process. Its preStop hook is left out where the cluster stops, which
// gives hardly any time.
func (c *container) terminate(ctx context.Context, process host.Process, l *launch, cause error) {
	pod := c.pod.latest()
	left := grace(pod)
	var sick unhealthy
	if errors.As(cause, &sick) && sick.grace != nil {
		left = time.Duration(*sick.grace) * time.Second
	}
	kill := time.AfterFunc(left, func() { _ = process.Kill() })
	context.AfterFunc(ctx, func() { kill.Stop() })
	if hooks := c.spec.Lifecycle; hooks != nil && (pod.DeletionTimestamp != nil || !errors.Is(cause, context.Canceled)) {
		limited, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		_ = c.hook(limited, "PreStop", hooks.PreStop, l) // there is an event
	}
	_ = process.Interrupt()
}

// hook does once what the spec asks for after the start or before the end.
func (c *container) hook(ctx context.Context, kind string, h *corev1.LifecycleHandler, l *launch) error {
	if h == nil {
		return nil
	}
	if h.Sleep != nil {
		host.Pause(ctx, time.Duration(h.Sleep.Seconds)*time.Second)
		return nil
	}
	once := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: h.Exec, HTTPGet: h.HTTPGet}, TimeoutSeconds: int32(max(1, grace(c.pod.latest()).Seconds()))}
	err := c.ask(ctx, once, l)
	if err == nil || ctx.Err() != nil || strings.Contains(err.Error(), "probe failed with statuscode") { // any answer will do
		return nil
	}
	c.pod.event(corev1.EventTypeWarning, "Failed"+kind+"Hook", "%s hook failed: %v", kind, err)
	return fmt.Errorf("its %s hook failed: %w", kind, err)
}

// written is a process whose output is copied.
type written struct {
	host.Process
	output *os.File
	copied <-chan struct{}
}

func startInto(ctx context.Context, w io.Writer, cmd host.Cmd) (host.Process, error) {
	output, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = input, input
	process, err := host.OSExec{}.Start(ctx, cmd)
	_ = input.Close() // the process has its own
	if err != nil {
		return nil, errors.Join(err, output.Close())
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(w, output) // until it is closed
	}()
	return written{process, output, copied}, nil
}

// lastWords is how long the output of a program that has ended is waited for, with
// that of its group: what has left the group may hold it open for good.
const lastWords = time.Second

// Wait implements host.Process. The process's own end counts, not that of children
// that have its output.
func (p written) Wait() error {
	err := p.Process.Wait()
	select {
	case <-p.copied:
	case <-time.After(lastWords):
	}
	_ = p.output.Close() // only read
	return err
}

func (c *container) finish(end ending, reason string) {
	if reason == "" {
		reason = "Error"
		if end.code == 0 {
			reason = "Completed"
		}
	}
	c.change(func() {
		c.to(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: end.code, Signal: end.signal, Reason: reason, Message: end.message, ContainerID: c.now.ContainerID,
			StartedAt: second(end.started), FinishedAt: second(end.done),
		}})
		if end.isNone() {
			c.to(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
		}
		c.now.Ready, c.now.Started = false, ptr.To(false)
		c.pid, c.process, c.ports, c.halt = 0, nil, nil, nil
		if c.stopped != nil {
			close(c.stopped)
			c.stopped = nil
		}
	})
}

// exitOf turns the end of a process into an exit code as a kubelet shows it.
func exitOf(err error) (code, signal int32) {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, exec.ErrWaitDelay):
		// It ended well, although it was asked to, or left somebody behind
		// who holds its output open.
		return 0, 0
	case !errors.As(err, &exit):
		return cannotStart, 0
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return bySignal + int32(status.Signal()), int32(status.Signal())
	}
	return int32(exit.ExitCode()), 0
}

// second is a time as the API keeps it.
func second(t time.Time) metav1.Time { return metav1.NewTime(t).Rfc3339Copy() }
