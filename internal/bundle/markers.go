package bundle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/clierr"
)

// markerName begins the comments that describe owned CRDs: on a type
// displayName, resources and order, on a field type, displayName, xDescriptors
// and order. Names and syntax are operator-sdk's.
const markerName = "+operator-sdk:csv:customresourcedefinitions"

// marker is one such comment.
type marker struct {
	kind        string // "spec" or "status" on a field
	displayName string
	descriptors []string   // xDescriptors
	resources   [][]string // kind, version and perhaps a name
	order       *int
}

// parseMarker reads the comment line text, without its slashes. ok is false for
// any other comment. The syntax is that of controller-tools' markers: texts in
// quotes or bare, lists in braces or, the old way, with semicolons. An error
// quotes the marker and may have a hint.
func parseMarker(text string, onField bool) (m marker, ok bool, err error) {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, markerName)
	if !ok || rest != "" && rest[0] != ':' && rest[0] != '=' {
		return m, false, nil
	}
	s := &markerScanner{text: strings.TrimPrefix(rest, ":")}
	for s.skip(); s.pos < len(s.text); s.skip() {
		if err := s.argument(&m, onField); err != nil {
			return m, true, fmt.Errorf("marker %s: %w", text, err)
		}
	}
	return m, true, nil
}

// markerScanner reads name=value,name=value.
type markerScanner struct {
	text string
	pos  int
}

// skip passes blanks and the commas between arguments.
func (s *markerScanner) skip() {
	for s.pos < len(s.text) && strings.IndexByte(" \t,", s.text[s.pos]) >= 0 {
		s.pos++
	}
}

// blank passes blanks.
func (s *markerScanner) blank() {
	for s.pos < len(s.text) && strings.IndexByte(" \t", s.text[s.pos]) >= 0 {
		s.pos++
	}
}

// peek is the next character, 0 at the end.
func (s *markerScanner) peek() byte {
	if s.pos >= len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

// argument reads one name=value into m.
func (s *markerScanner) argument(m *marker, onField bool) error {
	name, _, found := strings.Cut(s.text[s.pos:], "=")
	if !found {
		return fmt.Errorf("%q is no name=value", strings.TrimSpace(s.text[s.pos:]))
	}
	s.pos += len(name) + 1
	name = strings.TrimSpace(name)
	allowed := []string{"displayName", "resources", "order"}
	if onField {
		allowed = []string{"type", "displayName", "xDescriptors", "order"}
	}
	if !slices.Contains(allowed, name) {
		return clierr.Failedf(clierr.DidYouMean(name, allowed), "there is no argument %q", name)
	}
	var err error
	switch name {
	case "type":
		if m.kind, err = s.word(",;"); err == nil && m.kind != "spec" && m.kind != "status" {
			err = fmt.Errorf("type is spec or status, not %q", m.kind)
		}
	case "displayName":
		m.displayName, err = s.word(",")
	case "order":
		m.order, err = s.integer()
	case "xDescriptors":
		m.descriptors, err = s.list()
	case "resources":
		m.resources, err = s.lists()
	}
	if err != nil {
		return err
	}
	if s.blank(); s.peek() != 0 && s.peek() != ',' {
		return fmt.Errorf("unexpected %q after %s", s.text[s.pos:], name)
	}
	return nil
}

// word reads a text: quoted, or up to one of the characters of end.
func (s *markerScanner) word(end string) (string, error) {
	s.blank()
	if q := s.peek(); q == '"' || q == '`' {
		quoted, err := strconv.QuotedPrefix(s.text[s.pos:])
		if err != nil {
			return "", fmt.Errorf("the quotes of %s do not end", s.text[s.pos:])
		}
		s.pos += len(quoted)
		return strconv.Unquote(quoted)
	}
	rest := s.text[s.pos:]
	if i := strings.IndexAny(rest, end); i >= 0 {
		rest = rest[:i]
	}
	s.pos += len(rest)
	return strings.TrimSpace(rest), nil
}

// integer reads a whole number, which may be negative.
func (s *markerScanner) integer() (*int, error) {
	w, err := s.word(",")
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(w)
	if err != nil {
		return nil, fmt.Errorf("order is a whole number, not %q", w)
	}
	return &n, nil
}

// list reads {a,"b"} or, the old way, a;b.
func (s *markerScanner) list() ([]string, error) {
	s.blank()
	if s.peek() == '{' {
		return s.braces()
	}
	var out []string
	for {
		w, err := s.word(",;")
		if err != nil {
			return nil, err
		}
		out = append(out, w)
		if s.blank(); s.peek() != ';' {
			return out, nil
		}
		s.pos++
	}
}

// braces reads {a,b}.
func (s *markerScanner) braces() ([]string, error) {
	s.pos++
	var out []string
	for {
		s.blank()
		if s.peek() == '}' {
			s.pos++
			return out, nil
		}
		w, err := s.word(",}")
		if err != nil {
			return nil, err
		}
		out = append(out, w)
		switch s.blank(); s.peek() {
		case ',':
			s.pos++
		case '}':
		default:
			return nil, fmt.Errorf("a closing brace is missing")
		}
	}
}

// lists reads {{Kind,v1,name},{Kind,v1}}.
func (s *markerScanner) lists() ([][]string, error) {
	if s.blank(); s.peek() != '{' {
		return nil, fmt.Errorf("resources is a list such as {{Deployment,v1,name}}")
	}
	s.pos++
	var out [][]string
	for {
		switch s.blank(); s.peek() {
		case '{':
			one, err := s.braces()
			if err != nil {
				return nil, err
			}
			if len(one) < 2 || len(one) > 3 {
				return nil, fmt.Errorf("a resource is {kind,version} or {kind,version,name}, not {%s}", strings.Join(one, ","))
			}
			out = append(out, one)
		case ',':
			s.pos++
		case '}':
			s.pos++
			return out, nil
		default:
			return nil, fmt.Errorf("resources is a list such as {{Deployment,v1,name}}")
		}
	}
}
