package relayout

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
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/clierr"
)

// Package is what becomes of a Go package that moves.
type Package struct {
	Path    string // import path that it gets
	OldName string // name in its package clause so far
	Name    string // name that it gets there
}

// Rewrite says what to change in one Go file.
type Rewrite struct {
	// Packages are those that move, by the import path they had.
	Packages map[string]Package
	// Aliases are the names under which the file is to import packages, by
	// their new import path. Without one the name stays what it was.
	Aliases map[string]string
	// Own is the package that the file belongs to, nil where it stays.
	Own *Package
	// Climb is how many directories deeper the file comes to lie: paths that
	// lead out of its directory get as many "..", or lose them.
	Climb int
}

// Go applies r to the Go file called name and returns its new text. Nothing is
// changed but the places named in r; a file that was formatted by gofmt stays
// so. A syntax error is an error with file, line and column.
func (r Rewrite) Go(name string, src []byte) ([]byte, error) {
	if r.Own == nil && !r.mentions(src) {
		return src, nil
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, src, parser.ParseComments)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	e := &editor{files: files, tree: tree, test: strings.HasSuffix(name, "_test.go")}
	if r.Own != nil {
		e.packageClause(*r.Own)
		e.climb(r.Climb)
	}
	for _, spec := range tree.Imports {
		e.importSpec(spec, r)
	}
	if len(e.edits) == 0 {
		return src, nil
	}
	out := e.apply(src)
	if formatted, err := format.Source(src); err == nil && bytes.Equal(formatted, src) {
		return format.Source(out)
	}
	return out, nil
}

// mentions says whether the text has one of the import paths in quotes.
func (r Rewrite) mentions(src []byte) bool {
	for old := range r.Packages {
		if bytes.Contains(src, []byte(strconv.Quote(old))) || bytes.Contains(src, []byte("`"+old+"`")) {
			return true
		}
	}
	return false
}

func syntaxError(name string, err error) error {
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return clierr.Failedf("repair it and run the command again", "%s: %s", list[0].Pos, list[0].Msg)
	}
	return fmt.Errorf("parse %s: %w", name, err)
}

// edit replaces the bytes from start to end by text.
type edit struct {
	start, end int
	text       string
}

type editor struct {
	files *token.FileSet
	tree  *ast.File
	test  bool
	edits []edit
}

func (e *editor) replace(from, to token.Pos, text string) {
	e.edits = append(e.edits, edit{e.files.Position(from).Offset, e.files.Position(to).Offset, text})
}

func (e *editor) apply(src []byte) []byte {
	slices.SortFunc(e.edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	var out []byte
	at := 0
	for _, c := range e.edits {
		out = append(append(out, src[at:c.start]...), c.text...)
		at = c.end
	}
	return append(out, src[at:]...)
}

// packageClause renames the package, and its external test package.
func (e *editor) packageClause(p Package) {
	id := e.tree.Name
	suffix := ""
	if e.test {
		suffix = "_test"
	}
	switch {
	case p.Name == p.OldName:
	case id.Name == p.OldName:
		e.replace(id.Pos(), id.End(), p.Name)
	case suffix != "" && id.Name == p.OldName+suffix:
		e.replace(id.Pos(), id.End(), p.Name+suffix)
	}
}

// importSpec rewrites one import, and the name by which the file calls it.
func (e *editor) importSpec(spec *ast.ImportSpec, r Rewrite) {
	old, err := strconv.Unquote(spec.Path.Value)
	p, moves := r.Packages[old]
	if err != nil || !moves {
		return
	}
	e.replace(spec.Path.Pos(), spec.Path.End(), strconv.Quote(p.Path))
	name := p.OldName
	if spec.Name != nil {
		name = spec.Name.Name
	}
	if name == "_" || name == "." {
		return
	}
	want := cmp.Or(r.Aliases[p.Path], name)
	switch {
	case spec.Name != nil && spec.Name.Name != want:
		e.replace(spec.Name.Pos(), spec.Name.End(), want)
	case spec.Name == nil && (want != p.Name || want != path.Base(p.Path)):
		e.replace(spec.Path.Pos(), spec.Path.Pos(), " "+want+" ") // import"x" is Go
	}
	if want == name {
		return
	}
	// What is unresolved in its file and bears the name of an import is that
	// import: types add nothing here.
	for _, id := range e.tree.Unresolved {
		if id.Name == name {
			e.replace(id.Pos(), id.End(), want)
		}
	}
}

// climb adds or takes ".." at the start of paths in test files: in literals
// such as "../../config", and in the first arguments of filepath.Join.
func (e *editor) climb(by int) {
	if by == 0 || !e.test {
		return
	}
	ast.Inspect(e.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if s, ok := literal(n); ok && strings.HasPrefix(s, "../") {
				e.replace(n.Pos(), n.End(), strconv.Quote(climbPath(s, by)))
			}
		case *ast.CallExpr:
			if isJoin(n) {
				e.climbJoin(n.Args, by)
			}
		}
		return true
	})
}

// climbPath changes the number of ".." that a path begins with, at least one
// of which stays.
func climbPath(s string, by int) string {
	for ; by > 0; by-- {
		s = "../" + s
	}
	for ; by < 0 && strings.HasPrefix(s, "../.."); by++ {
		s = strings.TrimPrefix(s, "../")
	}
	return s
}

func (e *editor) climbJoin(args []ast.Expr, by int) {
	n := 0
	for n < len(args) {
		lit, ok := args[n].(*ast.BasicLit)
		if s, is := literal(lit); !ok || !is || s != ".." {
			break
		}
		n++
	}
	switch {
	case n == 0:
	case by > 0:
		e.replace(args[0].Pos(), args[0].Pos(), strings.Repeat(`"..", `, by))
	case n > -by:
		e.replace(args[0].Pos(), args[-by].Pos(), "")
	}
}

func literal(lit *ast.BasicLit) (string, bool) {
	if lit == nil || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// isJoin says whether a call is filepath.Join or path.Join.
func isJoin(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Join" {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && (pkg.Name == "filepath" || pkg.Name == "path")
}

// imports lists what a Go file imports, with the line of each.
func imports(name string, src []byte) (map[string]int, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, src, parser.ImportsOnly)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	out := map[string]int{}
	for _, spec := range tree.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[p] = files.Position(spec.Pos()).Line
		}
	}
	return out, nil
}

// aliases lists the names that a Go file gives its imports, by import path.
func aliases(name string, src []byte) (map[string]string, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	out := map[string]string{}
	for _, spec := range tree.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && spec.Name != nil {
			out[p] = spec.Name.Name
		}
	}
	return out, nil
}

// packageName is the name in the package clause of a Go file, without the
// ending of external tests.
func packageName(name string, src []byte) (string, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), name, src, parser.PackageClauseOnly)
	if err != nil {
		return "", syntaxError(name, err)
	}
	if strings.HasSuffix(name, "_test.go") {
		return strings.TrimSuffix(tree.Name.Name, "_test"), nil
	}
	return tree.Name.Name, nil
}
