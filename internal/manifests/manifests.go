// Package manifests reads Kubernetes objects of files and directories, such as a
// project's samples, as kubectl apply does. What becomes of them is not its
// business.
package manifests

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
)

// Samples is where a project's samples are, relative to it.
const Samples = "config/samples"

// File is a file of objects.
type File struct {
	Name    string // within its directory
	Objects []*unstructured.Unstructured
}

// Read reads a file or a directory. One with a kustomization is built, as kubectl
// apply -k would; of any other, its own files count and no deeper ones. A name
// that does not exist is a usage error.
func Read(ctx context.Context, h host.Host, name string) ([]*unstructured.Unstructured, error) {
	full := h.Path(name)
	if _, err := h.Files.Lstat(full); err != nil {
		return nil, clierr.Usagef("check the path", "no file or directory %s: %w", name, err)
	}
	entries, err := h.Files.ReadDir(full)
	if err != nil {
		return parse(h, name) // not a directory, nor a link to one
	}
	for _, e := range entries {
		if !slices.Contains(kustomize.FileNames(), e.Name()) {
			continue
		}
		// From the directory above, the highest that a kustomization of samples refers to.
		data, err := kustomize.Build(ctx, kustomize.Source{Dir: filepath.Dir(full), Files: h.Files}, filepath.Base(full))
		if err != nil {
			return nil, err
		}
		return kube.ParseManifests(data, name)
	}
	files, err := Files(h, name)
	var all []*unstructured.Unstructured
	for _, f := range files {
		all = append(all, f.Objects...)
	}
	return all, err
}

// Files reads the files of a directory one by one, sorted by name, but its
// kustomization.
func Files(h host.Host, dir string) ([]File, error) {
	entries, err := h.Files.ReadDir(h.Path(dir))
	if err != nil {
		return nil, err
	}
	var list []File
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || slices.Contains(kustomize.FileNames(), name) || !compat.IsManifest(name) {
			continue
		}
		objs, err := parse(h, filepath.Join(dir, name))
		if err != nil {
			return list, err
		}
		list = append(list, File{name, objs})
	}
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// parse calls the file by the name that the user gave, in errors.
func parse(h host.Host, name string) ([]*unstructured.Unstructured, error) {
	data, err := h.Files.ReadFile(h.Path(name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return kube.ParseManifests(data, name)
}
