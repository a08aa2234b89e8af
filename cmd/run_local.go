package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/shell"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/localrun"
)

func newRun(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "run", Short: "Run the project's operator", GroupID: "run",
		Example: "  mysdk run local --watch-namespace default",
	}
	c.AddCommand(newRunLocal(a, a.runLocal))
	return c
}

// runLocalOptions are the flags of run local.
type runLocalOptions struct {
	target
	localrun.Options
	flags string // --operator-flags, one string as in operator-sdk
}

func newRunLocal(a *app, run func(context.Context, *runLocalOptions) error) *cobra.Command {
	o := &runLocalOptions{}
	c := &cobra.Command{
		Use: "local", Short: "Build the operator and run it on this machine, against a cluster",
		Long: `Build the operator and run it on this machine, against a cluster.

The cluster is the embedded one, started if it is not running, unless
--kubeconfig or --context names another: KUBECONFIG alone does not, so that no
cluster is written to by accident. Which one it is stands in the first line.

Code and manifests are generated, the CRDs are applied, and the operator runs
until Ctrl-C with its log on the screen. It gets WATCH_NAMESPACE,
OPERATOR_NAME, POD_NAMESPACE and KUBECONFIG; leader election is off.`,
		Example: `  # against the embedded cluster
  mysdk run local --watch-namespace default

  # with an object to begin with, and flags of the operator's own
  mysdk run local --apply config/samples --operator-flags "--zap-log-level=debug"

  # against a cluster of your own
  mysdk run local --context kind-dev`,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.bind(c.Flags())
	fs := c.Flags()
	fs.StringSliceVar(&o.WatchNamespaces, "watch-namespace", nil, "namespaces to watch, separated by commas (default: all)")
	fs.StringVar(&o.flags, "operator-flags", "", "flags for the operator, as one string, split as a shell would")
	fs.StringVar(&o.GoLDFlags, "go-ldflags", "", "-ldflags for the build of the operator")
	fs.StringArrayVar(&o.Env, "env", nil, "KEY=VALUE for the operator's environment; may be repeated")
	fs.StringSliceVar(&o.Apply, "apply", nil, "manifests, or directories of them, to apply once the operator runs")
	fs.BoolVar(&o.Keep, "keep", false, "leave the embedded cluster running at the end")
	fs.BoolVar(&o.Fresh, "fresh", false, "begin with an empty embedded cluster")
	fs.BoolVar(&o.LeaderElect, "leader-elect", false, "turn leader election on")
	return c
}

func (a *app) runLocal(ctx context.Context, o *runLocalOptions) error {
	p, _, err := a.loadProject()
	if err != nil {
		return err
	}
	if o.OperatorArgs, err = shell.Fields(o.flags, a.host.Getenv); err != nil {
		return clierr.Usagef("quote the whole, and values with spaces in it again", "--operator-flags: %w", err)
	}
	if err := a.bringUpToDate(ctx); err != nil {
		return err
	}
	run := o.Options
	run.Dir, run.Name = a.host.Dir, p.Name
	run.Kubeconfig, run.Context, run.Allow = o.kubeconfig, o.context, a.allowed
	run.Color = a.colored()
	return localrun.Run(ctx, run, localrun.Deps{
		Host: a.host,
		StartCluster: func(ctx context.Context, fresh bool) (*localrun.Cluster, error) {
			return a.clusterForRun(ctx, o, fresh)
		},
		RenderCRDs: a.projectCRDs,
	})
}

// bringUpToDate generates code and manifests before the build, as the types
// may have been edited since.
func (a *app) bringUpToDate(ctx context.Context) error {
	r, err := generate.Render(ctx, a.generateOptions())
	if err != nil {
		return err
	}
	for _, w := range r.Warnings {
		a.warn("%s", w)
	}
	if err := a.write(ctx, r.Set, false); err != nil {
		return err
	}
	for _, name := range r.Set.Paths() {
		a.say("wrote %s", name)
	}
	return nil
}

// clusterForRun starts the embedded cluster so that it goes with mysdk, even
// if mysdk is killed, unless it is to stay.
func (a *app) clusterForRun(ctx context.Context, o *runLocalOptions, fresh bool) (*localrun.Cluster, error) {
	info, err := cluster.Start(ctx, a.host, cluster.Options{
		Name: o.name, Fresh: fresh, DieWithParent: !o.Keep, Progress: func(s string) { a.say("%s", s) },
	})
	if err != nil {
		return nil, err
	}
	return &localrun.Cluster{
		Kubeconfig: info.Kubeconfig, AlreadyRunning: info.AlreadyRunning,
		Stop: func(ctx context.Context) error {
			_, err := cluster.Stop(ctx, a.host, o.name)
			return err
		},
	}, nil
}
