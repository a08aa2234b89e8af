package explore

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/recording"
)

const (
	// pendingSoon is how soon a requeue must come to be waited for: operators that
	// look again every minute are at rest.
	pendingSoon = 2 * time.Second
	// retrySoon is for how long a call that has failed is waited for to be tried
	// again. The waits of controller-runtime double, so that an operator that
	// fails for good comes to rest after some tries.
	retrySoon = time.Second
	// patience is how late a requeue may come to be waited for before a finding is
	// believed: operators without a watch on what they make look whether it is ready.
	patience = 10 * time.Second
)

// activity is what goes on in a trial, and whether it still does. Silence alone
// is no rest: an operator may sleep inside Reconcile.
type activity struct {
	namespace string                        // the trial's; empty: the whole cluster, but for those of other trials
	operator  string                        // user
	crowded   bool                          // what it does for other trials may keep it from this one
	since     time.Time                     // start of the process that runs
	last      time.Time                     // something happened
	changed   time.Time                     // the operator changed something, or was given something to do
	after     uint64                        // Seq of the last request that is known
	watched   map[schema.GroupResource]bool // by the operator, since they were last forgotten
	calls     []recording.Reconcile
	writes    []recording.Request
	idle      []recording.Request
	invalid   string
	uses      []recording.Use
	unwatched []recording.Right // for lack of which it does not watch
}

// covers reports whether what is in a namespace, or without one in "", is of the
// trial.
func (a *activity) covers(namespace string) bool {
	if a.namespace == "" {
		return !strings.HasPrefix(namespace, trialPrefix)
	}
	return namespace == a.namespace
}

// touch starts the wait for rest over.
func (a *activity) touch(now time.Time) { a.last, a.changed = now, now }

// forget starts the wait for a watch of a resource over.
func (a *activity) forget(of schema.GroupResource) { delete(a.watched, of) }

// watches reports whether the operator watches a resource; without its name any
// of the group's, and without the group any at all.
func (a *activity) watches(of schema.GroupResource) bool {
	for w := range a.watched {
		if (of.Group == "" || w.Group == of.Group) && (of.Resource == "" || w.Resource == of.Resource) {
			return true
		}
	}
	return false
}

// unwatchedError is errUnwatched, with the right that the operator lacks.
func (a *activity) unwatchedError(of schema.GroupResource) error {
	for _, right := range a.unwatched {
		if right.Group == of.Group && (of.Resource == "" || right.Resource == of.Resource) {
			return fmt.Errorf("%w: its roles do not let it %s", errUnwatched, right)
		}
	}
	return errUnwatched
}

// restarted notes that another process is about to run.
func (a *activity) restarted(now time.Time) {
	a.since, a.last, a.watched = now, now, nil
}

// take takes what was recorded since the last time.
func (a *activity) take(rec recording.Recording, kinds map[schema.GroupVersionKind]bool) {
	a.calls, a.uses, a.unwatched = rec.Reconciles, rec.Uses, rec.Unwatched()
	for _, q := range rec.Requests {
		a.after = q.Seq
		if q.Group == "authentication.k8s.io" || q.Group == "authorization.k8s.io" {
			continue // a question, such as an access review: nothing is written
		}
		if q.Kind != "" && q.Subresource == "" && q.Code < http.StatusBadRequest {
			kinds[schema.GroupVersionKind{Group: q.Group, Version: q.Version, Kind: q.Kind}] = true
		}
		mine := q.User == a.operator
		elsewhere := !a.covers(q.Namespace) && (!mine || strings.HasPrefix(q.Namespace, trialPrefix))
		if q.Resource == "leases" || q.Resource == "events" || elsewhere {
			continue
		}
		if end := q.Time.Add(q.Took); q.Verb != "watch" && end.After(a.last) {
			a.last = end
		}
		if mine && q.Verb == "watch" && q.Code < http.StatusBadRequest && q.Time.Add(q.Took).After(a.since) {
			if a.watched == nil {
				a.watched = map[schema.GroupResource]bool{}
			}
			a.watched[schema.GroupResource{Group: q.Group, Resource: q.Resource}] = true
		}
		if mine && q.Writes() && a.covers(q.Namespace) {
			a.wrote(q)
		}
	}
}

