package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// leaf is a value in a manifest. For what nobody knows it may be a whole
// mapping or list.
type leaf struct {
	// way leads to it: the keys of mappings with a slash between two of them, and
	// in brackets what tells an entry of a list from the others.
	way  string
	key  *yaml.Node // of a mapping, with the comments above it; nil for the entry of a list
	node *yaml.Node
}

// keyStep and itemStep are parts of a way, escaped as in JSON pointers: keys such as
// prometheus.io/scrape have slashes.
func keyStep(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

func itemStep(item string) string { return "[" + keyStep(item) + "]" }

// readStep is the reverse of both.
func readStep(part string) (name string, isItem bool) {
	name = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
	if isItem = strings.HasPrefix(part, "[") && strings.HasSuffix(part, "]"); isItem {
		name = name[1 : len(name)-1]
	}
	return name, isItem
}

// below is the way one step on.
func (l leaf) below(step string) string { return strings.TrimPrefix(l.way+"/"+step, "/") }

// String is what people read of a way: not a whole rule of a role.
func (l leaf) String() string {
	out := ""
	for part := range strings.SplitSeq(l.way, "/") {
		name, isItem := readStep(part)
		_, value, named := strings.Cut(name, "=")
		switch {
		case !isItem:
			out += "." + name
		case strings.HasPrefix(name, "{"):
			out += "[…]"
		case named && !strings.HasPrefix(name, "-"):
			out += "[" + value + "]"
		default:
			out += "[" + name + "]"
		}
	}
	return strings.TrimPrefix(out, ".")
}

// value is the text of a scalar, and the JSON of anything else; what has a key twice is
// as it was written.
func value(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	var v any
	if n.Decode(&v) != nil {
		text, _ := yaml.Marshal(n) // a node that was read
		return strings.TrimSpace(string(text))
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // keys that are no texts
	}
	return string(data)
}

// identities are the fields that tell the entries of a list apart, the
// strongest first.
var identities = []string{"mountPath", "name", "path", "port", "containerPort"}

// itemOf is what tells the entry of a list from the others: for arguments the
// flag, for mappings their name, for the rest all of it.
func itemOf(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		if strings.HasPrefix(n.Value, "-") {
			flag, _, _ := strings.Cut(n.Value, "=")
			return "--" + strings.TrimLeft(flag, "-")
		}
		return n.Value
	}
	for _, key := range identities {
		if v := scalar(n, key); v != "" {
			return key + "=" + v
		}
	}
	return value(n)
}

// leaves lists the values of a document. deeper says whether to look into a
// mapping or list; what it does not say so about is one leaf.
func leaves(n *yaml.Node, deeper func(way string) bool) []leaf {
	return leavesOf(leaf{node: n}, deeper)
}

func leavesOf(at leaf, deeper func(string) bool) []leaf {
	n := at.node
	switch {
	case len(n.Content) == 0 && at.way == "":
		return nil // of an empty file
	case len(n.Content) == 0 || at.way != "" && !deeper(at.way):
		return []leaf{at}
	}
	var out []leaf
	if n.Kind == yaml.SequenceNode {
		for _, e := range n.Content {
			item := itemOf(e)
			below := leaf{at.below(itemStep(item)), nil, e}
			if strings.HasPrefix(item, "{") || strings.HasPrefix(item, "[") {
				out = append(out, below)
			} else {
				out = append(out, leavesOf(below, deeper)...)
			}
		}
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		below := leaf{at.below(keyStep(n.Content[i].Value)), n.Content[i], n.Content[i+1]}
		out = append(out, leavesOf(below, deeper)...)
	}
	return out
}

// find goes a way from a node: the value at its end, nil where there is none.
func find(n *yaml.Node, way string) *yaml.Node {
	for part := range strings.SplitSeq(way, "/") {
		if n = next(n, part); n == nil {
			return nil
		}
	}
	return n
}

func next(n *yaml.Node, part string) *yaml.Node {
	name, isItem := readStep(part)
	if !isItem {
		return yamledit.Value(n, name)
	}
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	i := slices.IndexFunc(n.Content, func(e *yaml.Node) bool { return itemOf(e) == name })
	if i < 0 {
		return nil
	}
	return n.Content[i]
}

// put sets a leaf in another document. Mappings on the way are made; where an
// entry of a list on the way is missing there is no place for the leaf, and
// put says so.
func put(doc *yaml.Node, l leaf) bool {
	n, parts := doc, strings.Split(l.way, "/")
	for i, part := range parts {
		name, isItem := readStep(part)
		last := i == len(parts)-1
		to := next(n, part)
		if to != nil && !last && to.Tag == "!!null" { // a key without a value
			to.Kind, to.Tag = kindBefore(parts[i+1])
		}
		switch {
		case to != nil && last && to.Kind != l.node.Kind && len(to.Content) > 0:
			return false
		case to != nil && last:
			lay(to, l.node)
			return true
		case to != nil:
			n = to
		case isItem && (!last || n.Kind != yaml.SequenceNode), !isItem && n.Kind != yaml.MappingNode:
			return false
		case isItem:
			addItem(n, l.node)
			return true
		case last:
			addKey(n, l.key, name, plain(l.node))
			return true
		default:
			to = &yaml.Node{}
			to.Kind, to.Tag = kindBefore(parts[i+1])
			addKey(n, nil, name, to)
			n = to
		}
	}
	return false
}

// kindBefore is the kind of a node that a step goes on from, with its tag.
func kindBefore(part string) (kind yaml.Kind, tag string) {
	if _, isItem := readStep(part); isItem {
		return yaml.SequenceNode, "!!seq"
	}
	return yaml.MappingNode, "!!map"
}

func textNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// addKey adds a value to a mapping, with the comments of its old key.
func addKey(n, old *yaml.Node, name string, to *yaml.Node) {
	key := textNode(name)
	if old != nil {
		key = plain(old)
		key.FootComment = ""
	}
	n.Content, n.Style = append(n.Content, key, to), 0
}

// addItem adds an entry to a list. A comment below the last one, such as a marker
// of the scaffold's, stays below the list.
func addItem(list, e *yaml.Node) {
	e = plain(e)
	if n := len(list.Content); n > 0 && e.FootComment == "" {
		last := list.Content[n-1]
		e.FootComment, last.FootComment = last.FootComment, ""
	}
	list.Content, list.Style = append(list.Content, e), 0
}

// lay puts one value over another: mappings and lists of entries that can be
// told apart are joined, and the rest is replaced.
func lay(over, by *yaml.Node) {
	switch {
	case over.Kind == yaml.MappingNode && by.Kind == yaml.MappingNode:
		over.Style = 0
		for i := 0; i+1 < len(by.Content); i += 2 {
			if old := yamledit.Value(over, by.Content[i].Value); old != nil {
				lay(old, by.Content[i+1])
			} else {
				addKey(over, by.Content[i], by.Content[i].Value, plain(by.Content[i+1]))
			}
		}
	case over.Kind == yaml.SequenceNode && by.Kind == yaml.SequenceNode:
		over.Style = 0
		for _, e := range by.Content {
			if old := next(over, itemStep(itemOf(e))); old != nil {
				lay(old, e)
			} else {
				addItem(over, e)
			}
		}
	default:
		head, line := over.HeadComment, over.LineComment
		*over = *plain(by)
		over.HeadComment = cmp.Or(over.HeadComment, head)
		over.LineComment = cmp.Or(over.LineComment, line)
	}
}

// short is the beginning of a long value.
func short(text string) string {
	const most = 60
	if text = strings.Join(strings.Fields(text), " "); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
