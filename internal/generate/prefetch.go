package generate

import (
	"go/ast"
	"go/parser"
	"os"
	"strconv"
	"sync"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// prefetch parses the dependencies whose types the type checker will ask for,
// as fast as can be: without function bodies, and in parallel. It is there for
// speed only; what it leaves out the loader parses itself.
func prefetch(src *sources, roots []*loader.Package, filters []loader.NodeFilter) {
	seen := map[*loader.Package]bool{}
	next := roots
	for len(next) > 0 {
		var wave []*loader.Package
		for _, p := range next {
			if !seen[p] {
				seen[p] = true
				wave = append(wave, p)
			}
		}
		found := make([][]*loader.Package, len(wave))
		var wg sync.WaitGroup
		for i, p := range wave {
			wg.Go(func() {
				if p.Syntax == nil {
					p.Syntax = parseStripped(src, p.CompiledGoFiles)
				}
				found[i] = referenced(p, filters)
			})
		}
		wg.Wait()
		next = nil
		for _, f := range found {
			next = append(next, f...)
		}
	}
}

// parseStripped returns the syntax of all files, or nil if one has an error,
// which the loader then reports.
func parseStripped(src *sources, files []string) []*ast.File {
	out := make([]*ast.File, 0, len(files))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil
		}
		const mode = parser.ParseComments | parser.SkipObjectResolution
		f, err := parser.ParseFile(src.fset, name, stripBodies(data), mode)
		if err != nil {
			return nil
		}
		out = append(out, f)
	}
	return out
}

// referenced are the packages that the types of p refer to, as far as one of
// the filters lets through.
func referenced(p *loader.Package, filters []loader.NodeFilter) []*loader.Package {
	var out []*loader.Package
	for _, f := range p.Syntax {
		byName := map[string]*loader.Package{}
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			imported := p.Imports()[path]
			switch {
			case err != nil || imported == nil:
			case spec.Name == nil:
				byName[imported.Name] = imported
			case spec.Name.Name == ".":
				out = append(out, imported)
			default:
				byName[spec.Name.Name] = imported
			}
		}
		for _, name := range selectedFrom(f, filters) {
			if imported := byName[name]; imported != nil {
				out = append(out, imported)
			}
		}
	}
	return out
}

// selectedFrom names the packages, as the file calls them, that its type
// declarations select from.
func selectedFrom(f *ast.File, filters []loader.NodeFilter) []string {
	var out []string
	visit := func(n ast.Node) bool {
		if n == nil || !passes(n, filters) {
			return false
		}
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				out = append(out, x.Name)
			}
		}
		return true
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					ast.Inspect(t.Type, visit)
				}
			}
		}
	}
	return out
}

func passes(n ast.Node, filters []loader.NodeFilter) bool {
	for _, f := range filters {
		if f(n) {
			return true
		}
	}
	return false
}
