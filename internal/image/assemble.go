package image

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // SPDX asks for it beside SHA-256
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/mainpkg"
)

// part is the image for one platform with what belongs to it.
type part struct {
	platform v1.Platform
	image    v1.Image
	labels   map[string]string
	sbom     v1.Image // nil without one
}

// assemble puts the program on top of the base.
func (b *builder) assemble(base *base, on v1.Image, bin *binary) (part, error) {
	file := filepath.Join(filepath.Dir(bin.path), "layer.tar.gz")
	program, err := b.layer(file, "mysdk image build", "go build "+b.mainPkg,
		[]entry{{name: entrypoint[1:], mode: 0o755, file: bin.path}})
	if err != nil {
		return part{}, err
	}
	from, err := on.ConfigFile()
	if err != nil {
		return part{}, err
	}
	layers, err := layersOf(on, from.History)
	if err != nil {
		return part{}, err
	}
	labels := b.labelsFor(base, bin)
	img, err := b.newImage(configured(from, bin.platform, labels), append(layers, program)...)
	if err != nil {
		return part{}, err
	}
	made := part{platform: bin.platform, labels: labels, image: img}
	if !b.NoSBOM {
		made.sbom, err = b.sbom(base, made.image, bin)
	}
	return made, err
}

// annotations are the labels whose keys are of the specification's kind.
func annotations(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	maps.DeleteFunc(out, func(k, _ string) bool { return !strings.HasPrefix(k, "org.opencontainers.image.") })
	return out
}

// configured is the base's configuration, and over it what the scaffolded
// Dockerfile sets.
func configured(from *v1.ConfigFile, p v1.Platform, labels map[string]string) v1.ConfigFile {
	c := *from.Config.DeepCopy()
	c.User, c.WorkingDir, c.Entrypoint, c.Cmd = User, "/", []string{entrypoint}, nil
	// What the base has about itself is not true of this image.
	maps.DeleteFunc(c.Labels, func(k, _ string) bool { return strings.HasPrefix(k, "org.opencontainers.image.") })
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	maps.Copy(c.Labels, labels)
	return v1.ConfigFile{OS: p.OS, OSVersion: from.OSVersion, Architecture: p.Architecture, Variant: p.Variant, Config: c}
}

// newImage is an image in OCI's terms, with its labels where registries show them.
func (b *builder) newImage(config v1.ConfigFile, layers ...mutate.Addendum) (v1.Image, error) {
	config.Created, config.RootFS.Type = v1.Time{Time: b.epoch}, "layers"
	img, err := mutate.ConfigFile(empty.Image, &config)
	if err != nil {
		return nil, err
	}
	img = mutate.ConfigMediaType(mutate.MediaType(img, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.Append(img, layers...); err != nil {
		return nil, err
	}
	annotated, _ := mutate.Annotations(img, annotations(config.Config.Labels)).(v1.Image) // one of an image is an image
	return annotated, nil
}

// layersOf are the layers of an image with their history, in OCI's terms. Some
// tools leave the history out, or write less of it than there are layers.
func layersOf(img v1.Image, history []v1.History) ([]mutate.Addendum, error) {
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	var adds []mutate.Addendum
	withLayer := slices.DeleteFunc(slices.Clone(history), func(h v1.History) bool { return h.EmptyLayer })
	for i, l := range layers {
		add := mutate.Addendum{Layer: l}
		if len(withLayer) == len(layers) {
			add.History = withLayer[i]
		}
		if add.MediaType, err = l.MediaType(); err != nil {
			return nil, err
		}
		if add.MediaType == types.DockerLayer {
			add.MediaType = types.OCILayer // the same bytes under another name
		}
		adds = append(adds, add)
	}
	return adds, nil
}

// join makes the index over the images for several platforms.
func join(parts []part) v1.ImageIndex {
	var adds []mutate.IndexAddendum
	for _, p := range parts {
		adds = append(adds, mutate.IndexAddendum{Add: p.image, Descriptor: v1.Descriptor{Platform: &p.platform}})
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), adds...)
	annotated, _ := mutate.Annotations(index, annotations(shared(parts))).(v1.ImageIndex) // one of an index is an index
	return annotated
}

// buildGrace is how long the go command may take to end after Ctrl-C.
const buildGrace = 5 * time.Second

type binary struct {
	platform     v1.Platform
	path         string // on this machine
	size         int64  // bytes
	sha1, sha256 string // hexadecimal
	info         *buildinfo.BuildInfo
}

// workDir makes the directory of the project's builds: outside the project,
// and apart from those of other projects.
func workDir(h host.Host, dir string) (string, error) {
	cache, err := h.CacheDir()
	if err != nil {
		return "", clierr.WithHint(fmt.Errorf("find the cache directory: %w", err), "set MYSDK_CACHE_DIR to a directory of yours")
	}
	work := filepath.Join(cache, "image", "build", fmt.Sprintf("%.12x", sha256.Sum256([]byte(dir))))
	if err := os.MkdirAll(work, 0o755); err != nil {
		return "", fmt.Errorf("make a directory for the build: %w", err)
	}
	return work, nil
}

// SourceDate is the time that everything in the image bears: SOURCE_DATE_EPOCH
// (https://reproducible-builds.org/specs/source-date-epoch/), else 1970.
func SourceDate(h host.Host) (at time.Time, set bool, err error) {
	text := h.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Unix(0, 0).UTC(), false, nil
	}
	sec, err := strconv.ParseInt(text, 10, 64)
	// Years of more than four digits have no place in the image's configuration.
	if err != nil || sec < 0 || time.Unix(sec, 0).UTC().Year() > 9999 {
		return time.Time{}, false, clierr.Usagef("set it as in SOURCE_DATE_EPOCH=$(git log -1 --format=%ct), or unset it",
			"SOURCE_DATE_EPOCH is %q, which is not a number of seconds since 1970", text)
	}
	return time.Unix(sec, 0).UTC(), true, nil
}

