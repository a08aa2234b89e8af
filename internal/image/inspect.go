package image

import (
	"context"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/registry"
)

// Platform is what an image runs on, in Go's words.
type Platform struct{ OS, Architecture string }

// Platforms are those that an image is for: of that in its registry, else of
// that in the store of this machine. Nothing of it is pulled but manifests and
// a configuration.
func Platforms(ctx context.Context, h host.Host, image string, useHTTP bool) ([]Platform, error) {
	ref, err := parseRef(image, httpOption(useHTTP)...)
	if err != nil {
		return nil, err
	}
	found, remoteErr := remotePlatforms(ctx, ref, useHTTP)
	if remoteErr == nil || ctx.Err() != nil {
		return found, ctx.Err()
	}
	if tag, ok := ref.(name.Tag); ok {
		if c, release, err := openStored(ctx, h, tag, imageBuilder, func(string) {}); err == nil {
			found, err := c.platforms()
			if releaseErr := release(); err == nil && releaseErr == nil {
				return found, nil
			}
		}
	}
	return nil, explain(ctx, remoteErr, "look at "+image, ref.Context())
}

// CheckName refuses what no image of the store can be named.
func CheckName(image string) error {
	_, err := parseTag(image)
	return err
}

func remotePlatforms(ctx context.Context, ref name.Reference, useHTTP bool) ([]Platform, error) {
	c, err := remoteContent(ctx, ref, registry.Access{UseHTTP: useHTTP})
	if err != nil {
		return nil, err
	}
	return c.platforms()
}

// platforms are those of the image, or of all images in its index.
func (c *content) platforms() ([]Platform, error) {
	var list []Platform
	add := func(p v1.Platform) {
		if one := (Platform{p.OS, p.Architecture}); p.OS != "unknown" && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	if c.index == nil {
		config, err := c.image.ConfigFile()
		if err != nil {
			return nil, err
		}
		add(v1.Platform{OS: config.OS, Architecture: config.Architecture})
		return list, nil
	}
	manifest, err := c.index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for i := range manifest.Manifests {
		if p := manifest.Manifests[i].Platform; p != nil {
			add(*p)
		}
	}
	return list, nil
}
