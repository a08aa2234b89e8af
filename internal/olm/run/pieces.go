package run

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
)

// piece is a part of a catalog that fits into a ConfigMap.
type piece struct {
	file string // its name for opm, such as catalog-0.json
	data string
}

// compression is how many times smaller a piece gets in most cases. Manifests of
// large CRDs, which repeat themselves, get 10 to 20 times smaller, icons hardly.
const compression = 4

// pieces are a catalog in parts that fit into a ConfigMap each, those that would
// not otherwise compressed where the cluster reads that.
func pieces(c *catalog.Catalog, compress bool) ([]piece, error) {
	size, hint := catalog.PieceSize, "leave out --no-push: the catalog is pushed as an image then"
	if compress {
		size, hint = size*compression, "shorten the CRDs, as with the option crd:maxDescLen=0 of controller-gen, or make the icon smaller"
	}
	parts, err := c.Partition(size)
	var list []piece
	for err == nil && len(parts) > 0 {
		data := parts[0]
		one := piece{file: fmt.Sprintf("catalog-%d.json", len(list)), data: string(data)}
		if len(data) > catalog.PieceSize {
			if one, err = one.compressed(); err != nil {
				return nil, fmt.Errorf("compress the catalog: %w", err)
			}
		}
		if len(one.data) <= 1<<20 { // all that a ConfigMap takes
			list, parts = append(list, one), parts[1:]
			continue
		}
		if c, err = catalog.Parse(data, one.file); err != nil {
			return nil, err
		}
		smaller, uneven := c.Partition(len(data) * 3 / 4)
		if uneven != nil { // most of it is one object
			smaller, err = c.Partition(len(data) - 1)
		}
		parts = append(smaller, parts[1:]...)
	}
	return list, clierr.WithHint(err, hint)
}

// compressed is the piece with its data in gzip.
func (p piece) compressed() (piece, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, p.data)
	err = errors.Join(err, w.Close())
	return piece{p.file + state.CompressedEnd, b.String()}, err
}
