package generate

import (
	"bytes"
	"slices"
)

// stripBodies returns Go source with the bodies of its functions blanked, line
// for line, so that it parses in a fraction of the time. The generators read
// declarations only. Source that is not formatted as gofmt does it, or that
// this does not understand, comes back whole or in part.
func stripBodies(src []byte) []byte {
	s := stripper{src: src, out: slices.Clone(src)}
	for s.pos < len(src) {
		if s.depth == 0 && s.atFunc() {
			s.inFunc = true
		}
		s.step()
	}
	if s.depth != 0 {
		return src
	}
	return s.out
}

// stripper goes through a file with no more understanding of Go than where
// strings, comments and brackets end.
type stripper struct {
	src, out []byte
	pos      int
	depth    int // of parentheses, brackets and braces
	inFunc   bool
}

func (s *stripper) atFunc() bool {
	return bytes.HasPrefix(s.src[s.pos:], []byte("func ")) && (s.pos == 0 || s.src[s.pos-1] == '\n')
}

// step moves behind the next token that may hold brackets, or is one.
func (s *stripper) step() {
	rest := s.src[s.pos:]
	switch c := rest[0]; {
	case bytes.HasPrefix(rest, []byte("//")):
		s.skipTo("\n", 2)
	case bytes.HasPrefix(rest, []byte("/*")):
		s.skipTo("*/", 2)
	case c == '`':
		s.skipTo("`", 1)
	case c == '"', c == '\'':
		s.skipQuoted(c)
	case c == '{' && s.depth == 0 && s.inFunc && !s.typeLiteral():
		s.body()
	case c == '(', c == '[', c == '{':
		s.depth++
		s.pos++
	case c == ')', c == ']', c == '}':
		s.depth--
		s.pos++
	default:
		// Functions begin behind the end of a line.
		for s.pos++; s.pos < len(s.src) && !brackets[s.src[s.pos]] && s.src[s.pos-1] != '\n'; s.pos++ {
		}
	}
}

// brackets are the bytes that may begin or end a string, a comment or a block.
var brackets = [256]bool{'/': true, '`': true, '"': true, '\'': true, '(': true, '[': true, '{': true, ')': true, ']': true, '}': true}

// skipTo moves behind the next end, which is at least from bytes away.
func (s *stripper) skipTo(end string, from int) {
	i := bytes.Index(s.src[s.pos+from:], []byte(end))
	if i < 0 {
		s.pos, s.depth = len(s.src), 1 // does not end: leave it to the parser
		return
	}
	s.pos += from + i + len(end)
}

func (s *stripper) skipQuoted(quote byte) {
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch s.src[s.pos] {
		case '\\':
			s.pos++
		case quote:
			s.pos++
			return
		}
	}
}

// typeLiteral reports whether the brace here belongs to a struct or interface
// type in the function's signature.
func (s *stripper) typeLiteral() bool {
	before := bytes.TrimRight(s.src[:s.pos], " \t")
	return bytes.HasSuffix(before, []byte("struct")) || bytes.HasSuffix(before, []byte("interface"))
}

// body blanks from behind the opening brace here to the one that closes it.
func (s *stripper) body() {
	s.inFunc = false
	open := s.pos
	s.pos++
	for s.depth++; s.depth > 0 && s.pos < len(s.src); {
		s.step()
	}
	if s.depth > 0 {
		return // unbalanced, so nothing is stripped at all
	}
	for i := open + 1; i < s.pos-1; i++ {
		if s.out[i] != '\n' {
			s.out[i] = ' '
		}
	}
}
