package migrate

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
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/clierr"
)

// goFile is a Go source with changes to it that are collected by position and
// made at once, so that everything else keeps its bytes.
type goFile struct {
	name  string
	src   []byte
	fset  *token.FileSet
	tree  *ast.File
	edits []edit
	needs []importSpec
	drops map[string]bool // import paths that go, used or not
}

// edit replaces the bytes from start to end by text.
type edit struct {
	start, end int
	text       string
}

// importSpec is a package that a file needs, and the name it is called by;
// empty for the package's own.
type importSpec struct{ path, name string }

// pass is one kind of change to one file.
type pass func(*goFile)

// maxRounds bounds how often a pass is repeated on a file. A pass is repeated
// because changes inside of a changed expression wait for the next round.
const maxRounds = 8

// transform makes the passes, one after the other, and removes the imports
// that nothing needs any more. A syntax error names file, line and column.
func transform(name string, src []byte, passes ...pass) ([]byte, error) {
	before, err := usedImports(name, src)
	if err != nil {
		return nil, err
	}
	out := src
	for _, p := range passes {
		for range maxRounds {
			f, err := parseGo(name, out)
			if err != nil {
				return nil, err
			}
			p(f)
			if len(f.edits)+len(f.needs)+len(f.drops) == 0 {
				break
			}
			next, err := f.apply()
			if err != nil {
				return nil, err
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
	if out, err = pruneImports(name, out, before); err != nil {
		return nil, err
	}
	formatted, err := format.Source(out)
	if err != nil {
		return nil, fmt.Errorf("%s: the migrated text is not Go: %w", name, err)
	}
	return formatted, nil
}

func parseGo(name string, src []byte) (*goFile, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		var list scanner.ErrorList
		if errors.As(err, &list) && len(list) > 0 {
			return nil, clierr.Failedf("repair it and run the command again", "%s: %s", list[0].Pos, list[0].Msg)
		}
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	return &goFile{name: name, src: src, fset: fset, tree: tree, drops: map[string]bool{}}, nil
}

func (f *goFile) offset(p token.Pos) int { return f.fset.Position(p).Offset }

// line is the line of a position, counted from 1.
func (f *goFile) line(p token.Pos) int { return f.fset.Position(p).Line }

// text is the source of a node.
func (f *goFile) text(n ast.Node) string { return string(f.src[f.offset(n.Pos()):f.offset(n.End())]) }

func (f *goFile) replace(n ast.Node, text string) {
	f.edits = append(f.edits, edit{f.offset(n.Pos()), f.offset(n.End()), text})
}

func (f *goFile) insert(at token.Pos, text string) {
	f.edits = append(f.edits, edit{f.offset(at), f.offset(at), text})
}

// removeLines takes out a node together with its lines and, for a
// declaration, the comment above it.
func (f *goFile) removeLines(n ast.Node) {
	start, end := f.offset(n.Pos()), f.offset(n.End())
	switch d := n.(type) {
	case *ast.FuncDecl:
		if d.Doc != nil {
			start = f.offset(d.Doc.Pos())
		}
	case *ast.GenDecl:
		if d.Doc != nil {
			start = f.offset(d.Doc.Pos())
		}
	}
	for start > 0 && (f.src[start-1] == ' ' || f.src[start-1] == '\t') {
		start--
	}
	rest := f.src[end:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	tail := bytes.TrimSpace(rest)
	if len(tail) > 0 && tail[0] != '/' || start > 0 && f.src[start-1] != '\n' { // other code shares the line
		if bytes.HasPrefix(tail, []byte(";")) {
			end += bytes.IndexByte(rest, ';') + 1
		}
		f.edits = append(f.edits, edit{f.offset(n.Pos()), end, ""})
		return
	}
	for end < len(f.src) && f.src[end] != '\n' {
		end++ // a comment at the end of the line goes too
	}
	if end < len(f.src) {
		end++
	}
	f.edits = append(f.edits, edit{start, end, ""})
}

// todo puts a marked line above the line of a node, once.
func (f *goFile) todo(n ast.Node, format string, args ...any) {
	text := todoMark + fmt.Sprintf(format, args...)
	at := f.lineStart(f.offset(n.Pos()))
	above := f.src[:at]
	for { // several marks may stand above one line
		above = bytes.TrimRight(above, "\n")
		start := bytes.LastIndexByte(above, '\n') + 1
		last := bytes.TrimSpace(above[start:])
		if bytes.Equal(last, []byte("// "+text)) {
			return
		}
		if !bytes.HasPrefix(last, []byte("// "+todoMark)) {
			break
		}
		above = above[:start]
	}
	e := edit{at, at, "// " + text + "\n"}
	if !slices.Contains(f.edits, e) {
		f.edits = append(f.edits, e)
	}
}

// lineStart is where the line of an offset begins, and where that is in a
// string of several lines, the line that the string begins in.
func (f *goFile) lineStart(at int) int {
	at = bytes.LastIndexByte(f.src[:at], '\n') + 1
	outer := -1
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && f.offset(lit.Pos()) < at && at < f.offset(lit.End()) {
			outer = f.offset(lit.Pos())
		}
		return outer < 0
	})
	if outer >= 0 {
		return f.lineStart(outer)
	}
	return at
}

// importName is the name by which the file calls a package, empty where it
// does not import it; a dot or an underscore where it does under no other.
func (f *goFile) importName(importPath string) string {
	local := ""
	for _, spec := range f.tree.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil || p != importPath {
			continue
		}
		if local = localName(spec, p); isName(local) {
			return local
		}
	}
	return local
}

// isName says whether a package can be called by the name that it is imported
// by.
func isName(local string) bool { return local != "" && local != "_" && local != "." }

// is says whether an expression is the name of a package's member.
func (f *goFile) is(e ast.Expr, importPath, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Obj == nil && f.importsAs(importPath, id.Name)
}

// importsAs says whether a file calls a package by a name: it may have several.
func (f *goFile) importsAs(importPath, name string) bool {
	return slices.ContainsFunc(f.tree.Imports, func(spec *ast.ImportSpec) bool {
		p, err := strconv.Unquote(spec.Path.Value)
		return err == nil && p == importPath && localName(spec, p) == name && isName(name)
	})
}

// isAny is is for any of several packages with the same member.
func (f *goFile) isAny(e ast.Expr, name string, importPaths ...string) bool {
	return slices.ContainsFunc(importPaths, func(p string) bool { return f.is(e, p, name) })
}

// calls returns the call of a package's function, nil where e is none.
func (f *goFile) calls(e ast.Expr, importPath, name string) *ast.CallExpr {
	if call, ok := e.(*ast.CallExpr); ok && f.is(call.Fun, importPath, name) {
		return call
	}
	return nil
}

// need makes the file import a package and returns the name to call it by.
func (f *goFile) need(importPath, name string) string {
	if local := f.importName(importPath); isName(local) {
		return local
	}
	want := cmp.Or(name, path.Base(importPath))
	for f.taken(want) {
		want = "k8s" + want
	}
	s := importSpec{path: importPath}
	if want != path.Base(importPath) {
		s.name = want
	}
	if !slices.Contains(f.needs, s) {
		f.needs = append(f.needs, s)
	}
	return want
}

// taken says whether the file imports another package under the name.
func (f *goFile) taken(name string) bool {
	return slices.ContainsFunc(f.tree.Imports, func(spec *ast.ImportSpec) bool {
		p, err := strconv.Unquote(spec.Path.Value)
		return err == nil && localName(spec, p) == name && !f.drops[p]
	})
}

// dropImport takes an import out whether it is used or not: where it is, the
// compiler says so.
func (f *goFile) dropImport(importPath string) { f.drops[importPath] = true }

// apply makes the changes. Of two that overlap the outer one is made; the
// other one has its turn in the next round.
func (f *goFile) apply() ([]byte, error) {
	out := f.spliced()
	for _, s := range f.needs {
		var err error
		if out, err = addImport(f.name, out, s); err != nil {
			return nil, err
		}
	}
	return removeImports(f.name, out, func(p, _ string) bool { return f.drops[p] })
}

// spliced is the text with the edits in it.
func (f *goFile) spliced() []byte {
	rank := func(e edit) int { // insertions first, then the longest
		if e.start == e.end {
			return -1 << 31
		}
		return -e.end
	}
	slices.SortStableFunc(f.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(rank(a), rank(b)))
	})
	var out []byte
	at := 0
	for _, e := range f.edits {
		if e.start < at {
			continue
		}
		out = append(append(out, f.src[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, f.src[at:]...)
}

// addImport adds an import to a file that lacks it.
func addImport(name string, src []byte, s importSpec) ([]byte, error) {
	f, err := parseGo(name, src)
	if err != nil {
		return nil, fmt.Errorf("the migrated text is not Go: %w", err)
	}
	if isName(f.importName(s.path)) {
		return src, nil
	}
	line := strings.TrimSpace(s.name + " " + strconv.Quote(s.path))
	for _, d := range f.tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		if g.Lparen.IsValid() {
			f.insert(f.place(g, s.path), "\n\t"+line)
		} else {
			f.insert(g.End(), "\nimport "+line)
		}
		return f.apply()
	}
	f.insert(f.tree.Name.End(), "\n\nimport "+line)
	return f.apply()
}

// place is behind the import of a declaration that the path sorts with best:
// those of the standard library and all others stand in groups of their own.
func (f *goFile) place(g *ast.GenDecl, importPath string) token.Pos {
	std := func(p string) bool { return !strings.Contains(strings.SplitN(p, "/", 2)[0], ".") }
	at := g.Lparen + 1
	for _, s := range g.Specs {
		spec, ok := s.(*ast.ImportSpec)
		if !ok {
			continue
		}
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && std(p) == std(importPath) {
			at = spec.End()
		}
	}
	if at == g.Lparen+1 && !std(importPath) && len(g.Specs) > 0 {
		return g.Specs[len(g.Specs)-1].End()
	}
	return at
}

// removeImports takes out the imports that gone picks by path and local name.
func removeImports(name string, src []byte, gone func(importPath, local string) bool) ([]byte, error) {
	f, err := parseGo(name, src)
	if err != nil {
		return nil, fmt.Errorf("the migrated text is not Go: %w", err)
	}
	for _, d := range f.tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		left := len(g.Specs)
		for _, s := range g.Specs {
			spec, ok := s.(*ast.ImportSpec)
			if !ok {
				continue
			}
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil || !gone(p, localName(spec, p)) {
				continue
			}
			if left--; g.Lparen.IsValid() {
				f.removeLines(spec)
			}
		}
		if left == 0 {
			f.edits = slices.DeleteFunc(f.edits, func(e edit) bool { return e.start >= f.offset(g.Pos()) })
			f.removeLines(g)
		}
	}
	if len(f.edits) == 0 {
		return src, nil
	}
	return f.apply()
}

