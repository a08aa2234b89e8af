// Package clustertest gives tests an embedded cluster that is nothing but a control
// socket.
package clustertest

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// Serve has the cluster of that name run until the test ends, as far as its state
// file says: in the test's process, without the lock. Whatever is asked over its
// control socket gets what answer returns, as JSON.
func Serve(t testing.TB, h host.Host, name string, answer func() any) (state.Layout, state.State) {
	t.Helper()
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := h.StateDir()
	fail(err)
	short, err := os.MkdirTemp("", "mysdk") // the path of a socket must be short
	fail(err)
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	s := state.State{Name: name, PID: os.Getpid(), Socket: filepath.Join(short, "s")}
	s.ProcessStart, err = state.ProcessStart(s.PID)
	fail(err)
	l, err := net.Listen("unix", s.Socket)
	fail(err)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(answer()) // else the test fails
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	layout := state.New(dir, name)
	fail(os.MkdirAll(layout.Dir, 0o700))
	fail(layout.Write(s))
	return layout, s
}
