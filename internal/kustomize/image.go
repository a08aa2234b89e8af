package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// SetImage returns src with newName and newTag of an image in the
// kustomization file, as `kustomize edit set image` would write them; the file
// on disk stays as it is. Either newTag or newDigest may be empty.
func SetImage(src Source, file, image, newName, newTag, newDigest string) (Source, error) {
	doc, err := parse(src, file)
	if err != nil {
		return src, fmt.Errorf("set the image in %s: %w", file, err)
	}
	entry := &yaml.Node{Kind: yaml.MappingNode}
	for _, field := range [][2]string{{"name", image}, {"newName", newName}, {"newTag", newTag}, {"digest", newDigest}} {
		if field[1] != "" {
			yamledit.Set(entry, field[0], text(field[1]))
		}
	}
	list := listOf(doc, "images")
	list.Content = slices.DeleteFunc(list.Content, func(item *yaml.Node) bool {
		name := yamledit.Value(item, "name")
		return name != nil && name.Value == image
	})
	list.Content = slices.Insert(list.Content, 0, entry)
	return with(src, file, doc)
}

// AddResources returns src with those of the directories, relative to dir, among the
// resources of the kustomization in dir that have a kustomization and that it does not
// reach; added says whether there are any. The file on disk stays as it is.
func AddResources(src Source, dir string, dirs ...string) (out Source, added bool, err error) {
	c, root, err := check(src, dir)
	if err != nil {
		return src, false, fmt.Errorf("add resources to %s: %w", dir, err)
	}
	file := c.tree.rel(c.files(root)[0])
	doc, err := parse(src, file)
	if err != nil {
		return src, false, fmt.Errorf("add resources to %s: %w", dir, err)
	}
	list := listOf(doc, "resources")
	for _, name := range dirs {
		full := filepath.Join(root, filepath.FromSlash(name))
		if len(c.files(full)) > 0 && !c.seen[resolve(full)] {
			list.Content, added = append(list.Content, text(name)), true
		}
	}
	if !added {
		return src, false, nil
	}
	out, err = with(src, file, doc)
	return out, true, err
}

// parse reads a kustomization file as a tree: values that are not changed stay as they are spelled.
func parse(src Source, file string) (*yaml.Node, error) {
	data, err := read(src, file)
	if err != nil {
		return nil, err
	}
	doc := &yaml.Node{}
	if err := yaml.Unmarshal(data, doc); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(doc.Content) == 0 { // of an empty document
		return &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}, nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: not a mapping", file)
	}
	return doc, nil
}

// listOf is the list of that name in a kustomization, a new one where there is none.
func listOf(doc *yaml.Node, key string) *yaml.Node {
	list := yamledit.Value(doc.Content[0], key)
	if list == nil || list.Kind != yaml.SequenceNode {
		list = &yaml.Node{Kind: yaml.SequenceNode}
		yamledit.Set(doc.Content[0], key, list)
	}
	return list
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// with puts a kustomization file into the overlay.
func with(src Source, file string, doc *yaml.Node) (Source, error) {
	data, err := yamledit.Encode(doc)
	if err != nil {
		return src, err
	}
	src.Overlay = src.Overlay.Clone()
	return src, src.Overlay.Put(file, fileset.File{Data: data})
}

// read returns a file of the source, from the overlay or the disk.
func read(src Source, name string) ([]byte, error) {
	data, err := fileset.Tree{FS: src.Files, Root: src.Dir}.Read(src.Overlay, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: %w", name, fs.ErrNotExist)
	}
	return data, err
}
