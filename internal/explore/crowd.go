package explore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

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
		t.crowded, t.log.crowded, t.kinds = true, true, maps.Clone(e.kinds)
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
	if isOver(err) {
		a.rounds = append(batch, a.rounds...)
	}
	for k := 0; k < len(batch) && err == nil; k++ {
		err = e.weigh(ctx, a, batch[k], out[k])
	}
	return true, err
}
