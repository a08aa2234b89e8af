package catalog

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
)

// Converted is a bundle made of one version of a package manifest.
type Converted struct {
	Version  string            // the name of the version's directory
	Files    map[string][]byte // of the bundle, and bundle.Dockerfile beside its directory
	Channels []string
	Guessed  bool // no channel leads to the version: it is put into the default one
}

// packageManifest is a file NAME.package.yaml.
type packageManifest struct {
	Name     string `json:"packageName"`
	Default  string `json:"defaultChannel"`
	Channels []struct {
		Name    string `json:"name"`
		Current string `json:"currentCSV"`
	} `json:"channels"`
}

// pkgVersion is a directory with the manifests of one version.
type pkgVersion struct {
	dir       string
	files     map[string][]byte // by name
	scorecard string            // the file with the scorecard's configuration
	csv       *unstructured.Unstructured
}

// FromPackageManifests makes a bundle of every version in a directory of
// package manifests, the format before bundles. A version is put into every
// channel from whose current CSV a chain of spec.replaces leads to it.
func FromPackageManifests(fsys fs.FS) ([]Converted, error) {
	pkg, root, err := findPackage(fsys)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(fsys, root)
	if err != nil {
		return nil, err
	}
	var versions []*pkgVersion
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		v, err := readVersion(fsys, path.Join(root, e.Name()))
		if err != nil {
			return nil, err
		}
		versions = append(versions, v)
	}
	if len(versions) == 0 {
		return nil, clierr.Failedf("name the directory with the package's file and a directory for each version", "there is no version of %s", pkg.Name)
	}
	var list []Converted
	for _, v := range versions {
		c, err := pkg.convert(v, versions)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.dir, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// findPackage looks for the one file of a package, here or one directory down.
func findPackage(fsys fs.FS) (*packageManifest, string, error) {
	var found []string
	for _, pattern := range []string{"*.package.y*ml", "package.y*ml", "*/*.package.y*ml", "*/package.y*ml"} {
		names, err := fs.Glob(fsys, pattern)
		if err != nil {
			return nil, "", err
		}
		if found = append(found, names...); len(found) > 0 {
			break
		}
	}
	const hint = "name a directory with one file NAME.package.yaml"
	if len(found) != 1 {
		return nil, "", clierr.Failedf(hint, "there are %d files of packages, and one is needed: %s", len(found), strings.Join(found, ", "))
	}
	data, err := fs.ReadFile(fsys, found[0])
	if err != nil {
		return nil, "", err
	}
	p := &packageManifest{}
	if err := yaml.Unmarshal(data, p); err != nil {
		return nil, "", fmt.Errorf("%s: %w", found[0], err)
	}
	if p.Default == "" && len(p.Channels) == 1 {
		p.Default = p.Channels[0].Name
	}
	if p.Name == "" || p.Default == "" {
		return nil, "", clierr.Failedf("set both in the file", "%s: packageName or defaultChannel is missing", found[0])
	}
	return p, path.Dir(found[0]), nil
}

// readVersion reads the manifests of a version: its YAML and JSON files. What is
// hidden, and a README, belong to no bundle.
func readVersion(fsys fs.FS, dir string) (*pkgVersion, error) {
	v := &pkgVersion{dir: dir, files: map[string][]byte{}}
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		switch hidden := strings.HasPrefix(d.Name(), "."); {
		case err != nil:
			return err
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden || !d.Type().IsRegular() || !compat.IsManifest(name):
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &u.Object); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		switch base := path.Base(name); {
		case u.GetKind() == bundle.ScorecardKind && u.GroupVersionKind().Group == bundle.ScorecardGroup:
			if v.scorecard != "" {
				return fmt.Errorf("%s: there is a scorecard configuration in %s already", name, v.scorecard)
			}
			v.scorecard, v.files[bundle.ScorecardFile] = name, data
		case v.files[bundle.ManifestsDir+"/"+base] != nil:
			return fmt.Errorf("%s: there are two files %s, and a bundle's manifests are in one directory", name, base)
		default:
			v.files[bundle.ManifestsDir+"/"+base] = data
			if u.GetKind() == bundle.CSVKind {
				v.csv = u
			}
		}
		return nil
	})
	if err == nil && v.csv == nil {
		err = fmt.Errorf("%s: there is no ClusterServiceVersion in it", dir)
	}
	return v, clierr.WithHint(err, "every directory beside the package's file has the manifests of one version")
}

func (p *packageManifest) convert(v *pkgVersion, all []*pkgVersion) (Converted, error) {
	c := Converted{Version: path.Base(v.dir), Files: map[string][]byte{}, Channels: p.channelsOf(v, all)}
	if len(c.Channels) == 0 {
		c.Channels, c.Guessed = []string{p.Default}, true
	}
	meta := bundle.Metadata{Package: p.Name, Channels: c.Channels, DefaultChannel: p.Default, Scorecard: v.scorecard != ""}
	if layout := v.csv.GetAnnotations()[bundle.CSVLayoutKey]; layout != "" {
		meta.Layout = strings.Split(layout, ",")
	}
	annotations, err := meta.Annotations()
	if err != nil {
		return c, err
	}
	for name, data := range v.files {
		c.Files[path.Join(bundle.DefaultDir, name)] = data
	}
	c.Files[path.Join(bundle.DefaultDir, bundle.AnnotationsFile)] = annotations
	c.Files[bundle.DockerfileName] = meta.Dockerfile(bundle.DefaultDir, nil)
	return c, nil
}

// channelsOf are the channels that lead to the version.
func (p *packageManifest) channelsOf(v *pkgVersion, all []*pkgVersion) []string {
	older := map[string]string{}
	for _, o := range all {
		replaces, _, err := unstructured.NestedString(o.csv.Object, "spec", "replaces")
		if err == nil { // what is no text replaces nothing
			older[o.csv.GetName()] = replaces
		}
	}
	var channels []string
	for _, ch := range p.Channels {
		seen := map[string]bool{}
		for at := ch.Current; at != "" && !seen[at]; at = older[at] {
			seen[at] = true
		}
		if seen[v.csv.GetName()] && !slices.Contains(channels, ch.Name) {
			channels = append(channels, ch.Name)
		}
	}
	return channels
}
