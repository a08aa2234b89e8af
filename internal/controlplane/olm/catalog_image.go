package olm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/example/mysdk/internal/registry"
)

// images finds the images of catalogs and bundles: among those that mysdk has
// built on this machine, else in their registry.
type images struct {
	store string // directory with an OCI layout for each image
}

// get returns an image. Only its manifest is read before its files are.
func (i images) get(ctx context.Context, ref string, access pullAccess) (v1.Image, error) {
	var options []name.Option
	if access.UseHTTP {
		options = append(options, name.Insecure)
	}
	parsed, err := name.ParseReference(ref, options...)
	if err != nil {
		return nil, err
	}
	img, err := i.stored(parsed)
	if img != nil || err != nil {
		return img, err
	}
	if img, err = fetchImage(parsed, access.Options(ctx)); err != nil {
		return nil, access.explain(fmt.Errorf("pull image %s: %w", ref, err))
	}
	return img, nil
}

// fetchImage reads an image from its registry, for whatever platform it is there.
func fetchImage(ref name.Reference, options []remote.Option) (v1.Image, error) {
	found, err := remote.Get(ref, options...)
	if err != nil {
		return nil, err
	}
	if !found.MediaType.IsIndex() {
		return found.Image()
	}
	index, err := found.ImageIndex()
	if err != nil {
		return nil, err
	}
	return registry.Pick(index)
}

// stored finds an image in the store; nil where it is not there.
func (i images) stored(ref name.Reference) (v1.Image, error) {
	dir := filepath.Join(i.store, registry.FileKey(ref.Name()))
	if _, err := os.Stat(filepath.Join(dir, "origin.json")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("open image %s in the store: %w", ref, err)
	}
	return registry.Pick(index)
}

// label reads a label of an image; fallback where it has none.
func label(img v1.Image, key, fallback string) (string, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return "", fmt.Errorf("read the image's labels: %w", err)
	}
	if v := config.Config.Labels[key]; v != "" {
		return v, nil
	}
	return fallback, nil
}

// extract puts the regular files below some directories of an image into
// directories of this machine. dirs maps the ones to the others.
func extract(img v1.Image, dirs map[string]string) error {
	files := mutate.Extract(img)
	err := extractTar(files, dirs)
	return errors.Join(err, files.Close())
}

func extractTar(files io.Reader, dirs map[string]string) error {
	err := registry.Walk(files, slices.Collect(maps.Keys(dirs)), registry.FilesLimit, func(file string, content io.Reader) error {
		if target := targetOf(file, dirs); target != "" {
			return copyOut(content, target)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("unpack the image: %w", err)
	}
	return nil
}

// targetOf is where a file of an image goes; "" for nowhere.
func targetOf(file string, dirs map[string]string) string {
	for from, to := range dirs {
		if rest, ok := strings.CutPrefix("/"+file, path.Clean("/"+from)+"/"); ok && filepath.IsLocal(filepath.FromSlash(rest)) { // on Windows not with a backslash
			return filepath.Join(to, filepath.FromSlash(rest))
		}
	}
	return ""
}

func copyOut(from io.Reader, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
