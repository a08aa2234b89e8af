package catalog

import (
	"fmt"

	"github.com/example/mysdk/internal/bundle"
)

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
