package project

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/scaffold"
)

// NewDelete is 'mysdk delete', with what is below it.
func NewDelete(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use: "delete", Short: "Remove an API or webhooks from the project", GroupID: "write",
		Example: "  mysdk delete api --group cache --version v1alpha1 --kind Memcached",
	}
	c.AddCommand(newDeleteAPI(f), newDeleteWebhook(f))
	return c
}

// deleteOptions are the flags of the commands below delete.
type deleteOptions struct {
	named
	force, dryRun bool

	// Of delete webhook alone; none of them means all.
	defaulting, validation, conversion bool
}

func (o *deleteOptions) bind(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&o.group, "group", "", "API group without the domain (default: that of the kind, if only one has it)")
	fs.StringVar(&o.version, "version", "", "API version (default: that of the kind, if it has only one)")
	fs.StringVar(&o.kind, "kind", "", "kind in CamelCase, such as Memcached")
	fs.BoolVar(&o.force, "force", false, "also remove files that you have changed")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
}

func newDeleteAPI(f *cli.Factory) *cobra.Command {
	o := &deleteOptions{}
	c := &cobra.Command{
		Use: "api", Short: "Remove a kind's types, controller, tests, manifests and sample",
		Long: `Remove a kind's types, controller, tests, manifests and sample.

This removes everything that create api wrote for the kind: its files, its lines
in cmd/main.go and the kustomizations, its CRD, its rules in the manager's role
and its entry in PROJECT. What other kinds or versions need is kept, such as the
controller while any version of the kind is left. If you have changed something
that would be removed, or your code needs it, nothing is written and the files
are listed.`,
		Example: `  # look first
  mysdk delete api --kind Memcached --dry-run

  # one version of several
  mysdk delete api --group cache --version v1alpha1 --kind Memcached`,
		RunE: func(c *cobra.Command, _ []string) error {
			return deleteFrom(c.Context(), f, o, (*scaffold.Scaffold).DeleteAPI)
		},
	}
	o.bind(c)
	return c
}

func newDeleteWebhook(f *cli.Factory) *cobra.Command {
	o := &deleteOptions{}
	c := &cobra.Command{
		Use: "webhook", Short: "Remove a kind's webhooks, tests and manifests",
		Long: `Remove a kind's webhooks, their tests and manifests.

By default all webhooks of the kind are removed; with --defaulting,
--programmatic-validation or --conversion only these. Certificates and other
files that webhooks share are removed with the last one. If you have changed
something that would be removed, or your code needs it, nothing is written and
the files are listed.`,
		Example: `  # all webhooks of a kind
  mysdk delete webhook --kind Memcached

  # the defaulting alone, and look first
  mysdk delete webhook --group cache --version v1 --kind Memcached --defaulting --dry-run`,
		RunE: func(c *cobra.Command, _ []string) error {
			return deleteFrom(c.Context(), f, o, func(s *scaffold.Scaffold, target project.Resource) error {
				return s.DeleteWebhooks(target, o.wants)
			})
		},
	}
	o.bind(c)
	fs := c.Flags()
	fs.BoolVar(&o.defaulting, "defaulting", false, "remove the defaulting webhook")
	fs.BoolVar(&o.validation, "programmatic-validation", false, "remove the validating webhook")
	fs.BoolVar(&o.conversion, "conversion", false, "remove the conversion between versions")
	return c
}

// wants says whether a webhook is among those to take back.
func (o *deleteOptions) wants(webhook string) bool {
	chosen := map[string]bool{"defaulting": o.defaulting, "validation": o.validation, "conversion": o.conversion}
	return chosen[webhook] || !o.defaulting && !o.validation && !o.conversion
}

// deleteFrom finds the resource and commits what change makes of the project.
func deleteFrom(ctx context.Context, f *cli.Factory, o *deleteOptions, change func(*scaffold.Scaffold, project.Resource) error) error {
	p, done, err := loadProject(f)
	if done || err != nil {
		return err
	}
	target, err := o.find(p, f.Given["group"])
	if err != nil {
		return err
	}
	if target == nil {
		f.Say("Nothing to do: the project has no %s", o)
		return nil
	}
	s, err := scaffold.Open(f.Host.Files, f.Host.Dir, f.GoPlugin(), o.force)
	if err != nil {
		return err
	}
	if err := change(s, *target); err != nil {
		return err
	}
	return commitScaffold(ctx, f, s, len(p.Resources) > 0, o.force, o.dryRun)
}

// String is what the flags ask for.
func (o *deleteOptions) String() string {
	out := o.kind
	if o.version != "" {
		out = o.version + " " + out
	}
	if o.group != "" {
		out = o.group + " " + out
	}
	return out
}

// find returns the resource that the flags name, nil where the project has
// none. A name that is nearly one of the project's is taken for a mistake.
func (o *deleteOptions) find(p *project.Project, group bool) (*project.Resource, error) {
	if o.kind == "" {
		return nil, clierr.Usagef("such as: mysdk delete api --group cache --version v1alpha1 --kind Memcached", "no --kind was given")
	}
	if err := o.checkGroup(p); err != nil {
		return nil, err
	}
	found := o.among(p)
	if group { // the empty group is one, too, where it was typed
		found = slices.DeleteFunc(found, func(r project.Resource) bool { return r.Group != o.group })
	}
	switch {
	case len(found) > 1:
		return nil, o.ambiguous(found)
	case len(found) == 1:
		return &found[0], nil
	}
	return nil, o.misspelt(p)
}