// majorVersion is how paths of modules end from their second version on: v1 at
// the end of a path is a package.
var majorVersion = regexp.MustCompile(`^v([2-9]|[1-9][0-9]+)$`)

// localName is the name by which a file calls an import. Without one in the
// import it is a guess: the package's name may be another than its path's.
func localName(spec *ast.ImportSpec, importPath string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	if importPath == crRoot {
		return "controllerruntime"
	}
	base := path.Base(importPath)
	if dir := path.Dir(importPath); majorVersion.MatchString(base) {
		// example.com/module/v2 is called module, and so is k8s.io/module/v2;
		// k8s.io/api/autoscaling/v2 is v2.
		deep := strings.Count(importPath, "/")
		if deep == 2 || deep == 3 && strings.Contains(dir, ".") && !strings.HasPrefix(importPath, "k8s.io/") && !strings.Contains(importPath, "/api") {
			base = path.Base(dir)
		}
	}
	base, _, _ = strings.Cut(base, ".v")
	return base
}

// usedImports lists the imports of a file that it calls something of.
func usedImports(name string, src []byte) (map[string]bool, error) {
	f, err := parseGo(name, src)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil {
				names[id.Name] = true
			}
		}
		return true
	})
	out := map[string]bool{}
	for _, spec := range f.tree.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[p] = out[p] || names[localName(spec, p)]
		}
	}
	return out, nil
}

// pruneImports takes out the imports that were used before and are no more.
func pruneImports(name string, src []byte, before map[string]bool) ([]byte, error) {
	now, err := usedImports(name, src)
	if err != nil {
		return nil, fmt.Errorf("the migrated text is not Go: %w", err)
	}
	return removeImports(name, src, func(p, local string) bool {
		was, known := before[p]
		return local != "_" && local != "." && !now[p] && (was || !known)
	})
}
