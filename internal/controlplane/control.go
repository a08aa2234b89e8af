package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/controlplane/hostpods"
)

// controlSocket is the name of the control socket in the runtime directory.
const controlSocket = "control.sock"

// tracker holds the server's status and wakes those who follow it.
type tracker struct {
	mu      sync.Mutex
	status  state.Status
	changed chan struct{} // closed at the next change
	log     *log.Logger

	processes func() []state.Process
}

func newTracker(s state.State, l *log.Logger, processes func() []state.Process) *tracker {
	return &tracker{status: state.Status{State: s}, changed: make(chan struct{}), log: l, processes: processes}
}

func (t *tracker) stage(name string) {
	t.change(func(s *state.Status) {
		after := time.Since(s.StartedAt)
		s.Stages = append(s.Stages, state.Stage{Name: name, After: after})
		t.log.Printf("%s up after %d ms", name, after.Milliseconds())
	})
}

func (t *tracker) ready() {
	t.stage("cluster")
	t.change(func(s *state.Status) { s.Ready = true })
}

func (t *tracker) fail(err error) {
	t.change(func(s *state.Status) { s.Ready, s.Failed = false, err.Error() })
}

func (t *tracker) change(f func(*state.Status)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.status)
	close(t.changed)
	t.changed = make(chan struct{})
}

// now returns the status and a channel that is closed when it changes.
func (t *tracker) now() (state.Status, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.status
	_, s.Memory = hostpods.ProcessUsage(os.Getpid())
	s.Processes = t.processes()
	s.Stages = append([]state.Stage(nil), s.Stages...)
	return s, t.changed
}

// serveControl answers on the control socket and, once it does, publishes the
// state file that names it.
func (s *server) serveControl() error {
	l, err := net.Listen("unix", s.now.Socket)
	if err != nil {
		return fmt.Errorf("listen on the control socket: %w", err)
	}
	mux := controlHandler(s.tracker, func() {
		s.processes.Shutdown()
		s.parts.Stop()
	})
	s.processes.Programs.Handle(mux)
	s.recorder.Handle(mux)
	s.faults.Handle(mux)
	s.handleCredentials(mux)
	srv := &http.Server{Handler: mux, ErrorLog: s.log, ReadHeaderTimeout: time.Minute}
	s.parts.Run("the control socket", func(ctx context.Context) error {
		defer context.AfterFunc(ctx, func() {
			if err := srv.Close(); err != nil {
				s.log.Printf("close the control socket: %v", err)
			}
		})()
		return srv.Serve(l)
	})
	return s.layout.Write(s.now)
}

// controlHandler serves the commands' questions on a socket that only the user can
// open. One of them follows the start and ends when it is over, so that no command
// has to ask again and again.
func controlHandler(t *tracker, stop func()) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+state.StatusPath, func(w http.ResponseWriter, _ *http.Request) {
		status, _ := t.now()
		send(w, status)
	})
	mux.HandleFunc("GET "+state.FollowPath, func(w http.ResponseWriter, r *http.Request) {
		for {
			status, changed := t.now()
			if !send(w, status) || status.Ready || status.Failed != "" {
				return
			}
			select {
			case <-changed:
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("GET "+state.HeapPath, func(w http.ResponseWriter, r *http.Request) {
		debug, err := strconv.Atoi(r.FormValue("debug"))
		if err != nil || debug == 0 {
			runtime.GC() // what is garbage is not asked for
		}
		_ = pprof.Lookup("heap").WriteTo(w, debug) // ignore write errors: the client is gone
	})
	mux.HandleFunc("POST "+state.StopPath, func(w http.ResponseWriter, _ *http.Request) {
		status, _ := t.now()
		send(w, status)
		stop()
	})
	return mux
}

// send writes one status and reports whether it went out: one who has hung up
// needs no answer.
func send(w http.ResponseWriter, s state.Status) bool {
	if json.NewEncoder(w).Encode(s) != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}
