package recording

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Patterns of a Loop.
const (
	Unchanged = "unchanged" // the operator writes what is there already, not by apply
	Conflict  = "conflict"  // its writes are refused with 409, again and again
	Fight     = "fight"     // two writers set a field back to what each had
	OwnWrites = "own"       // each of its writes leads to the call that makes the next one
	Storm     = "storm"     // calls without an event, one after the other, that change nothing
)

// From these numbers on it is a loop.
const (
	minFight     = 3  // changes back
	minOwnWrites = 10 // in a row
	minStorm     = 12 // within stormTime
	stormTime    = time.Minute
)

// minRepeated is the same of writes in a row.
var minRepeated = map[string]int{Unchanged: 3, Conflict: 3}

// A loop is over that has not gone on for overAfter, and for overRounds times as long
// as one of its rounds takes.
const (
	overAfter  = 10 * time.Second
	overRounds = 3
)

// CoreGroup stands for the API group without a name where one may be unknown.
const CoreGroup = "core"

// GroupName is an API group as an Object has it.
func GroupName(group string) string { return cmp.Or(group, CoreGroup) }

// Object names an object of the API.
type Object struct {
	Group     string `json:"group,omitempty"` // CoreGroup for that without a name; empty: not known
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Is reports whether the object's kind is the one of a group. The case of the
// kind does not matter, and a group that is not known is any.
func (o Object) Is(group, kind string) bool {
	return strings.EqualFold(o.Kind, kind) && (o.Group == "" || group == "" || o.Group == group)
}

// Same reports whether both name one object, as far as they tell.
func (o Object) Same(x Object) bool {
	return o.Is(x.Group, x.Kind) && o.Namespace == x.Namespace && o.Name == x.Name
}

// Object is what a request is for. Without a kind of its own it is named after
// the resource.
func (r Request) Object() Object {
	return Object{GroupName(r.Group), cmp.Or(r.Kind, r.Resource), r.Namespace, r.Name}
}

// Command shows the reconciles of the object, on the default cluster.
func (o Object) Command() string {
	c := "mysdk why " + strings.ToLower(cmp.Or(o.Kind, "kind")) + "/" + o.Name
	if o.Namespace != "default" {
		c += " --namespace=" + o.Namespace
	}
	return c
}

// Loop is what an operator does over and over, or has done until it was over.
type Loop struct {
	Pattern    string    `json:"pattern"`
	Object     Object    `json:"object"`               // that is written, or of a storm reconciled
	Reconciled Object    `json:"reconciled,omitzero"`  // that the writes were made for; zero where that is not known
	Controller string    `json:"controller,omitempty"` // that made them
	Field      string    `json:"field,omitempty"`      // of Fight and OwnWrites
	Count      int       `json:"count"`                // writes, changes back, or calls
	First      time.Time `json:"first"`                // that was counted
	Last       time.Time `json:"last"`
	Over       bool      `json:"over,omitempty"`    // it had ended when the recording was asked for
	By         []string  `json:"by,omitempty"`      // who writes: lines of the operator, names of other clients
	Message    string    `json:"message,omitempty"` // the last refusal, or what a storm's calls come from
}

// Text is the loop in words.
func (l Loop) Text() string {
	object, by := l.Object.Kind+" "+l.Object.Name, strings.Join(l.By, " and ")
	switch l.Pattern {
	case Unchanged:
		return fmt.Sprintf("%s written %d times without a change by %s", object, l.Count, by)
	case Conflict:
		return fmt.Sprintf("%s refused %d times by a conflict: %s, from %s", object, l.Count, l.Message, by)
	case Fight:
		return fmt.Sprintf("%s %s set back %d times by %s", object, l.Field, l.Count, by)
	case OwnWrites:
		return fmt.Sprintf("%s %s changed %d times in a row by %s, which each time leads to the next reconcile", object, l.Field, l.Count, by)
	}
	return fmt.Sprintf("%s reconciled %d times in %s without a change: %s", object, l.Count, l.Last.Sub(l.First).Round(time.Second), l.Message)
}

func (l Loop) over(at time.Time) bool {
	round := l.Last.Sub(l.First) / time.Duration(max(l.Count-1, 1))
	return at.Sub(l.Last) > max(overAfter, overRounds*round)
}

// Loops finds what repeats itself, the most frequent first, and then what did.
func (r Recording) Loops() []Loop {
	f := finder{operator: r.Operator, calls: map[string]Reconcile{}, repeated: map[loopKey]*Loop{}, fields: map[fieldKey]*field{}}
	for _, c := range r.Reconciles {
		f.calls[c.ID] = c
	}
	for _, q := range r.Requests {
		f.request(q)
	}
	var out []Loop
	for key, l := range f.repeated {
		if l.Count >= minRepeated[key.pattern] {
			out = append(out, *l)
		}
	}
	for _, fl := range f.fields {
		if fl.loop.Count >= minFight {
			slices.Sort(fl.loop.By)
			out = append(out, fl.loop)
		}
	}
	out = append(out, loopsOfCalls(r.WhyAll(), r.Operator)...)
	for i := range out {
		out[i].Over = out[i].over(r.Until)
	}
	order := map[bool]int{true: 1} // of Over
	slices.SortFunc(out, func(a, b Loop) int {
		return cmp.Or(cmp.Compare(order[a.Over], order[b.Over]), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text(), b.Text()), cmp.Compare(a.Object.Namespace, b.Object.Namespace))
	})
	return out
}

