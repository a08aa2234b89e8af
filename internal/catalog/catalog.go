// Package catalog makes the catalogs that OLM finds bundles in, in the
// file-based form of operator-registry: packages, their channels with what
// replaces what, and the bundles. It reads and writes the form, adds bundles to
// it and judges the graphs of the channels. It does not know registries, clusters
// or the command line.
//
// The types here are those of operator-registry's alpha/declcfg, written out
// again: that package costs every command of mysdk its start-up time. Tests
// hold the two against each other. Package opm below is what of operator-registry
// runs in mysdk-cluster.
package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/operator-framework/operator-registry/alpha/property"
)

// Schemas of the objects of a catalog.
const (
	SchemaPackage      = "olm.package"
	SchemaChannel      = "olm.channel"
	SchemaBundle       = "olm.bundle"
	SchemaDeprecations = "olm.deprecations"
)

// Catalog is a file-based catalog: what its files hold together.
type Catalog struct {
	Packages     []Package
	Channels     []Channel
	Bundles      []Bundle
	Deprecations []Deprecations
	Others       []Other
}

// Package is an olm.package.
type Package struct {
	Schema         string     `json:"schema"`
	Name           string     `json:"name"`
	DefaultChannel string     `json:"defaultChannel"`
	Icon           *Icon      `json:"icon,omitempty"`
	Description    string     `json:"description,omitempty"`
	Properties     []Property `json:"properties,omitempty"`
}

// Icon is a package's picture.
type Icon struct {
	Data      []byte `json:"base64data"`
	MediaType string `json:"mediatype"`
}

// Channel is an olm.channel.
type Channel struct {
	Schema     string     `json:"schema"`
	Name       string     `json:"name"`
	Package    string     `json:"package"`
	Entries    []Entry    `json:"entries"`
	Properties []Property `json:"properties,omitempty"`
}

// Entry is a bundle in a channel and what it may be installed over.
type Entry struct {
	Name      string   `json:"name"`
	Replaces  string   `json:"replaces,omitempty"`
	Skips     []string `json:"skips,omitempty"`
	SkipRange string   `json:"skipRange,omitempty"`
}

// Bundle is an olm.bundle. It has an image, or all of its objects as
// olm.bundle.object properties.
type Bundle struct {
	Schema        string         `json:"schema"`
	Name          string         `json:"name,omitempty"`
	Package       string         `json:"package,omitempty"`
	Image         string         `json:"image"`
	Properties    []Property     `json:"properties,omitempty"`
	RelatedImages []RelatedImage `json:"relatedImages,omitempty"`
}

// Property is what the resolver and the registry server know of a bundle.
type Property = property.Property

// RelatedImage is an image that a bundle needs.
type RelatedImage struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// Deprecations is an olm.deprecations: what of a package is deprecated.
type Deprecations struct {
	Schema  string             `json:"schema"`
	Package string             `json:"package"`
	Entries []DeprecationEntry `json:"entries"`
}

// DeprecationEntry is one thing that is deprecated.
type DeprecationEntry struct {
	Reference Reference `json:"reference"`
	Message   string    `json:"message"`
}

// Reference names something of a package by its schema and name; the package
// itself without a name.
type Reference struct {
	Schema string `json:"schema"`
	Name   string `json:"name,omitempty"`
}

// Other is an object of any other schema, as it stands in its file.
type Other struct {
	Schema  string
	Package string
	Data    json.RawMessage
}

// MarshalJSON gives the object back as it was.
func (o Other) MarshalJSON() ([]byte, error) { return o.Data, nil }

func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}

// Names of all packages that anything in the catalog belongs to, sorted. The
// empty name stands for objects of none.
func (c *Catalog) packageNames() []string {
	names := map[string]bool{}
	// Only asks for the package of everything.
	c.Only(func(pkg string) bool { names[pkg] = true; return false })
	return slices.Sorted(maps.Keys(names))
}

// of is the part of the catalog that belongs to a package, in the order in
// which it is written.
func (c *Catalog) of(pkg string) *Catalog {
	part := c.Only(func(p string) bool { return p == pkg })
	slices.SortStableFunc(part.Channels, func(a, b Channel) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(part.Bundles, func(a, b Bundle) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(part.Others, func(a, b Other) int { return cmp.Compare(a.Schema, b.Schema) })
	return part
}

// Only is the part of the catalog that belongs to packages which keep picks; "" is
// that of objects of none.
func (c *Catalog) Only(keep func(pkg string) bool) *Catalog {
	return &Catalog{
		Packages:     filter(c.Packages, func(p Package) bool { return keep(p.Name) }),
		Channels:     filter(c.Channels, func(ch Channel) bool { return keep(ch.Package) }),
		Bundles:      filter(c.Bundles, func(b Bundle) bool { return keep(b.Package) }),
		Deprecations: filter(c.Deprecations, func(d Deprecations) bool { return keep(d.Package) }),
		Others:       filter(c.Others, func(o Other) bool { return keep(o.Package) }),
	}
}

func filter[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, v := range list {
		if keep(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// objects are those of the catalog in the order in which they are written: by
// package, and in it packages, channels, bundles and the rest.
func (c *Catalog) objects() []any {
	names := c.packageNames()
	if len(names) > 0 && names[0] == "" {
		names = append(names[1:], "") // what belongs to no package comes last
	}
	var all []any
	for _, name := range names {
		part := c.of(name)
		all = appendAny(all, part.Packages)
		all = appendAny(all, part.Channels)
		all = appendAny(all, part.Bundles)
		all = appendAny(all, part.Others)
		all = appendAny(all, part.Deprecations)
	}
	return all
}

func appendAny[T any](all []any, list []T) []any {
	for _, v := range list {
		all = append(all, v)
	}
	return all
}
