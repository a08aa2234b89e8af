package explore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/mysdk/internal/cluster/state"
)

// shrinkShare is the part of the time that is kept for making findings smaller:
// one of so many.
const shrinkShare = 4

// shrinkAll makes the plans of confirmed findings smaller, each in its part of
// the time that is left of the share.
func (e *explorer) shrinkAll(ctx context.Context) error {
	until := e.Now().Add(e.Time / shrinkShare)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	for i, f := range e.report.Findings {
		if f.Unconfirmed {
			continue
		}
		part := until.Sub(e.Now()) / time.Duration(len(e.report.Findings)-i)
		limited, cancel := context.WithDeadline(ctx, e.Now().Add(part))
		smaller, err := e.shrink(limited, f)
		over := limited.Err() != nil
		cancel()
		if err != nil && !over && ctx.Err() == nil && !errors.Is(err, errOver) {
			return err
		}
		e.report.Findings[i] = smaller
	}
	return nil
}

// shrink returns the finding with the smallest plan that was seen to show it,
// as often as any finding is seen. Where that fails, or the time is over, it is
// the finding itself.
func (e *explorer) shrink(ctx context.Context, f Finding) (Finding, error) {
	var last Finding // as the smallest plan showed it
	shows := func(g Finding) (bool, error) {
		again, ok, err := e.shown(ctx, f, g)
		if ok {
			last = again
		}
		return ok, err
	}
	small, err := minimized(f, shows)
	if small.Plan.ID() == f.Plan.ID() {
		return f, err
	}
	small.Title, small.Differences, small.Frames = last.Title, last.Differences, last.Frames
	small.ID = small.id()
	small.Confirmed, small.Tries = 1, 1
	for small.Tries < confirmations {
		again, ok, stopped := e.shown(ctx, f, small)
		if !ok {
			return f, stopped
		}
		small.Tries, small.Confirmed = small.Tries+1, small.Confirmed+1
		small.narrow(again)
	}
	return small, nil
}

// shown tries the plan of g, and reports whether it shows what f is about.
func (e *explorer) shown(ctx context.Context, f, g Finding) (again Finding, ok bool, err error) {
	o, err := e.trial(ctx, g.Plan, patience)
	if err != nil || !o.Faulted || g.Plan.Fault == nil && slices.ContainsFunc(o.Steps, func(r Rest) bool { return r.Refused != "" }) {
		return g, false, err
	}
	list, err := e.findings(ctx, g.Plan, g.Against, o)
	if err != nil {
		return g, false, err
	}
	i := slices.IndexFunc(list, f.same)
	if i < 0 || len(f.Differences) > 0 && len(common(f.Differences[:1], list[i].Differences)) == 0 {
		return g, false, nil
	}
	return list[i], true, nil
}

