package gcpercent

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestRaised(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("GOGC is set")
	}
	got := debug.SetGCPercent(ours)
	if got != ours {
		t.Errorf("GOGC is %d at the start, want %d", got, ours)
	}
	for given, want := range map[int]int{50: 50, 100: ours, -1: -1} {
		debug.SetGCPercent(given)
		raise()
		if got := debug.SetGCPercent(ours); got != want {
			t.Errorf("with GOGC=%d it is %d, want %d", given, got, want)
		}
	}
}
