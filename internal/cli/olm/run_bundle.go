package olm

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
	"github.com/example/mysdk/internal/cli"
	bundlecmd "github.com/example/mysdk/internal/cli/bundle"
	imagecmd "github.com/example/mysdk/internal/cli/image"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/hostprogram"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm/run"
	"github.com/example/mysdk/internal/registry"
)

// runBundleOptions are the flags of run bundle and run bundle-upgrade, which
// are those of operator-sdk and more.
type runBundleOptions struct {
	cli.Target
	pullSecret, caSecret                  string
	skipTLS, skipTLSVerify, useHTTP       bool
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
	from                                  string // the same, if it is a bundle
}

// NewRunBundle is 'mysdk run bundle'.
func NewRunBundle(f *cli.Factory) *cobra.Command {
	o := &runBundleOptions{}
	c := &cobra.Command{
		Use: "bundle DIR|IMAGE", Short: "Install a bundle's operator with OLM and wait until it is ready",
		Long: `Install a bundle's operator with OLM and wait until it is ready.

The bundle is a directory, an image or an archive of one. On the embedded
cluster no image is built or pushed: the cluster serves the catalog itself, and
the operator runs as a process on this machine, built from the project or taken
from its image, with the rights that the bundle gives it and no others.

On another cluster the catalog is pushed as an image beside the bundle's, which
OLM serves; with --no-push it is kept in ConfigMaps, and a Deployment serves
them. All pods meet the "restricted" Pod Security Standard.

An operator that is already installed is upgraded, or left alone if nothing has
changed. If it does not come up, the command names the first object at fault, on
the way from the catalog to the pod, as soon as that is certain. With --rollback
the previous state is then restored.`,
		Example: `  # the project's bundle on the embedded cluster
  mysdk bundle generate --version 0.0.1
  mysdk olm install
  mysdk run bundle ./bundle

  # watch one namespace only
  mysdk run bundle ./bundle -n operators --install-mode SingleNamespace=shop

  # a pushed bundle on your own cluster
  mysdk run bundle ghcr.io/you/shop-operator-bundle:v0.0.1 --context kind-dev`,
		Args: cli.ExactlyOne("a bundle", "mysdk run bundle ./bundle"),
	}
	o.complete(f, c)
	c.Flags().StringVar(&o.installMode, "install-mode", "", "AllNamespaces, OwnNamespace, SingleNamespace=ns or MultiNamespace=a,b (default: what the bundle supports)")
	c.Flags().StringVar(&o.indexImage, "index-image", "", "index image to add the bundle to, for its dependencies")
	return c
}

// NewRunBundleUpgrade is 'mysdk run bundle-upgrade'.
func NewRunBundleUpgrade(f *cli.Factory) *cobra.Command {
	o := &runBundleOptions{upgrade: true}
	c := &cobra.Command{
		Use: "bundle-upgrade DIR|IMAGE", Short: "Upgrade an operator installed by OLM to the version in a bundle",
		Long: `Upgrade an operator installed by OLM to the version in a bundle.

The bundle replaces the installed version, whatever its spec.replaces says, and
whether 'run bundle', operator-sdk or another catalog installed it. The command
ends when the old version is gone and the new one stays healthy.`,
		Example: `  mysdk bundle generate --version 0.0.2
  mysdk run bundle-upgrade ./bundle

  # go back if the new version does not come up
  mysdk run bundle-upgrade ./bundle --rollback`,
		Args: cli.ExactlyOne("a bundle", "mysdk run bundle-upgrade ./bundle"),
	}
	o.complete(f, c)
	return c
}

