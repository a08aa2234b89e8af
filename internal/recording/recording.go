// Package recording is what the embedded control plane notes of an operator at
// work, and what follows from it: why a reconcile ran and which rights the
// operator uses. It knows neither how requests are observed, which is
// internal/controlplane/recorder, nor how a recording is fetched or shown.
package recording

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Recording is what was noted of one operator since it was last asked for.
type Recording struct {
	// Operator is the user whose requests are noted, reads too. Of all other
	// users there are the writes that changed something.
	Operator string `json:"operator"`
	// Project is the directory of the operator's project, where that is known.
	Project    string      `json:"project,omitempty"`
	Since      time.Time   `json:"since"`          // start of the recording
	Until      time.Time   `json:"until,omitzero"` // when it was asked for
	Active     bool        `json:"active"`         // more is to come
	Next       uint64      `json:"next"`           // Seq of the next request
	Lost       uint64      `json:"lost,omitempty"` // requests that were dropped to bound the memory, from the oldest on
	Requests   []Request   `json:"requests,omitempty"`
	Reconciles []Reconcile `json:"reconciles,omitempty"`
	Uses       []Use       `json:"uses,omitempty"`     // of all requests, dropped ones too
	Events     []Event     `json:"events,omitempty"`   // those since a request are told again with the next one: see Append
	Webhooks   []Webhook   `json:"webhooks,omitempty"` // as Events
	Lines      []Line      `json:"lines,omitempty"`    // of the operator's log
	// EventsSince is from when on Events has all that the operator was sent; zero
	// where none are noted.
	EventsSince time.Time `json:"eventsSince,omitzero"`
}

// Of reports whether the recording is of the project in dir, as far as is known.
func (r Recording) Of(dir string) bool { return r.Project == "" || r.Project == dir }

// Starts is how many starts of the operator called Reconcile.
func (r Recording) Starts() int {
	seen := map[string]bool{}
	for _, c := range r.Reconciles {
		seen[c.Process] = true
	}
	return len(seen)
}

// EventsKept and WebhooksKept bound what is kept of each.
const (
	EventsKept   = 20_000
	WebhooksKept = 2000
)

// Append adds what was recorded since, the answer to a question for requests
// behind some of r. Answers may overlap.
func (r *Recording) Append(more Recording) {
	requests, events, webhooks := r.Requests, r.Events, r.Webhooks
	for len(requests) > 0 && requests[0].Seq <= more.Lost {
		requests = requests[1:]
	}
	for _, q := range more.Requests {
		if q.Seq >= r.Next {
			requests = append(requests, q)
		}
	}
	for len(events) > 0 && events[0].Seq <= more.Lost {
		events = events[1:]
	}
	for len(webhooks) > 0 && webhooks[0].Seq <= more.Lost {
		webhooks = webhooks[1:]
	}
	for _, e := range more.Events {
		if n := len(r.Events); n == 0 || e.Time.After(r.Events[n-1].Time) {
			events = append(events, e)
		}
	}
	for _, w := range more.Webhooks {
		if !slices.ContainsFunc(webhooks, func(o Webhook) bool { return o.UID == w.UID && o.Path == w.Path && o.Time.Equal(w.Time) }) {
			webhooks = append(webhooks, w)
		}
	}
	lines := r.Lines
	for _, l := range more.Lines {
		if len(lines) == 0 || l.Number > lines[len(lines)-1].Number {
			lines = append(lines, l)
		}
	}
	since := more.EventsSince
	if !since.IsZero() && len(r.Events) > 0 {
		since = r.EventsSince
	}
	if drop := len(events) - EventsKept; drop > 0 {
		if !since.IsZero() {
			since = events[drop-1].Time
		}
		events = events[drop:]
	}
	lines = lines[max(0, len(lines)-LinesKept):]
	webhooks = webhooks[max(0, len(webhooks)-WebhooksKept):]
	*r = more
	r.Requests, r.Events, r.Webhooks, r.Lines, r.EventsSince = requests, events, webhooks, lines, since
}

