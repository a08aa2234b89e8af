package relayout

import (
	"bytes"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// goPackage is a package of the project: the tests of a directory may be in another one.
type goPackage struct{ dir, name string }

// gone are the names that the scaffold declares no longer.
func (c *carrier) gone() (map[goPackage]map[string]bool, error) {
	out := map[goPackage]map[string]bool{}
	for _, side := range []struct {
		files, others map[string][]byte
		gone          bool
	}{{c.Before, c.After, true}, {c.After, c.Before, false}} {
		for name, src := range side.files {
			if path.Ext(name) != ".go" || bytes.Equal(src, side.others[name]) {
				continue
			}
			f, err := goedit.Parse(name, src)
			if err != nil {
				return nil, err
			}
			p := goPackage{path.Dir(name), f.Tree.Name.Name}
			if out[p] == nil {
				out[p] = map[string]bool{}
			}
			for _, d := range f.Tree.Decls {
				for _, declared := range goedit.DeclaredNames(d) {
					if out[p][declared] = true; !side.gone || declared == "_" || declared == "init" {
						delete(out[p], declared)
					}
				}
			}
		}
	}
	maps.DeleteFunc(out, func(_ goPackage, names map[string]bool) bool { return len(names) == 0 })
	return out, nil
}

// needed looks for code of the user's that declares, or uses, what the scaffold declares
// no longer. Of a file that is told of already, it tells nothing more.
func (c *carrier) needed() error {
	if len(c.Moves) > 0 {
		return nil // what goes comes back elsewhere
	}
	gone, err := c.gone()
	if err != nil || len(gone) == 0 {
		return err
	}
	told := map[string]bool{}
	for _, p := range c.problems {
		told[p.Path] = true
	}
	return c.tree.EachGo(func(name string, src []byte) error {
		if told[name] || bytes.Equal(src, c.After[name]) {
			return nil
		}
		f, err := goedit.Parse(name, src)
		if err != nil || ast.IsGenerated(f.Tree) {
			return nil //nolint:nilerr // nothing can be told of it, and the generators name the error
		}
		if what, at := c.firstNeed(f, gone); what != "" {
			c.problems = append(c.problems, Problem{name, c.ownLine(name, src, f.Line(at)), 0, what, true})
		}
		return nil
	})
}

// ownLine is where the user's file has a line of what it becomes, which is not written
// when he is told of it.
func (c *carrier) ownLine(name string, src []byte, line int) int {
	lines := func(text []byte) []string { return strings.Split(string(text), "\n") }
	written := lines(src)
	if c.mine[name] == nil || c.Force || line > len(written) { // of a //line directive
		return line
	}
	if own := slices.Index(lines(c.mine[name]), written[line-1]); own >= 0 {
		return own + 1
	}
	return line
}

// firstNeed is the first place in a file that needs, or is, something that goes.
func (c *carrier) firstNeed(f *goedit.File, gone map[goPackage]map[string]bool) (what string, at token.Pos) {
	note := func(verb, name string, pos token.Pos) {
		if what == "" || pos < at {
			what, at = verb+" "+name+", which will be removed", pos
		}
	}
	own := gone[goPackage{path.Dir(f.Name), f.Tree.Name.Name}]
	for _, d := range f.Tree.Decls {
		for _, name := range goedit.DeclaredNames(d) {
			if own[name] {
				note("declares", name, d.Pos())
			}
		}
	}
	imported := c.importedGone(f, gone)
	outside := map[*ast.Ident]bool{} // of the file, types and packages among them
	for _, id := range f.Tree.Unresolved {
		if outside[id] = true; own[id.Name] {
			note("uses", id.Name, id.Pos())
		}
	}
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := s.X.(*ast.Ident); ok && outside[pkg] && imported[pkg.Name][s.Sel.Name] {
				note("uses", pkg.Name+"."+s.Sel.Name, s.Pos())
			}
		}
		return true
	})
	return what, at
}

// importedGone are the names that go from packages, by the names of their imports. Those
// of the scaffold have left a file of its own already.
func (c *carrier) importedGone(f *goedit.File, gone map[goPackage]map[string]bool) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	specs := f.Tree.Imports
	if before, err := goedit.Parse(f.Name, c.Before[f.Name]); err == nil {
		specs = slices.Concat(specs, slices.DeleteFunc(before.Tree.Imports, func(spec *ast.ImportSpec) bool {
			return f.ImportPath(goedit.LocalName(spec)) != "" // another package has the name now
		}))
	}
	for _, spec := range specs {
		for p, names := range gone {
			if goedit.PathOf(spec) != c.Module+"/"+p.dir || strings.HasSuffix(p.name, "_test") {
				continue
			}
			alias := p.name
			if spec.Name != nil {
				alias = spec.Name.Name
			}
			out[alias] = names
		}
	}
	return out
}
