package olm

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/hostprogram"
	"github.com/example/mysdk/internal/olm/run"
)

type cleanupOptions struct {
	cli.Target
	namespace                           string
	deleteAll, deleteCRDs, deleteGroups bool
	timeout                             time.Duration
	pkg                                 string // the argument
}

// NewCleanup is 'mysdk cleanup'.
func NewCleanup(f *cli.Factory) *cobra.Command {
	o := &cleanupOptions{}
	c := &cobra.Command{
		Use: "cleanup PACKAGE", Short: "Uninstall an operator installed by OLM and keep its CRDs", GroupID: "run",
		Long: `Uninstall an operator installed by OLM and keep its CRDs.

This deletes the Subscription, the ClusterServiceVersion with everything that
OLM created for it, the catalog that 'run bundle' created, and the OperatorGroup
that it created, unless another operator needs it. The command waits until all
of it is gone.

CRDs and custom resources are kept; operator-sdk deletes both by default. With
--delete-crds the custom resources are deleted first, while the operator is
still there to finalize them.`,
		Example: `  mysdk cleanup shop-operator
  mysdk cleanup shop-operator -n operators --delete-crds`,
		Args: cli.ExactlyOne("a package", "mysdk cleanup shop-operator"),
		RunE: func(c *cobra.Command, args []string) error {
			o.pkg = args[0]
			return runCleanup(c.Context(), f, o)
		},
	}
	c.ValidArgsFunction = f.Packages
	o.Bind(c.Flags())
	fs := c.Flags()
	fs.StringVarP(&o.namespace, "namespace", "n", "", "namespace that the operator is installed in (default: the context's)")
	fs.BoolVar(&o.deleteAll, "delete-all", false, "the same as --delete-crds and --delete-operator-groups")
	fs.BoolVar(&o.deleteCRDs, "delete-crds", false, "also delete the operator's CRDs and all custom resources")
	fs.BoolVar(&o.deleteGroups, "delete-operator-groups", false, "delete the namespace's OperatorGroup even if mysdk did not create it, unless another operator needs it")
	fs.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait for each object to be deleted")
	return c
}

func runCleanup(ctx context.Context, f *cli.Factory, o *cleanupOptions) error {
	start := f.Host.Now()
	client, err := f.Connect(ctx, &o.Target, false)
	if err != nil {
		return err
	}
	cleaned, err := run.Cleanup(ctx, client, o.pkg, run.CleanupOptions{
		Namespace: cmp.Or(o.namespace, client.Namespace), CRDs: o.deleteCRDs || o.deleteAll, OperatorGroups: o.deleteGroups || o.deleteAll,
		Timeout: o.timeout, Say: f.Say, Progress: f.TellChange,
	})
	if err != nil {
		return err
	}
	if client.Embedded != "" {
		p := hostprogram.Programs{Host: f.Host, Cluster: client.Embedded, Say: f.Detail}
		if err := p.Forget(ctx, cleaned.Images); err != nil {
			return err
		}
	}
	f.Say("Removed %s (%s)", o.pkg, f.Since(start))
	return nil
}
