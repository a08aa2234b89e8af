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

// olmCatalog makes the base of the CSV of the newest one there is, and bundles
// of the packages.
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
	docs, err := documents(m.files[name].data)
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
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	yamledit.Set(meta, "name", text(m.projectName()+".v0.0.0"))
	yamledit.Set(meta, "namespace", text("placeholder"))
	if a := yamledit.Value(meta, "annotations"); a != nil {
		yamledit.Set(a, "alm-examples", text("[]"))
	}
	install := &yaml.Node{}
	if err := yaml.Unmarshal([]byte("{spec: {deployments: null}, strategy: \"\"}"), install); err != nil {
		m.fail(err)
		return
	}
	block(install)
	yamledit.Set(spec, "install", install.Content[0])
	yamledit.Set(spec, "version", text("0.0.0"))
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

// block takes the braces off a tree.
func block(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle
	for _, c := range n.Content {
		block(c)
	}
}

// packageDir carries the manifests of one package over: a bundle as it is, the
// versions of a package by the conversion.
func (m *migration) packageDir(pkg string) {
	dir := path.Join(catalogDir, pkg)
	versions := false
	for _, sub := range subdirs(m.files, dir) {
		if sub != "manifests" && sub != "metadata" {
			versions = versions || semver.IsValid("v"+strings.TrimPrefix(sub, "v"))
			continue
		}
		for _, name := range inDir(m.files, path.Join(dir, sub)) {
			m.keep(name, path.Join("bundle", sub, path.Base(name)), m.files[name].data)
		}
	}
	if !versions || m.Bundles == nil {
		return
	}
	bundles, err := m.Bundles(dir)
	if err != nil {
		// Manifests that are no package are nobody's bundle; the rest of the
		// project can do without.
		m.general = append(m.general, Note{Text: fmt.Sprintf("%s stays where it is: %v.", dir, err)})
		return
	}
	for version, files := range bundles {
		for name, data := range files {
			m.put(path.Join("bundles", version, name), data)
		}
		for name := range m.files {
			if strings.HasPrefix(name, path.Join(dir, version)+"/") {
				m.drop(name, "its bundle is in bundles/%s", version)
			}
		}
	}
	for _, name := range inDir(m.files, dir) {
		if strings.HasSuffix(name, "package.yaml") {
			m.drop(name, "the channels are in the bundles")
		}
	}
}
