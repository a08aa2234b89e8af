package catalog

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Formats of a catalog's files.
const (
	JSON = "json"
	YAML = "yaml"
)

// Encode writes the whole catalog as one stream in the format, JSON or YAML.
// The same catalog gives the same bytes.
func (c *Catalog) Encode(format string) ([]byte, error) {
	var out bytes.Buffer
	err := c.each(func(o any) error {
		data, err := encode(o, "    ") // as opm indents
		if err != nil {
			return err
		}
		if format == YAML {
			if data, err = yaml.JSONToYAML(data); err != nil {
				return err
			}
			out.WriteString("---\n")
		}
		out.Write(data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("write the catalog: %w", err)
	}
	return out.Bytes(), nil
}

// Files are the files of the catalog's directory, by path: one for each
// package, in a directory of its name, as opm lays them out.
func (c *Catalog) Files(format string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range c.packageNames() {
		data, err := c.of(name).Encode(format)
		if err != nil {
			return nil, err
		}
		file := "catalog." + format
		if name != "" {
			file = name + "/" + file
		}
		files[file] = data
	}
	return files, nil
}
