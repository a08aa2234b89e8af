package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/fields"
	"github.com/example/mysdk/internal/kube"
)

// faultsEach is how many faults of each kind are tried between two crowds of
// changes, which show where faults may hurt.
const faultsEach = 3

// agenda is what is left to try with a sample.
type agenda struct {
	faults  []idea // in its life undisturbed
	rounds  []idea // of changes, there and back
	changed []idea // faults in changes that have the operator do something new
	others  []idea // old data in other changes: when all else is tried
	sample  Sample
	worked  []mutation    // of each property one that went well by itself
	pairs   [][2]mutation // of these, when each has been tried by itself
}

func (a *agenda) left() int {
	return len(a.faults) + len(a.rounds) + len(a.changed) + len(a.others) + len(a.pairs)
}

// begin tries a sample undisturbed, and collects what to try with it.
func (e *explorer) begin(ctx context.Context, s Sample) error {
	life := s.life()
	o, err := e.trial(ctx, life, 0)
	if errors.Is(err, errUnwatched) {
		e.report.Notes = append(e.report.Notes, fmt.Sprintf("%s, %s, is left out: %v", s.Object.GetKind(), s.File, err))
		return nil
	}
	if err != nil {
		return err
	}
	if why := o.Steps[0].Refused; why != "" {
		e.report.Notes = append(e.report.Notes, fmt.Sprintf("%s is refused: %s", s.File, why))
		return nil
	}
	e.noteFailure("the sample as it is", life, Rest{Failure: o.Steps[0].Failure}) // what is invalid is a finding
	if err := e.judge(ctx, life, nil, o); err != nil {
		return err
	}
	a := &agenda{sample: s}
	changes := mutationsOf(fields.Schema(s.CRD, s.Object.GroupVersionKind().Version), s.Object.Object, e.Seed)
	for _, m := range changes {
		if e.wants(History, Recovery, Ignored, Mistaken, Crash, Stale, Unreachable) {
			a.rounds = append(a.rounds, e.round(s, m)...)
		}
	}
	if e.wants(Crash, Unreachable) {
		a.faults = alternate(faultsOf(life, o, 1), faultsOf(life, o, 0))
		a.faults = slices.DeleteFunc(a.faults, func(i idea) bool { return !e.wants(i.plan.Check) })
	}
	if e.wants(Versions) {
		there := Plan{Check: Versions, Steps: life.Steps[:1]}
		a.faults = append([]idea{{plan: there}}, a.faults...)
	}
	if e.wants(Stale) {
		a.changed, a.others = s.recreated(), s.staleOf(changes)
	}
	e.plans = append(e.plans, a)
	return nil
}

// round is the idea to change properties and change them back, if that is possible.
func (e *explorer) round(s Sample, changes ...mutation) []idea {
	plan, fresh, ok := s.round(changes...)
	if !ok {
		return nil
	}
	plan.Check = History
	next := idea{plan: plan}
	if e.wants(History, Recovery, Ignored, Mistaken) {
		next.against = &fresh
	}
	if len(changes) == 1 {
		next.change = changes[0]
	}
	return []idea{next}
}

// pair puts the next changes of two properties on an agenda where all single ones
// are tried. The seed decides on the order.
func (e *explorer) pair(a *agenda) {
	if len(a.rounds) > 0 {
		return
	}
	for i, m := range a.worked {
		for _, n := range a.worked[:i] {
			if !related(m.path, n.path) {
				a.pairs = append(a.pairs, [2]mutation{n, m})
			}
		}
	}
	if len(a.worked) > 0 {
		a.worked = nil
		random := rand.New(rand.NewPCG(e.Seed, 0)) //nolint:gosec // the same seed is to give the same plan
		random.Shuffle(len(a.pairs), func(i, j int) { a.pairs[i], a.pairs[j] = a.pairs[j], a.pairs[i] })
	}
	for len(a.pairs) > 0 && len(a.rounds) < abreast {
		a.rounds = append(a.rounds, e.round(a.sample, a.pairs[0][:]...)...)
		a.pairs = a.pairs[1:]
	}
}

