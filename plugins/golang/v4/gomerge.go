package v4

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// goText is a Go file as text together with its syntax tree. An edit parses it
// anew, so that positions are always those of the text.
type goText struct {
	name, text string
	files      *token.FileSet
	tree       *ast.File
}

// parseGo reads a Go file. A syntax error names file, line and column.
func parseGo(name, text string) (*goText, error) {
	g := &goText{name: name, text: text, files: token.NewFileSet()}
	var err error
	if g.tree, err = parser.ParseFile(g.files, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, syntaxError(err)
	}
	return g, nil
}

// offset is the place of pos in the text.
func (g *goText) offset(pos token.Pos) int { return g.files.Position(pos).Offset }

// insert puts text before an offset and parses the result.
func (g *goText) insert(offset int, text string) (*goText, error) {
	return parseGo(g.name, g.text[:offset]+text+g.text[offset:])
}

// declaredNames returns what a declaration declares: functions by their name,
// methods as Type.Method.
func declaredNames(decl ast.Decl) []string {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil || len(decl.Recv.List) == 0 {
			return []string{decl.Name.Name}
		}
		return []string{typeName(decl.Recv.List[0].Type) + "." + decl.Name.Name}
	case *ast.GenDecl:
		var names []string
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					names = append(names, n.Name)
				}
			}
		}
		return names
	}
	return nil
}

// typeName is the name of a type, or of the type that it points to, without
// its package. It is empty for types without a name.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// mergeGo adds to a Go file what another one declares and imports, unless the
// file's package, whose names are in taken, has it already. No line of the
// file is lost. repo is the project's module, whose imports stand apart. The
// code goes before the first declaration of one of the names in before, or to
// the end.
func mergeGo(into, from *goText, taken map[string]bool, repo string, before ...string) (*goText, error) {
	var code strings.Builder
	used := map[string]bool{} // names of packages in what is added
	end := from.tree.Name.End()
	for _, decl := range from.tree.Decls {
		start := end
		end = decl.End()
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.IMPORT {
			continue
		}
		if slices.ContainsFunc(declaredNames(decl), func(n string) bool { return taken[n] }) {
			continue
		}
		code.WriteString("\n" + strings.TrimSpace(from.text[from.offset(start):from.offset(end)]) + "\n")
		ast.Inspect(decl, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if ident, ok := selector.X.(*ast.Ident); ok {
					used[ident.Name] = true
				}
			}
			return true
		})
	}
	if code.Len() == 0 {
		return into, nil
	}
	into, err := into.insertCode(code.String(), before)
	if err != nil {
		return nil, err
	}
	for _, spec := range from.tree.Imports {
		importPath, name, err := importOf(spec)
		if err != nil {
			return nil, err
		}
		if !used[name] {
			continue
		}
		if into, err = addImport(into, spec, importPath, name, repo); err != nil {
			return nil, err
		}
	}
	return into.formatted()
}

// insertCode inserts declarations before the first of a name in before, or at
// the end.
func (g *goText) insertCode(code string, before []string) (*goText, error) {
	end := g.tree.Name.End()
	for _, decl := range g.tree.Decls {
		if slices.ContainsFunc(declaredNames(decl), func(n string) bool { return slices.Contains(before, n) }) {
			at := g.offset(end)
			if newline := strings.IndexByte(g.text[at:], '\n'); newline >= 0 {
				at += newline + 1 // behind a comment on that line
			}
			return g.insert(at, code)
		}
		end = decl.End()
	}
	return parseGo(g.name, strings.TrimRight(g.text, "\n")+"\n"+code)
}

// importOf returns what is imported, and under which name.
func importOf(spec *ast.ImportSpec) (importPath, name string, err error) {
	importPath, err = strconv.Unquote(spec.Path.Value)
	if spec.Name != nil {
		return importPath, spec.Name.Name, err
	}
	return importPath, path.Base(importPath), err
}

// addImport adds an import, beside those of its kind, unless the file has it.
func addImport(g *goText, spec *ast.ImportSpec, importPath, alias, repo string) (*goText, error) {
	name, line := importName(g.tree, importPath, alias)
	switch {
	case line == "" && name == alias:
		return g, nil
	case name != alias && line != "":
		return nil, usage("rename the import there and run the command again", "%s: %s is the name of another import than %s", g.name, alias, importPath)
	}
	if spec.Name != nil {
		line = alias + " " + spec.Path.Value
	} else {
		line = spec.Path.Value
	}
	return g.insertImport(line, importPath, repo)
}

// insertImport puts an import line behind the last import of the same kind:
// the standard library's, the project's own, or those of other modules.
func (g *goText) insertImport(line, importPath, repo string) (*goText, error) {
	const standard, others, own = 0, 1, 2
	kind := func(importPath string) int {
		first, _, _ := strings.Cut(importPath, "/")
		switch {
		case importPath == repo || strings.HasPrefix(importPath, repo+"/"):
			return own
		case strings.Contains(first, "."):
			return others
		}
		return standard
	}
	var block *ast.GenDecl
	for _, decl := range g.tree.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.IMPORT && gen.Lparen.IsValid() {
			block = gen
			break
		}
	}
	if block == nil {
		return g.insert(g.offset(g.tree.Name.End()), "\n\nimport (\n\t"+line+"\n)\n")
	}
	var behind ast.Node // the last import of this kind, or else of a kind before it
	same := false
	for _, spec := range block.Specs {
		spec, ok := spec.(*ast.ImportSpec)
		if !ok {
			continue
		}
		existing, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err // the parser has checked it
		}
		switch {
		case kind(existing) == kind(importPath):
			behind, same = spec, true
		case kind(existing) < kind(importPath) && !same:
			behind = spec
		}
	}
	switch {
	case same:
		return g.insert(g.offset(behind.End()), "\n\t"+line)
	case behind != nil:
		return g.insert(g.offset(behind.End()), "\n\n\t"+line)
	default:
		return g.insert(g.offset(block.Lparen)+1, "\n\t"+line+"\n")
	}
}

// formatted is the file as gofmt has it.
func (g *goText) formatted() (*goText, error) {
	text, err := format.Source([]byte(g.text))
	if err != nil {
		return nil, fmt.Errorf("formatting %s: %w", g.name, err)
	}
	return parseGo(g.name, string(text))
}

// addToChain puts calls before the last call of a chain in a function:
// Complete() of the builder of a webhook. Calls of methods that the chain has
// are left out.
func addToChain(g *goText, function, last string, calls []chainCall) (*goText, error) {
	for _, call := range calls {
		methods := findChain(g.tree, function)
		at := methods[last]
		if !at.IsValid() {
			return nil, usage("add it to the builder there by hand:\n."+call.text, "%s: found no call of %s in %s", g.name, last, function)
		}
		if methods[call.method].IsValid() || methods[strings.Replace(call.method, "With", "WithCustom", 1)].IsValid() {
			continue
		}
		if other := methods[call.before]; other.IsValid() {
			at = other
		}
		var err error
		if g, err = g.insert(g.offset(at), call.text+".\n"); err != nil {
			return nil, err
		}
	}
	return g.formatted()
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
		ast.Inspect(f.Body, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			methods[selector.Sel.Name] = selector.Sel.Pos()
			return true
		})
	}
	return methods
}
