package project

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Shape is a change of what PROJECT says of the whole project. Nil fields and
// empty maps leave things as they are.
type Shape struct {
	MultiGroup, Namespaced *bool
	Domain                 *string             // of a project without resources: theirs is part of their names
	Remove                 func(Resource) bool // entries that go
	Paths                  map[string]string   // Go import path of types -> new one

	// Webhooks names those of an entry that go: "defaulting", "validation" and
	// "conversion". An entry of which nothing else is left goes too.
	Webhooks func(Resource) []string
}

// Reshape returns the file with the change made in it. Everything else stays
// as it stands there, comments and unknown fields included.
func (f *File) Reshape(s Shape) (*File, error) {
	data, err := f.Bytes()
	if err != nil {
		return nil, err
	}
	doc, err := document(data)
	if err != nil {
		return nil, err
	}
	top := doc.Content[0]
	for key, value := range map[string]*bool{"multigroup": s.MultiGroup, "namespaced": s.Namespaced} {
		switch {
		case value == nil:
		case *value:
			err = setKey(top, key, true)
		default:
			removeKey(top, key)
		}
		if err != nil {
			return nil, err
		}
	}
	if s.Domain != nil {
		if err := setKey(top, "domain", *s.Domain); err != nil {
			return nil, err
		}
	}
	if err := f.reshapeResources(top, s); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return Parse(out.Bytes())
}

func (f *File) reshapeResources(top *yaml.Node, s Shape) error {
	list := valueOf(top, "resources")
	if list == nil {
		return nil
	}
	entries, err := f.entries()
	if err != nil {
		return err
	}
	if len(entries) != len(list.Content) {
		return fmt.Errorf("%s: %d resources of %d can be read", FileName, len(entries), len(list.Content))
	}
	var keep []*yaml.Node
	for i, n := range list.Content {
		if s.Remove != nil && s.Remove(view(entries[i].Resource)) {
			continue
		}
		gone, err := s.cutWebhooks(entries[i], n)
		if err != nil {
			return err
		}
		if gone {
			continue
		}
		keep = append(keep, n)
		if to, ok := s.Paths[entries[i].Path]; ok {
			if err := setKey(n, "path", to); err != nil {
				return err
			}
		}
	}
	if list.Content = keep; len(keep) == 0 {
		removeKey(top, "resources")
	}
	return nil
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
	removeKey(n, "webhooks")
	return !e.HasAPI() && !e.Controller, nil
}

// Moves pairs the files of two renderings of the same project that lie at
// different places: those that the same entry of PROJECT added, by their names.
func Moves(before, after *Pristine) map[string]string {
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
	plain := func(name string) string {
		parts := strings.Split(name, "/")
		depth := 2 // config/rbac, internal/controller
		if parts[0] == "api" {
			depth = 1
		}
		return strings.Join(parts[:min(depth, len(parts)-1)], "/") + "/" + strings.Replace(path.Base(name), from.Group+"_", "", 1)
	}
	best := ""
	for _, candidate := range to.Files {
		if plain(candidate) != plain(name) || slices.Contains(from.Files, candidate) {
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
func (f *File) Webhooks(r Resource) ([]string, error) {
	entries, err := f.entries()
	var out []string
	for _, e := range entries {
		for _, w := range webhookFlags() {
			if view(e.Resource) == r && len(e.webhookPart(w.field)) > 0 {
				out = append(out, w.field)
			}
		}
	}
	return out, err
}

// Header renders the license header that the plugin's init makes under the
// given flags, empty for none.
func (f *File) Header(p Scaffolder, flags map[string]string) ([]byte, error) {
	at, err := f.start(p, flags)
	return at.files[headerFile], err
}
