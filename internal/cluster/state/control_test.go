package state

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// serve answers on a control socket with handler and returns its path.
func serve(t *testing.T, handler http.Handler) Control {
	t.Helper()
	l := Layout{t.TempDir()}
	dir, err := l.RuntimeDir("c.sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.RemoveRuntimeDir(State{RuntimeDir: dir}); err != nil {
			t.Error(err)
		}
	})
	socket := filepath.Join(dir, "c.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go srv.Serve(listener)
	t.Cleanup(func() { _ = srv.Close() })
	return Control{socket}
}

func say(t *testing.T, w http.ResponseWriter, s Status) {
	t.Helper()
	if err := json.NewEncoder(w).Encode(s); err != nil {
		t.Error(err)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		t.Error(err)
	}
}

func TestControlStatus(t *testing.T) {
	want := Status{State: State{Name: "dev", PID: 3}, Ready: true, Stages: []Stage{{"etcd", time.Second}}, Memory: 5}
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != StatusPath {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		say(t, w, want)
	}))
	got, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("status (-want +got):\n%s", d)
	}
}

func TestControlFollowSeesEveryChange(t *testing.T) {
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, s := range []Status{{}, {Stages: []Stage{{Name: "etcd"}}}, {Ready: true}} {
			say(t, w, s)
		}
	}))
	var seen []Status
	last, err := c.Follow(t.Context(), func(s Status) { seen = append(seen, s) })
	if err != nil {
		t.Fatal(err)
	}
	if !last.Ready || len(seen) != 3 || len(seen[1].Stages) != 1 {
		t.Errorf("Follow() = %v after %v", last, seen)
	}
}

func TestControlFollowEndsWithItsContext(t *testing.T) {
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say(t, w, Status{})
		<-r.Context().Done()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	last, err := c.Follow(ctx, func(Status) { cancel() })
	if err == nil || last.Ready {
		t.Errorf("Follow() = %v, %v, want an error", last, err)
	}
}

func TestControlErrors(t *testing.T) {
	gone := Control{filepath.Join(t.TempDir(), "none")}
	refuses := serve(t, http.NotFoundHandler())
	garbled := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte("{")); err != nil {
			t.Error(err)
		}
	}))
	tests := map[string]struct {
		control Control
		want    string
	}{
		"no socket known": {Control{}, "no control socket"},
		"nobody there":    {gone, "ask the control plane"},
		"refused":         {refuses, "404"},
		"cut off":         {garbled, "EOF"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.control.Status(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Status() = %v, want an error with %q", err, tc.want)
			}
			if tc.control == garbled {
				return // a stop needs no answer that can be read
			}
			if err := tc.control.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Stop() = %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestControlStop(t *testing.T) {
	stopped := false
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stopped = r.Method == http.MethodPost && r.URL.Path == StopPath
		say(t, w, Status{})
	}))
	if err := c.Stop(t.Context()); err != nil || !stopped {
		t.Errorf("Stop() = %v, the server heard of it: %v", err, stopped)
	}
}
