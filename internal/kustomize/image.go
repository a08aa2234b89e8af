package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/fileset"
)

// SetImage returns src with newName and newTag of an image in the
// kustomization file, as `kustomize edit set image` would write them; the file
// on disk stays as it is. Either newTag or newDigest may be empty.
func SetImage(src Source, file, image, newName, newTag, newDigest string) (Source, error) {
	all, err := fieldsOf(src, file)
	if err != nil {
		return src, fmt.Errorf("set the image in %s: %w", file, err)
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
	return with(src, file, all)
}

// AddResources returns src with those of the directories among the resources of
// a kustomization file that exist and are not listed there; added says whether
// there are any. The file on disk stays as it is.
func AddResources(src Source, file string, dirs ...string) (out Source, added bool, err error) {
	all, err := fieldsOf(src, file)
	if err != nil {
		return src, false, fmt.Errorf("add resources to %s: %w", file, err)
	}
	list, _ := all["resources"].([]any) // kustomize reports what is no list
	for _, dir := range dirs {
		_, err := read(src, path.Join(path.Dir(file), dir, "kustomization.yaml"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return src, false, err
		}
		if err == nil && !slices.Contains(list, any(dir)) {
			list, added = append(list, dir), true
		}
	}
	if !added {
		return src, false, nil
	}
	all["resources"] = list
	out, err = with(src, file, all)
	return out, true, err
}

// fieldsOf reads a kustomization file.
func fieldsOf(src Source, file string) (map[string]any, error) {
	data, err := read(src, file)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := yaml.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if all == nil { // of an empty document
		all = map[string]any{}
	}
	return all, nil
}

// with puts a kustomization file into the overlay.
func with(src Source, file string, all map[string]any) (Source, error) {
	var out bytes.Buffer
	if err := yaml.NewEncoder(&out).Encode(all); err != nil {
		return src, err
	}
	src.Overlay = src.Overlay.Clone()
	return src, src.Overlay.Put(file, fileset.File{Data: out.Bytes()})
}

// read returns a file of the source, from the overlay or the disk.
func read(src Source, name string) ([]byte, error) {
	data, err := fileset.Tree{FS: src.Files, Root: src.Dir}.Read(src.Overlay, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: %w", name, fs.ErrNotExist)
	}
	return data, err
}
