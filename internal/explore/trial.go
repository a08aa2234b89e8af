package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/recording"
)

// startTimeout bounds how long an operator may take to watch what a trial is about.
const startTimeout = time.Minute

// healSoon bounds how long an operator may go on to fail when nothing is wrong any
// more.
const healSoon = 5 * time.Second

// goneSoon bounds how long a deleted object is waited for.
const goneSoon = time.Minute

// mostExits is how often an operator that ends by itself is started again in one
// trial.
const mostExits = 3

// Outcome is what came of a trial.
type Outcome struct {
	Steps   []Rest
	Faulted bool         // the plan's fault has happened, or there is none
	Exits   []string     // how the operator ended by itself
	Lost    []Difference // what an object has lost on its way through its versions
	Panics  []string     // of Reconcile, which controller-runtime recovers from
	Uses    []recording.Use
}

// down reports whether the operator ended too often to be started again.
func (o Outcome) down() bool { return len(o.Exits) >= mostExits }

// Rest is the cluster after a step.
type Rest struct {
	State   State
	keys    map[string]string          // of the State, by kind and name
	Object  *unstructured.Unstructured // the step's, as it is now; nil: it has gone
	Rested  bool                       // false: the operator was still at work when the time was over
	Writes  []recording.Request        // of the operator, that changed something
	Idle    []recording.Request        // of the operator, that changed nothing
	Invalid string                     // why the API server took no write of the operator's; the last reason
	Failure string                     // the error that the operator's last call for some object ended with
	Again   time.Duration              // after which the operator asked to be called again, soonest; 0: never
	Refused string                     // why the API server refused the step
}

// object is what the State calls the object of a write: by its own name if it has gone.
func (r Rest) object(q recording.Request) string {
	name := q.Kind + "/" + q.Name
	return cmp.Or(r.keys[name], name)
}

// hurried reports whether the operator was to come again soon.
func (r Rest) hurried() bool { return r.Again > 0 && r.Again <= patience }

func (o Outcome) last() Rest { return o.Steps[len(o.Steps)-1] }

type trial struct {
	*Rig
	limits
	plan      Plan
	resource  string                           // of the plan's kind; empty: not known
	namespace string                           // its own; empty where the plan's kind has none, and the whole cluster counts
	since     time.Time                        // in the whole cluster: what was made before is not the trial's
	kinds     map[schema.GroupVersionKind]bool // that anybody has written; kept from trial to trial
	out       Outcome
	log       activity
	revisions []string // of the steps' objects, after each step
}

// recorded does something while the operator's requests are recorded.
func (r *Rig) recorded(ctx context.Context, do func(context.Context) error) error {
	alive, stop := context.WithCancel(ctx)
	defer stop()
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- r.Control.Record(alive, r.Operator.User(), "", func() { close(began) }) }()
	select {
	case <-began:
		return do(ctx)
	case err := <-ended:
		return fmt.Errorf("record the operator's requests: %w", err)
	}
}

// newTrial is a plan that is about to be tried in a namespace.
func (r *Rig) newTrial(p Plan, namespace string, l limits, kinds map[schema.GroupVersionKind]bool) *trial {
	t := &trial{Rig: r, limits: l, plan: p, namespace: namespace, kinds: kinds}
	t.log = activity{namespace: namespace, operator: r.Operator.User(), since: r.Now()}
	t.out.Faulted = p.Fault == nil
	return t
}

// run tries the plan. What is left is deleted, not waited for.
func (t *trial) run(ctx context.Context) (Outcome, error) {
	if err := t.place(ctx); err != nil {
		return t.out, err
	}
	for i := range t.plan.Steps {
		if err := t.step(ctx, i); err != nil {
			return t.out, fmt.Errorf("%s: %w", t.plan, err)
		}
	}
	if t.plan.Check == Versions {
		var err error
		if t.out.Lost, err = t.roundTrips(ctx); err != nil {
			return t.out, err
		}
	}
	if t.Keep {
		return t.out, nil
	}
	return t.out, t.clear(ctx)
}

