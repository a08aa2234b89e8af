package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
)

// correction is what an error of the compiler, with the types that it names,
// shows to be the change that its place needs.
type correction struct {
	error *regexp.Regexp
	make  func(f *goFile, at ast.Expr, m []string)
}

var corrections = []correction{
	{regexp.MustCompile(`^cannot use .*"k8s\.io/api/core/v1"\.(?:Volume)?ResourceRequirements\) as "k8s\.io/api/core/v1"\.((?:Volume)?ResourceRequirements) value`), retypeResources},
	{regexp.MustCompile(`^cannot use .*(?:untyped (?:string|int) constant).* as \*(?:"([^"]+)"\.)?(\w+) value`), pointTo},
	{regexp.MustCompile(`"k8s\.io/api/core/v1"\.Probe has no field or method Handler\b`), func(f *goFile, at ast.Expr, _ []string) { f.rename(at, "ProbeHandler") }},
	{regexp.MustCompile(`^invalid operation: cannot receive from non-channel .* interface type context\.Context\)`), func(f *goFile, at ast.Expr, _ []string) { f.insert(at.End(), ".Done()") }},
	{regexp.MustCompile(`"k8s\.io/[\w/.-]+"\.\w+ has no field or method ClusterName\b`), readNothing},
}

// Corrected is the text of a file with the places changed whose errors leave no
// doubt about what they have to be.
func Corrected(name string, src []byte, problems []Problem) ([]byte, error) {
	done := false // the places are those of the text as it was
	return transform(name, src, func(f *goFile) {
		for _, p := range problems {
			for _, c := range corrections {
				m := c.error.FindStringSubmatch(p.Text)
				if m == nil || done || p.Line < 1 {
					continue
				}
				if at := f.expressionAt(p.Line, p.Column); at != nil {
					c.make(f, at, m)
				}
			}
		}
		done = true
	})
}

// expressionAt is the outermost expression that begins at a place, or the
// selector whose selected name does; nil without one.
func (f *goFile) expressionAt(line, column int) ast.Expr {
	file := f.fset.File(f.tree.FileStart)
	if line > file.LineCount() {
		return nil
	}
	at := file.LineStart(line) + token.Pos(column-1)
	var found ast.Expr
	ast.Inspect(f.tree, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		sel, selects := n.(*ast.SelectorExpr)
		switch _, pair := n.(*ast.KeyValueExpr); {
		case n == nil || found != nil || !ok || pair:
		case e.Pos() == at, selects && sel.Sel.Pos() == at:
			found = e
		}
		return found == nil
	})
	return found
}

// rename gives what a selector selects another name.
func (f *goFile) rename(at ast.Expr, name string) {
	if sel, ok := at.(*ast.SelectorExpr); ok {
		f.replace(sel.Sel, name)
	}
}

// retypeResources makes the resources of a container those of a volume claim,
// or the other way round. They have the same limits and requests.
func retypeResources(f *goFile, at ast.Expr, m []string) {
	switch e := at.(type) {
	case *ast.CompositeLit:
		if valueOf(e, "Claims") == nil && e.Type != nil {
			f.rename(e.Type, m[1])
		}
	case *ast.Ident, *ast.SelectorExpr:
		if pkg := f.importName(coreV1); isName(pkg) {
			f.replace(e, fmt.Sprintf("%s.%s{Limits: %[3]s.Limits, Requests: %[3]s.Requests}", pkg, m[1], f.text(e)))
		}
	}
}

// pointTo makes a constant a pointer to a value of the type that is wanted.
func pointTo(f *goFile, at ast.Expr, m []string) {
	name := m[2]
	if m[1] != "" {
		pkg := f.importName(m[1])
		if !isName(pkg) {
			return
		}
		name = pkg + "." + name
	}
	f.replace(at, fmt.Sprintf("new(%s(%s))", name, f.text(at)))
}

// readNothing puts what ClusterName always was in the place of reading it.
func readNothing(f *goFile, at ast.Expr, _ []string) {
	written := false
	ast.Inspect(f.tree, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		written = written || ok && slices.Contains(a.Lhs, at)
		return true
	})
	if !written {
		f.replace(at, `""`)
	}
}
