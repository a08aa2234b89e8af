package cmd

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/olm/run"
)

// cleanupOptions are the flags of cleanup.
type cleanupOptions struct {
	target
	namespace                           string
	deleteAll, deleteCRDs, deleteGroups bool
	timeout                             time.Duration
	pkg                                 string // the argument
}

func newCleanup(a *app) *cobra.Command {
	o := &cleanupOptions{}
	c := &cobra.Command{
		Use: "cleanup PACKAGE", Short: "Uninstall an operator installed by OLM and keep its CRDs", GroupID: "run",
		Long: `Remove an operator that OLM has installed, and keep its CRDs.

What goes is the Subscription, the ClusterServiceVersion with everything that
OLM made for it, the catalog that 'run bundle' made, and the OperatorGroup that
it made, unless another operator needs it. The command ends when all of it is
gone.

CRDs stay, and with them the objects of your users: operator-sdk deletes both
unless told otherwise. With --delete-crds the objects go first, while the
operator is there to finalize them.`,
		Example: `  mysdk cleanup shop-operator
  mysdk cleanup shop-operator -n operators --delete-crds`,
		Args: exactlyOne("a package", "mysdk cleanup shop-operator"),
		RunE: func(c *cobra.Command, args []string) error {
			o.pkg = args[0]
			return a.runCleanup(c.Context(), o)
		},
	}
	c.ValidArgsFunction = a.packages
	o.bind(c.Flags())
	fs := c.Flags()
	fs.StringVarP(&o.namespace, "namespace", "n", "", "namespace that the operator is installed in (default: the context's)")
	fs.BoolVar(&o.deleteAll, "delete-all", false, "the same as --delete-crds and --delete-operator-groups")
	fs.BoolVar(&o.deleteCRDs, "delete-crds", false, "also delete the operator's CRDs and all custom resources")
	fs.BoolVar(&o.deleteGroups, "delete-operator-groups", false, "delete the namespace's OperatorGroup also if mysdk did not make it, unless another operator needs it")
	fs.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait for each object to be deleted")
	return c
}

func (a *app) runCleanup(ctx context.Context, o *cleanupOptions) error {
	start := a.host.Now()
	client, err := a.connect(ctx, &o.target, false)
	if err != nil {
		return err
	}
	cleaned, err := run.Cleanup(ctx, client, o.pkg, run.CleanupOptions{
		Namespace: cmp.Or(o.namespace, client.Namespace), CRDs: o.deleteCRDs || o.deleteAll, OperatorGroups: o.deleteGroups || o.deleteAll,
		Timeout: o.timeout, Say: a.say, Progress: a.tellChange,
	})
	if err != nil {
		return err
	}
	if client.Embedded != "" {
		p := run.Programs{Host: a.host, Cluster: client.Embedded, Say: a.say}
		if err := p.Forget(ctx, cleaned.Images); err != nil {
			return err
		}
	}
	a.say("%s is gone after %s", o.pkg, a.since(start))
	return nil
}
