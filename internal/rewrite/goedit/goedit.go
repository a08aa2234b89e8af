// Package goedit changes Go source in place. Edits are collected by position
// in the syntax tree and made together, so that everything else keeps its
// bytes: printing a tree would move comments. It knows Go's syntax and imports
// and nothing of what it edits for: no types, no library's API, no files.
package goedit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"reflect"
	"slices"
	"strconv"

	"github.com/example/mysdk/internal/clierr"
)

// File is a Go source with its syntax tree and the edits to it.
type File struct {
	Name string
	Src  []byte
	Fset *token.FileSet
	Tree *ast.File
	// Module is the project's own module, whose imports are a group of their
	// own below all others. Without it they are like any other.
	Module string
	// Declared are the names of the file's package, which Need gives to no import.
	Declared map[string]bool
	// Skipped are the lines of the edits that Apply left out because they lie
	// in the text that another one replaces.
	Skipped []int

	edits []span
	tail  string
	needs []imported
	drops map[string]bool // import paths that go, used or not
}

// span replaces the text between two offsets.
type span struct {
	start, end int
	text       string
}

// Parse reads a Go file. A syntax error names file, line and column.
func Parse(name string, src []byte) (*File, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, cmp.Or(clierr.Unmerged(name, src), SyntaxError(name, err))
	}
	return &File{Name: name, Src: src, Fset: fset, Tree: tree, drops: map[string]bool{}}, nil
}

// SyntaxError is the first error of go/parser, with file, line and column.
func SyntaxError(name string, err error) error {
	if list, ok := errors.AsType[scanner.ErrorList](err); ok && len(list) > 0 {
		return clierr.Failedf("repair it and run the command again", "%s: %s", list[0].Pos, list[0].Msg)
	}
	return fmt.Errorf("parse %s: %w", name, err)
}

// Offset is the place of a position in Src.
func (f *File) Offset(p token.Pos) int { return f.Fset.Position(p).Offset }

// Line is the line of a position, counted from 1.
func (f *File) Line(p token.Pos) int { return f.Fset.Position(p).Line }

// Text is the source of a node.
func (f *File) Text(n ast.Node) string { return f.Between(n.Pos(), n.End()) }

// Between is the source from one position to another.
func (f *File) Between(from, to token.Pos) string {
	return string(f.Src[f.Offset(from):f.Offset(to)])
}

// Replace puts text in the place of a node.
func (f *File) Replace(n ast.Node, text string) { f.ReplaceRange(n.Pos(), n.End(), text) }

// ReplaceRange puts text in the place of what is between two positions.
func (f *File) ReplaceRange(from, to token.Pos, text string) {
	f.edits = append(f.edits, span{f.Offset(from), f.Offset(to), text})
}

// Insert puts text before a position.
func (f *File) Insert(at token.Pos, text string) { f.ReplaceRange(at, at, text) }

// InsertAbove puts lines above the first line that contains anchor. A file
// without such a line is an error, whatever there is to insert.
func (f *File) InsertAbove(anchor, lines string) error {
	at := bytes.Index(f.Src, []byte(anchor))
	if at < 0 {
		return clierr.Failedf("add that line where the code should go, and run the command again", "%s: found no line with %q", f.Name, anchor)
	}
	at = bytes.LastIndexByte(f.Src[:at], '\n') + 1
	f.edits = append(f.edits, span{at, at, lines})
	return nil
}

// Append adds text behind the last line of the file.
func (f *File) Append(text string) { f.tail += text }

// Comment puts a comment of one line above the line of a node, unless it is among those there.
func (f *File) Comment(n ast.Node, text string) {
	at := f.lineStart(f.Offset(n.Pos()))
	for above := f.Src[:at]; ; {
		above = bytes.TrimSuffix(above, []byte("\n"))
		start := bytes.LastIndexByte(above, '\n') + 1
		last := bytes.TrimSpace(above[start:])
		if bytes.Equal(last, []byte("// "+text)) {
			return
		}
		if !bytes.HasPrefix(last, []byte("//")) {
			break
		}
		above = above[:start]
	}
	if e := (span{at, at, "// " + text + "\n"}); !slices.Contains(f.edits, e) {
		f.edits = append(f.edits, e)
	}
}

