// Package run has the commands that run a project's operator or its tests on
// this machine: run, with what is below it, and test.
package run

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"mvdan.cc/sh/v3/shell"

	"github.com/example/mysdk/internal/cli"
	migratecmd "github.com/example/mysdk/internal/cli/migrate"
	olmcmd "github.com/example/mysdk/internal/cli/olm"
	recordedcmd "github.com/example/mysdk/internal/cli/recorded"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/localrun"
)

// New is 'mysdk run', with what is below it.
func New(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use: "run", Short: "Run the project's operator", GroupID: "run",
		Example: "  mysdk run local --watch-namespace default",
	}
	c.AddCommand(newLocal(f), olmcmd.NewRunBundle(f), olmcmd.NewRunBundleUpgrade(f), olmcmd.NewRunPackageManifests(f))
	return c
}

// localOptions are the flags of run local.
type localOptions struct {
	cli.Target
	localrun.Options
	flags      string // --operator-flags, one string as in operator-sdk
	delve      bool   // --enable-delve, operator-sdk's name of --debug
	restore    bool
	ui, noOpen bool
}

func newLocal(f *cli.Factory) *cobra.Command {
	o := &localOptions{}
	c := &cobra.Command{
		Use: "local", Short: "Build the operator and run it on this machine, against a cluster",
		Long: `Build the operator and run it on this machine, against a cluster.

The embedded cluster is used, and started if it is not running, unless
--kubeconfig or --context names another one. KUBECONFIG is ignored, so that you
never write to a cluster by accident; the cluster is printed before it is written
to.

Code and manifests are generated, the CRDs are applied, and the operator runs
until Ctrl-C and prints its log. Its environment has WATCH_NAMESPACE,
OPERATOR_NAME, POD_NAMESPACE, KUBECONFIG and the variables of its Deployment in
config/default; it also gets that Deployment's subcommand. Leader election is off.

Webhooks, including conversion webhooks, work as they do when deployed: the API
server calls this machine, with certificates created for the run. The cluster's
previous configurations are restored at the end, or, after a kill -9, at the
next start or with --restore.

With --watch, saving a file generates, applies, builds and restarts, and
manifests of --apply are applied again when they change; if the code does not
compile, the running operator is kept. With --debug the operator waits for a
debugger. On a terminal, press r and Enter to build and start the operator
again.`,
		Example: `  # against the embedded cluster
  mysdk run local --watch-namespace default

  # with a first object, and flags for the operator
  mysdk run local --apply config/samples --operator-flags "--zap-log-level=debug"

  # reload on every save
  mysdk run local --watch

  # under a debugger
  mysdk run local --debug

  # with the live view in the browser
  mysdk run local --ui

  # against your own cluster
  mysdk run local --context kind-dev`,
		Args: cli.NoArguments(`use --operator-flags for the operator's flags, such as --operator-flags "--zap-devel"`),
		RunE: func(c *cobra.Command, _ []string) error { return runLocal(c.Context(), f, o) },
	}
	o.bind(c)
	return c
}

// bind adds the flags.
func (o *localOptions) bind(c *cobra.Command) {
	fs := c.Flags()
	o.Bind(fs)
	fs.StringSliceVar(&o.WatchNamespaces, "watch-namespace", nil, "namespaces to watch, separated by commas (default: as when deployed, else all)")
	fs.StringVar(&o.flags, "operator-flags", "", "flags for the operator, as one string, split as a shell would")
	fs.StringVar(&o.GoLDFlags, "go-ldflags", "", "-ldflags for the build of the operator")
	fs.StringArrayVar(&o.Env, "env", nil, "KEY=VALUE for the operator's environment; may be repeated")
	fs.StringSliceVar(&o.Apply, "apply", nil, "manifests, or directories of them, to apply once the operator runs")
	fs.BoolVar(&o.Keep, "keep", false, "leave the embedded cluster running at the end")
	fs.BoolVar(&o.Fresh, "fresh", false, "start with an empty embedded cluster")
	fs.BoolVar(&o.LeaderElect, "leader-elect", false, "turn leader election on")
	fs.BoolVar(&o.NoWebhooks, "no-webhooks", false, "leave the project's webhooks out of the cluster, and its webhook server off")
	fs.StringVar(&o.WebhookHost, "webhook-host", "", "name or address by which the named cluster reaches this machine (default: known for kind, minikube, k3d and Docker Desktop)")
	fs.StringVar(&o.WebhookListen, "webhook-listen", "", "IP address and port to listen on for webhooks (default: a free port of loopback, or of all addresses for a named cluster)")
	fs.BoolVar(&o.restore, "restore", false, "only restore what an interrupted run left in the cluster")
	o.Rights = localrun.RightsRole
	fs.Var(cli.Choice(&o.Rights, localrun.RightsRole, localrun.RightsAdmin), "rights", "what the operator may do on the embedded cluster: what its roles grant (role), or everything (admin)")
	fs.BoolVar(&o.ui, "ui", false, "serve the live view, and open it in a browser")
	recordedcmd.NoOpenFlag(c, &o.noOpen)
	fs.BoolVar(&o.Watch, "watch", false, "generate, apply, build and restart when a file of the project changes")
	fs.IntVar(&o.Debug, "debug", 0, "run the operator under Delve, listening on this port of loopback (2345 without a value)")
	fs.Lookup("debug").NoOptDefVal = strconv.Itoa(localrun.DebugPort)
	fs.BoolVar(&o.delve, "enable-delve", false, "the same as --debug")
}

