// Command manager runs the controllers of webhook-olm.
package main

import (
	"cmp"
	"crypto/tls"
	"flag"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus/collectors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // logins that a kubeconfig may name: exec, OIDC, Azure, GCP
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	shipv1 "example.com/webhook-olm/api/ship/v1"
	shipv1alpha1 "example.com/webhook-olm/api/ship/v1alpha1"
	shipcontroller "example.com/webhook-olm/internal/controller/ship"
	webhookappsv1 "example.com/webhook-olm/internal/webhook/apps/v1"
	webhookshipv1 "example.com/webhook-olm/internal/webhook/ship/v1"
	webhookshipv1alpha1 "example.com/webhook-olm/internal/webhook/ship/v1alpha1"
	// +kubebuilder:scaffold:imports
)

var (
	scheme   = runtime.NewScheme()
	setupLog = ctrl.Log.WithName("setup")
)

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))

	utilruntime.Must(shipv1alpha1.AddToScheme(scheme))
	utilruntime.Must(shipv1.AddToScheme(scheme))
	// +kubebuilder:scaffold:scheme
}

func main() {
	var opts options
	opts.bindFlags(flag.CommandLine)
	logging := zap.Options{Development: true}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))

	// go_build_info, among the metrics, tells which build is running.
	metrics.Registry.MustRegister(collectors.NewBuildInfoCollector())

	namespaces := watchNamespaces(os.Getenv("WATCH_NAMESPACE"))
	setupLog.Info("Watching", "namespaces", cmp.Or(strings.Join(namespaces, ","), "all"))

	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), opts.manager(namespaces))
	if err != nil {
		setupLog.Error(err, "Failed to create the manager")
		os.Exit(1)
	}

	if err := (&shipcontroller.FrigateReconciler{
		Client: mgr.GetClient(),
		Scheme: mgr.GetScheme(),
	}).SetupWithManager(mgr); err != nil {
		setupLog.Error(err, "Failed to create controller", "controller", "ship-frigate")
		os.Exit(1)
	}
	if os.Getenv("ENABLE_WEBHOOKS") != "false" {
		if err := webhookshipv1alpha1.SetupFrigateWebhookWithManager(mgr); err != nil {
			setupLog.Error(err, "Failed to create webhook", "webhook", "Frigate")
			os.Exit(1)
		}
	}
	if os.Getenv("ENABLE_WEBHOOKS") != "false" {
		if err := webhookappsv1.SetupDeploymentWebhookWithManager(mgr); err != nil {
			setupLog.Error(err, "Failed to create webhook", "webhook", "Deployment")
			os.Exit(1)
		}
	}
	if os.Getenv("ENABLE_WEBHOOKS") != "false" {
		if err := webhookshipv1.SetupFrigateWebhookWithManager(mgr); err != nil {
			setupLog.Error(err, "Failed to create webhook", "webhook", "Frigate")
			os.Exit(1)
		}
	}
	// +kubebuilder:scaffold:builder

	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		setupLog.Error(err, "Failed to add the health check")
		os.Exit(1)
	}
	if err := mgr.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		setupLog.Error(err, "Failed to add the ready check")
		os.Exit(1)
	}

	// SIGTERM and Ctrl-C end the context; Start then lets running reconciles
	// finish before it returns. A second signal ends the process at once.
	setupLog.Info("Starting the manager")
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		setupLog.Error(err, "The manager stopped")
		os.Exit(1)
	}
}

// options are the flags of the manager.
type options struct {
	metricsAddr, probeAddr string
	secureMetrics          bool
	metricsCert            certificate
	webhookHost            string
	webhookPort            int
	webhookCert            certificate
	leaderElect            bool
	leaderElectionID       string
	enableHTTP2            bool
}

// certificate names the files of a TLS certificate. They are read again when
// they change. Without a directory the server makes a self-signed one.
type certificate struct{ path, name, key string }

