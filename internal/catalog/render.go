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

func (l *propertyList) has(p Property) bool {
	return slices.ContainsFunc(l.all, func(o Property) bool { return o.Type == p.Type && string(o.Value) == string(p.Value) })
}

func (l *propertyList) add(p Property) {
	if !l.has(p) {
		l.all = append(l.all, p)
	}
}

// properties are those of the bundle, sorted, as operator-registry derives
// them: its name and version, the APIs it has and needs, and what the files in
// metadata/ and the CSV's annotation add.
func properties(b *bundle.Bundle, inline bool) ([]Property, error) {
	list := &propertyList{}
	list.add(property.MustBuildPackageRelease(b.Package, b.Version(), release(b)))
	steps := []func(*bundle.Bundle) error{list.provided, list.required, list.fromMetadata}
	if inline {
		steps = append(steps, list.objects)
	} else {
		list.add(property.MustBuildCSVMetadata(*b.CSV))
	}
	for _, step := range steps {
		if err := step(b); err != nil {
			return nil, err
		}
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
	v, _, _ := unstructured.NestedFieldNoCopy(b.CSVObject().Object, "spec", "release")
	if v == nil {
		return ""
	}
	return fmt.Sprint(v) // a string, or a number without quotes
}

// provided adds the CRDs in the bundle and the API services that the CSV owns. A CRD
// that the CSV owns and that is not there is an error: OLM would refuse the bundle.
func (l *propertyList) provided(b *bundle.Bundle) error {
	for _, crd := range b.CRDs() {
		for _, d := range bundle.Definitions(crd.Unstructured) {
			l.add(property.MustBuildGVK(d.Group, d.Version, d.Kind))
		}
	}
	for _, own := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		_, group, ok := strings.Cut(own.Name, ".")
		if !ok || !l.has(property.MustBuildGVK(group, own.Version, own.Kind)) {
			return fmt.Errorf("%s: the CSV owns the CRD %s with kind %s in version %s, and no CRD of the bundle has that", b.CSVFile, own.Name, own.Kind, own.Version)
		}
	}
	for _, own := range b.CSV.Spec.APIServiceDefinitions.Owned {
		l.add(property.MustBuildGVK(own.Group, own.Version, own.Kind))
	}
	return nil
}

// required adds the APIs that the CSV needs of other operators.
func (l *propertyList) required(b *bundle.Bundle) error {
	for _, need := range b.CSV.Spec.CustomResourceDefinitions.Required {
		_, group, ok := strings.Cut(need.Name, ".")
		if !ok {
			return fmt.Errorf("the CSV requires the CRD %q, which is not PLURAL.GROUP", need.Name)
		}
		l.add(property.MustBuildGVKRequired(group, need.Version, need.Kind))
	}
	for _, need := range b.CSV.Spec.APIServiceDefinitions.Required {
		l.add(property.MustBuildGVKRequired(need.Group, need.Version, need.Kind))
	}
	return nil
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
		var file struct{ Dependencies, Properties []Property }
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
