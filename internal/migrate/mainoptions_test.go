package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withOption is a main program of go/v3 with an option of the manager, and
// statements before it.
func withOption(before, option string) string {
	return `package main

import (
	"context"
	"flag"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

var (
	scheme   = runtime.NewScheme()
	setupLog = ctrl.Log.WithName("setup")
)

func main() {
	var metricsAddr string
	flag.StringVar(&metricsAddr, "metrics-bind-address", ":8080", "")
	var mine time.Duration
	var configFile string
	flag.DurationVar(&mine, "mine", 0, "")
	flag.Parse()
` + before + `
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:             scheme,
		MetricsBindAddress: metricsAddr,
		` + option + `,
	})
	if err != nil {
		os.Exit(1)
	}
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}
`
}

// mainOf migrates a main program.
func mainOf(t *testing.T, text string) (*mainParts, string) {
	t.Helper()
	m := newMigration(map[string]string{"main.go": text, "PROJECT": "version: \"3\"\nlayout: [go.kubebuilder.io/v3]\nprojectName: shop\nrepo: example.com/shop\n"})
	m.Scaffolder = testScaffolder
	m.module, m.moves, m.layout = "example.com/shop", map[string]target{}, LayoutGo3
	rendered, err := m.render([]byte("domain: example.com\nlayout: [go.kubebuilder.io/v4]\nprojectName: shop\nrepo: example.com/shop\nversion: \"3\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	m.rendered = rendered
	parts, err := m.readMain("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.finishMain(string(rendered[newMain]), parts); err != nil {
		t.Fatal(err)
	}
	return parts, string(m.out[newMain].data)
}

// TestManagerOptions holds where each option of the manager goes.
func TestManagerOptions(t *testing.T) {
	const objects = "managerOptions.Client.Cache.DisableFor = append(managerOptions.Client.Cache.DisableFor, "
	tests := map[string]struct{ before, option, want string }{
		"sync period":             {"", "SyncPeriod: &mine", "managerOptions.Cache.SyncPeriod = &mine\n"},
		"election namespace":      {"", `LeaderElectionNamespace: "ours"`, "managerOptions.LeaderElectionNamespace = \"ours\"\n"},
		"lock":                    {"", `LeaderElectionResourceLock: "leases"`, "managerOptions.LeaderElectionResourceLock = \"leases\"\n"},
		"durations":               {"\tlease := time.Minute", "LeaseDuration: &lease, RenewDeadline: &lease, RetryPeriod: &lease", "managerOptions.RenewDeadline = &lease\n"},
		"release":                 {"", "LeaderElectionReleaseOnCancel: false", "managerOptions.LeaderElectionReleaseOnCancel = false\n"},
		"grace":                   {"", "GracefulShutdownTimeout: &mine", "managerOptions.GracefulShutdownTimeout = &mine\n"},
		"dry run":                 {"", "DryRunClient: true", "dryRun := true\n\tmanagerOptions.Client.DryRun = &dryRun\n"},
		"uncached":                {"", "ClientDisableCacheFor: []client.Object{&corev1.ConfigMap{}}", objects + "[]client.Object{&corev1.ConfigMap{}}...)\n"},
		"client builder":          {"", "ClientBuilder: manager.NewClientBuilder().WithUncached(&corev1.ConfigMap{})", objects + "&corev1.ConfigMap{})\n"},
		"client with options":     {"", "NewClient: cluster.ClientBuilderWithOptions(cluster.ClientOptions{CacheUnstructured: true})", "managerOptions.Client.Cache.Unstructured = true\n"},
		"logger":                  {"", "Logger: setupLog", "managerOptions.Logger = setupLog\n"},
		"base context":            {"", "BaseContext: func() context.Context { return context.Background() }", "managerOptions.BaseContext = func() context.Context"},
		"endpoints":               {"", `ReadinessEndpointName: "/r", LivenessEndpointName: "/l"`, "managerOptions.LivenessEndpointName = \"/l\"\n"},
		"host":                    {"", `Host: "127.0.0.1"`, "server.Options.Host = \"127.0.0.1\"\n"},
		"certificates":            {"", `CertDir: "/certs"`, "server.Options.CertDir = \"/certs\"\n"},
		"port":                    {"", "Port: 9999", `&o.webhookPort, "webhook-port", 9999,`},
		"probes":                  {"", `HealthProbeBindAddress: ":9000"`, `"health-probe-bind-address", ":9000",`},
		"metrics":                 {"", `MetricsBindAddress: ":9090"`, `"metrics-bind-address", ":9090",`},
		"election":                {"", "LeaderElection: true", `"leader-elect", true,`},
		"election ID":             {"", `LeaderElectionID: "me.example.com"`, `"leader-election-id", "me.example.com",`},
		"an election ID in const": {"\tconst id = \"me\"", "LeaderElectionID: id", "managerOptions.LeaderElectionID = id\n"},
		"a namespace":             {"", `Namespace: os.Getenv("MINE")`, "if namespace := os.Getenv(\"MINE\"); namespace != \"\" {\n\t\tmanagerOptions.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}\n"},
		"namespaces":              {"", `NewCache: cache.MultiNamespacedCacheBuilder([]string{"a", "b"})`, "for _, namespace := range []string{\"a\", \"b\"} {\n\t\tmanagerOptions.Cache.DefaultNamespaces[namespace] = cache.Config{}\n"},
		"selectors": {"", `NewCache: cache.BuilderWithOptions(cache.Options{SelectorsByObject: cache.SelectorsByObject{&corev1.Pod{}: {Field: fields.Everything()}}})`,
			"managerOptions.Cache.ByObject = map[client.Object]cache.ByObject{&corev1.Pod{}: {Field: fields.Everything()}}\n"},
		"a cache of one's own": {"", "NewCache: cache.New", "managerOptions.NewCache = cache.New\n"},
		"controllers":          {"", `Controller: v1alpha1.ControllerConfigurationSpec{GroupKindConcurrency: map[string]int{"a": 1}, CacheSyncTimeout: &mine}`, "managerOptions.Controller.CacheSyncTimeout = mine\n"},
		"webhook server":       {"", `WebhookServer: webhook.NewServer(webhook.Options{Port: 9443, Host: "::1"})`, "server.Options.Host = \"::1\"\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, got := mainOf(t, withOption(test.before, test.option))
			if !strings.Contains(got, test.want) || strings.Contains(got, todoMark) {
				t.Errorf("no %q in\n%s", test.want, got)
			}
			if _, err := parseGo(newMain, []byte(got)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestManagerOptionsLeft holds that of options without a successor nothing is
// marked but they.
func TestManagerOptionsLeft(t *testing.T) {
	for name, option := range map[string]string{
		"a client of one's own": "NewClient: func(cache cache.Cache) (client.Client, error) { return nil, nil }",
		"a mapper":              "MapperProvider: func(c *http.Client) {}",
		"what is not there":     "SyncPeriod: &nowhere[configFile]",
		"unknown":               "Strange: 1",
	} {
		t.Run(name, func(t *testing.T) {
			parts, got := mainOf(t, withOption("", option+",\n\t\tGracefulShutdownTimeout: &mine"))
			if n := strings.Count(got, todoMark); n != 1 {
				t.Errorf("%d marks in\n%s", n, got)
			}
			if !strings.Contains(got, "\t//\t"+option+"\n") || !strings.Contains(got, "managerOptions.GracefulShutdownTimeout = &mine\n") || strings.Contains(got, "//\tmgr, err") ||
				!strings.Contains(got, " sets "+strings.SplitN(option, ":", 2)[0]+", which has no successor of its form") {
				t.Errorf("got %s", got)
			}
			if n := len(parts.left); n != 4 { // the flag of the user's, and the two options
				t.Errorf("%d statements are left: %+v", n, parts.left)
			}
		})
	}
}

// TestOptionsVariable holds what becomes of options that are changed after
// they were made, and of what the manager's configuration is given.
func TestOptionsVariable(t *testing.T) {
	before, after, _ := strings.Cut(withOption("", "X: 1"), "\tmgr, err := ctrl.NewManager(")
	_, after, _ = strings.Cut(after, "\t})\n")
	for name, test := range map[string]struct{ statements, want, gone string }{
		"assigned": {"\toptions := ctrl.Options{Scheme: scheme}\n\toptions.RetryPeriod = &mine\n\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)\n",
			"\tmanagerOptions := opts.manager(namespaces)\n\tmanagerOptions.RetryPeriod = &mine\n\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), managerOptions)\n", "options.Retry"},
		"under a condition": {"\toptions := ctrl.Options{Scheme: scheme}\n\tif mine > 0 {\n\t\toptions.SyncPeriod = &mine\n\t}\n\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)\n",
			"\tif mine > 0 {\n\t\tmanagerOptions.Cache.SyncPeriod = &mine\n\t}\n", "TODO"},
		"by a variable of the condition": {"\toptions := ctrl.Options{Scheme: scheme}\n\tif ns := os.Getenv(\"MINE\"); ns != \"\" {\n\t\toptions.Namespace = ns\n\t}\n\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)\n",
			"\tif ns := os.Getenv(\"MINE\"); ns != \"\" {\n\t\tif namespace := ns; namespace != \"\" {\n", "TODO"},
		"by a flag of the scaffold": {"\toptions := ctrl.Options{Scheme: scheme}\n\tif metricsAddr != \"\" {\n\t\toptions.RetryPeriod = &mine\n\t}\n\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)\n",
			"\tif opts.metricsAddr != \"\" {\n\t\tmanagerOptions.RetryPeriod = &mine\n\t}\n", "TODO"},
		"read from a file": {"\toptions := ctrl.Options{Scheme: scheme}\n\tif configFile != \"\" {\n\t\toptions, err = options.AndFrom(ctrl.ConfigFile().AtPath(configFile))\n\t\tif err != nil {\n\t\t\tos.Exit(1)\n\t\t}\n\t}\n\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)\n",
			"\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), opts.manager(namespaces))\n", "TODO"},
		"configuration": {"\tconfig := ctrl.GetConfigOrDie()\n\tconfig.QPS = 50\n\tmgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, SyncPeriod: &mine})\n",
			"\trestConfig := ctrl.GetConfigOrDie()\n\trestConfig.QPS = 50\n\tmanagerOptions := opts.manager(namespaces)\n\tmanagerOptions.Cache.SyncPeriod = &mine\n\tmgr, err := ctrl.NewManager(restConfig, managerOptions)\n", "TODO"},
		"namespaces of the environment": {"\twatchNamespace, err := getWatchNamespace()\n\tif err != nil {\n\t\tos.Exit(1)\n\t}\n\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Namespace: watchNamespace})\n",
			"opts.manager(namespaces))", "getWatchNamespace"},
	} {
		t.Run(name, func(t *testing.T) {
			text := before + test.statements + after + "\n// getWatchNamespace reads it.\nfunc getWatchNamespace() (string, error) { return os.Getenv(\"WATCH_NAMESPACE\"), nil }\n"
			_, got := mainOf(t, text)
			if !strings.Contains(got, test.want) || strings.Contains(got, test.gone) {
				t.Errorf("no %q, or %q, in\n%s", test.want, test.gone, got)
			}
		})
	}
}

// TestHealthChecks holds that checks of the user's own are kept.
func TestHealthChecks(t *testing.T) {
	text := withOption("", "Port: 9443")
	text = strings.Replace(text, "\tif err := mgr.Start(", "\t//+kubebuilder:scaffold:builder\n\t// It is mine.\n\tif err := mgr.AddHealthzCheck(\"mine\", check); err != nil {\n\t\tos.Exit(1)\n\t}\n"+
		"\tif err := mgr.AddReadyzCheck(\"check\", healthz.Ping); err != nil {\n\t\tos.Exit(1)\n\t}\n\tif err := mgr.Start(", 1) + "\nfunc check(*http.Request) error { return nil }\n"
	parts, got := mainOf(t, text)
	if !strings.Contains(got, "mgr.AddHealthzCheck(\"mine\", check)") || strings.Contains(got, `"check", healthz.Ping`) {
		t.Errorf("got %s", got)
	}
	if strings.Count(got, "+kubebuilder:scaffold:builder") != 1 || !strings.Contains(got, "\t// It is mine.\n\tif err := mgr.AddHealthz") {
		t.Errorf("comments in\n%s", got)
	}
	if d := cmp.Diff("\n", parts.decls[:1]); d != "" || !strings.Contains(parts.decls, "func check(") {
		t.Errorf("declarations: %s", parts.decls)
	}
}
