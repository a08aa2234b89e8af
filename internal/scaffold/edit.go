package scaffold

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// License is a license header, by the flags of init. Nil fields are as they
// were.
type License struct{ Name, File, Owner *string }

// SetLicense replaces the license header in every file that has it.
func (s *Scaffold) SetLicense(l License) error {
	if l == (License{}) {
		return nil
	}
	header, err := s.newHeader(l)
	if err != nil {
		return err
	}
	old := string(s.header)
	if strings.TrimSpace(old) == strings.TrimSpace(string(header)) {
		return nil
	}
	s.header = header
	if len(header) == 0 {
		err = s.tree.Remove(project.HeaderFile)
	} else {
		err = s.tree.Write(project.HeaderFile, header)
	}
	if err != nil {
		return err
	}
	return s.tree.EachGo(func(name string, src []byte) error {
		// kubebuilder's header file says YEAR where its files have the year.
		year := " " + cmp.Or(relayout.ReadCopyright(string(src)).Year, strconv.Itoa(s.plugin.Year))
		in := func(header string) string { return strings.ReplaceAll(header, " YEAR", year) }
		return s.tree.Write(name, relayout.ReplaceHeader(src, in(old), in(string(header))))
	})
}

// newHeader renders a license header. What is not given is as in the old one.
func (s *Scaffold) newHeader(l License) ([]byte, error) {
	plugin := s.plugin
	if l.File != nil {
		return s.file.Header(plugin, map[string]string{"license-file": *l.File})
	}
	was := relayout.ReadCopyright(string(s.header))
	if year, err := strconv.Atoi(was.Year); err == nil {
		plugin.Year = year
	}
	apache := func(owner string) ([]byte, error) {
		header, err := s.file.Header(plugin, map[string]string{"license": "apache2", "owner": owner})
		if was.Year == "YEAR" {
			header = bytes.Replace(header, []byte(" "+strconv.Itoa(plugin.Year)), []byte(" YEAR"), 1)
		}
		return header, err
	}
	owner := was.Owner
	if l.Owner != nil {
		owner = *l.Owner
	}
	switch {
	case l.Name != nil && *l.Name != "apache2":
		return s.file.Header(plugin, map[string]string{"license": *l.Name})
	case l.Name == nil:
		now, err := apache(was.Owner)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(string(now)) != strings.TrimSpace(string(s.header)) {
			return nil, clierr.Failedf("add --license apache2, or write the header yourself and give it with --license-file",
				"the header in %s is not that of the license apache2, and has no place for an owner", project.HeaderFile)
		}
	}
	return apache(owner)
}

// Layout is what can change of a whole project. Nil fields stay as they are.
type Layout struct {
	MultiGroup, Namespaced *bool
	Domain                 *string
}

// SetLayout switches between the layouts, the scopes and the domains.
func (s *Scaffold) SetLayout(l Layout) error {
	shape := project.Shape{}
	if l.MultiGroup != nil && *l.MultiGroup != s.project.MultiGroup {
		shape.MultiGroup = l.MultiGroup
	}
	if l.Namespaced != nil && *l.Namespaced != s.project.Namespaced {
		shape.Namespaced = l.Namespaced
	}
	if l.Domain != nil && *l.Domain != s.project.Domain {
		shape.Domain = l.Domain
	}
	if err := errors.Join(s.checkGroups(shape), s.checkScopes(shape), s.checkDomain(shape)); err != nil {
		return err
	}
	if l.MultiGroup == nil && shape.Namespaced == nil && shape.Domain == nil {
		return nil
	}
	shape.MultiGroup = l.MultiGroup // what was scaffolded before the project got its layout moves too
	return s.reshape(shape)
}

// reshape carries a change of the layout or scope over to the project.
func (s *Scaffold) reshape(shape project.Shape) error {
	file, err := s.file.Reshape(shape)
	if err != nil {
		return err
	}
	before, after, err := s.replays(file)
	if err != nil {
		return err
	}
	moves := project.Moves(before, after)
	change := relayout.Change{
		Module: s.project.Repo, Before: before.Files, After: after.Files, Moves: moves,
		Adjust: s.markers(shape, before.Files, after.Files), Force: s.force,
	}
	if err := s.carry(change); err != nil {
		return err
	}
	s.noteRenamed(moves, before.Files, after.Files)
	if shape.Namespaced != nil {
		if err := s.installModes(*shape.Namespaced); err != nil {
			return err
		}
		if err := s.noteRules(shape, after.Files); err != nil {
			return err
		}
	}
	return s.record(file)
}

