package bundle

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// builder is what bundles say they were made with, without a version: a newer
// mysdk is no reason for a bundle to change.
const builder = "mysdk"

// Metadata is what annotations.yaml and the Dockerfile say.
type Metadata struct {
	Package        string
	Channels       []string
	DefaultChannel string // empty: OLM takes the only channel, or the package's own default
	Layout         []string
	Scorecard      bool              // the bundle has a scorecard configuration
	Extra          map[string]string // annotations of the user's
	Comments       map[string]string // above those, with line breaks; of "": what the file begins with
	kept           map[string]string // all annotations, where they are not rewritten
}

type pair struct{ key, value string }

// addedByHand is the comment above the annotations of the user's.
const addedByHand = "Added by hand."

// section is a group of annotations below a comment.
type section struct {
	comment string
	pairs   []pair
}

// sections are the annotations, in operator-sdk's order.
func (m Metadata) sections() []section {
	core := []pair{
		{MediaTypeKey, MediaType}, {ManifestsKey, ManifestsDir + "/"}, {MetadataKey, MetadataDir + "/"},
		{PackageKey, m.Package}, {ChannelsKey, strings.Join(m.Channels, ",")},
	}
	if m.DefaultChannel != "" {
		core = append(core, pair{DefaultChannelKey, m.DefaultChannel})
	}
	core = append(core, pair{MetricsMediaTypeKey, MetricsMediaType}, pair{MetricsBuilderKey, builder}, pair{MetricsLayoutKey, layoutOf(m.Layout)})
	list := []section{{"The package, its channels, and where things are.", core}}
	if m.Scorecard {
		list = append(list, section{"The tests of the bundle.", []pair{{TestMediaTypeKey, ScorecardMediaType}, {TestConfigKey, ScorecardDir + "/"}}})
	}
	if len(m.Extra) > 0 {
		var pairs []pair
		for _, key := range sortedKeys(m.Extra) {
			pairs = append(pairs, pair{key, m.Extra[key]})
		}
		list = append(list, section{addedByHand, pairs})
	}
	return list
}

// Annotations writes metadata/annotations.yaml.
func (m Metadata) Annotations() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(m.Comments[""] + "annotations:\n")
	for i, s := range m.sections() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "  # %s\n", s.comment)
		for _, p := range s.pairs {
			line, err := marshal(map[string]string{p.key: p.value})
			if err != nil {
				return nil, err
			}
			for l := range strings.Lines(m.Comments[p.key] + string(line)) {
				b.WriteString("  " + l)
			}
		}
	}
	return b.Bytes(), nil
}

// KeptMetadata is what an annotations.yaml says that is not rewritten:
// a Dockerfile beside it has to say the same.
func KeptMetadata(file string, data []byte) (Metadata, error) {
	all, extra, err := Annotations(file, data)
	_, scorecard := all[TestConfigKey]
	return Metadata{DefaultChannel: all[DefaultChannelKey], Scorecard: scorecard, Extra: extra, kept: all}, err
}

// Annotations are those of an annotations.yaml, and of them those that its author
// has added to the ones of the format. One of these with a line break is an error:
// the image has it as a label, and a LABEL cannot hold one.
func Annotations(file string, data []byte) (all, extra map[string]string, err error) {
	var doc annotationsDocument
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, nil, clierr.Failedf("correct the file, or remove it to have it recreated", "%w", yamlProblem(file, err))
	}
	extra = map[string]string{}
	for key, value := range doc.Annotations {
		if !formatKey(key) {
			extra[key] = value
		}
	}
	for _, key := range sortedKeys(extra) {
		if strings.ContainsAny(extra[key], "\n\r") {
			return nil, nil, clierr.Failedf("write it in one line; a text of a block ends with a line break, unless the block begins with |- or >-",
				"%s:%s: the annotation %s has a line break, which no label of an image can hold", file, placeOf(data, key), key)
		}
	}
	return doc.Annotations, extra, nil
}

// AnnotationComments are the comments of an annotations.yaml above and behind its
// annotations, but for those of the format, and what stands before all of them.
func AnnotationComments(data []byte) map[string]string {
	var doc yamlv3.Node
	if yamlv3.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	comments := map[string]string{"": firstLines(data, doc.Content[0].Line-1)}
	if list := yamledit.Value(doc.Content[0], "annotations"); list != nil && list.Kind == yamlv3.MappingNode {
		for i := 0; i+1 < len(list.Content); i += 2 {
			key := list.Content[i]
			for _, line := range strings.Split(key.HeadComment+"\n"+list.Content[i+1].LineComment, "\n") {
				if line != "" && line != "# "+addedByHand && !formatKey(key.Value) {
					comments[key.Value] += line + "\n"
				}
			}
		}
	}
	return comments
}

// placeOf is where the value of an annotation is in its file, as LINE:COLUMN.
func placeOf(data []byte, key string) string {
	var doc yamlv3.Node
	if yamlv3.Unmarshal(data, &doc) == nil {
		if n := yamledit.Lookup(&doc, "annotations."+key); n != nil {
			return fmt.Sprintf("%d:%d", n.Line, n.Column)
		}
	}
	return "1:1"
}

// formatKey reports whether an annotation belongs to the format.
func formatKey(key string) bool {
	rest, ok := strings.CutPrefix(key, "operators.operatorframework.io.")
	group, _, nested := strings.Cut(rest, ".")
	return ok && nested && slices.Contains([]string{"bundle", "metrics", "test"}, group)
}
