package controlplane

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// errStopped is the cause of an end that was asked for.
var errStopped = errors.New("stopped")

// supervisor runs the components: when one ends, all do.
type supervisor struct {
	ctx     context.Context // ends with the control plane
	cancel  context.CancelCauseFunc
	outer   context.Context
	running sync.WaitGroup
}

func newSupervisor(outer context.Context) *supervisor {
	ctx, cancel := context.WithCancelCause(outer)
	return &supervisor{ctx: ctx, cancel: cancel, outer: outer}
}

// run starts a component that is not to return before its context ends.
func (p *supervisor) run(name string, component func(context.Context) error) {
	p.running.Go(func() {
		err := component(p.ctx)
		if p.ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("it returned")
		}
		p.cancel(fmt.Errorf("%s ended unexpectedly: %w", name, err))
	})
}

// stop ends all components as asked.
func (p *supervisor) stop() { p.cancel(errStopped) }

// wait returns when all components have ended, after their context. None is to
// be started any more.
func (p *supervisor) wait() { p.running.Wait() }

// reason is why the control plane ended: nil where it was asked to.
func (p *supervisor) reason() error {
	cause := context.Cause(p.ctx)
	if errors.Is(cause, errStopped) || cause == context.Cause(p.outer) {
		return nil
	}
	return cause
}

// group runs steps side by side and joins their errors.
type group struct {
	steps sync.WaitGroup
	mu    sync.Mutex
	errs  []error
}

func (g *group) run(step func() error) {
	g.steps.Go(func() {
		if err := step(); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.errs = append(g.errs, err)
		}
	})
}

func (g *group) wait() error {
	g.steps.Wait()
	return errors.Join(g.errs...)
}