// complete adds what the two commands share: what they run, and flags.
func (o *runBundleOptions) complete(f *cli.Factory, c *cobra.Command) {
	c.RunE = func(c *cobra.Command, args []string) error {
		o.bundle = args[0]
		return runBundle(c.Context(), f, o)
	}
	cli.OutputFlag(c, &o.output)
	fs := c.Flags()
	o.Bind(fs)
	o.bindWait(fs)
	fs.StringVar(&o.pullSecret, "pull-secret-name", "", "Secret with the registry's credentials, for this command, the catalog and the operator; created from your docker login if missing")
	fs.StringVar(&o.caSecret, "ca-secret-name", "", "Secret with the certificate of the registry's CA under cert.pem, for this command and the embedded cluster")
	fs.BoolVar(&o.skipTLS, "skip-tls", false, "operator-sdk's older name of --use-http")
	fs.BoolVar(&o.skipTLSVerify, "skip-tls-verify", false, "skip TLS verification of registries (insecure)")
	fs.BoolVar(&o.useHTTP, "use-http", false, "plain http with any registry, not only with one on this machine")
	fs.StringVar(&o.serviceAccount, "service-account", "", "service account of the catalog's pod, with --no-push (default: the namespace's default one)")
	o.securityContext = "restricted"
	fs.Var(cli.Choice(&o.securityContext, "restricted", "legacy"), "security-context-config", "security context of the catalog's pod: always restricted (legacy is accepted and ignored)")
	o.pullPolicy = "IfNotPresent"
	fs.Var(cli.Choice(&o.pullPolicy, "Always", "IfNotPresent", "Never"), "image-pull-policy", "pull policy of the catalog's pod, with --no-push: Always, IfNotPresent or Never")
	fs.StringVar(&o.decompressionImage, "decompression-image", "", "no effect: nothing is compressed in the cluster")
	fs.StringVar(&o.catalogImage, "catalog-image", "", "name to push the catalog to (default: the bundle image's, with -catalog)")
	fs.BoolVar(&o.noPush, "no-push", false, "keep the catalog in ConfigMaps that a Deployment serves, and push nothing")
	fs.StringVar(&o.opm, "registry-image", "", "opm image that serves the catalog with --no-push, such as a mirror's (default: opm of a pinned version)")
	fs.BoolVar(&o.rollback, "rollback", false, "restore the previous state if the operator does not become ready")
}

// bindWait binds what every command that installs has.
func (o *runBundleOptions) bindWait(fs *pflag.FlagSet) {
	fs.StringVarP(&o.namespace, "namespace", "n", "", "namespace to install into, created if missing (default: the context's)")
	fs.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait for the operator to become ready")
}

// notes warns of flags that do nothing here.
func notes(f *cli.Factory, o *runBundleOptions) {
	for _, n := range []struct {
		set  bool
		text string
	}{
		{o.decompressionImage != "", "--decompression-image has no effect: nothing is compressed in the cluster"},
		{o.securityContext == "legacy", "--security-context-config legacy: the pod is restricted all the same, and runs where legacy ones do"},
		{o.serviceAccount != "" && !o.noPush && !o.Embedded(), "--service-account has no effect without --no-push: OLM makes the catalog's pod, with an account of its own"},
	} {
		if n.set {
			f.Warn("%s", n.text)
		}
	}
}

func runBundle(ctx context.Context, f *cli.Factory, o *runBundleOptions) error {
	mode, err := run.ParseMode(o.installMode)
	if err != nil {
		return err
	}
	o.from = o.bundle
	notes(f, o)
	access, client, err := reach(ctx, f, o)
	if err != nil {
		return err
	}
	b, err := bundlecmd.ReadBundle(ctx, f, o.bundle, o.open("", access))
	if err != nil {
		return err
	}
	if client == nil {
		if client, err = f.Connect(ctx, &o.Target, false); err != nil {
			return err
		}
	}
	return installBundle(ctx, f, client, b, mode, access, o)
}

