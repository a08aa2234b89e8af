package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/bundle"
)

// Formats of a catalog's files.
const (
	JSON = "json"
	YAML = "yaml"
)

// Encode writes the whole catalog as one stream in the format, JSON or YAML.
// The same catalog gives the same bytes.
func (c *Catalog) Encode(format string) ([]byte, error) {
	var out bytes.Buffer
	for _, o := range c.objects() {
		data, err := encode(o, "    ") // as opm indents
		if err == nil && format == YAML {
			out.WriteString("---\n")
			data, err = yaml.JSONToYAML(data)
		}
		if err != nil {
			return nil, fmt.Errorf("write the catalog: %w", err)
		}
		out.Write(data)
	}
	return out.Bytes(), nil
}

// Files are the files of the catalog's directory, by path: one for each
// package, in a directory of its name, as opm lays them out.
func (c *Catalog) Files(format string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range c.packageNames() {
		data, err := c.of(name).Encode(format)
		if err != nil {
			return nil, err
		}
		file := "catalog." + format
		if name != "" {
			file = name + "/" + file
		}
		files[file] = data
	}
	return files, nil
}

// Beside are the files of a directory that files, what Files gives, would stand
// beside with objects of the same packages: of both together no catalog could be
// read. What is no catalog, or cannot be read as one, is not among them.
func (c *Catalog) Beside(fsys fs.FS, files map[string][]byte) ([]string, error) {
	names, err := FileNames(fsys)
	if err != nil {
		return nil, err
	}
	var beside []string
	for _, name := range names {
		if _, ok := files[name]; ok {
			continue
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("read the catalog: %w", err)
		}
		other, err := Parse(data, name)
		if err == nil && slices.ContainsFunc(other.packageNames(), func(pkg string) bool { return slices.Contains(c.packageNames(), pkg) }) {
			beside = append(beside, name)
		}
	}
	return beside, nil
}

// Missing are the names of what of the catalog other does not have.
func (c *Catalog) Missing(other *Catalog) []string {
	there := other.contents()
	return filter(c.contents(), func(name string) bool { return !slices.Contains(there, name) })
}

// contents are the names of all that stands in the packages of the catalog.
func (c *Catalog) contents() []string {
	var names []string
	add := func(format string, args ...any) { names = append(names, fmt.Sprintf(format, args...)) }
	for _, b := range c.Bundles {
		add("bundle %s", b.Name)
	}
	for _, ch := range c.Channels {
		for _, e := range ch.Entries {
			add("%s in channel %s/%s", e.Name, ch.Package, ch.Name)
		}
	}
	for _, d := range c.Deprecations {
		for _, e := range d.Entries {
			add("deprecation of %s %s", e.Reference.Schema, cmp.Or(e.Reference.Name, d.Package))
		}
	}
	for _, o := range c.Others {
		var named struct{ Name string }
		_ = json.Unmarshal(o.Data, &named) // a name is not for all schemas
		add("%s", strings.TrimSpace(o.Schema+" "+named.Name))
	}
	return names
}

// entryOf is the bundle as an entry of a channel.
func entryOf(b *bundle.Bundle) Entry {
	return Entry{
		Name: b.Name(), Replaces: b.CSV.Spec.Replaces, Skips: b.CSV.Spec.Skips,
		SkipRange: b.CSV.Annotations[bundle.SkipRangeKey],
	}
}

// PieceSize is how many bytes of a catalog go into one ConfigMap: the whole
// object may have 1 MiB, and its metadata takes some.
const PieceSize = 900 * 1024

// Partition cuts a catalog into pieces in JSON of at most size bytes that are
// catalogs themselves: no object is cut. One object that is bigger than that is an
// error, which names it.
func (c *Catalog) Partition(size int) ([][]byte, error) {
	var pieces [][]byte
	var piece []byte
	for _, o := range c.objects() {
		one, err := encode(o, "") // without indentation: space is scarce
		switch {
		case err != nil:
			return nil, err
		case len(one) > size:
			return nil, fmt.Errorf("cut the catalog: %s is %d bytes, and %d fit into a ConfigMap", nameOf(o), len(one), PieceSize)
		case len(piece)+len(one) > size:
			pieces, piece = append(pieces, piece), nil
		}
		piece = append(piece, one...)
	}
	if len(piece) > 0 {
		pieces = append(pieces, piece)
	}
	return pieces, nil
}

// nameOf says what an object of a catalog is.
func nameOf(o any) string {
	switch v := o.(type) {
	case Package:
		return "the package " + v.Name
	case Channel:
		return "the channel " + v.Name
	case Bundle:
		return "the bundle " + v.Name
	case Deprecations:
		return "the list of deprecations of " + v.Package
	case Other:
		return "an object of the schema " + v.Schema
	}
	return fmt.Sprintf("%T", o)
}
