package migrate

import "testing"

func TestManagerOptions(t *testing.T) {
	const (
		root    = `ctrl "sigs.k8s.io/controller-runtime"`
		metrics = `metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"`
		webhook = `"sigs.k8s.io/controller-runtime/pkg/webhook"`
		cache   = `"sigs.k8s.io/controller-runtime/pkg/cache"`
	)
	runPasses(t, map[string]passCase{
		"all": {
			root, "var o = ctrl.Options{\n\tScheme:             s,\n\tMetricsBindAddress: \"0\",\n\tPort:               9443,\n\tCertDir:            dir,\n\tNamespace:          ns,\n\tSyncPeriod:         &p,\n\tLeaderElection:     true,\n\tHost:               h,\n}",
			cache + "; " + root + "; " + metrics + "; " + webhook,
			"var o = ctrl.Options{\n\tScheme:         s,\n\tMetrics:        metricsserver.Options{BindAddress: \"0\"},\n\tWebhookServer:  webhook.NewServer(webhook.Options{Port: 9443, CertDir: dir, Host: h}),\n\tCache:          cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}, SyncPeriod: &p},\n\tLeaderElection: true,\n}",
		},
		"in a line":          {importManager, "var o = manager.Options{Port: 1, Host: h}", importManager + "; " + webhook, "var o = manager.Options{WebhookServer: webhook.NewServer(webhook.Options{Port: 1, Host: h})}"},
		"grouped already":    {root, "var o = ctrl.Options{Metrics: m, MetricsBindAddress: a}", "", "// TODO(migrate): this option has moved into the manager's field Metrics: MetricsBindAddress: a\nvar o = ctrl.Options{Metrics: m, MetricsBindAddress: a}"},
		"a namespace":        {root, "var o = ctrl.Options{Cache: c, Namespace: ns}", "", "// TODO(migrate): this option has moved into the manager's field Cache.DefaultNamespaces: Namespace: ns\nvar o = ctrl.Options{Cache: c, Namespace: ns}"},
		"other options":      {`"example.com/ctrl"`, "var o = ctrl.Options{Port: 1}", "", ""},
		"none of the fields": {root, "var o = ctrl.Options{Scheme: s}", "", ""},
	}, managerOptions)
}
