package cmd

import (
	"bytes"
	"context"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/project"
)

func newCreate(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "create", Short: "Add an API or webhooks to the project", GroupID: "write",
		Example: "  mysdk create api --group cache --kind Memcached",
	}
	c.AddCommand(newCreateAPI(a), newCreateWebhook(a))
	return c
}

// createAPIOptions are the flags of create api that are not the plugin's.
type createAPIOptions struct {
	named
	plugin    plugin.CreateAPISubcommand
	domain    string // of an external API
	resource  bool
	force     bool
	overwrite bool
	make      bool
	dryRun    bool
	plugins   []string
}

func newCreateAPI(a *app) *cobra.Command {
	o := &createAPIOptions{plugin: a.goPlugin().GetCreateAPISubcommand()}
	c := &cobra.Command{
		Use: "api", Short: "Scaffold an API: types, controller, tests, manifests and a sample",
		Long: `Write a kind's types, controller, tests, manifests and sample.

The default pattern is an operator that runs at once: a Deployment of
spec.size pods that is healed when it is changed or deleted, the pods' names
and conditions in the status, a finalizer and events. The other pattern,
blank, is an empty reconciler: take it to paste in code of your own, or that
of a tutorial.

Code, CRD and RBAC manifests are generated in the same step. Either all files
are written or none.`,
		Example: `  # types, controller and manifests of cache.example.com/v1alpha1 Memcached
  mysdk create api --group cache --kind Memcached

  # another image and port behind the same pattern
  mysdk create api --group cache --kind Redis --image redis:8 --image-container-port 6379

  # as in the guides of kubebuilder
  mysdk create api --group cache --version v1alpha1 --kind Memcached --plugins deploy-image/v1-alpha --image memcached:1.6.26-alpine3.19

  # an empty reconciler, and a version of its own
  mysdk create api --group cache --version v1 --kind Queue --pattern blank

  # a second version of a kind, which starts with the fields of the first
  mysdk create api --version v1 --kind Memcached --from v1alpha1

  # only a controller, for a kind of Kubernetes itself
  mysdk create api --group apps --kind Deployment --resource=false`,
		RunE: func(c *cobra.Command, _ []string) error { return a.runCreateAPI(c.Context(), o) },
	}
	if steps := a.joined(c, "create api"); steps != nil {
		o.plugin = steps
	}
	fs := c.Flags()
	fs.StringVar(&o.group, "group", "", "API group without the domain, such as cache (default: that of the kind, if the project has it)")
	fs.StringVar(&o.version, "version", "", "API version, such as v1 or v1beta1 (default: that of the kind, or v1alpha1 for a new one)")
	fs.StringVar(&o.kind, "kind", "", "kind in CamelCase, such as Memcached")
	fs.BoolVar(&o.overwrite, "overwrite", false, "with --force: also overwrite your own changes")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	fs.StringSliceVar(&o.plugins, "plugins", nil, "as in kubebuilder: deploy-image/v1-alpha, which is the pattern deployment, or go/v4")
	project.BindFlags(o.plugin, fs)
	fs.Bool("manifests", true, "no effect: --make is for all that is generated") // deploy-image's
	fs.Lookup("manifests").Hidden = true
	c.PreRunE = func(c *cobra.Command, _ []string) error { return first(o.read(c), a.checkAPIPlugins(c, o)) }
	return c
}

// checkAPIPlugins refuses plugins that are not part of create api. Those of the
// project's layout have been run, if they are programs of the user's.
func (a *app) checkAPIPlugins(c *cobra.Command, o *createAPIOptions) error {
	const deployImage = "deploy-image/v1-alpha"
	for _, key := range o.plugins {
		switch key {
		case "go/v4", plugin.KeyFor(a.goPlugin()):
		case deployImage, "deploy-image.go.kubebuilder.io/v1-alpha":
			if f := c.Flags().Lookup("pattern"); f != nil && f.Changed && f.Value.String() != f.DefValue {
				return clierr.Usagef("leave one of them out", "--plugins %s is the pattern %s, and --pattern %s is another", key, f.DefValue, f.Value)
			}
		default:
			if a.plugins == nil {
				return clierr.Usagef(clierr.DidYouMean(key, []string{"go/v4", deployImage}), "plugin %q is not known to create api", key)
			}
		}
	}
	return nil
}

