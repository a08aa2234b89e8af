package upgrade

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestManagerOptions holds that options of the manager which controller-runtime
// has elsewhere since v0.16 are named, and nothing else is.
func TestManagerOptions(t *testing.T) {
	const head = "package main\n\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n\nvar o = "
	const said = "main.go:5: this option of the manager is no longer its own, but one of its field "
	for name, c := range map[string]struct {
		src   string
		notes []string
	}{
		"an address":      {"ctrl.Options{Scheme: s, MetricsBindAddress: addr}", []string{said + "Metrics: MetricsBindAddress: addr"}},
		"several":         {"ctrl.Options{Namespace: ns, Port: 1}", []string{said + "Cache.DefaultNamespaces: Namespace: ns", said + "WebhookServer: Port: 1"}},
		"without names":   {"ctrl.Options{a, b}", nil},
		"of today":        {"ctrl.Options{Metrics: m}", nil},
		"another's":       {"webhook.Options{Port: 1}", nil},
		"keys of a map":   {"ctrl.Options{\"Port\": 1}", nil},
		"another literal": {"[]int{1}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, notes := rewritten(t, true, map[string]string{"main.go": head + c.src + "\n"})
			if d := cmp.Diff(c.notes, notes); d != "" || got["main.go"] != head+c.src+"\n" {
				t.Errorf("%s\nnotes (-want +got):\n%s", got["main.go"], d)
			}
		})
	}
}
