package cluster

import (
	"os"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/cluster/state"
)

// TestTail: what made the server end is in it, however long its stacks are.
func TestTail(t *testing.T) {
	stacks := strings.Repeat("goroutine 1 [running]:\n", 2*tailLines)
	for name, tc := range map[string]struct{ log, first, last string }{
		"the end":    {"a\nb\n", "a", "b"},
		"long":       {strings.Repeat("a\n", 2*tailLines) + "b\n", "a", "b"},
		"a panic":    {"a\npanic: invalid downgrade\n" + stacks, "panic: invalid downgrade", "goroutine 1 [running]:"},
		"two panics": {"panic: old\n" + stacks + "fatal error: new\n" + stacks, "fatal error: new", "goroutine 1 [running]:"},
	} {
		l := state.Layout{Dir: t.TempDir()}
		if err := os.WriteFile(l.Log(), []byte(tc.log), 0o600); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimPrefix(tail(l), "\nThe end of its log:\n"), "\n")
		if len(lines) > tailLines || lines[0] != "  "+tc.first || lines[len(lines)-1] != "  "+tc.last {
			t.Errorf("%s: %q", name, lines)
		}
	}
}
