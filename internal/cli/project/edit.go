package project

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/cli/chart"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/grafana"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/scaffold"
)

// editOptions are the flags of edit. Nil is for those that were not typed.
type editOptions struct {
	layout        scaffold.Layout
	license       scaffold.License
	force, dryRun bool
	plugins       []string
	chart         chart.Options
}

const editExample = `  # make room for a second API group
  mysdk edit --multigroup

  # an operator that works in its own namespace only, and back
  mysdk edit --namespaced
  mysdk edit --namespaced=false

  # set the domain of future API groups
  mysdk edit --domain example.org

  # put a name on the license header of every file
  mysdk edit --owner "Acme Inc"

  # the Helm chart, in charts/chart
  mysdk edit --plugins helm/v2-alpha --output-dir charts

  # Grafana dashboards and Prometheus alerts
  mysdk edit --plugins grafana/v1-alpha`

// NewEdit is 'mysdk edit'.
func NewEdit(f *cli.Factory) *cobra.Command {
	o := &editOptions{}
	var multigroup, namespaced bool
	var domain, license, licenseFile, owner string
	c := &cobra.Command{
		Use: "edit", Short: "Change the project's layout, scope, domain or license header", GroupID: "write",
		Long: `Change the project's layout, scope, domain or license header.

--multigroup moves api/<version> to api/<group>/<version> and the controllers
and webhooks likewise, rewrites every import of them, and puts the group into
the names of controllers, field owners and roles. --namespaced gives the manager
a Role in place of a ClusterRole, and WATCH_NAMESPACE; both can be undone with
=false. --domain is for a project without APIs, as their names contain it. Your
own files are moved too, and your changes to scaffolded files are kept: if they
conflict, nothing is written and the lines are listed.

--plugins takes one of two plugins of kubebuilder. helm/v2-alpha is 'mysdk
generate chart'. grafana/v1-alpha writes Grafana dashboards to grafana/, for the
metrics of every controller and those in the project's code, and alerts for
Prometheus to config/prometheus. Run it again when metrics have changed: files
that you have changed are kept, unless --force is set.`,
		Example: editExample,
		RunE:    func(c *cobra.Command, _ []string) error { return runEdit(c.Context(), f, o) },
	}
	fs := c.Flags()
	fs.BoolVar(&multigroup, "multigroup", false, "lay out APIs by group; false: by version only, for projects with one group")
	fs.BoolVar(&namespaced, "namespaced", false, "watch only the manager's own namespace; =false: watch all")
	fs.StringVar(&domain, "domain", "", "domain of the project's API groups; before the first API only")
	fs.StringVar(&license, "license", "", "license header of Go files: apache2 or none")
	fs.StringVar(&licenseFile, "license-file", "", "file with the license header to use, a Go comment")
	fs.StringVar(&owner, "owner", "", "name in the copyright line of the license header")
	fs.BoolVar(&o.force, "force", false, "change what can be changed, and only list conflicting lines; overwrite charts and dashboards")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	fs.StringSliceVar(&o.plugins, "plugins", nil, "generate the Helm chart or the dashboards: helm/v2-alpha, grafana/v1-alpha")
	o.chart.Bind(fs)
	steps := f.Joined(c, "edit")
	if steps != nil {
		project.BindFlags(steps, fs)
	}
	c.PreRunE = func(*cobra.Command, []string) error {
		o.layout = scaffold.Layout{
			MultiGroup: typed(f, "multigroup", &multigroup),
			Namespaced: typed(f, "namespaced", &namespaced),
			Domain:     typed(f, "domain", &domain),
		}
		o.license = scaffold.License{
			Name:  typed(f, "license", &license),
			File:  typed(f, "license-file", &licenseFile),
			Owner: typed(f, "owner", &owner),
		}
		return o.check(steps != nil)
	}
	return c
}

// typed returns value where the flag was given, and nil where it was not: a
// value of the configuration is for commands that need one anyway, and does not
// ask for a change.
func typed[T any](f *cli.Factory, flag string, value *T) *T {
	if f.Given[flag] {
		return value
	}
	return nil
}

