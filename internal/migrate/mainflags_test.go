package migrate

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mainStart is the statement that both scaffolds end with.
const mainStart = "\tif err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {\n\t\tos.Exit(1)\n\t}\n"

// flagMain migrates a main program of go/v3 that begins with the statements,
// and returns what of the new one is between its own flags and the manager.
func flagMain(t *testing.T, decls, statements, options string) string {
	t.Helper()
	head, _, _ := strings.Cut(withOption("", "Port: 9443"), "func main() {")
	text := head + decls + "func main() {\n" + statements +
		"\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme" + options + "})\n\tif err != nil {\n\t\tos.Exit(1)\n\t}\n" + mainStart + "}\n"
	_, got := mainOf(t, text)
	if _, err := parseGo(newMain, []byte(got)); err != nil {
		t.Error(err)
	}
	_, got, _ = strings.Cut(got, "\tlogging.BindFlags(flag.CommandLine)\n")
	got, _, _ = strings.Cut(got, "\tif err != nil {\n\t\tsetupLog.Error(err, \"Failed to create the manager\")")
	return got
}

// TestFlags holds what becomes of flags that the new main program has too:
// whoever defines one twice gets a panic at the start.
func TestFlags(t *testing.T) {
	const address = `flag.StringVar(&metricsAddr, "metrics-bind-address", ":8080", "")`
	for name, test := range map[string]struct {
		decls, statements, options string
		want                       []string // an exclamation mark says that it must not be there
	}{
		"in a group": {"", "\tvar (\n\t\tmetricsAddr string\n\t\tpause time.Duration // mine\n\t)\n\t" + address + "\n\tflag.DurationVar(&pause, \"pause\", 0, \"\")\n\tflag.Parse()\n", "",
			[]string{"pause time.Duration // mine", "flag.DurationVar(&pause, \"pause\"", "!metricsAddr"}},
		"all of a group": {"", "\tvar (\n\t\tmetricsAddr string\n\t\tprobeAddr string\n\t)\n\t" + address + "\n\tflag.Parse()\n", "", []string{"!metricsAddr", "!probeAddr"}},
		"a list":         {"", "\tvar metricsAddr, probeAddr string\n\t" + address + "\n\tflag.Parse()\n", "", []string{"!metricsAddr", "!probeAddr"}},
		"a list with one's own": {"", "\tvar metricsAddr, mine string\n\t" + address + "\n\tflag.StringVar(&mine, \"mine\", \"\", \"\")\n\tflag.Parse()\n", "",
			[]string{"\tvar mine string\n", "!metricsAddr"}},
		"a list with values": {"", "\tvar metricsAddr, mine = \"a\", \"b\"\n\t" + address + "\n\tflag.StringVar(&mine, \"mine\", mine, \"\")\n\tflag.Parse()\n", "",
			[]string{"\tvar _, mine = \"a\", \"b\"\n", "!metricsAddr"}},
		"another name": {"", "\tvar addr string\n\tflag.StringVar(&addr, \"metrics-bind-address\", \":8080\", \"\")\n\tflag.Parse()\n\tsetupLog.Info(\"hello\")\n\ttime.Sleep(len(addr))\n", ", MetricsBindAddress: addr",
			[]string{"time.Sleep(len(opts.metricsAddr))", "!\"metrics-bind-address\"", "!var addr"}},
		"one of today's": {"", "\tvar port int\n\tflag.IntVar(&port, \"webhook-port\", 9999, \"\")\n\tflag.Parse()\n\tserve(port)\n", "",
			[]string{"serve(opts.webhookPort)", "!flag.IntVar"}},
		"a pointer": {"", "\telect := flag.Bool(\"leader-elect\", false, \"\")\n\tflag.Parse()\n\tserve(*elect, elect)\n", "",
			[]string{"serve(opts.leaderElect, &opts.leaderElect)", "!flag.Bool"}},
		"a variable of the package": {"var address string\n\nfunc other() string { return address }\n\n", "\tflag.StringVar(&address, \"metrics-bind-address\", \":8080\", \"\")\n\tflag.Parse()\n", "",
			[]string{"\taddress = opts.metricsAddr\n", "!flag.StringVar"}},
		"a field": {"var cfg struct{ Addr string }\n\n", "\tflag.StringVar(&cfg.Addr, \"metrics-bind-address\", \":8080\", \"\")\n\tflag.Parse()\n", ", MetricsBindAddress: cfg.Addr",
			[]string{"\tcfg.Addr = opts.metricsAddr\n", "managerOptions.Metrics.BindAddress = cfg.Addr", "!flag.StringVar"}},
		"one's own of a known name": {"", "\tvar configFile string\n\tflag.StringVar(&configFile, \"settings\", \"\", \"\")\n\tflag.Parse()\n\tserve(configFile)\n", "",
			[]string{"\tvar configFile string\n", "flag.StringVar(&configFile, \"settings\"", "serve(configFile)"}},
		"under a condition": {"", "\tvar addr string\n\tif len(os.Args) > 3 {\n\t\tflag.StringVar(&addr, \"leader-election-id\", \"\", \"\")\n\t}\n\tflag.Parse()\n", "",
			[]string{"//\t\t\tflag.StringVar(&addr, \"leader-election-id\"", todoMark, "TODO_migrate("}},
		"a default that has no place": {"", "\tvar dir string\n\tflag.StringVar(&dir, \"webhook-cert-path\", \"/certs\", \"\")\n\tflag.Parse()\n", "",
			[]string{"//\tflag.StringVar(&dir, \"webhook-cert-path\"", todoMark}},
	} {
		t.Run(name, func(t *testing.T) {
			got := flagMain(t, test.decls, test.statements, test.options)
			expect(t, map[string]string{newMain: got}, map[string][]string{newMain: test.want})
		})
	}
}

