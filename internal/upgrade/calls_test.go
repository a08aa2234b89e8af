package upgrade

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestManagerOptions holds that options of the manager go where
// controller-runtime has them since v0.16, and are named where they cannot.
func TestManagerOptions(t *testing.T) {
	const head, server = "package main\n\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n", "import metricsserver \"sigs.k8s.io/controller-runtime/pkg/metrics/server\"\n"
	for name, c := range map[string]struct {
		src, imports, want string
		notes              []string
	}{
		"an address":      {"ctrl.Options{Scheme: s, MetricsBindAddress: addr}", server, "ctrl.Options{Scheme: s, Metrics: metricsserver.Options{BindAddress: addr}}", nil},
		"grouped already": {"ctrl.Options{Metrics: m, MetricsBindAddress: addr}", "", "", []string{"main.go:5: this option has moved into the manager's field Metrics: MetricsBindAddress: addr"}},
		"without names":   {"ctrl.Options{a, b}", "", "", nil},
		"another's":       {"webhook.Options{Port: 1}", "", "", nil},
		"keys of a map":   {"ctrl.Options{\"Port\": 1}", "", "", nil},
		"another literal": {"[]int{1}", "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.src
			}
			got, notes := rewritten(t, true, map[string]string{"main.go": head + "\nvar o = " + c.src + "\n"})
			if d := cmp.Diff(head+c.imports+"\nvar o = "+c.want+"\n", got["main.go"]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.notes, notes); d != "" {
				t.Errorf("notes (-want +got):\n%s", d)
			}
		})
	}
}
