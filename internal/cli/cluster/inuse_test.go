package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/recording"
)

// TestWarnOfRun: 'stop', 'reset' and 'start --fresh' name the run that uses the
// cluster, and only one that does.
func TestWarnOfRun(t *testing.T) {
	w := hosttest.New(t)
	dir, err := w.Host.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	runtimeDir, err := os.MkdirTemp("", "mysdk") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtimeDir) })
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(runtimeDir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	rec := recording.Recording{Operator: "op", Project: "/work/shop"}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(rec) // else the test fails
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	start, err := state.ProcessStart(os.Getpid())
	at := state.New(dir, "default")
	err = errors.Join(err, os.MkdirAll(at.Dir, 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		running, active bool
		args            []string
	}{
		"stopped": {false, true, []string{"stop"}}, "unused": {true, false, []string{"stop"}},
		"stop": {true, true, []string{"stop"}}, "reset": {true, true, []string{"reset"}},
		"fresh": {true, true, []string{"start", "--fresh", "--nodes=-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := state.State{}
			if tc.running {
				s = state.State{PID: os.Getpid(), ProcessStart: start, Socket: l.Addr().String()}
			}
			if err := at.Write(s); err != nil {
				t.Fatal(err)
			}
			rec.Active = tc.active
			said := &bytes.Buffer{}
			f := &cli.Factory{Host: w.Host}
			f.Host.IO.Err = said
			c := New(f)
			c.SetArgs(tc.args)
			c.SilenceErrors, c.SilenceUsage = true, true
			if err := c.ExecuteContext(t.Context()); (err != nil) != (tc.args[0] != "stop") {
				t.Errorf("error: %v", err)
			}
			want := "'mysdk run local' in /work/shop is using cluster default"
			if strings.Contains(said.String(), want) != (tc.running && tc.active) {
				t.Errorf("printed:\n%s", said)
			}
		})
	}
}
