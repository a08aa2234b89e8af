package explore

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/fields"
	"github.com/example/mysdk/internal/kube"
)

// exploredAnnotation makes a write of what is there a write.
const exploredAnnotation = "mysdk.dev/explored"

// roundTrips writes the first step's object back as it is, once in each version
// that is served, and returns what that has changed of its spec: a conversion
// that is not true both ways, or a default that is set over and over.
func (t *trial) roundTrips(ctx context.Context) ([]Difference, error) {
	obj := t.plan.Steps[0].in(t.namespace)
	versions, err := t.versions(ctx, obj.GroupVersionKind().GroupKind())
	if err != nil {
		return nil, err
	}
	var lost []Difference
	for _, version := range versions {
		before, err := t.Cluster.Read(ctx, obj)
		if err != nil || before == nil {
			return lost, err
		}
		as := obj.DeepCopy()
		as.SetGroupVersionKind(obj.GroupVersionKind().GroupKind().WithVersion(version))
		name := obj.GetKind() + "/" + obj.GetName() + " written as " + version
		if err := t.writeBack(ctx, as); err != nil {
			if ctx.Err() != nil {
				return lost, err
			}
			lost = append(lost, Difference{Object: name, Path: "the write", Want: "accepted", Got: err.Error()})
			continue
		}
		after, err := t.Cluster.Read(ctx, obj)
		if err != nil || after == nil {
			return lost, err
		}
		for _, d := range differences(stateOf(t.namespace, []*unstructured.Unstructured{before}), stateOf(t.namespace, []*unstructured.Unstructured{after})) {
			if strings.HasPrefix(d.Path, "spec.") {
				d.Object = name
				lost = append(lost, d)
			}
		}
	}
	return lost, nil
}

// writeBack reads an object in its version, and writes it.
func (t *trial) writeBack(ctx context.Context, as *unstructured.Unstructured) error {
	return t.Cluster.Edit(ctx, as, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			return nil, nil
		}
		version := as.GroupVersionKind().Version
		return live, unstructured.SetNestedField(live.Object, version, "metadata", "annotations", exploredAnnotation)
	})
}

// versions are those in which a kind is served, sorted.
func (t *trial) versions(ctx context.Context, of schema.GroupKind) (served []string, err error) {
	crds, err := t.Cluster.List(ctx, kube.CRD(), kube.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		if kube.ServedKind(crd).GroupKind() != of {
			continue
		}
		for _, v := range fields.Versions(crd) {
			if v["served"] == true {
				name, _ := v["name"].(string)
				served = append(served, name)
			}
		}
	}
	slices.Sort(served)
	return served, nil
}
