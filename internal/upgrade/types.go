package upgrade

import (
	"go/ast"
	"maps"
	"path"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
	"github.com/example/mysdk/internal/webhookadapter"
)

// code is the Go code of a project, as far as it can be parsed.
type code struct {
	module   string
	sources  []*goedit.File // sorted by name
	packages map[string]*goPackage
}

// goPackage is what is declared in a directory, tests included.
type goPackage struct {
	declared map[string]bool
	structs  map[string]*ast.StructType
	methods  map[string]map[string]method // by type
	homes    map[string]*goedit.File      // the file that declares a type
}

type method struct {
	decl *ast.FuncDecl
	in   *goedit.File
}

// apiType is a type of the project; the zero value is for those of others.
type apiType struct{ dir, name string }

// add takes in a file; false for one that cannot be parsed.
func (c *code) add(name string, src []byte) bool {
	s, err := goedit.Parse(name, src)
	if err != nil {
		return false
	}
	c.sources = append(c.sources, s)
	p := c.packages[path.Dir(name)]
	if p == nil {
		p = &goPackage{map[string]bool{}, map[string]*ast.StructType{}, map[string]map[string]method{}, map[string]*goedit.File{}}
		c.packages[path.Dir(name)] = p
	}
	s.Declared = p.declared
	for _, d := range s.Tree.Decls {
		p.declare(d, s)
	}
	return true
}

func (p *goPackage) declare(d ast.Decl, in *goedit.File) {
	for _, name := range goedit.DeclaredNames(d) {
		of, short, isMethod := strings.Cut(name, ".")
		fn, isFunc := d.(*ast.FuncDecl)
		switch {
		case !isMethod:
			p.declared[name] = true
		case isFunc:
			if p.methods[of] == nil {
				p.methods[of] = map[string]method{}
			}
			p.methods[of][short] = method{fn, in}
		}
	}
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range g.Specs {
		if spec, ok := spec.(*ast.TypeSpec); ok {
			p.homes[spec.Name.Name] = in
			if st, ok := spec.Type.(*ast.StructType); ok {
				p.structs[spec.Name.Name] = st
			}
		}
	}
}

// named is the type that an expression in a file names, and what the file has
// to put before the names of its package; false where that cannot be told.
func (c *code) named(s *goedit.File, e ast.Expr) (t apiType, qualifier string, ok bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.named(s, e.X)
	case *ast.StarExpr:
		return c.named(s, e.X)
	case *ast.Ident:
		t = apiType{path.Dir(s.Name), e.Name}
	case *ast.SelectorExpr:
		id, isName := e.X.(*ast.Ident)
		if !isName || s.ImportPath(id.Name) == "" {
			return t, "", false
		}
		dir, within := strings.CutPrefix(s.ImportPath(id.Name), c.module+"/")
		if !within {
			return apiType{}, "", true
		}
		t, qualifier = apiType{dir, e.Sel.Name}, id.Name+"."
	}
	p := c.packages[t.dir]
	return t, qualifier, p != nil && p.homes[t.name] != nil
}

// typeOf is named for the type that a value has or points to, where it is
// written down there or is that of a parameter or receiver.
func (c *code) typeOf(s *goedit.File, e ast.Expr) (apiType, string, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.typeOf(s, e.X)
	case *ast.UnaryExpr:
		return c.typeOf(s, e.X)
	case *ast.CompositeLit:
		return c.named(s, e.Type)
	case *ast.CallExpr: // new(T), or (*T)(nil)
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "new" && len(e.Args) == 1 {
			return c.named(s, e.Args[0])
		}
		if _, ok := e.Fun.(*ast.ParenExpr); ok {
			return c.named(s, e.Fun)
		}
	case *ast.Ident:
		if e.Obj == nil {
			break
		}
		if field, ok := e.Obj.Decl.(*ast.Field); ok {
			return c.named(s, field.Type)
		}
	}
	return apiType{}, "", false
}

// ownMethods are those methods of a type by which it was its own webhook, also
// those of types that are embedded in it.
func (c *code) ownMethods(t apiType) webhookadapter.Methods {
	return c.methodsOf(t, map[apiType]bool{})
}

func (c *code) methodsOf(t apiType, seen map[apiType]bool) webhookadapter.Methods {
	out := webhookadapter.Methods{}
	p := c.packages[t.dir]
	if p == nil || seen[t] {
		return out // a type may embed a pointer to one that embeds it
	}
	seen[t] = true
	if st := p.structs[t.name]; st != nil {
		for _, f := range st.Fields.List {
			inner, _, ok := c.named(p.homes[t.name], f.Type)
			if len(f.Names) == 0 && ok {
				maps.Copy(out, c.methodsOf(inner, seen))
			}
		}
	}
	for name, m := range p.methods[t.name] {
		params, results := m.decl.Type.Params.NumFields(), m.decl.Type.Results.NumFields()
		delete(out, name)
		switch {
		case strings.HasSuffix(m.in.Name, "_test.go"):
		case name == webhookadapter.Default && params == 0 && results == 0,
			(name == webhookadapter.ValidateCreate || name == webhookadapter.ValidateDelete) && params == 0 && results > 0,
			name == webhookadapter.ValidateUpdate && params == 1 && results > 0:
			out[name] = results
		}
	}
	return out
}

// home is the file in which the method is, else that of the type itself.
func (c *code) home(t apiType, methods ...string) *goedit.File {
	p := c.packages[t.dir]
	for _, name := range methods {
		if m, ok := p.methods[t.name][name]; ok {
			return m.in
		}
	}
	return p.homes[t.name]
}
