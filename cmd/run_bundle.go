package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm/run"
)

// runBundleOptions are the flags of run bundle and run bundle-upgrade, which
// are those of operator-sdk and more.
type runBundleOptions struct {
	target
	registryOptions
	namespace, installMode, indexImage    string
	serviceAccount                        string
	securityContext, pullPolicy           string
	decompressionImage, catalogImage, opm string
	noPush, rollback                      bool
	timeout                               time.Duration
	output                                string
	upgrade                               bool
	version                               string // of run packagemanifests
	bundle                                string // the argument
}

func newRunBundle(a *app) *cobra.Command {
	o := &runBundleOptions{}
	c := &cobra.Command{
		Use: "bundle DIR|IMAGE", Short: "Install a bundle's operator with OLM and wait until it is ready",
		Long: `Install a bundle's operator with OLM and wait until it is ready.

The bundle is a directory, an image or an archive of one. On the embedded
cluster nothing is built or pushed: the cluster serves the catalog itself, and
the operator runs as a process of this machine, built from the project or taken
from its image, with the rights that the bundle gives it and no others.

On another cluster the catalog is pushed as an image beside the bundle's, which
OLM serves; with --no-push it is kept in ConfigMaps, and a Deployment serves
them. All pods pass the "restricted" Pod Security Standard.

What is there already is upgraded, or left alone if nothing has changed. When
the operator does not come up, the first object on the way from the catalog to
the pod that is at fault is named, as soon as that is certain. With --rollback
everything is as it was before then.`,
		Example: `  # the project's bundle on the embedded cluster
  mysdk bundle generate --version 0.0.1
  mysdk olm install
  mysdk run bundle ./bundle

  # watch one namespace only
  mysdk run bundle ./bundle -n operators --install-mode SingleNamespace=shop

  # a pushed bundle on a cluster of your own
  mysdk run bundle ghcr.io/you/shop-operator-bundle:v0.0.1 --context kind-dev`,
		Args: exactlyOne("a bundle", "mysdk run bundle ./bundle"),
		RunE: func(c *cobra.Command, args []string) error {
			o.bundle = args[0]
			return a.runBundle(c.Context(), o)
		},
	}
	o.bindAll(c.Flags())
	c.Flags().StringVar(&o.installMode, "install-mode", "", "AllNamespaces, OwnNamespace, SingleNamespace=ns or MultiNamespace=a,b (default: what the bundle supports)")
	c.Flags().StringVar(&o.indexImage, "index-image", "", "index image whose catalog the bundle is added to, for what it depends on")
	outputFlag(c, &o.output)
	return c
}

func newRunBundleUpgrade(a *app) *cobra.Command {
	o := &runBundleOptions{upgrade: true}
	c := &cobra.Command{
		Use: "bundle-upgrade DIR|IMAGE", Short: "Upgrade an operator installed by OLM to the version in a bundle",
		Long: `Upgrade an operator installed by OLM to the version in a bundle.

The bundle replaces what is installed: what its spec.replaces says, or simply
that. It makes no difference whether 'run bundle', operator-sdk or a catalog of
somebody else's has installed it. The command ends when the old version is gone
and the new one stays healthy.`,
		Example: `  mysdk bundle generate --version 0.0.2
  mysdk run bundle-upgrade ./bundle

  # go back if the new version does not come up
  mysdk run bundle-upgrade ./bundle --rollback`,
		Args: exactlyOne("a bundle", "mysdk run bundle-upgrade ./bundle"),
		RunE: func(c *cobra.Command, args []string) error {
			o.bundle = args[0]
			return a.runBundle(c.Context(), o)
		},
	}
	o.bindAll(c.Flags())
	outputFlag(c, &o.output)
	return c
}

// bindAll binds the flags that the two commands share.
func (o *runBundleOptions) bindAll(fs *pflag.FlagSet) {
	o.bind(fs)
	o.bindWait(fs)
	o.bindRegistry(fs)
	fs.StringVar(&o.serviceAccount, "service-account", "", "service account of the catalog's pod, with --no-push (default: the namespace's default one)")
	o.securityContext = "restricted"
	fs.Var(choice(&o.securityContext, "restricted", "legacy"), "security-context-config", "security context of the catalog's pod: always restricted, which also runs where legacy does")
	o.pullPolicy = "IfNotPresent"
	fs.Var(choice(&o.pullPolicy, "Always", "IfNotPresent", "Never"), "image-pull-policy", "pull policy of the catalog's pod, with --no-push: Always, IfNotPresent or Never")
	fs.StringVar(&o.decompressionImage, "decompression-image", "", "no effect: nothing is compressed in the cluster")
	fs.StringVar(&o.catalogImage, "catalog-image", "", "name to push the catalog to (default: the bundle image's, with -catalog)")
	fs.BoolVar(&o.noPush, "no-push", false, "keep the catalog in ConfigMaps that a Deployment serves, and push nothing")
	fs.StringVar(&o.opm, "registry-image", "", "opm image of that Deployment, such as a mirror's (default: opm of a pinned version)")
	fs.BoolVar(&o.rollback, "rollback", false, "restore the previous state if the operator does not become ready")
}

