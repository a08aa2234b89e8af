// Package image makes the operator's container image without a daemon and
// without a Dockerfile: the go command compiles, and the layers, the
// configuration and the index are written here, as the OCI image specification
// 1.1 has them. Images are kept in a store on this machine, from which they are
// pushed to a registry or saved to a file.
//
// It knows registries, layers and SBOMs. It knows nothing of Kubernetes, of the
// PROJECT file or of the command line.
package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/mainpkg"
)

const (
	// DefaultName is the image's name where none is given: the IMG of the
	// scaffolded Makefile.
	DefaultName = "controller:latest"
	// DefaultBase is what the image is built on where nothing else is named.
	DefaultBase = "gcr.io/distroless/static:nonroot"
	// Scratch names the base that is made here: certificates, a passwd file
	// and nothing else.
	Scratch = "scratch"
)

// User is the user and group that the operator runs as: nonroot, by number,
// because Kubernetes cannot tell that a name is not root.
const User = "65532:65532"

// entrypoint is the operator's path in the image, as in the scaffolded
// Dockerfile.
const entrypoint = "/manager"

// BuildOptions say what to build.
type BuildOptions struct {
	Dir       string       // the project, absolute
	Title     string       // the project's name, for labels and the SBOM; empty is Dir's last element
	Image     string       // the image's name; empty is DefaultName
	Platforms []string     // such as linux/amd64; empty is linux on this machine's architecture
	Base      string       // image to build on; empty is DefaultBase
	Labels    []string     // KEY=VALUE, over the labels that are set anyway
	GoLDFlags string       // -ldflags besides -s -w
	Offline   bool         // take the base and Go modules from the caches, and ask no server
	NoSBOM    bool         // leave the bill of materials out
	UseHTTP   bool         // the base's registry may speak plain http wherever it is
	Tool      string       // the program and its version, for the SBOM
	Progress  func(string) // told each step; may be nil
	Warn      func(string) // told what is not as it should be; may be nil
}

// Built is an image that Build has put into the store.
type Built struct {
	Image      string          `json:"image"`                // its name, with the tag
	Digest     string          `json:"digest"`               // of the index where there are several platforms
	Base       string          `json:"base"`                 // "scratch", or the name that was asked for
	BaseDigest string          `json:"baseDigest,omitempty"` // what that name stood for
	Platforms  []BuiltPlatform `json:"platforms"`
}

// BuiltPlatform is the image for one platform.
type BuiltPlatform struct {
	Platform string `json:"platform"`
	Digest   string `json:"digest"`
	Size     int64  `json:"size"`           // bytes to be pushed: layers, configuration and manifest
	SBOM     string `json:"sbom,omitempty"` // digest of the manifest that carries the bill of materials
}

// builder is a Build at work. Its fields follow from the options alone and do
// not change once prepared.
type builder struct {
	BuildOptions
	host      host.Host
	tag       name.Tag
	baseRef   name.Reference // nil for scratch
	platforms []v1.Platform
	labels    map[string]string // the user's
	mainPkg   string
	goTool    string
	epoch     time.Time // of every file and configuration in the image
	dated     bool      // epoch was set by the user
	work      string    // directory of this project's compiled programs
}

// Build compiles the operator of the project in o.Dir for each platform and
// puts the image into the store under its name. Two builds of the same source
// by the same Go give the same digest, on any machine and in any directory,
// unless --base scratch takes other certificates. Errors of the options are
// usage errors, and nothing has been written then.
func Build(ctx context.Context, h host.Host, o BuildOptions) (Built, error) {
	b, err := prepare(h, o)
	if err != nil {
		return Built{}, err
	}
	release, err := lock(ctx, filepath.Join(b.work, "lock"), func() { b.progress("waiting for another build of this project") })
	if err != nil {
		return Built{}, err
	}
	built, err := b.build(ctx)
	return built, errors.Join(err, release())
}

func (b *builder) build(ctx context.Context) (Built, error) {
	b.warnLeftOut()
	base, err := b.findBase(ctx)
	if err != nil {
		return Built{}, err
	}
	var parts []part
	for i, p := range b.platforms {
		bin, err := b.compile(ctx, p)
		if err != nil {
			return Built{}, err
		}
		made, err := b.assemble(base, base.images[i], bin)
		if err != nil {
			return Built{}, fmt.Errorf("make the image for %s: %w", platformName(p), err)
		}
		parts = append(parts, made)
	}
	return b.store(ctx, base, parts)
}

// prepare checks the options. Only the work directory is made.
func prepare(h host.Host, o BuildOptions) (*builder, error) {
	b := &builder{BuildOptions: o, host: h}
	b.Title = cmp.Or(b.Title, filepath.Base(o.Dir))
	var err error
	if b.tag, err = parseTag(o.Image); err != nil {
		return nil, err
	}
	if b.platforms, err = parsePlatforms(o.Platforms); err != nil {
		return nil, err
	}
	if b.labels, err = parseLabels(o.Labels); err != nil {
		return nil, err
	}
	if b.epoch, b.dated, err = SourceDate(h); err != nil {
		return nil, err
	}
	b.Base = cmp.Or(b.Base, DefaultBase)
	if b.Base != Scratch {
		if b.baseRef, err = parseRef(b.Base, httpOption(b.UseHTTP)...); err != nil {
			return nil, fmt.Errorf("--base: %w", err)
		}
	}
	if b.mainPkg, err = mainpkg.Find(h.Files, o.Dir); err != nil {
		return nil, err
	}
	if b.goTool, err = mainpkg.GoTool(h); err != nil {
		return nil, err
	}
	b.work, err = workDir(h, o.Dir)
	return b, err
}

func parseLabels(list []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, l := range list {
		key, value, ok := strings.Cut(l, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, clierr.Usagef("write it as KEY=VALUE, for example org.opencontainers.image.source=https://github.com/you/operator",
				"--label: %q is not a label and its value", l)
		}
		labels[key] = value
	}
	return labels, nil
}

// labelsFor are the labels of the image with this program: those of the
// OCI image specification that are known, and the user's own over them.
func (b *builder) labelsFor(base *base, bin *binary) map[string]string {
	labels := map[string]string{"org.opencontainers.image.title": b.Title}
	if b.dated {
		labels["org.opencontainers.image.created"] = b.epoch.Format(time.RFC3339)
	}
	if v := bin.info.Main.Version; v != "" && v != "(devel)" {
		labels["org.opencontainers.image.version"] = v
	}
	for _, s := range bin.info.Settings {
		if s.Key == "vcs.revision" && s.Value != "" {
			labels["org.opencontainers.image.revision"] = s.Value
		}
	}
	if base.digest != "" {
		labels["org.opencontainers.image.base.name"] = base.fullName
		labels["org.opencontainers.image.base.digest"] = base.digest
	}
	maps.Copy(labels, b.labels)
	return labels
}

// shared are the labels that all platforms' images have in common, for the
// index above them.
func shared(parts []part) map[string]string {
	all := maps.Clone(parts[0].labels)
	for _, p := range parts[1:] {
		maps.DeleteFunc(all, func(k, v string) bool { return p.labels[k] != v })
	}
	return all
}

func (b *builder) progress(format string, args ...any) {
	orNothing(b.Progress)(fmt.Sprintf(format, args...))
}
func (b *builder) warn(format string, args ...any) { orNothing(b.Warn)(fmt.Sprintf(format, args...)) }

// platformNames are the platforms as the user writes them.
func platformNames(list []v1.Platform) string {
	var names []string
	for _, p := range list {
		names = append(names, platformName(p))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
