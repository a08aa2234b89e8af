package merge3

import (
	"go/ast"
	"go/token"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// goSections splits a Go file into its package clause, imports and
// declarations; nil where it cannot be parsed.
func goSections(text []byte) []Section {
	f, err := goedit.Parse("", text)
	if err != nil {
		return nil
	}
	lineEnd := func(p token.Pos) int {
		at := f.Offset(p)
		if n := strings.IndexByte(string(text[at:]), '\n'); n >= 0 {
			return at + n + 1
		}
		return len(text)
	}
	// A section begins where the one before it ends, so that comments between
	// two declarations belong to the second and none is lost.
	at := lineEnd(f.Tree.Name.End())
	out := []Section{{Key: "package", Head: string(text[:at])}}
	for _, d := range f.Tree.Decls {
		end := lineEnd(d.End())
		if end <= at {
			return nil // two on one line
		}
		s := Section{Key: "import", Head: string(text[at:end])}
		if names := goedit.DeclaredNames(d); len(names) > 0 {
			s.Key = names[0]
		}
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT && g.Lparen.IsValid() {
			s = imports(s, string(text[at:end]))
		}
		out = append(out, s)
		at = end
	}
	if at < len(text) {
		out = append(out, Section{Key: "end of the file", Head: string(text[at:])})
	}
	return unique(out)
}

var importLine = lazy.Delayed("[\"`]([^\"`]+)[\"`]")

// imports splits an import declaration into its lines. A path is imported by
// one name in all versions of the scaffold: the path is the key.
func imports(s Section, text string) Section {
	head, rest, _ := strings.Cut(text, "(")
	end := strings.LastIndex(rest, ")")
	if end < 1 || rest[0] != '\n' {
		return s // all on one line
	}
	s.Head, s.tail, s.parts = head+"(\n", rest[end:], []Section{}
	lead := ""
	for line := range strings.Lines(rest[1:end]) {
		m := importLine.FindStringSubmatch(line)
		if m == nil {
			lead += line
			continue
		}
		s.parts = append(s.parts, Section{Key: m[1], Head: lead + line})
		lead = ""
	}
	s.tail = lead + s.tail
	s.parts = unique(s.parts)
	return s
}

var (
	makeVariable = lazy.Delayed(`^(?:export\s+|override\s+)?([A-Za-z0-9_.-]+)\s*(?:[?:+!]|::)?=`)
	makeTarget   = lazy.Delayed(`^([^\s:#=][^:=#]*?)\s*::?(?:[^=]|$)`)
	makeOpen     = lazy.Delayed(`^ *(ifeq|ifneq|ifdef|ifndef|define)\b`)
	makeClose    = lazy.Delayed(`^ *(endif|endef)\b`)
)

// Makefile splits a Makefile into variables, conditional blocks and
// targets, each with the comments and .PHONY lines above it; nil where a block
// has no end, so that nobody can tell what is in it.
func Makefile(text []byte) []Section {
	var out []Section
	lead, depth, inRecipe := "", 0, false
	lines := strings.SplitAfter(string(text), "\n")
	add := func(key, line string) {
		out = append(out, Section{Key: key, Head: lead + line})
		lead = ""
	}
	more := func(line string) { out[len(out)-1].Head += line }
	continued := false
	for _, line := range lines {
		t := strings.TrimRight(line, "\r\n")
		switch {
		case line == "":
		case continued && lead == "" && len(out) > 0:
			more(line)
		case depth > 0: // a block is one Section, whatever is in it
			more(line)
			if makeOpen.MatchString(t) {
				depth++
			} else if makeClose.MatchString(t) {
				depth--
			}
		case strings.HasPrefix(t, "\t") && inRecipe && lead == "":
			more(line)
		case makeOpen.MatchString(t):
			add("block "+t, line)
			depth, inRecipe = 1, false
		case strings.TrimSpace(t) == "", strings.HasPrefix(t, "#"), strings.HasPrefix(t, ".PHONY"):
			// These belong to what comes next.
			lead += line
		case makeVariable.MatchString(t):
			add("variable "+makeVariable.FindStringSubmatch(t)[1], line)
			inRecipe = false
		case makeTarget.MatchString(t):
			add("target "+makeTarget.FindStringSubmatch(t)[1], line)
			inRecipe = true
		default:
			add("line "+t, line)
			inRecipe = false
		}
		continued = strings.HasSuffix(t, `\`)
	}
	if depth > 0 {
		return nil
	}
	if lead != "" {
		out = append(out, Section{Key: "end of the file", Head: lead})
	}
	return unique(out)
}