// minimized drops from a finding's plan, and from the one that it is compared
// with, what shows says it is still shown without: the fault, one of two changes,
// steps, and fields of the objects, by delta debugging (Zeller and Hildebrandt, 2002) from the
// outermost fields to the innermost. With an error it is the smallest so far.
func minimized(f Finding, shows func(Finding) (bool, error)) (Finding, error) {
	try := func(g Finding, ok bool) (bool, error) {
		if !ok {
			return false, nil
		}
		shown, err := shows(g)
		if shown && err == nil {
			f = g
		}
		return shown, err
	}
	if _, err := try(f.withoutFault()); err != nil {
		return f, err
	}
	for i := range 2 {
		if _, err := try(f.onlyPart(i)); err != nil {
			return f, err
		}
	}
	for i := len(f.Plan.Steps) - 1; i >= 0; i-- {
		if _, err := try(f.withoutStep(i)); err != nil {
			return f, err
		}
	}
	if f.Check == Ignored {
		return f, nil // without what turns a property on, it is rightly ignored
	}
	for depth := 1; depth <= maxDepth; depth++ {
		err := dropMost(f.fields(depth), func(drop [][]string) (bool, error) {
			return try(f.withSteps(func(steps []Step) []Step { return stepsWithout(steps, drop) }), true)
		})
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// dropMost drops all parts at once, then halves, quarters and so on.
func dropMost[T any](parts []T, without func(drop []T) (bool, error)) error {
	for size := len(parts); size > 0; size /= 2 {
		for from := 0; from < len(parts); {
			to := min(from+size, len(parts))
			ok, err := without(parts[from:to])
			if err != nil {
				return err
			}
			if ok {
				parts = slices.Delete(slices.Clone(parts), from, to)
			} else {
				from = to
			}
		}
	}
	return nil
}

// withoutFault is the finding with nothing that goes wrong. A plan that is
// compared with itself would then show nothing.
func (f Finding) withoutFault() (Finding, bool) {
	if f.Plan.Fault == nil || len(f.Differences) > 0 {
		return f, false
	}
	f.Plan.Fault = nil
	return f, true
}

// onlyPart is the finding with one of several changes.
func (f Finding) onlyPart(i int) (one Finding, ok bool) {
	one = f.withSteps(func(steps []Step) []Step {
		steps = slices.Clone(steps)
		for k, s := range steps {
			if i < len(s.Parts) {
				steps[k], ok = s.Parts[i], true
			}
		}
		return steps
	})
	return one, ok
}

// withSteps is the finding with changed steps, of the plan that it is compared with, too.
func (f Finding) withSteps(changed func([]Step) []Step) Finding {
	f.Plan.Steps = changed(f.Plan.Steps)
	if f.Against != nil {
		f.Against = &Plan{Check: f.Against.Check, Steps: changed(f.Against.Steps), Fault: f.Against.Fault}
	}
	return f
}

// withoutStep is the finding without one step. What is judged by itself, or at
// fixed steps of its plan, can only lose its end; steps under a fault are the
// same in the plan that it is compared with.
func (f Finding) withoutStep(i int) (Finding, bool) {
	p := f.Plan
	switch {
	case len(p.Steps) == 1, p.Check == History && len(p.Steps) == 2:
		return f, false
	case p.Fault == nil:
		if i < len(p.Steps)-1 || f.Check == Leftovers {
			return f, false
		}
	case f.Against != nil && len(f.Against.Steps) != len(p.Steps), i >= p.Fault.Step, i == p.Fault.As && p.Fault.Do == state.FaultStale:
		return f, false
	default:
		fault := *p.Fault
		fault.Step--
		if fault.As > i {
			fault.As--
		}
		f.Plan.Fault = &fault
		if f.Against != nil {
			f.Against = &Plan{Check: f.Against.Check, Steps: slices.Delete(slices.Clone(f.Against.Steps), i, i+1)}
		}
	}
	f.Plan.Steps = slices.Delete(slices.Clone(p.Steps), i, i+1)
	return f, true
}

// fields are the paths, so many names below spec, labels and annotations, that
// objects of the finding have and that may be dropped: those that a step
// changes stay.
func (f Finding) fields(depth int) [][]string {
	found := map[string][]string{}
	var collect func(v any, path []string, depth int)
	collect = func(v any, path []string, depth int) {
		if depth == 0 {
			found[strings.Join(path, "\x00")] = path
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				collect(e, append(slices.Clone(path), k), depth-1)
			}
		case []any:
			for i, e := range v {
				collect(e, append(slices.Clone(path), strconv.Itoa(i)), depth-1)
			}
		}
	}
	for _, step := range f.Plan.Steps {
		collect(step.Object["spec"], []string{"spec"}, depth)
		if m, ok := step.Object["metadata"].(map[string]any); ok {
			collect(m["labels"], []string{"metadata", "labels"}, depth)
			collect(m["annotations"], []string{"metadata", "annotations"}, depth)
		}
	}
	var list [][]string
	for _, key := range slices.Sorted(maps.Keys(found)) {
		path := found[key]
		if !slices.ContainsFunc(f.Plan.Steps, func(s Step) bool { return s.changes(path) }) {
			list = append(list, path)
		}
	}
	slices.Reverse(list) // of a list, the last item first: the others keep their places
	return list
}

// changes reports whether a step changes a path, or something within it or above.
func (s Step) changes(path []string) bool {
	return s.Path != "" && related(path, strings.Split(s.Path, ".")) || slices.ContainsFunc(s.Parts, func(one Step) bool { return one.changes(path) })
}

// related reports whether one of two paths is within the other.
func related(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

func stepsWithout(steps []Step, drop [][]string) []Step {
	steps = slices.Clone(steps)
	for i, s := range steps {
		steps[i].Object = objectWithout(s.Object, drop)
		if s.Via != nil {
			steps[i].Via = objectWithout(s.Via, drop)
		}
	}
	return steps
}

func objectWithout(object map[string]any, drop [][]string) map[string]any {
	var out any = runtime.DeepCopyJSON(object)
	for _, path := range drop {
		out = valueWithout(out, path)
	}
	m, _ := out.(map[string]any)
	return m
}

// valueWithout removes the value at a path, which must not be empty.
func valueWithout(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		e, ok := v[path[0]]
		if len(path) == 1 {
			delete(v, path[0])
		} else if ok {
			v[path[0]] = valueWithout(e, path[1:])
		}
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(v) {
			return v
		}
		if len(path) == 1 {
			return slices.Delete(v, i, i+1)
		}
		v[i] = valueWithout(v[i], path[1:])
	}
	return v
}