// runLocal collects what the run needs and leaves the rest to package localrun.
// Code and manifests are generated first, before a cluster is started: a project
// that does not generate need not wait for one.
func runLocal(ctx context.Context, f *cli.Factory, o *localOptions) error {
	host.SurviveBrokenPipes() // the run cleans up before it ends
	tied, untie, err := f.Host.Tied(ctx)
	if err != nil {
		return err
	}
	defer untie()
	f = f.In(f.Host.Dir)
	f.Host = tied
	p, _, err := f.LoadProject()
	if err != nil {
		return err
	}
	if err := o.check(ctx, f); err != nil {
		return err
	}
	run := o.Options
	if o.delve && run.Debug == 0 {
		f.Say("Note: --enable-delve is now: --debug")
		run.Debug = localrun.DebugPort
	}
	run.Dir, run.Name, run.Groups, run.RoleNamespace = f.Host.Dir, p.Name, p.Groups(), p.RoleNamespace()
	run.Kubeconfig, run.Context, run.Allow = o.Target.Kubeconfig, o.Target.Context, f.Allowed
	run.Color, run.Quiet = f.Colored(), f.Quiet
	run.Trace = o.Embedded()
	deps := localrun.Deps{
		Host: f.Host,
		StartCluster: func(ctx context.Context, fresh bool) (*localrun.Cluster, error) {
			return clusterForRun(ctx, f, o, fresh)
		},
		Render:     func(ctx context.Context) (localrun.Manifests, error) { return runManifests(ctx, f) },
		Regenerate: func(ctx context.Context) ([]string, error) { return regenerate(ctx, f) },
	}
	if o.restore {
		return localrun.Restore(ctx, run, deps)
	}
	if err := localrun.Check(run, deps); err != nil {
		return err
	}
	var release func()
	deps.Kill, release = host.NextInterrupt(ctx)
	defer release()
	f.Say("generating code and manifests")
	if _, err := regenerate(ctx, f); err != nil {
		return err
	}
	if err := migratecmd.WarnOfStrays(f); err != nil {
		return err
	}
	likeDeployed(ctx, f, &run)
	if host.IsTerminal(f.Host.IO.In) {
		deps.Restart = restarts(ctx, f.Host.IO.In)
	}
	if o.ui {
		stop, err := o.serveView(ctx, f, &deps)
		if err != nil {
			return err
		}
		defer stop()
	}
	return localrun.Run(ctx, run, deps)
}

// check refuses flags that do not go together, before anything is written.
func (o *localOptions) check(ctx context.Context, f *cli.Factory) (err error) {
	if f.Given["rights"] && !o.Embedded() {
		return clierr.Usagef("leave out --rights, or --kubeconfig and --context", "--rights is for the embedded cluster, but another one is named")
	}
	if o.ui && !o.Embedded() {
		return clierr.Usagef("leave out --ui, or --kubeconfig and --context", "--ui is for the embedded cluster, but another one is named")
	}
	if f.Given["webhook-host"] && o.Embedded() {
		return clierr.Usagef("leave out --webhook-host, or name the cluster with --kubeconfig or --context", "--webhook-host is for a cluster of your own, but none is named")
	}
	if o.restore && o.Fresh {
		return clierr.Usagef("leave out --fresh, or --restore", "--fresh empties the embedded cluster, but --restore only restores what is in it")
	}
	if o.Embedded() {
		err = f.KnownCluster(ctx, o.Target.Name)
	} else {
		err = kube.Check(kube.Options{Kubeconfig: o.Target.Kubeconfig, Context: o.Target.Context, Host: f.Host, Allow: f.Allowed})
	}
	if err != nil {
		return err
	}
	if o.OperatorArgs, err = shell.Fields(o.flags, f.Host.Getenv); err != nil {
		return clierr.Usagef("quote the whole string, and quote values that contain spaces", "--operator-flags: %w", err)
	}
	return nil
}

// serveView serves the live view until stop, with a way to crash the operator.
func (o *localOptions) serveView(ctx context.Context, f *cli.Factory, deps *localrun.Deps) (stop func(), err error) {
	source, err := recordedcmd.View(f, o.Target.Name)
	if err != nil {
		return nil, err
	}
	crash := make(chan struct{})
	deps.Crash = crash
	source.Crash = func(ctx context.Context) error {
		select {
		case crash <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return recordedcmd.ServeView(ctx, f, source, !o.noOpen)
}

// restarts gets an element for each line "r" of the terminal. A process in the
// background reads an error there instead of being stopped.
func restarts(ctx context.Context, in io.Reader) <-chan struct{} {
	host.IgnoreTerminalStops()
	asked := make(chan struct{})
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			if strings.EqualFold(strings.TrimSpace(lines.Text()), "r") {
				select {
				case asked <- struct{}{}:
				case <-ctx.Done():
				}
			}
		}
	}()
	return asked
}

