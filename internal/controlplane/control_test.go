package controlplane

import (
	"context"
	"errors"
	"log"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/controlplane/hostpods"
	"github.com/example/mysdk/internal/controlplane/supervise"
)

// testServer is a server with nothing but its control socket.
func testServer(t *testing.T, logs *strings.Builder) *server {
	t.Helper()
	l := state.Layout{Dir: t.TempDir()}
	dir, err := l.RuntimeDir(longestSocket)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{
		layout: l, log: log.New(logs, "", 0), parts: supervise.New(t.Context()),
		now: state.State{Name: "one", PID: 1, RuntimeDir: dir, Socket: filepath.Join(dir, controlSocket), StartedAt: time.Now()},
	}
	if s.processes, err = hostpods.New(l, "", s.log); err != nil {
		t.Fatal(err)
	}
	s.tracker = newTracker(s.now, s.log, s.processes.List)
	if err := s.serveControl(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.parts.Stop)
	return s
}

func TestControlSocketTellsTheStart(t *testing.T) {
	s := testServer(t, &strings.Builder{})
	control := state.Control{Socket: s.now.Socket}
	if written, err := s.layout.Read(); err != nil || written.Socket != s.now.Socket {
		t.Fatalf("the state file names the socket %q, %v", written.Socket, err)
	}
	if now, err := control.Status(t.Context()); err != nil || now.Ready || now.PID != 1 {
		t.Errorf("Status() = %+v, %v", now, err)
	}
	steps := []func(){
		func() { s.tracker.stage("etcd") },
		func() { s.tracker.stage("kube-apiserver") },
		s.tracker.ready,
	}
	var seen []state.Status
	last, err := control.Follow(t.Context(), func(now state.Status) {
		seen = append(seen, now)
		if n := len(now.Stages); n < len(steps) && len(seen) == n+1 {
			go steps[n]()
		}
	})
	if err != nil || !last.Ready {
		t.Fatalf("Follow() = %+v, %v", last, err)
	}
	var names []string
	for _, stage := range last.Stages {
		names = append(names, stage.Name)
	}
	if got := strings.Join(names, " "); got != "etcd kube-apiserver cluster" {
		t.Errorf("stages = %s", got)
	}
}

func TestControlSocketTellsAFailure(t *testing.T) {
	s := testServer(t, &strings.Builder{})
	s.tracker.fail(errors.New("the disk is full"))
	last, err := state.Control{Socket: s.now.Socket}.Follow(t.Context(), func(state.Status) {})
	if err != nil || last.Ready || last.Failed != "the disk is full" {
		t.Errorf("Follow() = %+v, %v", last, err)
	}
}

func TestControlSocketStops(t *testing.T) {
	s := testServer(t, &strings.Builder{})
	if err := (state.Control{Socket: s.now.Socket}).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-s.parts.Ctx.Done()
	if err := s.parts.Reason(); err != nil {
		t.Errorf("reason() = %v, want nil: it was asked to stop", err)
	}
}

func TestControlHandlerRefusesOtherRequests(t *testing.T) {
	s := testServer(t, &strings.Builder{})
	for _, r := range []struct{ method, path string }{
		{http.MethodGet, state.StopPath}, {http.MethodPost, state.StatusPath}, {http.MethodGet, "/"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), r.method, r.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		w := &heard{header: http.Header{}}
		controlHandler(s.tracker, s.parts.Stop).ServeHTTP(w, request)
		if w.code < http.StatusBadRequest {
			t.Errorf("%s %s answers %d", r.method, r.path, w.code)
		}
	}
	if s.parts.Ctx.Err() != nil {
		t.Error("one of them stopped the server")
	}
}

type heard struct {
	header http.Header
	code   int
}

func (r *heard) Header() http.Header { return r.header }

func (r *heard) WriteHeader(code int) { r.code = code }

func (r *heard) Write(p []byte) (int, error) { return len(p), nil }

func (r *heard) SetWriteDeadline(time.Time) error { return nil }

func TestSupervisor(t *testing.T) {
	reason := errors.New("out of luck")
	tests := map[string]struct {
		component func(context.Context) error
		want      string // "" for a stop that was asked for
	}{
		"fails":           {func(context.Context) error { return reason }, "etcd ended unexpectedly: out of luck"},
		"returns":         {func(context.Context) error { return nil }, "etcd ended unexpectedly: it returned"},
		"ends when told":  {func(ctx context.Context) error { <-ctx.Done(); return nil }, ""},
		"fails when told": {func(ctx context.Context) error { <-ctx.Done(); return reason }, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := supervise.New(t.Context())
			p.Run("etcd", tc.component)
			if tc.want == "" {
				p.Stop()
			}
			<-p.Ctx.Done()
			err := p.Reason()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || err.Error() != tc.want) {
				t.Errorf("reason() = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestSupervisorWaitsForItsComponents(t *testing.T) {
	p := supervise.New(t.Context())
	var ended atomic.Bool
	p.Run("a slow one", func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond)
		ended.Store(true)
		return nil
	})
	p.Stop()
	p.Wait()
	if !ended.Load() {
		t.Error("it runs after wait()")
	}
}

func TestEndOfTheOuterContextIsNoFailure(t *testing.T) {
	outer, cancel := context.WithCancel(t.Context())
	p := supervise.New(outer)
	cancel()
	<-p.Ctx.Done()
	if err := p.Reason(); err != nil {
		t.Errorf("reason() = %v", err)
	}
}

func TestRunRefusesAnOwnedDirectory(t *testing.T) {
	l := state.Layout{Dir: t.TempDir()}
	k, err := l.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	err = Run(t.Context(), Options{Dir: l.Dir, Log: &strings.Builder{}})
	if !errors.Is(err, state.ErrLocked) {
		t.Errorf("Run() = %v, want ErrLocked", err)
	}
}
