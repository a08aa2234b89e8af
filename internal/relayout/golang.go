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

	lazy "go.podman.io/storage/pkg/regexp"

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
	test, moved := strings.HasSuffix(name, "_test.go"), src
	if r.Own != nil && test && r.Climb != 0 {
		moved = climb(src, r)
	}
	f, err := goedit.Parse(name, moved)
	if err != nil {
		return nil, err
	}
	if r.Own != nil {
		packageClause(f, *r.Own, test)
	}
	for _, spec := range f.Tree.Imports {
		importSpec(f, spec, r)
	}
	if !f.Edited() && bytes.Equal(moved, src) {
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

// Paths that lead out of a directory: a text, and the first arguments of a Join.
var (
	outwardText = lazy.Delayed("[\"`]\\.\\./[^\"`\n]*")
	outwardJoin = lazy.Delayed(`\b(?:filepath|path)\.Join\("\.\."(?:, "[^"\n]*")*`)
)

// climb adds or takes ".." at the start of such paths, of which one stays. What moves
// along stays where it was from there.
func climb(src []byte, r Rewrite) []byte {
	for _, form := range []struct {
		pattern   *lazy.Regexp
		up, parts string
	}{{&outwardText, "..", "/"}, {&outwardJoin, `".."`, ", "}} {
		step := form.up + form.parts
		src = form.pattern.ReplaceAllFunc(src, func(m []byte) []byte {
			head, rel, _ := strings.Cut(string(m), form.up)
			rel = form.up + rel
			if r.Beside != nil && r.Beside(path.Join(strings.Split(strings.Trim(rel, `"`), `", "`)...)) {
				return m
			}
			for n := r.Climb; n < 0 && strings.HasPrefix(rel, step+form.up); n++ {
				rel = strings.TrimPrefix(rel, step)
			}
			return []byte(head + strings.Repeat(step, max(0, r.Climb)) + rel)
		})
	}
	return src
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
