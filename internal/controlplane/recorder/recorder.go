// Package recorder notes what an operator asks of the API server, from inside:
// who, what, which fields a write changed, and where in the operator's code. It
// knows the API server's handler chain, authorizer and admission; what follows
// from the notes is internal/recording's.
//
// While nobody records, it costs one atomic load for each request.
package recorder

import (
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/example/mysdk/internal/recording"
)

const (
	// maxRequests and maxBytes bound what is kept of requests.
	maxRequests, maxBytes = 50_000, 64 << 20
	// maxReconciles bounds the calls that are kept.
	maxReconciles = 20_000
	// maxWebhookBytes bounds the calls of webhooks that are kept.
	maxWebhookBytes = 8 << 20
	// fixedBytes is about what a request takes without its changes.
	fixedBytes = 600
)

// Recorder keeps the newest requests of an operator, and the writes of all
// others. It is safe for concurrent use.
type Recorder struct {
	on   atomic.Bool
	salt []byte // of hashes in place of Secrets' values

	mu         sync.Mutex
	session    int // of Begin
	operator   string
	project    string
	since      time.Time
	requests   []kept
	bytes      int
	kinds      map[string]string // by resource and group, of all objects that were written or told of
	next, lost uint64
	reconciles []recording.Reconcile
	running    map[string]int // index of those that have not ended, by ID
	called     time.Time      // when they or webhooks were last reported
	uses       map[recording.Right]*recording.Use
	refused    []recording.Right // in the order of the first refusal
	webhooks   []recording.Webhook
	sizes      []int // of webhooks, as JSON
	lines      []recording.Line
	lineBytes  int // of lines
	events     []recording.Event
	// eventsSince is from when on events has all, but for those in unread encodings.
	eventsSince time.Time
	unread      bool
	changed     chan struct{} // closed at the next change
	refusal     chan struct{} // closed when refused grows
}

// kept is a request and about how many bytes it takes.
type kept struct {
	recording.Request
	bytes int
}

// New returns a recorder that is off.
func New() *Recorder {
	r := &Recorder{salt: []byte(rand.Text()), kinds: map[string]string{}}
	r.clear()
	return r
}

func (r *Recorder) clear() {
	r.requests, r.bytes, r.next, r.lost = nil, 0, 1, 0
	r.reconciles, r.running, r.uses, r.refused = nil, map[string]int{}, map[recording.Right]*recording.Use{}, nil
	r.webhooks, r.sizes, r.events, r.unread = nil, nil, nil, false
	r.lines, r.lineBytes = nil, 0
	r.changed, r.refusal = make(chan struct{}), make(chan struct{})
}

// Begin drops what there is and records the requests of the operator of a project
// until the function that it returns is called, or until the next Begin.
func (r *Recorder) Begin(operator, project string, now time.Time) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.refusal) // whoever waits for those of another project learns of it
	r.clear()
	r.session++
	r.operator, r.project, r.since, r.eventsSince = operator, project, now, now
	r.on.Store(true)
	mine := r.session
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.session == mine {
			r.on.Store(false)
			r.wake()
		}
	}
}

// of reports whether the recording is of a project, as far as is known: what another
// one's operator reports, which runs on, is not a part of it. The lock is held.
func (r *Recorder) of(project string) bool { return r.project == "" || r.project == project }

// wake tells those who wait. The lock is held.
func (r *Recorder) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Recorder) add(q recording.Request, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nameKind(&q)
	q.Seq = r.next
	r.next++
	r.requests = append(r.requests, kept{q, bytes + fixedBytes})
	if r.bytes += bytes + fixedBytes; len(r.requests) > maxRequests || r.bytes > maxBytes {
		r.drop()
	}
	r.wake()
}

// nameKind has a write name the kind of its object. What a subresource takes, such as
// a Scale, is another kind, and a write that was refused names none. The lock is
// held.
func (r *Recorder) nameKind(q *recording.Request) {
	if !q.Writes() {
		return
	}
	if of := q.Resource + "." + q.Group; q.Subresource != "" && q.Subresource != "status" || q.Kind == "" {
		q.Kind = r.kinds[of]
	} else {
		r.kinds[of] = q.Kind
	}
}

// drop makes room: a tenth at once, as the rest is moved each time.
func (r *Recorder) drop() {
	const keep = 0.9
	n := 0
	for n < len(r.requests)-1 && (float64(len(r.requests)-n) > keep*maxRequests || float64(r.bytes) > keep*maxBytes) {
		r.bytes -= r.requests[n].bytes
		n++
	}
	r.lost += uint64(n)
	r.requests = slices.Delete(r.requests, 0, n)
}

