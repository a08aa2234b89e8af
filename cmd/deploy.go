package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/olm/run"
)

const (
	// deployDir is the kustomization of the whole operator.
	deployDir = "config/default"
	// imageFile says which image stands for the name that the Deployment has.
	imageFile = "config/manager/kustomization.yaml"
	imageName = "controller"
	// installerFile is where build-installer writes.
	installerFile = "dist/install.yaml"
)

// deployOptions are the flags of deploy, undeploy and build-installer.
type deployOptions struct {
	target
	image   string
	wait    bool
	timeout time.Duration
	crds    bool
	yes     bool
	force   bool
	dryRun  bool
}

func newDeploy(a *app) *cobra.Command {
	o := &deployOptions{}
	c := &cobra.Command{
		Use: "deploy", Short: "Deploy the operator to a cluster and wait until it is ready", GroupID: "run",
		Long: `Deploy the operator to a cluster and wait until it is ready.

It is what config/default holds, built in process and applied by the API server
itself. The embedded cluster runs no containers: there the operator is built from
source and runs as a process of this machine, with the rights, arguments and
environment of its pod.

The command fails as soon as it is certain that the operator cannot work: when
it crashes, when its image cannot be pulled, or when its log shows that it lacks
a permission. It then prints the end of the log and what to change.

What an earlier deploy of the project has applied and this one does not is
deleted; a ConfigMap in the operator's namespace and the labels of apply sets
(applyset.kubernetes.io) tell which objects these are. CRDs with custom resources
are kept unless you confirm, and namespaces always.`,
		Example: "  mysdk deploy --image registry.example.com/shop-operator:v0.1.0 --context my-cluster",
		RunE:    func(c *cobra.Command, _ []string) error { return a.runDeploy(c.Context(), o) },
	}
	o.bind(c.Flags())
	o.bindImage(c)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "skip confirmation: CRDs that the project has no more are deleted with their custom resources")
	dryRunFlag(c.Flags(), &o.dryRun)
	c.Flags().BoolVar(&o.wait, "wait", true, "wait until the operator is ready")
	c.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait")
	return c
}

func newBuildInstaller(a *app) *cobra.Command {
	o := &deployOptions{}
	c := &cobra.Command{
		Use: "build-installer", Short: "Write the manifests that deploy applies to dist/install.yaml", GroupID: "write",
		Example: "  mysdk build-installer --image registry.example.com/shop-operator:v0.1.0",
		RunE:    func(c *cobra.Command, _ []string) error { return a.runBuildInstaller(c.Context(), o) },
	}
	o.bindImage(c)
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	return c
}

func (o *deployOptions) bindImage(c *cobra.Command) {
	c.Flags().StringVar(&o.image, "image", "", "the operator's image (default: the one in "+imageFile+")")
}

func (a *app) runDeploy(ctx context.Context, o *deployOptions) error {
	_, objects, err := a.operatorManifests(ctx, o.image)
	if err != nil {
		return err
	}
	client, err := a.connect(ctx, &o.target, !o.dryRun)
	if err != nil {
		return err
	}
	if o.embedded() && !o.dryRun {
		// It runs no containers: the operator is a process of this machine.
		programs := run.Programs{Host: a.host, Cluster: o.name, Project: &run.Project{Dir: a.host.Dir}, Say: a.say}
		if err := programs.RegisterProject(ctx, objects); err != nil {
			return err
		}
	}
	set, err := a.applySet(client, objects)
	if err != nil {
		return err
	}
	isOther := func(u *unstructured.Unstructured) bool { return u.GetKind() != crdKind }
	deleting, err := client.Deleting(ctx, slices.DeleteFunc(slices.Clone(objects), isOther))
	if err != nil {
		return err
	}
	stale, err := client.ApplySet(ctx, set, objects, kube.ApplyOptions{Force: true, DryRun: o.dryRun, Progress: a.teller(o.dryRun)})
	if err != nil {
		return err
	}
	for _, crd := range deleting {
		a.warn("%s is being deleted: the operator finishes that, then it has to be applied again", kube.RefOf(crd))
	}
	if err := a.prune(ctx, client, set, stale, objects, o); err != nil || !o.wait || o.dryRun {
		return err
	}
	start := a.host.Now()
	// What is being deleted may be gone by the first look.
	operator := run.Deployed{Reader: client, Objects: apartFrom(objects, deleting), Timeout: o.timeout, Now: a.host.Now, Say: a.say}
	err = operator.Wait(ctx)
	if err == nil && len(deleting) > 0 {
		if err = client.WaitGone(ctx, deleting, o.timeout); err == nil {
			err = a.applyAgain(ctx, client, set, objects)
		}
		if err == nil {
			operator.Objects = objects
			err = operator.Wait(ctx)
		}
	}
	if err != nil {
		a.explain(err)
		return err
	}
	a.say("Ready after %s", a.since(start))
	return nil
}

