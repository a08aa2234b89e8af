package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Parse reads a catalog from one file, JSON or YAML. where names the file in
// errors, which have the line of the object.
func Parse(data []byte, where string) (*Catalog, error) {
	c := &Catalog{}
	if err := c.parse(data, where); err != nil {
		return nil, err
	}
	return c, nil
}

// Read reads a catalog from a directory: the files that FileNames lists.
func Read(fsys fs.FS) (*Catalog, error) {
	names, err := FileNames(fsys)
	if err != nil {
		return nil, err
	}
	c := &Catalog{}
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err == nil {
			err = c.parse(data, name)
		}
		if err != nil {
			return nil, fmt.Errorf("read the catalog: %w", err)
		}
	}
	return c, nil
}

// FileNames are the files that a catalog in a directory is made of: all its JSON
// and YAML files but hidden ones and those that a line of .indexignore matches,
// by their name or their path.
func FileNames(fsys fs.FS) ([]string, error) {
	ignored, err := ignoredPaths(fsys)
	if err != nil {
		return nil, err
	}
	var names []string
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && (strings.HasPrefix(d.Name(), ".") || ignores(ignored, name)):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || !slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(name)):
			return nil
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return names, nil
}

// ignores reports whether one of the patterns matches the path or its last element.
func ignores(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		whole, err := path.Match(p, name)
		last, err2 := path.Match(p, path.Base(name))
		return whole && err == nil || last && err2 == nil
	})
}

func ignoredPaths(fsys fs.FS) ([]string, error) {
	data, err := fs.ReadFile(fsys, ".indexignore")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for line := range strings.Lines(string(data)) {
		if line = strings.Trim(strings.TrimSpace(line), "/"); line != "" && line[0] != '#' {
			paths = append(paths, line)
		}
	}
	return paths, err
}

func (c *Catalog) parse(data []byte, where string) error {
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		return c.parseJSON(data, where)
	}
	return c.parseYAML(data, where)
}

// parseJSON reads a stream of JSON objects.
func (c *Catalog) parseJSON(data []byte, where string) error {
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var object json.RawMessage
		err := d.Decode(&object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		end := int(d.InputOffset())
		if err != nil {
			return fmt.Errorf("%s:%d: %w", where, lineAt(data, offsetOf(err, end, len(data))), err)
		}
		if err := c.add(object); err != nil {
			return fmt.Errorf("%s:%d: %w", where, lineAt(data, end-len(object)), err)
		}
	}
}

// offsetOf is where an error of the JSON decoder is: at the end of what was
// read unless it knows better.
func offsetOf(err error, read, size int) int {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return int(syntax.Offset) - 1
	case errors.Is(err, io.ErrUnexpectedEOF):
		return size - 1
	}
	return read
}

// lineAt is the line of an offset, from 1.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}

// parseYAML reads a stream of YAML documents.
func (c *Catalog) parseYAML(data []byte, where string) error {
	d := yamlv3.NewDecoder(bytes.NewReader(data))
	for {
		var node yamlv3.Node
		err := d.Decode(&node)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if len(node.Content) == 0 || node.Content[0].Tag == "!!null" {
			continue
		}
		text, err := yamlv3.Marshal(&node)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", where, node.Line, err)
		}
		object, err := yaml.YAMLToJSON(text)
		if err == nil {
			err = c.add(object)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", where, node.Content[0].Line, err)
		}
	}
}

// add takes one object in, by its schema.
func (c *Catalog) add(object json.RawMessage) error {
	var head struct{ Schema, Package string }
	if err := json.Unmarshal(object, &head); err != nil {
		return err
	}
	switch head.Schema {
	case "":
		return errors.New("an object has no schema, such as olm.bundle")
	case SchemaPackage:
		return appendObject(&c.Packages, object)
	case SchemaChannel:
		return appendObject(&c.Channels, object)
	case SchemaBundle:
		return appendObject(&c.Bundles, object)
	case SchemaDeprecations:
		return appendObject(&c.Deprecations, object)
	}
	c.Others = append(c.Others, Other{Schema: head.Schema, Package: head.Package, Data: object})
	return nil
}

func appendObject[T any](list *[]T, object json.RawMessage) error {
	var v T
	if err := json.Unmarshal(object, &v); err != nil {
		return err
	}
	*list = append(*list, v)
	return nil
}
