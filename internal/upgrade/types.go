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
	types    map[string]typeDecl
	methods  map[string]method // by Type.Method
}

type typeDecl struct {
	expr ast.Expr
	in   *goedit.File
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
		p = &goPackage{map[string]bool{}, map[string]typeDecl{}, map[string]method{}}
		c.packages[path.Dir(name)] = p
	}
	s.Declared = p.declared
	for _, d := range s.Tree.Decls {
		for _, name := range goedit.DeclaredNames(d) {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.Contains(name, ".") {
				p.methods[name] = method{fn, s}
				continue
			}
			p.declared[name] = true
		}
	}
	for _, t := range s.Types() {
		p.types[t.Name.Name] = typeDecl{t.Type, s}
	}
	return true
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
	return t, qualifier, p != nil && p.types[t.name].in != nil
}

// typeOf is named for the type that a value has or points to, where it is
// written down there or is that of a parameter or receiver.
func (c *code) typeOf(s *goedit.File, e ast.Expr) (apiType, string, bool) {
	if lit := goedit.Literal(e); lit != nil {
		return c.named(s, lit.Type)
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		return c.typeOf(s, e.X)
	case *ast.CallExpr: // (*T)(nil)
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
	if st, ok := p.types[t.name].expr.(*ast.StructType); ok {
		for _, f := range st.Fields.List {
			inner, _, ok := c.named(p.types[t.name].in, f.Type)
			if len(f.Names) == 0 && ok {
				maps.Copy(out, c.methodsOf(inner, seen))
			}
		}
	}
	for _, name := range []string{webhookadapter.Default, webhookadapter.ValidateCreate, webhookadapter.ValidateUpdate, webhookadapter.ValidateDelete} {
		m, ok := p.methods[t.name+"."+name]
		if !ok {
			continue
		}
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
		if m, ok := p.methods[t.name+"."+name]; ok {
			return m.in
		}
	}
	return p.types[t.name].in
}
