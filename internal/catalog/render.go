package catalog

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/bundle"
)

// propertiesKey is the annotation of a CSV with properties in JSON.
const propertiesKey = "olm.properties"

// Render is the olm.bundle of a bundle with the properties that OLM resolves
// by. With an image it reports what clients may know of the CSV, and OLM unpacks
// the image; without one it carries every object, and needs no image.
func Render(b *bundle.Bundle, image string) (Bundle, error) {
	if b.CSV == nil {
		return Bundle{}, errors.New("render a bundle: it has no ClusterServiceVersion")
	}
	props, err := properties(b, image == "")
	if err != nil {
		return Bundle{}, fmt.Errorf("render the bundle %s: %w", b.Name(), err)
	}
	return Bundle{
		Schema: SchemaBundle, Name: b.Name(), Package: b.Package, Image: image,
		Properties: props, RelatedImages: relatedImages(b, image),
	}, nil
}

// propertyList gathers properties, each once.
type propertyList struct{ all []Property }

func (l *propertyList) add(p Property) {
	if !slices.ContainsFunc(l.all, func(o Property) bool { return o.Type == p.Type && string(o.Value) == string(p.Value) }) {
		l.all = append(l.all, p)
	}
}

// properties are those of the bundle, sorted, as operator-registry derives
// them: its name and version, the APIs it has and needs, and what the files in
// metadata/ and the CSV's annotation add.
func properties(b *bundle.Bundle, inline bool) ([]Property, error) {
	list := &propertyList{}
	list.add(property.MustBuildPackageRelease(b.Package, b.Version(), release(b)))
	provided, err := providedAPIs(b)
	if err != nil {
		return nil, err
	}
	for _, gvk := range provided {
		list.add(property.MustBuild(&gvk))
	}
	required, err := requiredAPIs(b.CSV)
	if err != nil {
		return nil, err
	}
	for _, gvk := range required {
		list.add(property.MustBuild(&gvk))
	}
	if err := list.fromMetadata(b); err != nil {
		return nil, err
	}
	if inline {
		if err := list.objects(b); err != nil {
			return nil, err
		}
	} else {
		list.add(property.MustBuildCSVMetadata(*b.CSV))
	}
	slices.SortFunc(list.all, func(a, b Property) int {
		return strings.Compare(a.Type+"\x00"+string(a.Value), b.Type+"\x00"+string(b.Value))
	})
	return list.all, nil
}

// objects adds every object that OLM reads: the first of each file.
func (l *propertyList) objects(b *bundle.Bundle) error {
	for _, o := range b.Objects {
		if o.Doc > 0 {
			continue
		}
		data, err := json.Marshal(o.Object)
		if err != nil {
			return err
		}
		l.add(property.MustBuildBundleObject(data))
	}
	return nil
}

// release is spec.release of the CSV, which newer versions of OLM know.
func release(b *bundle.Bundle) string {
	u := b.CSVObject()
	if u == nil {
		return ""
	}
	v, found, err := unstructured.NestedFieldNoCopy(u.Object, "spec", "release")
	if err != nil || !found || v == nil {
		return ""
	}
	return fmt.Sprint(v) // a string, or a number without quotes
}

// providedAPIs are the CRDs in the bundle and the API services that the CSV
// owns. A CRD that the CSV owns and that is not there is an error: OLM would
// refuse the bundle.
func providedAPIs(b *bundle.Bundle) ([]property.GVK, error) {
	var all []property.GVK
	for _, crd := range b.CRDs() {
		for _, d := range bundle.Definitions(crd.Unstructured) {
			all = append(all, property.GVK{Group: d.Group, Version: d.Version, Kind: d.Kind})
		}
	}
	for _, own := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		_, group, ok := strings.Cut(own.Name, ".")
		if want := (property.GVK{Group: group, Version: own.Version, Kind: own.Kind}); !ok || !slices.Contains(all, want) {
			return nil, fmt.Errorf("%s: the CSV owns the CRD %s with kind %s in version %s, and no CRD of the bundle has that", b.CSVFile, own.Name, own.Kind, own.Version)
		}
	}
	for _, own := range b.CSV.Spec.APIServiceDefinitions.Owned {
		all = append(all, property.GVK{Group: own.Group, Version: own.Version, Kind: own.Kind})
	}
	return all, nil
}