// Event is a change of an object that a watch told the operator of.
type Event struct {
	Seq       uint64    `json:"seq"` // of the first request that was noted later
	Time      time.Time `json:"time"`
	Type      string    `json:"type"` // ADDED, MODIFIED, DELETED
	Group     string    `json:"group,omitempty"`
	Resource  string    `json:"resource"`
	Kind      string    `json:"kind,omitempty"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	Revision  string    `json:"revision"` // resourceVersion behind the change
}

// Headers that operators of `mysdk run local` send with each request.
const (
	FramesHeader    = "Mysdk-Frames"    // Request.Frames, separated by FrameSeparator
	ReconcileHeader = "Mysdk-Reconcile" // Request.Reconcile
	FrameSeparator  = "<"
	Panic           = "panic at " // begins Reconcile.Error of a call that panicked; file:line follows
)

// Request is one request to the API server that was answered. A watch is noted
// when it begins.
type Request struct {
	Seq         uint64        `json:"seq"` // counts up from 1
	Time        time.Time     `json:"time"`
	Took        time.Duration `json:"took"` // nanoseconds
	User        string        `json:"user"`
	Agent       string        `json:"agent,omitempty"` // the client's name, up to the first space
	Verb        string        `json:"verb"`            // Kubernetes' own: get, list, watch, create, update, patch, delete, deletecollection
	Group       string        `json:"group,omitempty"`
	Version     string        `json:"version,omitempty"`
	Resource    string        `json:"resource,omitempty"` // empty for other paths
	Subresource string        `json:"subresource,omitempty"`
	Namespace   string        `json:"namespace,omitempty"`
	Name        string        `json:"name,omitempty"`
	Path        string        `json:"path,omitempty"`    // only without a resource
	Applied     bool          `json:"applied,omitempty"` // a server-side apply
	Code        int           `json:"code"`
	Message     string        `json:"message,omitempty"` // of a refusal

	// Frames are where the request was made in the project's code, the caller
	// first: file:line relative to the project. Where no code of the project is
	// among the callers they are those in libraries, by import path: see
	// InProject. Empty for other programs.
	Frames    []string `json:"frames,omitempty"`
	Reconcile string   `json:"reconcile,omitempty"` // ID of the Reconcile that it belongs to

	// Kind is that of a write's object, of a subresource's too; empty where no other
	// request or event has named it.
	Kind string `json:"kind,omitempty"`

	// Of writes that reached the store.
	Owners   []Owner  `json:"owners,omitempty"`
	Changes  []Change `json:"changes,omitempty"`
	DryRun   bool     `json:"dryRun,omitempty"`
	Revision string   `json:"revision,omitempty"` // resourceVersion before the write
}

// Owner is an owner reference of an object.
type Owner struct {
	Group string `json:"group,omitempty"` // as Object's
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

// Change is a field that a write changed. Values are as in JSON; nil is none.
type Change struct {
	Path string `json:"path"` // such as spec.template.spec.containers[manager].image
	Old  any    `json:"old,omitempty"`
	New  any    `json:"new,omitempty"`
}

// Reconcile is one call of a Reconcile method.
type Reconcile struct {
	ID         string        `json:"id"`
	Controller string        `json:"controller"` // the method's receiver
	Object                   // that it is for; without a kind or a group where the code does not say
	Begin      time.Time     `json:"begin"`
	End        time.Time     `json:"end,omitzero"` // zero while it runs
	Requeue    bool          `json:"requeue,omitempty"`
	After      time.Duration `json:"after,omitempty"` // of RequeueAfter, nanoseconds
	Error      string        `json:"error,omitempty"`
	Process    string        `json:"process"` // start of the operator that made the call; another one after a restart
	// LogID is controller-runtime's own ID of the call, the reconcileID of its log.
	// Empty before version 0.14.
	LogID string `json:"logId,omitempty"`
	// Watches are the kinds that the controller watches, where its code says all
	// of them.
	Watches []string `json:"watches,omitempty"`
}

// Terminal reports whether the call ended with an error of controller-runtime's
// TerminalError, after which it is not made again, and of which only the text is known.
func (c Reconcile) Terminal() bool { return strings.Contains(c.Error, "terminal error: ") }

// Use counts what the operator asked for with one right.
type Use struct {
	Right
	Names      []string `json:"names,omitempty"`      // of objects, the first NamesKept
	Namespaces []string `json:"namespaces,omitempty"` // "" for all of them at once
	Allowed    int      `json:"allowed,omitempty"`
	Denied     int      `json:"denied,omitempty"`
	Frames     []string `json:"frames,omitempty"` // of the first request
	Beyond     bool     `json:"-"`                // refused, though a Role grants it: in another namespace than the Role's
}

// NamesKept bounds the names of a Use.
const NamesKept = 20

// Right is what a rule of a role grants.
type Right struct {
	Verb     string `json:"verb"`
	Group    string `json:"group,omitempty"`
	Resource string `json:"resource,omitempty"` // with its subresource: pods/log
	Path     string `json:"path,omitempty"`     // in place of a resource
}

// String is the right in words.
func (r Right) String() string {
	switch {
	case r.Path != "":
		return r.Verb + " " + r.Path
	case r.Group != "":
		return r.Verb + " " + r.Resource + "." + r.Group
	}
	return r.Verb + " " + r.Resource
}

// InProject reports whether a frame is in the project, and not in a library.
func InProject(frame string) bool {
	first, _, below := strings.Cut(frame, "/")
	return !below || !strings.Contains(first, ".")
}

// Writes reports whether the request changes objects.
func (r Request) Writes() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return r.Resource != ""
	}
	return false
}

// Right is what the request needs.
func (r Request) Right() Right {
	if r.Resource == "" {
		return Right{Verb: r.Verb, Path: r.Path}
	}
	return Right{Verb: r.Verb, Group: r.Group, Resource: withSub(r.Resource, r.Subresource)}
}

func withSub(resource, sub string) string {
	if sub == "" {
		return resource
	}
	return resource + "/" + sub
}

// SortUses orders uses by group, resource, path and verb.
func SortUses(list []Use) {
	slices.SortFunc(list, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Verb, b.Verb))
	})
}
