package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// IsLayout reports whether a directory is an OCI image layout.
func IsLayout(dir string) bool {
	_, err := os.Stat(path.Join(dir, "oci-layout"))
	return err == nil
}

// OpenLayout reads the files of the image in an OCI layout directory, such as
// 'mysdk image save --oci-layout' writes.
func OpenLayout(dir string, roots func(map[string]string) []string) (*Contents, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err == nil {
		var c *Contents
		if c, err = indexContents(index, dir, roots); err == nil {
			return c, nil
		}
	}
	return nil, clierr.WithHint(fmt.Errorf("read the image in %s: %w", dir, err), "save it again with 'mysdk image save --oci-layout'")
}

// indexContents reads the first image of a layout's index.
func indexContents(index v1.ImageIndex, where string, roots func(map[string]string) []string) (*Contents, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) == 0 {
		return nil, errors.New("there is no image in it")
	}
	first := &content{}
	if d := manifest.Manifests[0]; d.MediaType.IsIndex() {
		first.index, err = index.ImageIndex(d.Digest)
	} else {
		first.image, err = index.Image(d.Digest)
	}
	if err != nil {
		return nil, err
	}
	c, err := first.contents(OpenOptions{Image: where, Roots: roots})
	if c != nil {
		c.Source = "archive"
	}
	return c, err
}

// OpenArchive reads the files of an archive: an image as 'mysdk image save' or
// 'docker save' writes it, an OCI image layout in a tar file, or plain files,
// which count from the directory that holds the files or directories named in
// marks. Each may be compressed by gzip.
func OpenArchive(h host.Host, file string, roots func(map[string]string) []string, marks ...string) (*Contents, error) {
	data, err := h.Files.ReadFile(h.Path(file))
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	c, err := archiveContents(data, file, roots, marks, readLimit)
	if err != nil {
		return nil, clierr.WithHint(fmt.Errorf("read the archive %s: %w", file, err),
			"it has to be a tar file of an image, as 'mysdk image save' writes, or of a directory")
	}
	c.Source = "archive"
	return c, nil
}

// archiveContents tells by its files what an archive is: an OCI layout, an image as
// 'docker save' writes it, or a plain directory that was packed.
func archiveContents(data []byte, file string, roots func(map[string]string) []string, marks []string, limit int64) (*Contents, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(zip, limit))
		}
		if err != nil {
			return nil, err
		}
	}
	files, err := readTar(bytes.NewReader(data), nil, limit)
	if err != nil {
		return nil, fmt.Errorf("it is no tar file: %w", err)
	}
	switch {
	case files["oci-layout"] != nil && files["index.json"] != nil:
		index, err := blobs(files).index(files["index.json"])
		if err != nil {
			return nil, err
		}
		return indexContents(index, file, roots)
	case files["manifest.json"] != nil:
		img, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, nil)
		if err != nil {
			return nil, err
		}
		return (&content{image: img}).contents(OpenOptions{Image: file, Roots: roots})
	}
	return &Contents{Name: file, Files: files.Sub(rootOf(files, marks))}, nil
}

// rootOf is the directory, nearest to the top, with one of the marks in it; ""
// where there is none.
func rootOf(files Files, marks []string) string {
	best := ""
	found := false
	for file := range files {
		for _, m := range marks {
			before, _, ok := strings.Cut("/"+file+"/", "/"+m+"/")
			if before = strings.TrimPrefix(before, "/"); ok && (!found || len(before) < len(best)) {
				best, found = before, true
			}
		}
	}
	return best
}

// blobs are the files of an OCI layout.
type blobs Files

// read returns the blob with that digest, and makes sure that it is it.
func (b blobs) read(digest v1.Hash) ([]byte, error) {
	data, ok := b["blobs/"+digest.Algorithm+"/"+digest.Hex]
	if !ok {
		return nil, fmt.Errorf("the blob %s is not in it", digest)
	}
	if sum := sha256.Sum256(data); digest.Algorithm == "sha256" && hex.EncodeToString(sum[:]) != digest.Hex {
		return nil, fmt.Errorf("the blob %s is broken", digest)
	}
	return data, nil
}

// index is an index of the layout, and leads to what it names.
func (b blobs) index(manifest []byte) (v1.ImageIndex, error) {
	var m v1.IndexManifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, fmt.Errorf("read an index: %w", err)
	}
	return &blobIndex{blobs: b, raw: manifest, manifest: m}, nil
}

// blobIndex is an index in a layout.
type blobIndex struct {
	blobs    blobs
	raw      []byte
	manifest v1.IndexManifest
}

// MediaType implements v1.ImageIndex.
func (x *blobIndex) MediaType() (types.MediaType, error) { return types.OCIImageIndex, nil }

// Digest implements v1.ImageIndex.
func (x *blobIndex) Digest() (v1.Hash, error) { return partial.Digest(x) }

// Size implements v1.ImageIndex.
func (x *blobIndex) Size() (int64, error) { return partial.Size(x) }

// IndexManifest implements v1.ImageIndex.
func (x *blobIndex) IndexManifest() (*v1.IndexManifest, error) { return &x.manifest, nil }

// RawManifest implements v1.ImageIndex.
func (x *blobIndex) RawManifest() ([]byte, error) { return x.raw, nil }

// ImageIndex implements v1.ImageIndex.
func (x *blobIndex) ImageIndex(h v1.Hash) (v1.ImageIndex, error) {
	raw, err := x.blobs.read(h)
	if err != nil {
		return nil, err
	}
	return x.blobs.index(raw)
}

// Image implements v1.ImageIndex.
func (x *blobIndex) Image(h v1.Hash) (v1.Image, error) {
	raw, err := x.blobs.read(h)
	if err != nil {
		return nil, err
	}
	var m v1.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("read a manifest: %w", err)
	}
	return partial.CompressedToImage(&blobImage{x.blobs, raw, m})
}

// blobImage is an image in a layout.
type blobImage struct {
	blobs    blobs
	raw      []byte
	manifest v1.Manifest
}

// RawManifest implements partial.CompressedImageCore.
func (i *blobImage) RawManifest() ([]byte, error) { return i.raw, nil }

// RawConfigFile implements partial.CompressedImageCore.
func (i *blobImage) RawConfigFile() ([]byte, error) { return i.blobs.read(i.manifest.Config.Digest) }

// MediaType implements partial.CompressedImageCore.
func (i *blobImage) MediaType() (types.MediaType, error) { return i.manifest.MediaType, nil }

// LayerByDigest implements partial.CompressedImageCore.
func (i *blobImage) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	for _, d := range i.manifest.Layers {
		if d.Digest == h {
			data, err := i.blobs.read(h)
			return &blobLayer{d, data}, err
		}
	}
	return nil, fmt.Errorf("there is no layer %s in the image", h)
}

// blobLayer is a layer in a layout.
type blobLayer struct {
	desc v1.Descriptor
	data []byte
}

// Digest implements partial.CompressedLayer.
func (l *blobLayer) Digest() (v1.Hash, error) { return l.desc.Digest, nil }

// Compressed implements partial.CompressedLayer.
func (l *blobLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.data)), nil
}

// Size implements partial.CompressedLayer.
func (l *blobLayer) Size() (int64, error) { return int64(len(l.data)), nil }

// MediaType implements partial.CompressedLayer.
func (l *blobLayer) MediaType() (types.MediaType, error) { return l.desc.MediaType, nil }
