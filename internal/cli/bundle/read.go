package bundle

import (
	"context"
	"fmt"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/registry"
)

// ReadCRDs reads the CRDs of a bundle, or of a directory with manifests of another kind.
func ReadCRDs(ctx context.Context, f *cli.Factory, arg string, access registry.Access) (compat.CRDs, error) {
	files, _, err := OpenBundle(ctx, f, arg, image.OpenOptions{Access: access})
	if err != nil {
		return nil, err
	}
	crds, err := compat.Read(files)
	if err == nil && len(crds) == 0 {
		err = clierr.Usagef("name a bundle or a directory that has some", "--check-compat: %s has no CRDs", arg)
	}
	return crds, err
}

// ReadBundle reads the bundle that the user named: a directory, an archive, or
// an image of this machine or of a registry.
func ReadBundle(ctx context.Context, f *cli.Factory, arg string, o image.OpenOptions) (*bundle.Bundle, error) {
	files, _, err := OpenBundle(ctx, f, arg, o)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Load(files)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", arg, err)
	}
	return b, nil
}
