package localrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

const (
	namesShown  = 3           // how many changed files a line names, and how many objects lines are about
	schemaDelay = time.Second // until an API server judges by the schema of a CRD that it has taken
)

// reloads brings each change, and each wish for a restart, into the running
// operator and into the cluster, one after the other, until ctx ends.
func (r *run) reloads(ctx context.Context) {
	var wake chan struct{}
	if r.watcher != nil {
		wake = r.watcher.wake
	}
	for {
		c := &reload{r: r}
		do := c.run
		select {
		case <-ctx.Done():
			return
		case <-r.Restart:
			c.what, r.stale = "restarting", true
		case <-r.Crash:
			do = r.crash
		case <-wake:
			changed, err := r.watcher.take()
			if err != nil {
				r.tell(err)
			}
			if len(changed) == 0 {
				continue
			}
			c.what = "changed: " + shorten(changed)
			r.stale = r.stale || slices.ContainsFunc(changed, r.isCode)
		}
		c.from = r.Host.Now()
		if err := do(ctx); err != nil && ctx.Err() == nil {
			c.failed(err)
		}
	}
}

// crash ends the operator as a crash would, and starts it again.
func (r *run) crash(ctx context.Context) error {
	r.screen.say("killing the operator")
	if err := r.findDebugger(ctx); err != nil {
		return err
	}
	d := Driver{r}
	d.Kill()
	return d.Start(ctx)
}

// failed says what became of a round.
func (c *reload) failed(err error) {
	r, next := c.r, "the previous operator keeps running"
	if r.running() == nil {
		if r.watcher == nil {
			r.fail(err) // nothing would start it
			return
		}
		next = "waiting for the next change"
	}
	r.tell(err)
	r.screen.say("%s (%s)", next, r.since(c.from))
}

// reload is one round: from a change to the new operator.
type reload struct {
	r     *run
	from  time.Time
	what  string   // it is for
	steps []string // what was done, with times
}

// run does what the change asks for. The build begins at once, beside the
// generators, and starts again in the rare case that they write Go code.
func (c *reload) run(ctx context.Context) error {
	r := c.r
	r.screen.say("%s", c.what)
	b := newBuild(r)
	if r.stale {
		b.start(ctx)
	}
	b, err := c.generate(ctx, b)
	r.mu.Lock()
	r.build = b // finished at the end of the run, whatever happens here
	r.mu.Unlock()
	var m Manifests
	if err == nil {
		if m, err = r.Render(ctx); err != nil {
			err = fmt.Errorf("render the CRDs: %w", err)
		}
	}
	if buildErr := c.built(b); buildErr != nil {
		return buildErr // the compiler's message is what says most
	}
	if err != nil {
		return err
	}
	// Starting what is out of date already would only take time from the build
	// of what is not.
	if r.watcher.waiting() {
		r.screen.say("changed again meanwhile (%s)", r.since(c.from))
		return nil
	}
	// Only now: an operator that keeps running because the code does not compile
	// would lose the fields that the new CRDs no longer have.
	if err := c.apply(ctx, m); err != nil {
		return err
	}
	return c.restart(ctx, b.started)
}

// generate brings generated files up to date, and returns the build that has
// seen them.
func (c *reload) generate(ctx context.Context, b *build) (*build, error) {
	from := c.r.Host.Now()
	wrote, err := c.r.watcher.during(func() ([]string, error) { return c.r.Regenerate(ctx) })
	// Most changes are to controllers, and give no new Go code: waiting for the
	// generators first would cost each of them half a second.
	if slices.ContainsFunc(wrote, c.r.isCode) {
		b.drop()
		b = newBuild(c.r)
		c.r.stale = true
		b.start(ctx)
	}
	c.step("generated", from)
	return b, err
}

// apply brings the manifests to the cluster that are not there as they are
// now: CRDs at once, for the new operator to find. Webhook configurations that
// are new follow when that answers; those that are gone go before it comes.
func (c *reload) apply(ctx context.Context, m Manifests) error {
	from := c.r.Host.Now()
	if err := c.r.want(ctx, m); err != nil {
		return err
	}
	crds, err := c.r.applyCRDs(ctx, from)
	if err != nil {
		return err
	}
	if err := c.r.applyRole(ctx); err != nil {
		return err
	}
	if err := c.r.rereadManifests(ctx); err != nil {
		return err
	}
	if h := c.r.hooks.Load(); h != nil {
		if err := h.retire(ctx, c.r.wanted()); err != nil {
			return err
		}
	}
	if crds {
		c.step("CRDs applied", from)
	}
	return nil
}

// built waits for the build. The compiler's words are held back until it is
// known that they are the newest.
func (c *reload) built(b *build) error {
	if !b.started {
		return nil
	}
	<-b.done
	if b.err != nil && c.r.watcher.waiting() {
		return nil // there is something newer to compile
	}
	b.out.release() // warnings of a build that succeeded, too
	if b.err != nil {
		return b.err
	}
	c.steps = append(c.steps, "built "+b.took)
	return nil
}

// restart replaces the operator by what was built. Without anything new the
// one that runs stays.
func (c *reload) restart(ctx context.Context, built bool) error {
	r := c.r
	if built || r.running() == nil {
		from := r.Host.Now()
		if err := r.findDebugger(ctx); err != nil {
			return err
		}
		r.endOperator(func(op *operator) { op.stop() })
		if err := r.startOperator(ctx); err != nil {
			return err
		}
		r.stale = false
		c.step("restarted", from)
	}
	r.settle(ctx)
	r.screen.say("reloaded (%s): %s", r.since(c.from), strings.Join(c.steps, ", "))
	return nil
}

// step notes what was done since from, for the last line.
func (c *reload) step(what string, from time.Time) {
	c.steps = append(c.steps, what+" "+c.r.since(from))
}

// shorten lists the first few names.
func shorten(names []string) string {
	if more := len(names) - namesShown; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namesShown], ", "), more)
	}
	return strings.Join(names, ", ")
}

// tellInvalid warns of objects that CRDs no longer allow: an operator whose Go types
// they do not fit can list none of their kind, and its log names none of them.
func (r *run) tellInvalid(ctx context.Context, crds []*unstructured.Unstructured, results []kube.Result) {
	host.Pause(ctx, schemaDelay)
	var list []string
	for _, crd := range crds {
		if !slices.Contains(results, kube.Result{Ref: kube.RefOf(crd), Action: kube.Configured}) {
			continue
		}
		found, err := r.client.Invalid(ctx, crd)
		if err != nil && ctx.Err() == nil {
			r.screen.warn("%v", err)
		}
		list = append(list, found...)
	}
	for i, one := range list {
		if i == namesShown {
			r.screen.warn("and %d more", len(list)-i)
			return
		}
		r.screen.warn("the CRD no longer allows %s", one)
	}
}
