package catalog

import (
	"archive/tar"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"
)

// The types here are what operator-registry's pkg/cache writes in its format
// "json", which every version of 'opm serve' with a cache reads. Tests hold the
// files against those that it writes itself.

// cachedPackage is a package of cache/packages.json.
type cachedPackage struct {
	Name           string                   `json:"name"`
	Description    string                   `json:"description"`
	Icon           *Icon                    `json:"icon"`
	DefaultChannel string                   `json:"defaultChannel"`
	Channels       map[string]cachedChannel `json:"Channels"`
	Deprecation    *cachedMessage           `json:"deprecation,omitempty"`
}

type cachedChannel struct {
	Name        string                 `json:"Name"`
	Head        string                 `json:"Head"`
	Bundles     map[string]cachedEntry `json:"Bundles"`
	Deprecation *cachedMessage         `json:"deprecation,omitempty"`
}

type cachedEntry struct {
	Package  string   `json:"package"`
	Channel  string   `json:"channel"`
	Name     string   `json:"name"`
	Replaces string   `json:"replaces"`
	Skips    []string `json:"skips"`
}

type cachedMessage struct {
	Message string `json:"message,omitempty"`
}

// cachedBundle is a bundle in a channel, as the registry server answers.
type cachedBundle struct {
	CSVName      string           `json:"csvName,omitempty"`
	PackageName  string           `json:"packageName,omitempty"`
	ChannelName  string           `json:"channelName,omitempty"`
	CSVJSON      string           `json:"csvJson,omitempty"`
	Object       []string         `json:"object,omitempty"`
	BundlePath   string           `json:"bundlePath,omitempty"`
	ProvidedAPIs []cachedAPI      `json:"providedApis,omitempty"`
	RequiredAPIs []cachedAPI      `json:"requiredApis,omitempty"`
	Version      string           `json:"version,omitempty"`
	SkipRange    string           `json:"skipRange,omitempty"`
	Dependencies []cachedProperty `json:"dependencies,omitempty"`
	Properties   []cachedProperty `json:"properties,omitempty"`
	Replaces     string           `json:"replaces,omitempty"`
	Skips        []string         `json:"skips,omitempty"`
	Deprecation  *cachedMessage   `json:"deprecation,omitempty"`
}

type cachedAPI struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind,omitempty"`
}

type cachedProperty struct {
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
}

// Permissions that the cache's sum counts on: those of everything in an image
// that mysdk makes of files.
const (
	cacheFileMode = 0o644
	cacheDirMode  = 0o755
)

// CacheFiles are the files of the cache's directory for the catalog in files,
// by path. A registry server that finds them starts without reading the
// catalog, but only if the catalog's files are byte for byte those, with the
// permissions 0644 in directories of 0755. The catalog must have passed Check.
func (c *Catalog) CacheFiles(files map[string][]byte) (map[string][]byte, error) {
	cache := map[string][]byte{}
	packages := map[string]cachedPackage{}
	for _, p := range c.Packages {
		cached, err := c.cachePackage(p, cache)
		if err != nil {
			return nil, fmt.Errorf("make the cache: %w", err)
		}
		packages[p.Name] = cached
	}
	var err error
	if cache["packages.json"], err = json.Marshal(packages); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	for _, o := range c.Others {
		if err := cacheOther(o, cache); err != nil {
			return nil, fmt.Errorf("make the cache: %w", err)
		}
	}
	sum := fnv.New64a()
	if err := writeSum(sum, files); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	if err := writeSum(sum, cache); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	out := map[string][]byte{"digest": fmt.Appendf(nil, "%x", sum.Sum(nil))}
	for name, data := range cache {
		out["cache/"+name] = data
	}
	return out, nil
}

