package image

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/gzip"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/registry"
)

// IsLayout reports whether a directory is an OCI image layout.
func IsLayout(dir string) bool {
	_, err := os.Stat(path.Join(dir, "oci-layout"))
	return err == nil
}

// OpenLayout reads the files of the image in an OCI layout directory, such as
// 'mysdk image save --oci-layout' writes.
func OpenLayout(dir string, roots func(map[string]string) []string) (*Contents, error) {
	c, err := layoutContents(dir, roots)
	if err != nil {
		return nil, clierr.WithHint(fmt.Errorf("read the image in %s: %w", dir, err), "save it again with 'mysdk image save --oci-layout'")
	}
	return c, nil
}

func layoutContents(dir string, roots func(map[string]string) []string) (*Contents, error) {
	c, err := readLayout(dir)
	if err != nil {
		return nil, err
	}
	return c.contents(roots)
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
	c, err := archiveContents(data, roots, marks, registry.FilesLimit)
	if err != nil {
		return nil, clierr.WithHint(fmt.Errorf("read the archive %s: %w", file, err),
			"it has to be a tar file of an image, as 'mysdk image save' writes, or of a directory")
	}
	return c, nil
}

// archiveContents tells by its files what an archive is: an OCI layout, an image as
// 'docker save' writes it, or a plain directory that was packed.
func archiveContents(data []byte, roots func(map[string]string) []string, marks []string, limit int64) (*Contents, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(zip, limit))
		}
		if err != nil {
			return nil, err
		}
	}
	files, err := registry.Files(bytes.NewReader(data), nil, limit)
	if err != nil {
		return nil, fmt.Errorf("it is not a tar file: %w", err)
	}
	switch {
	case files["oci-layout"] != nil && files["index.json"] != nil:
		return unpackedLayout(files, roots)
	case files["manifest.json"] != nil:
		img, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, nil)
		if err != nil {
			return nil, err
		}
		return (&content{image: img}).contents(roots)
	}
	root, err := rootOf(files, marks)
	return &Contents{Files: Files(files).Sub(root)}, err
}

// rootOf is the directory, nearest to the top, with the first of the marks that
// there is; "" where there is none.
func rootOf(files Files, marks []string) (string, error) {
	for _, m := range marks {
		roots := map[string]int{} // with the depth of each
		for file := range files {
			if at, _, ok := strings.Cut("/"+file+"/", "/"+m+"/"); ok {
				roots[strings.TrimPrefix(at, "/")] = strings.Count(at, "/")
			}
		}
		if len(roots) == 0 {
			continue
		}
		top := slices.Min(slices.Collect(maps.Values(roots)))
		maps.DeleteFunc(roots, func(_ string, depth int) bool { return depth > top })
		names := slices.Sorted(maps.Keys(roots))
		if len(names) > 1 {
			return "", clierr.Failedf("unpack it and name one of them, or pack only one", "there are several bundles in it: %s", strings.Join(names, ", "))
		}
		return names[0], nil
	}
	return "", nil
}

// unpackedLayout reads the image of an OCI layout, which the library takes from a
// directory, without a look at the digests.
func unpackedLayout(files Files, roots func(map[string]string) []string) (c *Contents, err error) {
	for name, data := range files {
		want, ok := strings.CutPrefix(name, "blobs/sha256/")
		if ok && fmt.Sprintf("%x", sha256.Sum256(data)) != want {
			return nil, fmt.Errorf("the blob sha256:%s is broken", want)
		}
	}
	dir, err := os.MkdirTemp("", "mysdk-image-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, files.FS()); err != nil {
		return nil, err
	}
	return layoutContents(dir, roots)
}
