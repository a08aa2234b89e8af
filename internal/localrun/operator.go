package localrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/recording"
)

// reloadGrace is what an operator has to stop when a newer one waits for its
// place: less than at the end, as the user waits too.
const reloadGrace = 3 * time.Second

// operator is one running process of the operator.
type operator struct {
	process  host.Process
	from     time.Time
	tail     *tail
	out, err *lines
	address  string             // of its webhook server; "" without webhooks
	stop     context.CancelFunc // interrupts it, and kills it after its grace
	debugged bool               // the process is a debugger
	replaced atomic.Bool        // it makes room for a newer one
	done     chan struct{}      // closed when it has ended
	ending   error              // of Wait; valid when done is closed
}

// startOperator runs what was built. It gets a process group of its own: the
// terminal's Ctrl-C is for mysdk, which passes it on. Its life does not hang on
// ctx: the webhooks have to go before it does.
func (r *run) startOperator(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.identify(ctx); err != nil {
		return err
	}
	l, err := r.launch(ctx)
	if err != nil {
		return err
	}
	t := &tail{}
	// exec interrupts a process when its context ends: here, when we say so.
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	op := &operator{from: r.Host.Now(), tail: t, address: l.address, stop: stop, debugged: r.Debug > 0, done: make(chan struct{}),
		out: r.stream(t, false), err: r.stream(t, true)}
	later := r.announced != ""
	quiet := func() bool { return later || op.replaced.Load() }
	op.out.quiet, op.err.quiet = quiet, quiet
	c := host.Cmd{
		Name: l.program, Args: l.args, Dir: r.Dir, Env: l.env,
		Stdout: op.out, Stderr: op.err, Group: true, Grace: operatorGrace, DieWithParent: true,
	}
	if op.process, err = r.Host.Exec.Start(alive, c); err != nil {
		stop()
		return fmt.Errorf("run the operator: %w", err)
	}
	r.announce(l)
	r.mu.Lock()
	r.operator = op // the one before has ended
	r.mu.Unlock()
	go func() {
		// Everything that the operator wrote is on the screen before anybody
		// learns that it has ended.
		op.ending = op.process.Wait()
		op.out.flush()
		op.err.flush()
		stop()
		close(op.done)
		select {
		case r.exits <- op:
		case <-r.over:
		}
	}()
	return nil
}

// announce prints how the operator was started: all of it at the first time,
// and later only what differs from the time before.
func (r *run) announce(l launch) {
	lines := append([]string{"operator started: " + strings.Join(append([]string{filepath.Base(r.plan.binary)}, l.shown...), " ")}, l.notes...)
	for _, e := range l.set {
		key, value, _ := strings.Cut(e, "=")
		lines = append(lines, fmt.Sprintf("  %s=%s", key, host.ShellQuote(value)))
	}
	if text := strings.Join(lines, "\n"); text != r.announced {
		first := r.announced == ""
		r.announced = text
		if first || !r.Watch {
			r.screen.say("%s", text)
		}
	}
}

// stream is where one of the operator's outputs goes: to the same one of ours.
func (r *run) stream(t *tail, stderr bool) *lines {
	l := &lines{screen: r.screen, to: r.screen.out, prefix: prefix, tail: t, note: r.noteLine}
	if stderr {
		l.to = r.screen.err
	}
	if r.Color {
		l.prefix = colorPrefix
	}
	return l
}

// endOperator ends the running operator, if there is one, in the way that end
// does it, and returns when it has gone: two never reconcile at the same time.
// One that takes too long is killed.
func (r *run) endOperator(end func(*operator)) {
	if h := r.hooks.Load(); h != nil {
		h.proxy.pause()
	}
	op := r.running()
	if op == nil {
		return
	}
	op.replaced.Store(true)
	end(op)
	grace := reloadGrace
	if r.Debug > 0 {
		grace = operatorGrace
	}
	select {
	case <-op.done:
	case <-time.After(grace):
		op.kill()
		<-op.done
	}
}

// kill does not ask, but for a debugger, which kills the operator: killed
// itself, it would leave it running.
func (op *operator) kill() {
	if op.debugged {
		op.stop()
		return
	}
	_ = op.process.Kill() // it may have ended by itself at this moment
}

// running is the operator that runs; nil if there is none.
func (r *run) running() *operator {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.operator == nil {
		return nil
	}
	select {
	case <-r.operator.done:
		return nil
	default:
		return r.operator
	}
}

// failure judges the end of an operator that nobody asked to stop. again ends
// the hint.
func (op *operator) failure(ran, again string) error {
	// The operator has ended: nobody writes to its tail any more, and it needs no lock.
	if flag := op.tail.badFlag; flag != "" {
		return clierr.Usagef("correct --operator-flags; the operator's flags are listed above", "the operator does not define the flag %s", flag)
	}
	hint, said := "correct the operator", op.tail.String()
	switch {
	case op.tail.missing != "" && (missingIn(said) != "" || strings.Contains(said, "caches to sync")):
		hint = "apply the CRD of kind " + op.tail.missing
	case strings.Contains(said, "address already in use"):
		hint = "end the program that has the port, such as another 'mysdk run local' or 'mysdk explore'"
	case strings.Contains(said, "unable to find leader election namespace"): // without a flag that this turns off
		hint = "set LeaderElectionNamespace in the options of the manager, or leave leader election out where the operator runs outside of a cluster,"
	}
	return clierr.Failedf(hint+again,
		"the operator ended after %s with %s; its last lines:%s", ran, exitText(op.ending), op.tail)
}

// exitText says how a process ended.
func exitText(err error) string {
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return fmt.Sprintf("exit code %d", exit.ExitCode())
	}
	if err == nil {
		return "exit code 0"
	}
	return err.Error()
}

// linesWaiting is how many lines of the operator may wait for the recording. More
// are dropped: the operator does not wait for us.
const linesWaiting = 4096

// report has the operator's log recorded until the function that it returns is
// called.
func (r *run) report(ctx context.Context) (end func(context.Context)) {
	lines, over, sent := make(chan recording.Line, linesWaiting), make(chan struct{}), make(chan struct{})
	r.mu.Lock()
	r.log = lines
	r.mu.Unlock()
	go func() {
		defer close(sent)
		_ = r.control.Lines(ctx, r.Dir, lines, over) // an error: the recording has gone with the cluster
	}()
	return func(ctx context.Context) {
		close(over)
		select {
		case <-sent:
		case <-ctx.Done():
		}
	}
}

// noteLine hands one line to the recording, if there is one. A kind that the cluster
// lacks is named once: the operator waits for it, and ends only after minutes.
func (r *run) noteLine(l recording.Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kind := missingIn(l.Text); kind != "" && !r.missing[kind] {
		r.missing[kind] = true
		r.screen.warn("the cluster does not have kind %s, which the operator uses; apply its CRD: %s apply --server-side -f FILE", kind, r.client.Kubectl())
	}
	if r.log == nil {
		return
	}
	r.logged++
	l.Number, l.Time = r.logged, r.Host.Now()
	select {
	case r.log <- l:
	default: // Number says that it is missing
	}
}
