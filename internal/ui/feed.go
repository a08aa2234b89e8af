package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/recording"
)

const (
	// feedWait is how long one question for news waits.
	feedWait = 20 * time.Second
	// feedPause is the time between two questions while nothing is recorded.
	feedPause = time.Second
)

// feed keeps the recording, so that pages need not fetch all of it each time.
type feed struct {
	fetch func(ctx context.Context, at recording.Position, wait time.Duration) (recording.Recording, error)

	mu      sync.Mutex
	now     recording.Recording
	failed  error
	offline error         // why the cluster cannot be read
	awaited bool          // the run has yet to start the cluster
	changed chan struct{} // closed at the next change
	readers int
	stop    context.CancelFunc // of what follows the recording while there are readers
}

func newFeed(s Source) *feed {
	return &feed{fetch: s.Recording, awaited: s.Crash != nil, changed: make(chan struct{})}
}

// read returns what there is and a channel that is closed when there is more, with
// why the recording or the cluster cannot be read.
func (f *feed) read() (now recording.Recording, changed <-chan struct{}, failed, offline error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.changed, f.failed, f.offline
}

func (f *feed) update(ctx context.Context, wait time.Duration) {
	before, _, _, _ := f.read()
	at := before.Position()
	got, err := f.fetch(ctx, at, wait)
	if err == nil && at != (recording.Position{}) && !got.Since.Equal(before.Since) {
		got, err = f.fetch(ctx, recording.Position{}, 0) // another run: its requests are counted from 1 again
	}
	if ctx.Err() == nil {
		f.merge(got, err)
	}
}

// merge takes in an answer. Answers may overlap, and come late.
func (f *feed) merge(got recording.Recording, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && !got.Active && got.Since.Before(f.now.Since) {
		got = f.now // the run has ended, and at most one before it has left its recording
		got.Active, got.Requests, got.Lines = false, nil, nil
	}
	same := got.Since.Equal(f.now.Since)
	switch {
	case err != nil:
		f.now.Active = false
	case got.Since.Before(f.now.Since), same && got.Next < f.now.Next:
		return
	case same && !got.Active && !f.now.Active && f.failed == nil &&
		got.Next == f.now.Next && len(got.Reconciles) == len(f.now.Reconciles):
		return // asked again, the last run is the same
	case same:
		f.now.Append(got)
	default:
		f.now = got
	}
	f.failed = err
	close(f.changed)
	f.changed = make(chan struct{})
}

// reached notes why the cluster cannot be read; nil: it can.
func (f *feed) reached(offline error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.awaited = f.awaited && offline != nil
	if !f.awaited && fmt.Sprint(offline) != fmt.Sprint(f.offline) {
		f.offline = offline
		close(f.changed)
		f.changed = make(chan struct{})
	}
}

// join follows the recording until the reader calls leave; the first one starts
// that and the last one ends it.
func (f *feed) join(ctx context.Context) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers++; f.readers == 1 {
		ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx))
		go f.follow(ctx)
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.readers--; f.readers == 0 {
			f.stop()
		}
	}
}

func (f *feed) follow(ctx context.Context) {
	for pause := time.Duration(0); host.Pause(ctx, pause); {
		f.update(ctx, feedWait)
		pause = liveEvery // each answer has all calls: no more of them than are shown
		if now, _, err, _ := f.read(); !now.Active || err != nil {
			pause = feedPause
		}
	}
}

const (
	// liveEvery is the time between two looks at what has changed: an operator
	// that is busy changes something each millisecond.
	liveEvery = 50 * time.Millisecond
	// liveIdle is how often a stream says that it is there.
	liveIdle = 15 * time.Second
)

// statusFragment is on all pages.
const statusFragment = "status"

// fragment is an event: the element with that id has that content now.
type fragment struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// serveEvents sends the page's fragments, and again whenever one changes.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request, p Page) {
	ctx := r.Context()
	defer s.feed.join(ctx)()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	sent := map[string]string{}
	for {
		_, recorded, _, _ := s.feed.read()
		moved := s.mirror.Changed()
		v := s.view(ctx, p, &Request{Query: r.URL.Query(), Live: true})
		for _, id := range append([]string{statusFragment}, p.Fragments...) {
			if v.Problem != "" && id != statusFragment {
				continue
			}
			html, err := s.fragment(v, id)
			if err == nil && sent[id] != html {
				sent[id] = html
				data, _ := json.Marshal(fragment{ID: id, HTML: html})
				_, err = fmt.Fprintf(w, "data: %s\n\n", data)
			}
			if err != nil {
				return
			}
		}
		if out.Flush() != nil || !idle(w, r, max(p.Every, liveEvery), recorded, moved) {
			return
		}
	}
}

// idle waits for a change, and a pause behind it. It reports whether the browser
// is still there.
func idle(w http.ResponseWriter, r *http.Request, pause time.Duration, recorded, moved <-chan struct{}) bool {
	for {
		select {
		case <-r.Context().Done():
			return false
		case <-time.After(liveIdle):
			if _, err := w.Write([]byte(": still here\n\n")); err != nil || http.NewResponseController(w).Flush() != nil {
				return false
			}
			continue
		case <-recorded:
		case <-moved:
		}
		return host.Pause(r.Context(), pause)
	}
}

func (s *Server) fragment(v View, id string) (string, error) {
	var b bytes.Buffer
	err := s.templates[v.Page.Name].ExecuteTemplate(&b, id, v)
	return b.String(), err
}