// errUnwatched reports that there is nothing to see of a plan's kind.
var errUnwatched = errors.New("the operator does not watch it")

// ready has the operator running and watching before the first step: one that
// still starts would let the first object come and go unseen.
func (t *trial) ready(ctx context.Context) error {
	own, started := t.own(), t.watched != nil
	if how, ended := t.Operator.Ended(); !ended && t.watched[own] {
		return nil
	} else if t.log.crowded {
		return errAlone
	} else if t.vain != nil && !t.watched[own] {
		return t.vain.unwatchedError(own)
	} else if !ended {
		t.Operator.Kill() // its watches began before anybody took notes
	} else if !started {
		t.out.Exits = append(t.out.Exits, how)
	}
	if err := t.start(ctx, own); err != nil {
		return err
	}
	if t.out.down() && !started {
		return clierr.Failedf("correct the operator; 'mysdk run local' shows all that it writes", "the operator does not start: it ends with %s", t.out.Exits[0])
	}
	_, err := t.settle(ctx)
	if t.log.takeWrites(); !started {
		t.watched = map[schema.GroupResource]bool{}
	}
	maps.Copy(t.watched, t.log.watched)
	if t.watched[own] = t.watched[own] || t.log.watches(own); t.watched[own] || t.out.down() || err != nil {
		return err
	}
	t.vain = &t.log
	return t.log.unwatchedError(own)
}

// step does one step, with the fault if it is for it, and notes what came of it.
func (t *trial) step(ctx context.Context, i int) error {
	step := t.plan.Steps[i]
	rest := Rest{}
	act := func() error {
		err := t.act(ctx, step)
		if err != nil && ctx.Err() == nil {
			rest.Refused = err.Error()
			return nil
		}
		return err
	}
	var err error
	if f := t.plan.Fault; f != nil && f.Step == i {
		err = t.faulty(ctx, *f, act)
	} else {
		err = act()
	}
	if err == nil {
		rest.Rested, err = t.settle(ctx)
	}
	if err == nil {
		rest.Object, err = t.Cluster.Read(ctx, step.in(t.namespace))
	}
	if err == nil && step.Do == Delete && rest.Object != nil && t.log.comesBack() {
		rest.Object, err = t.awaitGone(ctx, step)
	}
	if err != nil {
		return err
	}
	rest.Writes, rest.Idle, rest.Invalid = t.log.takeWrites()
	rest.Failure, rest.Again = t.log.failure(), t.log.again()
	t.out.Uses, t.out.Panics = t.log.uses, t.log.panics()
	if rest.State, rest.keys, err = t.snapshot(ctx, step); err != nil {
		return err
	}
	t.revisions = append(t.revisions, revisionOf(step, rest))
	t.out.Steps = append(t.out.Steps, rest)
	return nil
}

// revisionOf is when the cluster was as the operator left it; of an object that
// has gone, when the operator saw it for the last time.
func revisionOf(s Step, rest Rest) string {
	if rest.Object != nil {
		return rest.Object.GetResourceVersion()
	}
	obj := s.in("")
	for _, q := range slices.Backward(rest.Writes) {
		if q.Kind == obj.GetKind() && q.Name == obj.GetName() {
			return q.Revision
		}
	}
	return ""
}

// awaitGone waits for an object whose operator looks at it again some time; where
// requeues are waited for, until that was.
func (t *trial) awaitGone(ctx context.Context, s Step) (live *unstructured.Unstructured, err error) {
	limit := t.rest
	if again := t.log.again() + t.quiet; t.patience > 0 && again > limit {
		limit = min(again, goneSoon)
	}
	for until := t.Now().Add(limit); t.Now().Before(until); {
		if _, err = t.look(ctx); err != nil {
			return nil, err
		}
		if live, err = t.Cluster.Read(ctx, s.in(t.namespace)); live == nil || err != nil {
			return nil, err
		}
	}
	return live, nil
}

