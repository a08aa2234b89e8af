package cmd

import (
	"context"
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
	dryRun  bool
}

func newDeploy(a *app, run func(context.Context, *deployOptions) error) *cobra.Command {
	o := &deployOptions{}
	c := &cobra.Command{
		Use: "deploy", Short: "Apply the whole operator to a cluster and wait until it is ready", GroupID: "run",
		Long: `Apply the whole operator to a cluster and wait until it is ready.

It is what config/default holds, built in process and applied by the API server
itself. The embedded cluster runs no containers: there the operator is built from
source and runs as a process of this machine, with the rights, arguments and
environment of its pod.`,
		Example: "  mysdk deploy --image registry.example.com/shop-operator:v0.1.0 --context my-cluster",
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.bind(c.Flags())
	o.bindImage(c)
	c.Flags().BoolVar(&o.wait, "wait", true, "wait until the operator is ready")
	c.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait")
	return c
}

func newUndeploy(a *app, run func(context.Context, *deployOptions) error) *cobra.Command {
	o := &deployOptions{}
	c := &cobra.Command{
		Use: "undeploy", Short: "Delete the operator from a cluster and keep its CRDs", GroupID: "run",
		Example: "  mysdk undeploy --context my-cluster\n  mysdk undeploy --context my-cluster --crds",
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.bind(c.Flags())
	c.Flags().BoolVar(&o.crds, "crds", false, "delete the CRDs too, and with them all objects of their kinds")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask: objects of the CRDs' kinds may go with them")
	c.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long an object may take to go")
	return c
}

func newBuildInstaller(a *app, run func(context.Context, *deployOptions) error) *cobra.Command {
	o := &deployOptions{}
	c := &cobra.Command{
		Use: "build-installer", Short: "Write everything that deploy applies into dist/install.yaml", GroupID: "write",
		Example: "  mysdk build-installer --image registry.example.com/shop-operator:v0.1.0",
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.bindImage(c)
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what would change as a unified diff and write nothing")
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
	client, err := a.connect(ctx, &o.target, true)
	if err != nil {
		return err
	}
	if o.embedded() {
		// It runs no containers: the operator is a process of this machine.
		programs := run.Programs{Host: a.host, Cluster: o.name, Project: &run.Project{Dir: a.host.Dir}, Say: a.say}
		if err := programs.RegisterProject(ctx, objects); err != nil {
			return err
		}
	}
	if _, err := client.Apply(ctx, objects, kube.ApplyOptions{Force: true, Progress: a.tell}); err != nil {
		return err
	}
	if !o.wait {
		return nil
	}
	start := a.host.Now()
	if err := client.WaitReady(ctx, objects, o.timeout); err != nil {
		return err
	}
	a.say("Ready after %s", a.since(start))
	return nil
}

func (a *app) runUndeploy(ctx context.Context, o *deployOptions) error {
	_, objects, err := a.operatorManifests(ctx, "")
	if err != nil {
		return err
	}
	client, err := a.connect(ctx, &o.target, false)
	if err != nil {
		return err
	}
	var crds, rest []*unstructured.Unstructured
	for _, u := range objects {
		switch {
		case u.GetKind() == "CustomResourceDefinition":
			crds = append(crds, u)
		case !everyClusterHas(u):
			rest = append(rest, u)
		}
	}
	opts := kube.DeleteOptions{Timeout: o.timeout, Progress: a.tell}
	if !o.crds {
		_, err := client.Delete(ctx, rest, opts)
		return err
	}
	// CRDs first: their objects' finalizers need an operator that still runs.
	if done, err := a.deleteCRDs(ctx, client, crds, o.yes, opts); err != nil || !done {
		return err
	}
	_, err = client.Delete(ctx, rest, opts)
	return err
}

// everyClusterHas reports whether u is a namespace that no cluster lets go, which
// operators can be deployed into by config/default/kustomization.yaml.
func everyClusterHas(u *unstructured.Unstructured) bool {
	return u.GetKind() == "Namespace" && (u.GetName() == "default" || strings.HasPrefix(u.GetName(), "kube-"))
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
	r, err := generate.Render(ctx, a.generateOptions())
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