// bindWait binds what every command that installs has.
func (o *runBundleOptions) bindWait(fs *pflag.FlagSet) {
	fs.StringVarP(&o.namespace, "namespace", "n", "", "namespace to install into, created if missing (default: the context's)")
	fs.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait for the operator to become ready")
}

// notes warns of flags that do nothing here.
func (a *app) notes(o *runBundleOptions) {
	for _, n := range []struct {
		set  bool
		text string
	}{
		{o.decompressionImage != "", "--decompression-image has no effect: nothing is compressed in the cluster"},
		{o.securityContext == "legacy", "--security-context-config legacy: the pod is restricted all the same, and runs where legacy ones do"},
		{o.serviceAccount != "" && !o.noPush && !o.embedded(), "--service-account has no effect without --no-push: OLM makes the catalog's pod, with an account of its own"},
	} {
		if n.set {
			a.warn("%s", n.text)
		}
	}
}

func (a *app) runBundle(ctx context.Context, o *runBundleOptions) error {
	mode, err := run.ParseMode(o.installMode)
	if err != nil {
		return err
	}
	a.notes(o)
	access, client, err := a.reach(ctx, o)
	if err != nil {
		return err
	}
	b, err := a.readBundle(ctx, o.bundle, access)
	if err != nil {
		return err
	}
	if client == nil {
		if client, err = a.connect(ctx, &o.target, false); err != nil {
			return err
		}
	}
	return a.installBundle(ctx, client, b, mode, access, o)
}

// installBundle installs b as the flags say and reports what was done.
func (a *app) installBundle(ctx context.Context, client *kube.Client, b *bundle.Bundle, mode run.Mode, access image.Access, o *runBundleOptions) error {
	start := a.host.Now()
	opts := run.Options{
		Namespace: cmp.Or(o.namespace, client.Namespace), Mode: mode, Upgrade: o.upgrade, Rollback: o.rollback, Timeout: o.timeout,
		ServiceAccount: o.serviceAccount, PullPolicy: o.pullPolicy, OPMImage: o.opm, Embedded: client.Embedded != "",
		CASecret: o.caSecret, SkipVerify: o.skipTLSVerify, PlainHTTP: o.plainHTTP(),
		Now: a.host.Now, Say: a.say, Progress: a.tellChange,
	}
	if o.pullSecret != "" {
		opts.PullSecrets, opts.Credentials = []string{o.pullSecret}, image.DockerConfig
	}
	if err := a.serveCatalog(ctx, &opts, access, o); err != nil {
		return err
	}
	if !opts.Embedded {
		a.tellNodes(o)
	} else {
		opts.Prepare = func(ctx context.Context) (func(context.Context) error, error) {
			p, err := a.programs(ctx, client.Embedded, b.Package, o.bundle)
			if err != nil {
				return nil, err
			}
			return p.Register(ctx, b, opts.Namespace)
		}
	}
	result, err := run.Install(ctx, client, b, opts)
	if err != nil {
		a.explain(err)
		return err
	}
	a.say("%s", sentence(result, a.since(start)))
	return a.report(o.output, result, func(w io.Writer) { fmt.Fprintln(w, result.CSV) })
}

// tellChange reports objects that a run has changed; what it found as it
// should be is for the curious.
func (a *app) tellChange(r kube.Result) {
	if r.Action == kube.Unchanged || r.Action == kube.Absent {
		a.detail("%s %s", r.Ref, r.Action)
		return
	}
	a.tell(r)
}

// sentence says what a run did.
func sentence(r run.Result, took string) string {
	what := fmt.Sprintf("%s is installed in namespace %s", r.CSV, r.Namespace)
	switch r.Action {
	case run.Upgraded:
		what = fmt.Sprintf("%s has taken the place of %s in namespace %s", r.CSV, r.Replaced, r.Namespace)
	case run.Reinstalled:
		what = fmt.Sprintf("%s is reinstalled in namespace %s", r.CSV, r.Namespace)
	case run.Unchanged:
		what = fmt.Sprintf("%s is installed in namespace %s already, and nothing has changed", r.CSV, r.Namespace)
	}
	return fmt.Sprintf("%s, install mode %s, after %s", what, r.Mode, took)
}

// explain prints where a failure of a run comes from: what the object that is
// at fault says about itself.
func (a *app) explain(err error) {
	var f *run.Failure
	if !errors.As(err, &f) {
		return
	}
	for _, line := range f.Finding.Details() {
		fmt.Fprintf(a.host.IO.Err, "  %s\n", line)
	}
}

