package cmd

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/project"
)

// kustomizeManifestsOptions are the flags of generate kustomize manifests.
type kustomizeManifestsOptions struct {
	packageName string
	inputDir    string
	outputDir   string
	apisDir     string
	interactive bool
	check       bool
	dryRun      bool
}

// newGenerateKustomize is the parent of generate kustomize manifests.
func newGenerateKustomize(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "kustomize", Short: "Write the kustomizations that bundles are made from",
		Example: "  mysdk generate kustomize manifests",
	}
	c.AddCommand(newKustomizeManifests(a))
	return c
}

// newKustomizeManifests has the flags of operator-sdk's command of that name.
func newKustomizeManifests(a *app) *cobra.Command {
	o := &kustomizeManifestsOptions{}
	c := &cobra.Command{
		Use: "manifests", Short: "Write or update the base of the ClusterServiceVersion in config/manifests",
		Long: `Write or renew the base of the ClusterServiceVersion in config/manifests.

The base is the part of a bundle that people read: display name, description,
icon, maintainers. The first run writes it with texts to replace. Later runs
renew what the Go types say of the owned CRDs, from their comments and from
markers such as

  // +operator-sdk:csv:customresourcedefinitions:resources={{Deployment,v1,""}}
  // +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size"

and leave alone what you have written. Nothing is asked.`,
		Example: `  mysdk generate kustomize manifests

  # then edit the base, and make the bundle
  mysdk bundle generate --version 0.1.0`,
		RunE: func(c *cobra.Command, _ []string) error { return a.runKustomizeManifests(c.Context(), o) },
	}
	fs := c.Flags()
	fs.StringVar(&o.packageName, "package", "", "name of the package (default: the project's)")
	fs.StringVar(&o.inputDir, "input-dir", "", "directory with the kustomization and the base that are there (default: "+bundle.ManifestsConfigDir+")")
	fs.StringVar(&o.outputDir, "output-dir", "", "directory to write them to (default: "+bundle.ManifestsConfigDir+")")
	fs.StringVar(&o.apisDir, "apis-dir", "", "directory to look for Go types in (default: where PROJECT says they are)")
	fs.BoolVar(&o.interactive, "interactive", false, "no effect: what a base tells people is edited in its file")
	fs.BoolVar(&o.check, "check", false, "show a diff and exit with 3 if anything is out of date; write nothing")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	return c
}

// runKustomizeManifests writes the base, its record and the kustomization.
func (a *app) runKustomizeManifests(ctx context.Context, o *kustomizeManifestsOptions) error {
	p, done, err := a.loadProject()
	if done || err != nil {
		return err
	}
	if o.interactive {
		a.say("--interactive has no effect: edit the base instead")
	}
	set, m, err := a.baseOf(p, o)
	if err != nil {
		return err
	}
	file := bundle.BaseFile(cmp.Or(o.outputDir, bundle.ManifestsConfigDir), cmp.Or(o.packageName, p.Name))
	if o.check || o.dryRun {
		return a.diffSet(set, o.check, "mysdk generate kustomize manifests")
	}
	if set.Len() == 0 {
		a.say("Nothing to do: %s is up to date", file)
		return nil
	}
	if err := a.write(ctx, set, false); err != nil {
		return err
	}
	for _, name := range set.Paths() {
		a.say("wrote %s", name)
	}
	if todo := bundle.Placeholders(cmp.Or(o.packageName, p.Name), m.Base); len(todo) > 0 {
		a.say("Yours to write in %s: %s", file, strings.Join(todo, ", "))
	}
	a.say("Next: mysdk bundle generate --version 0.0.1")
	return nil
}

// baseOf renders the base of a project's CSV with the kustomization around it,
// as they should be.
func (a *app) baseOf(p *project.Project, o *kustomizeManifestsOptions) (set fileset.Set, m *bundle.Merged, err error) {
	from, err := a.below(cmp.Or(o.inputDir, bundle.ManifestsConfigDir), "--input-dir")
	if err != nil {
		return set, nil, err
	}
	to, err := a.below(cmp.Or(o.outputDir, bundle.ManifestsConfigDir), "--output-dir")
	if err != nil {
		return set, nil, err
	}
	apisDir, err := a.below(cmp.Or(o.apisDir, "api"), "--apis-dir")
	if err != nil {
		return set, nil, err
	}
	descriptions, warnings, err := bundle.Describe(os.DirFS(a.host.Dir), p.Repo, apisDir, apisOf(p, o.apisDir != ""))
	if err != nil {
		return set, nil, err
	}
	for _, w := range warnings {
		a.warn("%s", w)
	}
	s := bundle.Scaffold{Package: cmp.Or(o.packageName, p.Name), Namespaced: p.Namespaced, From: from, To: to, Read: a.readFile}
	set, m, err = s.Render(descriptions)
	if err != nil {
		return set, nil, err
	}
	for _, line := range m.Kept {
		if m.Unrecorded {
			a.say("%s: take it out of %s to have it follow the types", line, bundle.BaseFile(from, s.Package))
		} else {
			a.detail("%s", line)
		}
	}
	return set, m, nil
}

// apisOf are the APIs whose Go types the project has. search leaves out where
// PROJECT says that they are.
func apisOf(p *project.Project, search bool) []bundle.API {
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
			api.Dir = dir
		}
		list = append(list, api)
	}
	return list
}

// readFile reads a file of the project by its slash-separated name.
func (a *app) readFile(name string) ([]byte, error) {
	return a.host.Files.ReadFile(a.host.Path(filepath.FromSlash(name)))
}

// below makes the value of a flag a clean slash-separated path below the
// project: only there files are written.
func (a *app) below(dir, flag string) (string, error) {
	rel, err := filepath.Rel(a.host.Dir, a.host.Path(filepath.FromSlash(dir)))
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", clierr.Usagef("name a directory below this one", "%s %s: it does not lie below %s", flag, dir, a.host.Dir)
	}
	return path.Clean(filepath.ToSlash(rel)), nil
}

// diffSet prints what would change; with check it is an error that there is
// anything. command is what to type then.
func (a *app) diffSet(set fileset.Set, check bool, command string) error {
	diff, err := a.tree().Diff(set)
	if err != nil {
		return err
	}
	changed, err := a.tree().Changed(set)
	if err := errors.Join(err, a.print(diff)); err != nil {
		return err
	}
	if !check || changed.Len() == 0 {
		return nil
	}
	return clierr.OutOfDatef("run '"+command+"' and commit the result", "out of date: %s", strings.Join(changed.Paths(), ", "))
}
