package validate

import (
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/bundle"
)

// locate is the place of a field in a document of a file: that of the key or
// the element that its path leads to, else of the nearest above that is there.
// 0 is nowhere.
func (r *run) locate(file string, doc int, field string) (line, column int) {
	line, column, _ = r.node(file, doc, field)
	return line, column
}

// node is locate with what stands there; nil is nowhere.
func (r *run) node(file string, doc int, field string) (line, column int, at *yaml.Node) {
	docs := r.docs[file]
	if doc >= len(docs) {
		return 0, 0, nil
	}
	at = docs[doc].Content[0]
	line, column = at.Line, at.Column
	for _, step := range steps(field) {
		key, value := child(at, step)
		if key == nil {
			break
		}
		line, column, at = key.Line, key.Column, value
	}
	return line, column, at
}

// find is the place of the first scalar of that value in a field; 0 is nowhere.
func (r *run) find(file string, doc int, field, value string) (line, column int) {
	_, _, at := r.node(file, doc, field)
	if at == nil || value == "" {
		return 0, 0
	}
	for _, key := range []string{"name", ""} { // what is called so, else what says so
		if n := scalar(at, key, value, 0); n != nil {
			return n.Line, n.Column
		}
	}
	return 0, 0
}

// depthLimit is how deep values are looked for. Aliases can make a document endlessly deep.
const depthLimit = 64

// scalar finds the first scalar of the value, under the key if one is given.
func scalar(n *yaml.Node, key, value string, depth int) *yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Value == value && key == "" {
		return n
	}
	if depth == depthLimit {
		return nil
	}
	for i, c := range n.Content { // aliases have no content of their own
		under := n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == key
		if under && c.Kind == yaml.ScalarNode && c.Value == value {
			return c
		}
		if found := scalar(c, key, value, depth+1); found != nil {
			return found
		}
	}
	return nil
}

// child is the key and the value that a step leads to; both are the element in
// a list. Keys match whatever their case, as rules name fields by what they are
// called in Go.
func child(n *yaml.Node, step string) (key, value *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	case yaml.MappingNode:
		for _, exact := range []bool{true, false} {
			for i := 0; i+1 < len(n.Content); i += 2 {
				if k := n.Content[i]; k.Value == step || !exact && strings.EqualFold(k.Value, step) {
					return k, n.Content[i+1]
				}
			}
		}
	}
	return nil, nil
}

// steps takes a path apart: a.b[0].c, a["b.c"].d, or Spec.InstallStrategy as
// rules that look at Go's fields write it.
func steps(field string) []string {
	list := bundle.SplitField(field)
	var plain []string
	for i, s := range list {
		switch {
		case s == "TypeMeta":
		case s == "ObjectMeta":
			plain = append(plain, "metadata")
		case s == "InstallStrategy":
			plain = append(plain, "install")
		case s == "StrategyName" && i > 0 && list[i-1] == "InstallStrategy":
			plain = append(plain, "strategy")
		case s == "StrategySpec" && i > 0 && list[i-1] == "InstallStrategy":
			plain = append(plain, "spec")
		default:
			plain = append(plain, s)
		}
	}
	return plain
}