// TestFlagDefault holds that the user's default of a flag that the scaffolds of
// old had not is the new main program's.
func TestFlagDefault(t *testing.T) {
	text := strings.Replace(withOption("", "Port: port"), "func main() {\n", "func main() {\n\tvar port int\n\tflag.IntVar(&port, \"webhook-port\", 9999, \"\")\n", 1)
	if _, got := mainOf(t, text); !strings.Contains(got, `&o.webhookPort, "webhook-port", 9999,`) {
		t.Errorf("got %s", got)
	}
}

// TestFlagFields holds that migrate knows the flags of the scaffold.
func TestFlagFields(t *testing.T) {
	text := string(renderedScaffold(t)[newMain])
	want := map[string]string{"metrics-addr": "metricsAddr", "enable-leader-election": "leaderElect", "config": ""}
	for _, m := range regexp.MustCompile(`&o\.(\w+), "([a-z0-9-]+)"`).FindAllStringSubmatch(text, -1) {
		want[m[2]] = m[1]
	}
	for _, server := range regexp.MustCompile(`o\.(\w+)\.bindFlags\(fs, "(\w+)"\)`).FindAllStringSubmatch(text, -1) {
		for _, m := range regexp.MustCompile(`&c\.(\w+), server\+"([a-z-]+)"`).FindAllStringSubmatch(text, -1) {
			want[server[2]+m[2]] = server[1] + "." + m[1]
		}
	}
	if d := cmp.Diff(want, flagFields()); d != "" {
		t.Errorf("(-scaffold +known):\n%s", d)
	}
}

// TestFlagsBesideMain holds that flags that files beside the main program
// define are marked.
func TestFlagsBesideMain(t *testing.T) {
	files := goV3()
	files["flags.go"] = "package main\n\nimport \"flag\"\n\nvar elect = flag.Bool(\"leader-elect\", false, \"\")\n\nvar mine = flag.Bool(\"mine\", false, \"\")\n"
	got := content(mustPlan(t, files).Result)["cmd/flags.go"]
	if strings.Count(got, todoMark) != 1 || !strings.Contains(got, "// "+todoMark+"cmd/main.go defines the flag leader-elect too") {
		t.Errorf("got %s", got)
	}
}

// TestPackageVariables holds that variables of the package are not taken for
// the scaffold's of the same names.
func TestPackageVariables(t *testing.T) {
	got := flagMain(t, "var cfg struct{ Debug bool }\n\nvar namespace = \"foo\"\n\n", "\tflag.BoolVar(&cfg.Debug, \"debug\", false, \"\")\n\tflag.Parse()\n\tserve(namespace, cfg.Debug)\n", ", Namespace: namespace")
	expect(t, map[string]string{newMain: got}, map[string][]string{newMain: {"flag.BoolVar(&cfg.Debug, \"debug\"", "serve(namespace, cfg.Debug)", "if namespace := namespace; namespace != \"\" {", "!restConfig"}})
}
