package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

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
	flags.StringVar(&t.kubeconfig, "kubeconfig", "", "kubeconfig file to use instead of the embedded cluster")
	flags.StringVar(&t.context, "context", "", "kubeconfig context to use instead of the embedded cluster")
	clusterFlag(flags, &t.name)
}

// embedded reports whether no cluster was named.
func (t *target) embedded() bool { return t.kubeconfig == "" && t.context == "" }

// installOptions are the flags of install and uninstall.
type installOptions struct {
	target
	yes     bool
	force   bool
	dryRun  bool
	timeout time.Duration
}

// dryRunFlag is the --dry-run of commands that write to a cluster.
func dryRunFlag(flags *pflag.FlagSet, value *bool) {
	flags.BoolVar(value, "dry-run", false, "print what would change in the cluster without changing it")
}

// forceFlag is the --force of commands that delete CRDs.
func forceFlag(flags *pflag.FlagSet, value *bool) {
	flags.BoolVar(value, "force", false, "remove finalizers of custom resources without running their cleanup")
}

func newInstall(a *app) *cobra.Command {
	o := &installOptions{}
	c := &cobra.Command{
		Use: "install", Short: "Apply the project's CRDs to a cluster and wait until they are served", GroupID: "run",
		Example: "  mysdk install\n  mysdk install --context kind-dev",
		RunE:    func(c *cobra.Command, _ []string) error { return a.runInstall(c.Context(), o) },
	}
	o.bind(c.Flags())
	dryRunFlag(c.Flags(), &o.dryRun)
	c.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "how long to wait until the API server serves a CRD")
	return c
}

func newUninstall(a *app) *cobra.Command {
	o := &installOptions{}
	c := &cobra.Command{
		Use: "uninstall", Short: "Delete the project's CRDs (asks before deleting custom resources)", GroupID: "run",
		Long: `Delete the project's CRDs from a cluster. If there are custom resources, which
are deleted with them, it asks first.

Custom resources with finalizers are deleted only when the operator has removed
these, so it has to run: deployed, or by 'mysdk run local', which also finishes a
deletion that has begun. --force removes the finalizers instead, and turns the
conversion of the CRDs off. What the operator would have cleaned up is left behind.`,
		Example: "  mysdk uninstall\n  mysdk uninstall --context kind-dev --yes\n\n  # the operator is gone, and its finalizers block the deletion\n  mysdk uninstall --force",
		RunE:    func(c *cobra.Command, _ []string) error { return a.runUninstall(c.Context(), o) },
	}
	o.bind(c.Flags())
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "skip confirmation: custom resources are deleted with their CRDs")
	forceFlag(c.Flags(), &o.force)
	dryRunFlag(c.Flags(), &o.dryRun)
	c.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait for each object to be deleted")
	return c
}

func (a *app) runInstall(ctx context.Context, o *installOptions) error {
	crds, err := a.someCRDs(ctx)
	if err != nil {
		return err
	}
	client, err := a.connect(ctx, &o.target, !o.dryRun)
	if err != nil {
		return err
	}
	crds, off, err := client.WorkingConversions(ctx, crds)
	if err != nil {
		return err
	}
	for _, crd := range off {
		a.warn("conversion of %s is off: its webhook is not in this cluster. 'mysdk deploy' and 'mysdk run local' turn it on", crd.GetName())
	}
	_, err = kube.Install(ctx, client, crds, o.timeout, kube.ApplyOptions{DryRun: o.dryRun, Progress: a.teller(o.dryRun)})
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
	_, err = a.deleteCRDs(ctx, client, crds, o.yes, kube.DeleteOptions{DryRun: o.dryRun, Timeout: o.timeout, Force: o.force})
	return err
}