func (r *Recorder) use(right recording.Right, namespace, name string, allowed bool, frames []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.uses[right]
	if u == nil {
		u = &recording.Use{Right: right, Frames: frames}
		r.uses[right] = u
	}
	switch {
	case allowed:
		u.Allowed++
	case u.Denied > 0:
		u.Denied++
	default:
		u.Denied, u.Frames = 1, frames
		r.refused = append(r.refused, right)
		close(r.refusal)
		r.refusal = make(chan struct{})
	}
	u.Names = keep(u.Names, name)
	u.Namespaces = keep(u.Namespaces, namespace)
}

// keep adds a name that is new to a list that has room.
func keep(list []string, name string) []string {
	if len(list) < recording.NamesKept && !slices.Contains(list, name) {
		return append(list, name)
	}
	return list
}

// report has note keep what the operator of a project reports of its own, while that
// is recorded.
func (r *Recorder) report(project string, note func()) {
	if !r.on.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of(project) {
		note()
		r.wake()
	}
}

// Call is what the operator of a project reports of its own about a call of
// Reconcile: its begin, and once more with its end.
func (r *Recorder) Call(project string, c recording.Reconcile) {
	r.report(project, func() {
		r.called = time.Now()
		if i, runs := r.running[c.ID]; runs && !c.End.IsZero() {
			r.reconciles[i] = c
			delete(r.running, c.ID)
			return
		}
		r.reconciles = append(r.reconciles, c)
		if c.End.IsZero() {
			r.running[c.ID] = len(r.reconciles) - 1
		}
		if len(r.reconciles) > maxReconciles {
			drop := len(r.reconciles) - maxReconciles*9/10 // at once, as the rest is moved each time
			r.reconciles = slices.Delete(r.reconciles, 0, drop)
			for id, i := range r.running {
				if r.running[id] = i - drop; i < drop {
					delete(r.running, id)
				}
			}
		}
	})
}

// Webhook keeps one call of the webhooks of a project's operator, which has that
// many bytes.
func (r *Recorder) Webhook(project string, w recording.Webhook, bytes int) {
	r.report(project, func() {
		w.Seq, r.called = r.next, time.Now()
		r.webhooks, r.sizes = append(r.webhooks, w), append(r.sizes, bytes)
		sum, first := 0, len(r.sizes)
		for first > 0 && len(r.sizes)-first < recording.WebhooksKept && sum+r.sizes[first-1] <= maxWebhookBytes {
			first--
			sum += r.sizes[first]
		}
		r.webhooks, r.sizes = slices.Delete(r.webhooks, 0, first), slices.Delete(r.sizes, 0, first)
	})
}

// Line keeps one line of the log of a project's operator.
func (r *Recorder) Line(project string, l recording.Line) {
	r.report(project, func() { r.lines = recording.AppendLine(r.lines, &r.lineBytes, l) })
}

// Snapshot returns what there is, of requests, events and lines those behind at,
// and a channel that is closed when there is more.
func (r *Recorder) Snapshot(at recording.Position) (recording.Recording, <-chan struct{}) {
	after := at.Request
	r.mu.Lock()
	defer r.mu.Unlock()
	out := recording.Recording{
		Operator: r.operator, Project: r.project, Since: r.since, Until: time.Now(), Active: r.on.Load(), Next: r.next, Lost: r.lost,
		Reconciles: slices.Clone(r.reconciles),
	}
	for _, q := range r.requests {
		if q.Seq > after {
			out.Requests = append(out.Requests, q.Request)
		}
	}
	since := r.eventsSince
	for _, e := range r.events {
		if e.Seq > after {
			out.Events = append(out.Events, e)
		} else {
			since = e.Time // of a reader that has the others, or does not want them
		}
	}
	for _, w := range r.webhooks {
		if w.Seq > after {
			out.Webhooks = append(out.Webhooks, w)
		}
	}
	for i, l := range r.lines {
		if l.Number > at.Line {
			out.Lines = slices.Clone(r.lines[i:])
			break
		}
	}
	if !r.unread {
		out.EventsSince = since
	}
	for right := range r.uses {
		out.Uses = append(out.Uses, r.copyOf(right))
	}
	recording.SortUses(out.Uses)
	return out, r.changed
}

func (r *Recorder) reported() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.called
}

// Refused returns what the operator of a project was refused, in the order in which
// that began, and a channel that is closed when there is more; ok is false where the
// recording is of another project.
func (r *Recorder) Refused(project string) (list []recording.Use, more <-chan struct{}, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list = make([]recording.Use, 0, len(r.refused))
	for _, right := range r.refused {
		list = append(list, r.copyOf(right))
	}
	return list, r.refusal, r.of(project)
}

// copyOf is the use of a right. The lock is held.
func (r *Recorder) copyOf(right recording.Right) recording.Use {
	one := *r.uses[right]
	one.Names, one.Namespaces = slices.Clone(one.Names), slices.Clone(one.Namespaces)
	return one
}