// lineStart is where the line of an offset begins; in a string of several
// lines, the line that the string begins in.
func (f *File) lineStart(at int) int {
	at = bytes.LastIndexByte(f.Src[:at], '\n') + 1
	outer := -1
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && f.Offset(lit.Pos()) < at && at < f.Offset(lit.End()) {
			outer = f.Offset(lit.Pos())
		}
		return outer < 0
	})
	if outer >= 0 {
		return f.lineStart(outer)
	}
	return at
}

// RemoveLines takes out a node together with its lines and, for a declaration,
// the comment above it. Other code on these lines stays.
func (f *File) RemoveLines(n ast.Node) {
	start, end := f.Offset(n.Pos()), f.Offset(n.End())
	var doc *ast.CommentGroup
	switch d := n.(type) {
	case *ast.FuncDecl:
		doc = d.Doc
	case *ast.GenDecl:
		doc = d.Doc
	}
	if doc != nil {
		start = f.Offset(doc.Pos())
	}
	for start > 0 && (f.Src[start-1] == ' ' || f.Src[start-1] == '\t') {
		start--
	}
	rest, _, _ := bytes.Cut(f.Src[end:], []byte("\n"))
	tail := bytes.TrimSpace(rest)
	if len(tail) > 0 && tail[0] != '/' || start > 0 && f.Src[start-1] != '\n' { // other code shares the line
		if bytes.HasPrefix(tail, []byte(";")) {
			end += bytes.IndexByte(rest, ';') + 1
		}
		f.edits = append(f.edits, span{f.Offset(n.Pos()), end, ""})
		return
	}
	end = min(end+len(rest)+1, len(f.Src)) // a comment at the end of the line goes too
	f.edits = append(f.edits, span{start, end, ""})
}

// CutElement takes an element out of a literal, and not the comments on further
// lines: they are the next one's.
func (f *File) CutElement(lit *ast.CompositeLit, i int) {
	from, end := lit.Elts[i].End(), lit.Rbrace
	if i+1 < len(lit.Elts) {
		end = lit.Elts[i+1].Pos()
	}
	for _, group := range f.Tree.Comments {
		for _, c := range group.List {
			if from < c.Pos() && c.Pos() < end && f.Line(c.Pos()) > f.Line(from) {
				end = c.Pos()
			}
		}
	}
	f.ReplaceRange(lit.Elts[i].Pos(), end, "")
}

// Edited says whether there is anything to apply.
func (f *File) Edited() bool {
	return len(f.edits)+len(f.needs)+len(f.drops) > 0 || f.tail != ""
}

