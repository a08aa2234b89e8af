package recorder

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/recording"
)

const (
	// lately is how long a report may be new to somebody who asks, and brief
	// how long the answer waits meanwhile.
	lately, brief = 2 * time.Second, 100 * time.Millisecond
)

// Handle answers on the control socket.
func (r *Recorder) Handle(mux *http.ServeMux) {
	mux.HandleFunc("POST "+state.RecordingPath, r.serveBegin)
	mux.HandleFunc("GET "+state.RecordingPath, r.serveSnapshot)
	mux.HandleFunc("GET "+state.RefusedPath, r.serveRefused)
	mux.HandleFunc("POST "+state.ReconcilesPath, serveEach(r.Call))
	mux.HandleFunc("POST "+state.WebhooksPath, r.serveWebhook)
	mux.HandleFunc("POST "+state.LinesPath, serveEach(r.Line))
}

// serveBegin records for as long as the client stays, and no other project is recorded.
func (r *Recorder) serveBegin(w http.ResponseWriter, req *http.Request) {
	operator := req.FormValue("operator")
	if operator == "" {
		http.Error(w, "name the operator's user", http.StatusUnprocessableEntity)
		return
	}
	project := req.FormValue("project")
	defer r.Begin(operator, project, time.Now())()
	if _, err := io.WriteString(w, "recording\n"); err != nil {
		return
	}
	err := http.NewResponseController(w).Flush()
	for err == nil && req.Context().Err() == nil {
		_, more, ok := r.Refused(project)
		if !ok {
			return
		}
		select {
		case <-more:
		case <-req.Context().Done():
		}
	}
}

// serveSnapshot answers at once, or with wait as soon as there is something new,
// or the time is over.
func (r *Recorder) serveSnapshot(w http.ResponseWriter, req *http.Request) {
	var at recording.Position
	for field, to := range map[string]*uint64{"after": &at.Request, "line": &at.Line} {
		n, err := strconv.ParseUint(cmp.Or(req.FormValue(field), "0"), 10, 64)
		if err != nil {
			http.Error(w, field+": "+err.Error(), http.StatusUnprocessableEntity)
			return
		}
		*to = n
	}
	now, changed := r.Snapshot(at)
	if wait, err := time.ParseDuration(req.FormValue("wait")); err == nil && now.Active && len(now.Requests)+len(now.Lines) == 0 {
		// Calls have no number to ask for those behind it: what was reported
		// between two questions is not to wait for the next request.
		if time.Since(r.reported()) < lately {
			wait = min(wait, brief)
		}
		select {
		case <-changed:
		case <-time.After(wait):
		case <-req.Context().Done():
		}
		now, _ = r.Snapshot(at)
	}
	_ = json.NewEncoder(w).Encode(now) // ignore write errors: the client is gone
}

// serveRefused answers as serveSnapshot does, and refuses to tell one project of
// another's.
func (r *Recorder) serveRefused(w http.ResponseWriter, req *http.Request) {
	known, err := strconv.Atoi(req.FormValue("known"))
	if err != nil {
		http.Error(w, "known: "+err.Error(), http.StatusUnprocessableEntity)
		return
	}
	project := req.FormValue("project")
	list, more, ok := r.Refused(project)
	if wait, err := time.ParseDuration(req.FormValue("wait")); err == nil && ok && len(list) <= known {
		select {
		case <-more:
			list, _, ok = r.Refused(project)
		case <-time.After(wait):
		case <-req.Context().Done():
		}
	}
	if !ok {
		http.Error(w, "another project is recorded", http.StatusUnprocessableEntity)
		return
	}
	_ = json.NewEncoder(w).Encode(list) // ignore write errors: the client is gone
}

// serveEach takes JSON values, one after the other, until the client ends.
func serveEach[T any](take func(project string, one T)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		project := req.FormValue("project")
		for d := json.NewDecoder(req.Body); ; {
			var one T
			err := d.Decode(&one)
			if _, ok := errors.AsType[*json.SyntaxError](err); ok {
				http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			}
			if err != nil {
				return
			}
			take(project, one)
		}
	}
}

func (r *Recorder) serveWebhook(w http.ResponseWriter, req *http.Request) {
	var call recording.Webhook
	data, err := io.ReadAll(req.Body)
	if err == nil {
		err = json.Unmarshal(data, &call)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	r.Webhook(req.FormValue("project"), call, len(data))
}
