package run

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	"github.com/example/mysdk/internal/cluster/state"
)

// piece is a part of a catalog that fits into a ConfigMap.
type piece struct {
	file string // its name for opm, such as catalog-0.json
	data string
}

// compression is how many times smaller a piece surely gets. Manifests of
// large CRDs, which repeat themselves, get 10 to 20 times smaller.
const compression = 4

// compressed is the piece with its data in gzip.
func (p piece) compressed() (piece, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, p.data)
	err = errors.Join(err, w.Close())
	return piece{p.file + state.CompressedEnd, b.String()}, err
}
