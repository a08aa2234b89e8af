package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/mainpkg"
	"github.com/example/mysdk/internal/relayout"
)

// testOptions are the flags of test that are not go test's.
type testOptions struct {
	controllers bool
	keep        bool
	kubernetes  []string // minor versions, one after the other; none: the control plane's own
	chdir       string   // behind the command's name
	args        []string // for go test
}

// NewTest is 'mysdk test'.
func NewTest(f *cli.Factory) *cobra.Command {
	return testCommand(func(ctx context.Context, o *testOptions) error { return runTest(ctx, f, o) })
}

// testCommand is the command that hands its options to run.
func testCommand(run func(context.Context, *testOptions) error) *cobra.Command {
	o := &testOptions{}
	c := &cobra.Command{
		Use: "test [packages] [go test flags]", Short: "Run the project's tests against a real API server", GroupID: "run",
		Long: `Run the project's tests against a real API server.

This runs 'go test' with KUBEBUILDER_ASSETS set for controller-runtime's
envtest. etcd and kube-apiserver come with mysdk, so nothing is downloaded.
Arguments are passed to go test. The default packages are ./... without
test/e2e, whose tests need a whole cluster, and would use the one in your
kubeconfig.

With --controllers the tests get a cluster of their own instead, through
USE_EXISTING_CLUSTER and KUBECONFIG, with garbage collection, deletion of
namespaces, and pods that become Ready. If you set USE_EXISTING_CLUSTER, it
has no effect: to test on a cluster of yours, use 'go test'.

With --kubernetes the tests run once for each of these older minor versions,
without the APIs and fields that came later.`,
		Example: `  mysdk test
  mysdk test ./internal/controller -run TestMemcached -v
  mysdk test --controllers --keep
  mysdk test --kubernetes 1.34,1.37`,
		// go test has flags of its own, and more may come.
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		ValidArgsFunction: func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if n := len(args); n > 0 && args[n-1] == "--kubernetes" {
				return cli.Matching(c.Flag("kubernetes"), cli.MinorVersions(), typed)
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error {
			help, err := o.read(c, args)
			if help {
				return c.Help()
			}
			if err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.controllers, "controllers", false, "test against a whole cluster, not only an API server")
	c.Flags().BoolVar(&o.keep, "keep", false, "keep that cluster running if tests fail, to inspect it; implies --controllers")
	c.Flags().StringSliceVar(&o.kubernetes, "kubernetes", nil, "older minor versions of Kubernetes to test against, such as 1.34, separated by commas")
	return c
}

// runTest runs the project's tests, once for each version of Kubernetes that was
// asked for. A version that fails does not keep the others from being tried.
func runTest(ctx context.Context, f *cli.Factory, o *testOptions) error {
	if _, err := f.Host.LookPath("go"); err != nil {
		return clierr.Failedf("install Go from https://go.dev/dl", "no go command in PATH: %w", err)
	}
	f.Chdir = o.chdir // one in front of the command's name has been entered
	if err := f.ChangeDir(f.Running); err != nil {
		return err
	}
	if err := needModule(f); err != nil {
		return err
	}
	if !o.controllers && strings.EqualFold(f.Host.Getenv("USE_EXISTING_CLUSTER"), "true") {
		f.Warn("USE_EXISTING_CLUSTER has no effect here: 'go test' runs the tests on your own cluster, 'mysdk test --controllers' on one made for them")
	}
	if len(o.kubernetes) == 0 {
		return testOn(ctx, f, o, "")
	}
	for i, v := range o.kubernetes {
		minor, err := cli.MinorVersion(v)
		if err != nil {
			return err
		}
		o.kubernetes[i] = minor
	}
	var failed error
	for _, minor := range o.kubernetes {
		f.Say("Kubernetes %s", minor)
		if err := testOn(ctx, f, o, minor); err != nil {
			failed = errors.Join(failed, fmt.Errorf("on Kubernetes %s: %w", minor, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

// testOn runs the tests against a minor version of Kubernetes, the control plane's
// own if it is empty.
func testOn(ctx context.Context, f *cli.Factory, o *testOptions, kubernetes string) error {
	if o.controllers {
		return testOnCluster(ctx, f, o, kubernetes)
	}
	assets, err := cluster.Assets(ctx, f.Host, f.Progress)
	if err != nil {
		return err
	}
	f.Detail("KUBEBUILDER_ASSETS=%s", assets)
	packages, err := packagesToTest(ctx, f, o.args)
	if err != nil {
		return err
	}
	return goTest(ctx, f, o, packages, "USE_EXISTING_CLUSTER=", "KUBEBUILDER_ASSETS="+assets, state.KubernetesEnv+"="+kubernetes)
}

// needModule refuses a directory that the go command has no module for.
func needModule(f *cli.Factory) error {
	for at := f.Host.Dir; ; at = filepath.Dir(at) {
		for _, name := range []string{"go.mod", "go.work"} {
			if _, err := f.Host.Files.Lstat(filepath.Join(at, name)); err == nil {
				return nil
			}
		}
		if at == filepath.Dir(at) {
			return clierr.Failedf("change to a project's directory, or create a project with 'mysdk init --domain example.com'",
				"no project in %s: there is no go.mod in it or above", f.Host.Dir)
		}
	}
}

// testOnCluster runs the tests against a cluster that is made for them.
func testOnCluster(ctx context.Context, f *cli.Factory, o *testOptions, kubernetes string) (err error) {
	name, err := newTemporary(ctx, f.Host, "test", o.keep)
	if err != nil {
		return err
	}
	info, err := cluster.Start(ctx, f.Host, cluster.Options{Name: name, Kubernetes: kubernetes, DieWithParent: !o.keep, Progress: f.Progress, Detail: f.Stage})
	if err != nil {
		return err
	}
	defer func() {
		if o.keep && err != nil && ctx.Err() == nil {
			f.Say("The cluster is left running: %s", host.Export("KUBECONFIG", info.Kubeconfig))
			f.Say("Remove it with 'mysdk cluster reset --cluster %s'", name)
			return
		}
		_, resetErr := cluster.Reset(context.WithoutCancel(ctx), f.Host, name)
		err = errors.Join(err, resetErr)
	}()
	return goTest(ctx, f, o, []string{everyPackage}, "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+info.Kubeconfig)
}

const (
	everyPackage = "./..."
	// e2eDir is where kubebuilder's projects have tests that run kubectl; only
	// since its v4.8 does a build tag keep them out of ./...
	e2eDir = "test/e2e"
)

// packagesToTest are those that are tested where args name none.
func packagesToTest(ctx context.Context, f *cli.Factory, args []string) ([]string, error) {
	if own, _ := splitTestArgs(args); namesPackage(own) {
		return nil, nil
	}
	if _, err := f.Host.Files.Lstat(f.Host.Path(e2eDir)); errors.Is(err, fs.ErrNotExist) {
		return []string{everyPackage}, nil
	}
	var out bytes.Buffer
	err := host.Run(ctx, f.Host.Exec, host.Cmd{
		Name: "go", Args: slices.Concat([]string{"list"}, listFlags(args), []string{everyPackage}), Dir: f.Host.Dir,
		Env: testEnv(f.Host.Environ(), args), Stdout: &out, Stderr: f.Host.IO.Err,
	})
	if err != nil {
		return nil, clierr.Failedf("correct what the go command says above", "list the packages: %w", err)
	}
	all := strings.Fields(out.String())
	packages := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return strings.Contains(p+"/", "/"+e2eDir+"/") })
	if len(packages) == len(all) {
		return []string{everyPackage}, nil
	}
	f.Say("%s is left out: its tests are for a whole cluster; 'mysdk test --controllers ./%s/...' gives them one of their own", e2eDir, e2eDir)
	return packages, nil
}

// goTest runs go test, for the packages where o names none.
func goTest(ctx context.Context, f *cli.Factory, o *testOptions, packages []string, env ...string) error {
	var said bytes.Buffer // by the go command: what tests print is on stdout
	err := host.Run(ctx, f.Host.Exec, host.Cmd{
		Name: "go", Args: o.goArgs(packages), Dir: f.Host.Dir,
		Env:   testEnv(state.OutOfPod(f.Host.Environ()), o.args, env...),
		Stdin: f.Host.IO.In, Stdout: f.Host.IO.Out, Stderr: io.MultiWriter(f.Host.IO.Err, &said), Grace: 10 * time.Second,
	})
	switch {
	case err == nil:
		return nil
	case mainpkg.Hint(said.String()) != "":
		return clierr.Failedf(mainpkg.Hint(said.String()), "the tests could not be built: %w", err)
	case !refuses(said.String()):
		return clierr.Failedf("run one of them with 'mysdk test ./... -run NAME -v'", "the tests did not pass: %w", err)
	}
	return clierr.Failedf(cmp.Or(testsOfAnother(f, said.String()), "correct what the go command says above"), "not all of the tests could be built: %w", err)
}

// refuses reports whether the go command said what is wrong with a package, which
// stands below its name, or with the module.
func refuses(said string) bool {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "go: ") && !strings.HasPrefix(line, "go: downloading ") {
			return true
		}
	}
	return false
}

// patternTest matches the test that comes with the pattern deployment, and the
// constant of the controller that it cannot do without.
var patternTest = lazy.Delayed(`(?m)^func \(f \*(\w+)Test\) runPods\(`)

// testsOfAnother is what to do where a controller was replaced by pasted code,
// and its test is still that of the scaffold, which does not compile then, as the
// go command said.
func testsOfAnother(f *cli.Factory, said string) (hint string) {
	tree := relayout.NewTree(f.Host.Files, f.Host.Dir)
	err := tree.EachGo(func(name string, src []byte) error {
		controller, isTest := strings.CutSuffix(name, "_test.go")
		m := patternTest.FindSubmatch(src)
		if !isTest || m == nil || !strings.HasPrefix(name, "internal/controller/") || !strings.Contains(said, filepath.FromSlash(name)+":") {
			return nil
		}
		code, there, err := tree.Read(controller + ".go")
		if there && !bytes.Contains(code, append(m[1], "Image"...)) {
			hint = fmt.Sprintf("replace or delete %s: it tests the controller that mysdk wrote, and %s.go is another one; 'mysdk create api --pattern blank' is for code of your own", name, path.Base(controller))
		}
		return err
	})
	if err != nil {
		return "" // the error of the tests is what counts
	}
	return hint
}
