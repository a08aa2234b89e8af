package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/example/mysdk/internal/host"
)

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
				err = writeEvent(w, fragment{ID: id, HTML: html})
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

func writeEvent(w http.ResponseWriter, f fragment) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "data: %s\n\n", data)
	return err
}

func (s *Server) fragment(v View, id string) (string, error) {
	var b bytes.Buffer
	err := s.templates[v.Page.Name].ExecuteTemplate(&b, id, v)
	return b.String(), err
}
