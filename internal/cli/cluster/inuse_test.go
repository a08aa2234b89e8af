package cluster

import (
	"bytes"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/cluster/clustertest"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/recording"
)

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
