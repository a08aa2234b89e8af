package localrun

import (
	"context"
	"errors"
	"fmt"
)

// Driver is a run whose operator somebody else ends and starts, at will.
type Driver struct{ r *run }

// Drive brings up what Run does, the operator included, hands it to use, and
// stops everything when that returns. Options.Watch has no effect.
func Drive(ctx context.Context, o Options, d Deps, use func(ctx context.Context, d *Driver) error) error {
	o.Watch = false
	r, err := prepare(ctx, o, d)
	if err != nil {
		return err
	}
	r.driven = true
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go r.heed(cancel)
	if err = r.start(work, cancel); err == nil {
		err = firstCause(work, use(work, &Driver{r}))
	}
	stopping, stopped := r.stopping(ctx)
	defer stopped()
	if h := r.hooks.Load(); h != nil {
		err = errors.Join(err, h.off(stopping))
	}
	cancel(nil)
	close(r.over)
	r.settling.Wait()
	(&Driver{r}).Kill()
	return r.finish(ctx, err)
}

// heed listens to what only follow does otherwise: the driver looks for itself
// whether the operator runs.
func (r *run) heed(cancel context.CancelCauseFunc) {
	for {
		select {
		case <-r.exits:
		case err := <-r.failures:
			cancel(err)
		case <-r.over:
			return
		}
	}
}

// Client is the client of the cluster.
func (d *Driver) Client() Client { return d.r.client }

// User is the name of the operator's user.
func (d *Driver) User() string { return d.r.user }

// Kill kills the operator as kill -9 does, and returns when it has gone.
func (d *Driver) Kill() { d.r.endOperator((*operator).kill) }

// Start starts the operator again, once it has ended.
func (d *Driver) Start(ctx context.Context) error {
	if err := d.r.startOperator(ctx); err != nil {
		return err
	}
	d.r.settle(ctx)
	return nil
}

// Ended reports whether the operator has ended by itself, and how: its exit and
// its last lines.
func (d *Driver) Ended() (how string, ended bool) {
	d.r.mu.Lock()
	op := d.r.operator
	d.r.mu.Unlock()
	select {
	case <-op.done:
		return fmt.Sprintf("%s; its last lines:%s", exitText(op.ending), op.tail), !op.replaced.Load()
	default:
		return "", false
	}
}
