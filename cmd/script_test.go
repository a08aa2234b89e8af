package cmd_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/example/mysdk/internal/bundle/validate/engine"
	"github.com/example/mysdk/internal/catalog/opm"
	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	_ "github.com/example/mysdk/internal/gcpercent" // as main does
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

var update = flag.Bool("update", false, "rewrite golden trees, scripts and the reference from what the code does")

func TestMain(m *testing.M) {
	if os.Getenv("MYSDK_CLUSTER_BIN") != "" {
		// Projects are compiled from the cache wherever their directory is. Without
		// that binary, this would compile all of Kubernetes a second time.
		os.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath"))
	}
	testscript.Main(inMemory{m}, map[string]func(){
		"mysdk": func() { os.Exit(mysdk()) }, "mysdk-cluster": func() { os.Exit(validator()) },
		"sample": func() { os.Exit(samplePlugin()) }, "sample.example.com": func() { os.Exit(samplePlugin()) },
	})
}

func mysdk() int {
	h, err := host.System()
	if err != nil {
		return 1
	}
	ctx, stop := host.UntilInterrupted(context.Background())
	defer stop()
	return root.Main(ctx, h, os.Args[1:])
}

// validator is mysdk-cluster as far as the everyday lane needs it, which has no
// time to link the real one: it answers questions, and runs no cluster.
func validator() int {
	var err error
	switch strings.Join(os.Args[1:], " ") {
	case "validate":
		err = state.Answer(context.Background(), os.Stdin, os.Stdout, engine.Run)
	case "compare-crds":
		err = state.Answer(context.Background(), os.Stdin, os.Stdout, engine.Compare)
	case "catalog-cache":
		err = state.Answer(context.Background(), os.Stdin, os.Stdout, opm.CacheFiles)
	default:
		err = errors.New("the everyday lane has no control plane")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// validatorBinary is the mysdk-cluster that tests without a cluster use: the one
// that was built for the others, else this program under that name.
func validatorBinary() (string, error) {
	if built := os.Getenv("MYSDK_CLUSTER_BIN"); built != "" {
		return built, nil
	}
	return exec.LookPath("mysdk-cluster")
}

// loadingScripts load a project's packages so often that they take most of the
// time of all scripts. The short lane leaves them to the full one: it has others
// of the same commands.
var loadingScripts = []string{
	"adopt/adopt", "bundle/generate", "bundle/generate_base", "bundle/scorecard", "create_api/api", "create_api/existing",
	"create_api/group", "create_api/in_the_way", "create_webhook/additive", "create_webhook/conversion", "create_webhook/flags", "create_webhook/migrate_storage",
	"delete/delete_changed", "doctor/doctor", "generate/applyconfigurations", "generate/broken_go", "generate/calls",
	"generate/check", "generate/compat", "generate/docs", "generate/generate", "generate/lint",
	"generate/markers", "generate/refused", "init/no_go", "plugins/external_plugins",
}

// repeatingScripts take long ways where others take short ones: they type guides
// whose steps others type, too, compile what a package's tests only generate,
// run an operator for a flag, debug a whole one, or wait or explore for long. They
// run where MYSDK_NIGHTLY is set.
var repeatingScripts = []string{
	"cluster/cert_manager", "cluster/ginkgo", "cluster/image", "cluster/namespaced", "create_api/groups_build", "create_api/names_build",
	"edit/edit_webhooks", "generate/applyconfigurations",
	"guides/getting_started", "guides/getting_started_olm", "guides/quickstart_v0", "guides/redis", "guides/walkthrough",
	"init/builds", "legacy/new", "legacy/openapi", "runlocal/debug", "runlocal/explore_bad",
	"runlocal/explore_cluster", "runlocal/explore_refused", "runlocal/explore_tests", "runlocal/explore_versions",
	"upgrade/upgrade_webhooks",
}

// leftOut reports whether a script is left to a longer lane.
func leftOut(name string) bool {
	return !*update && (testing.Short() && slices.Contains(loadingScripts, name) || !hosttest.Nightly() && slices.Contains(repeatingScripts, name))
}

// TestScripts runs every script below testdata/script. The folders cluster,
// runlocal, guides and olm need a control plane and are left out of the short
// lane, and so are loadingScripts.
func TestScripts(t *testing.T) {
	dirs, err := filepath.Glob("../testdata/script/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	checkers := typeCheckers{}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && slices.Contains([]string{"cluster", "runlocal", "guides", "olm"}, filepath.Base(dir)) {
				t.Skip("needs the control plane")
			}
			copies, variables := inProcess(t, dir)
			if left, err := filepath.Glob(filepath.Join(copies, "*.txtar")); err == nil && len(left) == 0 {
				t.Skip("has scripts of the full lane only")
			}
			testscript.Run(t, testscript.Params{
				Dir: copies, UpdateScripts: *update, RequireUniqueNames: true,
				Setup: func(env *testscript.Env) error {
					err := setUp(env)
					names := append(variableNames(env.Vars), variables...)
					slices.Sort(names)
					env.Values[namesKey{}] = slices.Compact(names)
					return err
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"run": runInProcess, "typecheck": checkers.typecheck, "untouched": untouched, "plugin": installPlugin, "older": older, "registry": startRegistry, "eventually": eventually, "freeport": freePort},
			})
		})
	}
}