// well notes a change that went well, the first of its property.
func (a *agenda) well(m mutation, changed Rest) {
	if len(m.path) > 0 && changed.Rested && changed.Failure == "" && changed.Invalid == "" && !declines(changed.Object) &&
		!slices.ContainsFunc(a.worked, func(n mutation) bool { return slices.Equal(m.path, n.path) }) {
		a.worked = append(a.worked, m)
	}
}

// work tries what is on the agendas, in turn.
func (e *explorer) work(ctx context.Context) error {
	until := e.Now().Add(e.Time - e.Time/shrinkShare)
	for again := true; again; {
		again = false
		for _, a := range e.plans {
			rounds, err := e.nextRounds(ctx, a, until)
			for n := 0; n < faultsEach && err == nil; n++ {
				for _, list := range []*[]idea{&a.changed, &a.faults} {
					tried := false
					if err == nil {
						tried, err = e.next(ctx, a, list, until)
					}
					again = again || tried
				}
			}
			if err != nil {
				return err
			}
			again = again || rounds
			if !again {
				a.changed, a.others = a.others, nil
				again = len(a.changed) > 0
			}
		}
	}
	return nil
}

// next tries the first idea of one of an agenda's lists, if there is one.
func (e *explorer) next(ctx context.Context, a *agenda, list *[]idea, until time.Time) (tried bool, err error) {
	if len(*list) > 0 && e.enough(until) {
		return false, errOver
	}
	first, err := e.take(ctx, list, 1)
	if len(first) == 0 || err != nil {
		return false, err
	}
	o, err := e.trial(ctx, first[0].plan, 0)
	if err == nil {
		err = e.weigh(ctx, a, first[0], o)
	}
	return true, err
}

// take takes the first n ideas off a list. Those that are not valid objects are
// dropped, for which the API server is asked before they cost a trial.
func (e *explorer) take(ctx context.Context, list *[]idea, n int) ([]idea, error) {
	var out []idea
	for len(*list) > 0 && len(out) < n {
		first := (*list)[0]
		valid, err := e.valid(ctx, first.plan)
		if err != nil {
			return out, err
		}
		if *list = (*list)[1:]; valid {
			out = append(out, first)
		}
	}
	return out, nil
}

// valid reports whether the schemas allow what a plan changes. What admission
// refuses may depend on what is there, and is tried.
func (e *explorer) valid(ctx context.Context, p Plan) (bool, error) {
	namespace := metav1.NamespaceDefault
	if e.clusterScoped(p) {
		namespace = ""
	}
	for _, s := range p.Steps {
		if s.Do != Apply || s.Path == "" && s.Parts == nil {
			continue
		}
		for _, object := range []map[string]any{s.Via, s.Object} {
			if object == nil {
				continue
			}
			obj := []*unstructured.Unstructured{Step{Object: object}.in(namespace)}
			if _, err := e.Cluster.Apply(ctx, obj, kube.ApplyOptions{Force: true, DryRun: true}); apierrors.IsInvalid(err) {
				return false, nil
			}
		}
	}
	return true, ctx.Err()
}

// enough reports whether the rest of the time is for making findings smaller.
func (e *explorer) enough(until time.Time) bool {
	return len(e.report.Findings) > 0 && e.Now().After(until)
}

// weigh judges what came of an idea, and collects what it leads to.
func (e *explorer) weigh(ctx context.Context, a *agenda, i idea, o Outcome) error {
	if !o.Faulted {
		return nil // it did not come to that this time
	}
	if i.plan.Fault == nil && slices.ContainsFunc(o.Steps, func(r Rest) bool { return r.Refused != "" }) {
		return nil // not a state that the API allows
	}
	if i.plan.Check == History {
		e.disturb(a, i.plan, o)
		a.well(i.change, o.Steps[1])
	}
	return e.judge(ctx, i.plan, i.against, o)
}