// read takes over the values of flags that the plugin has bound and the
// command needs too.
func (o *createAPIOptions) read(c *cobra.Command) (err error) {
	if o.force, err = c.Flags().GetBool("force"); err != nil {
		return err
	}
	if o.make, err = c.Flags().GetBool("make"); err != nil {
		return err
	}
	if o.resource, err = c.Flags().GetBool("resource"); err != nil {
		return err
	}
	if o.overwrite && !o.force {
		return clierr.Usagef("add --force", "--overwrite requires --force")
	}
	o.domain, err = c.Flags().GetString("external-api-domain")
	return err
}

func (a *app) runCreateAPI(ctx context.Context, o *createAPIOptions) error {
	p, done, err := a.loadProject()
	if done || err != nil {
		return err
	}
	if err := a.checkLayout(p); err != nil {
		return err
	}
	if o.kind == "" {
		return clierr.Usagef("such as: mysdk create api --group cache --kind Memcached", "no --kind was given")
	}
	if err := o.complete(a, p); err != nil {
		return err
	}
	set, after, err := project.CreateAPI(o.plugin, project.APIOptions{
		Dir: a.host.Dir, Group: o.group, Version: o.version, Kind: o.kind, Domain: o.domain,
	})
	if err != nil {
		return err
	}
	if o.force && !o.overwrite {
		if err := a.keepsTheUsers(set); err != nil {
			return err
		}
	}
	if set, err = a.writeScaffold(ctx, set, o.make, o.dryRun); err != nil || set.Len() == 0 {
		return err
	}
	a.reportAPI(set, p, after, o)
	a.noteVendor(set, p.Repo)
	return nil
}

// complete infers what was not typed: a kind that is there already gets no
// older version by mistake.
func (o *createAPIOptions) complete(a *app, p *project.Project) error {
	if a.given["from"] && !a.given["version"] {
		return clierr.Usagef("name the new version, such as --version v1", "--from is for a new version, and no --version was given")
	}
	before := o.named
	if err := o.infer(p, !a.given["group"], !a.given["version"]); err != nil {
		return err
	}
	// What is built into Kubernetes counts only where no API is written.
	if own := len(o.among(p)) > 0; o.resource && !own {
		o.version = before.version
	}
	if o.version == "" && !a.given["version"] {
		o.version = firstVersion
	}
	return nil
}

// noteVendor reports a vendor directory that the go command will find behind:
// it lacks a package that the files written import, or go.mod has changed.
func (a *app) noteVendor(written fileset.Set, module string) {
	list, err := a.readFile("vendor/modules.txt")
	if err != nil {
		return // the go command reports one that cannot be read
	}
	has := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		has[strings.TrimSpace(line)] = true
	}
	behind := func(pkg string) bool {
		host, _, _ := strings.Cut(pkg, "/")
		return strings.Contains(host, ".") && !has[pkg] && pkg != module && !strings.HasPrefix(pkg, module+"/")
	}
	for _, name := range written.Paths() {
		f, _ := written.Get(name)
		if name == "go.mod" || path.Ext(name) == ".go" && slices.ContainsFunc(importsOf(f.Data), behind) {
			a.say("Next: go mod vendor   (vendor/ is behind the code)")
			return
		}
	}
}

// importsOf are the packages that a Go file imports.
func importsOf(src []byte) []string {
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ImportsOnly)
	if err != nil {
		return nil // there is more to fix first
	}
	var packages []string
	for _, i := range f.Imports {
		if pkg, err := strconv.Unquote(i.Path.Value); err == nil {
			packages = append(packages, pkg)
		}
	}
	return packages
}

