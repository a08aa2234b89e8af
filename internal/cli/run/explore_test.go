package run

import (
	"path/filepath"
	"testing"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/explore"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestKeep: an exploration that was cut short before it found anything leaves the
// findings of the one before.
func TestKeep(t *testing.T) {
	f := &cli.Factory{Host: hosttest.New(t).Host}
	kept := filepath.Join(f.Host.Dir, "explored.json")
	for _, tc := range []struct {
		ended    string
		findings []explore.Finding
		there    bool // finding 1 afterwards
	}{
		{explore.EndedInterrupted, []explore.Finding{{ID: "1"}}, true},
		{explore.EndedInterrupted, nil, true},
		{explore.EndedFailed, nil, true},
		{explore.EndedTime, nil, false},
		{explore.EndedFailed, []explore.Finding{{ID: "1"}}, true},
		{explore.EndedDone, nil, false},
	} {
		if err := keep(f, kept, explore.Report{Ended: tc.ended, Findings: tc.findings}); err != nil {
			t.Fatal(err)
		}
		if _, err := (&exploreOptions{replay: "1"}).replayed(f, kept); (err == nil) != tc.there {
			t.Errorf("%s with %d findings: %v", tc.ended, len(tc.findings), err)
		}
	}
}
