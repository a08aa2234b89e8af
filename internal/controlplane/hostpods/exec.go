package hostpods

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/host"
)

// maxProbeOutput is how much of what a probe's command says is passed on, in
// bytes, as in a kubelet.
const maxProbeOutput = 10 << 10

// standsFor reports whether the program that stands in for the container's
// image is the one that a command's first word names: the container's own
// command, or a file of the program's name. Nothing else of an image is here.
func (l *launch) standsFor(c *corev1.Container, word string) bool {
	if len(c.Command) > 0 && word == c.Command[0] {
		return true
	}
	return word != "" && path.Base(word) == filepath.Base(l.program.Path)
}

// tellSkipped writes an event for each probe and hook whose command cannot be run,
// and which therefore counts as passed.
func (c *container) tellSkipped(l *launch) {
	hooks := ptr.Deref(c.spec.Lifecycle, corev1.Lifecycle{})
	for _, one := range []struct {
		name string
		exec *corev1.ExecAction
	}{
		{"Liveness probe", ptr.Deref(c.spec.LivenessProbe, corev1.Probe{}).Exec},
		{"PostStart hook", ptr.Deref(hooks.PostStart, corev1.LifecycleHandler{}).Exec},
		{"PreStop hook", ptr.Deref(hooks.PreStop, corev1.LifecycleHandler{}).Exec},
		{"Readiness probe", ptr.Deref(c.spec.ReadinessProbe, corev1.Probe{}).Exec},
		{"Startup probe", ptr.Deref(c.spec.StartupProbe, corev1.Probe{}).Exec},
	} {
		if one.exec != nil && len(one.exec.Command) > 0 && !l.standsFor(&c.spec, one.exec.Command[0]) {
			c.pod.event(corev1.EventTypeWarning, "CommandSkipped", "%s counts as passed: %s cannot be run, as only the operator's program %s of the image is available",
				one.name, one.exec.Command[0], l.program.Path)
		}
	}
}

// runProbe runs a probe's command beside the process that it asks about, with
// that one's environment, directory and addresses.
func (c *container) runProbe(ctx context.Context, command []string, timeout time.Duration, l *launch) error {
	if len(command) == 0 || !l.standsFor(&c.spec, command[0]) {
		return nil // told once
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var said limited
	process, err := host.OSExec{}.Start(ctx, host.Cmd{
		Name: l.program.Path, Args: l.probeArgs(&c.spec, command[1:]), Dir: l.workDir(&c.spec), Env: l.env, Stdout: &said, Stderr: &said,
		Group: true, DieWithParent: true, Grace: time.Millisecond, // with which its output is not waited for either
	})
	if err != nil {
		return err
	}
	err = process.Wait()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("command %q timed out after %s", strings.Join(command, " "), timeout)
	}
	if code, _ := exitOf(err); code != 0 {
		return fmt.Errorf("command %q ended with exit code %d: %s", strings.Join(command, " "), code, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

// probeArgs are the arguments of a probe's command on this machine: with the
// variables that the container's spec spells out, and with paths and addresses
// where those of the process are.
func (l *launch) probeArgs(c *corev1.Container, args []string) []string {
	vars := map[string]string{}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			vars[e.Name] = e.Value
		}
	}
	all := make([]string, len(args))
	for i, arg := range args {
		all[i] = relocate(expansion.Expand(arg, expansion.MappingFuncFor(vars)), l.mounts)
	}
	return l.ports.args(all)
}

func (l *launch) workDir(c *corev1.Container) string {
	if c.WorkingDir == "" {
		return l.dir
	}
	return filepath.Join(l.dir, filepath.Clean("/"+c.WorkingDir))
}

// limited keeps the beginning of what is written to it.
type limited struct{ bytes.Buffer }

// Write implements io.Writer.
func (l *limited) Write(data []byte) (int, error) {
	if room := maxProbeOutput - l.Len(); room > 0 {
		l.Buffer.Write(data[:min(room, len(data))])
	}
	return len(data), nil
}
