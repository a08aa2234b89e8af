package localrun

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"time"

	"github.com/example/mysdk/internal/clierr"
)

const (
	// answerEvery is how often the operator's webhook server is tried: dialling
	// loopback costs nothing, and nobody announces that a port is open.
	answerEvery = 20 * time.Millisecond
	answerSlow  = 20 * time.Second // when the user is told that it does not answer yet
)

// follow waits for the operator's end, or brings it about: by ctx, after the
// webhooks were taken out of the cluster; by the second Ctrl-C, which kills it
// at once; or because something failed that the run cannot do without. Under
// Watch it goes on when the operator ends by itself, until ctx does.
func (r *run) follow(ctx context.Context, cancel context.CancelCauseFunc) error {
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		r.reloads(ctx)
	}()
	r.settling.Go(func() { r.lookElsewhere(ctx) })
	err := r.waitForEnd(ctx, cancel, watching)
	cancel(nil)
	<-watching
	close(r.over)
	r.settling.Wait() // uses the client; ends with ctx
	return err
}

// waitForEnd is the loop of follow. Channels that have had their say become nil,
// which select passes over.
func (r *run) waitForEnd(ctx context.Context, cancel context.CancelCauseFunc, watching <-chan struct{}) error {
	stop, kill := ctx.Done(), r.Kill
	var failed error
	var stopped chan bool
	for {
		select {
		case <-stop:
			stop = nil
			r.screen.say("stopping the operator; a second Ctrl-C kills it")
			stopped = make(chan bool, 1)
			go func() { stopped <- r.interrupt(ctx, watching) }()
		case asked := <-stopped:
			stopped = nil
			if !asked {
				return failed // none was running
			}
		case <-kill:
			kill = nil
			if op := r.running(); op != nil {
				op.kill()
			}
		case err := <-r.failures:
			if ctx.Err() == nil {
				r.tell(err) // the operator may take long to stop
				failed = err
				cancel(err)
			}
		case op := <-r.exits:
			if op.replaced.Load() {
				continue
			}
			end, err := r.operatorEnded(ctx, op)
			if end && failed != nil {
				return failed // what the operator was stopped for
			}
			if end {
				return err
			}
		}
	}
}

// interrupt takes the webhooks out of the cluster and then interrupts the
// operator. It reports whether one was running.
func (r *run) interrupt(ctx context.Context, watching <-chan struct{}) bool {
	<-watching // it may be about to start another one
	if h := r.hooks.Load(); h != nil {
		stopping, cancel := r.stopping(ctx)
		defer cancel()
		// It is tried again if there is time, and reported, when everything is stopped.
		_ = h.off(stopping)
	}
	op := r.running()
	if op == nil {
		return false
	}
	op.stop()
	return true
}

// operatorEnded says what became of the operator, and whether that is the end
// of the run.
func (r *run) operatorEnded(ctx context.Context, op *operator) (end bool, err error) {
	ran := r.since(op.from)
	if ctx.Err() != nil {
		r.screen.say("operator stopped after %s", ran)
		return true, nil
	}
	if h := r.hooks.Load(); h != nil {
		h.proxy.refuse("the operator has ended")
		if r.watcher != nil {
			// Nobody answers until the next change: those that would refuse
			// everything go, and come back with the next operator. Conversions
			// stay, as objects cannot be read without them.
			if err := h.retire(ctx, Manifests{CRDs: r.wanted().CRDs}); err != nil {
				r.tell(err)
			}
		}
	}
	if op.ending == nil {
		r.screen.say("operator ended by itself after %s", ran)
	} else {
		err = op.failure(ran, r.again())
	}
	if r.watcher == nil {
		return true, err
	}
	if err != nil {
		r.tell(err)
	}
	r.screen.say("waiting for the next change")
	return false, nil
}

// settle does beside a running operator what needs it: the webhooks are turned
// on once it answers, and what --apply named is applied the first time.
func (r *run) settle(ctx context.Context) {
	op := r.running()
	if op == nil {
		return // it has ended already, which follow tells
	}
	// One that ends is of no use to wait for, and its successor settles itself.
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-op.done:
		case <-ctx.Done():
		}
	}()
	r.settling.Go(func() {
		defer cancel()
		if err := r.settled(ctx, op); err != nil && ctx.Err() == nil {
			r.fail(err)
		}
	})
}

// fail ends the run with an error, or only tells it where the next change may
// fix it.
func (r *run) fail(err error) {
	if r.watcher != nil {
		r.tell(err)
		return
	}
	select {
	case r.failures <- err:
	case <-r.over:
	}
}

// tell prints an error that does not end the run.
func (r *run) tell(err error) {
	r.screen.print("error: %v", err)
	if hint := clierr.HintOf(err); hint != "" {
		r.screen.print("hint:  %s", strings.Replace(hint, " and run the command again", r.again(), 1))
	}
}

// settled waits, so it runs beside everything else. Order matters: requests are
// let through before the API server is told to send more of them.
func (r *run) settled(ctx context.Context, op *operator) error {
	if h := r.hooks.Load(); h != nil && op.address != "" {
		from := r.Host.Now()
		if err := h.await(ctx, op.address); err != nil {
			return err
		}
		h.proxy.point(op.address)
		changed, err := h.admit(ctx, r.wanted().Webhooks)
		if err != nil {
			return err
		}
		if changed = append(h.takeConverted(), changed...); len(changed) > 0 {
			r.screen.say("webhooks on (%s), at %s: %s", r.since(from), h.url, strings.Join(changed, ", "))
		}
	}
	return r.applyManifests(ctx)
}

// await waits until the operator's webhook server shows the certificate that it
// was given. The time that takes has no limit: a debugger may hold it.
func (h *hooks) await(ctx context.Context, address string) error {
	dialer := tls.Dialer{Config: h.certs.client}
	slow, tick := time.After(answerSlow), time.Tick(answerEvery)
	if h.r.Debug > 0 {
		slow = nil
	}
	// A refused connection is nothing to report for a while; a certificate that
	// is not ours will stay so.
	for told := false; ; {
		problem := ""
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close() // an operator that has ended meanwhile says why
			return nil
		}
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			problem = "the operator's webhook server at %s has a certificate of its own: does main.go use the flag --webhook-cert-path? Its webhooks stay off"
		}
		select {
		case <-slow:
			problem = cmp.Or(problem, "the operator has no webhook server at %s yet; its webhooks are off until then")
		case <-tick:
		case <-ctx.Done():
			return ctx.Err()
		}
		if problem == "" || told {
			continue
		}
		told = true
		h.r.screen.warn(problem, address)
		// There may never be one to wait for; but objects may need it, and wait in the
		// proxy until it answers. Those that fail are applied again then.
		h.r.settling.Go(func() {
			if err := h.r.applyManifests(ctx); err != nil && ctx.Err() == nil {
				h.r.tell(err)
			}
		})
	}
}
