package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// code counts the Go files of a tree, those of testdata and of templates left out.
type code struct {
	lines, testLines, comments int
	files, globals             int
	longestFile, longestFunc   string
	longestFileN, longestFuncN int
	directories                map[string]bool
}

func codeFigures(root string) ([]figure, error) {
	c := code{directories: map[string]bool{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "templates" || path != root && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		return c.add(path)
	})
	if err != nil {
		return nil, fmt.Errorf("count the code: %w", err)
	}
	return []figure{
		{"lines of Go without tests", fmt.Sprint(c.lines), "<= 60000"},
		{"lines of tests / lines of Go", fmt.Sprintf("%.2f", float64(c.testLines)/float64(c.lines)), ">= 1.0"},
		{"comment lines", fmt.Sprintf("%.1f %%", 100*float64(c.comments)/float64(c.lines)), "12-18 %"},
		{"files, packages", fmt.Sprintf("%d, %d", c.files, len(c.directories)), ""},
		{"globals that are neither a regexp nor a table", fmt.Sprint(c.globals), "0"},
		{"longest file", fmt.Sprintf("%d lines, %s", c.longestFileN, c.longestFile), "<= 500"},
		{"longest function", fmt.Sprintf("%d lines, %s", c.longestFuncN, c.longestFunc), ""},
	}, nil
}

// add counts one file. Of tests only the lines are counted.
func (c *code) add(path string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n := strings.Count(string(src), "\n")
	if strings.HasSuffix(path, "_test.go") {
		c.testLines += n
		return nil
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, src, parser.ParseComments)
	if err != nil {
		return err
	}
	c.lines += n
	c.files++
	c.directories[filepath.Dir(path)] = true
	if n > c.longestFileN {
		c.longestFileN, c.longestFile = n, path
	}
	span := func(node ast.Node) int { return set.Position(node.End()).Line - set.Position(node.Pos()).Line + 1 }
	for _, g := range f.Comments {
		c.comments += span(g)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if n := span(d); n > c.longestFuncN {
				c.longestFuncN, c.longestFunc = n, path+" "+d.Name.Name
			}
		case *ast.GenDecl:
			c.globals += variables(d)
		}
	}
	return nil
}

// variables counts the package's variables but for compiled regexps, tables,
// embedded files, names for variables of other packages, and assertions that a
// type implements an interface.
func variables(d *ast.GenDecl) int {
	if d.Tok != token.VAR {
		return 0
	}
	n := 0
	for _, s := range d.Specs {
		spec := s.(*ast.ValueSpec)
		filled := isFilled(spec.Doc) || isFilled(d.Doc)
		for i, name := range spec.Names {
			if name.Name == "_" || filled || i < len(spec.Values) && constant(spec.Values[i]) {
				continue
			}
			n++
		}
	}
	return n
}

// isFilled says whether the compiler or the linker gives a variable its content.
func isFilled(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed") || strings.HasPrefix(c.Text, "//go:linkname")
	})
}

// constant says whether nothing changes the value: a composite literal, a
// regexp, an error, or the result of a call on such.
func constant(value ast.Expr) bool {
	switch v := value.(type) {
	case *ast.CompositeLit, *ast.CallExpr:
		return true
	case *ast.UnaryExpr:
		return constant(v.X)
	}
	return false
}
