package image

import (
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// emptyType is the media type of a configuration that says nothing, which is
// emptyData.
const emptyType types.MediaType = "application/vnd.oci.empty.v1+json"

const emptyData = "{}"

// artifact is a manifest that carries a file instead of a root file system and
// refers to an image, its subject (OCI image specification 1.1, "Guidelines
// for Artifact Usage").
type artifact struct {
	manifest []byte
	blob     v1.Layer
}

var _ partial.CompressedImageCore = (*artifact)(nil)

// newArtifact makes an artifact with one file of the given media type, which
// is the artifact's type too.
func newArtifact(kind types.MediaType, data []byte, subject v1.Descriptor, annotations map[string]string) (v1.Image, error) {
	config, err := partial.Descriptor(static.NewLayer([]byte(emptyData), emptyType))
	if err != nil {
		return nil, err
	}
	blob := static.NewLayer(data, kind)
	file, err := partial.Descriptor(blob)
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: string(kind),
		Config: *config, Layers: []v1.Descriptor{*file}, Subject: &subject, Annotations: annotations,
	})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&artifact{manifest, blob})
}

// RawManifest implements partial.CompressedImageCore.
func (a *artifact) RawManifest() ([]byte, error) { return a.manifest, nil }

// RawConfigFile implements partial.CompressedImageCore.
func (a *artifact) RawConfigFile() ([]byte, error) { return []byte(emptyData), nil }

// MediaType implements partial.CompressedImageCore.
func (a *artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// LayerByDigest implements partial.CompressedImageCore.
func (a *artifact) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if d, err := a.blob.Digest(); err != nil || d != h {
		return nil, fmt.Errorf("there is no layer %s in the artifact", h)
	}
	return a.blob, nil
}