// check refuses flags that contradict each other. External plugins may have
// something to do without any.
func (o *editOptions) check(plugins bool) error {
	l, other := o.license, o.layout != scaffold.Layout{} || o.license != scaffold.License{}
	unknown := func(key string) bool { return !isPlugin(key, chart.PluginKey) && !isPlugin(key, grafana.PluginKey) }
	switch {
	case o.names("autoupdate.kubebuilder.io/v1-alpha"):
		return clierr.Usagef("mysdk upgrade --workflow", "--plugins autoupdate/v1-alpha: replaced by 'mysdk upgrade --workflow'")
	case slices.ContainsFunc(o.plugins, unknown):
		return clierr.Usagef("kubebuilder works on this project too: kubebuilder edit --plugins=NAME",
			"--plugins takes helm/v2-alpha and grafana/v1-alpha only: the plugins of a project are chosen by 'mysdk init' and recorded in PROJECT")
	case len(o.plugins) > 0 && other:
		return clierr.Usagef("run the command twice", "--plugins cannot be combined with changes of the project")
	case o.names(chart.PluginKey):
		return nil
	case (!plugins || len(o.plugins) > 0) && (o.chart.Manifests != "" || o.chart.OutputDir != ""):
		return clierr.Usagef("add --plugins helm/v2-alpha", "--manifests and --output-dir are for the Helm chart")
	case len(o.plugins) > 0:
		return nil
	}
	switch {
	case !plugins && !other:
		return clierr.Usagef("such as: mysdk edit --multigroup", "no changes requested")
	case l.File != nil && (l.Name != nil || l.Owner != nil):
		return clierr.Usagef("leave out --license and --owner", "--license-file brings the whole header")
	case l.File != nil && *l.File == "":
		return clierr.Usagef("give the path of a file, or --license none", "the license file's name is empty")
	case l.Name != nil && *l.Name == "none" && l.Owner != nil:
		return clierr.Usagef("leave out --owner", "--license none has no line for an owner")
	}
	return nil
}

// names says whether a plugin was named.
func (o *editOptions) names(plugin string) bool {
	return slices.ContainsFunc(o.plugins, func(key string) bool { return isPlugin(key, plugin) })
}

// isPlugin says whether a plugin is named by its key, or by the short form of it.
func isPlugin(name, key string) bool {
	return name == key || name == strings.Replace(key, ".kubebuilder.io", "", 1)
}

func runEdit(ctx context.Context, f *cli.Factory, o *editOptions) error {
	if len(o.plugins) > 0 {
		return runPlugins(ctx, f, o)
	}
	p, done, err := loadProject(f)
	if done || err != nil {
		return err
	}
	s, err := scaffold.Open(f.Host.Files, f.Host.Dir, f.GoPlugin(), o.force)
	if err != nil {
		return err
	}
	if err := s.SetLicense(o.license); err != nil {
		return err
	}
	if err := s.SetLayout(o.layout); err != nil {
		return err
	}
	return commitScaffold(ctx, f, s, len(p.Resources) > 0, o.force, o.dryRun)
}

// runPlugins runs the plugin that was named. Two would be two changes, of which the
// second might fail.
func runPlugins(ctx context.Context, f *cli.Factory, o *editOptions) error {
	switch {
	case o.names(chart.PluginKey) && o.names(grafana.PluginKey):
		return clierr.Usagef("run the command once for each plugin", "%s and %s write files of their own", chart.PluginKey, grafana.PluginKey)
	case o.names(chart.PluginKey):
		o.chart.Force, o.chart.DryRun = o.force, o.dryRun
		return chart.Run(ctx, f, &o.chart)
	}
	return runDashboards(ctx, f, o.force, o.dryRun)
}

// commitScaffold generates, and commits everything at once, unless something
// of the user's conflicts.
func commitScaffold(ctx context.Context, f *cli.Factory, s *scaffold.Scaffold, kinds, force, dryRun bool) error {
	if err := s.Refused(); err != nil && !force {
		return err
	}
	for _, p := range s.Problems {
		f.Warn("%s", p)
	}
	set, err := s.Set()
	if err != nil {
		return err
	}
	if set, err = f.EditByPlugins(set); err != nil {
		return err
	}
	if set, err = f.Changed(set); err != nil {
		return err
	}
	if set.Len() == 0 {
		f.Say("Nothing to do: the project is up to date")
		return nil
	}
	if set, err = f.Check(set); err != nil {
		return err
	}
	if kinds {
		if set, err = generateInto(ctx, f, set, dryRun); err != nil {
			return clierr.WithHint(fmt.Errorf("nothing was written: %w", err), "correct that first: the code must compile with the change")
		}
	}
	if set, err = f.Changed(set); err != nil {
		return err
	}
	if err := f.Write(ctx, set, dryRun); err != nil || dryRun {
		return err
	}
	f.Wrote(set)
	for _, n := range s.Notes {
		f.Warn("%s", n)
	}
	f.Say("Next: mysdk test")
	return nil
}
