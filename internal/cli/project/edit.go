package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
)

// editOptions are the flags of edit. Nil is for those that were not typed.
type editOptions struct {
	multigroup, namespaced      *bool
	domain                      *string
	license, licenseFile, owner *string
	force, dryRun               bool
}

// NewEdit is 'mysdk edit'.
func NewEdit(f *cli.Factory) *cobra.Command {
	o := &editOptions{}
	var multigroup, namespaced bool
	var domain, license, licenseFile, owner string
	c := &cobra.Command{
		Use: "edit", Short: "Change the project's layout, scope, domain or license header", GroupID: "write",
		Long: `Change the project's layout, scope, domain or license header.

--multigroup moves api/<version> to api/<group>/<version> and the controllers
and webhooks likewise, and rewrites every import of them. --namespaced gives
the manager a Role in place of a ClusterRole, and WATCH_NAMESPACE; both can be
taken back with =false. --domain is for a project that has no API yet, as APIs
have it in their names. Files of yours move along, and what you have written
into scaffolded files stays: where your lines conflict, nothing is
written and they are listed.`,
		Example: `  # make room for a second API group
  mysdk edit --multigroup

  # an operator that works in its own namespace only, and back
  mysdk edit --namespaced
  mysdk edit --namespaced=false

  # the API groups to come end in example.org
  mysdk edit --domain example.org

  # put a name on the license header of every file
  mysdk edit --owner "Acme Inc"`,
		RunE: func(c *cobra.Command, _ []string) error { return runEdit(c.Context(), f, o) },
	}
	fs := c.Flags()
	fs.BoolVar(&multigroup, "multigroup", false, "lay out APIs by group; false: by version only, for projects with one group")
	fs.BoolVar(&namespaced, "namespaced", false, "restrict the manager to namespaces; false: to none")
	fs.StringVar(&domain, "domain", "", "domain of the project's API groups; before the first API only")
	fs.StringVar(&license, "license", "", "license header of Go files: apache2 or none")
	fs.StringVar(&licenseFile, "license-file", "", "file with the license header to use, a Go comment")
	fs.StringVar(&owner, "owner", "", "name in the copyright line of the license header")
	fs.BoolVar(&o.force, "force", false, "change what can be changed, and only list your lines that conflict")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	steps := f.Joined(c, "edit")
	if steps != nil {
		project.BindFlags(steps, fs)
	}
	c.PreRunE = func(*cobra.Command, []string) error {
		o.multigroup, o.namespaced = typed(f, "multigroup", &multigroup), typed(f, "namespaced", &namespaced)
		o.domain = typed(f, "domain", &domain)
		o.license, o.licenseFile, o.owner = typed(f, "license", &license), typed(f, "license-file", &licenseFile), typed(f, "owner", &owner)
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
	switch {
	case !plugins && o.multigroup == nil && o.namespaced == nil && o.domain == nil && o.license == nil && o.licenseFile == nil && o.owner == nil:
		return clierr.Usagef("such as: mysdk edit --multigroup", "no changes requested")
	case o.licenseFile != nil && (o.license != nil || o.owner != nil):
		return clierr.Usagef("leave out --license and --owner", "--license-file brings the whole header")
	case o.licenseFile != nil && *o.licenseFile == "":
		return clierr.Usagef("give the path of a file, or --license none", "the license file's name is empty")
	case o.license != nil && *o.license == "none" && o.owner != nil:
		return clierr.Usagef("leave out --owner", "--license none has no line for an owner")
	}
	return nil
}

func runEdit(ctx context.Context, f *cli.Factory, o *editOptions) error {
	p, done, err := f.LoadProject()
	if done || err != nil {
		return err
	}
	if err := checkLayout(f, p); err != nil {
		return err
	}
	s, err := openScaffold(f, p)
	if err != nil {
		return err
	}
	if err := s.editHeader(o); err != nil {
		return err
	}
	if err := s.editLayout(o); err != nil {
		return err
	}
	return commitScaffold(ctx, f, s, o.force, o.dryRun)
}

// scaffold is a project whose scaffold is to change.
type scaffold struct {
	app      *cli.Factory
	file     *project.File
	project  *project.Project
	tree     *relayout.Tree
	header   []byte // license header
	problems []relayout.Problem
	notes    []string
}

const headerPath = "hack/boilerplate.go.txt"

func openScaffold(f *cli.Factory, p *project.Project) (*scaffold, error) {
	file, err := project.Load(f.Host.Dir)
	if err != nil {
		return nil, err
	}
	s := &scaffold{app: f, file: file, project: p, tree: relayout.NewTree(f.Host.Files, f.Host.Dir)}
	s.header, _, err = s.tree.Read(headerPath)
	return s, err
}

// editHeader replaces the license header in every file that has it.
func (s *scaffold) editHeader(o *editOptions) error {
	if o.license == nil && o.licenseFile == nil && o.owner == nil {
		return nil
	}
	header, err := s.newHeader(o)
	if err != nil {
		return err
	}
	old := string(s.header)
	if strings.TrimSpace(old) == strings.TrimSpace(string(header)) {
		return nil
	}
	s.header = header
	if len(header) == 0 {
		err = s.tree.Remove(headerPath)
	} else {
		err = s.tree.Write(headerPath, header)
	}
	if err != nil {
		return err
	}
	return s.tree.EachGo(func(name string, src []byte) error {
		return s.tree.Write(name, relayout.ReplaceHeader(src, old, string(header)))
	})
}

// newHeader renders the license header that the flags ask for. What they do
// not say is as in the old one.
func (s *scaffold) newHeader(o *editOptions) ([]byte, error) {
	plugin := s.app.GoPlugin()
	if o.licenseFile != nil {
		return s.file.Header(plugin, map[string]string{"license-file": *o.licenseFile})
	}
	was := relayout.ReadCopyright(string(s.header))
	if year, err := strconv.Atoi(was.Year); err == nil {
		plugin.Year = year
	}
	apache := func(owner string) ([]byte, error) {
		return s.file.Header(plugin, map[string]string{"license": "apache2", "owner": owner})
	}
	owner := was.Owner
	if o.owner != nil {
		owner = *o.owner
	}
	switch {
	case o.license != nil && *o.license != "apache2":
		return s.file.Header(plugin, map[string]string{"license": *o.license})
	case o.license == nil:
		now, err := apache(was.Owner)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(string(now)) != strings.TrimSpace(string(s.header)) {
			return nil, clierr.Failedf("add --license apache2, or write the header yourself and give it with --license-file",
				"the header in %s is not that of the license apache2, and has no place for an owner", headerPath)
		}
	}
	return apache(owner)
}

// editLayout switches between the layouts and the scopes.
func (s *scaffold) editLayout(o *editOptions) error {
	shape := project.Shape{}
	if o.multigroup != nil && *o.multigroup != s.project.MultiGroup {
		shape.MultiGroup = o.multigroup
	}
	if o.namespaced != nil && *o.namespaced != s.project.Namespaced {
		shape.Namespaced = o.namespaced
	}
	if o.domain != nil && *o.domain != s.project.Domain {
		shape.Domain = o.domain
	}
	if err := errors.Join(s.checkGroups(shape), s.checkScopes(shape), s.checkDomain(shape)); err != nil {
		return err
	}
	if o.multigroup == nil && shape.Namespaced == nil && shape.Domain == nil {
		return nil
	}
	before, err := s.render(s.file, nil)
	if err != nil {
		return err
	}
	runs, mixed := before.Runs, false
	if o.multigroup != nil && *o.multigroup {
		// What was scaffolded before the project got this layout moves too.
		runs, mixed = runs.ByGroup()
	}
	if shape.MultiGroup == nil && shape.Namespaced == nil && shape.Domain == nil && !mixed {
		return nil
	}
	return s.reshape(shape, before, runs, o.force)
}

// reshape carries a change of the layout or scope over to the project.
func (s *scaffold) reshape(shape project.Shape, before *project.Pristine, runs project.Runs, force bool) error {
	file, err := s.file.Reshape(shape)
	if err != nil {
		return err
	}
	after, err := s.render(file, runs)
	if err != nil {
		return err
	}
	change := relayout.Change{
		Module: s.project.Repo, Before: before.Files, After: after.Files,
		Moves: project.Moves(before, after), Adjust: s.markers(shape), Force: force,
	}
	if err := s.carry(change); err != nil {
		return err
	}
	if shape.Namespaced != nil {
		if err := s.installModes(*shape.Namespaced); err != nil {
			return err
		}
		if *shape.Namespaced {
			if err := s.noteClusterRules(after.Files); err != nil {
				return err
			}
		}
	}
	return s.record(file, project.Shape{Paths: paths(s.project.Repo, change.Moves)})
}

// checkGroups refuses to give up the layout by group that a project needs.
func (s *scaffold) checkGroups(shape project.Shape) error {
	if shape.MultiGroup == nil || *shape.MultiGroup {
		return nil
	}
	groups := map[string]bool{}
	for _, r := range s.project.Resources {
		groups[r.QualifiedGroup()] = true
	}
	if len(groups) < 2 {
		return nil
	}
	return clierr.Failedf("delete the APIs of all groups but one first, with 'mysdk delete api'",
		"the project has %d groups (%s), and a single-group layout has room for one",
		len(groups), strings.Join(slices.Sorted(maps.Keys(groups)), ", "))
}

// checkDomain refuses a domain that cannot be, and one that would leave APIs
// with another.
func (s *scaffold) checkDomain(shape project.Shape) error {
	if shape.Domain == nil {
		return nil
	}
	if err := project.CheckDomain(*shape.Domain); err != nil {
		return err
	}
	if len(s.project.Resources) == 0 {
		return nil
	}
	return clierr.Failedf("delete the APIs first, with 'mysdk delete api', or start a project of its own for the new domain",
		"the project's APIs have the domain %s in their names", s.project.Domain)
}

// checkScopes refuses to restrict a manager to namespaces that has to see
// objects outside of them.
func (s *scaffold) checkScopes(shape project.Shape) error {
	if shape.Namespaced == nil || !*shape.Namespaced {
		return nil
	}
	for _, r := range s.project.Resources {
		if r.API && !r.Namespaced {
			return clierr.Failedf("delete the kind first, or leave the manager as it is",
				"kind %s is cluster-scoped, and a manager that is restricted to namespaces cannot see it", r.Kind)
		}
	}
	return nil
}

// render writes the scaffold of a project again, in memory.
func (s *scaffold) render(f *project.File, runs project.Runs) (*project.Pristine, error) {
	return f.Render(s.app.Scaffolder, s.header, runs, func(name string) []byte {
		data, _, err := s.tree.Read(name)
		if err != nil {
			return nil // as good as none: it only cannot be compared
		}
		return data
	})
}

func (s *scaffold) carry(change relayout.Change) error {
	problems, err := change.Carry(s.tree)
	s.problems = append(s.problems, problems...)
	return err
}

// markers is what a change of the scope does to the RBAC markers.
func (s *scaffold) markers(shape project.Shape) func(string, []byte) []byte {
	if shape.Namespaced == nil {
		return nil
	}
	namespace := s.project.Name + "-system"
	return func(name string, src []byte) []byte {
		if !*shape.Namespaced {
			return relayout.WidenMarkers(src, namespace)
		}
		src, _ = relayout.RestrictMarkers(name, src, namespace)
		return src
	}
}

// noteClusterRules reports the user's rules that no Role can hold. The
// scaffold's own have a ClusterRole.
func (s *scaffold) noteClusterRules(scaffolded map[string][]byte) error {
	return s.tree.EachGo(func(name string, src []byte) error {
		_, known := relayout.RestrictMarkers(name, scaffolded[name], "")
		_, notes := relayout.RestrictMarkers(name, src, "")
		s.notes = append(s.notes, slices.DeleteFunc(notes, func(n string) bool { return slices.Contains(known, n) })...)
		return nil
	})
}

// installModes rewrites them in the bases of the project's bundle, if it has
// any.
func (s *scaffold) installModes(namespaced bool) error {
	names, err := s.tree.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if path.Dir(name) != "config/manifests/bases" || !strings.HasSuffix(name, ".clusterserviceversion.yaml") {
			continue
		}
		data, _, err := s.tree.Read(name)
		if err != nil {
			return err
		}
		if err := s.tree.Write(name, relayout.InstallModes(data, namespaced)); err != nil {
			return err
		}
	}
	return nil
}

