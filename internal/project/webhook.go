package project

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// resourceFields is a resource as the file has it, nil where it has none. The
// domain is not compared: that of an external API is not known beforehand.
func (f *File) resourceFields(gvk resource.GVK) map[string]any {
	for _, e := range f.entries() {
		if e.Group == gvk.Group && e.Version == gvk.Version && e.Kind == gvk.Kind {
			return e.fields
		}
	}
	return nil
}

// mergeWebhooks writes fields of a resource's webhooks beside those that are
// there.
func mergeWebhooks(entry *yaml.Node, fields map[string]any) error {
	webhooks := yamledit.Value(entry, "webhooks")
	if webhooks == nil || webhooks.Kind != yaml.MappingNode {
		return setKey(entry, "webhooks", fields)
	}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if err := setKey(webhooks, k, fields[k]); err != nil {
			return err
		}
	}
	return nil
}
