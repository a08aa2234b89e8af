package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/registry"
)

// base is what the operator's layer is put on.
type base struct {
	name     string // as asked for
	fullName string // with registry and tag; empty for scratch
	digest   string // what the name stands for; empty for scratch
	images   []v1.Image
}

// digestFile remembers what a base's name stood for when it was last pulled for a
// platform.
func digestFile(cache string, p v1.Platform) string {
	return filepath.Join(cache, "digest-"+platformFile(p))
}

func platformFile(p v1.Platform) string { return strings.ReplaceAll(platformName(p), "/", "_") }

// findBase gets the base for each platform: from its registry, or from the
// cache where that has what the registry names.
func (b *builder) findBase(ctx context.Context) (*base, error) {
	if b.Base == Scratch {
		return b.scratch()
	}
	cache, err := b.baseCache(b.baseRef)
	if err != nil {
		return nil, err
	}
	digest, err := b.resolveBase(ctx, b.baseRef, cache)
	if err != nil {
		return nil, err
	}
	found := &base{name: b.Base, fullName: b.baseRef.Name(), digest: digest.String()}
	for _, p := range b.platforms {
		img, err := b.baseFor(ctx, b.baseRef.Context().Digest(digest.String()), p, cache)
		if err != nil {
			return nil, b.baseError(err)
		}
		found.images = append(found.images, img)
	}
	for _, p := range b.platforms { // once all are in the cache
		if err := host.ReplaceData(host.OSFiles{}, digestFile(cache, p), []byte(digest.String()+"\n"), 0o644); err != nil {
			return nil, fmt.Errorf("keep the base: %w", err)
		}
	}
	return found, nil
}

// baseError adds the way out that needs no network.
func (b *builder) baseError(err error) error {
	if b.Base != DefaultBase || errors.Is(err, context.Canceled) {
		return err
	}
	return &clierr.Error{Err: err, Hint: "add '--base scratch', which needs no network, or name an image that can be reached with --base"}
}

// baseCache is the directory that the base of this name is kept in.
func (b *builder) baseCache(ref name.Reference) (string, error) {
	cache, err := b.host.CacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	return filepath.Join(cache, "image", "base", registry.FileKey(ref.Name())), nil
}

// resolveBase finds what the name stands for now. Where the registry cannot be
// asked, what it last stood for is good enough, and said.
func (b *builder) resolveBase(ctx context.Context, ref name.Reference, cache string) (v1.Hash, error) {
	if d, ok := ref.(name.Digest); ok {
		return v1.NewHash(d.DigestStr())
	}
	known, cacheErr := b.cachedDigest(cache)
	if b.Offline {
		if cacheErr != nil {
			return v1.Hash{}, clierr.Failedf("add '--base scratch', or build once without --offline", "the base %s is not in the cache", b.Base)
		}
		return known, nil
	}
	b.progress("looking for the base %s", b.Base)
	desc, err := remote.Get(ref, registry.Access{UseHTTP: b.UseHTTP}.Options(ctx)...)
	if err == nil {
		return desc.Digest, nil
	}
	err = explain(ctx, err, "get the base "+b.Base, ref.Context())
	if cacheErr != nil || ctx.Err() != nil {
		return v1.Hash{}, b.baseError(err)
	}
	b.warn("%v; using the one in the cache, %s", err, known)
	return known, nil
}

// cachedDigest is the one that all platforms of the build have in the cache.
func (b *builder) cachedDigest(cache string) (v1.Hash, error) {
	var known v1.Hash
	for _, p := range b.platforms {
		data, err := os.ReadFile(digestFile(cache, p))
		if err != nil {
			return v1.Hash{}, err
		}
		digest, err := v1.NewHash(strings.TrimSpace(string(data)))
		if err != nil {
			return v1.Hash{}, err
		}
		if known != (v1.Hash{}) && known != digest {
			return v1.Hash{}, errors.New("the platforms are of different images")
		}
		known = digest
	}
	return known, nil
}

// baseFor returns the base for one platform, out of the cache where it is.
func (b *builder) baseFor(ctx context.Context, ref name.Digest, p v1.Platform, cache string) (v1.Image, error) {
	dir := filepath.Join(cache, strings.TrimPrefix(ref.DigestStr(), "sha256:"), platformFile(p))
	img, err := readOne(dir)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return img, err
	}
	if b.Offline {
		return nil, clierr.Failedf("add '--base scratch', or build once without --offline", "the base %s for %s is not in the cache", b.Base, platformName(p))
	}
	release, err := lock(ctx, filepath.Join(cache, "lock"), func() { b.progress("waiting for another build that pulls %s", b.Base) })
	if err != nil {
		return nil, err
	}
	if img, err = readOne(dir); errors.Is(err, fs.ErrNotExist) { // nor by another build meanwhile
		if err = b.pullInto(ctx, ref, p, dir); err == nil {
			img, err = readOne(dir)
		}
	}
	return img, errors.Join(err, release())
}

// pullInto pulls the base for one platform into the cache. What stands in its index is
// believed; an image that is no part of one says itself what it is for.
func (b *builder) pullInto(ctx context.Context, ref name.Digest, p v1.Platform, dir string) error {
	b.progress("pulling the base %s for %s", b.Base, platformName(p))
	c, err := remoteContent(ctx, ref, registry.Access{UseHTTP: b.UseHTTP})
	if err != nil {
		return explain(ctx, err, "pull the base "+b.Base, ref.Context())
	}
	img, _, have, err := c.pick(p)
	switch {
	case err != nil:
		return err
	case img == nil:
		return clierr.Failedf("it has "+platformNames(have)+"; 'scratch' is a base for every platform", "the base %s has no %s", b.Base, platformName(p))
	}
	err = replaceDir(dir, func(tmp string) error {
		path, err := layout.Write(tmp, empty.Index)
		if err != nil {
			return err
		}
		return path.AppendImage(img, layout.WithPlatform(p))
	})
	return explain(ctx, err, "pull the base "+b.Base, ref.Context())
}

func readOne(dir string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, clierr.Failedf("remove the directory and build again", "%s is damaged: it has %d images", dir, len(manifest.Manifests))
	}
	return index.Image(manifest.Manifests[0].Digest)
}
