package recording

import (
	"slices"
	"strconv"
	"time"
)

const (
	// late is how far behind a write its event may be, where it is not known
	// when that was sent: a write from before a call may still cause the next one.
	late = 250 * time.Millisecond
	// soon is how quickly a call follows its cause where the operator is idle.
	soon = time.Second
	// atOnce is how quickly one does that the operator is sure to be called for.
	atOnce = 100 * time.Millisecond
	// timerSlack is how much later than asked a requeue may come.
	timerSlack = 2 * time.Second
	// retryBase is after what time a first error is retried; each further one
	// takes twice as long, up to retryMax. They are client-go's.
	retryBase, retryMax = 5 * time.Millisecond, 1000 * time.Second
	// minFollowed is how many of an object's changes must have been followed by
	// calls for it to be one that the operator maps to the reconciled one, and
	// fewFollowed the same of fewer than few, where one late call weighs more.
	minFollowed, fewFollowed, few = 0.95, 0.8, 50
	// maxSteps bounds how far owners of owners are followed.
	maxSteps = 5
)

// change is a write that changed something, and when the operator knew.
type change struct {
	*Request
	at   time.Time
	sent bool // at is when the event was sent; else when the write began
}

// evidence is what a recording has to explain calls with.
type evidence struct {
	since   time.Time
	changes []change // in the order of at
	of      map[place][]change
	watched map[string]bool
	calls   map[string][]Reconcile // of a controller, for all objects, by their begin
	owners  map[Object][]Owner     // of objects that were written
}

// ofStranger is the relation of a watched object that is of the reconciled kind itself,
// has another owner or is in another namespace. Such objects often change at the same
// time as the own ones, so that it counts only where nothing else explains a call.
const ofStranger = "stranger"

// place is an object as requests and events name it.
type place struct{ resource, group, namespace, name string }

func (r *Request) place() place { return place{r.Resource, r.Group, r.Namespace, r.Name} }

// evidence sorts what was recorded by what it is evidence of. A change that none
// of the operator's watches was told of is no cause of anything, and is left out;
// that can be told only from the time on at which events were recorded.
func (r Recording) evidence() evidence {
	e := evidence{since: r.Since, of: map[place][]change{}, watched: map[string]bool{}, calls: map[string][]Reconcile{}, owners: map[Object][]Owner{}}
	for _, q := range r.Requests {
		if q.Verb == "watch" && q.User == r.Operator {
			e.watched[q.Resource+"."+q.Group] = true
		}
	}
	sent := map[place][]Event{}
	for _, ev := range r.Events {
		at := place{ev.Resource, ev.Group, ev.Namespace, ev.Name}
		sent[at] = append(sent[at], ev)
	}
	for _, list := range sent {
		slices.SortStableFunc(list, func(a, b Event) int { return a.Time.Compare(b.Time) })
	}
	for i := range r.Requests {
		q := &r.Requests[i]
		if !q.Changed() {
			continue
		}
		if len(q.Owners) > 0 {
			e.owners[q.Object()] = q.Owners
		}
		c := change{Request: q, at: q.Time}
		if !r.EventsSince.IsZero() && q.Time.After(r.EventsSince) && q.Name != "" && e.watched[q.Resource+"."+q.Group] {
			if c.at, c.sent = sentAt(sent[q.place()], q); !c.sent {
				continue // the operator's watches leave the object out
			}
		}
		e.changes = append(e.changes, c)
	}
	slices.SortStableFunc(e.changes, func(a, b change) int { return a.at.Compare(b.at) })
	for _, c := range e.changes {
		e.of[c.place()] = append(e.of[c.place()], c)
	}
	for _, c := range r.Reconciles {
		e.calls[c.Controller] = append(e.calls[c.Controller], c)
	}
	for _, list := range e.calls {
		slices.SortStableFunc(list, func(a, b Reconcile) int { return a.Begin.Compare(b.Begin) })
	}
	return e
}

// sentAt is when the operator was sent a write's event: the first one of the
// object with a later version. The events are in the order of their time.
func sentAt(events []Event, q *Request) (time.Time, bool) {
	before, _ := strconv.ParseUint(q.Revision, 10, 64) // 0 of an object that was created
	first, _ := slices.BinarySearchFunc(events, q.Time, func(e Event, t time.Time) int { return e.Time.Compare(t) })
	for _, e := range events[first:] {
		if after, err := strconv.ParseUint(e.Revision, 10, 64); err == nil && after > before {
			return e.Time, true
		}
	}
	return time.Time{}, false
}

// history is what is known of a controller's calls for an object so far.
type history struct {
	evidence
	object   Object
	busy     []Reconcile // all of the controller's calls
	calls    []Reconcile
	told     map[uint64]bool   // writes that explain an earlier call
	follows  map[place]float64 // what follow has found
	failures int               // calls in a row that asked to be called again, by an error too
	timers   []timer           // that may still call, the newest last
}