// LoopsOf are those of one object: it is written or reconciled in them.
func LoopsOf(loops []Loop, o Object) []Loop {
	return slices.DeleteFunc(slices.Clone(loops), func(l Loop) bool { return !l.Object.Same(o) && !l.Reconciled.Same(o) })
}

// finder goes through requests in their order.
type finder struct {
	operator string
	calls    map[string]Reconcile // by ID
	repeated map[loopKey]*Loop
	fields   map[fieldKey]*field
}

// loopKey tells loops of requests apart.
type loopKey struct {
	pattern            string
	object, reconciled Object
	line               string
}

type fieldKey struct {
	object Object
	path   string
}

// field is the history of one.
type field struct {
	from *Request // that wrote it last
	last Change
	loop Loop
}

func (f *finder) request(q Request) {
	if !q.Writes() || q.DryRun || q.Name == "" {
		return
	}
	switch {
	case q.Changed():
		f.change(q)
		// A write or two may follow from a cache that was behind.
		for pattern, least := range minRepeated {
			if key := f.loopKey(pattern, q); f.repeated[key] != nil && f.repeated[key].Count < least {
				delete(f.repeated, key)
			}
		}
	case q.User != f.operator:
	case q.Code == 409 && q.Verb != "create": // which may be how it finds out what is there
		f.again(Conflict, q)
	case q.Code < 300 && !q.Applied: // applying what is there already is how apply is meant to be used
		f.again(Unchanged, q)
	}
}

// loopKey is that of a loop that q may be part of.
func (f *finder) loopKey(pattern string, q Request) loopKey {
	return loopKey{pattern, q.Object(), f.calls[q.Reconcile].Object, q.By()}
}

// again counts a write of the operator.
func (f *finder) again(pattern string, q Request) {
	key := f.loopKey(pattern, q)
	l := f.repeated[key]
	if l == nil {
		l = &Loop{Pattern: pattern, Object: key.object, Reconciled: key.reconciled, Controller: f.calls[q.Reconcile].Controller, First: q.Time, By: []string{key.line}}
		f.repeated[key] = l
	}
	l.Count++
	l.Last, l.Message = q.Time, q.Message
}