// readBundle reads the bundle that the user named: a directory, an archive, or
// an image of this machine or of a registry.
func (a *app) readBundle(ctx context.Context, arg string, access image.Access) (*bundle.Bundle, error) {
	files, _, err := a.openBundle(ctx, arg, access)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Load(files)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", arg, err)
	}
	return b, nil
}

// programs are what the embedded cluster is to run an operator with: the
// project here if the bundle is of it.
func (a *app) programs(ctx context.Context, cluster, pkg, from string) (run.Programs, error) {
	p := run.Programs{Host: a.host, Cluster: cluster, Say: a.say}
	if _, err := a.host.Files.Lstat(a.host.Path("PROJECT")); errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	project, _, err := a.loadProject()
	if err != nil {
		return p, err
	}
	inside, err := filepath.Rel(a.host.Dir, a.host.Path(from))
	if err != nil || project.Name != pkg && !filepath.IsLocal(inside) {
		return p, nil //nolint:nilerr // on another volume: not in the project
	}
	_, objects, err := a.operatorManifests(ctx, "")
	if err != nil {
		return p, fmt.Errorf("find the image of the project's operator: %w", err)
	}
	for _, u := range objects {
		if img := run.ManagerImage(u); img != "" {
			p.Project = &run.Project{Dir: a.host.Dir, Image: img}
		}
	}
	return p, nil
}

// serveCatalog says how the catalog gets to a cluster that runs containers, and
// reads the index that the bundle is added to.
func (a *app) serveCatalog(ctx context.Context, opts *run.Options, access image.Access, o *runBundleOptions) error {
	if o.indexImage != "" {
		index, err := a.fetchCatalog(ctx, o.indexImage, access)
		if err != nil {
			return fmt.Errorf("--index-image: %w", err)
		}
		opts.Index = index
	}
	opts.FetchCatalog = func(ctx context.Context, ref string) (*catalog.Catalog, error) {
		return a.fetchCatalog(ctx, ref, access)
	}
	if opts.Embedded || o.noPush {
		return nil
	}
	to := o.catalogImage
	if to == "" {
		if info, err := a.host.Files.Lstat(a.host.Path(o.bundle)); err == nil {
			kind := "directory"
			if !info.IsDir() {
				kind = "file"
			}
			return clierr.Usagef("name where to push it with --catalog-image ghcr.io/you/operator-catalog:v0.0.1, or add --no-push",
				"the cluster takes the catalog from a registry, and the bundle is a %s, which names none", kind)
		}
		to = catalogImageOf(o.bundle)
	}
	if err := image.CheckPush(to); err != nil {
		return fmt.Errorf("--catalog-image: %w", err)
	}
	opts.CatalogImages = []string{to}
	opts.Publish = func(ctx context.Context, c *catalog.Catalog) (run.Published, error) {
		return a.publish(ctx, c, to, access)
	}
	return nil
}

// catalogImageOf is the catalog's name beside that of a bundle's image.
func catalogImageOf(ref string) string {
	name, _, _ := strings.Cut(ref, "@")
	tag := ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i:]
	}
	return name + "-catalog" + tag
}

// configsLabel says where an image has its catalog.
const configsLabel = "operators.operatorframework.io.index.configs.v1"

// fetchCatalog reads the catalog of an index image.
func (a *app) fetchCatalog(ctx context.Context, ref string, access image.Access) (*catalog.Catalog, error) {
	dir := ""
	c, err := image.Open(ctx, a.host, image.OpenOptions{
		Image: ref, Access: access, Progress: a.progress,
		Roots: func(labels map[string]string) []string {
			dir = cmp.Or(strings.Trim(labels[configsLabel], "/"), catalogDir)
			return []string{dir}
		},
	})
	if err != nil {
		return nil, err
	}
	if len(c.Files) == 0 {
		return nil, clierr.Failedf("use an image with a file-based catalog", "image %s has no catalog in /%s", ref, dir)
	}
	return catalog.Read(c.Files.Sub(dir))
}

// publish pushes a catalog as an image of nothing but files. It has no cache:
// opm refuses one that another version has made, and which version serves the
// catalog is OLM's choice.
func (a *app) publish(ctx context.Context, c *catalog.Catalog, to string, access image.Access) (run.Published, error) {
	files, err := c.Files(catalog.JSON)
	if err != nil {
		return run.Published{}, err
	}
	put := image.Files{}
	for name, data := range files {
		put[catalogDir+"/"+name] = data
	}
	if _, err := image.BuildFiles(ctx, a.host, image.FilesOptions{
		Image: to, Files: put, Labels: map[string]string{configsLabel: "/" + catalogDir}, CreatedBy: "mysdk run bundle", Progress: a.stage,
	}); err != nil {
		return run.Published{}, err
	}
	pushed, err := a.pushImage(ctx, image.PushOptions{Image: to, Access: access})
	return run.Published{Image: pushed.Reference(), Dir: "/" + catalogDir}, err
}
