package ui

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/example/mysdk/internal/recording"
)

const (
	// callsShown and objectsShown bound the page.
	callsShown, objectsShown = 50, 200
	// settled is how long before the first call that is shown its causes may be.
	settled = 2 * time.Second
)

// reconciled is an object and the calls for it.
type reconciled struct {
	recording.Object
	Calls, Errors int
	Running       bool
	Last          time.Time
	Total         time.Duration
	Selected      bool
}

// Mean is how long a call took.
func (o reconciled) Mean() time.Duration { return o.Total / time.Duration(max(o.Calls, 1)) }

// addressOf is the address of the calls for an object.
func addressOf(o recording.Object) string {
	return "/reconciles?" + url.Values{"group": {o.Group}, "kind": {o.Kind}, "namespace": {o.Namespace}, "name": {o.Name}}.Encode()
}

// loopURL is the address of the reconciles that a loop is made of.
func loopURL(l recording.Loop) string {
	if l.Reconciled.Name != "" {
		l.Object = l.Reconciled
	}
	return addressOf(l.Object)
}

// oneCall is a call with what it asked for besides its writes.
type oneCall struct {
	recording.Call
	Read  []recording.Request
	Lines []recording.Line // that it logged
}

// Took is how long the call ran.
func (c oneCall) Took() time.Duration { return c.End.Sub(c.Begin) }

// Next is what the call said about the next one.
func (c oneCall) Next() string {
	switch {
	case c.End.IsZero():
		return ""
	case c.Terminal():
		return "with the next change"
	case c.Error != "":
		return "again, later each time, until it succeeds"
	case c.After > 0:
		return "after " + c.After.String()
	case c.Requeue:
		return "at once"
	}
	return "with the next change"
}

type callList struct {
	Objects  []reconciled // the one that was reconciled last comes first
	Others   int          // objects that are not listed
	Selected reconciled
	Calls    []oneCall // the newest first
	Before   int       // calls that are not shown
	Chart    chart
	Missing  string // what keeps causes from being certain
	Lacks    string // rights whose lack keeps controllers from starting
}

func listCalls(rec recording.Recording, query url.Values) callList {
	out := callList{Missing: rec.Missing(), Lacks: strings.Join(recording.Summary(rec.Unwatched()), "; ")}
	out.Objects = reconciledObjects(rec)
	want := recording.Object{Group: query.Get("group"), Kind: query.Get("kind"), Namespace: query.Get("namespace"), Name: query.Get("name")}
	i := slices.IndexFunc(out.Objects, func(o reconciled) bool { return o.Same(want) })
	if i < 0 && want.Name == "" && len(out.Objects) > 0 {
		i = 0
	}
	if i >= 0 {
		out.Objects[i].Selected = true
		out.Selected = out.Objects[i]
		out.Calls = newestCalls(rec, out.Selected.Object)
		out.Before = out.Selected.Calls - len(out.Calls)
		out.Chart = chartOf(out.Calls)
	}
	if out.Others = len(out.Objects) - objectsShown; out.Others > 0 {
		out.Objects = out.Objects[:objectsShown]
	}
	return out
}

func reconciledObjects(rec recording.Recording) []reconciled {
	at := map[recording.Object]int{}
	var list []reconciled
	for _, c := range rec.Reconciles {
		i, ok := at[c.Object]
		if !ok {
			i = len(list)
			at[c.Object], list = i, append(list, reconciled{Object: c.Object})
		}
		o := &list[i]
		o.Calls++
		o.Last = c.Begin
		if c.Error != "" {
			o.Errors++
		}
		if o.Running = c.End.IsZero() && !rec.CutOff(c); !c.End.IsZero() {
			o.Total += c.End.Sub(c.Begin)
		}
	}
	slices.SortFunc(list, func(a, b reconciled) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	return list
}

// newestCalls explains the last calls for an object. What is older is left out
// before that: to explain takes longer the more there is.
func newestCalls(rec recording.Recording, o recording.Object) []oneCall {
	var from time.Time
	n := 0
	for _, c := range slices.Backward(rec.Reconciles) {
		if c.Object != o {
			continue
		}
		if n++; n > callsShown { // one more: its end is the cause of the next one
			from = c.Begin
			break
		}
	}
	recent := rec
	if !from.IsZero() {
		recent.Reconciles = slices.DeleteFunc(slices.Clone(rec.Reconciles), func(c recording.Reconcile) bool { return c.Begin.Before(from) })
		recent.Requests = slices.DeleteFunc(slices.Clone(rec.Requests), func(q recording.Request) bool {
			return q.Verb != "watch" && q.Time.Before(from.Add(-settled))
		})
	}
	requests := recent.ByReconcile()
	lines := map[string][]recording.Line{}
	for _, l := range rec.Lines {
		if l.LogID != "" && !l.Time.Before(from) {
			lines[l.LogID] = append(lines[l.LogID], l)
		}
	}
	calls := slices.DeleteFunc(recent.Why(o), func(c recording.Call) bool { return c.Object != o })
	var list []oneCall
	for _, c := range slices.Backward(calls[max(0, len(calls)-callsShown):]) {
		reads := slices.DeleteFunc(requests[c.ID], recording.Request.Writes)
		list = append(list, oneCall{Call: c, Read: reads, Lines: lines[c.LogID]})
	}
	return list
}

type chart struct {
	From, To time.Time
	Bars     []bar
}

// Width is that of the drawing, in its own units.
func (chart) Width() int { return chartWidth }

type bar struct {
	ID, X, Width, Class, Title string
}

const chartWidth, minBar = 1000, 3

// chartOf draws calls, given the newest first. One alone needs no drawing.
func chartOf(calls []oneCall) chart {
	if len(calls) < 2 {
		return chart{}
	}
	c := chart{From: calls[len(calls)-1].Begin, To: calls[0].Begin}
	if end := calls[0].End; end.After(c.To) {
		c.To = end
	}
	span := float64(max(c.To.Sub(c.From), time.Millisecond))
	for _, one := range slices.Backward(calls) {
		x := float64(one.Begin.Sub(c.From)) / span * (chartWidth - minBar)
		width := float64(max(one.Took(), 0)) / span * (chartWidth - minBar)
		b := bar{ID: one.ID, X: decimal(x), Width: decimal(max(width, minBar)), Class: "read", Title: fmt.Sprintf("%s, %s", took(max(one.Took(), 0)), outcome(one))}
		switch {
		case one.Error != "":
			b.Class = "error"
		case len(one.Writes) > 0:
			b.Class = "wrote"
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

func outcome(c oneCall) string {
	how := "done"
	switch {
	case c.CutOff:
		how = "cut off"
	case c.End.IsZero():
		how = "running"
	case c.Error != "":
		how = "error"
	}
	if n := len(c.Writes); n > 0 {
		how = fmt.Sprintf("writes: %d, %s", n, how)
	}
	return how
}
