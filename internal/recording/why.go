package recording

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reasons of a Cause.
const (
	ObjectChanged  = "object"  // the reconciled object was written
	OwnedChanged   = "owned"   // an object that it owns was written
	WatchedChanged = "watched" // another object of a kind that the operator watches was written
	Retried        = "error"   // the call before ended with an error
	Requeued       = "requeue" // the call before asked for it
	Started        = "start"   // the operator started
	Unknown        = "unknown" // nothing recorded explains it: a resync, or an event from elsewhere
)

const (
	// late is how far behind a write its event may be: a write from before a call
	// may still cause the next one.
	late = 250 * time.Millisecond
	// soon is how quickly a call follows its cause where the operator is idle.
	soon = time.Second
	// timerSlack is how much later than asked a requeue may come.
	timerSlack = 2 * time.Second
)

// Cause is why Reconcile was called.
type Cause struct {
	Reason  string        `json:"reason"`
	Request *Request      `json:"request,omitempty"` // of a write
	After   time.Duration `json:"after,omitempty"`   // of a requeue, nanoseconds
	Error   string        `json:"error,omitempty"`   // of a retry
}

// Call is a Reconcile with its causes and what it wrote.
type Call struct {
	Reconcile
	Causes []Cause   `json:"causes"`
	Writes []Request `json:"writes,omitempty"`
	Reads  int       `json:"reads"` // requests besides, which did not come from a cache
}

// Why explains the calls for an object, the oldest first. Kind counts without
// regard to case; calls of controllers whose kind is unknown are taken by name.
func (r Recording) Why(kind, namespace, name string) []Call {
	return r.explain(kind, func(c Reconcile) bool {
		return c.Name == name && c.Namespace == namespace && (c.Kind == "" || strings.EqualFold(c.Kind, kind))
	})
}

// WhyAll explains all calls, in the order of Reconciles.
func (r Recording) WhyAll() []Call {
	return r.explain("", func(Reconcile) bool { return true })
}

// explain explains the calls that match. Kind is of those whose own is unknown.
func (r Recording) explain(kind string, match func(Reconcile) bool) []Call {
	index, watched, changes := r.byReconcile(), r.watched(), r.changes()
	type key struct {
		controller string
		object     Object
	}
	histories, ends := map[key]*history{}, map[string][]time.Time{}
	var calls []Call
	for _, c := range r.Reconciles {
		if !match(c) {
			continue
		}
		k := key{c.Controller, c.object()}
		h := histories[k]
		if h == nil {
			if _, ok := ends[c.Controller]; !ok {
				ends[c.Controller] = r.ends(c.Controller)
			}
			h = &history{since: r.Since, changes: changes, kind: cmp.Or(c.Kind, kind), watched: watched, ends: ends[c.Controller], told: map[uint64]bool{}}
			h.resource = resourceOf(changes, h.kind)
			histories[k] = h
		}
		call := Call{Reconcile: c, Causes: h.causes(c)}
		for _, q := range index[c.ID] {
			if q.Writes() {
				call.Writes = append(call.Writes, q)
			} else {
				call.Reads++
			}
		}
		calls = append(calls, call)
	}
	return calls
}

// changes are the writes that changed something, in the order of their time.
func (r Recording) changes() []Request {
	var list []Request
	for _, q := range r.Requests {
		if q.changed() {
			list = append(list, q)
		}
	}
	slices.SortStableFunc(list, func(a, b Request) int { return a.Time.Compare(b.Time) })
	return list
}

// resourceOf is the resource of a kind, as far as a write has shown it.
func resourceOf(changes []Request, kind string) string {
	for _, q := range changes {
		if strings.EqualFold(q.Kind, kind) {
			return q.Resource
		}
	}
	return ""
}

// byReconcile are the operator's requests by the call that they belong to.
func (r Recording) byReconcile() map[string][]Request {
	out := map[string][]Request{}
	for _, q := range r.Requests {
		if q.Reconcile != "" {
			out[q.Reconcile] = append(out[q.Reconcile], q)
		}
	}
	return out
}

// watched are the resources that the operator watches.
func (r Recording) watched() map[string]bool {
	out := map[string]bool{}
	for _, q := range r.Requests {
		if q.Verb == "watch" && q.User == r.Operator {
			out[q.Resource+"."+q.Group] = true
		}
	}
	return out
}

// history is what is known of a controller's calls for an object so far.
type history struct {
	since    time.Time
	changes  []Request // of the recording, in the order of their time
	kind     string
	resource string // of the kind; empty where no write has shown it
	watched  map[string]bool
	ends     []time.Time // of all of the controller's calls, in order
	before   Reconcile
	again    bool            // there was a call before
	told     map[uint64]bool // writes that explain an earlier call
}

// causes finds what led to c, and notes it.
func (h *history) causes(c Reconcile) []Cause {
	list := h.find(c)
	for _, cause := range list {
		if cause.Request != nil {
			h.told[cause.Request.Seq] = true
		}
	}
	h.before, h.again = c, true
	return list
}

