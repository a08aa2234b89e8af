package run

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// piece is a part of a catalog that fits into a ConfigMap.
type piece struct {
	file string // its name for opm, such as catalog-0.json
	data string
}

const (
	// compressedEnd ends the names of pieces that are compressed, which only the
	// embedded cluster reads.
	compressedEnd = ".gz"
	// compression is how many times smaller a piece surely gets. Manifests of
	// large CRDs, which repeat themselves, get 10 to 20 times smaller.
	compression = 4
)

// compressed is the piece with its data in gzip.
func (p piece) compressed() (piece, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, p.data)
	err = errors.Join(err, w.Close())
	return piece{p.file + compressedEnd, b.String()}, err
}

// piecesOf are the pieces of a catalog in a ConfigMap, uncompressed.
func piecesOf(m corev1.ConfigMap) (map[string][]byte, error) {
	pieces := map[string][]byte{}
	for key, text := range m.Data {
		pieces[key] = []byte(text)
	}
	for key, data := range m.BinaryData {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", key, err)
		}
		if pieces[key], err = io.ReadAll(r); err != nil {
			return nil, fmt.Errorf("key %s: %w", key, err)
		}
	}
	return pieces, nil
}
