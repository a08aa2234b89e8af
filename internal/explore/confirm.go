package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
)

// confirm tries a finding again, and keeps of its differences those that come
// each time. One that does not come again is none; another plan may show it yet.
func (e *explorer) confirm(ctx context.Context, f Finding) (bool, error) {
	f.Confirmed, f.Tries, f.ID = 1, 1, f.id()
	for f.Tries < confirmations {
		_, again, err := e.again(ctx, f)
		if err != nil && f.hurried && f.Tries == 1 {
			return false, err // nobody has seen where that ends
		}
		if err != nil {
			f.Unconfirmed = true
			e.keep(f)
			return true, err
		}
		f.Tries++
		i := slices.IndexFunc(again, f.same)
		if i < 0 {
			return false, nil
		}
		f.Confirmed++
		f.narrow(again[i])
	}
	e.keep(f)
	return true, nil
}

// again is what is found when the plan of a finding is tried once more.
func (e *explorer) again(ctx context.Context, f Finding) (o Outcome, found []Finding, err error) {
	if o, err = e.trial(ctx, f.Plan, patience); err == nil {
		found, err = e.findings(ctx, f.Plan, f.Against, o)
	}
	return o, found, err
}

// same reports whether another trial shows the same finding.
func (f Finding) same(g Finding) bool {
	if f.Check != g.Check {
		return false
	}
	if len(f.Differences) == 0 {
		return len(g.Differences) == 0 && (f.Check == Unrest || slices.Equal(f.Frames, g.Frames))
	}
	return len(common(f.Differences, g.Differences)) > 0
}

// anywhere is the finding without the lines of its code, which move when the code is
// edited. What is forbidden may be so at any place.
func (f Finding) anywhere() Finding {
	f.Frames = slices.Clone(f.Frames)
	for i, at := range f.Frames {
		f.Frames[i], _, _ = strings.Cut(at, ":")
	}
	if f.Check == Forbidden {
		f.Frames = []string{f.Title}
	}
	return f
}

// narrow keeps of a finding's differences those that another trial shows, too.
func (f *Finding) narrow(again Finding) {
	if list := common(f.Differences, again.Differences); len(list) < len(f.Differences) {
		f.Differences, f.Title = list, titleOf(list)
	}
}

func common(a, b []Difference) []Difference {
	return slices.DeleteFunc(slices.Clone(a), func(d Difference) bool {
		return !slices.ContainsFunc(b, func(x Difference) bool { return x.Object == d.Object && x.Path == d.Path })
	})
}

func (e *explorer) keep(f Finding) {
	e.Progress(fmt.Sprintf("found: %s: %s", f.Check, f.Title))
	e.report.Findings = append(e.report.Findings, f)
}

// replay tries the plan of a finding once more: last, as what it leaves may be kept, and
// what it is compared with is to find none of that.
func (e *explorer) replay(ctx context.Context, f Finding) error {
	keep := e.Keep
	e.Keep = false
	for i := 0; f.Against != nil && i < 2; i++ { // once more for what differs from run to run
		if _, err := e.trial(ctx, *f.Against, patience); err != nil {
			return err
		}
	}
	e.Keep = keep
	o, again, err := e.again(ctx, f)
	if err != nil {
		return err
	}
	return e.weighReplay(f, o, again)
}

// weighReplay keeps what shows a finding again. Without any, the trial must have been one
// that could show it.
func (e *explorer) weighReplay(f Finding, o Outcome, again []Finding) error {
	for _, g := range again {
		if f.anywhere().same(g.anywhere()) {
			g.ID, g.Against, g.Confirmed, g.Tries = f.ID, f.Against, 1, 1
			e.keep(g)
		}
	}
	refused := slices.IndexFunc(o.Steps, func(r Rest) bool { return r.Refused != "" })
	switch {
	case len(e.report.Findings) > 0:
		return nil
	case o.down():
		return clierr.Failedf("correct that first; 'mysdk run local' shows all that the operator writes",
			"the finding could not be tried: the operator ended %d times, last with %s", len(o.Exits), o.Exits[len(o.Exits)-1])
	case refused >= 0 && (f.Plan.Fault == nil || !o.Faulted):
		return clierr.Failedf("look for new findings with 'mysdk explore --checks "+f.Check+
			"', or correct what refuses it: the schema or a webhook",
			"the finding could not be tried: step %d is refused: %s", refused+1, o.Steps[refused].Refused)
	case !o.Faulted:
		return clierr.Failedf("the trial did not get that far this time, or the operator no longer makes that request; "+
			"try again, or look for new findings with 'mysdk explore --checks "+f.Check+"'",
			"the finding could not be tried: the trial never reached the point %s", f.Plan.Fault)
	}
	return nil
}
