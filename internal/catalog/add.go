package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
)

// Modes say what a bundle that is added to a channel replaces.
const (
	ModeReplaces  = "replaces"         // what its CSV says
	ModeSemver    = "semver"           // the next lower version in the channel
	ModeSkipPatch = "semver-skippatch" // the newest of the next lower minor version, past its own older patches
)

// Addition is a bundle to add: with the image that OLM is to pull it from, or
// without one, to go into the catalog whole.
type Addition struct {
	Bundle *bundle.Bundle
	Image  string
}

// AddOptions say how to add.
type AddOptions struct {
	Mode           string // one of the Modes; empty is ModeReplaces
	DefaultChannel string // of the packages that something is added to; empty is what the newest bundle says
}

// Add puts bundles into the channels that their annotations name. A package is
// made with its first bundle. One that is there already is left alone if it is
// the same, and an error else: what users may have installed does not change.
// Check reports whether what comes out is sound.
func (c *Catalog) Add(list []Addition, o AddOptions) error {
	touched := map[string]bool{} // packages
	for _, a := range list {
		if err := c.addBundle(a, o.Mode); err != nil {
			return err
		}
		touched[a.Bundle.Package] = true
	}
	for _, pkg := range slices.Sorted(maps.Keys(touched)) {
		if o.Mode == ModeSemver || o.Mode == ModeSkipPatch {
			if err := c.orderByVersion(pkg, list, o.Mode == ModeSkipPatch); err != nil {
				return err
			}
		}
		c.describe(pkg, list, o.DefaultChannel)
	}
	return nil
}

func (c *Catalog) addBundle(a Addition, mode string) error {
	rendered, err := Render(a.Bundle, a.Image)
	if err != nil {
		return err
	}
	channels := a.Bundle.Channels
	if len(channels) == 0 {
		return clierr.Failedf("name one with 'mysdk bundle generate --channels stable'", "add %s to the catalog: its annotations name no channel", rendered.Name)
	}
	i := slices.IndexFunc(c.Bundles, func(b Bundle) bool { return b.Package == rendered.Package && b.Name == rendered.Name })
	switch {
	case i < 0:
		c.Bundles = append(c.Bundles, rendered)
	case !same(c.Bundles[i], rendered):
		return clierr.Failedf("give the new bundle another version, or take the old one out of the catalog",
			"add %s to the catalog: it already has a different bundle of that name", rendered.Name)
	}
	wanted := entryOf(a.Bundle)
	for _, name := range channels {
		if there := c.enter(rendered.Package, name, &wanted); mode != ModeSemver && mode != ModeSkipPatch && !there.has(&wanted) {
			return clierr.Failedf("give the new bundle another version, or change the entry in the catalog",
				"add %[1]s to the catalog: channel %[2]s has %[1]s with other replaces, skips or skipRange than its CSV", rendered.Name, name)
		}
	}
	return nil
}