// change follows the fields that a write has set.
func (f *finder) change(q Request) {
	object, by := q.Object(), q.By()
	call := f.calls[q.Reconcile]
	for _, c := range q.Changes {
		key := fieldKey{object, c.Path}
		h := f.fields[key]
		if h == nil {
			h = &field{loop: Loop{Pattern: Fight, Object: object, Field: c.Path, First: q.Time}}
			f.fields[key] = h
		}
		if h.from != nil && reflect.DeepEqual(c.New, h.last.Old) && f.atOdds(*h.from, q, c.Path) {
			h.loop.Count++
			h.loop.Last = q.Time
			for _, who := range []string{h.from.By(), by} {
				if !slices.Contains(h.loop.By, who) {
					h.loop.By = append(h.loop.By, who)
				}
			}
		}
		if call.ID != "" {
			h.loop.Reconciled, h.loop.Controller = call.Object, call.Controller
		}
		h.from, h.last = &q, c
	}
}

// atOdds reports whether two writes that set a field to and fro are a fight, which is
// between two. What one controller makes of an object in one call and the next, or says in
// its status while it works, follows from what happens in between.
func (f *finder) atOdds(a, b Request, path string) bool {
	x, y := f.calls[a.Reconcile], f.calls[b.Reconcile]
	switch {
	case a.By() == b.By():
		return false
	case a.User != b.User || x.Controller != y.Controller || x.Object != y.Object:
		return true
	}
	return x.ID == y.ID && !(strings.HasPrefix(path, "status.") && x.Object.Same(b.Object()))
}

// loopsOfCalls finds calls that lead to the next one.
func loopsOfCalls(calls []Call, operator string) []Loop {
	series := map[seriesKey][]Call{}
	for _, c := range calls {
		k := seriesKey{c.Controller, c.Object}
		series[k] = append(series[k], c)
	}
	var out []Loop
	for _, list := range series {
		out = append(out, ownWrites(list, operator)...)
		if l := storm(list); l.Count >= minStorm {
			out = append(out, l)
		}
	}
	return out
}

// storm is the last time that so many calls within stormTime changed nothing, and
// nothing in the cluster led to them, or else the largest number of such calls.
func storm(calls []Call) Loop {
	var best Loop
	var idle []Call
	for _, c := range calls {
		if !c.idle() {
			idle = nil
			continue
		}
		idle = append(idle, c)
		for c.Begin.Sub(idle[0].Begin) > stormTime {
			idle = idle[1:]
		}
		if len(idle) > best.Count || len(idle) >= minStorm {
			best = Loop{
				Pattern: Storm, Object: c.Object, Reconciled: c.Object, Controller: c.Controller, Count: len(idle),
				First: idle[0].Begin, Last: c.Begin, By: []string{c.Controller}, Message: c.Causes[len(c.Causes)-1].Text(),
			}
		}
	}
	return best
}

// idle reports whether no event led to a call, and nothing came of it.
func (c Call) idle() bool {
	return len(c.Causes) > 0 &&
		!slices.ContainsFunc(c.Causes, func(x Cause) bool { return x.Request != nil || x.Reason == Started }) &&
		!slices.ContainsFunc(c.Writes, Request.Changed)
}

// ownWrites finds fields whose change by the operator leads to the call that
// changes them again: one loop for each, the last one.
func ownWrites(calls []Call, operator string) []Loop {
	running, best := map[fieldKey]Loop{}, map[fieldKey]Loop{}
	for i := range calls {
		next := map[fieldKey]Loop{}
		for _, cause := range calls[i].Causes {
			q := cause.Request
			if i == 0 || q == nil || q.User != operator || q.Reconcile != calls[i-1].ID {
				continue
			}
			object := q.Object()
			for _, change := range q.Changes {
				k := fieldKey{object, change.Path}
				l, ok := running[k]
				if !ok {
					l = Loop{Pattern: OwnWrites, Object: object, Reconciled: calls[i].Object, Controller: calls[i].Controller, Field: change.Path, First: q.Time}
				}
				l.Count++
				l.Last, l.By = q.Time, []string{q.By()}
				next[k] = l
				if l.Count > best[k].Count || l.Count >= minOwnWrites {
					best[k] = l
				}
			}
		}
		running = next
	}
	maps.DeleteFunc(best, func(_ fieldKey, l Loop) bool { return l.Count < minOwnWrites })
	return slices.Collect(maps.Values(best))
}
