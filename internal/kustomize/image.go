package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/fileset"
)

// SetImage returns src with newName and newTag of an image in the
// kustomization file, as `kustomize edit set image` would write them; the file
// on disk stays as it is. Either newTag or newDigest may be empty.
func SetImage(src Source, file, image, newName, newTag, newDigest string) (Source, error) {
	data, err := read(src, file)
	if err != nil {
		return src, fmt.Errorf("set the image in %s: %w", file, err)
	}
	all := map[string]any{}
	if err := yaml.Unmarshal(data, &all); err != nil {
		return src, fmt.Errorf("%s: %w", file, err)
	}
	entry := map[string]any{"name": image, "newName": newName}
	if newTag != "" {
		entry["newTag"] = newTag
	}
	if newDigest != "" {
		entry["digest"] = newDigest
	}
	list := []any{entry}
	if old, ok := all["images"].([]any); ok {
		for _, item := range old {
			if m, ok := item.(map[string]any); !ok || m["name"] != image {
				list = append(list, item)
			}
		}
	}
	all["images"] = list
	var out bytes.Buffer
	if err := yaml.NewEncoder(&out).Encode(all); err != nil {
		return src, err
	}
	src.Overlay = src.Overlay.Clone()
	return src, src.Overlay.Put(file, fileset.File{Data: out.Bytes()})
}

// read returns a file of the source, from the overlay or the disk.
func read(src Source, name string) ([]byte, error) {
	if f, ok := src.Overlay.Get(name); ok {
		if f.Removed {
			return nil, fs.ErrNotExist
		}
		return f.Data, nil
	}
	data, err := src.Files.ReadFile(filepath.Join(src.Dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: %w", name, fs.ErrNotExist)
	}
	return data, err
}
