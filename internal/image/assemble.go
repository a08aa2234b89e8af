package image

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
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
	program, err := b.layer(filepath.Join(filepath.Dir(bin.path), "layer.tar.gz"), "mysdk image build", "go build "+b.mainPkg,
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
	annotated, _ := mutate.Annotations(index, annotations(shared(parts))).(v1.ImageIndex) // likewise
	return annotated
}
