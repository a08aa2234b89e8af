package v4

import (
	"cmp"
	"go/ast"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/afero"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// goPackage is what a package declares, by syntax alone: nothing is type
// checked, so that it works on code that does not compile yet.
type goPackage struct {
	dir   string
	types map[string]goType
	names map[string]bool // all that is declared, methods as Type.Method
	files map[string]*goedit.File
}

// goType is a type expression and the file that it stands in.
type goType struct {
	expr ast.Expr
	pkg  *goPackage
	file *goedit.File
}

// readPackage reads the Go files of a directory: the tests among them, or the
// others. Where there are none the package is empty.
func readPackage(disk afero.Fs, dir string, tests bool) (*goPackage, error) {
	p := &goPackage{dir: dir, types: map[string]goType{}, names: map[string]bool{}, files: map[string]*goedit.File{}}
	names, err := afero.Glob(disk, path.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") != tests {
			continue
		}
		text, err := afero.ReadFile(disk, name)
		if err != nil {
			return nil, err
		}
		g, err := parseGo(filepath.ToSlash(name), string(text))
		if err != nil {
			return nil, err
		}
		p.add(g)
	}
	return p, nil
}

func (p *goPackage) add(g *goedit.File) {
	p.files[path.Base(g.Name)] = g
	for _, decl := range g.Tree.Decls {
		for _, name := range goedit.DeclaredNames(decl) {
			p.names[name] = true
		}
	}
	for _, t := range g.Types() {
		if t.TypeParams == nil {
			p.types[t.Name.Name] = goType{t.Type, p, g}
		}
	}
}

func (p *goPackage) declares(name string) bool { return p.names[name] }

// fileOf returns the file that declares one of the names, nil for none.
func (p *goPackage) fileOf(names ...string) *goedit.File {
	for _, g := range p.files {
		for _, decl := range g.Tree.Decls {
			if slices.ContainsFunc(goedit.DeclaredNames(decl), func(n string) bool { return slices.Contains(names, n) }) {
				return g
			}
		}
	}
	return nil
}

// local returns the type of the package that an expression names.
func (t goType) local() (name string, declared goType, ok bool) {
	ident, isIdent := t.expr.(*ast.Ident)
	if !isIdent {
		return "", goType{}, false
	}
	declared, ok = t.pkg.types[ident.Name]
	return ident.Name, declared, ok
}

// with is another expression of the same file.
func (t goType) with(expr ast.Expr) goType { return goType{expr, t.pkg, t.file} }

// isStruct says whether the type is a struct, written out or by name.
func (t goType) isStruct() bool {
	_, ok := t.expr.(*ast.StructType)
	return ok
}

// foreign writes the type with import paths in the place of package names. It
// is empty for types that have a part of their own package in them.
func (t goType) foreign() string {
	switch e := t.expr.(type) {
	case *ast.Ident:
		if _, _, local := t.local(); local {
			return ""
		}
		return e.Name
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			return strconv.Quote(cmp.Or(t.file.ImportPath(pkg.Name), pkg.Name)) + "." + e.Sel.Name
		}
	case *ast.StarExpr:
		return prefixed("*", t.with(e.X).foreign())
	case *ast.ArrayType:
		if e.Len == nil {
			return prefixed("[]", t.with(e.Elt).foreign())
		}
		if length, ok := e.Len.(*ast.BasicLit); ok {
			return prefixed("["+length.Value+"]", t.with(e.Elt).foreign())
		}
	case *ast.MapType:
		if key := t.with(e.Key).foreign(); key != "" {
			return prefixed("map["+key+"]", t.with(e.Value).foreign())
		}
	}
	return ""
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// goField is a field of a struct.
type goField struct {
	name, json string
	goType
}

// fields lists the exported fields of a struct. Embedded ones have the name of
// their type.
func (t goType) fields() []goField {
	body, ok := t.expr.(*ast.StructType)
	if !ok {
		return nil
	}
	var out []goField
	for _, f := range body.Fields.List {
		json, _, _ := strings.Cut(goedit.JSONTag(f), ",")
		names := []string{goedit.TypeName(f.Type)}
		if len(f.Names) > 0 {
			names = names[:0]
			for _, n := range f.Names {
				names = append(names, n.Name)
			}
		}
		for _, name := range names {
			if ast.IsExported(name) {
				out = append(out, goField{name, json, t.with(f.Type)})
			}
		}
	}
	return out
}

// findField finds the counterpart of a field: by its name, or else by the one
// that users write.
func findField(in []goField, f goField) (goField, bool) {
	for _, other := range in {
		if other.name == f.name {
			return other, true
		}
	}
	for _, other := range in {
		if f.json != "" && f.json != "-" && other.json == f.json {
			return other, true
		}
	}
	return goField{}, false
}