// act is what the user does.
func (t *trial) act(ctx context.Context, s Step) error {
	obj := []*unstructured.Unstructured{s.in(t.namespace)}
	if s.Via != nil {
		if err := t.act(ctx, Step{Do: Apply, Object: s.Via}); err != nil {
			return err
		}
	}
	if s.Do == Apply {
		_, err := t.Cluster.Apply(ctx, obj, kube.ApplyOptions{Force: true})
		return err
	}
	// Whether it goes is for the checks to say.
	_, _ = t.Cluster.Delete(ctx, obj, kube.DeleteOptions{Timeout: t.quiet})
	return ctx.Err()
}

// faulty does a step while something goes wrong.
func (t *trial) faulty(ctx context.Context, f Fault, act func() error) error {
	one := f.Injection
	if one.Do == state.FaultStale {
		if one.Revision = t.revisions[f.As]; one.Revision == "" {
			return act() // the object went at once, and nobody saw it go
		}
	}
	if one.Do == state.FaultHold || one.Do == state.FaultLose || one.Do == state.FaultRefuse {
		one.Namespace = cmp.Or(t.namespace, one.Namespace)
		one.Name = strings.ReplaceAll(one.Name, OwnNamespace, t.namespace)
	}
	// Only from here on may the operator live in the past.
	if f.Restart && one.Do == state.FaultStale {
		if err := errors.Join(act(), t.atRest(ctx)); err != nil {
			return err
		}
		t.Operator.Kill()
		act = func() error { return nil }
	}
	armed, stop := context.WithCancel(ctx)
	defer stop()
	hits, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		ended <- t.Control.Inject(armed, state.Fault{Operator: t.Operator.User(), Injection: one}, func() {
			select {
			case hits <- struct{}{}:
			default: // the first says it all
			}
		})
	}()
	select {
	case <-hits: // it is armed
	case err := <-ended:
		return fmt.Errorf("inject a fault: %w", err)
	}
	if err := act(); err != nil {
		return err
	}
	if one.Do == state.FaultStale || one.Do == state.FaultGap {
		if f.Restart { // watches of what it is blind for are not answered, so that its lists count
			if err := t.restart(ctx); err != nil {
				return err
			}
			if err := t.awaitUntil(ctx, startTimeout, func() bool { return len(hits) > 0 }); err != nil {
				return err
			}
		}
		t.out.Faulted = true
		if err := t.atRest(ctx); err != nil {
			return err
		}
		blind := schema.GroupResource{Group: one.Group, Resource: one.Resource}
		t.log.forget(blind)
		stop()
		<-ended //nolint:errcheck // that of ctx
		return t.awaitWatch(ctx, blind, t.rest)
	}
	return t.await(ctx, f, hits, func() { stop(); <-ended }) //nolint:errcheck // that of ctx
}

// await waits until the fault has happened, or the operator has done all that it
// does without it; for one that does not come to rest, no longer than settle does.
func (t *trial) await(ctx context.Context, f Fault, hits <-chan struct{}, disarm func()) error {
	for until := t.Now().Add(t.rest); ; {
		select {
		case <-hits:
			t.out.Faulted = true
			if !f.Restart {
				return t.heal(ctx, disarm)
			}
			t.Operator.Kill()
			disarm()
			return t.start(ctx, t.own())
		default:
		}
		rested, err := t.look(ctx)
		if rested || err != nil || !t.Now().Before(until) {
			disarm()
			return err
		}
	}
}

// heal ends a fault when the operator knows of it, or rests without: with each
// error it waits longer until it tries again.
func (t *trial) heal(ctx context.Context, disarm func()) error {
	fails := func() bool { return t.log.failure() != "" }
	until, rested := t.Now().Add(t.rest), false
	var err error
	for !rested && err == nil && !fails() && t.Now().Before(until) {
		rested, err = t.look(ctx)
	}
	if disarm(); err != nil {
		return err
	}
	return t.awaitUntil(ctx, healSoon, func() bool { return !fails() })
}

