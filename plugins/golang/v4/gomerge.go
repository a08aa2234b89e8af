package v4

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// parseGo reads a Go file. A syntax error names file, line and column.
func parseGo(name, text string) (*goedit.File, error) {
	f, err := goedit.Parse(name, []byte(text))
	if err != nil {
		return nil, usage("repair it and run the command again", "%w", err)
	}
	return f, nil
}

// edited makes the edits of a file, and returns it as gofmt has it.
func edited(f *goedit.File) (*goedit.File, error) {
	text, err := f.Apply()
	if err != nil {
		return nil, err
	}
	if text, err = format.Source(text); err != nil {
		return nil, fmt.Errorf("formatting %s: %w", f.Name, err)
	}
	return parseGo(f.Name, string(text))
}

// mergeGo adds to a Go file what another one declares and imports, unless the
// file's package declares it already: taken reports that of a name. No line of the
// file is lost. repo is the project's module, whose imports stand apart. The
// code goes before the first declaration of one of the names in before, or to
// the end.
func mergeGo(into, from *goedit.File, taken func(name string) bool, repo string, before ...string) (*goedit.File, error) {
	var code strings.Builder
	used := map[string]bool{} // names of packages in what is added
	end := from.Tree.Name.End()
	for _, decl := range from.Tree.Decls {
		start := end
		end = decl.End()
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.IMPORT {
			continue
		}
		if slices.ContainsFunc(goedit.DeclaredNames(decl), taken) {
			continue
		}
		code.WriteString("\n" + strings.TrimSpace(from.Between(start, end)) + "\n")
		for selector := range goedit.Each[*ast.SelectorExpr](decl) {
			if ident, ok := selector.X.(*ast.Ident); ok {
				used[ident.Name] = true
			}
		}
	}
	if code.Len() == 0 {
		return into, nil
	}
	into.Module = repo
	for _, spec := range from.Tree.Imports {
		if used[goedit.LocalName(spec)] {
			if err := addImport(into, spec); err != nil {
				return nil, err
			}
		}
	}
	insertCode(into, code.String(), before)
	return edited(into)
}

// insertCode inserts declarations before the first of a name in before, or at
// the end.
func insertCode(f *goedit.File, code string, before []string) {
	end := f.Tree.Name.End()
	for _, decl := range f.Tree.Decls {
		if slices.ContainsFunc(goedit.DeclaredNames(decl), func(n string) bool { return slices.Contains(before, n) }) {
			if comment := strings.IndexByte(f.Between(end, f.Tree.FileEnd), '\n'); comment >= 0 {
				end += token.Pos(comment) + 1
			}
			f.Insert(end, code)
			return
		}
		end = decl.End()
	}
	f.Append(code)
}

// addImport adds an import to a file, beside those of its kind, unless the file has
// it. A file without a list of imports gets one.
func addImport(f *goedit.File, spec *ast.ImportSpec) error {
	importPath, name := goedit.PathOf(spec), goedit.LocalName(spec)
	switch other := f.ImportPath(name); {
	case other == importPath:
		return nil
	case other != "":
		return usage("rename the import there and run the command again", "%s: %s is the name of another import than %s", f.Name, name, importPath)
	}
	if !slices.ContainsFunc(f.Tree.Decls, func(d ast.Decl) bool {
		gen, ok := d.(*ast.GenDecl)
		return ok && gen.Tok == token.IMPORT && gen.Lparen.IsValid()
	}) && !f.Edited() {
		f.Insert(f.Tree.Name.End(), "\n\nimport (\n)\n")
	}
	f.AddImport(importPath, name)
	return nil
}

// addToChain puts calls before the last call of a chain in a function:
// Complete() of the builder of a webhook. Calls of methods that the chain has
// are left out.
func addToChain(f *goedit.File, function, last string, calls []chainCall) (*goedit.File, error) {
	for _, call := range calls {
		methods := findChain(f.Tree, function)
		at := methods[last]
		if !at.IsValid() {
			return nil, usage("add it to the builder there by hand:\n."+call.text, "%s: found no call of %s in %s", f.Name, last, function)
		}
		if methods[call.method].IsValid() || methods[strings.Replace(call.method, "With", "WithCustom", 1)].IsValid() {
			continue
		}
		if other := methods[call.before]; other.IsValid() {
			at = other
		}
		var err error
		f.Insert(at, call.text+".\n")
		if f, err = edited(f); err != nil {
			return nil, err
		}
	}
	return edited(f)
}

// chainCall is a call of a method, such as WithDefaulter(&MemcachedDefaulter{}),
// and the method that it goes before, if that is called.
type chainCall struct{ method, text, before string }

// findChain returns where a function names which methods.
func findChain(tree *ast.File, function string) map[string]token.Pos {
	methods := map[string]token.Pos{}
	for _, decl := range tree.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name != function || f.Body == nil {
			continue
		}
		for selector := range goedit.Each[*ast.SelectorExpr](f.Body) {
			methods[selector.Sel.Name] = selector.Sel.Pos()
		}
	}
	return methods
}
