package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/registry"
)

// PushOptions say what to push and where to.
type PushOptions struct {
	registry.Access
	Image    string // name in the store; empty is To
	To       string // name to push to; empty is Image
	Builder  string // command that builds such images; empty is 'mysdk image build'
	Progress func(string)
	Warn     func(string)
}

// Pushed is an image in a registry.
type Pushed struct {
	Image  string   `json:"image"`           // as pushed, with the tag
	Digest string   `json:"digest"`          // what a manifest should name it by
	SBOMs  []string `json:"sboms,omitempty"` // digests of the manifests that carry them
}

// Reference names the image by its digest.
func (p Pushed) Reference() string { return PinnedRef(p.Image, p.Digest) }

// Push copies an image from the store to a registry, with the credentials that
// docker login and podman login leave behind, and after it the SBOMs, which
// refer to it. Layers that the registry has are not sent again.
func Push(ctx context.Context, h host.Host, o PushOptions) (Pushed, error) {
	o.To = cmp.Or(o.To, o.Image)
	to, err := pushTarget(o.To, o.UseHTTP, "mysdk image push ghcr.io/you/%[1]s --image %[2]s")
	if err != nil {
		return Pushed{}, err
	}
	o.Image = cmp.Or(o.Image, o.To)
	tag, err := parseTag(o.Image)
	if err != nil {
		return Pushed{}, fmt.Errorf("--image: %w", err)
	}
	say, warn := orNothing(o.Progress), orNothing(o.Warn)
	c, release, err := openStored(ctx, h, tag, cmp.Or(o.Builder, imageBuilder), say)
	if err != nil {
		return Pushed{}, err
	}
	if foreign := c.foreign(h); foreign != "" {
		warn(foreign)
	}
	say(fmt.Sprintf("pushing to %s", to))
	pushed, err := c.push(ctx, to, o.Access)
	return pushed, errors.Join(err, release())
}

func (c *content) push(ctx context.Context, to name.Tag, access registry.Access) (Pushed, error) {
	digest, err := c.digest()
	if err != nil {
		return Pushed{}, err
	}
	options := access.Options(ctx)
	if c.index != nil {
		err = remote.WriteIndex(to, c.index, options...)
	} else {
		err = remote.Write(to, c.image, options...)
	}
	if err != nil {
		return Pushed{}, explain(ctx, err, "push "+to.String(), to.Context())
	}
	pushed := Pushed{Image: to.String(), Digest: digest.String()}
	for _, s := range c.sboms {
		if digest, err = s.Digest(); err == nil {
			err = remote.Write(to.Context().Digest(digest.String()), s, options...) // it has no tag
		}
		if err != nil {
			err = explain(ctx, err, fmt.Sprintf("%s is pushed, but not its SBOM", to), to.Context())
			return pushed, clierr.WithHint(err, "push again, or build without it: --sbom none")
		}
		pushed.SBOMs = append(pushed.SBOMs, digest.String())
	}
	return pushed, nil
}

func orNothing(say func(string)) func(string) {
	if say == nil {
		return func(string) {}
	}
	return say
}

// CheckPush returns the usage error that pushing an image to the name that it
// is built under would end with.
func CheckPush(to string) error {
	_, err := pushTarget(to, false, "--image ghcr.io/you/%[1]s")
	return err
}
