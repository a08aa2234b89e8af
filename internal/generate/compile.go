package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// CompileError is an error of the compiler, with its place in the project.
type CompileError struct {
	File         string // relative to the project
	Line, Column int    // 0 where there is none
	Text         string
}

// Compile checks all packages of a project and their tests as the compiler does,
// and returns all that it has to say of them, by place. The error is one of
// asking the go command.
func Compile(ctx context.Context, dir string, environ []string) ([]CompileError, error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule
	list, err := packages.Load(&packages.Config{Context: ctx, Dir: dir, Env: environ, Mode: mode, Tests: true}, "./...")
	if err != nil {
		return nil, &loadError{err}
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	var found []CompileError
	for _, p := range list {
		for _, e := range errorsOf(p, list) {
			if !strings.HasPrefix(e.Msg, "\t") && !strings.HasPrefix(e.Msg, "# ") { // of the error before; all errors of a package in one
				found = append(found, compileError(dir, e))
			}
		}
	}
	found = append(found, brokenModules(list)...)
	slices.SortFunc(found, func(a, b CompileError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(found), nil // tests are compiled with their package
}

// errorsOf are the errors in a package. Where no module has a package, but
// several import it, go/packages may take the file that is named in the error for
// its own, and give it the name of the wrong package. The importers are checked
// again without it.
func errorsOf(p *packages.Package, roots []*packages.Package) []packages.Error {
	missing := func(q *packages.Package) bool {
		return len(q.Errors) > 0 && q.Errors[0].Kind == packages.ListError && q.Module == nil && !slices.Contains(roots, q)
	}
	if p.TypesInfo == nil || !slices.ContainsFunc(slices.Collect(maps.Values(p.Imports)), missing) {
		return p.Errors
	}
	found := slices.DeleteFunc(slices.Clone(p.Errors), func(e packages.Error) bool { return e.Kind == packages.TypeError })
	check := types.Config{
		Sizes: p.TypesSizes,
		Importer: importer(func(path string) (*types.Package, error) {
			switch q := p.Imports[path]; {
			case path == "unsafe":
				return types.Unsafe, nil
			case q == nil || missing(q):
				return nil, errors.New(`invalid package name: ""`)
			default:
				return q.Types, nil
			}
		}),
		Error: func(err error) {
			if e, ok := errors.AsType[types.Error](err); ok {
				found = append(found, packages.Error{Pos: e.Fset.Position(e.Pos).String(), Msg: e.Msg, Kind: packages.TypeError})
			}
		},
	}
	_, _ = check.Check(p.PkgPath, p.Fset, p.Syntax, nil) // Error has them all
	return found
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }

// brokenModules has for each other module that does not compile with the versions
// in go.mod what the compiler says first. A missing import of one is not among
// them: 'go mod tidy' says that.
func brokenModules(list []*packages.Package) []CompileError {
	var found []CompileError
	said := map[string]bool{}
	packages.Visit(list, nil, func(p *packages.Package) {
		if p.Module == nil || p.Module.Main || p.Module.Version == "" || said[p.Module.Path] {
			return
		}
		for _, e := range p.Errors {
			if output, ok := strings.CutPrefix(e.Msg, "# "+p.PkgPath+"\n"); ok {
				first, _, _ := strings.Cut(output, "\n")
				at, text, _ := strings.Cut(first, ": ")
				said[p.Module.Path] = true
				found = append(found, CompileError{File: "go.mod", Text: fmt.Sprintf("%s %s does not compile with the versions of other modules: %s: %s", p.Module.Path, p.Module.Version, filepath.Base(at), text)})
			}
		}
	})
	return found
}

func compileError(dir string, e packages.Error) CompileError {
	pos := position(e.Pos)
	c := CompileError{File: filepath.ToSlash(pos.Filename), Line: pos.Line, Column: pos.Column, Text: strings.Join(strings.Fields(e.Msg), " ")}
	if rest, ok := strings.CutPrefix(c.Text, "could not import "); ok && strings.HasSuffix(rest, `(invalid package name: "")`) {
		name, _, _ := strings.Cut(rest, " ")
		c.Text = "no module in go.mod has the package " + name
	}
	name := pos.Filename
	if real, err := filepath.EvalSymlinks(name); err == nil && filepath.IsAbs(name) {
		name = real
	}
	if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsAbs(name) && filepath.IsLocal(rel) {
		c.File = filepath.ToSlash(rel)
	}
	return c
}
