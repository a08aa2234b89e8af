package cluster

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/clustertest"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/recording"
)

// TestStartOfARunningCluster: 'start' tells what is not as asked, and refuses it where
// it was asked for.
func TestStartOfARunningCluster(t *testing.T) {
	w := hosttest.New(t)
	var now state.Status
	at, running := clustertest.Serve(t, w.Host, "default", func() any { return now })
	lock, err := at.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	for name, tc := range map[string]struct {
		change func(*state.State)
		flags  []string
		want   string // of what is said
		fails  bool
	}{
		"of a run":         {func(s *state.State) { s.Tied = true }, nil, "Warning: cluster default stops when the 'mysdk run local' that started it ends", false},
		"of its own":       {func(*state.State) {}, nil, "Cluster default is running", false},
		"verbosity":        {func(s *state.State) { s.Verbosity = 2 }, []string{"log-verbosity=4"}, "with --log-verbosity 2", true},
		"that verbosity":   {func(s *state.State) { s.Verbosity = 4 }, []string{"log-verbosity=4"}, "Cluster default is running", false},
		"without fsync":    {func(*state.State) {}, []string{"fsync=true"}, "without --fsync", true},
		"with fsync":       {func(s *state.State) { s.FSync = true }, []string{"fsync=false"}, "with --fsync", true},
		"fsync as it runs": {func(s *state.State) { s.FSync = true }, nil, "Cluster default is running", false},
	} {
		t.Run(name, func(t *testing.T) {
			now = state.Status{State: running, Ready: true}
			tc.change(&now.State)
			said := &bytes.Buffer{}
			f := &cli.Factory{Host: w.Host, Given: map[string]bool{}}
			f.Host.IO.Err = said
			c := New(f)
			args := []string{"start"}
			for _, flag := range tc.flags {
				key, _, _ := strings.Cut(flag, "=")
				f.Given[key] = true
				args = append(args, "--"+flag)
			}
			c.SetArgs(args)
			c.SilenceErrors, c.SilenceUsage = true, true
			err := c.ExecuteContext(t.Context())
			if text := fmt.Sprint(said, err); (err != nil) != tc.fails || !strings.Contains(text, tc.want) || strings.Contains(text, "Warning") != strings.HasPrefix(tc.want, "Warning") {
				t.Errorf("printed:\n%s", text)
			}
		})
	}
}

func TestStartingClusterIsNotUp(t *testing.T) {
	out := &bytes.Buffer{}
	describeCluster(out, cluster.Info{State: cluster.Running, Problem: "it is starting"}, time.Now())
	if text := out.String(); strings.Contains(text, "Up:") || !strings.Contains(text, "it is starting") {
		t.Errorf("printed:\n%s", text)
	}
}

// TestWarnOfRun: 'stop', 'reset' and 'start --fresh' name the run that uses the
// cluster, and only one that does.
func TestWarnOfRun(t *testing.T) {
	w := hosttest.New(t)
	rec := recording.Recording{Operator: "op", Project: "/work/shop"}
	at, running := clustertest.Serve(t, w.Host, "default", func() any { return rec })
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
				s = running
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