// paths maps the import paths of API packages to what they become.
func paths(repo string, moves map[string]string) map[string]string {
	out := map[string]string{}
	for from, to := range moves {
		if strings.HasPrefix(from, "api/") {
			out[path.Join(repo, path.Dir(from))] = path.Join(repo, path.Dir(to))
		}
	}
	return out
}

// record puts PROJECT, after one more change, into the tree.
func (s *scaffold) record(f *project.File, shape project.Shape) error {
	f, err := f.Reshape(shape)
	if err != nil {
		return err
	}
	data, err := f.Bytes()
	if err != nil {
		return err
	}
	return s.tree.Write(project.FileName, data)
}

// commitScaffold generates, and commits everything at once, unless something
// of the user's conflicts.
func commitScaffold(ctx context.Context, f *cli.Factory, s *scaffold, force, dryRun bool) error {
	if err := inTheWayOf(f, s, force); err != nil {
		return err
	}
	set, err := f.EditByPlugins(s.tree.Set())
	if err != nil {
		return err
	}
	if set, err = f.Tree().Changed(set); err != nil {
		return err
	}
	if set.Len() == 0 {
		f.Say("Nothing to do: the project is up to date")
		return nil
	}
	if err := f.Check(set); err != nil {
		return err
	}
	if len(s.project.Resources) > 0 {
		if set, err = generateInto(ctx, f, set); err != nil {
			return clierr.WithHint(fmt.Errorf("nothing was written: %w", err), "correct that first: the code must compile with the change")
		}
	}
	if set, err = f.Tree().Changed(set); err != nil {
		return err
	}
	if err := f.Write(ctx, set, dryRun); err != nil || dryRun {
		return err
	}
	reportScaffold(f, s, set)
	return nil
}

// inTheWayOf refuses the change, or with force lists what is left to do.
func inTheWayOf(f *cli.Factory, s *scaffold, force bool) error {
	if len(s.problems) == 0 {
		return nil
	}
	if force {
		for _, p := range s.problems {
			f.Warn("%s", p)
		}
		return nil
	}
	list := make([]string, len(s.problems))
	for i, p := range s.problems {
		list[i] = "  " + p.String()
	}
	return clierr.Failedf("undo your change there and make it again afterwards, or add --force: your lines stay, files that go are lost",
		"nothing was written, because of what is not as mysdk wrote it:\n%s", strings.Join(list, "\n"))
}

func reportScaffold(f *cli.Factory, s *scaffold, set fileset.Set) {
	written, removed := 0, 0
	for _, name := range set.Paths() {
		if file, _ := set.Get(name); file.Removed {
			removed++
			f.Detail("  removed %s", name)
			continue
		}
		written++
		f.Detail("  wrote %s", name)
	}
	f.Say("Wrote %d files, removed %d", written, removed)
	for _, n := range s.notes {
		f.Warn("%s", n)
	}
	f.Say("Next: mysdk test")
}
