// Package kustomize builds kustomizations in memory, from a project directory
// with a change laid over it that is not on disk yet. It runs no plugin, fetches
// nothing from the network and writes nothing. It knows nothing of what the
// objects are for.
package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
)

// Source is the tree that a kustomization is built from.
type Source struct {
	Dir     string      // project directory, absolute
	Overlay fileset.Set // files that stand in for those on disk; may be empty
	Files   host.Files
}

// FileNames are the names that a kustomization may have.
func FileNames() []string { return konfig.RecognizedKustomizationFileNames() }

// Has reports whether a directory of the project, relative to it, has a kustomization.
func (s Source) Has(dir string) bool {
	return slices.ContainsFunc(FileNames(), func(name string) bool {
		_, err := s.Files.Lstat(filepath.Join(s.Dir, filepath.FromSlash(dir), name))
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// Build returns the objects of the kustomization in directory path, relative to
// the source, as YAML documents. Files outside of a kustomization's directory are
// refused, as kustomize does, unless the project's Makefile builds with
// LoadRestrictionsNone. Errors name the kustomization file, with the
// line where it is known. Builds may not run at the same time: kustomize keeps
// the OpenAPI schema of the one that runs in a global.
func Build(ctx context.Context, src Source, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, root, err := check(src, path)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", path, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out, err := run(c.tree, root)
	if err != nil {
		return nil, clierr.WithHint(fmt.Errorf("build %s: %w", path, tidy(c.tree.root, err)), "correct the files of "+path+" and run the command again")
	}
	return out, nil
}

// run builds with kustomize, whose panics on odd input become errors.
func run(t *tree, root string) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("kustomize gave up: %v", r)
		}
	}()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified // as the kustomize command does: sortOptions, else a Namespace before what is in it
	if t.unrestricted() {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	objects, err := krusty.MakeKustomizer(options).Run(t, root)
	if err != nil {
		return nil, err
	}
	return objects.AsYaml()
}

// tidy makes the paths in kustomize's message relative to the project.
func tidy(root string, err error) error {
	text := strings.ReplaceAll(err.Error(), root+string(filepath.Separator), "")
	return fmt.Errorf("%s", strings.TrimSpace(text))
}
