package relayout

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
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
	// Beside says whether such a path leads to what moves along, nil for none does.
	Beside func(rel string) bool
}

// Go applies r to the Go file called name and returns its new text. Nothing is
// changed but the places named in r; a file that was formatted by gofmt stays
// so. A syntax error is an error with file, line and column.
func (r Rewrite) Go(name string, src []byte) ([]byte, error) {
	if r.Own == nil && !r.mentions(src) {
		return src, nil
	}
	f, err := goedit.Parse(name, src)
	if err != nil {
		return nil, err
	}
	test := strings.HasSuffix(name, "_test.go")
	if r.Own != nil {
		packageClause(f, *r.Own, test)
	}
	if r.Own != nil && test {
		climb(f, r)
	}
	for _, spec := range f.Tree.Imports {
		importSpec(f, spec, r)
	}
	if !f.Edited() {
		return src, nil
	}
	out, err := f.Apply()
	if err != nil {
		return nil, err
	}
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

// packageClause renames the package, and its external test package.
func packageClause(f *goedit.File, p Package, test bool) {
	id := f.Tree.Name
	switch {
	case p.Name == p.OldName:
	case id.Name == p.OldName:
		f.Replace(id, p.Name)
	case test && id.Name == p.OldName+"_test":
		f.Replace(id, p.Name+"_test")
	}
}

// importSpec rewrites one import, and the name by which the file calls it.
func importSpec(f *goedit.File, spec *ast.ImportSpec, r Rewrite) {
	p, moves := r.Packages[goedit.PathOf(spec)]
	if !moves {
		return
	}
	name := p.OldName
	if spec.Name != nil {
		name = spec.Name.Name
	}
	want := name
	if goedit.IsName(name) {
		want = cmp.Or(r.Aliases[p.Path], name)
	}
	text := strconv.Quote(p.Path)
	if spec.Name != nil || want != p.Name || want != path.Base(p.Path) {
		text = want + " " + text
	}
	if before := f.Offset(spec.Pos()) - 1; f.Src[before] == 't' {
		text = " " + text // import"x" is Go
	}
	f.Replace(spec, text)
	if want == name {
		return
	}
	// What is unresolved in its file and bears the name of an import is that
	// import: types add nothing here.
	for _, id := range f.Tree.Unresolved {
		if id.Name == name {
			f.Replace(id, want)
		}
	}
}

// climb adds or takes ".." at the start of paths in test files: in literals
// such as "../../config", and in the first arguments of filepath.Join. What moves along
// stays where it was from there.
func climb(f *goedit.File, r Rewrite) {
	if r.Climb == 0 {
		return
	}
	leads := func(rel string) bool { return r.Beside == nil || !r.Beside(rel) }
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if s, ok := goedit.StringLiteral(n); ok && strings.HasPrefix(s, "../") && leads(s) {
				f.Replace(n, strconv.Quote(climbPath(s, r.Climb)))
			}
		case *ast.CallExpr:
			if isJoin(n) && leads(literal(n.Args)) {
				climbJoin(f, n.Args, r.Climb)
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

// literal is the path that the first arguments of a call of filepath.Join make.
func literal(args []ast.Expr) (rel string) {
	for _, arg := range args {
		s, ok := goedit.StringLiteral(arg)
		if !ok {
			break
		}
		rel = path.Join(rel, s)
	}
	return rel
}

func climbJoin(f *goedit.File, args []ast.Expr, by int) {
	n := 0
	for n < len(args) {
		lit, ok := args[n].(*ast.BasicLit)
		if s, is := goedit.StringLiteral(lit); !ok || !is || s != ".." {
			break
		}
		n++
	}
	switch {
	case n == 0:
	case by > 0:
		f.Insert(args[0].Pos(), strings.Repeat(`"..", `, by))
	case n > -by:
		f.ReplaceRange(args[0].Pos(), args[-by].Pos(), "")
	}
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

// imports lists what a Go file imports, with the line and the name of each:
// the name is empty where the import has none.
func imports(name string, src []byte) (lines map[string]int, names map[string]string, err error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, src, parser.ImportsOnly)
	if err != nil {
		return nil, nil, goedit.SyntaxError(name, err)
	}
	lines, names = map[string]int{}, map[string]string{}
	for _, spec := range tree.Imports {
		p := goedit.PathOf(spec)
		lines[p] = files.Position(spec.Pos()).Line
		if spec.Name != nil {
			names[p] = spec.Name.Name
		}
	}
	return lines, names, nil
}

// packageName is the name in the package clause of a Go file, without the
// ending of external tests.
func packageName(name string, src []byte) (string, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), name, src, parser.PackageClauseOnly)
	if err != nil {
		return "", goedit.SyntaxError(name, err)
	}
	if strings.HasSuffix(name, "_test.go") {
		return strings.TrimSuffix(tree.Name.Name, "_test"), nil
	}
	return tree.Name.Name, nil
}