// regenerate brings generated code and manifests up to date before a build, as
// the types may have been edited since. It returns the paths that it wrote.
func regenerate(ctx context.Context, f *cli.Factory) ([]string, error) {
	opts, err := f.GenerateOptions()
	if err != nil {
		return nil, err
	}
	r, err := generate.Render(ctx, opts)
	if err != nil {
		return nil, err
	}
	for _, w := range r.Warnings {
		f.Warn("%s", w)
	}
	if r.Set.Len() == 0 {
		return nil, nil
	}
	if wrote, err := f.Settle(ctx, r.Set, false, false, "everything is up to date"); !wrote || err != nil {
		return nil, err
	}
	return r.Set.Paths(), nil
}

// runManifests is what the project's deployment would bring to a cluster for
// the operator: its CRDs and its webhook configurations.
func runManifests(ctx context.Context, f *cli.Factory) (localrun.Manifests, error) {
	crds, err := f.ProjectCRDs(ctx)
	if err != nil {
		return localrun.Manifests{}, err
	}
	deployed, err := deployedObjects(ctx, f)
	return manifestsOf(f, crds, deployed, err)
}

// manifestsOf are those of the project's CRDs and of what config/default has, or
// why it cannot be built.
func manifestsOf(f *cli.Factory, crds, deployed []*unstructured.Unstructured, deployErr error) (localrun.Manifests, error) {
	hooks, err := projectWebhooks(f, deployed, deployErr)
	return localrun.Manifests{CRDs: crds, Webhooks: hooks, Role: roleOf(deployed), RoleErr: deployErr}, err
}

// projectWebhooks are the webhook configurations of the project with the names
// that they have when deployed, so that a run takes the place of a deployment
// in the same cluster instead of calling webhooks twice.
//
// A deployment that cannot be built is of interest only where there are webhooks.
func projectWebhooks(f *cli.Factory, deployed []*unstructured.Unstructured, deployErr error) ([]*unstructured.Unstructured, error) {
	if hooks := webhooksAmong(slices.Clone(deployed)); len(hooks) > 0 {
		return hooks, nil
	}
	const generated = "config/webhook/manifests.yaml"
	data, err := f.Host.Files.ReadFile(f.Host.Path(generated))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if deployErr != nil {
		return nil, deployErr
	}
	// The deployment leaves webhooks out. The generated names are the same in
	// every project, so they get the prefix that a deployment would give them.
	p, _, err := f.LoadProject()
	if err != nil {
		return nil, err
	}
	objs, err := kube.ParseManifests(data, generated)
	if err != nil {
		return nil, err
	}
	hooks := webhooksAmong(objs)
	for _, u := range hooks {
		u.SetName(p.Name + "-" + u.GetName())
	}
	return hooks, nil
}

// webhooksAmong picks the webhook configurations.
func webhooksAmong(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(objs, func(u *unstructured.Unstructured) bool {
		return u.GroupVersionKind().Group != "admissionregistration.k8s.io" || !strings.HasSuffix(u.GetKind(), "WebhookConfiguration")
	})
}

// clusterForRun starts the embedded cluster so that it goes with mysdk, even
// if mysdk is killed, unless it must stay. One that was started to stay does so
// when it is emptied, too.
func clusterForRun(ctx context.Context, f *cli.Factory, o *localOptions, fresh bool) (*localrun.Cluster, error) {
	was, err := cluster.Status(ctx, f.Host, o.Target.Name)
	if err != nil {
		return nil, err
	}
	stays := was.State == cluster.Running && !was.Tied
	wanted := cluster.Options{Name: o.Target.Name, Fresh: fresh, DieWithParent: !o.Keep && !stays, Progress: f.Progress, Detail: f.Stage}
	if stays { // emptied, it is still the cluster that was asked for
		wanted.Nodes, wanted.FSync, wanted.Verbosity = was.Nodes, &was.FSync, was.Verbosity
		if minor, err := cli.MinorVersion(semver.MajorMinor(was.Version)); err == nil {
			wanted.Kubernetes = minor
		}
	}
	info, err := cluster.Start(ctx, f.Host, wanted)
	if err != nil {
		return nil, err
	}
	info.AlreadyRunning = info.AlreadyRunning || stays
	control, err := cluster.Control(ctx, f.Host, o.Target.Name)
	if err != nil {
		return nil, err
	}
	start := ""
	if info.AlreadyRunning && info.Tied {
		start = state.Command("start", info.Name)
	}
	return &localrun.Cluster{
		Name: info.Name, Control: control, Socket: control.Socket, Kubeconfig: info.Kubeconfig, AlreadyRunning: info.AlreadyRunning, StartCommand: start, StopCommand: state.Command("stop", info.Name),
		Stop: func(ctx context.Context) error {
			_, err := cluster.Stop(ctx, f.Host, o.Target.Name)
			return err
		},
	}, nil
}