// wrote takes a write of the operator's. Its name is that of the object in a State.
func (a *activity) wrote(q recording.Request) {
	if q.Resource != "namespaces" { // which are within themselves, as requests see it
		q.Name = keyName(a.namespace, q.Namespace, q.Name)
	}
	switch {
	case q.Code == http.StatusUnprocessableEntity:
		a.invalid = q.Message
	case q.Code >= http.StatusBadRequest || q.DryRun:
	case q.Changed():
		a.writes, a.changed = append(a.writes, q), q.Time
	default:
		a.idle = append(a.idle, q)
	}
}

// rested reports whether nothing goes on, has gone on for a while, and is about
// to.
func (a *activity) rested(now time.Time, quiet time.Duration) bool {
	if now.Sub(a.last) < quiet {
		return false
	}
	if a.crowded && slices.ContainsFunc(a.calls, func(c recording.Reconcile) bool {
		return c.Begin.After(a.since) && (c.End.IsZero() || now.Sub(c.End) < quiet)
	}) {
		return false // this trial's next call may have to wait for that of another
	}
	return !slices.ContainsFunc(a.lastCalls(), func(c recording.Reconcile) bool {
		return c.End.IsZero() || (c.Error != "" || c.Requeue) && now.Sub(c.End) < retrySoon ||
			c.After > 0 && c.After <= pendingSoon && now.Sub(c.End) < c.After+quiet
	})
}

// due reports whether a call that the operator has asked for, after no more than some
// time, has not come since it changed something: it may go on then.
func (a *activity) due(now time.Time, quiet, most time.Duration) bool {
	return slices.ContainsFunc(a.lastCalls(), func(c recording.Reconcile) bool {
		return c.After > 0 && c.After <= most && now.Sub(a.changed) < c.After+quiet
	})
}

// comesBack reports whether the last call for some object asked to be called
// again, or is going to be.
func (a *activity) comesBack() bool {
	asks := func(c recording.Reconcile) bool { return c.After > 0 || c.Requeue || c.Error != "" }
	return slices.ContainsFunc(a.lastCalls(), asks)
}

// again is the shortest wait that a last call asked for; 0: none did.
func (a *activity) again() (soonest time.Duration) {
	for _, c := range a.lastCalls() {
		if c.After > 0 && (soonest == 0 || c.After < soonest) {
			soonest = c.After
		}
	}
	return soonest
}

// panics are where calls for objects of the trial have panicked, each once.
// controller-runtime makes errors of them.
func (a *activity) panics() []string {
	var list []string
	for _, c := range a.calls {
		at, ok := strings.CutPrefix(c.Error, recording.Panic)
		if ok && a.covers(c.Namespace) && !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list
}

// failure is the error that the last call for some object ended with.
func (a *activity) failure() (text string) {
	for _, c := range a.lastCalls() {
		text = max(text, c.Error) // of several, the same each time
	}
	return text
}

// lastCalls are the last calls of the process that runs, one for each object.
func (a *activity) lastCalls() []recording.Reconcile {
	last := map[string]recording.Reconcile{}
	for _, c := range a.calls {
		if a.covers(c.Namespace) && c.Begin.After(a.since) {
			last[c.Controller+" "+c.Namespace+"/"+c.Name] = c
		}
	}
	return slices.Collect(maps.Values(last))
}

// takeWrites returns the operator's writes since it was last called, and why the
// API server found one invalid.
func (a *activity) takeWrites() (writes, idle []recording.Request, invalid string) {
	writes, idle, invalid = a.writes, a.idle, a.invalid
	a.writes, a.idle, a.invalid = nil, nil, ""
	return writes, idle, invalid
}
