package bundle

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/project"
)

type kustomizeManifestsOptions struct {
	packageName string
	inputDir    string
	outputDir   string
	apisDir     string
	interactive bool
	check       bool
	dryRun      bool
}

// NewGenerateKustomize is the parent of generate kustomize manifests.
func NewGenerateKustomize(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use: "kustomize", Short: "Write the kustomizations that bundles are made from",
		Example: "  mysdk generate kustomize manifests",
	}
	c.AddCommand(newKustomizeManifests(f))
	return c
}

// newKustomizeManifests has the flags of operator-sdk's command of that name.
func newKustomizeManifests(f *cli.Factory) *cobra.Command {
	o := &kustomizeManifestsOptions{}
	c := &cobra.Command{
		Use: "manifests", Short: "Write or update the base of the ClusterServiceVersion in config/manifests",
		Long: `Write or update the base of the ClusterServiceVersion in config/manifests.

The base is the part of a bundle that people read: display name, description,
icon, maintainers. The first run writes it with placeholders. Later runs update
the descriptions of the owned CRDs from the comments of the Go types and from
markers such as

  // +operator-sdk:csv:customresourcedefinitions:resources={{Deployment,v1,""}}
  // +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size"

and keep what you have written. The command does not prompt.`,
		Example: `  mysdk generate kustomize manifests

  # then edit the base, and make the bundle
  mysdk bundle generate --version 0.1.0`,
		RunE: func(c *cobra.Command, _ []string) error { return runKustomizeManifests(c.Context(), f, o) },
	}
	fs := c.Flags()
	fs.StringVar(&o.packageName, "package", "", "name of the package (default: the project's)")
	fs.StringVar(&o.inputDir, "input-dir", "", "directory with the existing kustomization and base (default: "+bundle.ManifestsConfigDir+")")
	fs.StringVar(&o.outputDir, "output-dir", "", "directory to write them to (default: "+bundle.ManifestsConfigDir+")")
	fs.StringVar(&o.apisDir, "apis-dir", "", "directory to look for Go types in (default: where PROJECT says they are)")
	fs.BoolVar(&o.interactive, "interactive", false, "no effect: edit the base in its file")
	fs.BoolVar(&o.check, "check", false, "show a diff and exit with 3 if anything is out of date; write nothing")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	return c
}

// runKustomizeManifests writes the base, its record and the kustomization.
func runKustomizeManifests(ctx context.Context, f *cli.Factory, o *kustomizeManifestsOptions) error {
	p, _, err := f.LoadProject()
	if err != nil {
		return err
	}
	if o.interactive {
		f.Say("--interactive has no effect: edit the base instead")
	}
	set, m, err := baseOf(f, p, o)
	if err != nil {
		return err
	}
	file := bundle.BaseFile(cmp.Or(o.outputDir, bundle.ManifestsConfigDir), cmp.Or(o.packageName, p.Name))
	if wrote, err := f.Settle(ctx, set, o.check, o.dryRun, file+" is up to date"); !wrote || err != nil {
		return err
	}
	if todo := bundle.Placeholders(cmp.Or(o.packageName, p.Name), m.Base); len(todo) > 0 {
		f.Say("Fill in %s: %s", file, strings.Join(todo, ", "))
	}
	next := "mysdk bundle generate --version 0.0.1"
	if o.packageName != "" {
		next += " --package " + o.packageName
	}
	if o.outputDir != "" {
		next += " --kustomize-dir " + host.ShellQuote(o.outputDir)
	}
	f.Say("Next: %s", next)
	return nil
}

// baseOf renders the base of a project's CSV with the kustomization around it, as they should be.
func baseOf(f *cli.Factory, p *project.Project, o *kustomizeManifestsOptions) (set fileset.Set, m *bundle.Merged, err error) {
	from, err := f.Below(cmp.Or(o.inputDir, bundle.ManifestsConfigDir), "--input-dir")
	if err != nil {
		return set, nil, err
	}
	to, err := f.Below(cmp.Or(o.outputDir, bundle.ManifestsConfigDir), "--output-dir")
	if err != nil {
		return set, nil, err
	}
	apisDir, err := f.Below(cmp.Or(o.apisDir, "api"), "--apis-dir")
	if err != nil {
		return set, nil, err
	}
	descriptions, warnings, err := bundle.Describe(os.DirFS(f.Host.Dir), p.Repo, apisDir, apisOf(p, o.apisDir != "", f.ReadFile))
	if err != nil {
		return set, nil, err
	}
	for _, w := range warnings {
		f.Warn("%s", w)
	}
	s := bundle.Scaffold{Package: cmp.Or(o.packageName, p.Name), Namespaced: p.Namespaced, From: from, To: to, KustomizationNames: kustomize.FileNames(), Read: f.ReadFile}
	set, m, err = s.Render(descriptions)
	if err != nil {
		return set, nil, err
	}
	for _, line := range m.Kept {
		if m.Unrecorded {
			f.Say("%s: take it out of %s to have it follow the types", line, bundle.BaseFile(from, s.Package))
		} else {
			f.Detail("%s", line)
		}
	}
	return set, m, nil
}

// apisOf are the APIs whose Go types the project has, with the groups that these say:
// their CRDs have those. search leaves out where PROJECT says that they are.
func apisOf(p *project.Project, search bool, read func(string) ([]byte, error)) []bundle.API {
	var list []bundle.API
	if p.Repo == "" {
		return nil // operators of Helm charts and Ansible playbooks have no Go types
	}
	for _, r := range p.Resources {
		if !r.API {
			continue
		}
		api := bundle.API{Group: r.QualifiedGroup(), Version: r.Version, Kind: r.Kind, Plural: r.Plural}
		if dir, ok := strings.CutPrefix(r.Path, p.Repo+"/"); ok && !search {
			api.Dir, api.Group = dir, cmp.Or(project.CodeGroup(dir, read), api.Group)
		}
		list = append(list, api)
	}
	return list
}
