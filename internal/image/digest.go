package image

import (
	"context"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/registry"
)

// atOnce is how many images are looked up at the same time.
const atOnce = 8

// Digests asks the registries what the images stand for now: the digest of the
// image or, of one for several platforms, that of its index, by the name as
// given. Nothing is pulled.
func Digests(ctx context.Context, images []string, useHTTP bool) (map[string]string, error) {
	found := make([]string, len(images))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, image := range images {
		group.Go(func() (err error) {
			found[i], err = digestOf(ctx, image, useHTTP)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for i, image := range images {
		digests[image] = found[i]
	}
	return digests, nil
}

// digestOf asks for one image. HEAD is tried first: registries that count pulls
// do not count it.
func digestOf(ctx context.Context, image string, useHTTP bool) (string, error) {
	ref, err := parseRef(image, httpOption(useHTTP)...)
	if err != nil {
		return "", err
	}
	if d, ok := ref.(name.Digest); ok {
		return d.DigestStr(), nil
	}
	// Some registries answer HEAD without a digest; remote.Head is an error then.
	desc, err := remote.Head(ref, registry.Access{UseHTTP: useHTTP}.Options(ctx)...)
	if err == nil {
		return desc.Digest.String(), nil
	}
	full, getErr := remote.Get(ref, registry.Access{UseHTTP: useHTTP}.Options(ctx)...)
	if getErr != nil {
		err = explain(ctx, getErr, "find the digest of "+image, ref.Context())
		return "", clierr.Failedf("push the image first: a digest is that of an image in its registry\n"+clierr.HintOf(err), "%w", err)
	}
	return full.Digest.String(), nil
}

// PinnedRef is an image's name with the digest in place of its tag.
func PinnedRef(image, digest string) string {
	p := split(image)
	p.tag, p.digest = "", digest
	return p.join()
}
