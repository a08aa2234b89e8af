// Package olm has the commands that work with OLM in a cluster: olm, with what is
// below it, run bundle, run bundle-upgrade, run packagemanifests and cleanup.
package olm

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm"
)

// olmOptions are the flags of olm install, status and uninstall.
type olmOptions struct {
	cli.Target
	source    olm.Source
	namespace string
	noCatalog bool
	timeout   time.Duration
	force     bool
	output    string
}

// New is 'mysdk olm', with what is below it.
func New(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use: "olm", Short: "Install, inspect and uninstall the Operator Lifecycle Manager", GroupID: "run",
		Long: `Install, inspect and uninstall the Operator Lifecycle Manager (OLM), which
installs operators from bundles.

OLM ` + olm.Version + ` is built in and needs no network. On the embedded cluster it runs
inside the control plane.`,
		Example: "  mysdk olm install\n  mysdk olm status\n  mysdk olm uninstall",
	}
	c.AddCommand(newInstall(f), newStatus(f), newExplain(f), newUninstall(f))
	return c
}

func newInstall(f *cli.Factory) *cobra.Command {
	o := &olmOptions{}
	c := &cobra.Command{
		Use: "install", Short: "Install OLM into a cluster and wait until it is ready",
		Long: `Install OLM into a cluster and wait until it is ready.

Installing again changes nothing, and after an interruption the command
continues where it was. Versions other than the built-in one are downloaded from
OLM's releases, or come from --manifests: a directory, a file, or a URL, which
needs the checksum of each file with --sha256.`,
		Example: `  mysdk olm install
  mysdk olm install --context my-cluster --no-default-catalog
  mysdk olm install --context my-cluster --image-registry registry.example.com/quay`,
		RunE: func(c *cobra.Command, _ []string) error { return runInstall(c.Context(), f, o) },
	}
	o.bindOLM(c.Flags())
	o.bindSource(c.Flags())
	c.Flags().StringVar(&o.source.Registry, "image-registry", "", "registry with copies of OLM's images, in place of quay.io")
	c.Flags().BoolVar(&o.noCatalog, "no-default-catalog", false, "skip the operatorhub.io catalog (never installed on the embedded cluster)")
	return c
}

func newStatus(f *cli.Factory) *cobra.Command {
	o := &olmOptions{}
	c := &cobra.Command{
		Use: "status", Short: "Show the status of OLM's components",
		Long: `Show the status of OLM's components.

The exit code is 4 if OLM is not installed, if it has another version than
--version or another namespace than --olm-namespace, or if any component does
not work.`,
		Example: "  mysdk olm status\n  mysdk olm status -o json",
		RunE:    func(c *cobra.Command, _ []string) error { return runStatus(c.Context(), f, o) },
	}
	o.bindOLM(c.Flags())
	o.namespace, c.Flags().Lookup("olm-namespace").DefValue = "", "" // unless it is given, any will do
	// The version is found out; the flag is there for scripts.
	c.Flags().StringVar(&o.source.Version, "version", "", "version of OLM that is expected")
	cli.OutputFlag(c, &o.output)
	return c
}

func newUninstall(f *cli.Factory) *cobra.Command {
	o := &olmOptions{}
	c := &cobra.Command{
		Use: "uninstall", Short: "Uninstall OLM and everything it created for itself",
		Long: `Uninstall OLM and everything it created for itself.

If OLM has operators installed, nothing is deleted, unless --force is set to
delete them too. The CRDs of these operators are kept, with their custom
resources, and so is a namespace of OLM that has something else in it. The
CatalogSources and OperatorGroups of all namespaces are deleted, yours too.`,
		Example: "  mysdk olm uninstall\n  mysdk olm uninstall --context my-cluster --force",
		RunE:    func(c *cobra.Command, _ []string) error { return runUninstall(c.Context(), f, o) },
	}
	o.bindOLM(c.Flags())
	o.bindSource(c.Flags())
	c.Flags().BoolVar(&o.force, "force", false, "uninstall even if operators are installed (they are deleted too)")
	return c
}

func (o *olmOptions) bindOLM(fs *pflag.FlagSet) {
	o.Bind(fs)
	fs.StringVar(&o.namespace, "olm-namespace", olm.DefaultNamespace, "namespace of OLM")
	fs.DurationVar(&o.timeout, "timeout", olm.DefaultTimeout, "how long to wait")
}

func (o *olmOptions) bindSource(fs *pflag.FlagSet) {
	fs.StringVar(&o.source.Version, "version", olm.Version, "version of OLM")
	fs.StringVar(&o.source.Place, "manifests", "", "directory, file or URL of OLM's manifests, in place of --version")
	fs.StringSliceVar(&o.source.Sums, "sha256", nil, "SHA-256 checksums of the files of --manifests or --version, in their order")
}

