package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// compression is the level at which a layer costs what the standard library's
// lowest does, and is a tenth smaller.
const compression = 6

// entry is a file or a directory of a layer.
type entry struct {
	name     string // without a leading slash; a directory's ends in one
	mode     int64  // permission bits, sticky bit included
	uid, gid int
	data     []byte // of a file
	file     string // path of a file's content on this machine, in place of data
}

// layer is a compressed layer in a file of its own: a partial.CompressedLayer.
type layer struct {
	path           string
	digest, diffID v1.Hash
	size           int64
}

func (l *layer) Digest() (v1.Hash, error)            { return l.digest, nil }
func (l *layer) DiffID() (v1.Hash, error)            { return l.diffID, nil } // else the library computes it
func (l *layer) Size() (int64, error)                { return l.size, nil }
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }
func (l *layer) Compressed() (io.ReadCloser, error)  { return os.Open(l.path) }

// writeLayer writes the entries, in their order, as a compressed tar archive
// to path. Nothing in it depends on this machine or on the time. It is made in
// one pass: archive, sum, compression, sum, file.
func writeLayer(path string, at time.Time, entries []entry) (v1.Layer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write a layer: %w", err)
	}
	compressed, plain := sha256.New(), sha256.New()
	zip, err := gzip.NewWriterLevel(io.MultiWriter(f, compressed), compression)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	err = errors.Join(writeTar(io.MultiWriter(zip, plain), at, entries), zip.Close())
	size, seekErr := f.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, seekErr, f.Close()); err != nil {
		return nil, fmt.Errorf("write a layer: %w", err)
	}
	return partial.CompressedToLayer(&layer{path: path, digest: sum(compressed), diffID: sum(plain), size: size})
}

// layer is writeLayer with a line for the image's history.
func (b *builder) layer(path, createdBy, comment string, entries []entry) (mutate.Addendum, error) {
	l, err := writeLayer(path, b.epoch, entries)
	history := v1.History{Created: v1.Time{Time: b.epoch}, CreatedBy: createdBy, Comment: comment}
	return mutate.Addendum{Layer: l, MediaType: types.OCILayer, History: history}, err
}

func writeTar(w io.Writer, at time.Time, entries []entry) error {
	archive := tar.NewWriter(w)
	for _, e := range entries {
		if err := e.write(archive, at); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return archive.Close()
}

func (e entry) write(archive *tar.Writer, at time.Time) error {
	header := &tar.Header{Name: e.name, Mode: e.mode, Uid: e.uid, Gid: e.gid, ModTime: at, Typeflag: tar.TypeReg, Size: int64(len(e.data))}
	var content io.Reader = bytes.NewReader(e.data)
	if e.name[len(e.name)-1] == '/' {
		header.Typeflag = tar.TypeDir
	}
	if e.file != "" {
		f, err := os.Open(e.file)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it is only read
		info, err := f.Stat()
		if err != nil {
			return err
		}
		header.Size, content = info.Size(), f
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}

func sum(h hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(h.Sum(nil))}
}
