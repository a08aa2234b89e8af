package run

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/catalog"
)

// compose puts a bundle into a catalog, over one of the same name, as the
// newest of a channel of its package. installed is the CSV that it is to take
// the place of, if there is one: it replaces that unless the channel leads
// there anyway. The catalog may be empty; other packages stay as they are.
func compose(c *catalog.Catalog, b *bundle.Bundle, channel, installed string) error {
	rendered, err := catalog.Render(b, "")
	if err != nil {
		return err
	}
	rendered.RelatedImages = nil // OLM reads them from the objects
	same := func(x catalog.Bundle) bool { return x.Package == b.Package && x.Name == b.Name() }
	c.Bundles = append(slices.DeleteFunc(c.Bundles, same), rendered)
	if !slices.ContainsFunc(c.Packages, func(p catalog.Package) bool { return p.Name == b.Package }) {
		c.Packages = append(c.Packages, catalog.Package{Schema: catalog.SchemaPackage, Name: b.Package, DefaultChannel: channel})
	}
	e := catalog.Entry{Name: b.Name(), Replaces: b.CSV.Spec.Replaces, Skips: b.CSV.Spec.Skips, SkipRange: b.CSV.Annotations[bundle.SkipRangeKey]}
	for i := range c.Channels {
		if c.Channels[i].Package == b.Package && c.Channels[i].Name == channel {
			dropNewer(c, &c.Channels[i], e.Name)
			c.Channels[i].Entries = enter(c.Channels[i].Entries, e, installed)
			return c.Check()
		}
	}
	c.Channels = append(c.Channels, catalog.Channel{Schema: catalog.SchemaChannel, Name: channel, Package: b.Package, Entries: enter(nil, e, installed)})
	return c.Check()
}

// dropNewer takes the entries that lead to the bundle named head out of its channel: it
// could not be the newest beside them, as when a run goes back from a version that does
// not work. Bundles that no other channel has go too, and so do their deprecations.
func dropNewer(c *catalog.Catalog, ch *catalog.Channel, head string) {
	before := ch.Entries
	newer := func(e catalog.Entry) bool { return e.Name != head && leadsTo(before, e, head) }
	ch.Entries = slices.DeleteFunc(slices.Clone(before), newer)
	gone := func(name string) bool {
		named := func(e catalog.Entry) bool { return e.Name == name }
		return slices.ContainsFunc(before, named) && !slices.ContainsFunc(c.Channels, func(x catalog.Channel) bool {
			return x.Package == ch.Package && slices.ContainsFunc(x.Entries, named)
		})
	}
	c.Bundles = slices.DeleteFunc(c.Bundles, func(b catalog.Bundle) bool { return b.Package == ch.Package && gone(b.Name) })
	for i, d := range c.Deprecations {
		if d.Package == ch.Package {
			c.Deprecations[i].Entries = slices.DeleteFunc(slices.Clone(d.Entries), func(e catalog.DeprecationEntry) bool {
				return e.Reference.Schema == catalog.SchemaBundle && gone(e.Reference.Name)
			})
		}
	}
}

// enter puts e into the entries of a channel as their head.
func enter(entries []catalog.Entry, e catalog.Entry, installed string) []catalog.Entry {
	if i := slices.IndexFunc(entries, func(old catalog.Entry) bool { return old.Name == e.Name }); i >= 0 {
		// What an earlier run has found for it to replace still holds.
		if e.Replaces == "" {
			had := entries[i].Skips
			more := slices.DeleteFunc(slices.Clone(e.Skips), func(name string) bool { return slices.Contains(had, name) })
			e.Replaces, e.Skips = entries[i].Replaces, append(slices.Clone(had), more...)
		}
		entries = slices.Delete(slices.Clone(entries), i, i+1)
	}
	switch {
	case installed == "" || installed == e.Name:
	case e.Replaces == "":
		e.Replaces = installed
	// It replaces something else, such as a version that was never installed
	// here. OLM upgrades from what an entry skips as well.
	case !leadsTo(entries, e, installed):
		e.Skips = append(slices.Clone(e.Skips), installed)
	}
	// Those from which no chain of updates leads to the head would be stranded,
	// and make the channel one that OLM refuses: they are skipped, as their
	// bundles are of no more use.
	stranded, _ := catalog.Channel{Entries: append(slices.Clone(entries), e)}.Stranded(e.Name)
	e.Skips = append(slices.Clone(e.Skips), stranded...)
	return append(entries, e)
}

