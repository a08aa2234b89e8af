package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/example/mysdk/internal/bundle"
)

// spec says what a bundle for a test is to have beyond its version.
type spec struct {
	pkg      string
	name     string // of the CSV; empty is PKG.vVERSION
	channels string
	channel  string // default
	replaces string
	skips    string // in YAML
	skip     string // skip range
	extra    string // further lines of the CSV's spec
	files    map[string]string
}

const crdText = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: memcacheds.cache.example.com
spec:
  group: cache.example.com
  names: {kind: Memcached, listKind: MemcachedList, plural: memcacheds, singular: memcached}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object}
`

// bundleFiles are the files of a bundle with one Deployment and one CRD.
func bundleFiles(version string, s spec) map[string]string {
	if s.pkg == "" {
		s.pkg = "memcached"
	}
	if s.channels == "" {
		s.channels = "alpha"
	}
	if s.name == "" {
		s.name = s.pkg + ".v" + version
	}
	annotations := ""
	if s.skip != "" {
		annotations = fmt.Sprintf("  annotations:\n    olm.skipRange: %q\n", s.skip)
	}
	extra := s.extra
	if s.replaces != "" {
		extra += "  replaces: " + s.replaces + "\n"
	}
	if s.skips != "" {
		extra += "  skips: " + s.skips + "\n"
	}
	files := map[string]string{
		"manifests/memcached.clusterserviceversion.yaml": fmt.Sprintf(`apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: %s
%sspec:
  version: %s
  displayName: Memcached <Operator>
  description: Runs Memcached.
  provider: {name: Example}
  icon:
  - {base64data: PHN2Zy8+, mediatype: image/svg+xml}
  customresourcedefinitions:
    owned:
    - {kind: Memcached, name: memcacheds.cache.example.com, version: v1alpha1}
    required:
    - {kind: Disk, name: disks.storage.example.com, version: v1}
  relatedImages:
  - {name: memcached, image: "docker.io/memcached:1.6"}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: manager
        spec:
          selector: {matchLabels: {a: b}}
          template:
            metadata: {labels: {a: b}}
            spec:
              containers:
              - {name: manager, image: "ghcr.io/example/memcached:v%s"}
              initContainers:
              - {name: setup, image: "docker.io/memcached:1.6"}
%s`, s.name, annotations, version, version, extra),
		"manifests/memcacheds.yaml": crdText,
		"metadata/annotations.yaml": fmt.Sprintf(`annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: %s
  operators.operatorframework.io.bundle.channels.v1: %s
  operators.operatorframework.io.bundle.channel.default.v1: %s
`, s.pkg, s.channels, s.channel),
	}
	for name, text := range s.files {
		files[name] = text
	}
	return files
}

func newBundle(t testing.TB, version string, s spec) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Load(mapFS(bundleFiles(version, s)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mapFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return fsys
}

// onDisk writes files to a new directory.
func onDisk(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// theirs reads a catalog with operator-registry.
func theirs(t testing.TB, data []byte) *declcfg.DeclarativeConfig {
	t.Helper()
	cfg, err := declcfg.LoadReader(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("operator-registry cannot read it: %v\n%s", err, data)
	}
	return cfg
}

// inline is a catalog in JSON that holds the bundles whole: no image is needed
// to install them. They are the entries of one channel, which is the default,
// in the order in which one replaces another. What an entry replaces is what
// replaces has for its name, else what its CSV says; skips and the skip range
// are the CSV's. All bundles are of one package. A channel that OLM would
// refuse is an error.
func inline(bundles []*bundle.Bundle, channel string, replaces map[string]string) ([]byte, error) {
	if len(bundles) == 0 {
		return nil, errors.New("make a catalog: there is no bundle for it")
	}
	pkg := bundles[0].Package
	c := &Catalog{Packages: []Package{{Schema: SchemaPackage, Name: pkg, DefaultChannel: channel}}}
	ch := Channel{Schema: SchemaChannel, Name: channel, Package: pkg}
	for _, b := range bundles {
		if b.Package != pkg {
			return nil, fmt.Errorf("make a catalog: the bundle %s is of the package %q, and the others are of %q", b.Name(), b.Package, pkg)
		}
		rendered, err := Render(b, "")
		if err != nil {
			return nil, err
		}
		// Clients read the images from the objects; a mirror has none of this.
		rendered.RelatedImages = nil
		c.Bundles = append(c.Bundles, rendered)
		e := entryOf(b)
		if r, ok := replaces[b.Name()]; ok {
			e.Replaces = r
		}
		ch.Entries = append(ch.Entries, e)
	}
	c.Channels = []Channel{ch}
	if err := c.Check(); err != nil {
		return nil, err
	}
	return c.Encode(JSON)
}