// timer is a call that an earlier one has asked for.
type timer struct {
	by    string // ID of the call
	due   time.Time
	exact bool // the controller said when; else the due time is a guess
	cause Cause
}

// candidate is a change that may have led to a call.
type candidate struct {
	Cause
	change
	fresh bool // it can have led to no call before
}

// causes finds what led to the call of that number. It is asked in order.
func (h *history) causes(n int) []Cause {
	list := h.find(n)
	for _, cause := range list {
		if cause.Request != nil {
			h.told[cause.Request.Seq] = true
		}
	}
	h.after(h.calls[n])
	return list
}

// after notes what a call has asked for.
func (h *history) after(c Reconcile) {
	switch {
	case c.End.IsZero(), c.Terminal():
	case c.Error != "" || c.Requeue && c.After == 0:
		cause := Cause{Reason: Requeued}
		if c.Error != "" {
			cause = Cause{Reason: Retried, Error: c.Error}
		}
		wait := min(retryBase<<min(h.failures, 20), retryMax)
		h.failures++
		h.timers = append(h.timers, timer{c.ID, c.End.Add(wait), false, cause})
	case c.After > 0:
		h.failures = 0
		h.timers = append(h.timers, timer{c.ID, c.End.Add(c.After), true, Cause{Reason: Requeued, After: c.After}})
	default:
		h.failures = 0
	}
}

// find looks for the causes of the nth call, the surest first: changes of the
// object itself, timers and retries that are due, and changes of others which the
// controller is known to map. Only without any of these it guesses, by the time at
// which a change was made, and says Unknown where nothing comes near.
func (h *history) find(n int) []Cause {
	c, before := h.calls[n], Reconcile{}
	if n > 0 {
		before = h.calls[n-1]
		if before.Process != c.Process {
			h.timers, h.failures = nil, 0
			return []Cause{{Reason: Started}}
		}
	}
	own, others := h.candidates(n)
	var list []Cause
	for _, x := range own {
		if x.fresh {
			list = append(list, x.Cause)
		}
	}
	// One that the call before has set comes with other causes; an older one
	// may have been dropped by the queue since, and is the second choice.
	due, older := h.due(c, before)
	list = append(list, due...)
	if n > 0 {
		least := min(len(list), 1) + 1 // by itself it is the likeliest cause, not so beside a surer one
		for _, x := range others {
			if x.fresh && h.maps(x.change, least) {
				list = append(list, x.Cause)
			}
		}
	}
	switch {
	case len(list) > 0:
		return list
	case len(older) > 0:
		h.timers = nil // a queue keeps one for an object
		return older[len(older)-1:]
	case n == 0:
		return []Cause{{Reason: Started}} // it was there when the operator looked first
	}
	guess := slices.DeleteFunc(slices.Clone(others), func(x candidate) bool { return !x.fresh || !h.near(n, x.end(), atOnce) })
	// Several events of one write may come apart, one for each cache, and one
	// that was sent may not have been heard yet.
	told := func(x candidate) bool { return x.sent && !h.near(n, x.at, atOnce) }
	own = slices.DeleteFunc(own, told)
	others = slices.DeleteFunc(others, func(x candidate) bool { return told(x) || !h.maps(x.change, 1) })
	for _, again := range [][]candidate{own, others} {
		if len(again) > 0 {
			return []Cause{again[len(again)-1].Cause}
		}
	}
	// What its code watches, and came right before, needs no more proof.
	if len(guess) > 0 && len(c.Watches) > 0 {
		return []Cause{guess[len(guess)-1].Cause}
	}
	return h.stranger(n)
}

// stranger is the cause of a call that nothing else explains, if that is a change of
// an object that is another one's, and that the controller is known to map.
func (h *history) stranger(n int) []Cause {
	const least = 2 // one may have come by chance
	c, before := h.calls[n], h.calls[n-1]
	end, _ := slices.BinarySearchFunc(h.changes, c.Begin, func(x change, t time.Time) int { return x.at.Compare(t) })
	for _, x := range slices.Backward(h.changes[:end]) {
		if !x.at.After(before.Begin) || !h.near(n, x.end(), atOnce) {
			break
		}
		if h.relation(x, c) == ofStranger && h.maps(x, least) {
			return []Cause{{Reason: WatchedChanged, Request: x.Request}}
		}
	}
	return []Cause{{Reason: Unknown}}
}

// due are the causes that earlier calls have set: by the one before, and by
// older ones. It forgets those whose time is over.
func (h *history) due(c, before Reconcile) (due, older []Cause) {
	var waiting []timer
	for _, t := range h.timers {
		switch past := c.Begin.Sub(t.due); {
		case past < 0 && t.exact:
			waiting = append(waiting, t)
		case past < 0:
			waiting, older = append(waiting, t), append(older, t.cause) // by a limiter that is quicker than client-go's
		case t.exact && past >= timerSlack:
		case t.by == before.ID:
			due = append(due, t.cause)
		default:
			older = append(older, t.cause)
		}
	}
	h.timers = waiting
	return due, older
}

