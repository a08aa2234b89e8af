package project

import (
	"bytes"
	"cmp"
	"context"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/openapi"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// NewCreate is 'mysdk create', with what is below it.
func NewCreate(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use: "create", Short: "Add an API or webhooks to the project", GroupID: "write",
		Example: "  mysdk create api --group cache --kind Memcached",
	}
	c.AddCommand(newCreateAPI(f), newCreateWebhook(f))
	return c
}

// createAPIOptions are the flags of create api that are not the plugin's.
type createAPIOptions struct {
	named
	plugin    plugin.Subcommand
	domain    string // of an external API
	resource  bool
	force     bool
	overwrite bool
	make      bool
	dryRun    bool
	plugins   []string
}

func newCreateAPI(f *cli.Factory) *cobra.Command {
	o := &createAPIOptions{plugin: f.GoPlugin().GetCreateAPISubcommand()}
	c := &cobra.Command{
		Use: "api", Short: "Scaffold an API: types, controller, tests, manifests and a sample",
		Long: `Write a kind's types, controller, tests, manifests and sample.

The default pattern is a complete operator: a Deployment of spec.size pods that
is restored when it is changed or deleted, the pods' names and conditions in the
status, a finalizer and events. The other pattern, blank, is an empty
reconciler: use it to paste your own code, or that of a tutorial.

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
		RunE: func(c *cobra.Command, _ []string) error { return runCreateAPI(c.Context(), f, o) },
	}
	if steps := f.Joined(c, "create api"); steps != nil {
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
	c.PreRunE = func(c *cobra.Command, _ []string) error { return cmp.Or(o.read(c), checkAPIPlugins(f, c, o)) }
	return c
}

// checkAPIPlugins refuses plugins that are not part of create api. Those of the
// project's layout have been run, if they are programs of the user's.
func checkAPIPlugins(f *cli.Factory, c *cobra.Command, o *createAPIOptions) error {
	const deployImage = "deploy-image/v1-alpha"
	for _, key := range o.plugins {
		switch key {
		case "go/v4", plugin.KeyFor(f.GoPlugin()):
		case deployImage, "deploy-image.go.kubebuilder.io/v1-alpha":
			if flag := c.Flags().Lookup("pattern"); flag != nil {
				if flag.Changed && flag.Value.String() != flag.DefValue {
					return clierr.Usagef("leave one of them out", "--plugins %s is the pattern %s, and --pattern %s is another", key, flag.DefValue, flag.Value)
				}
				flag.Changed = flag.Changed || o.force // not the one that is recorded
			}
		default:
			if f.Plugins == nil {
				return clierr.Usagef(clierr.DidYouMean(key, []string{"go/v4", deployImage}), "plugin %q is not known to create api", key)
			}
		}
	}
	return nil
}

// read takes over the values of flags that the plugin has bound and the
// command needs too.
func (o *createAPIOptions) read(c *cobra.Command) error {
	o.force, o.make, o.resource = bound(c, "force") == "true", bound(c, "make") == "true", bound(c, "resource") == "true"
	o.domain = bound(c, "external-api-domain")
	if o.overwrite && !o.force {
		return clierr.Usagef("add --force", "--overwrite requires --force")
	}
	return nil
}

// bound is the value of a flag of the plugin's, which another one may not have.
func bound(c *cobra.Command, flag string) string {
	if f := c.Flag(flag); f != nil {
		return f.Value.String()
	}
	return ""
}

// runCreateAPI adds an API to the project. --force scaffolds one again that is
// there, and is refused where lines of the user's would go: --overwrite says that
// they may.
func runCreateAPI(ctx context.Context, f *cli.Factory, o *createAPIOptions) error {
	p, done, err := loadProject(f)
	if done || err != nil {
		return err
	}
	if o.kind == "" {
		return clierr.Usagef("such as: mysdk create api --group cache --kind Memcached", "no --kind was given")
	}
	if err := o.complete(f, p); err != nil {
		return err
	}
	set, after, err := project.Create(o.plugin, project.APIOptions{
		Dir: f.Host.Dir, Group: o.group, Version: o.version, Kind: o.kind, Domain: o.domain,
	})
	if err != nil {
		return err
	}
	if o.force && !o.overwrite {
		if err := keepsTheUsers(f, set); err != nil {
			return err
		}
	}
	if set, err = writeScaffold(ctx, f, set, o.make, o.dryRun); err != nil || set.Len() == 0 {
		return err
	}
	reportAPI(f, set, p, after, o)
	noteVendor(f, set, p.Repo)
	return nil
}

// complete infers what was not typed: a kind that already exists gets no
// older version by mistake.
func (o *createAPIOptions) complete(f *cli.Factory, p *project.Project) error {
	if f.Given["from"] && !f.Given["version"] {
		return clierr.Usagef("name the new version, such as --version v1", "--from is for a new version, and no --version was given")
	}
	before := o.named
	if err := o.infer(p, !f.Given["group"], !f.Given["version"]); err != nil {
		return err
	}
	// What is built into Kubernetes counts only where no API is written.
	if own := len(o.among(p)) > 0; o.resource && !own {
		o.version = before.version
	}
	if o.version == "" && !f.Given["version"] {
		o.version = firstVersion
	}
	return nil
}

// noteVendor reports a vendor directory that the go command will find behind:
// it lacks a package that the files written import, or go.mod has changed.
func noteVendor(f *cli.Factory, written fileset.Set, module string) {
	list, err := f.ReadFile("vendor/modules.txt")
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
		file, _ := written.Get(name)
		if name == "go.mod" || path.Ext(name) == ".go" && slices.ContainsFunc(importsOf(file.Data), behind) {
			f.Say("Next: go mod vendor   (vendor/ is behind the code)")
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
		packages = append(packages, goedit.PathOf(i))
	}
	return packages
}

// loadProject is f.LoadProject, and refuses projects that the plugin did not lay out: it
// would put files where nothing looks for them.
func loadProject(f *cli.Factory) (p *project.Project, done bool, err error) {
	if p, done, err = f.LoadProject(); done || err != nil {
		return p, done, err
	}
	key := plugin.KeyFor(f.GoPlugin())
	if len(p.Layout) == 0 {
		return p, false, clierr.Failedf("add to it, if the project is laid out so:\nlayout:\n- "+key, "%s: no layout field", project.FileName)
	}
	// Bundles of plugins name the part that lays the files out with a prefix.
	if !slices.Contains(p.Layout, key) && !slices.Contains(p.Layout, "base."+key) {
		return p, false, clierr.Failedf("see 'mysdk adopt'", "%s: layout %s is not known: mysdk adds APIs to %s", project.FileName, strings.Join(p.Layout, ", "), key)
	}
	return p, false, nil
}

// writeScaffold writes what a plugin scaffolded, with what the generators make
// of it, in one commit. It returns what was written: nothing in a dry run, or
// when all is as it would be written.
func writeScaffold(ctx context.Context, f *cli.Factory, set fileset.Set, generate, dryRun bool) (written fileset.Set, err error) {
	if set, err = f.Check(set); err != nil {
		return written, err
	}
	if generate {
		if set, err = generateInto(ctx, f, set, dryRun); err != nil {
			return written, err
		}
	}
	if set, err = f.Changed(set); err != nil {
		return written, err
	}
	if err := f.Write(ctx, set, dryRun); err != nil || dryRun {
		return written, err
	}
	if set.Len() == 0 {
		f.Say("Nothing to do: all files are up to date")
	}
	return set, nil
}

// generateInto renders code and manifests of the project as it will be with
// set, and returns set together with them.
func generateInto(ctx context.Context, f *cli.Factory, set fileset.Set, dryRun bool) (fileset.Set, error) {
	opts, err := f.GenerateOptions()
	if err != nil {
		return set, err
	}
	opts.Overlay = set
	r, err := f.Render(ctx, opts)
	if err != nil {
		return set, err
	}
	if !dryRun {
		noteFromDisk(f, set, r.Applied)
	}
	out := set.Clone()
	return out, out.Merge(r.Set)
}

// noteFromDisk warns of what is generated of types that are on disk, and not of those
// that are about to be written, in their packages.
func noteFromDisk(f *cli.Factory, set fileset.Set, applied bool) {
	types, defined := false, false
	for _, name := range set.Paths() {
		definitions := path.Join(path.Dir(name), openapi.FileName)
		if gone, _ := set.Get(definitions); gone.Removed || !strings.HasSuffix(name, "_types.go") {
			continue
		}
		_, err := f.Host.Files.Lstat(f.Host.Path(definitions))
		defined = defined || err == nil
		for _, file := range []string{"groupversion_info.go", "doc.go", path.Base(name)} {
			text, _ := f.Tree().Read(set, path.Join(path.Dir(name), file)) // none, no marker
			types = types || bytes.Contains(text, []byte("+kubebuilder:ac:generate=true"))
		}
	}
	if types && applied {
		f.Warn("apply configurations are out of date until you run 'mysdk generate'")
	}
	if defined {
		f.Warn("%s is out of date until you run 'mysdk generate'", openapi.FileName)
	}
}

// keepsTheUsers refuses a change that takes away lines which are in the files
// now; what only adds lines is a merge and passes.
func keepsTheUsers(f *cli.Factory, set fileset.Set) error {
	set, err := f.Changed(set)
	if err != nil {
		return err
	}
	diff, err := f.Tree().Diff(set)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(diff) {
		if bytes.HasPrefix(line, []byte("-")) && !bytes.HasPrefix(line, []byte("--- a/")) && !bytes.HasPrefix(line, []byte("--- /dev/null")) {
			if err := f.Print(diff); err != nil {
				return err
			}
			return clierr.Failedf("add --overwrite to remove the lines marked - above", "nothing was written: --force would remove lines that differ from the scaffold")
		}
	}
	return nil
}

// sayWritten lists the files, for who wants to know, and what the plugin has to say.
func sayWritten(f *cli.Factory, set fileset.Set, from plugin.Subcommand) {
	for _, name := range set.Paths() {
		f.Detail("  %s", name)
	}
	if n, ok := from.(interface{ Notes() []string }); ok {
		for _, note := range n.Notes() {
			f.Say("%s", note)
		}
	}
}

// reportAPI says what was written, what the plugin has to say of it, and what to type
// next: the first kind of a project gets a sample to try, too.
func reportAPI(f *cli.Factory, set fileset.Set, before, after *project.Project, o *createAPIOptions) {
	what, group, api, types := "controller", o.group, false, ""
	for _, r := range after.Resources {
		if r.Kind != o.kind || r.Version != o.version || r.Group != o.group {
			continue
		}
		group, api, types = r.QualifiedGroup(), r.API, r.Path
		switch {
		case !o.resource: // PROJECT may have had the API before
		case api && (r.Controller || f.Given["controller-name"]):
			what = "API and controller"
		case api:
			what = "API"
		}
	}
	f.Say("%s %s/%s %s: %s", strings.ToUpper(what[:1])+what[1:], group, o.version, o.kind, cli.Count(set.Len(), "file"))
	sayWritten(f, set, o.plugin)
	if o.group == "" {
		f.Say("No --group was given: the API group is the project's domain, %s", group)
	}
	switch {
	case what == "API": // nothing reconciles it yet
		f.Say("Next: mysdk install")
		return
	case !api && !strings.HasPrefix(types, "k8s.io/"): // with a CRD of another project
		f.Say("Next: mysdk cluster start")
		f.Say("      mysdk kubectl apply --server-side -f FILE   (the CRD of %s)", o.kind)
		f.Say("      mysdk run local")
		return
	case !api || len(before.Resources) > 0:
		f.Say("Next: mysdk run local")
		return
	}
	run, apply := "run local --watch-namespace default", "kubectl apply"
	if after.Namespaced { // run local watches what the deployment will
		run, apply = "run local", "kubectl -n "+after.Name+"-system apply"
	}
	f.Say("Next: mysdk %s", run)
	f.Say("      mysdk %s -k %s   (in a second terminal)", apply, f.Here("config/samples"))
}
