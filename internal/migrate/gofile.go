package migrate

import (
	"fmt"
	"go/ast"
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

// squeeze takes out white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// isNamed says whether an expression is that name.
func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