// candidates are the changes since shortly before the call before: of the
// call's object and what that owns, and of other objects of kinds that are
// watched.
func (h *history) candidates(n int) (own, others []candidate) {
	c, from := h.calls[n], h.since
	if n > 0 {
		from = h.calls[n-1].Begin
	}
	first, _ := slices.BinarySearchFunc(h.changes, from.Add(-late), func(x change, t time.Time) int { return x.at.Compare(t) })
	for _, x := range h.changes[first:] {
		if x.at.After(c.Begin) {
			break
		}
		reason := h.relation(x, c)
		if reason == "" || reason == ofStranger || !h.near(n, x.end(), soon) {
			continue
		}
		one := candidate{Cause{Reason: reason, Request: x.Request}, x, x.at.After(from)}
		if !x.sent {
			one.fresh = !h.told[x.Seq]
		}
		if reason == WatchedChanged {
			others = append(others, one)
		} else {
			own = append(own, one)
		}
	}
	return own, others
}

// end is when a call may follow.
func (x change) end() time.Time {
	if x.sent {
		return x.at
	}
	return x.at.Add(x.Took)
}

// relation is what a change is to the object of a call, empty for nothing.
func (h *history) relation(x change, c Reconcile) string {
	o := h.object
	reconciled := o.Is(GroupName(x.Group), x.Kind)
	switch {
	case reconciled && x.Name == o.Name && x.Namespace == o.Namespace:
		return ObjectChanged
	case !h.watched[x.Resource+"."+x.Group], !hears(c, x.Request):
		return ""
	case x.Namespace != "" && o.Namespace != "" && x.Namespace != o.Namespace:
		return ofStranger // whatever its owners are, they are there
	}
	owners := x.Owners
	if len(owners) == 0 && x.Subresource != "" {
		owners = h.owners[x.Object()] // what a subresource takes, such as a Binding, has none
	}
	switch steps := h.stepsTo(owners, x.Namespace); {
	case steps == 1:
		return OwnedChanged
	case steps > 1, len(owners) == 0 && !reconciled:
		return WatchedChanged
	}
	return ofStranger
}

// stepsTo is how many owners lie between an object with these ones and the one
// that is reconciled, that included, as a pod's ReplicaSet and its Deployment do.
// It is 0 where none of them leads there.
func (h *history) stepsTo(owners []Owner, namespace string) int {
	for steps := 1; len(owners) > 0 && steps <= maxSteps; steps++ {
		var above []Owner
		for _, owner := range owners {
			if h.object.Is(owner.Group, owner.Kind) && owner.Name == h.object.Name {
				return steps
			}
			above = append(above, h.owners[Object{owner.Group, owner.Kind, namespace, owner.Name}]...)
		}
		owners = above
	}
	return 0
}

// hears reports whether the controller of a call watches the kind that was written.
// Another build of it may watch others.
func hears(c Reconcile, q *Request) bool {
	return len(c.Watches) == 0 || q.Kind == "" || slices.Contains(c.Watches, q.Kind)
}

// near reports whether a call followed a time as soon as it could: when those
// were over that the controller was busy with from then on.
func (h *history) near(n int, t time.Time, within time.Duration) bool {
	c := h.calls[n]
	if n > 0 && h.calls[n-1].End.After(t) {
		t = h.calls[n-1].End
	}
	i, _ := slices.BinarySearchFunc(h.busy, t, func(c Reconcile, t time.Time) int { return c.Begin.Compare(t) })
	for _, other := range h.busy[max(0, i-1):] {
		if c.Begin.Sub(t) < within {
			return true
		}
		if other.Begin.Sub(t) > within {
			return false
		}
		if other.ID != c.ID && other.End.After(t) {
			t = other.End
		}
	}
	return c.Begin.Sub(t) < within
}

// maps reports whether the operator is called for an object by another's
// changes: as nearly each of them was followed by a call, and there are some at least.
func (h *history) maps(x change, least int) bool {
	at := x.place()
	if _, known := h.follows[at]; !known {
		h.follows[at] = h.follow(at)
	}
	return h.follows[at] >= float64(least)
}

// follow is how many changes an object has, if nearly each was followed by a call, and else
// 0. Those before the first call of a process do not count: whether it would have been
// called for them is not known.
func (h *history) follow(at place) float64 {
	var all, followed float64
	for _, x := range h.of[at] {
		n, _ := slices.BinarySearchFunc(h.calls, x.at, func(c Reconcile, t time.Time) int { return c.Begin.Compare(t) })
		c := h.calls[min(n, len(h.calls)-1)]
		if reason := h.relation(x, c); reason != WatchedChanged && reason != ofStranger || n == 0 || h.calls[n-1].Process != c.Process {
			continue
		}
		all++
		if n < len(h.calls) && h.near(n, x.end(), atOnce) {
			followed++
		}
	}
	if share := followed / all; share < minFollowed && (all >= few || share < fewFollowed) {
		return 0
	}
	return all
}
