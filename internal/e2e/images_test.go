//go:build linux

package e2e

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// testImage is an image made of programs of this machine.
type testImage struct {
	ref        string            // below the node's registry
	files      map[string]string // path in the image → file here
	entrypoint []string
	user       string
}

// push builds the image and brings it to the node's registry.
func (i testImage) push(t *testing.T) {
	t.Helper()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return i.layer() })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	img, err = mutate.ConfigFile(img, i.config(t, img))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(registryAddr+"/"+i.ref, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func (i testImage) config(t *testing.T, img v1.Image) *v1.ConfigFile {
	t.Helper()
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture = "linux", runtime.GOARCH
	c.Config = v1.Config{Entrypoint: i.entrypoint, User: i.user, Env: []string{"PATH=/bin"}}
	return c
}

func (i testImage) layer() (io.ReadCloser, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}); err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(i.files)) { // it is read more than once
		file := i.files[path]
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
	}
	return io.NopCloser(&b), w.Close()
}
