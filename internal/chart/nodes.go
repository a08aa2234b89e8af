package chart

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// templates keeps the directives of a chart while its objects are trees of
// YAML. In the tree a directive is a word that needs no quotes: part of a
// scalar where it stands for a value, an entry of its own where it stands on a
// line of its own.
type templates struct {
	texts          []string
	mark           string // what the words begin with, which is nowhere in the objects
	words, entries *regexp.Regexp
}

var column = lazy.Delayed(`@(\d+)`)

func newTemplates(objects ...[]byte) templates {
	mark := "qTMPL"
	for slices.ContainsFunc(objects, func(data []byte) bool { return bytes.Contains(data, []byte(mark)) }) {
		mark += "x"
	}
	return templates{
		mark:    mark,
		words:   regexp.MustCompile(mark + `(\d+)q`),
		entries: regexp.MustCompile(`(?m)^( *)(?:- )?` + mark + `L(\d+)q(?:: null)?\n`),
	}
}

// word returns what stands for a directive.
func (t *templates) word(text string) string {
	i := slices.Index(t.texts, text)
	if i < 0 {
		i = len(t.texts)
		t.texts = append(t.texts, text)
	}
	return fmt.Sprintf("%s%dq", t.mark, i)
}

// scalar is a value that a directive gives.
func (t *templates) scalar(text string) *yaml.Node { return scalar(t.word(text)) }

// line is a directive on lines of its own, as entry of a list. In its text @2
// is the column of its lines, plus 2.
func (t *templates) line(text string) *yaml.Node {
	return scalar(strings.Replace(t.word(text), t.mark, t.mark+"L", 1))
}

// lines is the same as entry of a mapping: a key and its value.
func (t *templates) lines(text string) []*yaml.Node {
	return []*yaml.Node{t.line(text), {Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}}
}

// substitute puts the directives in place of their words. Braces of the
// objects' own become text to helm.
func (t *templates) substitute(data []byte) []byte {
	s := strings.ReplaceAll(string(data), "{{", `{{ "{{" }}`)
	s = t.entries.ReplaceAllStringFunc(s, func(line string) string {
		m := t.entries.FindStringSubmatch(line)
		text := column.ReplaceAllStringFunc(t.text(m[2]), func(at string) string {
			n, _ := strconv.Atoi(at[1:]) // the expression has digits only
			return strconv.Itoa(n + len(m[1]))
		})
		return m[1] + strings.ReplaceAll(text, "\n", "\n"+m[1]) + "\n"
	})
	return []byte(t.words.ReplaceAllStringFunc(s, func(word string) string { return t.text(t.words.FindStringSubmatch(word)[1]) }))
}

func (t *templates) text(number string) string {
	i, _ := strconv.Atoi(number) // the mark is nowhere but in our words
	return t.texts[i]
}

// wrap puts the entry of a mapping between an if and its end.
func (t *templates) wrap(m *yaml.Node, key, when string) {
	if i := yamledit.Index(m, key); i > 0 {
		m.Content = slices.Insert(m.Content, i+1, t.lines("{{- end }}")...)
		m.Content = slices.Insert(m.Content, i-1, t.lines("{{- if "+when+" }}")...)
	}
}

// some puts the entries of m's list or mapping key that have a condition
// between an if and its end: when gives that of an entry, empty for those that
// are always there. more are conditions of entries to come. Where all have one,
// so has the key: it is not to be left with nothing below it.
func (t *templates) some(m *yaml.Node, key string, when func(*yaml.Node) string, more ...string) {
	n := yamledit.Value(m, key)
	if n == nil {
		return
	}
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	line := func(text string) []*yaml.Node { return t.lines(text)[:step] }
	conditions, always := slices.Clone(more), false
	var out []*yaml.Node
	for i := 0; i < len(n.Content); i += step {
		entry := n.Content[i : i+step]
		w := when(entry[0])
		if w == "" {
			always, out = true, append(out, entry...)
			continue
		}
		if !slices.Contains(conditions, w) {
			conditions = append(conditions, w)
		}
		out = slices.Concat(out, line("{{- if "+w+" }}"), entry, line("{{- end }}"))
	}
	switch {
	case always || len(n.Content) == 0:
	case len(conditions) == 1:
		t.wrap(m, key, conditions[0])
		return // the entries need none of their own
	default:
		t.wrap(m, key, "or ("+strings.Join(conditions, ") (")+")")
	}
	n.Content = out
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// at returns the nodes at a path such as spec.ports.*.port, in which * is every
// entry of a list.
func at(n *yaml.Node, path string) []*yaml.Node {
	if n == nil {
		return nil
	}
	if path == "" {
		return []*yaml.Node{n}
	}
	head, rest, _ := strings.Cut(path, ".")
	if head != "*" {
		return at(yamledit.Value(n, head), rest)
	}
	var all []*yaml.Node
	if n.Kind == yaml.SequenceNode {
		for _, entry := range n.Content {
			all = append(all, at(entry, rest)...)
		}
	}
	return all
}

// text is the scalar at a path, empty where there is none.
func text(n *yaml.Node, path string) string {
	if v := yamledit.Lookup(n, path); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// parent returns the mapping that a path's last key belongs to, and that key.
// Mappings on the way that are missing are made.
func parent(n *yaml.Node, path string) (*yaml.Node, string) {
	keys := strings.Split(path, ".")
	n = yamledit.Mapping(n, keys[:len(keys)-1]...)
	return n, keys[len(keys)-1]
}

// eachScalar calls f for the values below n, with the keys that each is below, as in
// spec.ports.name.
func eachScalar(n *yaml.Node, key string, f func(key string, n *yaml.Node)) {
	switch n.Kind {
	case yaml.ScalarNode:
		f(key, n)
	case yaml.SequenceNode:
		for _, entry := range n.Content {
			eachScalar(entry, key, f)
		}
	case yaml.MappingNode:
		for i := 1; i < len(n.Content); i += 2 {
			eachScalar(n.Content[i], key+"."+n.Content[i-1].Value, f)
		}
	}
}