// checkLayout refuses projects that the plugin did not lay out: it would put
// files where nothing looks for them.
func (a *app) checkLayout(p *project.Project) error {
	key := plugin.KeyFor(a.goPlugin())
	if len(p.Layout) == 0 {
		return clierr.Failedf("add to it, if the project is laid out so:\nlayout:\n- "+key, "%s: no layout field", project.FileName)
	}
	// Bundles of plugins name the part that lays the files out with a prefix.
	if !slices.Contains(p.Layout, key) && !slices.Contains(p.Layout, "base."+key) {
		return clierr.Failedf("use the tool that made the project", "%s: layout %s is not known: mysdk adds APIs to %s", project.FileName, strings.Join(p.Layout, ", "), key)
	}
	return nil
}

// writeScaffold writes what a plugin scaffolded, with what the generators make
// of it, in one commit. It returns what was written: nothing in a dry run, or
// when all is as it would be written.
func (a *app) writeScaffold(ctx context.Context, set fileset.Set, generate, dryRun bool) (written fileset.Set, err error) {
	if err := a.check(set); err != nil {
		return written, err
	}
	if generate {
		if set, err = a.generateInto(ctx, set); err != nil {
			return written, err
		}
	}
	if set, err = a.tree().Changed(set); err != nil {
		return written, err
	}
	if err := a.write(ctx, set, dryRun); err != nil || dryRun {
		return written, err
	}
	if set.Len() == 0 {
		a.say("Nothing to do: all files are up to date")
	}
	return set, nil
}

// generateInto renders code and manifests of the project as it will be with
// set, and returns set together with them.
func (a *app) generateInto(ctx context.Context, set fileset.Set) (fileset.Set, error) {
	opts, err := a.generateOptions()
	if err != nil {
		return set, err
	}
	opts.Overlay = set
	r, err := a.render(ctx, opts)
	if err != nil {
		return set, err
	}
	out := set.Clone()
	return out, out.Merge(r.Set)
}

// keepsTheUsers refuses a change that takes away lines which are in the files
// now; what only adds lines is a merge and passes.
func (a *app) keepsTheUsers(set fileset.Set) error {
	diff, err := a.tree().Diff(set)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(diff) {
		if bytes.HasPrefix(line, []byte("-")) && !bytes.HasPrefix(line, []byte("--- ")) {
			if err := a.print(diff); err != nil {
				return err
			}
			return clierr.Failedf("add --overwrite if the lines marked - above may go", "nothing was written: --force would remove lines you added")
		}
	}
	return nil
}

func (a *app) reportAPI(set fileset.Set, before, after *project.Project, o *createAPIOptions) {
	what, group, api := "controller", o.group, false
	for _, r := range after.Resources {
		if r.Kind != o.kind || r.Version != o.version || r.Group != o.group {
			continue
		}
		group, api = r.QualifiedGroup(), r.API
		switch {
		case api && r.Controller:
			what = "API and controller"
		case api:
			what = "API"
		}
	}
	a.say("%s %s/%s %s: %d files", strings.ToUpper(what[:1])+what[1:], group, o.version, o.kind, set.Len())
	for _, name := range set.Paths() {
		a.detail("  %s", name)
	}
	if n, ok := o.plugin.(interface{ Notes() []string }); ok {
		for _, note := range n.Notes() {
			a.say("%s", note)
		}
	}
	if o.group == "" {
		a.say("No --group was given: the API group is the project's domain, %s", group)
	}
	switch {
	case what == "API": // nothing reconciles it yet
		a.say("Next: mysdk install")
		return
	case !api || len(before.Resources) > 0:
		a.say("Next: mysdk run local")
		return
	}
	run, apply := "run local --watch-namespace default", "kubectl apply"
	if after.Namespaced { // run local watches what the deployment will
		run, apply = "run local", "kubectl -n "+after.Name+"-system apply"
	}
	a.say("Next: mysdk %s", run)
	a.say("      mysdk %s -k config/samples   (in a second terminal)", apply)
}
