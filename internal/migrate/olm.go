package migrate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

const catalogDir = "deploy/olm-catalog"

// olmCatalog makes the base of the CSV of the newest one there is, and keeps the
// bundle of each package.
func (m *migration) olmCatalog() error {
	newest, version := "", ""
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if !strings.HasPrefix(name, catalogDir+"/") || !strings.HasSuffix(name, "clusterserviceversion.yaml") {
			continue
		}
		var csv struct {
			Spec struct {
				Version string `yaml:"version"`
			} `yaml:"spec"`
		}
		if err := yaml.Unmarshal(m.files[name].data, &csv); err != nil {
			return clierr.Failedf("repair it and run the command again", "%s: %w", name, err)
		}
		if newest == "" || semver.Compare("v"+csv.Spec.Version, "v"+version) > 0 {
			newest, version = name, csv.Spec.Version
		}
	}
	if newest != "" {
		m.csvBase(newest)
	}
	for _, pkg := range subdirs(m.files, catalogDir) {
		m.packageDir(pkg)
	}
	if name := catalogDir + "/csv-config.yaml"; hasFile(m.files, name) {
		m.drop(name, "the bundle is made of config/manifests")
	}
	return nil
}

// csvBase makes config/manifests/bases of a CSV: what the generator of bundles
// fills in is taken out.
func (m *migration) csvBase(name string) {
	docs, err := yamledit.Documents(m.files[name].data)
	if err != nil || len(docs) == 0 {
		m.fail(err)
		return
	}
	doc := docs[0].Content[0]
	to := fmt.Sprintf("config/manifests/bases/%s.clusterserviceversion.yaml", m.projectName())
	meta, spec := yamledit.Value(doc, "metadata"), yamledit.Value(doc, "spec")
	if meta == nil || spec == nil {
		return
	}
	yamledit.Set(meta, "name", textNode(m.projectName()+".v0.0.0"))
	yamledit.Set(meta, "namespace", textNode("placeholder"))
	if a := yamledit.Value(meta, "annotations"); a != nil {
		yamledit.Set(a, "alm-examples", textNode("[]"))
	}
	yamledit.Remove(spec, "install")
	yamledit.Set(spec, "version", textNode("0.0.0"))
	yamledit.Remove(spec, "replaces")
	yamledit.Remove(spec, "skips")
	data, err := yamledit.Encode(docs[0])
	if err != nil {
		m.fail(err)
		return
	}
	m.put(to, data)
	const kustomization = "config/manifests/kustomization.yaml"
	line := fmt.Sprintf("- bases/%s.clusterserviceversion.yaml", m.projectName())
	m.put(kustomization, []byte(m.instead(string(m.out[kustomization].data), "#"+line, line)))
}

// packageDir carries a bundle over as it is. The versions of a package stay for
// the command that makes bundles of them.
func (m *migration) packageDir(pkg string) {
	dir := path.Join(catalogDir, pkg)
	for _, sub := range subdirs(m.files, dir) {
		switch {
		case sub == "manifests" || sub == "metadata":
			for _, name := range inDir(m.files, path.Join(dir, sub)) {
				m.keep(name, path.Join("bundle", sub, path.Base(name)), m.files[name].data)
			}
		case semver.IsValid("v" + strings.TrimPrefix(sub, "v")):
			m.know("%s has package manifests, the format before bundles, and stays: 'mysdk pkgman-to-bundle %[1]s' makes bundles of them.", dir)
		}
	}
}
