package migrate

import (
	_ "embed" // the table
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// scaffoldValues has the values that the scaffolds of go/v2 and go/v3 wrote
// into config, in any of their versions: what differs from them is the user's.
// A line that begins with no tab names a file and a kind. Each below it has the
// way to a value and the value. The project's name is {name}.
//
//go:embed files/scaffolds.txt
var scaffoldValues string

// scaffold is what was written into the documents of one kind in a file.
type scaffold struct {
	values map[string][]string // by way
	under  map[string]bool     // ways on the way to a value
}

// scaffoldKey names a document: a file, and the kind of an object in it.
type scaffoldKey struct{ file, kind string }

// readScaffolds reads the table. Projects that were brought from one layout to
// the other by hand have values of both, so that they are not kept apart.
func readScaffolds(table string) map[scaffoldKey]*scaffold {
	out := map[scaffoldKey]*scaffold{}
	var at *scaffold
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) != 3 {
			file, kind, _ := strings.Cut(line, " ")
			at = &scaffold{values: map[string][]string{}, under: map[string]bool{}}
			out[scaffoldKey{file, kind}] = at
			continue
		}
		way := fields[1]
		at.values[way] = append(at.values[way], fields[2])
		for end := len(way); end >= 0; end = strings.LastIndexByte(way[:end], '/') {
			at.under[way[:end]] = true
		}
	}
	return out
}

// isNoise says whether a value is in every scaffold and says nothing: what
// object it is, and the labels that kustomize's users share.
func isNoise(way string) bool {
	return way == "apiVersion" || way == "kind" || way == "creationTimestamp" || strings.HasPrefix(way, "metadata/labels/app.kubernetes.io~1")
}

// wrote says whether a document is the one of its kind that the scaffold wrote:
// that of its name, else the first in the file.
func (s *scaffold) wrote(doc *yaml.Node, docs []*yaml.Node) bool {
	var first *yaml.Node
	for _, d := range docs {
		switch {
		case s == nil || scalar(d, "kind") != scalar(doc, "kind"):
		case slices.Contains(s.values["metadata/name"], nameOf(d)):
			return d == doc
		case first == nil:
			first = d
		}
	}
	return first == doc
}

// change is a value of the user's, and where it stood.
type change struct {
	leaf
	file   string
	theirs *yaml.Node // what the new scaffold has at its place, nil for nothing
}

// changes lists what the user has set in a document that the scaffold did not.
// Without a scaffold that is known it is all of it.
func (s *scaffold) changes(file string, doc *yaml.Node, project string) []change {
	if s == nil {
		s = &scaffold{under: map[string]bool{"resources": true, "patches": true, "metadata/annotations": true, "spec": true}}
	}
	anonymous := func(text string) string { return anonymize(text, project) }
	deeper := func(way string) bool {
		return s.under[way] || s.under[anonymous(way)] || way == "metadata" || way == "metadata/labels"
	}
	var mine []change
	for _, l := range leaves(doc, deeper) {
		way, text := l.way, value(l.node)
		// The project may be called as something is in every scaffold.
		written := slices.Concat(s.values[way], s.values[anonymous(way)])
		if !isNoise(way) && !slices.Contains(written, text) && !slices.Contains(written, anonymous(text)) {
			mine = append(mine, change{l, file, nil})
		}
	}
	return mine
}

// anonymize puts {name} in the place of the project's name, where that is a
// word.
func anonymize(text, project string) string {
	if project == "" || !strings.Contains(text, project) {
		return text
	}
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(project)+`\b`).ReplaceAllString(text, "{name}")
}

// today brings a kustomization of old to the forms of today that mean the same.
func today(doc *yaml.Node) {
	for _, key := range []string{"patchesStrategicMerge", "patches"} { // kustomize 4 took files in both
		list := yamledit.Value(doc, key)
		if list == nil || list.Kind != yaml.SequenceNode {
			continue
		}
		for i, e := range list.Content {
			if e.Kind != yaml.ScalarNode || e.Tag == "!!null" {
				continue
			}
			key, text := "path", *e
			if strings.Contains(e.Value, "\n") {
				key, text.Style = "patch", yaml.LiteralStyle
			}
			comment := text.HeadComment
			text.HeadComment = ""
			list.Content[i] = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: e.Line, HeadComment: comment,
				Content: []*yaml.Node{textNode(key), &text}}
		}
	}
	if list := find(doc, "spec/endpoints"); list != nil && scalar(doc, "kind") == "ServiceMonitor" {
		for _, e := range list.Content {
			if e.Kind == yaml.MappingNode && yamledit.Value(e, "path") == nil {
				yamledit.Set(e, "path", textNode("/metrics"))
			}
		}
	}
	for _, moved := range [][2]string{{"bases", "resources"}, {"patchesStrategicMerge", "patches"}, {"patchesJson6902", "patches"}} {
		joinLists(doc, moved[0], moved[1])
	}
}

// todaysFlag is an argument with the flag's name of today.
func todaysFlag(arg string) string {
	flag, rest, has := strings.Cut(arg, "=")
	switch strings.TrimLeft(flag, "-") {
	case "enable-leader-election":
		flag = "--leader-elect"
	case "metrics-addr":
		flag = "--metrics-bind-address"
	}
	if has {
		return flag + "=" + rest
	}
	return flag
}

// joinLists moves the entries of one list of a mapping to another one.
func joinLists(doc *yaml.Node, from, to string) {
	for i := 0; i+1 < len(doc.Content); i += 2 {
		if doc.Content[i].Value != from {
			continue
		}
		list := doc.Content[i+1]
		doc.Content = slices.Delete(doc.Content, i, i+2)
		if list.Kind == yaml.SequenceNode {
			into := sequence(doc, to)
			into.Content = append(into.Content, list.Content...)
		}
		return
	}
}

// readConfig reads the documents of a file in config, in today's forms.
func readConfig(name string, data []byte) ([]*yaml.Node, error) {
	docs, err := yamledit.Documents(data)
	if err != nil {
		return nil, clierr.Failedf("repair it and run the command again", "%s: %w", name, err)
	}
	for i, d := range docs {
		docs[i] = d.Content[0]
		if err := writeOut(docs[i]); err != nil {
			return nil, clierr.Failedf("write its anchors out and run the command again", "%s: %w", name, err)
		}
		today(docs[i])
	}
	return docs, nil
}

// writeOut puts what anchors stand for in the place of their names, in documents
// that have any: parts of the document come to places where the anchors are not.
func writeOut(doc *yaml.Node) error {
	if !hasAlias(doc) {
		return nil
	}
	var v any
	if err := doc.Decode(&v); err != nil {
		return err
	}
	return doc.Encode(v)
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}