// cachePackage writes the bundles of the package and returns its index.
func (c *Catalog) cachePackage(p Package, cache map[string][]byte) (cachedPackage, error) {
	part := c.of(p.Name)
	out := cachedPackage{
		Name: p.Name, Description: p.Description, Icon: p.Icon, DefaultChannel: p.DefaultChannel,
		Channels: map[string]cachedChannel{}, Deprecation: part.deprecation(Reference{Schema: SchemaPackage}),
	}
	for _, ch := range part.Channels {
		cached := cachedChannel{
			Name: ch.Name, Head: ch.Head(), Bundles: map[string]cachedEntry{},
			Deprecation: part.deprecation(Reference{SchemaChannel, ch.Name}),
		}
		for _, e := range ch.Entries {
			cached.Bundles[e.Name] = cachedEntry{Package: p.Name, Channel: ch.Name, Name: e.Name, Replaces: e.Replaces, Skips: e.Skips}
			data, err := part.cacheBundle(p, ch, e)
			if err != nil {
				return out, fmt.Errorf("%s: %w", e.Name, err)
			}
			cache[fmt.Sprintf("%s_%s_%s.json", p.Name, ch.Name, e.Name)] = data
		}
		out.Channels[ch.Name] = cached
	}
	return out, nil
}

// deprecation is what the package's deprecations say of something.
func (c *Catalog) deprecation(r Reference) *cachedMessage {
	for _, d := range c.Deprecations {
		for _, e := range d.Entries {
			if e.Reference == r {
				return &cachedMessage{e.Message}
			}
		}
	}
	return nil
}

