package merge3

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Section is a part of a text with a name that tells it from its siblings: a
// target of a Makefile, a key of a YAML mapping, a declaration in Go.
type Section struct {
	Key  string
	Head string // the text, as far as it comes before the parts
	// parts are what the section is made of; nil for one that is merged line
	// by line.
	parts []Section
	tail  string
	// item marks an entry of a YAML list by the column of its dash, counted
	// from 1: the dash stands where its first part begins.
	item int
}

// String is the section's text.
func (s Section) String() string {
	var out strings.Builder
	out.WriteString(s.Head)
	body := Join(s.parts)
	if s.item > 0 {
		body = dash(body, s.item-1)
	}
	out.WriteString(body)
	out.WriteString(s.tail)
	return out.String()
}

// Join puts sections together, each on lines of its own.
func Join(parts []Section) string {
	var out strings.Builder
	for _, p := range parts {
		text := p.String()
		if text == "" {
			continue
		}
		if out.Len() > 0 && !strings.HasSuffix(out.String(), "\n") {
			out.WriteByte('\n')
		}
		out.WriteString(text)
	}
	return out.String()
}

// dash puts the dash of a list's entry into its first line with content.
func dash(body string, column int) string {
	at := 0
	for line := range strings.Lines(body) {
		if t := strings.TrimSpace(line); t != "" && t[0] != '#' {
			if at+column+2 <= len(body) && strings.TrimSpace(line[:min(column+2, len(line))]) == "" {
				return body[:at+column] + "-" + body[at+column+1:]
			}
			return body
		}
		at += len(line)
	}
	return body
}

// Find returns the section of that key, nil for none.
func Find(list []Section, key string) *Section {
	i := slices.IndexFunc(list, func(s Section) bool { return s.Key == key })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// Same compares two sections, blank lines around them aside: those depend on
// what stands next to a section.
func Same(a, b *Section) bool {
	return strings.Trim(a.String(), "\n") == strings.Trim(b.String(), "\n")
}

// unique numbers the keys that occur more than once.
func unique(list []Section) []Section {
	seen := map[string]int{}
	for i, s := range list {
		seen[s.Key]++
		if n := seen[s.Key]; n > 1 {
			list[i].Key = fmt.Sprintf("%s#%d", s.Key, n)
		}
	}
	return list
}

// mergeSections carries the change from base to theirs over to mine. Where
// both changed the same lines, mine stays, or with force theirs. What the user
// has added stays where it is, and what he has taken out stays away. The order
// is the user's: sections are found by key, so that moving one is no change.
func mergeSections(base, mine, theirs []Section, force bool) []Section {
	var out []Section
	for _, m := range mine {
		b, t := Find(base, m.Key), Find(theirs, m.Key)
		switch {
		case t == nil && b == nil, t != nil && Same(&m, t):
			out = append(out, m)
		case t == nil && (Same(&m, b) || force):
			// gone
		case t == nil:
			out = append(out, m)
		case b == nil: // both have added it: there is no common beginning
			// nil stays nil: a text is no list, and is not merged entry by entry.
			out = append(out, mergeSection(Section{Key: m.Key, parts: m.parts[:0:0]}, m, *t, force))
		case Same(&m, b):
			out = append(out, *t)
		case Same(b, t):
			out = append(out, m)
		default:
			out = append(out, mergeSection(*b, m, *t, force))
		}
	}
	for i, t := range theirs {
		if Find(mine, t.Key) == nil && Find(base, t.Key) == nil {
			out = insert(out, theirs, i)
		}
	}
	return out
}

// insert puts theirs[i], which is new, behind the nearest of those before it
// that are there, else in front of the nearest after it.
func insert(out, theirs []Section, i int) []Section {
	index := func(key string) int {
		return slices.IndexFunc(out, func(s Section) bool { return s.Key == key })
	}
	for j := i - 1; j >= 0; j-- {
		if at := index(theirs[j].Key); at >= 0 {
			return slices.Insert(out, at+1, theirs[i])
		}
	}
	for _, next := range theirs[i+1:] {
		if at := index(next.Key); at >= 0 {
			return slices.Insert(out, at, theirs[i])
		}
	}
	return append(out, theirs[i])
}

// mergeSection merges one section that both have changed.
func mergeSection(base, mine, theirs Section, force bool) Section {
	if mine.parts == nil || theirs.parts == nil || base.parts == nil || mine.item != theirs.item {
		return Section{Key: mine.Key, Head: mergeText(base.String(), mine.String(), theirs.String(), force)}
	}
	return Section{
		Key:   mine.Key,
		Head:  mergeText(base.Head, mine.Head, theirs.Head, force),
		parts: mergeSections(base.parts, mine.parts, theirs.parts, force),
		tail:  mergeText(base.tail, mine.tail, theirs.tail, force),
		item:  mine.item,
	}
}

func mergeText(base, mine, theirs string, force bool) string {
	switch {
	case mine == theirs || base == theirs:
		return mine
	case base == mine:
		return theirs
	case force:
		mine, theirs = theirs, mine // Merge keeps its second text
	}
	out, _ := Lines([]byte(base), []byte(mine), []byte(theirs))
	return string(out)
}

// listSections are the lines of a file that lists patterns.
func listSections(text []byte) []Section {
	var out []Section
	lead := ""
	for line := range bytes.Lines(text) {
		t := strings.TrimSpace(string(line))
		if t == "" || t[0] == '#' {
			lead += string(line)
			continue
		}
		out = append(out, Section{Key: t, Head: lead + string(line)})
		lead = ""
	}
	if lead != "" {
		out = append(out, Section{Key: "end of the file", Head: lead})
	}
	return unique(out)
}
