package project

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// Shape is a change of what PROJECT has about the whole project. Nil fields leave
// things as they are; a layout is also that of the paths of the project's types.
type Shape struct {
	MultiGroup, Namespaced *bool
	Domain                 *string             // of a project without resources: theirs is part of their names
	Remove                 func(Resource) bool // entries that go, with what plugins record of them

	// Webhooks names those of an entry that go: "defaulting", "validation" and
	// "conversion". An entry of which nothing else is left goes too.
	Webhooks func(Resource) []string
}

// Reshape returns the file with the change made in it. Everything else stays
// as it stands there, comments and unknown fields included.
func (f *File) Reshape(s Shape) (*File, error) {
	return f.edited(func(top *yaml.Node) error {
		for key, value := range map[string]*bool{"multigroup": s.MultiGroup, "namespaced": s.Namespaced} {
			if value != nil && !*value {
				yamledit.Remove(top, key)
			} else if value != nil {
				if err := setKey(top, key, true); err != nil {
					return err
				}
			}
		}
		if s.Domain != nil {
			if err := setKey(top, "domain", *s.Domain); err != nil {
				return err
			}
		}
		return f.reshapeResources(top, s)
	})
}

// reshapeResources edits the entries where they are in the file, so that comments
// and keys which mysdk does not know stay with them.
func (f *File) reshapeResources(top *yaml.Node, s Shape) error {
	entries := f.entries()
	list, err := listOf(top, entries)
	if list == nil {
		return err
	}
	var keep []*yaml.Node
	gone, dropped := map[string]bool{}, map[string][]string{}
	for i, n := range list.Content {
		cut, err := s.cutWebhooks(entries[i], n)
		if err != nil {
			return err
		}
		if cut || s.Remove != nil && s.Remove(view(entries[i].Resource)) {
			gone[entries[i].id] = true
			forgetSpoke(list.Content, entries, entries[i])
			continue
		}
		if keep = append(keep, n); s.Webhooks != nil {
			dropped[entries[i].id] = s.Webhooks(view(entries[i].Resource))
		}
		if err := s.setPath(f.config.Repository, entries[i], n); err != nil {
			return err
		}
	}
	if list.Content = keep; len(keep) == 0 {
		yamledit.Remove(top, "resources")
	}
	forget(yamledit.Value(top, "plugins"), gone, dropped)
	return nil
}

// listOf is the list that has the entries, nil where there is none. An alias has nothing
// of its own: with it, all of them would seem to be gone.
func listOf(top *yaml.Node, entries []entry) (*yaml.Node, error) {
	list := yamledit.Value(top, "resources")
	if list != nil && len(list.Content) != len(entries) {
		return nil, clierr.Failedf("write the list in its place",
			"%s:%d: resources is an alias, and cannot be changed", FileName, list.Line)
	}
	return list, nil
}

// HandOver returns the file with the controllers of a version that is to go in the last
// other version of its kind, unless one of these has controllers: one controller serves
// all versions. What the plugin called key records of the one, from which the controller
// was made, is then recorded of the other one, too.
func (f *File) HandOver(r Resource, key string) (*File, error) {
	entries := f.entries()
	from, to := -1, -1
	for i, e := range entries {
		switch {
		case view(e.Resource) == r:
			from = i
		case !e.HasAPI() || e.QualifiedGroup() != r.QualifiedGroup() || e.Kind != r.Kind:
		case len(e.controllers()) > 0:
			return f, nil
		default:
			to = i
		}
	}
	if from < 0 || to < 0 || len(entries[from].controllers()) == 0 {
		return f, nil
	}
	return f.edited(func(top *yaml.Node) error {
		list, err := listOf(top, entries)
		if err != nil {
			return err
		}
		for _, field := range []string{"controller", "controllers"} {
			if value := yamledit.Value(list.Content[from], field); value != nil {
				yamledit.Remove(list.Content[from], field)
				if err := setKey(list.Content[to], field, value); err != nil {
					return err
				}
			}
		}
		records := yamledit.Value(yamledit.Value(yamledit.Value(top, "plugins"), key), "resources")
		return copyRecord(records, entries[from], entries[to])
	})
}

// copyRecord gives a version what a plugin's list has of another one, unless it has
// something of its own there.
func copyRecord(list *yaml.Node, from, to entry) error {
	if list == nil {
		return nil
	}
	var record map[string]any
	for _, n := range list.Content {
		var fields map[string]any
		if err := n.Decode(&fields); err != nil || identity(fields) == to.id {
			return err
		}
		if identity(fields) == from.id {
			record = fields
		}
	}
	if record == nil {
		return nil
	}
	record["version"] = to.Version
	n, err := encode(record)
	list.Content = append(list.Content, n)
	return err
}

// setPath writes where the types of an entry are in the layout. Types of other
// modules, and those that the user keeps in a place of his own, stay there.
func (s Shape) setPath(repo string, e entry, n *yaml.Node) error {
	if s.MultiGroup == nil || !e.HasAPI() || e.Path != resource.APIPackagePath(repo, e.Group, e.Version, !*s.MultiGroup) {
		return nil
	}
	return setKey(n, "path", resource.APIPackagePath(repo, e.Group, e.Version, *s.MultiGroup))
}

