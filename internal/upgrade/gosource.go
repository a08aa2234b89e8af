package upgrade

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// source is a Go file with changes to it that are collected by position and
// made at once, so that everything else keeps its bytes. Printing a tree would
// move comments.
type source struct {
	name  string
	src   []byte
	files *token.FileSet
	tree  *ast.File
	edits []edit
	needs map[string]string // imports to add: name by path
	tail  string            // to be added at the end

	skipped []int           // lines of edits that spliced has left out
	called  map[string]bool // what calls has found
}

// edit replaces the bytes from start to end by text.
type edit struct {
	start, end int
	text       string
}

// parseSource reads a Go file, nil where it is not Go.
func parseSource(name string, src []byte) *source {
	s := &source{name: name, src: src, files: token.NewFileSet(), needs: map[string]string{}}
	tree, err := parser.ParseFile(s.files, name, src, parser.ParseComments)
	if err != nil {
		return nil
	}
	s.tree = tree
	return s
}

func (s *source) at(p token.Pos) int { return s.files.Position(p).Offset }

// line is the line of a position, counted from 1.
func (s *source) line(p token.Pos) int { return s.files.Position(p).Line }

// between is the text from one position to another.
func (s *source) between(from, to token.Pos) string { return string(s.src[s.at(from):s.at(to)]) }

func (s *source) replace(from, to token.Pos, text string) {
	s.edits = append(s.edits, edit{s.at(from), s.at(to), text})
}

// firstEdit is the line of the first change, 1 where there is none.
func (s *source) firstEdit() int {
	first := len(s.src)
	for _, e := range s.edits {
		first = min(first, e.start)
	}
	if len(s.edits) == 0 {
		return 1
	}
	return 1 + bytes.Count(s.src[:first], []byte("\n"))
}

// imported is the name by which the file calls a package, empty where it does
// not import it.
func (s *source) imported(importPath string) string {
	for _, spec := range s.tree.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == importPath {
			return importedAs(spec, p)
		}
	}
	return ""
}

// importPath is the package that the file calls by a name, empty for none.
func (s *source) importPath(name string) string {
	for _, spec := range s.tree.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && importedAs(spec, p) == name {
			return p
		}
	}
	return ""
}

// importedAs is the name of an import. Without one that is written down it is
// taken for the last element of its path, as it is in every other package of
// which this asks.
func importedAs(spec *ast.ImportSpec, importPath string) string {
	switch {
	case spec.Name != nil:
		return spec.Name.Name
	case importPath == runtimePath:
		return "controllerruntime"
	}
	return path.Base(importPath)
}

// need makes the file import a package, and returns what it is called there:
// that name, or one like it which neither an import nor the package, whose
// names are given, has.
func (s *source) need(importPath, name string, declared map[string]bool) string {
	if name := s.imported(importPath); name != "" && name != "_" && name != "." {
		return name
	}
	if name := s.needs[importPath]; name != "" {
		return name
	}
	for declared[name] || s.importPath(name) != "" {
		name += "pkg"
	}
	s.needs[importPath] = name
	return name
}

// constrained says whether a build constraint stands above the package clause.
func (s *source) constrained() bool {
	return slices.ContainsFunc(s.tree.Comments, func(g *ast.CommentGroup) bool {
		return g.Pos() < s.tree.Package && slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return constraint.IsGoBuild(c.Text) })
	})
}

// member says whether an expression is a member of a package, by the names of
// both; which of the names it is, is returned.
func (s *source) member(e ast.Expr, importPath string, names ...string) string {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok || id.Obj != nil || s.imported(importPath) != id.Name || !slices.Contains(names, sel.Sel.Name) {
		return ""
	}
	return sel.Sel.Name
}

