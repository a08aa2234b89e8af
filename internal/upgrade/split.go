package upgrade

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// goSections splits a Go file into its package clause, imports and
// declarations; nil where it cannot be parsed.
func goSections(text []byte) []section {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil
	}
	lineEnd := func(p token.Pos) int {
		at := files.Position(p).Offset
		if n := strings.IndexByte(string(text[at:]), '\n'); n >= 0 {
			return at + n + 1
		}
		return len(text)
	}
	// A section begins where the one before it ends, so that comments between
	// two declarations belong to the second and none is lost.
	at := lineEnd(tree.Name.End())
	out := []section{{key: "package", head: string(text[:at])}}
	for _, d := range tree.Decls {
		end := lineEnd(d.End())
		if end <= at {
			return nil // two on one line
		}
		s := section{key: declName(d), head: string(text[at:end])}
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT && g.Lparen.IsValid() {
			s = imports(s, string(text[at:end]))
		}
		out = append(out, s)
		at = end
	}
	if at < len(text) {
		out = append(out, section{key: "end of the file", head: string(text[at:])})
	}
	return unique(out)
}

var importLine = regexp.MustCompile("[\"`]([^\"`]+)[\"`]")

// imports splits an import declaration into its lines. A path is imported by
// one name in all versions of the scaffold: the path is the key.
func imports(s section, text string) section {
	head, rest, _ := strings.Cut(text, "(")
	body, tail, ok := cutLast(rest, ")")
	if !ok || !strings.HasPrefix(body, "\n") {
		return s // all on one line
	}
	s.head, s.tail, s.parts = head+"(\n", ")"+tail, []section{}
	lead := ""
	for line := range strings.Lines(body[1:]) {
		m := importLine.FindStringSubmatch(line)
		if m == nil {
			lead += line
			continue
		}
		s.parts = append(s.parts, section{key: m[1], head: lead + line})
		lead = ""
	}
	s.tail = lead + s.tail
	s.parts = unique(s.parts)
	return s
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// declName tells a declaration from others of the same file.
func declName(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && len(d.Recv.List) == 1 {
			return "func " + receiver(d.Recv.List[0].Type) + "." + d.Name.Name
		}
		return "func " + d.Name.Name
	case *ast.GenDecl:
		if len(d.Specs) > 0 {
			switch s := d.Specs[0].(type) {
			case *ast.TypeSpec:
				return "type " + s.Name.Name
			case *ast.ValueSpec:
				return d.Tok.String() + " " + s.Names[0].Name
			}
		}
		return d.Tok.String()
	}
	return ""
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

var (
	makeVariable = regexp.MustCompile(`^(?:export\s+|override\s+)?([A-Za-z0-9_.-]+)\s*(?:[?:+!]|::)?=`)
	makeTarget   = regexp.MustCompile(`^([^\s:#=][^:=#]*?)\s*::?(?:[^=]|$)`)
	makeOpen     = regexp.MustCompile(`^ *(ifeq|ifneq|ifdef|ifndef|define)\b`)
	makeClose    = regexp.MustCompile(`^ *(endif|endef)\b`)
)

// makeSections splits a Makefile into variables, conditional blocks and
// targets, each with the comments and .PHONY lines above it; nil where a block
// has no end, so that nobody can tell what is in it.
func makeSections(text []byte) []section {
	var out []section
	lead, depth, inRecipe := "", 0, false
	lines := strings.SplitAfter(string(text), "\n")
	add := func(key, line string) {
		out = append(out, section{key: key, head: lead + line})
		lead = ""
	}
	more := func(line string) { out[len(out)-1].head += line }
	continued := false
	for _, line := range lines {
		t := strings.TrimRight(line, "\r\n")
		switch {
		case line == "":
		case continued && lead == "" && len(out) > 0:
			more(line)
		case depth > 0: // a block is one section, whatever is in it
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
		out = append(out, section{key: "end of the file", head: lead})
	}
	return unique(out)
}
