// Package deploy has the commands that bring a project into a cluster and out of
// it again: install, uninstall, deploy, undeploy and build-installer.
package deploy

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/certmanager"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/hostprogram"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/localrun"
	"github.com/example/mysdk/internal/olm/run"
)

// options are the flags of the commands, each of which has some.
type options struct {
	cli.Target
	image                          string
	timeout                        time.Duration
	wait, crds, yes, force, dryRun bool
}

// NewDeploy is 'mysdk deploy'.
func NewDeploy(f *cli.Factory) *cobra.Command {
	o := &options{}
	c := &cobra.Command{
		Use: "deploy", Short: "Deploy the operator to a cluster and wait until it is ready", GroupID: "run",
		Long: `Deploy the operator to a cluster and wait until it is ready.

config/default is built in process and applied with server-side apply. The
embedded cluster runs no containers: there the operator is built from source and
runs as a process on this machine, with the rights, arguments and environment of
its pod. It does not run cert-manager either: certificates of webhooks are created
in its place.

The command fails as soon as it is certain that the operator cannot work: when
it crashes, when its image cannot be pulled, or when its log shows that it lacks
a permission. It then prints the end of the log and what to change.

Objects that an earlier deploy of the project applied and this one does not are
deleted; a ConfigMap in the operator's namespace and the labels of apply sets
(applyset.kubernetes.io) keep track of them. CRDs with custom resources are kept
unless you confirm, and namespaces always.`,
		Example: "  mysdk deploy --image registry.example.com/shop-operator:v0.1.0 --context my-cluster",
		RunE:    func(c *cobra.Command, _ []string) error { return runDeploy(c.Context(), f, o) },
	}
	o.Bind(c.Flags())
	o.bindImage(c)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "skip confirmation: CRDs that are no longer in the project are deleted with their custom resources")
	cli.DryRunFlag(c.Flags(), &o.dryRun)
	c.Flags().BoolVar(&o.wait, "wait", true, "wait until the operator is ready")
	c.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait")
	return c
}

// NewBuildInstaller is 'mysdk build-installer'.
func NewBuildInstaller(f *cli.Factory) *cobra.Command {
	o := &options{}
	c := &cobra.Command{
		Use: "build-installer", Short: "Write the manifests that deploy applies to dist/install.yaml", GroupID: "write",
		Example: "  mysdk build-installer --image registry.example.com/shop-operator:v0.1.0",
		RunE:    func(c *cobra.Command, _ []string) error { return runBuildInstaller(c.Context(), f, o) },
	}
	o.bindImage(c)
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	return c
}

func (o *options) bindImage(c *cobra.Command) {
	c.Flags().StringVar(&o.image, "image", "", "the operator's image (default: the one in "+cli.ImageFile+")")
}

// runDeploy applies config/default as one set and waits for the operator. A CRD
// that an earlier undeploy left to be deleted is waited for and applied again:
// only the operator that comes up here can remove the finalizers which hold it.
func runDeploy(ctx context.Context, f *cli.Factory, o *options) error {
	_, objects, err := f.OperatorManifests(ctx, o.image)
	if err != nil {
		return err
	}
	cli.WarnOfUnbound(objects, f.Warn)
	client, err := f.Connect(ctx, &o.Target, !o.dryRun)
	if err != nil {
		return err
	}
	if err := refuseBesideRun(ctx, f, client, objects); err != nil {
		return err
	}
	if client.Embedded != "" { // however it was named
		live := func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) { return client.Read(ctx, u) }
		if objects, err = certmanager.StandIn(objects, live, f.Host.Now()); err != nil {
			return err
		}
	}
	if client.Embedded != "" && !o.dryRun {
		// It runs no containers: the operator is a process of this machine.
		programs := hostprogram.Programs{Host: f.Host, Cluster: client.Embedded, Project: &hostprogram.Project{Dir: f.Host.Dir}, Say: f.Say}
		if err := programs.RegisterProject(ctx, objects); err != nil {
			return err
		}
	}
	set, err := applySet(f, client, objects)
	if err != nil {
		return err
	}
	isOther := func(u *unstructured.Unstructured) bool { return u.GetKind() != crdKind }
	deleting, err := client.Deleting(ctx, slices.DeleteFunc(slices.Clone(objects), isOther))
	if err != nil {
		return err
	}
	stale, err := client.ApplySet(ctx, set, objects, kube.ApplyOptions{Force: true, TakeOver: true, DryRun: o.dryRun, Progress: f.Teller(o.dryRun)})
	if err != nil {
		return err
	}
	for _, crd := range deleting {
		f.Warn("%s is being deleted: the operator finishes that, then it has to be applied again", kube.RefOf(crd))
	}
	if err := prune(ctx, f, client, set, stale, objects, o); err != nil || !o.wait || o.dryRun {
		return err
	}
	start := f.Host.Now()
	// What is being deleted may be gone by the first look.
	operator := run.Deployed{Reader: client, Objects: kube.Without(objects, deleting), Timeout: o.timeout, Now: f.Host.Now, Say: f.Say}
	err = operator.Wait(ctx)
	if err == nil && len(deleting) > 0 {
		if err = client.WaitGone(ctx, deleting, o.timeout); err == nil {
			err = applyAgain(ctx, f, client, set, objects)
		}
		if err == nil {
			operator.Objects = objects
			err = operator.Wait(ctx)
		}
	}
	if err != nil {
		f.Explain(err)
		return err
	}
	f.Say("Ready after %s", f.Since(start))
	return nil
}

// refuseBesideRun refuses to deploy while run local has the project's webhooks:
// the API server would refuse them when half of the rest is applied.
func refuseBesideRun(ctx context.Context, f *cli.Factory, client *kube.Client, objects []*unstructured.Unstructured) error {
	id, err := client.ID(ctx)
	if apierrors.IsForbidden(err) {
		return nil // nor could a run of this user read it
	}
	if err != nil {
		return err
	}
	return localrun.RefuseTaken(f.Host, id, objects)
}

// applyAgain applies what a finished deletion took away, and restarts the
// operator as kubectl rollout restart does: it prepares its CRDs when it starts.
func applyAgain(ctx context.Context, f *cli.Factory, client *kube.Client, set kube.ApplySet, objects []*unstructured.Unstructured) error {
	if _, err := client.ApplySet(ctx, set, objects, kube.ApplyOptions{Force: true, Progress: f.TellChange}); err != nil {
		return err
	}
	for _, u := range objects {
		if u.GetKind() != "Deployment" {
			continue
		}
		err := client.Edit(ctx, u, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if live == nil {
				return nil, nil
			}
			return live, unstructured.SetNestedField(live.Object, f.Host.Now().Format(time.RFC3339),
				"spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func runBuildInstaller(ctx context.Context, f *cli.Factory, o *options) error {
	data, objects, err := f.OperatorManifests(ctx, o.image)
	if err != nil {
		return err
	}
	var set fileset.Set
	if err := set.Put(cli.InstallerFile, fileset.File{Data: data}); err != nil {
		return err
	}
	if err := f.Write(ctx, set, o.dryRun); err != nil || o.dryRun {
		return err
	}
	f.Say("%s: %d objects", cli.InstallerFile, len(objects))
	f.Say("Next: kubectl apply --server-side -f %s", f.Here(cli.InstallerFile))
	return nil
}
