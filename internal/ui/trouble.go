package ui

import (
	"context"
	"sync"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
)

// trouble is what goes wrong for the operator until it is over, or until
// something else goes wrong in its place.
type trouble struct {
	inject func(ctx context.Context, f state.Fault, hit func()) error
	clock  func() time.Time

	mu    sync.Mutex
	stop  func() // nil: nothing was injected
	what  state.Injection
	until time.Time
}

// now is what goes wrong, and until when; nil: nothing.
func (t *trouble) now() (what *state.Injection, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop == nil || !t.clock().Before(t.until) {
		return nil, time.Time{}
	}
	return &t.what, t.until
}

func (t *trouble) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over()
}

func (t *trouble) over() {
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
}

// set injects a fault for that long, in place of the one before. It outlives the
// request whose context ctx is, but not the process: the server ends it then.
func (t *trouble) set(ctx context.Context, operator string, what state.Injection, long time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if long == 0 {
		t.over()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), long)
	armed, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- t.inject(ctx, state.Fault{Operator: operator, Injection: what}, sync.OnceFunc(func() { close(armed) }))
	}()
	select {
	case <-armed:
		t.over()
		t.stop = func() { cancel(); <-ended } //nolint:errcheck // that of ctx
		t.what, t.until = what, t.clock().Add(long)
		return nil
	case err := <-ended:
		cancel()
		return err
	}
}
