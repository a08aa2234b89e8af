package bundle

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
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
}

// pair is an annotation.
type pair struct{ key, value string }

// section is a group of annotations below a comment.
type section struct {
	comment string
	pairs   []pair
}

// sections are the annotations, in operator-sdk's order.
func (m Metadata) sections() []section {
	in := Input{Layout: m.Layout}
	core := []pair{
		{MediaTypeKey, MediaType}, {ManifestsKey, ManifestsDir + "/"}, {MetadataKey, MetadataDir + "/"},
		{PackageKey, m.Package}, {ChannelsKey, strings.Join(m.Channels, ",")},
	}
	if m.DefaultChannel != "" {
		core = append(core, pair{DefaultChannelKey, m.DefaultChannel})
	}
	core = append(core, pair{MetricsMediaTypeKey, MetricsMediaType}, pair{MetricsBuilderKey, builder}, pair{MetricsLayoutKey, in.layout()})
	list := []section{{"The package, its channels, and where things are.", core}}
	if m.Scorecard {
		list = append(list, section{"The tests of the bundle.", []pair{{TestMediaTypeKey, ScorecardMediaType}, {TestConfigKey, ScorecardDir + "/"}}})
	}
	if len(m.Extra) > 0 {
		var pairs []pair
		for _, key := range sortedKeys(m.Extra) {
			pairs = append(pairs, pair{key, m.Extra[key]})
		}
		list = append(list, section{"Added by hand.", pairs})
	}
	return list
}

// Annotations writes metadata/annotations.yaml.
func (m Metadata) Annotations() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("annotations:\n")
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
			for l := range bytes.Lines(line) {
				b.WriteString("  ")
				b.Write(l)
			}
		}
	}
	return b.Bytes(), nil
}

// Dockerfile writes bundle.Dockerfile for a bundle in dir, which is relative to
// the Dockerfile. mysdk needs none to build the image; others do. Lines that
// old has and that were not made by this function or operator-sdk are kept.
func (m Metadata) Dockerfile(dir string, old []byte) []byte {
	var b bytes.Buffer
	b.WriteString("FROM scratch\n")
	for _, s := range m.sections() {
		fmt.Fprintf(&b, "\n# %s\n", s.comment)
		for _, p := range s.pairs {
			fmt.Fprintf(&b, "LABEL %s=%s\n", p.key, labelValue(p.value))
		}
	}
	b.WriteString("\n# The bundle.\n")
	copies := []string{ManifestsDir, MetadataDir}
	if m.Scorecard {
		copies = append(copies, ScorecardDir)
	}
	for _, c := range copies {
		fmt.Fprintf(&b, "COPY %s /%s/\n", path.Join(dir, c), c)
	}
	if extra := m.ownLines(old); len(extra) > 0 {
		b.WriteString("\n" + strings.Join(extra, "\n") + "\n")
	}
	return b.Bytes()
}

// labelValue quotes a value where Docker would split it.
func labelValue(v string) string {
	if strings.ContainsAny(v, " \t\"'\\$#") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(v) + `"`
	}
	return v
}

// ownLines are the instructions in a Dockerfile that its author has added.
func (m Metadata) ownLines(old []byte) []string {
	var keep []string
	for line := range strings.Lines(string(old)) {
		line = strings.TrimRight(line, " \t\r\n")
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") || m.ours(words) || slices.Contains(keep, line) {
			continue
		}
		keep = append(keep, line)
	}
	return keep
}

// ours reports whether an instruction is one that a generator of bundles
// writes.
func (m Metadata) ours(words []string) bool {
	last := strings.Trim(words[len(words)-1], "/")
	switch strings.ToUpper(words[0]) {
	case "FROM":
		return last == "scratch"
	case "COPY":
		return slices.Contains([]string{ManifestsDir, MetadataDir, ScorecardDir}, last)
	case "LABEL":
		if len(words) < 2 {
			return false
		}
		key, _, _ := strings.Cut(words[1], "=")
		_, extra := m.Extra[key]
		return extra || strings.HasPrefix(key, "operators.operatorframework.io.")
	}
	return false
}

// ExtraAnnotations are the annotations of an annotations.yaml that its author
// has added to those of the format.
func ExtraAnnotations(file string, data []byte) (map[string]string, error) {
	var doc annotationsDocument
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, clierr.Failedf("correct the file, or remove it to have it written anew", "%w", yamlProblem(file, err))
	}
	extra := map[string]string{}
	for key, value := range doc.Annotations {
		if !formatKey(key) {
			extra[key] = value
		}
	}
	return extra, nil
}

// formatKey reports whether an annotation belongs to the format.
func formatKey(key string) bool {
	for _, prefix := range []string{
		"operators.operatorframework.io.bundle.", "operators.operatorframework.io.metrics.", "operators.operatorframework.io.test.",
	} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
