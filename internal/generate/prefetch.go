package generate

import (
	"errors"
	"go/ast"
	"go/parser"
	"os"
	"slices"
	"sync"

	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// references are the packages whose types each package's types refer to.
type references map[*loader.Package][]*loader.Package

// prefetch parses the dependencies whose types the type checker will ask for,
// as fast as can be: without function bodies, and in parallel. What it leaves
// out the loader parses itself, so it decides about time, not about results.
func prefetch(src *sources, roots []*loader.Package, filters []loader.NodeFilter) references {
	refs := references{}
	for next := roots; len(next) > 0; {
		var wave []*loader.Package
		for _, p := range next {
			if _, seen := refs[p]; !seen {
				refs[p] = nil
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
		for i, p := range wave {
			refs[p] = found[i]
			next = append(next, found[i]...)
		}
	}
	return refs
}

// checkTypes type-checks the packages, each after those it refers to. The
// loader would do so too, but in goroutines where a panic of the type checker
// cannot be recovered from.
func checkTypes(refs references, env goEnv) error {
	for _, level := range refs.levels() {
		errs := make([]error, len(level))
		var wg sync.WaitGroup
		for i, p := range level {
			wg.Go(func() {
				defer recoverAs(&errs[i], "type-check "+p.PkgPath, env)
				p.Lock()
				defer p.Unlock()
				p.NeedTypesInfo()
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// levels puts every package into a level above those it refers to.
func (r references) levels() [][]*loader.Package {
	height := map[*loader.Package]int{}
	var measure func(*loader.Package) int
	measure = func(p *loader.Package) int {
		if h, done := height[p]; done {
			return h
		}
		height[p] = 0 // ends the walk in an import cycle, which go list reports
		h := 0
		for _, to := range r[p] {
			h = max(h, measure(to)+1)
		}
		height[p] = h
		return h
	}
	var out [][]*loader.Package
	for p := range r {
		for h := measure(p); len(out) <= h; {
			out = append(out, nil)
		}
		out[height[p]] = append(out[height[p]], p)
	}
	return out
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
		imports := importsOf(p, f)
		for _, name := range append(selectedFrom(f, filters), ".") {
			out = append(out, imports[name]...)
		}
	}
	return out
}

// importsOf are the packages that a file imports, by the names that it has for
// them. Only the dot can stand for several.
func importsOf(p *loader.Package, f *ast.File) map[string][]*loader.Package {
	out := map[string][]*loader.Package{}
	for _, spec := range f.Imports {
		if imported := p.Imports()[goedit.PathOf(spec)]; imported != nil {
			name := imported.Name
			if spec.Name != nil {
				name = spec.Name.Name
			}
			out[name] = append(out[name], imported)
		}
	}
	return out
}

// selectedFrom names the packages, as the file calls them, that its type declarations select from.
func selectedFrom(f *ast.File, filters []loader.NodeFilter) []string {
	var out []string
	visit := func(n ast.Node) bool {
		// What one of the filters finds worth following, as in the loader's type checker.
		if n == nil || !slices.ContainsFunc(filters, func(follow loader.NodeFilter) bool { return follow(n) }) {
			return false
		}
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				out = append(out, x.Name)
			}
		}
		return true
	}
	for _, t := range goedit.Types(f) {
		ast.Inspect(t.Type, visit)
	}
	return out
}