func (c *Catalog) cacheBundle(p Package, ch Channel, e Entry) ([]byte, error) {
	i := slices.IndexFunc(c.Bundles, func(b Bundle) bool { return b.Name == e.Name })
	if i < 0 {
		return nil, fmt.Errorf("there is no bundle of this name")
	}
	b := c.Bundles[i]
	out := cachedBundle{
		CSVName: b.Name, PackageName: p.Name, ChannelName: ch.Name, BundlePath: b.Image,
		Replaces: e.Replaces, Skips: e.Skips, SkipRange: e.SkipRange,
		Deprecation: c.deprecation(Reference{SchemaBundle, b.Name}),
	}
	for _, prop := range b.Properties {
		if err := out.take(prop); err != nil {
			return nil, fmt.Errorf("its property %s: %w", prop.Type, err)
		}
	}
	if err := out.fillCSV(p, b); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// take adds what one property says.
func (b *cachedBundle) take(p Property) error {
	switch p.Type {
	case TypeBundleObject:
		return b.takeObject(p.Value)
	case TypeCSVMetadata:
		return nil // fillCSV makes a CSV of it
	case TypePackage:
		var v packageValue
		if err := json.Unmarshal(p.Value, &v); err != nil {
			return err
		}
		b.Version = v.Version
	case TypeGVK, TypeGVKRequired:
		var v gvkValue
		if err := json.Unmarshal(p.Value, &v); err != nil {
			return err
		}
		api := cachedAPI{Group: v.Group, Version: v.Version, Kind: v.Kind}
		if p.Type == TypeGVK {
			b.ProvidedAPIs = append(b.ProvidedAPIs, api)
		} else {
			b.RequiredAPIs = append(b.RequiredAPIs, api)
			b.Dependencies = append(b.Dependencies, cachedProperty{TypeGVK, string(p.Value)})
		}
	case TypePackageRequired:
		var v requiredValue
		if err := json.Unmarshal(p.Value, &v); err != nil {
			return err
		}
		needs, err := newProperty(TypePackage, packageValue{Name: v.Name, Version: v.Range})
		if err != nil {
			return err
		}
		b.Dependencies = append(b.Dependencies, cachedProperty{TypePackage, string(needs.Value)})
	}
	b.Properties = append(b.Properties, cachedProperty{p.Type, string(p.Value)})
	return nil
}

// takeObject adds an object of the bundle, and remembers the CSV.
func (b *cachedBundle) takeObject(value json.RawMessage) error {
	var v objectValue
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	data, err := yaml.YAMLToJSON(v.Data)
	if strings.HasPrefix(strings.TrimSpace(string(v.Data)), "{") {
		data, err = v.Data, nil // JSON goes in as it is
	}
	if err != nil {
		return err
	}
	b.Object = append(b.Object, string(data))
	var head struct{ Kind string }
	if b.CSVJSON == "" && json.Unmarshal(data, &head) == nil && head.Kind == v1alpha1.ClusterServiceVersionKind {
		b.CSVJSON = string(data)
	}
	return nil
}

// fillCSV makes the CSV that clients see of the metadata, for a bundle that
// does not carry its objects.
func (b *cachedBundle) fillCSV(p Package, in Bundle) error {
	i := slices.IndexFunc(in.Properties, func(p Property) bool { return p.Type == TypeCSVMetadata })
	if i < 0 || b.CSVJSON != "" {
		return nil
	}
	var m csvMetadata
	if err := json.Unmarshal(in.Properties[i].Value, &m); err != nil {
		return fmt.Errorf("its property %s: %w", TypeCSVMetadata, err)
	}
	csv := v1alpha1.ClusterServiceVersion{}
	csv.Kind, csv.APIVersion = v1alpha1.ClusterServiceVersionKind, v1alpha1.ClusterServiceVersionAPIVersion
	csv.Name, csv.Annotations, csv.Labels = b.CSVName, m.Annotations, m.Labels
	s := &csv.Spec
	s.APIServiceDefinitions, s.CustomResourceDefinitions = m.APIServiceDefinitions, m.CustomResourceDefinitions
	s.Description, s.DisplayName, s.InstallModes, s.Keywords = m.Description, m.DisplayName, m.InstallModes, m.Keywords
	s.Links, s.Maintainers, s.Maturity, s.MinKubeVersion = m.Links, m.Maintainers, m.Maturity, m.MinKubeVersion
	s.NativeAPIs, s.Provider = m.NativeAPIs, m.Provider
	if s.Description == "" {
		s.Description = p.Description
	}
	if p.Icon != nil {
		s.Icon = []v1alpha1.Icon{{Data: base64.StdEncoding.EncodeToString(p.Icon.Data), MediaType: p.Icon.MediaType}}
	}
	s.InstallStrategy.StrategyName = v1alpha1.InstallStrategyNameDeployment
	if err := s.Version.UnmarshalJSON([]byte(`"` + b.Version + `"`)); err != nil {
		return err
	}
	for _, r := range in.RelatedImages {
		s.RelatedImages = append(s.RelatedImages, v1alpha1.RelatedImage{Name: r.Name, Image: r.Image})
	}
	data, err := json.Marshal(csv)
	b.CSVJSON = string(data)
	if len(b.Object) == 0 {
		b.Object = []string{b.CSVJSON}
	}
	return err
}

// cacheOther writes an object of another schema under the sum of its bytes.
func cacheOther(o Other, cache map[string][]byte) error {
	var v map[string]any
	if err := json.Unmarshal(o.Data, &v); err != nil {
		return err
	}
	data, err := encode(v, "")
	if err != nil {
		return err
	}
	sum := fnv.New64a()
	_, err = sum.Write(data)
	cache[path.Join("metas", o.Schema, o.Package, fmt.Sprintf("%x.json", sum.Sum64()))] = data
	return err
}

// writeSum writes the files to w as the archive that the server sums up: in
// the order in which a directory is walked, with no times and no owners.
func writeSum(w io.Writer, files map[string][]byte) error {
	dirs := map[string]bool{".": true}
	for name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	names := slices.Concat(slices.Collect(maps.Keys(files)), slices.Collect(maps.Keys(dirs)))
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(elements(a), elements(b)) })
	archive := tar.NewWriter(w)
	for _, name := range names {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: cacheFileMode, Size: int64(len(files[name]))}
		if dirs[name] {
			header.Typeflag, header.Mode, header.Size = tar.TypeDir, cacheDirMode, 0
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(files[name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

// elements are those of a path; the root has none and comes first.
func elements(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}