// deleteCRDs deletes CRDs unless objects would go with them and the user does
// not want that. done is false when nothing was deleted.
func (a *app) deleteCRDs(ctx context.Context, c *kube.Client, crds []*unstructured.Unstructured, yes bool, opts kube.DeleteOptions) (done bool, err error) {
	opts.Progress = a.teller(opts.DryRun)
	done = true
	_, err = kube.Uninstall(ctx, c, crds, func(counts []kube.InstanceCount) (bool, error) {
		if opts.DryRun {
			return true, a.print(fmt.Appendf(nil, "%s deleted with their CRDs (server dry run)\n", countObjects(counts)))
		}
		var err error
		if done, err = a.confirm(ctx, yes, opts.Force, counts); err == nil && !done {
			a.say("Nothing was deleted.")
		}
		for _, n := range counts {
			if done && n.Held > 0 && !opts.Force {
				a.say("%d %s with finalizers: waiting for the operator to remove them", n.Held, n.Kind)
			}
		}
		return done, err
	}, opts)
	return done && err == nil, err
}

func (a *app) tell(r kube.Result) { a.say("%s %s", r.Ref, r.Action) }

// teller is what reports each object: talk, or the result of a dry run.
func (a *app) teller(dryRun bool) func(kube.Result) {
	if !dryRun {
		return a.tell
	}
	return func(r kube.Result) {
		fmt.Fprintf(a.host.IO.Out, "%s %s (server dry run)\n", r.Ref, r.Action)
	}
}

// countObjects lists how many objects of which kinds there are.
func countObjects(counts []kube.InstanceCount) string {
	var list []string
	for _, c := range counts {
		list = append(list, c.String())
	}
	return strings.Join(list, ", ")
}

// confirm asks on a terminal whether objects may go with their CRDs; elsewhere
// --yes is the only way to say so. With force their finalizers go first.
func (a *app) confirm(ctx context.Context, yes, force bool, counts []kube.InstanceCount) (bool, error) {
	objects := countObjects(counts)
	if yes {
		a.say("Deleting %s and their CRDs", objects)
		return true, nil
	}
	question := "These objects will be deleted with their CRDs: " + objects + ". "
	if force {
		question += "\nTheir finalizers are removed first: what the operator would clean up is left behind. "
	}
	return a.ask(ctx, question+"Continue? [y/N] ",
		clierr.Usagef("add --yes to delete them", "nothing was deleted: stdin is not a terminal, and these objects would be deleted with their CRDs: %s", objects))
}

// ask asks for a yes on a terminal. Elsewhere nobody can answer, and refusal is
// the error.
func (a *app) ask(ctx context.Context, question string, refusal error) (bool, error) {
	if !host.IsTerminal(a.host.IO.In) {
		return false, refusal
	}
	fmt.Fprint(a.host.IO.Err, question)
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

// connect prints the cluster that will be written to and returns a client
// for it. The embedded one is started with start, and must run without.
func (a *app) connect(ctx context.Context, t *target, start bool) (*kube.Client, error) {
	opts := kube.Options{Kubeconfig: t.kubeconfig, Context: t.context, Host: a.host, Allow: a.allowed, Warn: func(s string) { a.warn("%s", s) }}
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
	a.say("Cluster: %s", client.Name())
	return client, nil
}

// knownCluster refuses a cluster that does not exist: only the default one is
// created by the way.
func (a *app) knownCluster(ctx context.Context, name string) error {
	if name == cluster.DefaultName {
		return nil
	}
	list, err := cluster.List(ctx, a.host)
	if err != nil {
		return err
	}
	var names []string
	for _, i := range list {
		if i.Name == name {
			return nil
		}
		names = append(names, i.Name)
	}
	hint := "create it with '" + cluster.Command("start", name) + "'"
	if near := clierr.Closest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? Otherwise %s", near, hint)
	}
	return clierr.Usagef(hint, "there is no cluster %q", name)
}

func (a *app) embeddedKubeconfig(ctx context.Context, name string, start bool) (string, error) {
	if err := a.knownCluster(ctx, name); err != nil {
		return "", err
	}
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
		return "", clierr.Unavailablef("start it with '"+cluster.Command("start", name)+"', or name another with --context", "cluster %s is not running", name)
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
	opts, err := a.generateOptions()
	if err != nil {
		return nil, err
	}
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
