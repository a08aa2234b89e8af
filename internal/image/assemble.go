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
	l, err := writeLayer(filepath.Join(filepath.Dir(bin.path), "layer.tar.gz"), b.epoch,
		[]entry{{name: entrypoint[1:], mode: 0o755, file: bin.path}})
	if err != nil {
		return part{}, err
	}
	labels := b.labelsFor(base, bin)
	img, err := b.configure(on, bin.platform, labels)
	if err != nil {
		return part{}, err
	}
	adds, err := layersOf(on)
	if err != nil {
		return part{}, err
	}
	adds = append(adds, mutate.Addendum{
		Layer: l, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: b.epoch}, CreatedBy: "mysdk image build", Comment: "go build " + b.mainPkg},
	})
	if img, err = mutate.Append(img, adds...); err != nil {
		return part{}, err
	}
	made := part{platform: bin.platform, labels: labels, image: annotate(img, labels)}
	if !b.NoSBOM {
		made.sbom, err = b.sbom(base, made.image, bin)
	}
	return made, err
}

// annotate copies the labels to where registries show them. Only keys of the
// specification's kind are annotations.
func annotate(img v1.Image, labels map[string]string) v1.Image {
	annotated, ok := mutate.Annotations(img, annotations(labels)).(v1.Image)
	if !ok {
		return img // not so: the library gives an image for an image
	}
	return annotated
}

func annotations(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	maps.DeleteFunc(out, func(k, _ string) bool { return !strings.HasPrefix(k, "org.opencontainers.image.") })
	return out
}

// configure returns an image without layers: the base's configuration, and
// over it what the scaffolded Dockerfile sets.
func (b *builder) configure(on v1.Image, p v1.Platform, labels map[string]string) (v1.Image, error) {
	from, err := on.ConfigFile()
	if err != nil {
		return nil, err
	}
	c := *from.Config.DeepCopy()
	c.User, c.WorkingDir, c.Entrypoint, c.Cmd = User, "/", []string{entrypoint}, nil
	all := c.Labels
	// What the base has about itself is not true of this image.
	maps.DeleteFunc(all, func(k, _ string) bool { return strings.HasPrefix(k, "org.opencontainers.image.") })
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, labels)
	c.Labels = all
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: p.OS, OSVersion: from.OSVersion, Architecture: p.Architecture, Variant: p.Variant,
		Created: v1.Time{Time: b.epoch}, Config: c, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigMediaType(mutate.MediaType(img, types.OCIManifestSchema1), types.OCIConfigJSON), nil
}

// layersOf are the layers of an image with their history, in OCI's terms. Some
// tools leave the history out, or write less of it than there are layers.
func layersOf(img v1.Image) ([]mutate.Addendum, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	var adds []mutate.Addendum
	withLayer := slices.DeleteFunc(slices.Clone(config.History), func(h v1.History) bool { return h.EmptyLayer })
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
	annotated, ok := mutate.Annotations(index, annotations(shared(parts))).(v1.ImageIndex)
	if !ok {
		return index // not so: the library gives an index for an index
	}
	return annotated
}
