package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"io"
	"maps"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/mainpkg"
)

// loaded are packages that the generators can work on.
type loaded struct {
	typed  []*loader.Package          // with what type-checking needs
	byPath map[string]*loader.Package // all of the project by import path; the others have syntax only
}

// load asks the go command for the packages that need types and for what they
// import: one call for each module, which nearly always is one call. Their
// syntax, and that of every other package of the project, is the one that is
// parsed already, so the overlay counts and nothing is parsed twice.
func (w workspace) load(ctx context.Context) (*loaded, error) {
	var modules []*module
	paths := map[*module][]string{}
	for _, j := range w.jobs {
		for _, p := range j.packages(w.src) {
			if !j.needsTypes() || slices.Contains(paths[p.module], p.importPath) {
				continue
			}
			if paths[p.module] == nil {
				modules = append(modules, p.module)
			}
			paths[p.module] = append(paths[p.module], p.importPath)
		}
	}
	out := &loaded{byPath: map[string]*loader.Package{}}
	for _, m := range modules {
		roots, err := loader.LoadRootsWithConfig(&packages.Config{
			Context: ctx, Dir: m.workDir(w.tree), Env: w.Host.Environ(), Fset: w.src.fset, Overlay: w.goOverlay(),
		}, paths[m]...)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, clierr.WithHint(&loadError{err}, cmp.Or(mainpkg.Hint(err.Error()), "check that 'go list ./...' works")+", then run the command again")
		}
		for _, p := range roots {
			out.byPath[p.PkgPath] = p
		}
		out.typed = append(out.typed, roots...)
	}
	for _, p := range withImports(out.typed) {
		if err := w.adopt(p); err != nil {
			return nil, err
		}
		// A package that several modules load would be several packages, with kinds of
		// their own; the loader sees to that for one module only.
		for name := range p.Imports() {
			if root := out.byPath[name]; root != nil {
				p.Imports()[name] = root
			}
		}
	}
	for _, p := range w.src.packages {
		if out.byPath[p.importPath] == nil {
			out.byPath[p.importPath] = syntaxOnly(p)
		}
	}
	return out, nil
}

var progressLine = lazy.Delayed(`(?m)^go: (?:downloading|finding) .*\n?`)

// loadError is an error of the go command, told in the go command's own words.
type loadError struct{ err error }

// Error leaves out what go/packages puts around the go command's message, and how
// far the go command had come.
func (e *loadError) Error() string {
	msg := e.err.Error()
	if _, said, ok := strings.Cut(msg, "stderr: "); ok {
		msg = said
	}
	msg = mainpkg.Head(progressLine.ReplaceAllString(msg, ""))
	return "generate: load packages: " + strings.TrimPrefix(msg, "go: ")
}

// Unwrap gives errors.Is and errors.As the whole error.
func (e *loadError) Unwrap() error { return e.err }

// workDir is where to run the go command for the module: the project's root
// unless the module is nested below it.
func (m *module) workDir(t *tree) string {
	if _, below := t.rel(m.dir); below {
		return m.dir
	}
	return t.root
}

// syntaxOnly makes a package for generators that read markers and no types.
// It has no loader behind it: their collector takes the syntax as it is.
func syntaxOnly(p *sourcePackage) *loader.Package {
	raw := &packages.Package{ID: p.importPath, PkgPath: p.importPath}
	for _, f := range p.files {
		raw.Name = f.ast.Name.Name
		raw.Syntax = append(raw.Syntax, f.ast)
	}
	return &loader.Package{Package: raw}
}

// withImports are the roots and all that they import, each once. It makes the loader
// resolve their imports, which it does on first use and not safely from several
// goroutines: this has to come before those of prefetch.
func withImports(roots []*loader.Package) (all []*loader.Package) {
	seen := map[*loader.Package]bool{}
	for next := slices.Clone(roots); len(next) > 0; next = next[1:] {
		if p := next[0]; !seen[p] {
			seen[p], all = true, append(all, p)
			next = slices.AppendSeq(next, maps.Values(p.Imports()))
		}
	}
	return all
}

// adopt gives a package of the project the syntax that is parsed already. It leaves
// those alone that the project's files have no part in: the loader reads them from
// disk when, and if, it needs them.
func (w workspace) adopt(p *loader.Package) error {
	if !slices.ContainsFunc(p.CompiledGoFiles, w.ours) {
		return nil
	}
	files := make([]*ast.File, 0, len(p.CompiledGoFiles))
	for _, abs := range p.CompiledGoFiles {
		f, err := w.syntax(abs)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	p.Syntax = files
	return nil
}

// ours reports whether a file was parsed by discover or stands in the overlay.
func (w workspace) ours(abs string) bool {
	name, _ := w.rel(abs)
	_, laidOver := w.overlay.Get(name)
	return laidOver || w.src.byPath[abs] != nil
}

// syntax is that of a file: parsed already, or new where discover did not walk,
// such as in a package outside the paths that were asked for.
func (w workspace) syntax(abs string) (*ast.File, error) {
	if f, ok := w.src.byPath[abs]; ok {
		return f.ast, nil
	}
	in, err := w.OpenForRead(abs)
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	data, err := io.ReadAll(in)
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	f, err := parseFile(w.src.fset, abs, data)
	if err != nil {
		return nil, &SourceError{problems: syntaxProblems(w.tree, err)}
	}
	return f, nil
}