// forget takes resources, and webhooks of resources, out of what plugins record
// of them: each has a list of that name, as PROJECT itself has.
func forget(plugins *yaml.Node, gone map[string]bool, dropped map[string][]string) {
	if plugins == nil {
		return
	}
	for i := len(plugins.Content) - 1; i > 0; i -= 2 {
		list := yamledit.Value(plugins.Content[i], "resources")
		if list == nil || list.Kind != yaml.SequenceNode {
			continue
		}
		was := len(list.Content)
		list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool {
			var fields map[string]any
			if n.Decode(&fields) != nil {
				return false // no resource
			}
			return gone[identity(fields)] || forgetRuns(n, dropped[identity(fields)])
		})
		if was == 0 || len(list.Content) > 0 {
			continue
		}
		if yamledit.Remove(plugins.Content[i], "resources"); len(plugins.Content[i].Content) == 0 {
			plugins.Content = slices.Delete(plugins.Content, i-1, i+1)
		}
	}
}

// forgetSpoke takes a version that goes out of those that its kind converts.
func forgetSpoke(nodes []*yaml.Node, entries []entry, gone entry) {
	for i, e := range entries {
		if e.QualifiedGroup() != gone.QualifiedGroup() || e.Kind != gone.Kind {
			continue
		}
		webhooks := yamledit.Value(nodes[i], "webhooks")
		spokes := yamledit.Value(webhooks, "spoke")
		if spokes == nil {
			continue
		}
		spokes.Content = slices.DeleteFunc(spokes.Content, func(n *yaml.Node) bool { return n.Value == gone.Version })
		if len(spokes.Content) == 0 {
			yamledit.Remove(webhooks, "spoke")
		}
	}
}

// forgetRuns takes webhooks out of the runs of create webhook that are recorded
// of a resource, and says whether nothing but its name is left.
func forgetRuns(n *yaml.Node, webhooks []string) (empty bool) {
	runs := yamledit.Value(n, "webhooks")
	if runs == nil || len(webhooks) == 0 {
		return false
	}
	runs.Content = slices.DeleteFunc(runs.Content, func(run *yaml.Node) bool {
		for _, name := range webhooks {
			yamledit.Remove(run, name)
			if name == "conversion" {
				yamledit.Remove(run, "migrateStorage")
			}
		}
		return !slices.ContainsFunc(webhookFlags(), func(w webhookFlag) bool { return yamledit.Value(run, w.field) != nil })
	})
	if len(runs.Content) > 0 {
		return false
	}
	yamledit.Remove(n, "webhooks")
	return yamledit.Value(n, "pattern") == nil && yamledit.Value(n, "from") == nil
}

// cutWebhooks takes webhooks out of an entry and says whether nothing is left
// of it.
func (s Shape) cutWebhooks(e entry, n *yaml.Node) (gone bool, err error) {
	if s.Webhooks == nil {
		return false, nil
	}
	drop := s.Webhooks(view(e.Resource))
	if len(drop) == 0 {
		return false, nil
	}
	if left := dropWebhooks(e.fields, drop); left != nil {
		return false, setKey(n, "webhooks", left)
	}
	yamledit.Remove(n, "webhooks")
	return !e.HasAPI() && !e.Controller, nil
}

// Moves pairs the files of two renderings of the same project that lie at
// different places: those that the same entry of PROJECT added, by their names.
func Moves(before, after *Replayed) map[string]string {
	out := map[string]string{}
	for _, step := range before.Steps {
		i := slices.IndexFunc(after.Steps, func(s Step) bool { return s.ID == step.ID })
		if i < 0 {
			continue
		}
		for _, name := range step.Files {
			if _, stays := after.Files[name]; stays {
				continue
			}
			if to, ok := counterpart(name, step, after.Steps[i]); ok {
				out[name] = to
			}
		}
	}
	return out
}

// counterpart finds the file that has the same part in another layout: below
// the same directory, with the same name but for the group's in it, and of the
// same version where several have it.
func counterpart(name string, from, to Step) (string, bool) {
	top := func(name string) string {
		parts := strings.Split(name, "/")
		depth := 2 // config/rbac, internal/controller
		if parts[0] == "api" {
			depth = 1
		}
		return strings.Join(parts[:min(depth, len(parts)-1)], "/")
	}
	same := func(a, b string) bool { return a == b || a == from.Group+"_"+b || b == from.Group+"_"+a }
	best := ""
	for _, candidate := range to.Files {
		if top(candidate) != top(name) || !same(path.Base(candidate), path.Base(name)) || slices.Contains(from.Files, candidate) {
			continue
		}
		if path.Base(path.Dir(candidate)) == path.Base(path.Dir(name)) {
			return candidate, true
		}
		best = candidate
	}
	return best, best != ""
}

// Webhooks lists the webhooks of a resource: "defaulting", "validation" and
// "conversion".
func (f *File) Webhooks(r Resource) (out []string) {
	for _, e := range f.entries() {
		for _, w := range webhookFlags() {
			if view(e.Resource) == r && e.webhookPart(w) != nil {
				out = append(out, w.field)
			}
		}
	}
	return out
}

// Header renders the license header that the plugin's init makes under the
// given flags, empty for none.
func (f *File) Header(p Scaffolder, flags map[string]string) ([]byte, error) {
	at, err := f.start(p, flags)
	return at.files[HeaderFile], err
}
