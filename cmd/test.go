package cmd

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/host"
)

// testOptions are the flags of test that are not go test's.
type testOptions struct {
	controllers bool
	keep        bool
	args        []string // for go test
}

func newTest(a *app, run func(context.Context, *testOptions) error) *cobra.Command {
	o := &testOptions{}
	c := &cobra.Command{
		Use: "test [packages] [go test flags]", Short: "Run the project's tests against a real API server", GroupID: "run",
		Long: `Run the project's tests against a real API server.

It is 'go test' with KUBEBUILDER_ASSETS set to etcd and kube-apiserver as
controller-runtime's envtest starts them: both are the control plane that mysdk
brings, so nothing is downloaded. Arguments go to go test. Without packages
these are ./... but test/e2e, whose tests are for a whole cluster, and would
take the one of your kubeconfig.

With --controllers the tests get a cluster of their own instead, by
USE_EXISTING_CLUSTER and KUBECONFIG: with garbage collection, namespaces that
go away, and pods that become Ready.`,
		Example: `  mysdk test
  mysdk test ./internal/controller -run TestMemcached -v
  mysdk test --controllers --keep`,
		// go test has flags of its own, and more may come.
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if o.read(args) {
				return c.Help()
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.controllers, "controllers", false, "test against a whole cluster, not only an API server")
	c.Flags().BoolVar(&o.keep, "keep", false, "leave that cluster running when tests fail, to look into it; implies --controllers")
	c.AddCommand(newLegacyTestLocal(a), newLegacyTestCluster())
	return c
}

// read takes our own flags out of args and reports whether help is wanted.
// What stands behind -args is the test binary's.
func (o *testOptions) read(args []string) (help bool) {
	o.args = nil
	for i, arg := range args {
		switch arg {
		case "--controllers", "--controllers=true":
			o.controllers = true
		case "--keep", "--keep=true":
			o.controllers, o.keep = true, true
		case "--help", "-h":
			return true
		case "-args", "--args":
			o.args = append(o.args, args[i:]...)
			return false
		default:
			o.args = append(o.args, arg)
		}
	}
	return false
}

func (a *app) runTest(ctx context.Context, o *testOptions) error {
	if _, err := a.host.LookPath("go"); err != nil {
		return clierr.Failedf("install Go from https://go.dev/dl", "no go command in PATH: %w", err)
	}
	if o.controllers {
		return a.testOnCluster(ctx, o)
	}
	assets, err := cluster.Assets(ctx, a.host, a.progress)
	if err != nil {
		return err
	}
	a.detail("KUBEBUILDER_ASSETS=%s", assets)
	packages, err := a.packagesToTest(ctx, o.args)
	if err != nil {
		return err
	}
	return a.goTest(ctx, o, packages, "KUBEBUILDER_ASSETS="+assets)
}

// testOnCluster runs the tests against a cluster that is made for them.
func (a *app) testOnCluster(ctx context.Context, o *testOptions) (err error) {
	name := "test-" + strconv.FormatInt(a.host.Now().UnixNano(), 36)
	info, err := cluster.Start(ctx, a.host, cluster.Options{Name: name, DieWithParent: !o.keep, Progress: a.progress, Detail: a.stage})
	if err != nil {
		return err
	}
	defer func() {
		if o.keep && err != nil && ctx.Err() == nil {
			a.say("The cluster is left running: export KUBECONFIG=%s", shellQuote(info.Kubeconfig))
			a.say("Remove it with 'mysdk cluster reset --name %s'", name)
			return
		}
		_, resetErr := cluster.Reset(context.WithoutCancel(ctx), a.host, name)
		err = errors.Join(err, resetErr)
	}()
	return a.goTest(ctx, o, []string{everyPackage}, "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+info.Kubeconfig)
}

const (
	everyPackage = "./..."
	// e2eDir is where kubebuilder's projects have tests that run kubectl; only
	// since its v4.8 does a build tag keep them out of ./...
	e2eDir = "test/e2e"
)

// packagesToTest are those that are tested where args name none.
func (a *app) packagesToTest(ctx context.Context, args []string) ([]string, error) {
	if own, _ := splitTestArgs(args); namesPackage(own) {
		return nil, nil
	}
	if _, err := a.host.Files.Lstat(a.host.Path(e2eDir)); errors.Is(err, fs.ErrNotExist) {
		return []string{everyPackage}, nil
	}
	var out bytes.Buffer
	err := host.Run(ctx, a.host.Exec, host.Cmd{
		Name: "go", Args: []string{"list", everyPackage}, Dir: a.host.Dir, Env: a.host.Environ(), Stdout: &out, Stderr: a.host.IO.Err,
	})
	if err != nil {
		return nil, clierr.Failedf("correct what the go command says above", "list the packages: %w", err)
	}
	all := strings.Fields(out.String())
	packages := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return strings.Contains(p+"/", "/"+e2eDir+"/") })
	if len(packages) == len(all) {
		return []string{everyPackage}, nil
	}
	a.say("%s is left out: its tests are for a whole cluster; 'mysdk test --controllers ./%s/...' gives them one of their own", e2eDir, e2eDir)
	return packages, nil
}

// goTest runs go test, for the packages where o names none.
func (a *app) goTest(ctx context.Context, o *testOptions, packages []string, env ...string) error {
	err := host.Run(ctx, a.host.Exec, host.Cmd{
		Name: "go", Args: testArgs(o.args, packages), Dir: a.host.Dir,
		Env:   testEnv(a.host.Environ(), o.args, env...),
		Stdin: a.host.IO.In, Stdout: a.host.IO.Out, Stderr: a.host.IO.Err, Grace: 10 * time.Second,
	})
	if err != nil {
		return clierr.Failedf("run one of them with 'mysdk test ./… -run NAME -v'", "the tests did not pass: %w", err)
	}
	return nil
}

// testArgs puts the packages where none is named.
func testArgs(args, packages []string) []string {
	args, rest := splitTestArgs(args)
	if namesPackage(args) {
		packages = nil
	}
	return slices.Concat([]string{"test"}, args, packages, rest)
}

// splitTestArgs parts what is go test's from what is the test binary's own.
func splitTestArgs(args []string) (own, rest []string) {
	if i := slices.IndexFunc(args, func(arg string) bool { return arg == "-args" || arg == "--args" }); i >= 0 {
		return args[:i], args[i:]
	}
	return args, nil
}

// namesPackage reports whether there is anything but flags among args.
func namesPackage(args []string) bool {
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") && (i == 0 || !takesValue(args[i-1])) {
			return true
		}
	}
	return false
}

// takesValue reports whether a flag of go test written without = is followed
// by its value.
func takesValue(flag string) bool {
	if !strings.HasPrefix(flag, "-") || strings.Contains(flag, "=") {
		return false
	}
	return slices.Contains([]string{"run", "bench", "count", "timeout", "coverprofile", "coverpkg", "covermode", "parallel", "cpu", "skip", "tags", "p", "o", "exec", "fuzz", "fuzztime", "benchtime", "list", "shuffle", "outputdir", "cpuprofile", "memprofile", "ldflags", "gcflags", "mod"},
		strings.TrimLeft(flag, "-"))
}

// testEnv is the environment of the tests. They are compiled without cgo, as
// operators are, so that the packages compiled for one serve the other; the
// race detector needs cgo.
func testEnv(env, args []string, more ...string) []string {
	out := append(slices.Clone(env), more...)
	isSet := slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "CGO_ENABLED=") })
	if !isSet && !slices.Contains(args, "-race") {
		out = append(out, "CGO_ENABLED=0")
	}
	return out
}
