package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
)

// target is the cluster that a command writes to: the embedded one unless a
// kubeconfig or a context is named.
type target struct {
	kubeconfig, context, name string
}

func (t *target) bind(flags *pflag.FlagSet) {
	flags.StringVar(&t.kubeconfig, "kubeconfig", "", "kubeconfig of another cluster than the embedded one")
	flags.StringVar(&t.context, "context", "", "context of another cluster than the embedded one")
	flags.StringVar(&t.name, "name", cluster.DefaultName, "name of the embedded cluster")
}

// embedded reports whether no cluster was named.
func (t *target) embedded() bool { return t.kubeconfig == "" && t.context == "" }

// installOptions are the flags of install and uninstall.
type installOptions struct {
	target
	yes bool
}

func newInstall(a *app, run func(context.Context, *installOptions) error) *cobra.Command {
	o := &installOptions{}
	c := &cobra.Command{
		Use: "install", Short: "Apply the project's CRDs to a cluster and wait until they are served", GroupID: "run",
		Example: "  mysdk install\n  mysdk install --context kind-dev",
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.bind(c.Flags())
	return c
}

func newUninstall(a *app, run func(context.Context, *installOptions) error) *cobra.Command {
	o := &installOptions{}
	c := &cobra.Command{
		Use: "uninstall", Short: "Delete the project's CRDs from a cluster, and ask before objects go with them", GroupID: "run",
		Example: "  mysdk uninstall\n  mysdk uninstall --context kind-dev --yes",
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.bind(c.Flags())
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask: objects of the CRDs' kinds may go with them")
	return c
}

func (a *app) runInstall(ctx context.Context, o *installOptions) error {
	crds, err := a.someCRDs(ctx)
	if err != nil {
		return err
	}
	client, err := a.connect(ctx, &o.target, true)
	if err != nil {
		return err
	}
	_, err = kube.Install(ctx, client, crds, a.tell)
	return err
}

func (a *app) runUninstall(ctx context.Context, o *installOptions) error {
	crds, err := a.someCRDs(ctx)
	if err != nil {
		return err
	}
	client, err := a.connect(ctx, &o.target, false)
	if err != nil {
		return err
	}
	_, err = a.deleteCRDs(ctx, client, crds, o.yes, kube.DeleteOptions{})
	return err
}

// deleteCRDs deletes CRDs unless objects would go with them and the user does
// not want that. done is false when nothing was deleted.
func (a *app) deleteCRDs(ctx context.Context, c *kube.Client, crds []*unstructured.Unstructured, yes bool, opts kube.DeleteOptions) (done bool, err error) {
	opts.Progress = a.tell
	done = true
	_, err = kube.Uninstall(ctx, c, crds, func(counts []kube.InstanceCount) (bool, error) {
		var err error
		if done, err = a.confirm(ctx, yes, counts); err == nil && !done {
			a.say("Nothing was deleted.")
		}
		return done, err
	}, opts)
	return done && err == nil, err
}

func (a *app) tell(r kube.Result) { a.say("%s %s", r.Ref, r.Action) }

// confirm asks on a terminal whether objects may go with their CRDs; elsewhere
// --yes is the only way to say so.
func (a *app) confirm(ctx context.Context, yes bool, counts []kube.InstanceCount) (bool, error) {
	var list []string
	for _, c := range counts {
		list = append(list, fmt.Sprintf("%d %s", c.Count, c.Kind))
	}
	objects := strings.Join(list, ", ")
	if yes {
		a.say("Deleting %s with their CRDs", objects)
		return true, nil
	}
	if !host.IsTerminal(a.host.IO.In) {
		return false, clierr.Failedf("add --yes if they may go", "nothing was deleted: these objects would go with their CRDs: %s", objects)
	}
	fmt.Fprintf(a.host.IO.Err, "These objects would be deleted with their CRDs: %s. Go on? [y/N] ", objects)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.host.IO.In).ReadString('\n') // an end of the input is a no
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case s := <-answer:
		return s == "y" || s == "yes", nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// connect prints the cluster that is to be written to and returns a client
// for it. The embedded one is started with start, and must run without.
func (a *app) connect(ctx context.Context, t *target, start bool) (*kube.Client, error) {
	opts := kube.Options{Kubeconfig: t.kubeconfig, Context: t.context, Host: a.host, Warn: func(s string) { a.warn("%s", s) }}
	if t.embedded() {
		file, err := a.embeddedKubeconfig(ctx, t.name, start)
		if err != nil {
			return nil, err
		}
		opts.Kubeconfig = file
	}
	client, err := kube.Connect(ctx, opts)
	if err != nil {
		return nil, err
	}
	if err := client.Guard(a.allowed); err != nil {
		return nil, err
	}
	a.say("Cluster: %s", client.Name())
	return client, nil
}

func (a *app) embeddedKubeconfig(ctx context.Context, name string, start bool) (string, error) {
	if start {
		info, err := cluster.Start(ctx, a.host, cluster.Options{Name: name, Progress: a.progress, Detail: a.stage})
		if err != nil {
			return "", err
		}
		return info.Kubeconfig, nil
	}
	info, err := cluster.Status(ctx, a.host, name)
	if err != nil {
		return "", err
	}
	if info.State != cluster.Running {
		return "", clierr.Unavailablef("start it with 'mysdk cluster start', or name another with --context", "cluster %s is not running", name)
	}
	return info.Kubeconfig, nil
}

// projectCRDs are the CRDs of the project as its Go types are now, through
// config/crd; none where the project has no kustomization there. Nothing is
// written.
func (a *app) projectCRDs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if _, _, err := a.loadProject(); err != nil {
		return nil, err
	}
	opts := a.generateOptions()
	opts.CRDs, opts.Webhooks = true, true
	r, err := generate.Render(ctx, opts)
	if err != nil {
		return nil, err
	}
	if _, err := a.host.Files.Lstat(a.host.Path("config/crd/kustomization.yaml")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	data, err := kustomize.Build(ctx, kustomize.Source{Dir: a.host.Dir, Overlay: r.Set, Files: a.host.Files}, "config/crd")
	if err != nil {
		return nil, err
	}
	return kube.ParseManifests(data, "config/crd")
}

// someCRDs is projectCRDs for commands that have nothing to do without any.
func (a *app) someCRDs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	crds, err := a.projectCRDs(ctx)
	if err == nil && len(crds) == 0 {
		return nil, clierr.Failedf("add an API with 'mysdk create api --group cache --kind Memcached'", "the project has no CRDs")
	}
	return crds, err
}
