package merge3

import (
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// yamlSections splits a YAML file by documents, keys and list entries, by
// indentation alone: the text stays as it is, comments included. It is nil for
// what does not parse. What it does not understand, such as flow style, is one
// section.
func yamlSections(text []byte) []Section {
	if !Valid("x.yaml", text) {
		return nil
	}
	var out []Section
	for _, doc := range documents(string(text)) {
		out = append(out, Section{Key: documentKey(doc), parts: entries(doc, 0)})
	}
	return unique(out)
}

// matched says whether the documents of both sides can be found in base by their
// keys. A side that lacks some and has others may have renamed them. The only
// document of every side is the same one, whatever its key.
func matched(base, mine, theirs []Section) bool {
	if len(base) == 1 && len(mine) == 1 && len(theirs) == 1 {
		mine[0].Key, theirs[0].Key = base[0].Key, base[0].Key
		return true
	}
	lacks := func(a, b []Section) bool {
		return slices.ContainsFunc(b, func(s Section) bool { return Find(a, s.Key) == nil })
	}
	for _, side := range [][]Section{mine, theirs} {
		less, more := lacks(side, base), lacks(base, side)
		if less && more || (less || more) && !(named(base) && named(side)) {
			return false
		}
	}
	return true
}

// documents splits at the lines that separate documents; such a line belongs
// to the document that it begins.
func documents(text string) []string {
	docs := []string{""}
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, " \r\n") == "---" && strings.TrimSpace(docs[len(docs)-1]) != "" {
			docs = append(docs, "")
		}
		docs[len(docs)-1] += line
	}
	return docs
}

var identityField = lazy.Delayed(`(?m)^(?:kind|  name): *(\S+)`)

func documentKey(doc string) string {
	key := "document"
	for _, m := range identityField.FindAllStringSubmatch(doc, 2) {
		key += " " + m[1]
	}
	return key
}

// entries splits the lines of a block into the entries of a mapping or list,
// each with the comments and blank lines above it.
func entries(text string, indent int) []Section {
	out := []Section{} // none is something else than not known
	var lead, body []string
	isList := false
	flush := func() {
		if len(body) > 0 {
			out = append(out, entry(body, indent, isList))
			body = nil
		}
	}
	for line := range strings.Lines(text) {
		if isLead(line) {
			lead = append(lead, line)
			continue
		}
		t := strings.TrimSpace(line)
		column := len(line) - len(strings.TrimLeft(line, " "))
		dashed := column == indent && (t == "-" || strings.HasPrefix(t, "- "))
		if len(body) == 0 && len(out) == 0 {
			isList = dashed
		}
		if len(body) > 0 && column != indent || dashed && !isList && len(body) > 0 { // a list may stand as far left as its key
			body = append(append(body, lead...), line)
			lead = nil
			continue
		}
		flush()
		body, lead = append(lead, line), nil
	}
	flush()
	if len(lead) > 0 {
		out = append(out, Section{Key: "end of the block", Head: strings.Join(lead, "")})
	}
	return unique(out)
}

// isLead says whether a line has no content of its own, and belongs to what comes next.
func isLead(line string) bool {
	t := strings.TrimSpace(line)
	return t == "" || t[0] == '#' || t == "---"
}

var (
	mapKey   = lazy.Delayed(`^("[^"]*"|'[^']*'|[^\s#"'{\[&*!|>%@-][^#]*?|-[^\s#][^#]*?):(\s|$)`)
	comment  = lazy.Delayed(`\s+#.*$`)
	nameLine = lazy.Delayed(`^(?:- +)?(name|path|op|id|kind): *(.+)$`)
)

// entry is one entry of a mapping or list: its comments and blank lines, its
// first line, and what is below.
func entry(lines []string, indent int, isList bool) Section {
	first := 0
	for isLead(lines[first]) {
		first++
	}
	line := strings.TrimRight(lines[first][indent:], "\r\n")
	whole := Section{Key: line, Head: strings.Join(lines, "")}
	if isList {
		return listEntry(whole, lines, first, indent)
	}
	m := mapKey.FindStringSubmatch(line)
	if m == nil {
		return whole
	}
	whole.Key = m[1]
	if rest := comment.ReplaceAllString(line[len(m[1])+1:], ""); strings.TrimSpace(rest) != "" || first == len(lines)-1 {
		return whole // a scalar, or something that begins on this line
	}
	// What is below is split further only if all of it can be told apart:
	// entries without names would be added and removed instead of changed.
	head, below := strings.Join(lines[:first+1], ""), lines[first+1:]
	parts := entries(strings.Join(below, ""), depth(below))
	if !named(parts) {
		return whole
	}
	return Section{Key: m[1], Head: head, parts: parts}
}

// listEntry is an entry of a list: a scalar is its own name, a mapping has one
// of the fields that tell entries apart.
func listEntry(whole Section, lines []string, first, indent int) Section {
	line := strings.TrimSpace(comment.ReplaceAllString(strings.TrimRight(lines[first], "\r\n"), ""))
	value := strings.TrimLeft(strings.TrimPrefix(line, "-"), " ")
	if !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "[") && mapKey.FindStringSubmatch(value) == nil && first == len(lines)-1 {
		whole.Key = line
		return whole
	}
	// An entry of several lines is known by its fields: its whole text would
	// be another name as soon as somebody changes a line of it.
	whole.Key = unnamed
	// The dash gives way to a blank: what is below it is a mapping of its own.
	body := lines[first][:indent] + " " + lines[first][indent+1:] + strings.Join(lines[first+1:], "")
	inner := depth(strings.SplitAfter(body, "\n"))
	key := ""
	for l := range strings.Lines(body) {
		if len(l) <= inner || strings.TrimSpace(l[:inner]) != "" {
			continue
		}
		if m := nameLine.FindStringSubmatch(strings.TrimSpace(l[inner:])); m != nil && l[inner] != ' ' {
			key += m[1] + "=" + strings.TrimSpace(m[2]) + " "
		}
	}
	if key == "" {
		return whole
	}
	whole.Key = key
	// Parts are kept as a mapping would have them, so that any of them may
	// come first when the dash is put back.
	parts := entries(body, inner)
	if inner != indent+2 || !named(parts) {
		return whole
	}
	return Section{Key: key, Head: strings.Join(lines[:first], ""), parts: parts, item: indent + 1}
}

// unnamed is the key of entries that nothing tells apart.
const unnamed = "?"

// named says whether every part can be told from its siblings.
func named(parts []Section) bool {
	for _, p := range parts {
		if strings.HasPrefix(p.Key, unnamed) || strings.Contains(p.Key, "#") {
			return false
		}
	}
	return len(parts) > 0
}

// depth is the indentation of the first line with content.
func depth(lines []string) int {
	for _, line := range lines {
		if !isLead(line) {
			return len(line) - len(strings.TrimLeft(line, " "))
		}
	}
	return 0
}