// disturb collects what can go wrong in a change that went well, if it has the
// operator do what no other change did: old data, missed events, an end after
// each of its writes, and writes that are refused.
func (e *explorer) disturb(a *agenda, p Plan, o Outcome) {
	var way strings.Builder
	for _, q := range o.Steps[1].Writes {
		fmt.Fprintln(&way, q.Verb, q.Group, q.Resource, q.Subresource)
	}
	if way.Len() == 0 || e.ways[way.String()] {
		return
	}
	e.ways[way.String()] = true
	var more, others []idea
	for _, i := range a.others {
		if i.plan.Steps[1].Path == p.Steps[1].Path {
			more = append(more, i)
		} else {
			others = append(others, i)
		}
	}
	a.others = others
	for _, i := range faultsOf(p, o, 1) {
		if e.wants(i.plan.Check) && i.plan.Fault.Do != state.FaultLose {
			more = append(more, i)
		}
	}
	a.changed = byRank(alternate(a.changed, more))
}

// alternate takes from two lists in turn: what is new need not wait for all that
// is old.
func alternate(a, b []idea) []idea {
	var all []idea
	for i := range max(len(a), len(b)) {
		if i < len(b) {
			all = append(all, b[i])
		}
		if i < len(a) {
			all = append(all, a[i])
		}
	}
	return all
}

// abreast is how many changes are tried side by side, each with what it is
// compared with: trials wait most of the time.
const abreast = 2

// errAlone reports that the operator ended in a crowd. Nobody knows which plan was
// to blame, so each is tried by itself.
var errAlone = errors.New("the operator has ended")

// crowd tries plans in which nothing goes wrong side by side, each in its own
// namespace; kinds without namespaces have no room for two. Outcomes are in the order
// of the plans.
func (e *explorer) crowd(ctx context.Context, plans []Plan) ([]Outcome, error) {
	if slices.ContainsFunc(plans, e.clusterScoped) {
		return e.oneByOne(ctx, plans, nil)
	}
	trials, before := make([]*trial, len(plans)), e.report
	for i, p := range plans {
		t, err := e.prepare(ctx, p)
		if err != nil {
			e.report = before // none of them is tried
			return nil, err
		}
		t.log.crowded, t.kinds = true, maps.Clone(e.kinds)
		trials[i] = t
	}
	out := make([]Outcome, len(plans))
	err := e.recorded(ctx, func(ctx context.Context) error {
		all, ctx := errgroup.WithContext(ctx)
		for i, t := range trials {
			all.Go(func() (err error) {
				out[i], err = t.run(ctx)
				return err
			})
		}
		return all.Wait()
	})
	for _, t := range trials {
		maps.Copy(e.kinds, t.kinds)
	}
	if errors.Is(err, errAlone) {
		return e.oneByOne(ctx, plans, trials)
	}
	if err == nil {
		for i, p := range plans {
			e.ends.guess(p, out[i])
		}
	}
	return out, err
}

// oneByOne tries plans again after a crowd that did not end well, once what that
// has left is gone.
func (e *explorer) oneByOne(ctx context.Context, plans []Plan, left []*trial) ([]Outcome, error) {
	for _, t := range left {
		if err := t.clear(ctx); err != nil {
			return nil, err
		}
	}
	out := make([]Outcome, len(plans))
	for i, p := range plans {
		var err error
		if out[i], err = e.trial(ctx, p, 0); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// nextRounds tries the next changes of an agenda, with what they are compared with.
func (e *explorer) nextRounds(ctx context.Context, a *agenda, until time.Time) (tried bool, err error) {
	if e.pair(a); len(a.rounds) > 0 && e.enough(until) {
		return false, errOver
	}
	batch, err := e.take(ctx, &a.rounds, abreast)
	if len(batch) == 0 || err != nil {
		return false, err
	}
	var plans []Plan
	for _, i := range batch {
		plans = append(plans, i.plan)
	}
	for _, i := range batch {
		if i.against == nil {
			continue
		}
		if _, known := e.ends.of(*i.against); !known {
			plans = append(plans, *i.against)
		}
	}
	out, err := e.crowd(ctx, plans)
	if errors.Is(err, errOver) {
		a.rounds = append(batch, a.rounds...)
	}
	for k := 0; k < len(batch) && err == nil; k++ {
		err = e.weigh(ctx, a, batch[k], out[k])
	}
	return true, err
}
