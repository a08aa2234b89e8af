package bundle

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/dockerfile"
)

// copiedAnnotations is the comment above the labels that repeat the annotations
// of the user's. What stands below it in an old Dockerfile follows them.
const copiedAnnotations = "Copied from annotations.yaml."

// Dockerfile writes bundle.Dockerfile for a bundle in dir, which is relative to
// the Dockerfile. mysdk needs none to build the image; others do. Instructions
// that old has and that were not made by this function or operator-sdk are kept, and
// so are comments before FROM, if it is the first instruction. One with stages of its
// author's, see OwnStages, cannot be rewritten.
func (m Metadata) Dockerfile(dir string, old []byte) []byte {
	var b bytes.Buffer
	if all := dockerfile.Parse(old); len(all) > 0 && all[0].Name == "FROM" {
		b.WriteString(firstLines(old, all[0].Line-1))
	}
	b.WriteString("FROM scratch\n")
	for _, s := range m.sections() {
		comment := s.comment
		if comment == addedByHand {
			comment = copiedAnnotations
		}
		fmt.Fprintf(&b, "\n# %s\n", comment)
		for _, p := range s.pairs {
			if value, ok := m.label(p); ok {
				fmt.Fprintf(&b, "LABEL %s=%s\n", p.key, labelValue(value))
			}
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

func firstLines(data []byte, n int) string {
	return string(bytes.Join(bytes.SplitAfter(data, []byte("\n"))[:n], nil))
}

// label is the value of an annotation as a label: what the annotations say where they are kept.
func (m Metadata) label(p pair) (value string, ok bool) {
	if m.kept == nil {
		return p.value, true
	}
	value, ok = m.kept[p.key]
	return value, ok
}

// labelValue quotes a value where Docker would split it.
func labelValue(v string) string {
	if strings.ContainsAny(v, " \t\"'\\$#") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(v) + `"`
	}
	return v
}

// OwnStages reports whether a Dockerfile has stages of its author's. Which of
// them an instruction belongs to cannot be kept when it is rewritten.
func OwnStages(data []byte) bool {
	stages := 0
	for _, in := range dockerfile.Parse(data) {
		if in.Name != "FROM" {
			continue
		}
		if stages++; stages > 1 || in.Args != "scratch" {
			return true
		}
	}
	return false
}

// ownLines are the instructions in a Dockerfile that its author has added, below the
// comments right above them.
func (m Metadata) ownLines(old []byte) []string {
	var keep []string
	above := "" // the instruction before
	for _, in := range dockerfile.Parse(old) {
		if text := m.own(in); text != "" && !slices.Contains(keep, text) {
			if in.Above != "" && in.Above != above && in.Above != "# "+addedByHand {
				keep = append(keep, in.Above)
			}
			keep = append(keep, text)
		}
		above = in.Above
	}
	return keep
}

// own is what of an instruction no generator of bundles has written, "" for nothing.
func (m Metadata) own(in dockerfile.Instruction) string {
	words := dockerfile.Words(in.Args)
	switch in.Name {
	case "FROM":
		return "" // see OwnStages
	case "COPY":
		if n := len(words) - 1; n > 0 {
			to := strings.Trim(words[n], "/")
			if slices.Contains([]string{ManifestsDir, MetadataDir, ScorecardDir}, to) && strings.HasSuffix("/"+strings.Trim(words[n-1], "/"), "/"+to) {
				return ""
			}
		}
	case "LABEL":
		if in.Above == "# "+copiedAnnotations {
			return ""
		}
		return m.ownLabels(in, words)
	}
	return in.Text
}

// ownLabels are the pairs of a LABEL that are its author's. Where all are, the
// instruction stays as it is written.
func (m Metadata) ownLabels(in dockerfile.Instruction, words []string) string {
	if len(words) > 0 && !strings.Contains(words[0], "=") { // the old form, LABEL KEY VALUE
		if m.ourLabel(words[0]) {
			return ""
		}
		return in.Text
	}
	keep := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		key, _, _ := strings.Cut(w, "=")
		return m.ourLabel(strings.Trim(key, `"'`))
	})
	switch len(keep) {
	case len(words):
		return in.Text
	case 0:
		return ""
	}
	return "LABEL " + strings.Join(keep, " ")
}

// ourLabel reports whether a label is one that a generator of bundles writes.
func (m Metadata) ourLabel(key string) bool {
	_, extra := m.Extra[key]
	return extra || formatKey(key)
}
