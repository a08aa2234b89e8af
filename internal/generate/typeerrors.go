package generate

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// packageProblems collects the errors that loading and generating left with
// the packages and what they import. If packages are missing, the rest follows
// from that and is left out.
func (w workspace) packageProblems(l *loaded) []problem {
	c := problemCollector{workspace: w}
	for _, p := range withImports(l.typed) {
		c.own(p)
	}
	for _, p := range l.byPath {
		if !slices.Contains(l.typed, p) {
			c.own(p)
		}
	}
	if len(c.missing) > 0 {
		return c.missing
	}
	return c.found
}

// problemCollector walks packages and sorts their errors.
type problemCollector struct {
	workspace
	found []problem
	// missing are those of the go command: modules and packages not there.
	missing []problem
}

// own collects the errors of one package. A type error counts only where it is
// sure: the loader checks types without what they do not need, and without the
// generated code, so that most errors it finds are none.
func (c *problemCollector) own(p *loader.Package) {
	var broken []problem
	for _, e := range p.Errors {
		if e.Kind == packages.TypeError && c.sure(p, e) {
			broken = append(broken, newProblem(c.tree, position(e.Pos), e.Msg))
		}
	}
	c.found = append(c.found, broken...)
	for _, e := range p.Errors {
		if e.Kind == packages.TypeError {
			continue
		}
		found := newProblem(c.tree, position(e.Pos), plain(strings.TrimSpace(e.Msg)))
		if found.file == p.ID { // the package as a whole
			found = c.whole(p, found)
		}
		switch {
		case e.Kind == packages.ListError:
			c.missing = append(c.missing, found)
		case !onSameLine(broken, found): // else the generator stumbled over that type
			c.found = append(c.found, found)
		}
	}
}

// plain says in the user's words what generators say in those of go/ast.
func plain(msg string) string {
	if strings.HasPrefix(msg, "unsupported AST kind *ast.Index") {
		return "a CRD cannot describe an instance of a generic type; declare a type of its own"
	}
	if strings.HasPrefix(msg, "CRD for ") && strings.HasSuffix(msg, " has no storage version") {
		return msg + "; mark the type of one with +kubebuilder:storageversion"
	}
	return msg
}

var (
	// kindError is how the CRD generator names a kind that is wrong as a whole: its
	// name, its group, and what is wrong.
	kindError = lazy.Delayed(`^CRD for ([^.\s]+)\.(\S+) `)
	// placed is file:line:col, file:line, or whatever else go/packages says.
	placed = lazy.Delayed(`(?s)^(.*?)(?::(\d+))?(?::(\d+))?(?::-|^-)?$`)
)

// whole finds a place for an error that has none. One of a kind the generator
// leaves with any of the packages that hold a version of it, a different one
// each time; here it belongs to the type in the first of them.
func (c *problemCollector) whole(p *loader.Package, found problem) problem {
	found.file = c.dir(p)
	m := kindError.FindStringSubmatch(found.msg)
	if m == nil {
		return found
	}
	var at []problem
	for _, s := range c.src.packages {
		if t, _ := s.typeNamed(m[1]); t != nil && s.marked("+groupName="+m[2]) {
			at = append(at, newProblem(c.tree, c.src.fset.Position(t.Name.Pos()), found.msg))
		}
	}
	return append(tidy(at), found)[0]
}

// dir is the directory of the package, or its path where it is not ours.
func (c *problemCollector) dir(p *loader.Package) string {
	for _, s := range c.src.packages {
		if s.importPath == p.PkgPath {
			return s.dir
		}
	}
	return p.ID
}

func onSameLine(ps []problem, q problem) bool {
	return slices.ContainsFunc(ps, func(p problem) bool { return p.file == q.file && p.line == q.line })
}

// position reads a place as go/packages says it.
func position(s string) token.Position {
	m := placed.FindStringSubmatch(s)
	line, _ := strconv.Atoi(m[2]) // 0 where there is none
	column, _ := strconv.Atoi(m[3])
	return token.Position{Filename: m[1], Line: line, Column: column}
}

// sure reports whether a type error is one of the project's code, not of the
// way in which it was checked: it stands in a type declaration and concerns
// neither a package that was not loaded nor a method that is yet to be
// generated.
func (c *problemCollector) sure(p *loader.Package, e packages.Error) bool {
	pos := position(e.Pos)
	f, ours := c.src.byPath[pos.Filename]
	if !ours || strings.HasPrefix(e.Msg, "\t") || strings.Contains(e.Msg, "missing method") {
		return false
	}
	at := c.pos(f.ast, pos)
	return at.IsValid() && inTypeDecl(f.ast, at) && !fromUnloaded(p, f.ast, at, e.Msg)
}

// pos finds the position in the file set again.
func (c *problemCollector) pos(f *ast.File, p token.Position) token.Pos {
	file := c.src.fset.File(f.FileStart)
	if file == nil || p.Line < 1 || p.Line > file.LineCount() {
		return token.NoPos
	}
	return file.LineStart(p.Line) + token.Pos(p.Column-1)
}

func inTypeDecl(f *ast.File, at token.Pos) bool {
	for d := range goedit.Types(f) {
		if d.Pos() <= at && at < d.End() {
			return true
		}
	}
	return false
}

// fromUnloaded reports whether the name at a position is, or may be, one of a
// package whose types were not loaded when it was checked. The type checker
// knows nothing of such an import, so this goes by names. A package that was
// loaded since then, for another one, says itself whether it has the name.
func fromUnloaded(p *loader.Package, f *ast.File, at token.Pos, msg string) bool {
	imports := importsOf(p, f)
	has := func(name, sel string) bool {
		return slices.ContainsFunc(imports[name], func(imported *loader.Package) bool {
			return unloaded(imported) || strings.HasPrefix(msg, "undefined: ") && imported.Types.Scope().Lookup(sel) != nil
		})
	}
	anything := slices.ContainsFunc(imports["."], unloaded) // any name may come from there
	return anything || goedit.Has(f, func(x *ast.SelectorExpr) bool {
		name, ok := x.X.(*ast.Ident)
		return ok && x.Pos() <= at && at < x.End() && has(name.Name, x.Sel.Name)
	})
}

func unloaded(p *loader.Package) bool { return p.Types == nil || !p.Types.Complete() }
