package localrun

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/recording"
)

const (
	// loopsEvery is how often a run looks for loops, and loopsSpan how far back: all of
	// a recording would take longer the longer the run.
	loopsEvery = 10 * time.Second
	loopsSpan  = time.Minute
)

// tellLoops warns of loops until ctx ends.
func (r *run) tellLoops(ctx context.Context) {
	l := loops{told: map[string]bool{}}
	for host.Pause(ctx, loopsEvery) {
		at := l.recent.Position()
		at.Line = recording.NoLines
		more, err := r.control.Recording(ctx, at, 0)
		if err != nil || !more.Of(r.Dir) {
			return // record says so
		}
		for _, one := range l.take(more) {
			r.screen.warn("%s; look at '%s'", warning(one), r.why(one.Reconciled))
		}
	}
}

// warning says what a loop is. A fight may be with the user.
func warning(l recording.Loop) string {
	if l.Pattern == recording.Fight {
		return "two writers set one field back and forth: " + l.Text()
	}
	return "the operator is in a loop: " + l.Text()
}

// why is the command that shows the reconciles of an object in the run's cluster.
func (r *run) why(o recording.Object) string {
	return o.Command() + strings.TrimPrefix(r.client.Kubectl(), "mysdk kubectl")
}

// loops are those that a run has met.
type loops struct {
	recent recording.Recording
	told   map[string]bool
}

// take takes in what was recorded since, and returns loops that go on, one for each
// line that makes them: those in which the operator causes its own calls, or sets back
// what another writer sets. Others may be how it waits; 'mysdk why' has them.
func (l *loops) take(more recording.Recording) []recording.Loop {
	l.recent.Append(more)
	from := more.Until.Add(-loopsSpan)
	l.recent.Reconciles = slices.DeleteFunc(l.recent.Reconciles, func(c recording.Reconcile) bool { return c.Begin.Before(from) })
	l.recent.Events = slices.DeleteFunc(l.recent.Events, func(e recording.Event) bool { return e.Time.Before(from) })
	l.recent.Requests = slices.DeleteFunc(l.recent.Requests, func(q recording.Request) bool {
		return q.Verb != "watch" && q.Time.Before(from)
	})
	var list []recording.Loop
	for _, one := range l.recent.Loops() {
		key := one.Pattern + strings.Join(one.By, " ")
		if one.Over || l.told[key] || one.Pattern != recording.OwnWrites && one.Pattern != recording.Fight {
			continue
		}
		l.told[key] = true
		list = append(list, one)
	}
	return list
}