// installBundle installs b as the flags say and reports what was done.
func installBundle(ctx context.Context, f *cli.Factory, client *kube.Client, b *bundle.Bundle, mode run.Mode, access registry.Access, o *runBundleOptions) error {
	start := f.Host.Now()
	opts := run.Options{
		From: o.from, Namespace: cmp.Or(o.namespace, client.Namespace), Mode: mode, Upgrade: o.upgrade, Rollback: o.rollback, Timeout: o.timeout,
		ServiceAccount: o.serviceAccount, PullPolicy: o.pullPolicy, OPMImage: o.opm, Embedded: client.Embedded != "",
		CASecret: o.caSecret, SkipVerify: o.skipTLSVerify, PlainHTTP: o.plainHTTP(),
		Now: f.Host.Now, Say: f.Say, Progress: f.TellChange,
	}
	if o.pullSecret != "" {
		opts.PullSecrets, opts.Credentials = []string{o.pullSecret}, image.DockerConfig
	}
	if err := serveCatalog(ctx, f, &opts, access, o); err != nil {
		return err
	}
	if !opts.Embedded {
		tellNodes(f, o)
	} else {
		opts.Prepare = func(ctx context.Context) (func(context.Context) error, error) {
			p, err := programs(ctx, f, client.Embedded, b.Package, o.bundle)
			if err != nil {
				return nil, err
			}
			return p.Register(ctx, opts.Namespace, run.Deployments(b))
		}
	}
	result, err := run.Install(ctx, client, b, opts)
	if err != nil {
		f.Explain(err)
		return err
	}
	f.Say("%s", sentence(result, f.Since(start)))
	return f.Report(o.output, result, func(w io.Writer) { fmt.Fprintln(w, result.CSV) })
}

func sentence(r run.Result, took string) string {
	what := fmt.Sprintf("%s is installed in namespace %s", r.CSV, r.Namespace)
	switch r.Action {
	case run.Upgraded:
		what = fmt.Sprintf("%s replaced %s in namespace %s", r.CSV, r.Replaced, r.Namespace)
	case run.Reinstalled:
		what = fmt.Sprintf("%s is reinstalled in namespace %s", r.CSV, r.Namespace)
	case run.Unchanged:
		what = fmt.Sprintf("%s is already installed in namespace %s, and nothing has changed", r.CSV, r.Namespace)
	}
	return fmt.Sprintf("%s, install mode %s, after %s", what, r.Mode, took)
}

// programs are what the embedded cluster runs an operator with: the
// project around here if the bundle is of it.
func programs(ctx context.Context, f *cli.Factory, cluster, pkg, from string) (hostprogram.Programs, error) {
	p := hostprogram.Programs{Host: f.Host, Cluster: cluster, Say: f.Say}
	from = f.Host.Path(from)
	f = f.In(f.Root())
	if _, err := f.Host.Files.Lstat(f.Host.Path("PROJECT")); errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	project, _, err := f.LoadProject()
	if err != nil {
		return p, err
	}
	inside, err := filepath.Rel(f.Host.Dir, from)
	_, missing := f.Host.Files.Lstat(from) // the name of an image
	if err != nil || project.Name != pkg && (missing != nil || !filepath.IsLocal(inside)) {
		return p, nil //nolint:nilerr // on another volume: not in the project
	}
	_, objects, err := f.OperatorManifests(ctx, "")
	if err != nil {
		return p, fmt.Errorf("find the image of the project's operator: %w", err)
	}
	if img := hostprogram.OperatorImage(objects); img != "" {
		p.Project = &hostprogram.Project{Dir: f.Host.Dir, Image: img}
	}
	return p, nil
}

// serveCatalog says how the catalog gets to a cluster that runs containers, and
// reads the index that the bundle is added to.
func serveCatalog(ctx context.Context, f *cli.Factory, opts *run.Options, access registry.Access, o *runBundleOptions) error {
	if o.indexImage != "" {
		index, err := bundlecmd.FetchCatalog(ctx, f, o.open(o.indexImage, access))
		if err != nil {
			return fmt.Errorf("--index-image: %w", err)
		}
		opts.Index = index
	}
	opts.FetchCatalog = func(ctx context.Context, ref string) (*catalog.Catalog, error) {
		return bundlecmd.FetchCatalog(ctx, f, o.open(ref, access))
	}
	if opts.Embedded || o.noPush {
		return nil
	}
	to := o.catalogImage
	if to == "" {
		if _, err := f.Host.Files.Lstat(f.Host.Path(o.bundle)); err == nil {
			kind := "file"
			if _, err := f.Host.Files.ReadDir(f.Host.Path(o.bundle)); err == nil { // also where a link leads to it
				kind = "directory"
			}
			return clierr.Usagef("name where to push it with --catalog-image ghcr.io/you/operator-catalog:v0.0.1, or add --no-push",
				"the cluster takes the catalog from a registry, and the bundle is a %s, which names none", kind)
		}
		var err error
		if to, err = catalogImageOf(o.bundle); err != nil {
			return err
		}
	}
	if err := image.CheckPush(to); err != nil {
		return fmt.Errorf("--catalog-image: %w", err)
	}
	opts.CatalogImages = []string{to}
	opts.Publish = func(ctx context.Context, c *catalog.Catalog) (image, dir string, err error) {
		return publish(ctx, f, c, to, access)
	}
	return nil
}

