package project

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/adopt"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
)

// adoptOptions is what was asked of adopt.
type adoptOptions struct {
	dir    string
	write  bool
	dryRun bool
	output string
}

// NewAdopt is 'mysdk adopt'.
func NewAdopt(f *cli.Factory) *cobra.Command {
	o := &adoptOptions{}
	c := &cobra.Command{
		Use: "adopt [DIR]", Short: "Check a kubebuilder or operator-sdk project for compatibility", GroupID: "write",
		Long: `Check a kubebuilder or operator-sdk project for compatibility.

The report shows which tool created the project, its kinds, and for each command
whether it works, or what is missing and where. Nothing in the project is
changed: commands that write are run in memory.

--write makes the safe changes, all at once: it records the options of the
project's controller-gen calls in .mysdk.yaml, and regenerates files that are
out of date.`,
		Example: `  # which commands work in this project
  mysdk adopt

  # the same for another project, as JSON
  mysdk adopt ../shop-operator -o json

  # the safe changes, first as a diff
  mysdk adopt --write --dry-run
  mysdk adopt --write`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return clierr.Usagef("run it once for each project", "only one directory can be checked, got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.dir = "."
			if len(args) == 1 {
				o.dir = args[0]
			}
			return runAdopt(c.Context(), f, o)
		},
	}
	fs := c.Flags()
	fs.BoolVar(&o.write, "write", false, "make the safe changes")
	fs.BoolVar(&o.dryRun, "dry-run", false, "with --write: show changes as a diff without writing them")
	cli.OutputFlag(c, &o.output)
	c.PreRunE = func(*cobra.Command, []string) error {
		switch {
		case o.dryRun && !o.write:
			return clierr.Usagef("add --write, or leave out --dry-run", "--dry-run requires --write")
		case o.dryRun && o.output != "text":
			return clierr.Usagef("leave out --write and --dry-run: the report has the changes", "--dry-run cannot be combined with --output %s", o.output)
		}
		return nil
	}
	return c
}

func runAdopt(ctx context.Context, f *cli.Factory, o *adoptOptions) error {
	there := f.In(f.Host.Path(o.dir))
	if o.write {
		if _, err := there.Recover(); err != nil {
			return err
		}
	}
	r, set, err := adopt.Inspect(ctx, adopt.Options{
		Host: there.Host, Dir: there.Host.Dir, Generate: there.PlainOptions(),
		CreateAPI: func(pattern string) error { return tryAPI(there, pattern) }, CreateWebhook: func() error { return tryWebhook(there) },
	})
	if err != nil {
		return err
	}
	if !o.write {
		return f.Report(o.output, r, func(w io.Writer) { adoptText(w, r) })
	}
	if set, err = there.Changed(set); err != nil {
		return err
	}
	if err := there.Write(ctx, set, o.dryRun); err != nil || o.dryRun && set.Len() > 0 {
		return err
	}
	return reportAdopted(f, r, set, o)
}

func reportAdopted(f *cli.Factory, r *adopt.Report, set fileset.Set, o *adoptOptions) error {
	if o.output != "text" {
		return f.Report(o.output, r, nil)
	}
	if set.Len() == 0 {
		f.Say("Nothing to do: there is no safe change to make")
		return nil
	}
	for _, c := range r.Changes {
		f.Say("%s: %s", c.File, c.What)
	}
	f.Say("Next: %s", strings.TrimSuffix("mysdk adopt "+host.ShellQuote(o.dir), " ."))
	return nil
}

// loadForTry reads the project and makes sure that the plugins of its layout
// can be found.
func loadForTry(f *cli.Factory) (*project.File, *project.Project, error) {
	file, err := project.Load(f.Host.Dir)
	if err != nil {
		return nil, nil, err
	}
	p := file.Project()
	_, err = project.LayoutChain(f.Host, p.Layout, f.BuiltIn())
	return file, p, err
}

// tryAPI adds a kind that the project does not have, in memory.
func tryAPI(f *cli.Factory, pattern string) error {
	sub := f.GoPlugin().GetCreateAPISubcommand()
	flags := map[string]string{}
	if pattern != "" {
		flags["pattern"] = pattern
	}
	if err := project.SetFlags(sub, flags); err != nil {
		return err
	}
	_, p, err := loadForTry(f)
	if err != nil {
		return err
	}
	o := project.APIOptions{Dir: f.Host.Dir, Group: "adopt", Version: "v1alpha1", Kind: "Adopted"}
	if i := slices.IndexFunc(p.Resources, func(r project.Resource) bool { return r.API }); i >= 0 {
		o.Group = p.Resources[i].Group
	}
	_, _, err = project.Create(sub, o)
	return err
}

// tryWebhook adds a webhook to a kind of the project's own that has none.
func tryWebhook(f *cli.Factory) error {
	file, p, err := loadForTry(f)
	if err != nil {
		return err
	}
	for _, r := range p.Resources {
		if len(file.Webhooks(r)) > 0 || !r.API {
			continue
		}
		sub := f.GoPlugin().GetCreateWebhookSubcommand()
		if err := project.SetFlags(sub, map[string]string{"defaulting": "true"}); err != nil {
			return err
		}
		_, _, err = project.Create(sub, project.APIOptions{Dir: f.Host.Dir, Group: r.Group, Version: r.Version, Kind: r.Kind})
		return err
	}
	return adopt.ErrNothingToTry
}

// adoptText is the report for people.
func adoptText(b io.Writer, r *adopt.Report) {
	name := cmp.Or(r.Name, r.Repo)
	fmt.Fprintf(b, "Project %s, made by %s: layout %s\n", name, r.Tool, strings.Join(r.Layout, ", "))
	scope, groups := "all namespaces", "one group"
	if r.Namespaced {
		scope = "its own namespaces"
	}
	if r.MultiGroup {
		groups = "several groups"
	}
	fmt.Fprintf(b, "  domain %s, module %s, %s, %s\n", cmp.Or(r.Domain, "-"), cmp.Or(r.Repo, "-"), groups, scope)
	for _, c := range r.ControllerGen {
		fmt.Fprintf(b, "  controller-gen as in %s: %s\n", c.From, c.Args)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(b, "  %s\n", note)
	}
	for _, res := range r.Resources {
		fmt.Fprintf(b, "  kind %s/%s %s\n", res.Group, res.Version, res.Kind)
	}
	fmt.Fprintln(b)
	for _, c := range r.Commands {
		fmt.Fprintf(b, "%-6s mysdk %s: %s\n", c.Status, c.Name, c.Detail)
		for _, d := range c.Do {
			fmt.Fprintf(b, "         %s\n", d)
		}
	}
	if len(r.Changes) > 0 {
		fmt.Fprintf(b, "\n'mysdk adopt --write' can do:\n")
	}
	for _, c := range r.Changes {
		fmt.Fprintf(b, "  %s: %s\n", c.File, c.What)
	}
}