// same compares bundles whatever the order of keys in their properties.
func same(a, b Bundle) bool {
	plain := func(b Bundle) any {
		var v any
		data, err := json.Marshal(b)
		if err != nil || json.Unmarshal(data, &v) != nil {
			return b
		}
		return v
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

// has reports whether the entry replaces and skips all that the other does.
func (e *Entry) has(o *Entry) bool {
	lacks := func(name string) bool { return !slices.Contains(e.Skips, name) }
	return !slices.ContainsFunc(o.Skips, lacks) &&
		(o.Replaces == "" || o.Replaces == e.Replaces) &&
		(o.SkipRange == "" || o.SkipRange == e.SkipRange)
}

// enter makes the entry one of the channel, which is made if it is not there. An
// entry of its name that is there already stays. It returns the one that is there.
func (c *Catalog) enter(pkg, channel string, e *Entry) *Entry {
	i := slices.IndexFunc(c.Channels, func(ch Channel) bool { return ch.Package == pkg && ch.Name == channel })
	if i < 0 {
		i = len(c.Channels)
		c.Channels = append(c.Channels, Channel{Schema: SchemaChannel, Name: channel, Package: pkg})
	}
	ch := &c.Channels[i]
	for i := range ch.Entries {
		if ch.Entries[i].Name == e.Name {
			return &ch.Entries[i]
		}
	}
	ch.Entries = append(ch.Entries, *e)
	return e
}

// describe makes the package, or brings its description up to the newest
// bundle that was added. Where the catalog has a newer one, as with a fix for an
// old version, only what is missing is filled in.
func (c *Catalog) describe(pkg string, list []Addition, defaultChannel string) {
	newest := newestOf(pkg, list)
	i := slices.IndexFunc(c.Packages, func(p Package) bool { return p.Name == pkg })
	if i < 0 {
		i = len(c.Packages)
		c.Packages = append(c.Packages, Package{Schema: SchemaPackage, Name: pkg})
	}
	p := &c.Packages[i]
	channels := c.of(pkg).Channels
	old := c.hasNewer(newest)
	switch {
	case defaultChannel != "":
		p.DefaultChannel = defaultChannel
	case newest.DefaultChannel != "" && (!old || p.DefaultChannel == ""):
		p.DefaultChannel = newest.DefaultChannel
	case p.DefaultChannel == "" && len(channels) == 1:
		p.DefaultChannel = channels[0].Name
	}
	if text := newest.CSV.Spec.Description; text != "" && (!old || p.Description == "") {
		p.Description = text
	}
	if icon := iconOf(newest.CSV); icon != nil && (!old || p.Icon == nil) {
		p.Icon = icon
	}
}

// hasNewer reports whether the catalog has a higher version of the bundle's
// package. A bundle that does not say its version is for Check to tell.
func (c *Catalog) hasNewer(than *bundle.Bundle) bool {
	return slices.ContainsFunc(c.of(than.Package).Bundles, func(b Bundle) bool {
		v, err := packageOf(b)
		return err == nil && semver.MustParse(v.Version).GT(than.CSV.Spec.Version.Version) // packageOf has parsed it
	})
}

func newestOf(pkg string, list []Addition) *bundle.Bundle {
	var newest *bundle.Bundle
	for _, a := range list {
		if a.Bundle.Package == pkg && (newest == nil || a.Bundle.CSV.Spec.Version.GT(newest.CSV.Spec.Version.Version)) {
			newest = a.Bundle
		}
	}
	return newest
}

// orderByVersion has the versions decide what replaces what in each channel of
// the package that something was added to.
func (c *Catalog) orderByVersion(pkg string, added []Addition, skipPatches bool) error {
	versions := map[string]semver.Version{}
	for _, b := range c.of(pkg).Bundles {
		v, err := packageOf(b)
		if err != nil {
			return fmt.Errorf("order the bundles by version: %s: %w", b.Name, err)
		}
		versions[b.Name] = semver.MustParse(v.Version) // packageOf has parsed it
	}
	for i := range c.Channels {
		ch := &c.Channels[i]
		if ch.Package == pkg && slices.ContainsFunc(added, func(a Addition) bool { return a.Bundle.Package == pkg && slices.Contains(a.Bundle.Channels, ch.Name) }) {
			slices.SortStableFunc(ch.Entries, func(a, b Entry) int { return versions[a.Name].Compare(versions[b.Name]) })
			link(ch.Entries, versions, skipPatches)
		}
	}
	return nil
}

// link lets each entry replace the one before it. With skipPatches only the
// last of each minor version is linked, and skips the others of it. What else an
// entry skips stays.
func link(entries []Entry, versions map[string]semver.Version, skipPatches bool) {
	last := "" // what the next one replaces
	var patches []string
	for i := range entries {
		e := &entries[i]
		e.Replaces = last
		if !skipPatches {
			last = e.Name
			continue
		}
		v := versions[e.Name]
		e.Skips = filter(e.Skips, func(name string) bool { return !slices.Contains(patches, name) })
		if i+1 < len(entries) {
			if next := versions[entries[i+1].Name]; next.Major == v.Major && next.Minor == v.Minor {
				patches = append(patches, e.Name)
				e.Replaces = ""
				continue
			}
		}
		e.Skips, patches, last = append(e.Skips, patches...), nil, e.Name
	}
}
