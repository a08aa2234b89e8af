// Package opm runs operator-registry on a catalog for package catalog's callers.
// It is a package of its own because it links a registry server: mysdk-cluster
// has that in any case, and mysdk would start slower with it.
package opm

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/operator-registry/pkg/cache"
)

// Permissions that the cache's sum counts on: those of everything in an image
// that mysdk makes of files.
const (
	fileMode = 0o644
	dirMode  = 0o755
)

// CacheFiles are the files of the cache's directory for the catalog in files,
// by path, in the format "json", which every version of 'opm serve' with a cache
// reads. A registry server that finds them starts without reading the catalog,
// but only if the catalog's files are byte for byte those, with the permissions
// 0644 in directories of 0755.
func CacheFiles(ctx context.Context, files map[string][]byte) (all map[string][]byte, err error) {
	top, err := os.MkdirTemp("", "mysdk-catalog-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	configs, dir := filepath.Join(top, "configs"), filepath.Join(top, "cache")
	for name, data := range files {
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("make the cache: the file %q is not below the catalog", name)
		}
		name = filepath.Join(configs, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), dirMode), os.WriteFile(name, data, fileMode)); err != nil {
			return nil, fmt.Errorf("make the cache: %w", err)
		}
	}
	c, err := cache.New(dir, cache.WithFormat(cache.FormatJSON))
	if err == nil {
		err = errors.Join(c.Build(ctx, os.DirFS(configs)), c.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	cached, err := readTree(filepath.Join(dir, "cache"))
	if err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	sum := fnv.New64a()
	if err := errors.Join(writeSum(sum, files), writeSum(sum, cached)); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	all = map[string][]byte{"digest": fmt.Appendf(nil, "%x", sum.Sum(nil))}
	for name, data := range cached {
		all["cache/"+name] = data
	}
	return all, nil
}

// readTree maps the paths below dir to what is there.
func readTree(dir string) (map[string][]byte, error) {
	files, root := map[string][]byte{}, os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[name], err = fs.ReadFile(root, name)
		}
		return err
	})
	return files, err
}

// writeSum writes the files to w as the archive that the server sums up: in
// the order in which a directory is walked, with no times and no owners.
// operator-registry sums up its own cache with other permissions, which the files
// of an image do not have.
func writeSum(w io.Writer, files map[string][]byte) error {
	dirs := map[string]bool{".": true}
	for name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	names := slices.Concat(slices.Collect(maps.Keys(files)), slices.Collect(maps.Keys(dirs)))
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(elements(a), elements(b)) })
	archive := tar.NewWriter(w)
	for _, name := range names {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: fileMode, Size: int64(len(files[name]))}
		if dirs[name] {
			header.Typeflag, header.Mode, header.Size = tar.TypeDir, dirMode, 0
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(files[name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

// elements are those of a path; the root has none and comes first.
func elements(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}
