package bundle

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// copiedAnnotations is the comment above the labels that repeat the annotations
// of the user's. What stands below it in an old Dockerfile follows them.
const copiedAnnotations = "Copied from annotations.yaml."

// Dockerfile writes bundle.Dockerfile for a bundle in dir, which is relative to
// the Dockerfile. mysdk needs none to build the image; others do. Instructions
// that old has and that were not made by this function or operator-sdk are kept.
// One with stages of its author's, see OwnStages, cannot be written anew.
func (m Metadata) Dockerfile(dir string, old []byte) []byte {
	var b bytes.Buffer
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

// label is the value of an annotation as a label: what the annotations say where
// they are kept.
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
// them an instruction belongs to cannot be kept when it is written anew.
func OwnStages(dockerfile []byte) bool {
	stages := 0
	for _, in := range instructionsOf(dockerfile) {
		words := splitWords(in.joined)
		if !strings.EqualFold(words[0], "FROM") {
			continue
		}
		if stages++; stages > 1 || len(words) != 2 || words[1] != "scratch" {
			return true
		}
	}
	return false
}

// instruction is one of a Dockerfile.
type instruction struct {
	text   string // as it is written, with its continuation lines
	joined string // in one line, without comments
	copied bool   // it stands below copiedAnnotations
}

// instructionsOf takes a Dockerfile apart. An instruction goes on in the next
// line after a backslash; comments and empty lines may stand between.
func instructionsOf(dockerfile []byte) []instruction {
	var all []instruction
	open, copied := false, false
	for line := range strings.Lines(string(dockerfile)) {
		line = strings.TrimRight(line, " \t\r\n")
		word := strings.TrimSpace(line)
		comment := strings.HasPrefix(word, "#")
		switch {
		case open:
			all[len(all)-1].text += "\n" + line
		case comment || word == "":
			copied = word == "# "+copiedAnnotations
			continue
		default:
			all = append(all, instruction{text: line, copied: copied})
		}
		if comment || word == "" {
			continue
		}
		word, open = strings.CutSuffix(word, `\`)
		last := &all[len(all)-1]
		last.joined = strings.TrimSpace(last.joined + " " + word)
	}
	return slices.DeleteFunc(all, func(in instruction) bool { return in.joined == "" })
}

// splitWords splits at spaces, but for those in quotes or after a backslash,
// which stay as they are.
func splitWords(text string) []string {
	var words []string
	word, quote, escaped := "", rune(0), false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && (r == ' ' || r == '\t'):
			if word != "" {
				words = append(words, word)
			}
			word = ""
			continue
		}
		word += string(r)
	}
	if word != "" {
		words = append(words, word)
	}
	return words
}

// ownLines are the instructions in a Dockerfile that its author has added.
func (m Metadata) ownLines(old []byte) []string {
	var keep []string
	for _, in := range instructionsOf(old) {
		if text := m.own(in); text != "" && !slices.Contains(keep, text) {
			keep = append(keep, text)
		}
	}
	return keep
}

// own is what of an instruction no generator of bundles has written, "" for
// nothing.
func (m Metadata) own(in instruction) string {
	words := splitWords(in.joined)
	last := strings.Trim(words[len(words)-1], "/")
	switch strings.ToUpper(words[0]) {
	case "FROM":
		return "" // see OwnStages
	case "COPY":
		if slices.Contains([]string{ManifestsDir, MetadataDir, ScorecardDir}, last) {
			return ""
		}
	case "LABEL":
		if in.copied {
			return ""
		}
		return m.ownLabels(in, words)
	}
	return in.text
}

// ownLabels are the pairs of a LABEL that are its author's. Where all are, the
// instruction stays as it is written.
func (m Metadata) ownLabels(in instruction, words []string) string {
	if len(words) > 1 && !strings.Contains(words[1], "=") { // the old form, LABEL KEY VALUE
		if m.ourLabel(words[1]) {
			return ""
		}
		return in.text
	}
	keep := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool {
		key, _, _ := strings.Cut(w, "=")
		return m.ourLabel(strings.Trim(key, `"'`))
	})
	switch {
	case len(keep) == len(words)-1:
		return in.text
	case len(keep) == 0:
		return ""
	}
	return "LABEL " + strings.Join(keep, " ")
}

// ourLabel reports whether a label is one that a generator of bundles writes.
func (m Metadata) ourLabel(key string) bool {
	_, extra := m.Extra[key]
	return extra || strings.HasPrefix(key, "operators.operatorframework.io.")
}