func (o *options) bindFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.metricsAddr, "metrics-bind-address", "0",
		"Address of the metrics: :8443 for HTTPS, :8080 for HTTP, 0 for none.")
	fs.BoolVar(&o.secureMetrics, "metrics-secure", true,
		"Serve the metrics by HTTPS, and only to clients that the API server lets read them.")
	fs.StringVar(&o.probeAddr, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz.")
	fs.BoolVar(&o.leaderElect, "leader-elect", false,
		"Work only while holding the leader lease, so that one manager of several is active.")
	fs.StringVar(&o.leaderElectionID, "leader-election-id", "addc0538.example.com",
		"Name of the leader lease.")
	fs.BoolVar(&o.enableHTTP2, "enable-http2", false, "Serve metrics and webhooks by HTTP/2 too.")
	fs.StringVar(&o.webhookHost, "webhook-host", "", "Address that the webhook server listens on; empty for all of them.")
	fs.IntVar(&o.webhookPort, "webhook-port", 9443, "Port of the webhook server.")
	o.webhookCert.bindFlags(fs, "webhook")
	o.metricsCert.bindFlags(fs, "metrics")
}

func (c *certificate) bindFlags(fs *flag.FlagSet, server string) {
	fs.StringVar(&c.path, server+"-cert-path", "", "Directory of the "+server+" server's certificate.")
	fs.StringVar(&c.name, server+"-cert-name", "tls.crt", "File name of the "+server+" server's certificate.")
	fs.StringVar(&c.key, server+"-cert-key", "tls.key", "File name of the "+server+" server's key.")
}

// manager returns the manager's options. No namespaces means all of them.
func (o *options) manager(namespaces []string) ctrl.Options {
	result := ctrl.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: o.probeAddr,
		Metrics:                o.metrics(),
		WebhookServer: webhook.NewServer(webhook.Options{
			Host:     o.webhookHost,
			Port:     o.webhookPort,
			CertDir:  o.webhookCert.path,
			CertName: o.webhookCert.name,
			KeyName:  o.webhookCert.key,
			TLSOpts:  o.tls(),
		}),

		// The lease is released on the way out, which is safe as long as main
		// ends with the manager. Leader-for-life, which never hands over while
		// the pod exists, is in github.com/operator-framework/operator-lib/leader.
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              o.leaderElectionID,
		LeaderElectionNamespace:       os.Getenv("POD_NAMESPACE"), // empty: the namespace of the pod
		LeaderElectionReleaseOnCancel: true,
	}

	// Secrets are read when needed, not watched: the manager keeps none in
	// memory and needs no permission to list them.
	result.Client.Cache = &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}

	for _, namespace := range namespaces {
		if result.Cache.DefaultNamespaces == nil {
			result.Cache.DefaultNamespaces = map[string]cache.Config{}
		}
		result.Cache.DefaultNamespaces[namespace] = cache.Config{}
	}
	return result
}

func (o *options) metrics() metricsserver.Options {
	result := metricsserver.Options{
		BindAddress:   o.metricsAddr,
		SecureServing: o.secureMetrics,
		CertDir:       o.metricsCert.path,
		CertName:      o.metricsCert.name,
		KeyName:       o.metricsCert.key,
		TLSOpts:       o.tls(),
	}
	if o.secureMetrics {
		// Who may read: config/rbac/metrics_reader_role.yaml.
		result.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return result
}

// tls keeps HTTP/2 off unless it is asked for: a client can exhaust a server
// by opening and resetting streams (CVE-2023-39325, CVE-2023-44487).
func (o *options) tls() []func(*tls.Config) {
	if o.enableHTTP2 {
		return nil
	}
	return []func(*tls.Config){
		func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} },
	}
}

// watchNamespaces splits the comma-separated WATCH_NAMESPACE. None means all.
func watchNamespaces(list string) []string {
	var namespaces []string
	for namespace := range strings.SplitSeq(list, ",") {
		if namespace = strings.TrimSpace(namespace); namespace != "" {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}
