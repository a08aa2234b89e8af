package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/generate"
)

// generateCommand is what was asked of generate.
type generateCommand struct {
	what   []string // deepcopy, crds, rbac, webhooks; empty is all of them
	check  bool
	lax    bool
	dryRun bool
}

// generators are the arguments that generate takes.
func generators() []string { return []string{"deepcopy", "crds", "rbac", "webhooks"} }

func newGenerate(a *app, run func(context.Context, *generateCommand) error) *cobra.Command {
	o := &generateCommand{}
	c := &cobra.Command{
		Use: "generate [deepcopy] [crds] [rbac] [webhooks]", Short: "Generate code and manifests from the Go types and their markers", GroupID: "write",
		Long: `Generate code and manifests from the Go types and their markers.

Without arguments everything is generated: DeepCopy methods, CRDs below
config/crd/bases, RBAC roles in config/rbac and webhook configurations in
config/webhook. Markers are those of controller-gen, and so is the output, byte
for byte. Files that would not change are not written.`,
		Example: `  # everything
  mysdk generate

  # the CRDs and the roles only
  mysdk generate crds rbac

  # fail with exit code 3 and a diff if anything is out of date
  mysdk generate --check`,
		Args:      generatorArgs,
		ValidArgs: generators(),
		RunE: func(c *cobra.Command, args []string) error {
			o.what = args
			return run(c.Context(), o)
		},
	}
	fs := c.Flags()
	fs.BoolVar(&o.check, "check", false, "write nothing; print a diff and exit with 3 if anything is out of date")
	fs.BoolVar(&o.dryRun, "dry-run", false, "write nothing; print what would change as a unified diff")
	fs.BoolVar(&o.lax, "lax", false, "warn of unknown and misspelt markers instead of failing")
	return c
}

func generatorArgs(_ *cobra.Command, args []string) error {
	known := map[string]bool{}
	for _, g := range generators() {
		known[g] = true
	}
	for _, arg := range args {
		if !known[arg] {
			return clierr.Usagef(clierr.DidYouMean(arg, generators()), "unknown generator %q", arg)
		}
	}
	return nil
}

func (a *app) runGenerate(ctx context.Context, o *generateCommand) error {
	start := a.host.Now()
	// Any Go module with markers will do; a PROJECT file is not needed.
	if done, err := a.recover(); done || err != nil {
		return err
	}
	opts := a.generateOptions()
	opts.Lax = o.lax
	o.selectInto(&opts)
	r, err := a.render(ctx, opts)
	if err != nil {
		return err
	}
	if o.check || o.dryRun {
		return a.reportDrift(r, o.check)
	}
	if r.Set.Len() == 0 {
		a.say("Nothing to do: everything is up to date (%s)", a.since(start))
		return nil
	}
	if err := a.write(ctx, r.Set, false); err != nil {
		return err
	}
	for _, name := range r.Set.Paths() {
		a.say("wrote %s", name)
	}
	a.detail("generated in %s", a.since(start))
	return nil
}

func (o *generateCommand) selectInto(opts *generate.Options) {
	for _, what := range o.what {
		switch what {
		case "deepcopy":
			opts.Deepcopy = true
		case "crds":
			opts.CRDs = true
		case "rbac":
			opts.RBAC = true
		case "webhooks":
			opts.Webhooks = true
		}
	}
}

// reportDrift prints what differs; with check it is an error that there is
// anything.
func (a *app) reportDrift(r generate.Result, check bool) error {
	diff, err := a.tree().Diff(r.Set)
	if err != nil {
		return err
	}
	if err := a.print(diff); err != nil {
		return err
	}
	if !check || r.Set.Len() == 0 {
		return nil
	}
	files := fmt.Sprintf("%d files are", r.Set.Len())
	if r.Set.Len() == 1 {
		files = "1 file is"
	}
	return clierr.OutOfDatef("run 'mysdk generate' and commit the result", "%s out of date: %s", files, strings.Join(r.Set.Paths(), ", "))
}
