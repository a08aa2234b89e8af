package image

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/registry"
)

// knownPlatforms are those of containers that the go command compiles for.
var knownPlatforms = []string{
	"linux/amd64", "linux/arm64", "linux/arm/v7", "linux/arm/v6", "linux/386",
	"linux/ppc64le", "linux/s390x", "linux/riscv64", "linux/loong64",
}

// otherNames maps what other tools call an architecture to its name in Go.
var otherNames = map[string]string{
	"x86_64": "amd64", "x64": "amd64", "x86-64": "amd64", "aarch64": "arm64", "armv8": "arm64", "arm64/v8": "arm64",
	"armv7": "arm/v7", "armhf": "arm/v7", "arm": "arm/v7", "arm/v5": "arm/v6", "i386": "386", "i686": "386", "x86": "386",
}

// parsePlatforms reads OS/ARCH or OS/ARCH/VARIANT, without repeats. None is
// Linux on this machine's architecture.
func parsePlatforms(list []string) ([]v1.Platform, error) {
	if len(list) == 0 {
		list = []string{"linux/" + runtime.GOARCH}
	}
	var platforms []v1.Platform
	for _, s := range list {
		p, err := parsePlatform(strings.TrimSpace(s))
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(platforms, p.Equals) {
			platforms = append(platforms, p)
		}
	}
	return platforms, nil
}

func parsePlatform(s string) (v1.Platform, error) {
	// What other tools write for the same.
	exact := cmp.Or(map[string]string{"linux/arm64/v8": "linux/arm64", "linux/arm": "linux/arm/v7"}[s], s)
	if !slices.Contains(knownPlatforms, exact) {
		return v1.Platform{}, clierr.Usagef(platformHint(s), "--platform: unknown platform %q", s)
	}
	parts := append(strings.Split(exact, "/"), "")
	return v1.Platform{OS: parts[0], Architecture: parts[1], Variant: parts[2]}, nil
}

// platformHint finds the platform that s was meant to be: an operating system
// that is missing, or another tool's name for the architecture.
func platformHint(s string) string {
	arch := strings.ToLower(s)
	if os, rest, ok := strings.Cut(arch, "/"); ok && slices.Contains([]string{"linux", "windows", "darwin"}, os) {
		arch = rest
	}
	if meant := "linux/" + cmp.Or(otherNames[arch], arch); slices.Contains(knownPlatforms, meant) {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	return clierr.DidYouMean(s, knownPlatforms)
}

func platformName(p v1.Platform) string {
	s := p.OS + "/" + p.Architecture
	if p.Variant != "" {
		s += "/" + p.Variant
	}
	return s
}

// runsOn reports whether an image for p is one for want. A variant that one of
// them does not name is no difference, and v8 is what arm64 always is.
func runsOn(p, want v1.Platform) bool {
	plain := func(v string) string {
		if p.Architecture == "arm64" && v == "v8" {
			return ""
		}
		return v
	}
	a, b := plain(p.Variant), plain(want.Variant)
	return p.OS == want.OS && p.Architecture == want.Architecture && (a == b || a == "" || b == "")
}

// pick finds the image for want in an index: one of the same variant, else one
// that will do. Without any, have is what there is.
func pick(index *v1.IndexManifest, want v1.Platform) (found *v1.Descriptor, have []v1.Platform) {
	for i := range index.Manifests {
		d := &index.Manifests[i]
		if d.Platform == nil || d.Platform.OS == "unknown" {
			continue // an attestation, for one
		}
		have = append(have, *d.Platform)
		if runsOn(*d.Platform, want) && (found == nil || d.Platform.Variant == want.Variant) {
			found = d
		}
	}
	return found, have
}

// pick is pick for the image, or for all images in its index. img is nil where none
// is for want.
func (c *content) pick(want v1.Platform) (img v1.Image, is v1.Platform, have []v1.Platform, err error) {
	if c.index == nil {
		config, err := c.image.ConfigFile()
		if err != nil {
			return nil, is, nil, err
		}
		if is = (v1.Platform{OS: config.OS, Architecture: config.Architecture, Variant: config.Variant}); runsOn(is, want) {
			img = c.image
		}
		return img, is, []v1.Platform{is}, nil
	}
	manifest, err := c.index.IndexManifest()
	if err != nil {
		return nil, is, nil, err
	}
	found, have := pick(manifest, want)
	if found == nil {
		return nil, is, have, nil
	}
	img, err = c.index.Image(found.Digest)
	return img, *found.Platform, have, err
}

// goEnv are the go command's variables for p. Whatever this machine's settings are,
// the program runs on every processor of the architecture.
func goEnv(p v1.Platform) []string {
	env := []string{"GOOS=" + p.OS, "GOARCH=" + p.Architecture}
	oldest := map[string]string{
		"386": "GO386=sse2", "amd64": "GOAMD64=v1", "arm": "GOARM=" + strings.TrimPrefix(p.Variant, "v"), "arm64": "GOARM64=v8.0",
		"ppc64le": "GOPPC64=power8", "riscv64": "GORISCV64=rva20u64",
	}
	if level := oldest[p.Architecture]; level != "" {
		env = append(env, level)
	}
	return env
}

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
	var found []Platform
	c, remoteErr := remoteContent(ctx, ref, registry.Access{UseHTTP: useHTTP})
	if remoteErr == nil {
		found, remoteErr = c.platforms()
	}
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

// platforms are those of the image, or of all images in its index.
func (c *content) platforms() ([]Platform, error) {
	// No entry of an index is picked by this, and so none of its images is read.
	_, _, have, err := c.pick(v1.Platform{OS: "unknown"})
	var list []Platform
	for _, p := range have {
		if one := (Platform{p.OS, p.Architecture}); p.OS != "unknown" && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list, err
}
