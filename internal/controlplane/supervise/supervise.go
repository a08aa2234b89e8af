// Package supervise runs the components of a server side by side: when one ends,
// all do. It knows nothing of what they are.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/example/mysdk/internal/host"
)

// PollInterval is how often a step of the start looks whether it can go on.
const PollInterval = 10 * time.Millisecond

// Poll returns when done says so, or the cause of ctx's end.
func Poll(ctx context.Context, done func() bool) error {
	for !done() {
		if !host.Pause(ctx, PollInterval) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// errStopped is the cause of an end that was asked for.
var errStopped = errors.New("stopped")

// Supervisor runs the components: when one ends, all do.
type Supervisor struct {
	Ctx     context.Context // ends with the control plane
	cancel  context.CancelCauseFunc
	outer   context.Context
	running sync.WaitGroup
}

// New supervises until outer ends.
func New(outer context.Context) *Supervisor {
	ctx, cancel := context.WithCancelCause(outer)
	return &Supervisor{Ctx: ctx, cancel: cancel, outer: outer}
}

// Run starts a component that is not to return before its context ends.
func (p *Supervisor) Run(name string, component func(context.Context) error) {
	p.running.Go(func() {
		err := component(p.Ctx)
		if p.Ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("it returned")
		}
		p.cancel(fmt.Errorf("%s ended unexpectedly: %w", name, err))
	})
}

// Stop ends all components as asked.
func (p *Supervisor) Stop() { p.cancel(errStopped) }

// Wait returns when all components have ended, after their context. None is to
// be started any more.
func (p *Supervisor) Wait() { p.running.Wait() }

// Reason is why the control plane ended: nil where it was asked to.
func (p *Supervisor) Reason() error {
	cause := context.Cause(p.Ctx)
	if errors.Is(cause, errStopped) || cause == context.Cause(p.outer) { //nolint:errorlint // that very end, not one like it
		return nil
	}
	return cause
}