// FirstLine is the line of the first edit, 1 where there is none.
func (f *File) FirstLine() int {
	if len(f.edits) == 0 {
		return 1
	}
	first := slices.MinFunc(f.edits, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return 1 + bytes.Count(f.Src[:first.start], []byte("\n"))
}

// Apply returns the source with the edits and imports in it. Of two edits that
// overlap the outer one is made, and the line of the other is in Skipped. The
// result may be no Go where there are only edits: who has made them knows.
func (f *File) Apply() ([]byte, error) {
	out, skipped := splice(f.Src, f.edits)
	for _, at := range skipped {
		f.Skipped = append(f.Skipped, 1+bytes.Count(f.Src[:at], []byte("\n")))
	}
	if f.tail != "" {
		out = append(bytes.TrimRight(out, "\n"), "\n"+f.tail...)
	}
	for _, need := range f.needs {
		var err error
		if out, err = addImport(f.Name, out, f.Module, need); err != nil {
			return nil, err
		}
	}
	if len(f.drops) == 0 {
		return out, nil
	}
	return removeImports(f.Name, out, func(p, _ string) bool { return f.drops[p] })
}

// splice makes edits, and returns the offsets of those that it leaves out.
func splice(src []byte, edits []span) (out []byte, skipped []int) {
	rank := func(e span) int { // insertions first, then the longest
		if e.start == e.end {
			return -1 << 31
		}
		return -e.end
	}
	slices.SortStableFunc(edits, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(rank(a), rank(b)))
	})
	at := 0
	for _, e := range edits {
		if e.start < at {
			skipped = append(skipped, e.start)
			continue
		}
		out = append(append(out, src[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, src[at:]...), skipped
}

// Pass makes one kind of change to a file, by edits: the tree stays as it is.
type Pass func(*File)

// maxRounds bounds how often a pass is repeated on a file. A pass is repeated
// because edits inside of another edit wait for the next round.
const maxRounds = 8

// Rewrite makes passes one after the other, each until it finds nothing more
// to do, removes the imports that were used before and are not any more, and
// formats the result. A file that no pass changes keeps its bytes.
func Rewrite(name string, src []byte, passes ...Pass) ([]byte, error) {
	original, err := Parse(name, src)
	if err != nil {
		return nil, err
	}
	f, out := original, src
	for _, p := range passes {
		for range maxRounds {
			if p(f); !f.Edited() {
				break // the next pass takes the same tree
			}
			next, err := f.Apply()
			if err != nil {
				return nil, err
			}
			if f, err = Parse(name, next); err != nil {
				return nil, fmt.Errorf("the edited text is not Go: %w", err)
			}
			if bytes.Equal(next, out) {
				break
			}
			out = next
		}
	}
	if bytes.Equal(out, src) {
		return src, nil
	}
	if out, err = pruneImports(name, out, original.used()); err != nil {
		return nil, err
	}
	formatted, err := format.Source(out)
	if err != nil {
		return nil, fmt.Errorf("%s: the edited text is not Go: %w", name, err)
	}
	return formatted, nil
}

// Result is Apply for edits that were made once: the imports that they leave
// without use are gone, and nothing is formatted.
func (f *File) Result() ([]byte, error) {
	if !f.Edited() {
		return f.Src, nil
	}
	out, err := f.Apply()
	if err != nil {
		return nil, err
	}
	return pruneImports(f.Name, out, f.used())
}

// DeclaredNames are the names of a declaration: functions, variables and types
// by their own, methods as Type.Method.
func DeclaredNames(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if r := Receiver(d); r != "" {
			return []string{r + "." + d.Name.Name}
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					names = append(names, n.Name)
				}
			}
		}
		return names
	}
	return nil
}

// Receiver is the name of the type whose method fn is; empty for functions.
func Receiver(fn *ast.FuncDecl) string {
	if fn.Recv.NumFields() == 0 {
		return "" // the parser accepts an empty list
	}
	return TypeName(fn.Recv.List[0].Type)
}

// JSONTag is the value of a field's json tag, such as "size,omitempty".
func JSONTag(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	tag, _ := strconv.Unquote(f.Tag.Value) // the parser has checked it
	return reflect.StructTag(tag).Get("json")
}

// StringLiteral is the text of a literal; false for any other expression.
func StringLiteral(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit == nil || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// TypeName is the name of a type or function, or of what it points to, without
// package and type parameters; empty for those without a name.
func TypeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return TypeName(e.X)
	case *ast.ParenExpr:
		return TypeName(e.X)
	case *ast.IndexExpr:
		return TypeName(e.X)
	case *ast.IndexListExpr:
		return TypeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// Literal is the composite literal that an expression is, or points to; new(T)
// counts as one. Nil is none.
func Literal(e ast.Expr) *ast.CompositeLit {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return e
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			lit, _ := ast.Unparen(e.X).(*ast.CompositeLit)
			return lit
		}
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "new" && len(e.Args) == 1 {
			return &ast.CompositeLit{Type: e.Args[0], Lbrace: e.Lparen, Rbrace: e.Rparen}
		}
	}
	return nil
}

// Field is the value of a literal's field, nil where it has none.
func Field(lit *ast.CompositeLit, key string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == key {
				return kv.Value
			}
		}
	}
	return nil
}
