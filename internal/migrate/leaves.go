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

// step is one part of the way to a value in a manifest: the key of a mapping,
// or what tells an entry of a list from the others.
type step struct{ key, item string }

// wayTo writes steps as one text: a slash between two of them, and entries of
// lists in brackets.
func wayTo(steps []step) string {
	parts := make([]string, len(steps))
	for i, s := range steps {
		if s.item != "" {
			parts[i] = "[" + escapeStep(s.item) + "]"
		} else {
			parts[i] = escapeStep(s.key)
		}
	}
	return strings.Join(parts, "/")
}

// stepsOf is the reverse of wayTo.
func stepsOf(way string) []step {
	var out []step
	for part := range strings.SplitSeq(way, "/") {
		if strings.HasPrefix(part, "[") && strings.HasSuffix(part, "]") {
			out = append(out, step{item: unescapeStep(part[1 : len(part)-1])})
		} else {
			out = append(out, step{key: unescapeStep(part)})
		}
	}
	return out
}

// escapeStep is as in JSON pointers: keys such as prometheus.io/scrape have
// slashes.
func escapeStep(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

func unescapeStep(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
}

// leaf is a value in a manifest. For what nobody knows it may be a whole
// mapping or list.
type leaf struct {
	steps []step
	key   *yaml.Node // of a mapping, with the comments above it; nil for the entry of a list
	node  *yaml.Node
}

func (l leaf) way() string { return wayTo(l.steps) }

// String is what people read of a way: not a whole rule of a role.
func (l leaf) String() string {
	parts := make([]string, len(l.steps))
	for i, s := range l.steps {
		switch {
		case strings.HasPrefix(s.item, "{"):
			parts[i] = "[…]"
		case s.item != "":
			_, item, named := strings.Cut(s.item, "=")
			if !named || strings.HasPrefix(s.item, "-") {
				item = s.item
			}
			parts[i] = "[" + item + "]"
		default:
			parts[i] = s.key
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "."), ".[", "[")
}

// value is the text of a scalar, and the JSON of anything else.
func value(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return n.Value
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
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case len(n.Content) == 0 && len(at.steps) == 0:
		return nil // of an empty file
	case len(n.Content) == 0 || len(at.steps) > 0 && !deeper(at.way()):
		return []leaf{at}
	}
	var out []leaf
	add := func(s step, key, node *yaml.Node) {
		out = append(out, leavesOf(leaf{append(slices.Clone(at.steps), s), key, node}, deeper)...)
	}
	if n.Kind == yaml.SequenceNode {
		for _, e := range n.Content {
			if item := itemOf(e); strings.HasPrefix(item, "{") || strings.HasPrefix(item, "[") {
				out = append(out, leaf{append(slices.Clone(at.steps), step{item: item}), nil, e})
			} else {
				add(step{item: item}, nil, e)
			}
		}
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		add(step{key: n.Content[i].Value}, n.Content[i], n.Content[i+1])
	}
	return out
}

// find goes a way from a node: the value at its end, nil where there is none.
func find(n *yaml.Node, steps []step) *yaml.Node {
	for _, s := range steps {
		if n = next(n, s); n == nil {
			return nil
		}
	}
	return n
}

// next goes one step.
func next(n *yaml.Node, s step) *yaml.Node {
	if s.item == "" {
		return yamledit.Value(n, s.key)
	}
	if n.Kind != yaml.SequenceNode {
		return nil
	}
	i := slices.IndexFunc(n.Content, func(e *yaml.Node) bool { return itemOf(e) == s.item })
	if i < 0 {
		return nil
	}
	return n.Content[i]
}

// put sets a leaf in another document. Mappings on the way are made; where an
// entry of a list on the way is missing there is no place for the leaf, and
// put says so.
func put(doc *yaml.Node, l leaf) bool {
	n := doc
	for i, s := range l.steps {
		last := i == len(l.steps)-1
		to := next(n, s)
		if to != nil && !last && to.Tag == "!!null" { // a key without a value
			to.Kind, to.Tag = kindBefore(l.steps[i+1])
		}
		switch {
		case to != nil && last && to.Kind != l.node.Kind && len(to.Content) > 0:
			return false
		case to != nil && last:
			lay(to, l.node)
			return true
		case to != nil:
			n = to
		case s.item != "" && (!last || n.Kind != yaml.SequenceNode), s.item == "" && n.Kind != yaml.MappingNode:
			return false
		case s.item != "":
			addItem(n, l.node)
			return true
		case last:
			addKey(n, l.key, s.key, plain(l.node))
			return true
		default:
			to = &yaml.Node{}
			to.Kind, to.Tag = kindBefore(l.steps[i+1])
			addKey(n, nil, s.key, to)
			n = to
		}
	}
	return false
}

// textNode is a text in a document.
func textNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// kindBefore is the kind of a node that a step goes on from, with its tag.
func kindBefore(s step) (kind yaml.Kind, tag string) {
	if s.item != "" {
		return yaml.SequenceNode, "!!seq"
	}
	return yaml.MappingNode, "!!map"
}

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
			if old := next(over, step{item: itemOf(e)}); old != nil {
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
