package generate

import (
	"cmp"
	"context"
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
		packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo
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
		for _, e := range p.Errors {
			if !strings.HasPrefix(e.Msg, "\t") && !strings.HasPrefix(e.Msg, "# ") { // of the error before; all errors of a package in one
				found = append(found, compileError(dir, e))
			}
		}
	}
	slices.SortFunc(found, func(a, b CompileError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(found), nil // tests are compiled with their package
}

// compileError is an error of the go command's or the compiler's.
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
