package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// goFile is a Go source of the project with edits to it.
type goFile struct{ *goedit.File }

// pass is one kind of change to one file.
type pass func(*goFile)

// transform makes the passes, one after the other, and removes the imports
// that nothing needs any more. A syntax error names file, line and column.
func transform(name string, src []byte, passes ...pass) ([]byte, error) {
	var list []goedit.Pass
	for _, p := range passes {
		list = append(list, func(f *goedit.File) { p(&goFile{f}) })
	}
	return goedit.Rewrite(name, src, list...)
}

func parseGo(name string, src []byte) (*goFile, error) {
	f, err := goedit.Parse(name, src)
	if err != nil {
		return nil, err
	}
	return &goFile{f}, nil
}

// parse is each of the files that is Go and can be parsed: what is wrong with
// others is told when they are carried over.
func (m *migration) parse(names []string) iter.Seq[*goFile] {
	return func(yield func(*goFile) bool) {
		for _, name := range names {
			if path.Ext(name) != ".go" {
				continue
			}
			if f, err := parseGo(name, m.files[name].data); err == nil && !yield(f) {
				return
			}
		}
	}
}

// ownCode lists the Go files of the project's module, sorted.
func (m *migration) ownCode() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.files)), func(name string) bool {
		return path.Ext(name) != ".go" || strings.HasPrefix(name, "vendor/") || m.ignored(name)
	})
}

// todo puts a marked line above the line of a node, once.
func (f *goFile) todo(n ast.Node, format string, args ...any) {
	f.Comment(n, todoMark+fmt.Sprintf(format, args...))
}

// texts are the sources of expressions.
func (f *goFile) texts(list []ast.Expr) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = f.Text(e)
	}
	return out
}

// isAny is Is for any of several packages with the same member.
func (f *goFile) isAny(e ast.Expr, name string, importPaths ...string) bool {
	return slices.ContainsFunc(importPaths, func(p string) bool { return f.Is(e, p, name) })
}

// calls returns the call of a package's function, nil where e is none.
func (f *goFile) calls(e ast.Expr, importPath, name string) *ast.CallExpr {
	if call, ok := e.(*ast.CallExpr); ok && f.Is(call.Fun, importPath, name) {
		return call
	}
	return nil
}

// comments are the comments between two positions, each line with its end.
func (f *goFile) comments(from, to token.Pos) string {
	out := ""
	for _, group := range f.Tree.Comments {
		if group.Pos() > from && group.End() <= to {
			out += f.Text(group) + "\n"
		}
	}
	return out
}

// squeeze takes out white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// isNamed says whether an expression is a name, one of several.
func isNamed(e ast.Expr, names ...string) bool {
	id, ok := e.(*ast.Ident)
	return ok && slices.Contains(names, id.Name)
}

// returns are the statements in a node that return from the function that it
// is in, and not from one in it.
func returns(n ast.Node) iter.Seq[*ast.ReturnStmt] {
	return func(yield func(*ast.ReturnStmt) bool) {
		going := true
		ast.Inspect(n, func(n ast.Node) bool {
			if r, ok := n.(*ast.ReturnStmt); ok && going {
				going = yield(r)
			}
			_, inner := n.(*ast.FuncLit)
			return going && !inner
		})
	}
}
