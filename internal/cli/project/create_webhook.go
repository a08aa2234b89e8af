package project

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/project"
)

// createWebhookOptions are the flags of create webhook that are not the
// plugin's.
type createWebhookOptions struct {
	named
	plugin plugin.Subcommand
	domain string // of an external API
	make   bool
	// migrate asks for the migration of stored objects.
	migrate bool
	dryRun  bool
}

func newCreateWebhook(f *cli.Factory) *cobra.Command {
	o := &createWebhookOptions{plugin: f.GoPlugin().GetCreateWebhookSubcommand()}
	c := &cobra.Command{
		Use: "webhook", Short: "Add defaulting, validation or conversion webhooks for a kind",
		Long: `Add defaulting, validation or conversion webhooks for a kind: code, tests,
certificates and manifests, wired into cmd/main.go and config/.

Existing webhooks are kept: webhooks and versions are added to the existing
files, and no line is lost. Fields that two versions share are converted from
the start; a test lists those that they do not share.

With --migrate-storage the operator rewrites objects that are stored in an old
version, and then removes that version from status.storedVersions of the CRD.

The certificates come from the operator itself (--certs self), which renews
them and needs nothing else in the cluster, from cert-manager, or from OLM.`,
		Example: `  # defaulting and validation
  mysdk create webhook --kind Memcached --defaulting --programmatic-validation

  # convert between v1, the hub, and v1alpha1
  mysdk create webhook --group cache --version v1 --kind Memcached --conversion --spoke v1alpha1

  # and rewrite what is stored, so that v1alpha1 can be removed later
  mysdk create webhook --group cache --version v1 --kind Memcached --conversion --migrate-storage

  # leave the certificates to cert-manager
  mysdk create webhook --group cache --kind Memcached --defaulting --certs cert-manager

  # for a kind of Kubernetes itself
  mysdk create webhook --group apps --kind Deployment --programmatic-validation`,
		RunE: func(c *cobra.Command, _ []string) error { return runCreateWebhook(c.Context(), f, o) },
	}
	if steps := f.Joined(c, "create webhook"); steps != nil {
		o.plugin = steps
	}
	fs := c.Flags()
	fs.StringVar(&o.group, "group", "", "API group without the domain (default: that of the kind, if only one has it)")
	fs.StringVar(&o.version, "version", "", "API version (default: that of the kind, if it has only one)")
	fs.StringVar(&o.kind, "kind", "", "kind in CamelCase, such as Memcached")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	project.BindFlags(o.plugin, fs)
	c.PreRun = func(c *cobra.Command, _ []string) {
		o.make, o.migrate = bound(c, "make") == "true", bound(c, "migrate-storage") == "true"
		o.domain = bound(c, "external-api-domain")
	}
	return c
}

// runCreateWebhook adds webhooks to a kind that the project has.
func runCreateWebhook(ctx context.Context, f *cli.Factory, o *createWebhookOptions) error {
	p, done, err := loadProject(f)
	if done || err != nil {
		return err
	}
	if o.kind == "" {
		return clierr.Usagef("such as: mysdk create webhook --group cache --kind Memcached --defaulting", "no --kind was given")
	}
	if err := o.complete(f, p); err != nil {
		return err
	}
	if err := o.checkMigration(p); err != nil {
		return err
	}
	set, after, err := project.Create(o.plugin, project.APIOptions{
		Dir: f.Host.Dir, Group: o.group, Version: o.version, Kind: o.kind, Domain: o.domain,
	})
	if err != nil {
		return err
	}
	if set, err = writeScaffold(ctx, f, set, o.make, o.dryRun); err != nil || set.Len() == 0 {
		return err
	}
	reportWebhook(f, set, after, o)
	noteVendor(f, set, after.Repo)
	return nil
}

// complete infers what was not typed. A kind that nobody has is refused here:
// what it lacks is no webhook.
func (o *createWebhookOptions) complete(f *cli.Factory, p *project.Project) error {
	if err := o.infer(p, !f.Given["group"], !f.Given["version"]); err != nil {
		return err
	}
	if o.version != "" || f.Given["version"] {
		return nil
	}
	if err := o.misspelt(p); err != nil {
		return err
	}
	group := cmp.Or(o.group, "GROUP")
	return clierr.Usagef(fmt.Sprintf("run 'mysdk create api --group %s --kind %s' first, or name a kind of Kubernetes or of another project with --group and --version", group, o.kind),
		"the project has no kind %s", o.kind)
}

// checkMigration refuses to migrate what is stored in the one version that a
// kind has. It is no rule of the plugin's: the last old version may go later.
func (o *createWebhookOptions) checkMigration(p *project.Project) error {
	versions := 0
	for _, r := range p.Resources {
		if r.API && r.Group == o.group && r.Kind == o.kind {
			versions++
		}
	}
	if !o.migrate || versions != 1 {
		return nil
	}
	return clierr.Usagef(fmt.Sprintf("run 'mysdk create api --group %s --version NEW --kind %s --from %s' first, or leave out --migrate-storage", cmp.Or(o.group, `""`), o.kind, o.version),
		"%s has one version: there is nothing to migrate", o.kind)
}

// reportWebhook says what was written, what the plugin has to say of it, and what to
// type next.
func reportWebhook(f *cli.Factory, set fileset.Set, after *project.Project, o *createWebhookOptions) {
	group := o.group
	for _, r := range after.Resources {
		if r.Kind == o.kind && r.Version == o.version && r.Group == o.group {
			group = r.QualifiedGroup()
		}
	}
	f.Say("Webhooks of %s/%s %s: %s", group, o.version, o.kind, cli.Count(set.Len(), "file"))
	sayWritten(f, set, o.plugin)
	converts := func(name string) bool { return strings.HasSuffix(name, "_conversion_test.go") }
	switch {
	case !o.make:
		f.Say("Next: mysdk generate")
	case slices.ContainsFunc(set.Paths(), converts):
		f.Say("Next: mysdk test   (names the fields that are not converted)")
	default:
		f.Say("Next: mysdk test")
	}
}
