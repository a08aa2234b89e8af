package deploy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// NewInstall is 'mysdk install'.
func NewInstall(f *cli.Factory) *cobra.Command {
	o := &options{}
	c := &cobra.Command{
		Use: "install", Short: "Apply the project's CRDs to a cluster and wait until they are served", GroupID: "run",
		Example: "  mysdk install\n  mysdk install --context kind-dev",
		RunE:    func(c *cobra.Command, _ []string) error { return runInstall(c.Context(), f, o) },
	}
	o.Bind(c.Flags())
	cli.DryRunFlag(c.Flags(), &o.dryRun)
	c.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "how long to wait until the API server serves a CRD")
	return c
}

// NewUninstall is 'mysdk uninstall'.
func NewUninstall(f *cli.Factory) *cobra.Command {
	o := &options{}
	c := &cobra.Command{
		Use: "uninstall", Short: "Delete the project's CRDs (asks before deleting custom resources)", GroupID: "run",
		Long: `Delete the project's CRDs from a cluster. If there are custom resources, which
are deleted with them, it asks first.

Custom resources with finalizers are deleted only after the operator has removed
the finalizers, so it has to be running: deployed, or with 'mysdk run local',
which also finishes a deletion that was started. --force removes the finalizers
instead, and turns off the conversion of the CRDs. What the operator would have
cleaned up is left behind.`,
		Example: "  mysdk uninstall\n  mysdk uninstall --context kind-dev --yes\n\n  # the operator is gone, and its finalizers block the deletion\n  mysdk uninstall --force",
		RunE:    func(c *cobra.Command, _ []string) error { return runUninstall(c.Context(), f, o) },
	}
	o.Bind(c.Flags())
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "skip confirmation: custom resources are deleted with their CRDs")
	cli.ForceFlag(c.Flags(), &o.force)
	cli.DryRunFlag(c.Flags(), &o.dryRun)
	c.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait for each object to be deleted")
	return c
}

func runInstall(ctx context.Context, f *cli.Factory, o *options) error {
	crds, err := f.SomeCRDs(ctx)
	if err != nil {
		return err
	}
	client, err := f.Connect(ctx, &o.Target, !o.dryRun)
	if err != nil {
		return err
	}
	crds, off, err := client.WorkingConversions(ctx, crds)
	if err != nil {
		return err
	}
	for _, crd := range off {
		f.Warn("conversion of %s is off: its webhook is not in this cluster. 'mysdk deploy' and 'mysdk run local' turn it on", crd.GetName())
	}
	_, err = kube.Install(ctx, client, crds, o.timeout, kube.ApplyOptions{TakeOver: true, DryRun: o.dryRun, Progress: f.Teller(o.dryRun)})
	return err
}

func runUninstall(ctx context.Context, f *cli.Factory, o *options) error {
	f.OrAsIs = true // CRDs can go while the code is broken
	crds, err := f.SomeCRDs(ctx)
	if err != nil {
		return err
	}
	client, err := f.Connect(ctx, &o.Target, false)
	if err != nil {
		return err
	}
	_, err = deleteCRDs(ctx, f, client, crds, o.yes, kube.DeleteOptions{DryRun: o.dryRun, Timeout: o.timeout, Force: o.force})
	return err
}

// deleteCRDs deletes CRDs unless objects would go with them and the user does
// not want that. done is false when nothing was deleted.
func deleteCRDs(ctx context.Context, f *cli.Factory, c *kube.Client, crds []*unstructured.Unstructured, yes bool, opts kube.DeleteOptions) (done bool, err error) {
	opts.Progress = f.Teller(opts.DryRun)
	done = true
	_, err = kube.Uninstall(ctx, c, crds, func(counts []kube.InstanceCount) (bool, error) {
		if opts.DryRun {
			return true, f.Print(fmt.Appendf(nil, "%s deleted with their CRDs (server dry run)\n", countObjects(counts)))
		}
		var err error
		if done, err = confirm(ctx, f, yes, opts.Force, counts); err == nil && !done {
			f.Say("Nothing was deleted.")
		}
		for _, n := range counts {
			if done && n.Held > 0 && !opts.Force {
				f.Say("%d %s with finalizers: waiting for the operator to remove them", n.Held, n.Kind)
			}
		}
		return done, err
	}, opts)
	return done && err == nil, err
}

func countObjects(counts []kube.InstanceCount) string {
	var list []string
	for _, c := range counts {
		list = append(list, c.String())
	}
	return strings.Join(list, ", ")
}

// confirm asks on a terminal whether objects may go with their CRDs; elsewhere
// --yes is the only way to say so. With force their finalizers go first.
func confirm(ctx context.Context, f *cli.Factory, yes, force bool, counts []kube.InstanceCount) (bool, error) {
	objects := countObjects(counts)
	if yes {
		f.Say("Deleting the CRDs with %s", objects)
		return true, nil
	}
	question := "These objects will be deleted with their CRDs: " + objects + ". "
	if force {
		question += "\nTheir finalizers are removed first: what the operator would clean up is left behind. "
	}
	return f.Ask(ctx, question+"Continue? [y/N] ",
		clierr.Usagef("add --yes to delete them", "nothing was deleted: stdin is not a terminal, and these objects would be deleted with their CRDs: %s", objects))
}
