package hosttest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
)

// TypeChecker type-checks projects in memory. What they import of other modules
// it reads as the compiler has left it in the go command's cache. It is not for
// concurrent use.
type TypeChecker struct {
	set    *token.FileSet
	others types.Importer
}

// NewTypeChecker is a checker of projects that import these packages, or such as
// these import. They are looked up from the directory dir of a module that
// requires them; env is the go command's environment, nil for that of the test.
func NewTypeChecker(dir string, env, imports []string) (*TypeChecker, error) {
	list := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, imports...)...)
	said := &bytes.Buffer{}
	list.Dir, list.Env, list.Stderr = dir, env, said
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, said)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		pkg, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[pkg] = file
	}
	set := token.NewFileSet()
	return &TypeChecker{set: set, others: importer.ForCompiler(set, "gc", func(pkg string) (io.ReadCloser, error) {
		data, err := os.ReadFile(exports[pkg])
		return io.NopCloser(bytes.NewReader(data)), err
	})}, nil
}

// GoImports are the packages of other modules that the Go files of a project
// import, tests and files of any build tag included. Files are by their
// slash-separated paths.
func GoImports(module string, files map[string]string) ([]string, error) {
	imports := map[string]bool{}
	for name, text := range files {
		if path.Ext(name) != ".go" {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range tree.Imports {
			if pkg, err := strconv.Unquote(spec.Path.Value); err == nil && pkg != module && !strings.HasPrefix(pkg, module+"/") {
				imports[pkg] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(imports)), nil
}

// Check checks all packages of a project, each together with its tests, and
// returns how many there are.
func (c *TypeChecker) Check(module string, files map[string]string) (int, error) {
	p := &checkedProject{c: c, trees: map[string][]*ast.File{}, checked: map[string]*types.Package{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".go" {
			continue
		}
		tree, err := parser.ParseFile(c.set, name, files[name], parser.SkipObjectResolution)
		if err != nil {
			return 0, err
		}
		pkg := path.Join(module, path.Dir(name))
		if strings.HasSuffix(name, "_test.go") && strings.HasSuffix(tree.Name.Name, "_test") {
			pkg += "_test"
		}
		p.trees[pkg] = append(p.trees[pkg], tree)
	}
	for pkg := range p.trees {
		if _, err := p.Import(pkg); err != nil {
			p.errs = append(p.errs, fmt.Errorf("%s: %w", pkg, err))
		}
	}
	return len(p.trees), errors.Join(p.errs...)
}

// checkedProject is the project that is being checked.
type checkedProject struct {
	c       *TypeChecker
	trees   map[string][]*ast.File // by import path
	checked map[string]*types.Package
	errs    []error
}

// Import implements types.Importer.
func (p *checkedProject) Import(pkg string) (*types.Package, error) {
	trees, ours := p.trees[pkg]
	if checked := p.checked[pkg]; checked != nil {
		return checked, nil
	}
	if !ours {
		return p.c.others.Import(pkg)
	}
	failed := 0
	config := types.Config{Importer: p, Error: func(err error) {
		if failed++; failed <= 20 {
			p.errs = append(p.errs, err)
		}
	}}
	checked, err := config.Check(pkg, p.c.set, trees, nil)
	p.checked[pkg] = checked
	if failed > 0 {
		return checked, nil // it is said
	}
	return checked, err
}