// requiredAPIs are those that the CSV needs of other operators.
func requiredAPIs(csv *v1alpha1.ClusterServiceVersion) ([]property.GVKRequired, error) {
	var all []property.GVKRequired
	for _, need := range csv.Spec.CustomResourceDefinitions.Required {
		_, group, ok := strings.Cut(need.Name, ".")
		if !ok {
			return nil, fmt.Errorf("the CSV requires the CRD %q, which is not PLURAL.GROUP", need.Name)
		}
		all = append(all, property.GVKRequired{Group: group, Version: need.Version, Kind: need.Kind})
	}
	for _, need := range csv.Spec.APIServiceDefinitions.Required {
		all = append(all, property.GVKRequired{Group: need.Group, Version: need.Version, Kind: need.Kind})
	}
	return all, nil
}

// metadataFile is what dependencies.yaml and properties.yaml look like.
type metadataFile struct {
	Dependencies []Property `json:"dependencies"`
	Properties   []Property `json:"properties"`
}

// fromMetadata adds the properties and dependencies that the author wrote.
func (l *propertyList) fromMetadata(b *bundle.Bundle) error {
	if text := b.CSV.Annotations[propertiesKey]; text != "" {
		var list []Property
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return fmt.Errorf("%s: the annotation %s is not a JSON list of properties: %w", b.CSVFile, propertiesKey, err)
		}
		l.addOwn(list)
	}
	for _, f := range b.Files {
		if ext := path.Ext(f.Name); path.Dir(f.Name) != bundle.MetadataDir || ext != ".yaml" && ext != ".yml" {
			continue
		}
		var file metadataFile
		if err := yaml.Unmarshal(f.Data, &file); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		l.addOwn(file.Properties)
		for _, d := range file.Dependencies {
			if err := l.addDependency(d); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	return nil
}

// addOwn adds properties but those that are derived anyway.
func (l *propertyList) addOwn(list []Property) {
	for _, p := range list {
		if p.Type != property.TypePackage {
			l.add(p)
		}
	}
}

// addDependency turns a dependency into the property that demands it.
func (l *propertyList) addDependency(d Property) error {
	switch d.Type {
	case property.TypePackage:
		var v property.Package
		if err := json.Unmarshal(d.Value, &v); err != nil {
			return fmt.Errorf("a dependency on a package: %w", err)
		}
		l.add(property.MustBuildPackageRequired(v.PackageName, v.Version))
	case property.TypeGVK:
		var v property.GVKRequired
		if err := json.Unmarshal(d.Value, &v); err != nil {
			return fmt.Errorf("a dependency on an API: %w", err)
		}
		l.add(property.MustBuild(&v))
	default:
		l.add(d)
	}
	return nil
}

// relatedImages are those that the CSV names, those that its Deployments run,
// and the bundle's own: what a mirror has to copy.
func relatedImages(b *bundle.Bundle, image string) []RelatedImage {
	var all []RelatedImage
	for _, r := range b.CSV.Spec.RelatedImages {
		all = append(all, RelatedImage{Name: r.Name, Image: r.Image})
	}
	var more []string
	if image != "" {
		more = append(more, image)
	}
	for _, d := range b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		pod := d.Spec.Template.Spec
		for _, c := range slices.Concat(pod.Containers, pod.InitContainers) {
			more = append(more, c.Image)
		}
	}
	slices.Sort(more)
	for _, m := range slices.Compact(more) {
		if m != "" && !slices.ContainsFunc(all, func(r RelatedImage) bool { return r.Image == m }) {
			all = append(all, RelatedImage{Image: m})
		}
	}
	return all
}

// iconOf is the CSV's first picture, nil without one.
func iconOf(csv *v1alpha1.ClusterServiceVersion) *Icon {
	if len(csv.Spec.Icon) == 0 || csv.Spec.Icon[0].Data == "" {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(csv.Spec.Icon[0].Data), ""))
	if err != nil {
		return nil // a broken picture is for 'bundle validate' to tell
	}
	return &Icon{Data: data, MediaType: csv.Spec.Icon[0].MediaType}
}