// compile runs the go command for one platform. The result stays at its place,
// so that the next build of unchanged source links nothing.
func (b *builder) compile(ctx context.Context, p v1.Platform) (*binary, error) {
	b.progress("compiling for %s: go build %s", platformName(p), b.mainPkg)
	bin := &binary{platform: p, path: filepath.Join(b.work, platformFile(p), "manager")}
	env := append(b.host.Environ(), goEnv(p)...)
	// There is no C library in the image, whatever the user's setting is.
	env = append(env, "CGO_ENABLED=0")
	if b.Offline {
		env = append(env, "GOPROXY=off", "GONOPROXY=none") // a private module would be fetched all the same
	}
	var out bytes.Buffer
	built := b.host.Still(ctx, "compiling for "+platformName(p), b.progress)
	err := host.Run(ctx, b.host.Exec, host.Cmd{
		Name: b.goTool, Args: []string{"build", "-trimpath", "-ldflags=" + strings.TrimSpace("-s -w "+b.GoLDFlags), "-o", bin.path, b.mainPkg},
		Dir: b.Dir, Env: env, Stdout: &out, Stderr: &out, Group: true, Grace: buildGrace, DieWithParent: true,
	})
	built()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, b.buildError(p, out.String(), err)
	}
	return bin, bin.inspect()
}

// buildError is the go command's failure with the end of what it printed.
func (b *builder) buildError(p v1.Platform, output string, err error) error {
	hint := cmp.Or(mainpkg.Hint(output), "correct it") + ", then build again"
	if strings.Contains(output, "error obtaining VCS status") {
		hint = "make git trust the directory, or run 'go env -w GOFLAGS=-buildvcs=false'"
	}
	said := cmp.Or(mainpkg.Head(output), err.Error())
	return clierr.Failedf(hint, "compile for %s: go build %s failed:\n  %s", platformName(p), b.mainPkg, strings.ReplaceAll(said, "\n", "\n  "))
}

// inspect reads what the layer and the SBOM need to know of the program.
func (bin *binary) inspect() error {
	info, err := buildinfo.ReadFile(bin.path)
	if err != nil {
		return clierr.Failedf("its main package must be 'package main'", "read the build information of %s: %w", bin.path, err)
	}
	f, err := os.Open(bin.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	h1, h256 := sha1.New(), sha256.New()
	if bin.size, err = io.Copy(io.MultiWriter(h1, h256), f); err != nil {
		return fmt.Errorf("read the compiled program: %w", err)
	}
	bin.info, bin.sha1, bin.sha256 = info, hex.EncodeToString(h1.Sum(nil)), hex.EncodeToString(h256.Sum(nil))
	return nil
}
