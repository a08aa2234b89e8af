package registry

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"path"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// FilesLimit is how many bytes of files are taken out of an image. Bundles have
// some megabytes at the most; the largest catalogs some hundred.
const FilesLimit = 1 << 30

// Pick is the image of an index for linux on this machine's architecture, else
// the first one. What is for an unknown platform is an attestation.
func Pick(index v1.ImageIndex) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var best *v1.Descriptor
	for i := range manifest.Manifests {
		d := &manifest.Manifests[i]
		if !d.MediaType.IsImage() && !d.MediaType.IsIndex() || d.Platform != nil && d.Platform.OS == "unknown" {
			continue
		}
		here := d.Platform != nil && d.Platform.OS == "linux" && d.Platform.Architecture == runtime.GOARCH
		if best == nil || here {
			best = d
		}
		if here {
			break
		}
	}
	switch {
	case best == nil:
		return nil, errors.New("there is no image in its index")
	case best.MediaType.IsImage():
		return index.Image(best.Digest)
	}
	nested, err := index.ImageIndex(best.Digest)
	if err != nil {
		return nil, err
	}
	return Pick(nested)
}

// Walk calls put with the regular files of an archive that are roots or below one,
// all of them without roots, by their clean paths, such as a/b. A path that leads out
// of the archive counts from its root, as everywhere in a container. Not every path is one
// of a file on Windows.
func Walk(archive io.Reader, roots []string, limit int64, put func(file string, content io.Reader) error) error {
	files := tar.NewReader(archive)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		file := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		if header.Typeflag != tar.TypeReg || !fs.ValidPath(file) || !below(file, roots) {
			continue
		}
		if limit -= header.Size; limit < 0 {
			return errors.New("the image is too large for a bundle or catalog")
		}
		if err := put(file, files); err != nil {
			return err
		}
	}
}

// Files are those that Walk finds.
func Files(archive io.Reader, roots []string, limit int64) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := Walk(archive, roots, limit, func(file string, content io.Reader) (err error) {
		files[file], err = io.ReadAll(content)
		return err
	})
	return files, err
}

// below reports whether the file is one of the roots or below one; no roots are everything.
func below(file string, roots []string) bool {
	for _, r := range roots {
		r = strings.TrimPrefix(path.Clean("/"+r), "/")
		if r == "" || file == r || strings.HasPrefix(file, r+"/") {
			return true
		}
	}
	return len(roots) == 0
}
