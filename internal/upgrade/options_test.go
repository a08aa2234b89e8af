package upgrade

import (
	"go/format"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Options of the manager go where controller-runtime has them since v0.16.
func TestManagerOptions(t *testing.T) {
	const head = "package main\n\nimport \"fmt\"\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n\nvar o = "
	tests := map[string]struct {
		src, want string
		imports   []string
		note      string
	}{
		"as it was scaffolded": {
			"ctrl.Options{\n\tScheme:                 scheme,\n\tMetricsBindAddress:     addr,\n\tPort:                   9443,\n\tHealthProbeBindAddress: probes, // mine\n}",
			"ctrl.Options{\n\tScheme:                 scheme,\n\tMetrics:                metricsserver.Options{BindAddress: addr},\n\tWebhookServer:          webhook.NewServer(webhook.Options{Port: 9443}),\n\tHealthProbeBindAddress: probes, // mine\n}",
			[]string{`metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"`, `"sigs.k8s.io/controller-runtime/pkg/webhook"`}, "",
		},
		"several of a group": {
			"ctrl.Options{\n\tHost: h(1, 2),\n\tScheme: s,\n\tPort: p,\n\tCertDir: dir,\n}",
			"ctrl.Options{\n\tWebhookServer: webhook.NewServer(webhook.Options{Host: h(1, 2), Port: p, CertDir: dir}),\n\tScheme:        s,\n}",
			[]string{`"sigs.k8s.io/controller-runtime/pkg/webhook"`}, "",
		},
		"on one line": {
			"ctrl.Options{Port: 1, Scheme: s, Host: h}", "ctrl.Options{WebhookServer: webhook.NewServer(webhook.Options{Port: 1, Host: h}), Scheme: s}",
			[]string{`"sigs.k8s.io/controller-runtime/pkg/webhook"`}, "",
		},
		"the last ones of a line": {
			"ctrl.Options{Scheme: s, Host: h, Port: p, CertDir: d}",
			"ctrl.Options{Scheme: s, WebhookServer: webhook.NewServer(webhook.Options{Host: h, Port: p, CertDir: d})}",
			[]string{`"sigs.k8s.io/controller-runtime/pkg/webhook"`}, "",
		},
		"the last one of several lines": {
			"ctrl.Options{Scheme: s, Host: h,\n\tPort: p, // mine\n\tCertDir: d}",
			"ctrl.Options{Scheme: s, Host: h,\n\tPort: p, // mine\n\tCertDir: d}",
			nil, "main.go:6: options of the manager are no longer its own, but those of its field WebhookServer: Host: h, Port: p, CertDir: d",
		},
		"a comment before the comma": {
			"ctrl.Options{Host: h, Port: p /* mine */, Scheme: s}",
			"ctrl.Options{WebhookServer: webhook.NewServer(webhook.Options{Host: h, Port: p}) /* mine */, Scheme: s}",
			[]string{`"sigs.k8s.io/controller-runtime/pkg/webhook"`}, "",
		},
		"options within options": {
			"ctrl.Options{MetricsBindAddress: f(ctrl.Options{Port: 1})}", "ctrl.Options{Metrics: metricsserver.Options{BindAddress: f(ctrl.Options{Port: 1})}}",
			nil, "main.go:6: this is within something that was rewritten, and is as it was: see whether it compiles with today's controller-runtime",
		},
		"a format within": {
			"ctrl.Options{MetricsBindAddress: fmt.Sprintf(x.Text())}",
			"ctrl.Options{Metrics: metricsserver.Options{BindAddress: fmt.Sprint(x.Text())}}",
			[]string{`metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"`}, "",
		},
		"the cache": {
			"ctrl.Options{Namespace: ns, SyncPeriod: &p}", "ctrl.Options{Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}, SyncPeriod: &p}}",
			[]string{`"sigs.k8s.io/controller-runtime/pkg/cache"`}, "",
		},
		"both places":     {"ctrl.Options{Port: 1, WebhookServer: w}", "ctrl.Options{Port: 1, WebhookServer: w}", nil, "main.go:6: options of the manager are no longer its own, but those of its field WebhookServer: Port: 1"},
		"without names":   {"ctrl.Options{a, b}", "ctrl.Options{a, b}", nil, ""},
		"of today":        {"ctrl.Options{Metrics: m}", "ctrl.Options{Metrics: m}", nil, ""},
		"another's":       {"webhook.Options{Port: 1}", "webhook.Options{Port: 1}", nil, ""},
		"keys of a map":   {"ctrl.Options{\"Port\": 1}", "ctrl.Options{\"Port\": 1}", nil, ""},
		"another literal": {"[]int{1}", "[]int{1}", nil, ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"main.go": head + c.src + "\n"}
			got, notes := rewritten(t, true, files)
			if d := cmp.Diff(formatted(t, c.want), formatted(t, body(got["main.go"]))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			for _, line := range c.imports {
				if !strings.Contains(got["main.go"], "import "+line+"\n") {
					t.Errorf("no import of %s in\n%s", line, got["main.go"])
				}
			}
			if strings.Join(notes, "\n") != c.note {
				t.Errorf("noted %q, want %q", notes, c.note)
			}
		})
	}
}

// body is what the variable of the test has.
func body(src string) string {
	_, out, _ := strings.Cut(src, "\nvar o = ")
	return out
}

// formatted is an expression as gofmt writes it.
func formatted(t *testing.T, expr string) string {
	t.Helper()
	out, err := format.Source([]byte("package p\n\nvar o = " + strings.TrimSpace(expr) + "\n"))
	if err != nil {
		t.Fatalf("%v\n%s", err, expr)
	}
	return string(out)
}
