package bundle

import (
	"context"
	"fmt"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/image"
)

// ReadBundle reads the bundle that the user named: a directory, an archive, or
// an image of this machine or of a registry.
func ReadBundle(ctx context.Context, f *cli.Factory, arg string, access image.Access) (*bundle.Bundle, error) {
	files, _, err := openBundle(ctx, f, arg, access)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Load(files)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", arg, err)
	}
	return b, nil
}