// open says how to read an image: another cluster than the embedded one pulls it from
// its registry, whatever is on this machine.
func (o *runBundleOptions) open(ref string, access registry.Access) image.OpenOptions {
	return image.OpenOptions{Image: ref, Access: access, RegistryFirst: !o.Embedded()}
}

// catalogImageOf is the catalog's name beside that of a bundle's image.
func catalogImageOf(ref string) (string, error) {
	name, tag, _, err := image.Split(ref)
	return strings.TrimSuffix(name+"-catalog:"+tag, ":"), err
}

// publish pushes a catalog as an image of nothing but files. It has no cache,
// which mysdk-cluster would have to make: opm makes its own when it starts.
func publish(ctx context.Context, f *cli.Factory, c *catalog.Catalog, to string, access registry.Access) (ref, dir string, err error) {
	files, err := c.Files(catalog.JSON)
	if err != nil {
		return "", "", err
	}
	if _, err := bundlecmd.BuildCatalog(ctx, f, files, nil, image.FilesOptions{Image: to, CreatedBy: "mysdk run bundle", Progress: f.Stage}); err != nil {
		return "", "", err
	}
	pushed, err := imagecmd.PushImage(ctx, f, image.PushOptions{Image: to, Access: access})
	return pushed.Reference(), "/" + bundlecmd.CatalogDir, err
}

// plainHTTP reports whether registries may speak plain http wherever they are.
func (o *runBundleOptions) plainHTTP() bool { return o.useHTTP || o.skipTLS }

// reach says how this command speaks to registries. Secrets of the cluster have a part
// in that, and then it is connected to first; the client is nil where it need not be.
func reach(ctx context.Context, f *cli.Factory, o *runBundleOptions) (registry.Access, *kube.Client, error) {
	access := registry.Access{UseHTTP: o.plainHTTP(), SkipVerify: o.skipTLSVerify}
	if o.pullSecret == "" && o.caSecret == "" {
		return access, nil, nil
	}
	client, err := f.Connect(ctx, &o.Target, false)
	if err != nil {
		return access, nil, err
	}
	namespace := cmp.Or(o.namespace, client.Namespace)
	if o.pullSecret != "" {
		data, made, err := run.PullSecret(ctx, client, namespace, o.pullSecret)
		if err == nil && data != nil {
			access.Credentials, err = registry.ParseCredentials(data)
		}
		if err != nil {
			return access, nil, fmt.Errorf("--pull-secret-name: Secret %s/%s: %w", namespace, o.pullSecret, err)
		}
		if made { // a later login on this machine counts more
			access.Credentials = registry.MachineFirst(access.Credentials)
		}
	}
	if o.caSecret != "" {
		data, err := run.CASecret(ctx, client, namespace, o.caSecret)
		if err == nil {
			access.CA, err = registry.Authorities(data)
		}
		if err != nil {
			return access, nil, fmt.Errorf("--ca-secret-name: Secret %s/%s: %w", namespace, o.caSecret, err)
		}
	}
	return access, client, nil
}

// tellNodes warns of pulls that this command has no say in: those of a cluster's nodes.
func tellNodes(f *cli.Factory, o *runBundleOptions) {
	flag := ""
	switch {
	case o.skipTLSVerify:
		flag = "--skip-tls-verify"
	case o.caSecret != "":
		flag = "--ca-secret-name"
	case o.plainHTTP():
		flag = "--use-http"
	}
	var pulled string
	switch {
	case flag == "":
		return
	case !o.noPush:
		pulled = "the catalog's image, unless you add --no-push"
	case o.indexImage != "":
		pulled = "the bundles that the operator depends on"
	default:
		return
	}
	f.Warn("%s is for this command: the nodes of the cluster pull %s, and their container runtime has to accept the registry by its own settings", flag, pulled)
}
