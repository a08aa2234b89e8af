package bundle

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// goSource reads Go packages of a module as far as the syntax goes: types,
// fields, their comments. Nothing is type-checked.
type goSource struct {
	fsys     fs.FS
	module   string // import path of the root
	fset     *token.FileSet
	packages map[string]*goPackage // by directory
	warnings []string
}

type goPackage struct {
	dir, name string
	files     []*ast.File
	types     map[string]goType
}

// goType is a type declaration and the file that it stands in.
type goType struct {
	spec  *ast.TypeSpec
	doc   comments
	file  *ast.File
	owner *goPackage
}

// comments are those that belong to a type or a field: its documentation, and
// the groups above that no other declaration claims.
type comments struct {
	doc   *ast.CommentGroup
	above []*ast.CommentGroup
}

// load parses the package in dir; nil if there is none.
func (g *goSource) load(dir string) (*goPackage, error) {
	if p, ok := g.packages[dir]; ok {
		return p, nil
	}
	g.packages[dir] = nil
	entries, err := fs.ReadDir(g.fsys, dir)
	// No such directory is no package; what is in the way is somebody else's say.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	p := &goPackage{dir: dir, types: map[string]goType{}}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_generated") {
			continue
		}
		if err := g.parse(p, path.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	if len(p.files) > 0 {
		g.packages[dir] = p
	}
	return g.packages[dir], nil
}

// parse adds a file to the package. Comments between two declarations belong to
// the second: that is where controller-tools looks for markers too.
func (g *goSource) parse(p *goPackage, name string) error {
	data, err := fs.ReadFile(g.fsys, name)
	if err != nil {
		return fmt.Errorf("read the API types: %w", err)
	}
	f, err := parser.ParseFile(g.fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return clierr.Failedf("correct the Go code and run the command again", "%w", err)
	}
	p.files, p.name = append(p.files, f), f.Name.Name
	end := f.Name.End()
	for _, decl := range f.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			end = decl.End()
			continue
		}
		for _, spec := range d.Specs {
			t := spec.(*ast.TypeSpec)
			doc, from := d.Doc, d.Pos()
			if d.Lparen.IsValid() {
				doc, from = t.Doc, t.Pos()
			}
			p.types[t.Name.Name] = goType{spec: t, doc: claim(f, doc, end, from), file: f, owner: p}
			end = t.End()
		}
		end = d.End()
	}
	return nil
}

// claim finds the comments between the end of what comes before and what they belong to.
func claim(f *ast.File, doc *ast.CommentGroup, after, before token.Pos) comments {
	c := comments{doc: doc}
	for _, g := range f.Comments {
		if g != doc && g.Pos() > after && g.End() <= before {
			c.above = append(c.above, g)
		}
	}
	return c
}

// text is the documentation as a text: a line for each paragraph, without markers.
func (c comments) text() string {
	if c.doc == nil {
		return ""
	}
	plain := &ast.CommentGroup{}
	for _, line := range c.doc.List {
		if !strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(line.Text, "//")), "+") {
			plain.List = append(plain.List, line)
		}
	}
	if len(plain.List) == 0 {
		return ""
	}
	var paragraphs []string
	for p := range strings.SplitSeq(plain.Text(), "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			paragraphs = append(paragraphs, p)
		}
	}
	return strings.Join(paragraphs, "\n")
}

// lines are all lines of the comments that could be markers.
func (c comments) lines() []*ast.Comment {
	groups := slices.Clone(c.above)
	if c.doc != nil {
		groups = append(groups, c.doc)
	}
	var lines []*ast.Comment
	for _, g := range groups {
		for _, line := range g.List {
			if strings.HasPrefix(line.Text, "//") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

type goField struct {
	name  string // in Go; empty when embedded
	field *ast.Field
	doc   comments
	owner goType
}

// fields lists the fields of a struct type, embedded ones included.
func (t goType) fields() []goField {
	s, ok := t.spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	var list []goField
	end := s.Fields.Opening
	for _, f := range s.Fields.List {
		doc := claim(t.file, f.Doc, end, f.Pos())
		if f.Doc != nil {
			doc = claim(t.file, f.Doc, end, f.Doc.Pos())
		}
		if len(f.Names) == 0 {
			list = append(list, goField{"", f, doc, t})
		}
		for _, n := range f.Names {
			list = append(list, goField{n.Name, f, doc, t})
		}
		end = f.End()
		if f.Comment != nil {
			end = f.Comment.End()
		}
	}
	return list
}

// json is the field's name in JSON. inline says that its fields stand in its
// place, skip that it is not serialized.
func (f goField) json() (name string, inline, skip bool) {
	tag := goedit.JSONTag(f.field)
	name, options, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-":
		return "", false, true
	case slices.Contains(strings.Split(options, ","), "inline") || f.name == "" && name == "":
		return "", true, false
	case f.name != "" && !ast.IsExported(f.name):
		return "", false, true
	case name == "":
		return f.name, false, false
	}
	return name, false, false
}

// refers is the type of the module that a type expression mentions, the zero goType
// for none. Types of other modules have no markers of interest, and reading those
// modules is what makes type-checking slow.
func (g *goSource) refers(in goType, expr ast.Expr) (goType, error) {
	switch e := expr.(type) {
	case *ast.Ident:
		return in.owner.types[e.Name], nil
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return g.imported(in.file, x.Name, e.Sel.Name)
		}
	case *ast.StarExpr:
		return g.refers(in, e.X)
	case *ast.ArrayType:
		return g.refers(in, e.Elt)
	case *ast.MapType:
		return g.refers(in, e.Value)
	}
	return goType{}, nil
}

// imported finds a type of an imported package of the module. pkg is the name
// that the file uses: the import's own, or that in the package clause.
func (g *goSource) imported(f *ast.File, pkg, name string) (goType, error) {
	for _, imp := range f.Imports {
		dir, ours := strings.CutPrefix(goedit.PathOf(imp), g.module+"/")
		if !ours || imp.Name != nil && imp.Name.Name != pkg {
			continue
		}
		p, err := g.load(dir)
		if err != nil {
			return goType{}, err
		}
		if p != nil && (imp.Name != nil || p.name == pkg) {
			return p.types[name], nil
		}
	}
	return goType{}, nil
}

// at is the place of a position: file:line.
func (g *goSource) at(pos token.Pos) string {
	p := g.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}