// leadsTo reports whether e replaces or skips the bundle named target, itself
// or through the entries.
func leadsTo(entries []catalog.Entry, e catalog.Entry, target string) bool {
	seen := map[string]bool{}
	for at := e; !seen[at.Name]; {
		seen[at.Name] = true
		if at.Replaces == target || slices.Contains(at.Skips, target) {
			return true
		}
		i := slices.IndexFunc(entries, func(x catalog.Entry) bool { return x.Name == at.Replaces })
		if i < 0 {
			return false
		}
		at = entries[i]
	}
	return false
}

// keepFor drops the packages of a catalog that a bundle has nothing to do with:
// an index may have hundreds. What the bundle requires by name stays, what
// provides an API that it requires, and what those require in turn.
func keepFor(c *catalog.Catalog, b *bundle.Bundle) (*catalog.Catalog, error) {
	rendered, err := catalog.Render(b, "")
	if err != nil {
		return nil, err
	}
	keep := map[string]bool{b.Package: true}
	asked := map[string]bool{}
	for todo := rendered.Properties; len(todo) > 0; todo = todo[1:] {
		key := todo[0].Type + string(todo[0].Value)
		if asked[key] {
			continue
		}
		asked[key] = true
		for _, x := range c.Bundles {
			if keep[x.Package] || !provides(x, todo[0]) {
				continue
			}
			keep[x.Package] = true
			for _, same := range c.Bundles {
				if same.Package == x.Package {
					todo = append(todo, same.Properties...)
				}
			}
		}
	}
	return c.Only(func(pkg string) bool { return keep[pkg] }), nil
}

// provides reports whether the bundle x satisfies a requirement of another.
func provides(x catalog.Bundle, requirement catalog.Property) bool {
	switch requirement.Type {
	case property.TypePackageRequired:
		var want struct{ PackageName string }
		return json.Unmarshal(requirement.Value, &want) == nil && want.PackageName == x.Package
	case property.TypeGVKRequired:
		return slices.ContainsFunc(x.Properties, func(p catalog.Property) bool {
			return p.Type == property.TypeGVK && sameGVK(p.Value, requirement.Value)
		})
	case typeConstraint:
		var want constraint
		return json.Unmarshal(requirement.Value, &want) == nil && want.metBy(x)
	}
	return false
}

const typeConstraint = "olm.constraint"

// constraint is the value of an olm.constraint; what is not to be there is left out.
type constraint struct {
	Package, GVK, CEL json.RawMessage
	All, Any          struct{ Constraints []constraint }
}

// metBy reports whether the bundle x satisfies a part of the constraint. Every
// one may, of an expression.
func (c constraint) metBy(x catalog.Bundle) bool {
	return c.CEL != nil || c.Package != nil && provides(x, catalog.Property{Type: property.TypePackageRequired, Value: c.Package}) ||
		c.GVK != nil && provides(x, catalog.Property{Type: property.TypeGVKRequired, Value: c.GVK}) ||
		slices.ContainsFunc(slices.Concat(c.All.Constraints, c.Any.Constraints), func(part constraint) bool { return part.metBy(x) })
}

// sameGVK compares two values of olm.gvk or olm.gvk.required.
func sameGVK(a, b json.RawMessage) bool {
	type api struct{ Group, Version, Kind string }
	var x, y api
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}

// needsOthers reports whether the bundle depends on something that another
// operator provides.
func needsOthers(b *bundle.Bundle) (bool, error) {
	rendered, err := catalog.Render(b, "")
	if err != nil {
		return false, fmt.Errorf("read the bundle's dependencies: %w", err)
	}
	return slices.ContainsFunc(rendered.Properties, func(p catalog.Property) bool {
		return p.Type == property.TypePackageRequired || p.Type == property.TypeGVKRequired || p.Type == typeConstraint
	}), nil
}
