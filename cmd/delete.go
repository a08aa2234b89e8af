package cmd

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
)

func newDelete(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "delete", Short: "Take back what create wrote", GroupID: "write",
		Example: "  mysdk delete api --group cache --version v1alpha1 --kind Memcached",
	}
	c.AddCommand(newDeleteAPI(a, a.runDeleteAPI))
	return c
}

// deleteOptions are the flags of the commands below delete.
type deleteOptions struct {
	group, version, kind string
	force, dryRun        bool
}

func (o *deleteOptions) bind(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&o.group, "group", "", "API group without the domain (default: that of the kind, if only one has it)")
	fs.StringVar(&o.version, "version", "", "API version (default: that of the kind, if it has only one)")
	fs.StringVar(&o.kind, "kind", "", "kind in CamelCase, such as Memcached")
	fs.BoolVar(&o.force, "force", false, "remove files that you have changed, too")
	fs.BoolVar(&o.dryRun, "dry-run", false, "print what would change as a unified diff and write nothing")
}

func newDeleteAPI(a *app, run func(context.Context, *deleteOptions) error) *cobra.Command {
	o := &deleteOptions{}
	c := &cobra.Command{
		Use: "api", Short: "Take back a kind's types, controller, tests, manifests and sample",
		Long: `Take back a kind's types, controller, tests, manifests and sample.

Everything that create api wrote for the kind goes: its files, its lines in
cmd/main.go and the kustomizations, its CRD, its rules in the manager's role
and its entry in PROJECT. What other kinds or versions need stays. Where you
have changed what would go, nothing is written and the files are listed.`,
		Example: `  # look first
  mysdk delete api --kind Memcached --dry-run

  # one version of several
  mysdk delete api --group cache --version v1alpha1 --kind Memcached`,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.bind(c)
	return c
}

func (a *app) runDeleteAPI(ctx context.Context, o *deleteOptions) error {
	p, done, err := a.loadProject()
	if done || err != nil {
		return err
	}
	if err := a.checkLayout(p); err != nil {
		return err
	}
	target, err := o.find(p)
	if err != nil {
		return err
	}
	if target == nil {
		a.say("Nothing to do: the project has no %s", o)
		return nil
	}
	s, err := a.openScaffold(p)
	if err != nil {
		return err
	}
	if err := s.deleteAPI(*target, o.force); err != nil {
		return err
	}
	return a.commitScaffold(ctx, s, o.force, o.dryRun)
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
func (o *deleteOptions) find(p *project.Project) (*project.Resource, error) {
	if o.kind == "" {
		return nil, clierr.Usagef("such as: mysdk delete api --group cache --version v1alpha1 --kind Memcached", "no --kind was given")
	}
	var found []project.Resource
	var kinds, choices []string
	for _, r := range p.Resources {
		kinds = append(kinds, r.Kind)
		if r.Kind == o.kind && (o.group == "" || r.Group == o.group) && (o.version == "" || r.Version == o.version) {
			found = append(found, r)
			choices = append(choices, fmt.Sprintf("--group %s --version %s", r.Group, r.Version))
		}
	}
	switch {
	case len(found) > 1:
		return nil, clierr.Usagef("use one of:\n"+strings.Join(choices, "\n"), "the project has %d resources of kind %s", len(found), o.kind)
	case len(found) == 1:
		return &found[0], nil
	}
	if near := clierr.Closest(o.kind, kinds); near != "" && near != o.kind {
		return nil, clierr.Usagef("did you mean --kind "+near+"?", "the project has no kind %s", o.kind)
	}
	return nil, nil
}

// deleteAPI takes a resource out of the scaffold.
func (s *scaffold) deleteAPI(target project.Resource, force bool) error {
	has, err := s.file.HasWebhooks(target)
	if err != nil {
		return err
	}
	if has {
		return clierr.Failedf(fmt.Sprintf("run 'mysdk delete webhook --group %s --version %s --kind %s' first", target.Group, target.Version, target.Kind),
			"%s/%s %s has webhooks", target.QualifiedGroup(), target.Version, target.Kind)
	}
	before, err := s.render(s.file, nil)
	if err != nil {
		return err
	}
	file, err := s.file.Reshape(project.Shape{Remove: func(r project.Resource) bool { return r == target }})
	if err != nil {
		return err
	}
	after, err := s.render(file, before.Runs)
	if err != nil {
		return err
	}
	change := relayout.Change{Module: s.project.Repo, Before: before.Files, After: after.Files, Force: force}
	if crd := s.lastCRD(target); crd != "" {
		change.Drop = append(change.Drop, crd)
	}
	if err := s.carry(change); err != nil {
		return err
	}
	if err := s.resetRole(after.Files[rolePath]); err != nil {
		return err
	}
	return s.record(file, project.Shape{})
}

// lastCRD is the file of the CRD that goes with the last version of a kind.
func (s *scaffold) lastCRD(target project.Resource) string {
	if !target.API {
		return ""
	}
	for _, r := range s.project.Resources {
		if r != target && r.API && r.QualifiedGroup() == target.QualifiedGroup() && r.Kind == target.Kind {
			return ""
		}
	}
	return fmt.Sprintf("config/crd/bases/%s_%s.yaml", target.QualifiedGroup(), target.Plural)
}

const rolePath = "config/rbac/role.yaml"

// resetRole makes the manager's role the empty one of the scaffold when no
// marker asks for anything: the generator then leaves the old one alone.
func (s *scaffold) resetRole(empty []byte) error {
	asked := false
	err := s.tree.EachGo(func(_ string, src []byte) error {
		asked = asked || bytes.Contains(src, []byte("+kubebuilder:rbac:"))
		return nil
	})
	if err != nil || asked || empty == nil {
		return err
	}
	_, there, err := s.tree.Read(rolePath)
	if err != nil || !there {
		return err
	}
	return s.tree.Write(rolePath, empty)
}