// start starts the operator, and returns when it watches a resource, or only others for long.
func (t *trial) start(ctx context.Context, of schema.GroupResource) error {
	if err := t.restart(ctx); err != nil {
		return err
	}
	first := schema.GroupResource{Group: of.Group}
	if t.watched != nil && !t.watched[of] {
		first.Group = "" // which it may watch nothing of
	}
	if err := t.awaitWatch(ctx, first, startTimeout); err != nil {
		return err
	}
	return t.awaitWatch(ctx, of, t.rest)
}

// own is what the plan is about.
func (t *trial) own() schema.GroupResource {
	return schema.GroupResource{Group: t.plan.Steps[0].in("").GroupVersionKind().Group, Resource: t.resource}
}

// restart starts an operator that has ended again. What it had locked is
// unlocked: the next one is not to wait until its lease runs out.
func (t *trial) restart(ctx context.Context) error {
	t.log.restarted(t.Now())
	var locks []*unstructured.Unstructured
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	} {
		list, err := t.Cluster.List(ctx, gvk, kube.ListOptions{})
		if err != nil {
			return err
		}
		locks = append(locks, slices.DeleteFunc(list, func(u *unstructured.Unstructured) bool { return !isLock(u) })...)
	}
	if len(locks) > 0 {
		if _, err := t.Cluster.Delete(ctx, locks, kube.DeleteOptions{Timeout: goneTimeout}); err != nil {
			return err
		}
	}
	return t.Operator.Start(ctx)
}

// leaderAnnotation is on ConfigMaps by which client-go elected leaders before it
// had Leases.
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader"

// isLock reports whether an object is what elects the leader among operators:
// a Lease that is not the cluster's own, or a ConfigMap as of old.
func isLock(u *unstructured.Unstructured) bool {
	if u.GetKind() == "Lease" {
		return !strings.HasPrefix(u.GetNamespace(), "kube-")
	}
	return u.GetAnnotations()[leaderAnnotation] != ""
}

// awaitWatch waits until the operator watches a resource again, for which clients
// wait some seconds where a watch has failed.
func (t *trial) awaitWatch(ctx context.Context, of schema.GroupResource, limit time.Duration) error {
	return t.awaitUntil(ctx, limit, func() bool { return t.log.watches(of) })
}

// awaitUntil waits until something is so, the limit is over or the operator ends too
// often.
func (t *trial) awaitUntil(ctx context.Context, limit time.Duration, so func() bool) error {
	for until := t.Now().Add(limit); !t.out.down() && !so() && t.Now().Before(until); {
		if _, err := t.look(ctx); err != nil {
			return err
		}
	}
	t.log.touch(t.Now())
	return nil
}

// atRest is settle where it does not matter whether there is rest.
func (t *trial) atRest(ctx context.Context) error {
	_, err := t.settle(ctx)
	return err
}

// settle waits until the cluster is at rest, or has not come to rest for too long.
func (t *trial) settle(ctx context.Context) (rested bool, err error) {
	t.log.touch(t.Now())
	until := t.Now().Add(t.rest)
	for t.Now().Before(until) || rested && t.Now().Before(until.Add(t.patience)) {
		lull, err := t.look(ctx)
		if err != nil || lull && !t.log.due(t.Now(), t.quiet, t.patience) {
			return lull, err
		}
		rested = rested || lull // what each requeue changes has no end, and may be no fault
	}
	return rested, nil
}

// look takes notes for a moment, and reports whether the cluster is at rest. An
// operator that has ended is noted and started again.
func (t *trial) look(ctx context.Context) (bool, error) {
	if how, ended := t.Operator.Ended(); ended {
		if t.log.crowded {
			return false, errAlone
		}
		if t.out.down() {
			return true, nil // nothing more will happen
		}
		t.out.Exits = append(t.out.Exits, how)
		if err := t.restart(ctx); err != nil {
			return false, err
		}
	}
	rec, err := t.Control.Recording(ctx, recording.Position{Request: t.log.after, Line: recording.NoLines}, t.quiet/8)
	if err != nil {
		return false, err
	}
	t.log.take(rec, t.kinds)
	return t.log.rested(t.Now(), t.quiet), nil
}