// untouched CODE COMMAND... runs a command that must end with the exit code and
// leave every file and directory here as it was. One that fails says so once:
// on stderr, as a line with the error and one with a hint, without colours,
// usage or log lines. Its output can be compared as after exec.
func untouched(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: untouched CODE COMMAND...")
	}
	dir := ts.MkAbs(".")
	before := listing(ts, dir)
	code, said := exitCode(ts, args[1:])
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
	if d := cmp.Diff(before, listing(ts, dir)); d != "" {
		ts.Fatalf("files (-before +after):\n%s", d)
	}
	if code == clierr.CodeInterrupted || code == 0 {
		return
	}
	for text, times := range map[string]int{"\x1b": 0, "Usage:": 0, "level=": 0, "Error: ": 1, "\nHint:  ": 1} {
		if n := strings.Count(said, text); n != times {
			ts.Fatalf("%q is %d times on stderr, want %d", text, n, times)
		}
	}
}

// exitCode runs a command and returns its exit code and what it said on stderr.
func exitCode(ts *testscript.TestScript, args []string) (code int, said string) {
	if args[0] == "run" {
		return callProgram(ts, args[2:])
	}
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		ts.Check(err)
		return 0, ts.ReadFile("stderr")
	}
	return exit.ExitCode(), ts.ReadFile("stderr")
}

// listing maps all paths below dir to what is there, times aside.
func listing(ts *testscript.TestScript, dir string) map[string]string {
	out := map[string]string{}
	ts.Check(filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".cache" || d.Name() == ".state" {
			return fs.SkipDir // mysdk's own, see setUp
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			out[name] = fmt.Sprint(d.Type())
			return err
		}
		data, err := os.ReadFile(name)
		out[name] = info.Mode().String() + "\n" + string(data)
		return err
	}))
	return out
}

// setUp gives each script a home of its own and the real module and build
// caches.
func setUp(env *testscript.Env) error {
	w := env.WorkDir
	for _, k := range []string{"GOGC", "GOPATH", "GOMODCACHE", "GOCACHE", "GOFLAGS", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN", "MYSDK_CLUSTER_BIN", "MYSDK_SOURCE"} {
		if v := os.Getenv(k); v != "" {
			env.Setenv(k, v)
		}
	}
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("GOPATH") == "" {
		env.Setenv("GOPATH", filepath.Join(home, "go"))
	}
	if cache, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
		env.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
	env.Setenv("HOME", filepath.Join(w, ".home"))
	env.Setenv("MYSDK_STATE_DIR", filepath.Join(w, ".state"))
	env.Setenv("MYSDK_CACHE_DIR", filepath.Join(w, ".cache"))
	env.Setenv("CGO_ENABLED", "0")
	env.Setenv("TMPDIR", os.TempDir()) // paths of sockets are to be short, and mysdk may run in this process
	if testing.Short() {
		bin, err := validatorBinary()
		if err != nil {
			return err
		}
		env.Setenv("MYSDK_CLUSTER_BIN", bin)
	}
	return telemetryOff(filepath.Join(w, ".home"))
}

// telemetryOff keeps the go command from writing to a home directory at any
// time, even after its end.
func telemetryOff(home string) error {
	dir := filepath.Join(home, ".config", "go", "telemetry")
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "mode"), []byte("off"), 0o644))
}