func (h *history) find(c Reconcile) []Cause {
	if h.again && h.before.Process != c.Process {
		return []Cause{{Reason: Started}}
	}
	own, others := h.written(c)
	fresh := slices.DeleteFunc(slices.Clone(own), func(x Cause) bool { return h.told[x.Request.Seq] || !h.near(c, x) })
	switch timer := h.timers(c); {
	case len(fresh) > 0:
		return fresh
	case len(timer) > 0:
		return timer
	case !h.again:
		return []Cause{{Reason: Started}} // it was there when the operator looked first
	}
	near := func(x Cause) bool { return !h.near(c, x) }
	if others = slices.DeleteFunc(others, near); len(others) > 0 {
		return others[len(others)-1:]
	}
	// Several events of one write may come apart, one for each cache.
	if own = slices.DeleteFunc(own, near); len(own) > 0 {
		return own[len(own)-1:]
	}
	return []Cause{{Reason: Unknown}}
}

// ends are when a controller's calls ended, in order.
func (r Recording) ends(controller string) []time.Time {
	var list []time.Time
	for _, c := range r.Reconciles {
		if c.Controller == controller && !c.End.IsZero() {
			list = append(list, c.End)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// near reports whether c followed a write as soon as it could: when the call
// before it was over.
func (h *history) near(c Reconcile, x Cause) bool {
	if c.Begin.Sub(x.Request.Time.Add(x.Request.Took)) < soon || h.again && c.Begin.Sub(h.before.End) < soon {
		return true
	}
	// Other objects may have kept the controller busy.
	i, _ := slices.BinarySearchFunc(h.ends, c.Begin, time.Time.Compare)
	return i > 0 && c.Begin.Sub(h.ends[i-1]) < soon
}

// timers are the causes that the call before has set itself.
func (h *history) timers(c Reconcile) []Cause {
	before := h.before
	waited := c.Begin.Sub(before.End)
	switch {
	case !h.again || before.End.IsZero():
		return nil
	case before.Error != "":
		return []Cause{{Reason: Retried, Error: before.Error}}
	case before.After > 0 && waited >= before.After && waited < before.After+timerSlack:
		return []Cause{{Reason: Requeued, After: before.After}}
	case before.Requeue && before.After == 0:
		return []Cause{{Reason: Requeued}}
	}
	return nil
}

// written are the writes since shortly before the call before c: to its object
// and what that owns, and to other objects of kinds that are watched.
func (h *history) written(c Reconcile) (own, others []Cause) {
	from := h.since
	if h.again {
		from = h.before.Begin.Add(-late)
	}
	first, _ := slices.BinarySearchFunc(h.changes, from, func(q Request, t time.Time) int { return q.Time.Compare(t) })
	for i := range h.changes[first:] {
		q := &h.changes[first+i]
		if q.Time.After(c.Begin) {
			break
		}
		if q.Namespace != "" && c.Namespace != "" && q.Namespace != c.Namespace {
			continue
		}
		switch {
		case h.reconciled(q) && q.Name == c.Name && q.Namespace == c.Namespace:
			own = append(own, Cause{Reason: ObjectChanged, Request: q})
		case !h.watched[q.Resource+"."+q.Group]:
		case slices.ContainsFunc(q.Owners, func(o Owner) bool { return strings.EqualFold(o.Kind, h.kind) && o.Name == c.Name }):
			own = append(own, Cause{Reason: OwnedChanged, Request: q})
		case len(q.Owners) == 0 && !h.reconciled(q):
			others = append(others, Cause{Reason: WatchedChanged, Request: q})
		}
	}
	return own, others
}

// reconciled reports whether a write is to objects of the controller's kind,
// by a subresource with a kind of its own, too.
func (h *history) reconciled(q *Request) bool {
	return strings.EqualFold(q.Kind, h.kind) || h.resource != "" && q.Resource == h.resource
}

// changed reports whether a request changed an object in the store.
func (r Request) changed() bool {
	return r.Writes() && r.Code < 300 && !r.DryRun && (len(r.Changes) > 0 || r.Verb == "create" || r.Verb == "delete" || r.Revision == "")
}

// Text is the cause in words.
func (c Cause) Text() string {
	switch c.Reason {
	case ObjectChanged, OwnedChanged, WatchedChanged:
		return c.Request.Text()
	case Retried:
		return "retry after an error: " + c.Error
	case Requeued:
		if c.After > 0 {
			return fmt.Sprintf("requeued after %s", c.After)
		}
		return "requeued"
	case Started:
		return "the operator started"
	}
	return "unknown: a resync, or an event from outside the cluster"
}

// Text says what a write did, and who made it.
func (r Request) Text() string { return r.Target() + " " + r.Effect() + " by " + r.by() }

// Target is the object of a request.
func (r Request) Target() string {
	kind := r.Kind
	if kind == "" {
		kind = r.Resource
	}
	if r.Subresource != "" {
		return kind + " " + r.Name + " (" + r.Subresource + ")"
	}
	return kind + " " + r.Name
}

// Effect is what became of the object.
func (r Request) Effect() string {
	switch {
	case r.Code >= 400:
		return "refused"
	case r.Verb == "delete" || r.Verb == "deletecollection":
		return "deleted"
	case r.Verb == "create" || r.Revision == "":
		return "created"
	case len(r.Changes) == 0:
		return "unchanged"
	}
	return "changed"
}

// By is who made the request: the operator's line, or the client's name.
func (r Request) By() string { return r.by() }

// by is who made the request: the operator's line, or the client's name.
func (r Request) by() string {
	if len(r.Frames) > 0 {
		return r.Frames[0]
	}
	if agent, _, _ := strings.Cut(r.Agent, "/"); agent != "" {
		return agent
	}
	return r.User
}
