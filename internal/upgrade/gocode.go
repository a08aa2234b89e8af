package upgrade

import (
	"go/ast"
	"maps"
	"path"
	"strings"

	"github.com/example/mysdk/internal/webhookadapter"
)

// code is the Go code of a project, as far as it can be parsed.
type code struct {
	module   string
	sources  []*source // sorted by name
	packages map[string]*goPackage
}

// goPackage is what is declared in a directory, tests included.
type goPackage struct {
	declared map[string]bool
	structs  map[string]*ast.StructType
	methods  map[string]map[string]method // by type
	homes    map[string]*source           // the file that declares a type
}

type method struct {
	decl *ast.FuncDecl
	in   *source
}

// apiType is a type of the project.
type apiType struct{ dir, name string }

// add takes in a file; false for one that cannot be parsed.
func (c *code) add(name string, src []byte) bool {
	s := parseSource(name, src)
	if s == nil {
		return false
	}
	c.sources = append(c.sources, s)
	p := c.packages[path.Dir(name)]
	if p == nil {
		p = &goPackage{map[string]bool{}, map[string]*ast.StructType{}, map[string]map[string]method{}, map[string]*source{}}
		c.packages[path.Dir(name)] = p
	}
	for _, d := range s.tree.Decls {
		p.declare(d, s)
	}
	return true
}

func (p *goPackage) declare(d ast.Decl, in *source) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) != 1 {
			p.declared[d.Name.Name] = true
			return
		}
		of := receiver(d.Recv.List[0].Type)
		if p.methods[of] == nil {
			p.methods[of] = map[string]method{}
		}
		p.methods[of][d.Name.Name] = method{d, in}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					p.declared[id.Name] = true
				}
			case *ast.TypeSpec:
				p.declared[spec.Name.Name] = true
				p.homes[spec.Name.Name] = in
				if st, ok := spec.Type.(*ast.StructType); ok {
					p.structs[spec.Name.Name] = st
				}
			}
		}
	}
}

// declared are the names that the package of a file has.
func (c *code) declared(s *source) map[string]bool { return c.packages[path.Dir(s.name)].declared }

// named is the type of the project that an expression in a file names, and what
// the file has to put before the names of that package.
func (c *code) named(s *source, e ast.Expr) (t apiType, qualifier string, ok bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.named(s, e.X)
	case *ast.StarExpr:
		return c.named(s, e.X)
	case *ast.Ident:
		t = apiType{path.Dir(s.name), e.Name}
	case *ast.SelectorExpr:
		id, isName := e.X.(*ast.Ident)
		if !isName {
			return t, "", false
		}
		dir, within := strings.CutPrefix(s.importPath(id.Name), c.module+"/")
		if !within {
			return t, "", false
		}
		t, qualifier = apiType{dir, e.Sel.Name}, id.Name+"."
	}
	p := c.packages[t.dir]
	return t, qualifier, p != nil && p.homes[t.name] != nil
}

// typeOf is named for the type that a value has or points to, as far as the
// file itself says it.
func (c *code) typeOf(s *source, e ast.Expr) (apiType, string, bool) {
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
		if e.Obj != nil {
			return c.declaredAs(s, e)
		}
	}
	return apiType{}, "", false
}

// declaredAs is typeOf for a parameter, a receiver or a variable.
func (c *code) declaredAs(s *source, id *ast.Ident) (apiType, string, bool) {
	switch d := id.Obj.Decl.(type) {
	case *ast.Field:
		return c.named(s, d.Type)
	case *ast.ValueSpec:
		if d.Type != nil {
			return c.named(s, d.Type)
		}
		for i, name := range d.Names {
			if name.Name == id.Name && i < len(d.Values) {
				return c.typeOf(s, d.Values[i])
			}
		}
	case *ast.AssignStmt:
		for i, left := range d.Lhs {
			if name, ok := left.(*ast.Ident); ok && name.Name == id.Name && len(d.Lhs) == len(d.Rhs) && name.Obj == id.Obj {
				return c.typeOf(s, d.Rhs[i])
			}
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
	if seen[t] {
		return out // a type may embed a pointer to one that embeds it
	}
	seen[t] = true
	p := c.packages[t.dir]
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
		case strings.HasSuffix(m.in.name, "_test.go"):
		case name == webhookadapter.Default && params == 0 && results == 0,
			(name == webhookadapter.ValidateCreate || name == webhookadapter.ValidateDelete) && params == 0 && results > 0,
			name == webhookadapter.ValidateUpdate && params == 1 && results > 0:
			out[name] = results
		}
	}
	return out
}

// home is the file in which the method is, else that of the type itself.
func (c *code) home(t apiType, methods ...string) *source {
	p := c.packages[t.dir]
	for _, name := range methods {
		if m, ok := p.methods[t.name][name]; ok {
			return m.in
		}
	}
	return p.homes[t.name]
}
