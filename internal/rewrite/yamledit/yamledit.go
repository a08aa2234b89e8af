// Package yamledit reads and changes mappings in trees of YAML, so that the
// comments and the order of everything else stay. It knows YAML and nothing of
// what the trees are about.
package yamledit

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Index is where a mapping has the value of a key, 0 where there is none.
func Index(n *yaml.Node, key string) int {
	for i := 1; n != nil && n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i-1].Value == key {
			return i
		}
	}
	return 0
}

// Value is the value of a key, nil where there is none.
func Value(n *yaml.Node, key string) *yaml.Node {
	if i := Index(n, key); i > 0 {
		return n.Content[i]
	}
	return nil
}

// Lookup is the value of a path of keys, each of which may stand for several
// with dots between them; nil where there is none.
func Lookup(n *yaml.Node, path string) *yaml.Node {
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		return Lookup(n.Content[0], path)
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if key := n.Content[i].Value; key == path {
			return n.Content[i+1]
		} else if rest, ok := strings.CutPrefix(path, key+"."); ok {
			if found := Lookup(n.Content[i+1], rest); found != nil {
				return found
			}
		}
	}
	return nil
}

// Set gives a mapping's key a value, in its place if it is there.
func Set(n *yaml.Node, key string, value *yaml.Node) {
	if i := Index(n, key); i > 0 {
		n.Content[i] = value
		return
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

// Mapping is the mapping at a path below another one. What is missing on the way, or
// no mapping, is made one; none stays in braces, which what is added would be in, too.
func Mapping(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		next := Value(n, key)
		if next == nil || next.Kind != yaml.MappingNode {
			next = &yaml.Node{Kind: yaml.MappingNode}
			Set(n, key, next)
		}
		next.Style = 0
		n = next
	}
	return n
}

// Remove takes a key with its value out of a mapping.
func Remove(n *yaml.Node, key string) {
	if i := Index(n, key); i > 0 {
		n.Content = slices.Delete(n.Content, i-1, i+1)
	}
}

// Documents are those of a file that are mappings, up to the first that does not parse.
func Documents(data []byte) (docs []*yaml.Node, err error) {
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		doc := &yaml.Node{}
		if err := dec.Decode(doc); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return docs, err
		}
		if len(doc.Content) > 0 && doc.Content[0].Kind == yaml.MappingNode {
			docs = append(docs, doc)
		}
	}
}

// Commented reports whether there is a comment anywhere in a tree.
func Commented(n *yaml.Node) bool {
	return n.HeadComment+n.LineComment+n.FootComment != "" || slices.ContainsFunc(n.Content, Commented)
}

// Encode is a tree or value as text, indented as the tools indent it that share files with mysdk.
func Encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := errors.Join(enc.Encode(v), enc.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
