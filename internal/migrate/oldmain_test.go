package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

const scaffoldedMain = `package main

import (
	"flag"
	"fmt"
	"os"

	"example.com/shop/controllers"
	shopv1 "example.com/shop/api/v1"
	routev1 "github.com/openshift/api/route/v1"
	"github.com/operator-framework/operator-lib/leader"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	IMPORTS
)

var (
	scheme   = runtime.NewScheme()
	setupLog = ctrl.Log.WithName("setup")
)

func init() {
	utilruntime.Must(shopv1.AddToScheme(scheme))
	INIT
}

func main() {
	var metricsAddr string
	var probeAddr string
	FLAGS
	flag.Parse()
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                 scheme,
		MetricsBindAddress:     metricsAddr,
		Port:                   9443,
		HealthProbeBindAddress: probeAddr,
		OPTIONS
	})
	if err != nil {
		setupLog.Error(err, "unable to start manager")
		os.Exit(1)
	}
	MANAGER
	// +kubebuilder:scaffold:builder
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}

DECLS
`

// programOf reads a main program of go/v3 with something more at these places.
func programOf(t *testing.T, more map[string]string) *oldProgram {
	t.Helper()
	text := scaffoldedMain
	for _, place := range []string{"IMPORTS", "INIT", "FLAGS", "OPTIONS", "MANAGER", "DECLS"} {
		if place == "OPTIONS" && more[place] != "" {
			more[place] += ","
		}
		text = strings.Replace(text, place, more[place], 1)
	}
	m := newMigration(map[string]string{"main.go": text, "api/v1/cart_types.go": "package v1\n"})
	m.module, m.apis = "example.com/shop", []*apiVersion{{dir: "api/v1", kinds: []kind{{name: "Cart"}}}, {dir: "api/v2"}}
	m.rendered = renderedScaffold(t)
	p, err := m.readMain("main.go")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOldMain holds what of an old main program is left to its owner, and what
// the new one gets.
func TestOldMain(t *testing.T) {
	const reconciler = "\tif err = (&controllers.CartReconciler{Client: mgr.GetClient(), Log: ctrl.Log.WithName(\"cart\")}).SetupWithManager(mgr); err != nil {\n\t\tsetupLog.Error(err, \"unable to create controller\", \"controller\", \"Cart\")\n\t\tos.Exit(1)\n\t}"
	const wired = "\tif err := (&controllers.CartReconciler{\n\t\tClient: mgr.GetClient(),\n\t\tLog: ctrl.Log.WithName(\"cart\"),\n\t}).SetupWithManager(mgr); err != nil {\n\t\tsetupLog.Error(err, \"Failed to create controller\", \"controller\", \"Cart\")\n\t\tos.Exit(1)\n\t}\n"
	for name, test := range map[string]struct {
		more    map[string]string
		left    []string // "not in cmd/main.go: " is left out
		schemes []string
		setup   string
		lease   string
		unused  string // what it does not import
	}{
		"the scaffold's":          {more: nil},
		"a flag":                  {more: map[string]string{"FLAGS": "wait := flag.Duration(\"wait\", 0, \"x\")\n\tfmt.Print(wait)"}, left: []string{"wait := flag.Duration(\"wait\", 0, \"x\") … (to line 32)"}},
		"a controller":            {more: map[string]string{"MANAGER": reconciler}, setup: wired},
		"a controller's variable": {more: map[string]string{"MANAGER": "r := &controllers.CartReconciler{Client: mgr.GetClient()}\n\tif err := r.SetupWithManager(mgr); err != nil {\n\t\tos.Exit(1)\n\t}"}, setup: strings.Replace(wired, "\t\tLog: ctrl.Log.WithName(\"cart\"),\n", "", 1)},
		"a field of the user's":   {more: map[string]string{"MANAGER": strings.Replace(reconciler, "Client: mgr.GetClient()", "Wait: *wait", 1)}, setup: strings.Replace(wired, "Client: mgr.GetClient(),", "// TODO(migrate): cmd/main.go.old:44 has Wait: *wait: set it here", 1)},
		"arguments of the user's": {more: map[string]string{"MANAGER": strings.Replace(reconciler, "SetupWithManager(mgr)", "SetupWithManager(mgr, *wait)", 1)},
			setup: "\t// TODO(migrate): cmd/main.go.old:44 hands more to SetupWithManager\n\t//\t(&controllers.CartReconciler{Client: mgr.GetClient(), Log: ctrl.Log.WithName(\"cart\")}).SetupWithManager(mgr, *wait)\n" + wired},
		"a package for a field": {more: map[string]string{"IMPORTS": "\"example.com/shop/mine\"", "MANAGER": strings.Replace(reconciler, "Client: mgr.GetClient()", "Wait: mine.For(*wait)", 1)}, setup: strings.Replace(wired, "Client: mgr.GetClient(),", "// TODO(migrate): cmd/main.go.old:44 has Wait: mine.For(*wait): set it here", 1), unused: "example.com/shop/mine"},
		"a package for arguments": {more: map[string]string{"IMPORTS": "\"example.com/shop/mine\"", "MANAGER": strings.Replace(reconciler, "SetupWithManager(mgr)", "SetupWithManager(mgr, mine.For(*wait))", 1)},
			setup: "\t// TODO(migrate): cmd/main.go.old:44 hands more to SetupWithManager\n\t//\t(&controllers.CartReconciler{Client: mgr.GetClient(), Log: ctrl.Log.WithName(\"cart\")}).SetupWithManager(mgr, mine.For(*wait))\n" + wired, unused: "example.com/shop/mine"},
		"a function for controllers":        {more: map[string]string{"IMPORTS": "\"example.com/shop/mine\"", "MANAGER": "if err := mine.Add(mgr, setupLog); err != nil {\n\t\tos.Exit(1)\n\t}"}, setup: "\tif err := mine.Add(mgr, setupLog); err != nil {\n\t\tsetupLog.Error(err, \"Failed to set up\", \"function\", \"mine.Add\")\n\t\tos.Exit(1)\n\t}\n"},
		"a function with more":              {more: map[string]string{"IMPORTS": "\"example.com/shop/mine\"", "MANAGER": "if err := mine.Add(mgr, *wait); err != nil {\n\t\tpanic(err)\n\t}"}, setup: "\t// TODO(migrate): cmd/main.go.old:44 takes the manager: call it here\n\t//\tmine.Add(mgr, *wait)\n"},
		"a function's error that is let go": {more: map[string]string{"IMPORTS": "\"example.com/shop/mine\"", "MANAGER": "if err := mine.Add(mgr); err != nil && *wait > 0 {\n\t\tos.Exit(1)\n\t}"}, left: []string{"if err := mine.Add(mgr); err != nil && *wait > 0 {"}},
		"an error that is cleaned up":       {more: map[string]string{"MANAGER": strings.Replace(reconciler, "os.Exit(1)", "tidy()\n\t\tos.Exit(1)", 1)}, left: []string{"if err = (&controllers.CartReconciler{Client: mgr.GetClient(), Log: ctrl.Log.WithName(\"cart\")}).SetupWithManager(mgr); err != nil { … (to line 46)"}},
		"an error that is only logged":      {more: map[string]string{"MANAGER": strings.Replace(reconciler, "\t\tos.Exit(1)\n", "", 1)}, left: []string{"if err = (&controllers.CartReconciler{Client: mgr.GetClient(), Log: ctrl.Log.WithName(\"cart\")}).SetupWithManager(mgr); err != nil {"}},
		"a controller in a function":        {more: map[string]string{"DECLS": "func run(mgr ctrl.Manager) error {\n\tmgr, err := ctrl.NewManager(nil, ctrl.Options{})\n\tif err := (&controllers.CartReconciler{Client: mgr.GetClient(), Log: ctrl.Log.WithName(\"cart\")}).SetupWithManager(mgr); err != nil {\n\t\treturn fmt.Errorf(\"cart: %w\", err)\n\t}\n}\n"}, left: []string{"func run(mgr ctrl.Manager) error { … (to line 52)"}, setup: wired},
		"another module's function":         {more: map[string]string{"IMPORTS": "\"example.com/other/mine\"", "MANAGER": "if err := mine.Add(mgr); err != nil {\n\t\tos.Exit(1)\n\t}"}, left: []string{"if err := mine.Add(mgr); err != nil {"}},
		"a function with a result":          {more: map[string]string{"IMPORTS": "\"example.com/shop/mine\"", "MANAGER": "hook := mine.New(mgr)"}, left: []string{"hook := mine.New(mgr)"}},
		"types of another module":           {more: map[string]string{"IMPORTS": "shopv2 \"example.com/shop/api/v2\"", "INIT": "utilruntime.Must(shopv2.AddToScheme(scheme))"}, schemes: []string{"shopv2.AddToScheme(scheme)"}},
		"under a condition":                 {more: map[string]string{"MANAGER": "if *wait > 0 {\n" + reconciler + "\n\t}"}, left: []string{"if *wait > 0 { … (to line 45)"}},
		"types of others":                   {more: map[string]string{"INIT": "utilruntime.Must(routev1.AddToScheme(scheme))"}, schemes: []string{"routev1.AddToScheme(scheme)"}},
		"types under a name that is taken":  {more: map[string]string{"IMPORTS": "zap \"example.com/cutter/v1\"", "INIT": "utilruntime.Must(zap.AddToScheme(scheme))"}, schemes: []string{"otherzap.AddToScheme(scheme)"}},
		"types in a block":                  {more: map[string]string{"FLAGS": "if openShift {\n\t\tutilruntime.Must(routev1.AddToScheme(scheme))\n\t\tmine()\n\t}"}, left: []string{"if openShift { … (to line 33)"}},
		"options on one line":               {more: map[string]string{"OPTIONS": "LeaderElectionID: \"shop\", SyncPeriod: &wait"}, left: []string{"LeaderElectionID: \"shop\", SyncPeriod: &wait,"}, lease: `"shop"`},
		"types by a function":               {more: map[string]string{"INIT": "utilruntime.Must(mine(scheme))"}, left: []string{"utilruntime.Must(mine(scheme))"}},
		"what it logs of its own":           {more: map[string]string{"IMPORTS": "\"example.com/shop/version\"", "MANAGER": "setupLog.Info(\"x\", \"version\", version.Version)"}, left: []string{"setupLog.Info(\"x\", \"version\", version.Version)"}},
		"an option":                         {more: map[string]string{"OPTIONS": "SyncPeriod: &wait"}, left: []string{"SyncPeriod: &wait,"}},
		"a value of an option":              {more: map[string]string{"OPTIONS": "Host: \"10.0.0.1\""}, left: []string{"Host: \"10.0.0.1\","}},
		"the lease":                         {more: map[string]string{"OPTIONS": "LeaderElectionID: \"shop\""}, lease: `"shop"`},
		"the lease, by a variable":          {more: map[string]string{"OPTIONS": "LeaderElectionID: lease"}, left: []string{"LeaderElectionID: lease,"}},
		"webhooks":                          {more: map[string]string{"MANAGER": "if err = (&shopv1.Cart{}).SetupWebhookWithManager(mgr); err != nil {\n\t\tos.Exit(1)\n\t}"}},
		"webhooks of others":                {more: map[string]string{"MANAGER": "if err = (&podHook{}).SetupWebhookWithManager(mgr); err != nil {\n\t\tos.Exit(1)\n\t}"}, left: []string{"if err = (&podHook{}).SetupWebhookWithManager(mgr); err != nil {"}},
		"a lock":                            {more: map[string]string{"FLAGS": "err = leader.Become(ctx, \"x\")\n\tif err != nil {\n\t\tos.Exit(1)\n\t}"}},
		"an import without a name":          {more: map[string]string{"IMPORTS": "_ \"net/http/pprof\"\n\t_ \"k8s.io/client-go/plugin/pkg/client/auth/gcp\""}, left: []string{"_ \"net/http/pprof\""}},
		"declarations":                      {more: map[string]string{"DECLS": "var lease = 1\n\ntype t int\n\nfunc (t) main() {}\n\nfunc printVersion() {}\n"}, left: []string{"var lease = 1 … (to line 57)"}},
		"a function that runs it":           {more: map[string]string{"DECLS": "func run() error {\n\tmgr, err := ctrl.NewManager(nil, ctrl.Options{})\n\tif err != nil {\n\t\treturn err\n\t}\n\tmine(mgr)\n\treturn nil\n}\n", "MANAGER": "if err := run(); err != nil {\n\t\tos.Exit(1)\n\t}"}, left: []string{"if err := run(); err != nil {", "func run() error { … (to line 58)"}},
		"comments":                          {more: map[string]string{"MANAGER": "/*\n\tWhat comes next.\n\t*/\n\t// The end.\n\t/* now */ mine()"}, left: []string{"/* now */ mine()"}},
		"a check of the user's own":         {more: map[string]string{"FLAGS": "err := mine()\n\tif err != nil {\n\t\tos.Exit(7)\n\t}"}, left: []string{"err := mine() … (to line 33)"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := programOf(t, test.more)
			var left []string
			for _, n := range p.left {
				left = append(left, strings.TrimPrefix(n.Text, "not in cmd/main.go: "))
			}
			for what, pair := range map[string][2]any{"left": {test.left, left}, "schemes": {test.schemes, p.schemes}, "setup": {test.setup, p.setup}, "lease": {test.lease, p.election}} {
				if d := cmp.Diff(pair[0], pair[1]); d != "" {
					t.Errorf("%s (-want +got):\n%s", what, d)
				}
			}
			if text, err := p.target.Apply(); err != nil || test.unused != "" && strings.Contains(string(text), test.unused) {
				t.Errorf("it imports %s: %v", test.unused, err)
			}
		})
	}
}

// TestNoAnchor holds that a scaffold without a place that migrate fills is an
// error, and nothing that is lost without a word.
func TestNoAnchor(t *testing.T) {
	for _, gone := range []string{"// +kubebuilder:scaffold:scheme", "// +kubebuilder:scaffold:builder", `"leader-election-id"`} {
		p := programOf(t, map[string]string{"OPTIONS": "LeaderElectionID: \"shop\""})
		main := strings.ReplaceAll(string(p.m.rendered[newMain]), gone, `"gone"`)
		if strings.HasPrefix(gone, "//") {
			main = strings.ReplaceAll(string(p.m.rendered[newMain]), gone, "")
		}
		p.m.rendered[newMain] = []byte(main)
		p, err := p.m.readMain("main.go")
		if err == nil {
			err = p.m.writeMain(p)
		}
		if err == nil || !strings.Contains(err.Error(), "the scaffold has no ") || clierr.HintOf(err) == "" {
			t.Errorf("%s: got %v", gone, err)
		}
	}
	m := newMigration(nil)
	m.instead("a", "b", "c")
	if _, err := m.plan(); err == nil || clierr.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
}
