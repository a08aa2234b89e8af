package recording

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	lazy "go.podman.io/storage/pkg/regexp"
)

// Reasons of a Cause.
const (
	ObjectChanged  = "object"  // the reconciled object was written
	OwnedChanged   = "owned"   // an object that it owns was written
	WatchedChanged = "watched" // another object of a kind that the operator watches was written
	Retried        = "error"   // the call before ended with an error
	Requeued       = "requeue" // the call before asked for it
	Started        = "start"   // the operator started
	Unknown        = "unknown" // nothing recorded explains it: a resync, an event from elsewhere, or a change that is not known to lead there
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
	Reads  int       `json:"reads"`            // requests besides, which did not come from a cache
	CutOff bool      `json:"cutOff,omitempty"` // the operator ended while it ran
}

// Why explains the calls for an object, the oldest first. Calls of controllers
// whose kind is unknown are taken by name.
func (r Recording) Why(o Object) []Call {
	return r.explain(o, func(c Reconcile) bool {
		return c.Name == o.Name && c.Namespace == o.Namespace && (c.Kind == "" || c.Is(o.Group, o.Kind))
	})
}

// WhyAll explains all calls, in the order of Reconciles.
func (r Recording) WhyAll() []Call {
	return r.explain(Object{}, func(Reconcile) bool { return true })
}

// seriesKey is what the calls of a series have in common.
type seriesKey struct {
	controller string
	object     Object
}

// explain explains the calls that match. The kind of o is of those whose own is
// unknown.
func (r Recording) explain(o Object, match func(Reconcile) bool) []Call {
	index, evidence, panics := r.ByReconcile(), r.evidence(), r.panics()
	series := map[seriesKey][]int{} // of calls
	var calls []Call
	for _, c := range r.Reconciles {
		if !match(c) {
			continue
		}
		if text := panics[c.LogID]; text != "" && strings.HasPrefix(c.Error, Panic) {
			c.Error += ": " + text
		}
		k := seriesKey{c.Controller, c.Object}
		series[k] = append(series[k], len(calls))
		call := Call{Reconcile: c, CutOff: r.CutOff(c)}
		for _, q := range index[c.ID] {
			if q.Writes() {
				call.Writes = append(call.Writes, q)
			} else {
				call.Reads++
			}
		}
		calls = append(calls, call)
	}
	for k, list := range series {
		if k.object.Kind == "" {
			k.object.Group, k.object.Kind = o.Group, o.Kind
		}
		h := &history{evidence: evidence, object: k.object, busy: evidence.calls[k.controller], told: map[uint64]bool{}, follows: map[place]float64{}}
		for _, i := range list {
			h.calls = append(h.calls, calls[i].Reconcile)
		}
		for n, i := range list {
			calls[i].Causes = h.causes(n)
		}
	}
	return calls
}

// panicText finds what a panic said that controller-runtime has recovered.
var panicText = lazy.Delayed(`panic: (.*) \[recovered\]`)

// panics are what panics said, by the LogID of their call: who reports the call
// cannot read that without recovering the panic.
func (r Recording) panics() map[string]string {
	out := map[string]string{}
	for _, l := range r.Lines {
		if l.LogID == "" || !strings.Contains(l.Text, "[recovered]") {
			continue
		}
		if m := panicText.FindStringSubmatch(l.Text); m != nil {
			out[l.LogID] = m[1]
			if text, err := strconv.Unquote(`"` + m[1] + `"`); err == nil {
				out[l.LogID] = text // as formats of logs quote it
			}
		}
	}
	return out
}

// CutOff reports whether the operator ended in the middle of a call.
func (r Recording) CutOff(c Reconcile) bool {
	last := len(r.Reconciles) - 1
	return c.End.IsZero() && (!r.Active || last >= 0 && r.Reconciles[last].Process != c.Process)
}

// ByReconcile are the operator's requests by the call that they belong to.
func (r Recording) ByReconcile() map[string][]Request {
	out := map[string][]Request{}
	for _, q := range r.Requests {
		if q.Reconcile != "" {
			out[q.Reconcile] = append(out[q.Reconcile], q)
		}
	}
	return out
}

// Changed reports whether a request changed an object in the store.
func (r Request) Changed() bool {
	return r.Writes() && !r.connects() && r.Code < 300 && !r.DryRun && r.Effect() != unchanged
}

// connects reports whether a request opens a connection to an object, such as
// exec, which is authorized as a creation.
func (r Request) connects() bool {
	switch r.Subresource {
	case "exec", "attach", "portforward", "proxy":
		return true
	}
	return false
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
	return "unknown: no recorded change explains it; perhaps a resync, or an event from outside the cluster"
}

// Text says what a write did, and who made it.
func (r Request) Text() string { return r.Target() + " " + r.Effect() + " by " + r.By() }

// Target is the object of a request.
func (r Request) Target() string {
	kind := cmp.Or(r.Kind, r.Resource)
	if r.Subresource != "" {
		return kind + " " + r.Name + " (" + r.Subresource + ")"
	}
	return kind + " " + r.Name
}

// Refused is the effect of a request that the API server did not carry out.
const Refused = "refused"

// unchanged is that of one that found all as it should be.
const unchanged = "unchanged"

// Effect is what became of the object. That one which should be deleted is not
// there is what most operators hope for, and no refusal.
func (r Request) Effect() string {
	switch {
	case r.Code == http.StatusNotFound && r.Verb == "delete":
		return "already gone"
	case r.Code >= http.StatusBadRequest:
		return Refused
	case r.connects():
		return "called"
	case strings.HasPrefix(r.Verb, "delete"):
		if r.Revision == "" {
			return unchanged // none matched, or it is being deleted already
		}
		return "deleted"
	case r.Verb == "create" || r.Revision == "":
		return "created"
	case len(r.Changes) == 0:
		return unchanged
	}
	return "changed"
}

// By is who made the request: the operator's line, or the client's name.
func (r Request) By() string {
	if len(r.Frames) > 0 {
		return r.Frames[0]
	}
	if agent, _, _ := strings.Cut(r.Agent, "/"); agent != "" {
		return agent
	}
	return r.User
}
