package localrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// operator is the running process.
type operator struct {
	process  host.Process
	from     time.Time
	tail     *tail
	out, err *lines
	ended    chan error // gets the result of Wait
}

// startOperator runs what was built. It gets a process group of its own: the
// terminal's Ctrl-C is for mysdk, which passes it on.
func (r *run) startOperator(ctx context.Context) error {
	set, env := r.environment()
	t := &tail{}
	op := &operator{from: r.Host.Now(), tail: t, ended: make(chan error, 1),
		out: r.stream(t, false), err: r.stream(t, true)}
	var err error
	op.process, err = r.Host.Exec.Start(ctx, host.Cmd{
		Name: r.plan.binary, Args: r.plan.args, Dir: r.Dir, Env: env,
		Stdout: op.out, Stderr: op.err, Group: true, Grace: operatorGrace, DieWithParent: true,
	})
	if err != nil {
		return fmt.Errorf("run the operator: %w", err)
	}
	r.operator = op
	r.screen.say("operator started: %s", strings.Join(append([]string{filepath.Base(r.plan.binary)}, r.plan.args...), " "))
	for _, e := range set {
		key, value, _ := strings.Cut(e, "=")
		r.screen.say("  %s=%s", key, shellQuote(value))
	}
	go func() { op.ended <- op.process.Wait() }()
	return nil
}

func (r *run) stream(t *tail, stderr bool) *lines {
	l := &lines{screen: r.screen, to: r.screen.out, prefix: prefix, tail: t}
	if stderr {
		l.to = r.screen.err
	}
	if r.Color {
		l.prefix = colorPrefix
	}
	return l
}

// follow applies the manifests and waits for the operator's end, or brings it
// about: by ctx, which interrupts it and kills it after its grace, by the second
// Ctrl-C, which kills it at once, or because a manifest was refused.
func (r *run) follow(ctx context.Context, cancel context.CancelCauseFunc) error {
	applied := make(chan error, 1)
	go func() { applied <- r.applyManifests(ctx) }()
	stop, kill := ctx.Done(), r.Kill
	var failed error
	for {
		select {
		case <-stop:
			r.screen.say("stopping the operator; a second Ctrl-C kills it")
			stop = nil
		case <-kill:
			kill = nil
			// It may have ended by itself at this moment.
			_ = r.operator.process.Kill()
		case err := <-applied:
			applied = nil
			if err != nil && ctx.Err() == nil {
				failed = err
				cancel(err)
			}
		case err := <-r.operator.ended:
			asked := ctx.Err() != nil
			cancel(nil)
			if applied != nil {
				<-applied // uses the client; ends with ctx
			}
			return r.operatorEnded(err, asked, failed)
		}
	}
}

// operatorEnded judges the operator's end. asked says that it was stopped,
// failed why it was if that was not the user's wish.
func (r *run) operatorEnded(err error, asked bool, failed error) error {
	r.operator.out.flush()
	r.operator.err.flush()
	ran := r.since(r.operator.from)
	if asked {
		r.screen.say("operator stopped after %s", ran)
		return failed
	}
	if err == nil {
		r.screen.say("operator ended by itself after %s", ran)
		return nil
	}
	if flag := r.operator.tail.unknownFlag(); flag != "" {
		return clierr.Usagef("correct --operator-flags; the operator's own flags stand above", "the operator knows no flag %s", flag)
	}
	return clierr.Failedf("correct the operator and run 'mysdk run local' again",
		"the operator ended after %s with %s; its last lines:%s", ran, exitText(err), r.operator.tail)
}

// exitText says how a process ended.
func exitText(err error) string {
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return fmt.Sprintf("exit code %d", exit.ExitCode())
	}
	return err.Error()
}
