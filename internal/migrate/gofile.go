package migrate

import (
	"fmt"
	"go/ast"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
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

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// isIgnored says whether the go command does not look at what has a name.
func isIgnored(base string) bool {
	return base == "testdata" || strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".")
}

// ignored says whether a file is no code of the project's module: it may hold
// anything, templates of code for instance.
func (m *migration) ignored(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), isIgnored) || m.moduleOf(name) != ""
}

// moduleOf is the directory of the module below the root that a file belongs
// to, empty for the root's.
func (m *migration) moduleOf(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if hasFile(m.files, dir+"/go.mod") {
			return dir
		}
	}
	return ""
}

// nestedModules tells of modules below the root: they stay as they are. Those
// with code that migrate would have to change are refused.
func (m *migration) nestedModules() error {
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		dir := path.Dir(name)
		if path.Base(name) != "go.mod" || dir == "." || strings.HasPrefix(name, "vendor/") || slices.ContainsFunc(strings.Split(dir, "/"), isIgnored) {
			continue
		}
		if m.changesIn(dir) {
			return clierr.Failedf("make its packages a part of the root's module first: remove it, and the requirement and replacement of it in go.mod, and run 'go mod tidy'",
				"%s makes a module of its own of packages that have to be changed", name)
		}
		m.know("%s is a module of its own, and stays as it is: see whether it names packages that have moved.", dir)
	}
	return nil
}

// changesIn says whether a directory has types of the project, or packages that
// move.
func (m *migration) changesIn(dir string) bool {
	for name := range m.files {
		if strings.HasPrefix(name, dir+"/") && m.moduleOf(name) == dir && path.Ext(name) == ".go" {
			types := slices.ContainsFunc(m.apis, func(a *apiVersion) bool { return a.dir == path.Dir(name) })
			if types || m.along(name) != name {
				return true
			}
		}
	}
	return false
}

// dropVendor takes vendored code out: it is that of the old go.mod. One line
// tells of all of it.
func (m *migration) dropVendor() {
	for name := range m.files {
		if strings.HasPrefix(name, "vendor/") {
			m.drop(name, "it is vendored")
			m.drop("vendor", "go.mod and the module cache are in the place of vendored code")
		}
	}
}

// ownPage keeps a page of the user's that has the name of the report.
func (m *migration) ownPage() {
	f, there := m.files[ReportName]
	if !there || strings.HasPrefix(string(f.data), reportTitle) {
		return
	}
	to := ReportName + asideEnding
	m.keep(ReportName, to, f.data)
	m.note(to, "%s", fmt.Sprintf("this page was yours, and %s is now the list of what is left to do: give it its name back when you have removed that", ReportName))
}