// clusterName matches what controllers, field owners and roles are called in clusters.
var clusterName = lazy.Delayed(`(?m)(?:\b(?:FieldOwner|Named)\("|^  name: )([\w.-]+)`)

// noteRenamed tells which of these names another layout changes.
func (s *Scaffold) noteRenamed(moves map[string]string, before, after map[string][]byte) {
	var renamed []string
	for _, name := range slices.Sorted(maps.Keys(moves)) {
		is := clusterName.FindAllStringSubmatch(string(after[moves[name]]), -1)
		for i, was := range clusterName.FindAllStringSubmatch(string(before[name]), -1) {
			if i < len(is) && was[1] != is[i][1] {
				renamed = append(renamed, was[1]+" to "+is[i][1])
			}
		}
	}
	if len(renamed) > 0 {
		s.Notes = append(s.Notes, "the layout renames "+strings.Join(renamed, ", ")+
			": if the operator is deployed already, change its field owners back, and delete the old roles")
	}
}

// checkGroups refuses to give up the layout by group that a project needs.
func (s *Scaffold) checkGroups(shape project.Shape) error {
	if shape.MultiGroup == nil || *shape.MultiGroup {
		return nil
	}
	groups := map[string]bool{}
	for _, r := range s.project.Resources {
		if r.API {
			groups[r.QualifiedGroup()] = true
		}
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
func (s *Scaffold) checkDomain(shape project.Shape) error {
	if shape.Domain == nil {
		return nil
	}
	if err := project.CheckDomain(*shape.Domain); err != nil {
		return err
	}
	if !slices.ContainsFunc(s.project.Resources, func(r project.Resource) bool { return r.API }) {
		return nil
	}
	return clierr.Failedf("delete the APIs first, with 'mysdk delete api', or start a project of its own for the new domain",
		"the project's APIs have the domain %s in their names", s.project.Domain)
}

// checkScopes refuses to restrict a manager to namespaces that has to see
// objects outside of them.
func (s *Scaffold) checkScopes(shape project.Shape) error {
	if shape.Namespaced == nil || !*shape.Namespaced {
		return nil
	}
	for _, r := range s.project.Resources {
		if r.API && !r.Namespaced || r.Controller && v4.ClusterScoped(r.Group, r.Domain, r.Kind) {
			return clierr.Failedf("delete the kind first, or leave the manager as it is",
				"kind %s is cluster-scoped, and a manager that is restricted to namespaces cannot see it", r.Kind)
		}
	}
	return nil
}

// markers is what a change of the scope does to the RBAC markers. Files that are
// restricted in either scope stay so.
func (s *Scaffold) markers(shape project.Shape, before, after map[string][]byte) func(string, []byte) []byte {
	if shape.Namespaced == nil {
		return nil
	}
	restricted := []byte(",namespace=")
	return func(name string, src []byte) []byte {
		if bytes.Contains(before[name], restricted) && bytes.Contains(after[name], restricted) {
			return src
		}
		src, _ = rescope(shape)(name, src, s.project.SystemNamespace())
		return src
	}
}

// rescope changes the markers of rules to the shape's scope.
func rescope(shape project.Shape) func(name string, src []byte, namespace string) (out []byte, notes []string) {
	if *shape.Namespaced {
		return relayout.RestrictMarkers
	}
	return relayout.WidenMarkers
}

// noteRules reports the user's rules that no Role can hold, or that stay in one. The
// scaffold's own have a ClusterRole.
func (s *Scaffold) noteRules(shape project.Shape, scaffolded map[string][]byte) error {
	return s.tree.EachGo(func(name string, src []byte) error {
		_, known := rescope(shape)(name, scaffolded[name], s.project.SystemNamespace())
		_, notes := rescope(shape)(name, src, s.project.SystemNamespace())
		s.Notes = append(s.Notes, slices.DeleteFunc(notes, func(n string) bool { return slices.Contains(known, n) })...)
		return nil
	})
}

// installModes rewrites them in the bases of the project's bundle, if it has
// any.
func (s *Scaffold) installModes(namespaced bool) error {
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