// apartFrom returns the objects that are not among others.
func apartFrom(objects, others []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(u *unstructured.Unstructured) bool {
		return slices.ContainsFunc(others, func(o *unstructured.Unstructured) bool { return kube.RefOf(o) == kube.RefOf(u) })
	})
}

// applyAgain applies what a finished deletion took away, and restarts the
// operator, which prepares its CRDs when it starts.
func (a *app) applyAgain(ctx context.Context, client *kube.Client, set kube.ApplySet, objects []*unstructured.Unstructured) error {
	if _, err := client.ApplySet(ctx, set, objects, kube.ApplyOptions{Force: true, Progress: a.tellChange}); err != nil {
		return err
	}
	return a.restart(ctx, client, objects)
}

// restart restarts the pods of the Deployments among objects, as kubectl rollout
// restart does.
func (a *app) restart(ctx context.Context, client *kube.Client, objects []*unstructured.Unstructured) error {
	for _, u := range objects {
		if u.GetKind() != "Deployment" {
			continue
		}
		err := client.Edit(ctx, u, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if live == nil {
				return nil, nil
			}
			return live, unstructured.SetNestedField(live.Object, a.host.Now().Format(time.RFC3339),
				"spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) runBuildInstaller(ctx context.Context, o *deployOptions) error {
	data, objects, err := a.operatorManifests(ctx, o.image)
	if err != nil {
		return err
	}
	var set fileset.Set
	if err := set.Put(installerFile, fileset.File{Data: data}); err != nil {
		return err
	}
	if err := a.write(ctx, set, o.dryRun); err != nil || o.dryRun {
		return err
	}
	a.say("%s: %d objects", installerFile, len(objects))
	a.say("Next: kubectl apply --server-side -f %s", installerFile)
	return nil
}

// operatorManifests are all objects of the operator, as the Go types and the
// files of config/default are now, with the image in place.
func (a *app) operatorManifests(ctx context.Context, image string) ([]byte, []*unstructured.Unstructured, error) {
	if _, _, err := a.loadProject(); err != nil {
		return nil, nil, err
	}
	opts, err := a.generateOptions()
	if err != nil {
		return nil, nil, err
	}
	r, err := generate.Render(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	src := kustomize.Source{Dir: a.host.Dir, Overlay: r.Set, Files: a.host.Files}
	if image != "" {
		name, tag, digest, err := splitImage(image)
		if err != nil {
			return nil, nil, err
		}
		if src, err = kustomize.SetImage(src, imageFile, imageName, name, tag, digest); err != nil {
			return nil, nil, err
		}
	}
	data, err := kustomize.Build(ctx, src, deployDir)
	if err != nil {
		return nil, nil, err
	}
	objects, err := kube.ParseManifests(data, deployDir)
	return data, objects, err
}

// splitImage takes an image reference apart: registry.example.com:5000/a/b:tag
// or …@sha256:….
func splitImage(image string) (name, tag, digest string, err error) {
	name, digest, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name, tag = name[:i], name[i+1:]
	}
	if name == "" || strings.ContainsAny(image, " \t\"'") || strings.HasSuffix(image, ":") || strings.HasSuffix(image, "@") || strings.Contains(image, "://") {
		return "", "", "", clierr.Usagef("use a reference such as registry.example.com/shop-operator:v0.1.0", "image %q is not a reference", image)
	}
	return name, tag, digest, nil
}