// runInstall installs OLM, or brings an installed one to this version. On the embedded
// cluster the catalog of operatorhub.io is left out, which nobody there asks for.
func runInstall(ctx context.Context, f *cli.Factory, o *olmOptions) error {
	o.source.Host, o.source.Namespace = f.Host, o.namespace
	o.source.Warn = f.WarnLine
	o.source.Catalog = !o.noCatalog
	if why := image.Problem(strings.TrimSuffix(o.source.Registry, "/") + "/x"); o.source.Registry != "" && why != "" {
		return clierr.Usagef("write it as registry.example.com/quay", "--image-registry %s: %s", o.source.Registry, why)
	}
	start := f.Host.Now()
	manifests, err := o.source.Load(ctx)
	if err != nil {
		return err
	}
	client, err := f.Connect(ctx, &o.Target, true)
	if err != nil {
		return err
	}
	if client.Embedded != "" && manifests.Version != "" && manifests.Version != olm.Version {
		return clierr.Usagef("leave out --version and --manifests, or name another cluster with --context",
			"the embedded cluster runs OLM %s itself, and no other version", olm.Version)
	}
	if client.Embedded != "" {
		manifests.DropCatalog() // hundreds of megabytes for an evening's work
	}
	done, err := olm.Install(ctx, client, manifests, olm.InstallOptions{
		Timeout: o.timeout, Now: f.Host.Now,
		Step:     func(step string, after time.Duration) { f.Say("%s after %s", step, cli.Seconds(after)) },
		Progress: func(r kube.Result) { f.Detail("%s %s", r.Ref, r.Action) },
	})
	if err != nil {
		return err
	}
	if done.Changed == 0 {
		f.Say("OLM %s is already installed and healthy", done.Before)
	} else {
		f.Say("OLM %s is ready in namespace %s after %s", manifests.Version, manifests.Namespace, f.Since(start))
	}
	f.Say("%s", f.Aim("Next: mysdk run bundle ./bundle"))
	return nil
}

func runStatus(ctx context.Context, f *cli.Factory, o *olmOptions) error {
	client, err := f.Connect(ctx, &o.Target, false)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	status, err := olm.Check(ctx, client)
	if err != nil {
		return err
	}
	if err := f.Report(o.output, status, func(w io.Writer) { describeOLM(w, status) }); err != nil {
		return err
	}
	return judgeOLM(status, o)
}

// judgeOLM is the error that a status stands for.
func judgeOLM(s olm.Status, o *olmOptions) error {
	if !s.Installed {
		return clierr.Unavailablef("install it with 'mysdk olm install'", "OLM is not installed")
	}
	want, err := olm.CleanVersion(o.source.Version)
	switch {
	case err != nil:
		return err
	case o.namespace != "" && o.namespace != s.Namespace:
		return clierr.Unavailablef("leave out --olm-namespace, or name "+s.Namespace, "OLM %s is in namespace %s, not in %s", s.Version, s.Namespace, o.namespace)
	case o.source.Version != "" && want != s.Version:
		hint := "install that version with 'mysdk olm install --version " + want + olm.NamespaceFlag(s.Namespace) + "'"
		if olm.Older(want, s.Version) {
			hint = "keep it, or " + olm.UninstallFirst(s.Namespace)
		}
		if s.Platform {
			hint = "it is part of this cluster, and comes with its version"
		}
		return clierr.Unavailablef(hint, "OLM %s is installed, not %s", s.Version, want)
	case !s.Healthy:
		bad := s.Unhealthy()[0]
		hint := "see the events: mysdk kubectl get events -A"
		if !s.Platform {
			hint = "'mysdk olm install" + olm.NamespaceFlag(s.Namespace) + "' repairs what is missing; " + hint
		}
		return clierr.Unavailablef(hint, "%d of OLM's objects are not healthy, first %s %s: %s", len(s.Unhealthy()), bad.Kind, bad.Name, bad.Reason)
	}
	return nil
}

func describeOLM(w io.Writer, s olm.Status) {
	if !s.Installed {
		fmt.Fprintln(w, "OLM is not installed")
		return
	}
	fmt.Fprintf(w, "OLM %s in namespace %s\n\n", s.Version, s.Namespace)
	fmt.Fprintln(w, "KIND\tNAMESPACE\tNAME\tSTATE\tREASON")
	for _, o := range s.Objects {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", o.Kind, o.Namespace, o.Name, o.State, o.Reason)
	}
}

// runUninstall removes what OLM's manifests list. CRDs of operators that it brought
// stay: deleting them would delete their users' objects.
func runUninstall(ctx context.Context, f *cli.Factory, o *olmOptions) error {
	o.source.Host, o.source.Namespace, o.source.Catalog = f.Host, o.namespace, true
	o.source.Warn = f.WarnLine
	manifests, err := o.source.Load(ctx)
	if err != nil {
		return err
	}
	start := f.Host.Now()
	client, err := f.Connect(ctx, &o.Target, false)
	if err != nil {
		return err
	}
	gone := 0
	done, err := olm.Uninstall(ctx, client, manifests, olm.UninstallOptions{
		Force: o.force, Timeout: o.timeout,
		Progress: func(r kube.Result) {
			gone++
			f.Detail("%s %s", r.Ref, r.Action)
		},
	})
	if err != nil {
		return err
	}
	if done.Version == "" && gone == 0 {
		f.Say("OLM was not installed")
		return nil
	}
	f.Say("OLM uninstalled (%d objects, %s)", gone, f.Since(start))
	if len(done.Kept) > 0 {
		f.Say("Kept the operators' CRDs and custom resources: %s", strings.Join(done.Kept, ", "))
	}
	for _, catalog := range done.Catalogs {
		f.Say("Deleted %s", catalog)
	}
	for _, namespace := range done.Namespaces {
		f.Say("Kept namespace %s", namespace)
	}
	return nil
}
