package migrate

import (
	"strings"
	"testing"
)

// runV3 is a project of go/v3 whose main leaves the work to run.
func runV3(main, more string) map[string]string {
	files := goV3()
	swap(files, "main.go", "func main() {\n", "func main() {\n"+main+"}\n\n"+more+"func run() error {\n")
	text, _ := strings.CutSuffix(files["main.go"], "\tif err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {\n\t\tos.Exit(1)\n\t}\n}\n")
	files["main.go"] = strings.ReplaceAll(text, "\tif err != nil {\n\t\tos.Exit(1)\n\t}\n", "\tif err != nil {\n\t\treturn err\n\t}\n") +
		"\tif err := check(mgr); err != nil {\n\t\treturn fmt.Errorf(\"check: %w\", err)\n\t}\n\treturn mgr.Start(ctrl.SetupSignalHandler())\n}\n\nfunc check(any) error { return nil }\n"
	swap(files, "main.go", "\t\"flag\"\n", "\t\"flag\"\n\t\"fmt\"\n")
	return files
}

// TestMainRuns holds that the statements of a function that main leaves the
// work to go to the new main program.
func TestMainRuns(t *testing.T) {
	whole := map[string][]string{
		newMain: {`flag.DurationVar(&pause, "pause"`, "Pause: pause}).SetupWithManager(mgr)", "!run()", "!return err\n", "!return nil\n\t\t", "managerOptions.Cache.SyncPeriod = &sync",
			"\tif err := check(mgr); err != nil {\n\t\tsetupLog.Error(fmt.Errorf(\"check: %w\", err), \"Failed to start\")\n\t\tos.Exit(1)\n\t}\n"},
		"cmd/manager.go": {"func check(", "!func run(", "!ctrl"},
	}
	for name, main := range map[string]string{
		"checked":     "\tif err := run(); err != nil {\n\t\tsetupLog.Error(err, \"x\")\n\t\tos.Exit(1)\n\t}\n",
		"assigned":    "\terr := run()\n\tif err != nil {\n\t\tos.Exit(1)\n\t}\n",
		"as argument": "\tmust(run())\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := mustPlan(t, runV3(main, ""))
			if name == "as argument" { // what must does with it nobody knows
				expect(t, content(p.Result), map[string][]string{newMain: {todoMark, "//\tmust(run())"}})
				return
			}
			if n := p.Open(); n != 0 {
				t.Errorf("%d files need somebody: %v", n, p.Files)
			}
			expect(t, content(p.Result), whole)
			if n := strings.Count(content(p.Result)[newMain], "mgr.Start("); n != 1 {
				t.Errorf("the manager is started %d times", n)
			}
		})
	}
}

// TestMainRunsElsewhere holds that a main program that makes its manager in a
// way that cannot be followed is marked.
func TestMainRunsElsewhere(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"by a command": runV3("\tif err := command.Execute(); err != nil {\n\t\tos.Exit(1)\n\t}\n", "var command = &cobra.Command{RunE: func(*cobra.Command, []string) error { return run() }}\n\n"),
		"twice":        runV3("\tif len(os.Args) > 1 {\n\t\t_ = run()\n\t}\n\t_ = run()\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			p := mustPlan(t, files)
			for _, name := range []string{newMain, "cmd/manager.go"} {
				if e, _ := p.entry(name); e.Status != Needs {
					t.Errorf("%s is %s", name, e.Status)
				}
			}
			expect(t, content(p.Result), map[string][]string{
				newMain:          {"// " + todoMark + "main.go:", "TODO_migrate(\"main.go:"},
				"cmd/manager.go": {"// " + todoMark + "cmd/main.go makes the manager now", "func run() error"},
			})
		})
	}
	files := runV3("", "")
	swap(files, "main.go", "func run() error {", "func run(args []string) error {\n\tserve(args)\n")
	swap(files, "main.go", "func main() {\n", "func main() {\n\tif err := run(os.Args); err != nil {\n\t\tos.Exit(1)\n\t}\n")
	expect(t, content(mustPlan(t, files).Result), map[string][]string{newMain: {"//\tserve(args)", todoMark}})
}

// TestSignals holds that what waits for the signal to stop still does.
func TestSignals(t *testing.T) {
	const serve = "\tgo serve(ctx, mgr)\n"
	for name, test := range map[string]struct {
		version, before, after, start string
		want                          []string
	}{
		"a context": {"v0.8.3", "", "\tctx := ctrl.SetupSignalHandler()\n" + serve, "ctx",
			[]string{"\tctx := ctrl.SetupSignalHandler()\n\tgo serve(ctx, mgr)\n", "mgr.Start(ctx)", "!mgr.Start(ctrl.", "!context.Background()"}},
		"before the manager": {"v0.8.3", "\tctx := ctrl.SetupSignalHandler()\n\tprepare(ctx)\n", serve, "ctx",
			[]string{"\tctx := ctrl.SetupSignalHandler()\n\tprepare(ctx)\n", "go serve(ctx, mgr)", "mgr.Start(ctx)"}},
		"another name": {"v0.8.3", "\tbase := ctrl.SetupSignalHandler()\n", "\tgo serve(base, mgr)\n", "base",
			[]string{"\tbase := ctrl.SetupSignalHandler()\n", "go serve(base, mgr)\n", "mgr.Start(base)"}},
		"a channel": {"v0.6.0", "\tstop := ctrl.SetupSignalHandler()\n", "\tgo serve(stop, mgr)\n", "stop",
			[]string{"\tstop := ctrl.SetupSignalHandler()\n", "go serve(stop.Done(), mgr)\n", "mgr.Start(stop)"}},
		"for nothing else": {"v0.8.3", "\tctx := ctrl.SetupSignalHandler()\n", "", "ctx", []string{"!ctx :=", "mgr.Start(ctrl.SetupSignalHandler())"}},
		"derived": {"v0.8.3", "\tctx, cancel := context.WithCancel(ctrl.SetupSignalHandler())\n\tdefer cancel()\n", serve, "ctx",
			[]string{"\tctx, cancel := context.WithCancel(ctrl.SetupSignalHandler())\n", "defer cancel()", "mgr.Start(ctx)", "!mgr.Start(ctrl.", `"context"`}},
		"not of the signal": {"v0.8.3", "\tctx := context.Background()\n", serve, "ctrl.SetupSignalHandler()",
			[]string{"go serve(context.Background(), mgr)", `"context"`, "mgr.Start(ctrl.SetupSignalHandler())"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := goV3()
			swap(files, "go.mod", "controller-runtime v0.8.3", "controller-runtime "+test.version)
			if strings.Contains(test.before, "context.") {
				swap(files, "main.go", "\t\"flag\"\n", "\t\"context\"\n\t\"flag\"\n")
			}
			swap(files, "main.go", "\tsync := time.Hour\n", "\tsync := time.Hour\n"+test.before)
			swap(files, "main.go", "\tif err := mgr.Start(ctrl.SetupSignalHandler())", test.after+"\tif err := mgr.Start("+test.start+")")
			p := mustPlan(t, files)
			if n := p.Open(); n != 0 {
				t.Errorf("%d files need somebody: %v", n, p.Files)
			}
			got := content(p.Result)
			expect(t, got, map[string][]string{newMain: test.want})
			if n := strings.Count(got[newMain], "mgr.Start("); n != 1 {
				t.Errorf("the manager is started %d times in\n%s", n, got[newMain])
			}
		})
	}
}
