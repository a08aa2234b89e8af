package project

import (
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// PluginField returns a text among what PROJECT records under key in its
// plugins, empty where it has none.
func (f *File) PluginField(key, field string) string {
	value := yamledit.Value(yamledit.Value(yamledit.Value(f.doc.Content[0], "plugins"), key), field)
	if value == nil || value.Kind != yaml.ScalarNode {
		return ""
	}
	return value.Value
}

// WithPluginField returns the file with a text recorded under key in its
// plugins; an empty one takes the field away. Everything else stays as it
// stands there.
func (f *File) WithPluginField(key, field, value string) (*File, error) {
	return f.edited(func(top *yaml.Node) error {
		for _, k := range []string{"plugins", key} {
			next := yamledit.Value(top, k)
			if next == nil || next.Kind != yaml.MappingNode {
				if err := setKey(top, k, map[string]any{}); err != nil {
					return err
				}
				next = yamledit.Value(top, k)
			}
			next.Style = 0 // {} would keep what is added in braces
			top = next
		}
		if value == "" {
			yamledit.Remove(top, field)
			return nil
		}
		return setKey(top, field, value)
	})
}

// edited returns the file with a change made in its fields. Everything else stays as
// it stands there, comments and unknown fields included.
func (f *File) edited(change func(top *yaml.Node) error) (*File, error) {
	data, err := f.Bytes()
	if err != nil {
		return nil, err
	}
	doc, err := document(data)
	if err != nil {
		return nil, err
	}
	if err := change(doc.Content[0]); err != nil {
		return nil, err
	}
	if data, err = yamledit.Encode(doc); err != nil {
		return nil, err
	}
	return Parse(data)
}