// changed is the text with the changes in it. Imports that they have made
// superfluous are gone.
func (s *source) changed() []byte {
	if len(s.edits) == 0 && s.tail == "" {
		return s.src
	}
	used := s.calls()
	for _, p := range slices.Sorted(maps.Keys(s.needs)) {
		s.addImport(p)
	}
	out := s.spliced()
	if s.tail != "" {
		out = append(bytes.TrimRight(out, "\n"), "\n"+s.tail...)
	}
	next := parseSource(s.name, out)
	if next == nil {
		return out // the caller looks whether it can be parsed
	}
	now := next.calls()
	for _, d := range next.tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			next.dropImports(g, func(spec *ast.ImportSpec) bool {
				p, err := strconv.Unquote(spec.Path.Value)
				name := importedAs(spec, p)
				return err == nil && used[name] && !now[name]
			})
		}
	}
	return next.spliced()
}

// calls are the names before a dot, which include all imports that are used.
func (s *source) calls() map[string]bool {
	if s.called != nil {
		return s.called
	}
	out := map[string]bool{}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil {
				out[id.Name] = true
			}
		}
		return true
	})
	s.called = out
	return out
}

// spliced is the text with the edits in it. One that begins within another is
// left out: the text that replaces the other has been made without it.
func (s *source) spliced() []byte {
	slices.SortStableFunc(s.edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	var out []byte
	at := 0
	for _, e := range s.edits {
		if e.start < at {
			s.skipped = append(s.skipped, 1+bytes.Count(s.src[:e.start], []byte("\n")))
			continue
		}
		out = append(append(out, s.src[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, s.src[at:]...)
}

// addImport writes the import of a package that is needed: one of the standard
// library in front of all others, another one behind them. Within their group
// gofmt puts them in order.
func (s *source) addImport(importPath string) {
	line := strconv.Quote(importPath)
	if name := s.needs[importPath]; name != path.Base(importPath) {
		line = name + " " + line
	}
	var group *ast.GenDecl
	for _, d := range s.tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			group = g
			break
		}
	}
	switch {
	case group == nil:
		s.replace(s.tree.Name.End(), s.tree.Name.End(), "\n\nimport "+line)
	case !group.Lparen.IsValid() || len(group.Specs) == 0:
		s.replace(group.Pos(), group.Pos(), "import "+line+"\n")
	case isStandard(importPath):
		if first, ok := group.Specs[0].(*ast.ImportSpec); ok && !isStandard(strings.Trim(first.Path.Value, "\"`")) {
			line += "\n" // a group of its own
		}
		s.replace(group.Lparen+1, group.Lparen+1, "\n\t"+line)
	default:
		last, gap := neighbour(group, importPath), "\n\t"
		if spec, ok := last.(*ast.ImportSpec); ok && isStandard(strings.Trim(spec.Path.Value, "\"`")) {
			gap = "\n" + gap // a group of its own
		}
		s.replace(last.End(), last.End(), gap+line)
	}
}

// neighbour is the import behind which another one goes: the last of the same
// host, else the last.
func neighbour(group *ast.GenDecl, importPath string) ast.Spec {
	host, _, _ := strings.Cut(importPath, "/")
	out := group.Specs[len(group.Specs)-1]
	for _, d := range group.Specs {
		if spec, ok := d.(*ast.ImportSpec); ok && strings.HasPrefix(strings.Trim(spec.Path.Value, "\"`"), host+"/") {
			out = spec
		}
	}
	return out
}

// isStandard says whether a path is one of the standard library.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// dropImports takes imports out of a declaration, with their lines.
func (s *source) dropImports(group *ast.GenDecl, gone func(*ast.ImportSpec) bool) {
	left := len(group.Specs)
	was := len(s.edits)
	for _, d := range group.Specs {
		spec, ok := d.(*ast.ImportSpec)
		if !ok || !gone(spec) {
			continue
		}
		left--
		s.removeLine(spec.Pos(), spec.End())
	}
	if left == 0 && len(group.Specs) > 0 {
		s.edits = s.edits[:was]
		s.removeLine(group.Pos(), group.End())
	}
}

// removeLine takes out what is between two positions, and the lines on which it
// stands alone.
func (s *source) removeLine(from, to token.Pos) {
	start, end := s.at(from), s.at(to)
	for start > 0 && (s.src[start-1] == ' ' || s.src[start-1] == '\t') {
		start--
	}
	if start > 0 && s.src[start-1] == '\n' && end < len(s.src) && s.src[end] == '\n' {
		end++
	}
	s.edits = append(s.edits, edit{start, end, ""})
}
