package goedit

import (
	"cmp"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// imported is a package and the name that it is imported by; empty for the package's own.
type imported struct{ path, name string }

// IsName says whether a package can be called by the name that it is imported by.
func IsName(local string) bool { return local != "" && local != "_" && local != "." }

// PathOf is the path of an import; the parser has checked it.
func PathOf(spec *ast.ImportSpec) string {
	quoted := spec.Path.Value
	// Passes ask for it at each selector of a file, which Unquote is slow for.
	if len(quoted) > 1 && !strings.Contains(quoted, `\`) {
		return quoted[1 : len(quoted)-1]
	}
	p, err := strconv.Unquote(quoted)
	if err != nil {
		return ""
	}
	return p
}

// packageNames are packages that are called otherwise than their paths end.
var packageNames = map[string]string{"sigs.k8s.io/controller-runtime": "controllerruntime"}

// majorVersion is how paths of modules end from their second version on: v1 at
// the end of a path is a package.
var majorVersion = lazy.Delayed(`^v([2-9]|[1-9][0-9]+)$`)

// LocalName is the name by which a file calls an import. Without one in the
// import it is PackageName.
func LocalName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return PackageName(PathOf(spec))
}

// PackageName is what the package of a path is most likely called: only its source knows.
func PackageName(importPath string) string {
	if name := packageNames[importPath]; name != "" {
		return name
	}
	base := path.Base(importPath)
	if dir := path.Dir(importPath); majorVersion.MatchString(base) {
		// example.com/module/v2 is called module, and so is k8s.io/module/v2;
		// k8s.io/api/autoscaling/v2 is v2.
		deep := strings.Count(importPath, "/")
		if deep == 2 || deep == 3 && strings.Contains(dir, ".") && !strings.HasPrefix(importPath, "k8s.io/") && !strings.Contains(importPath, "/api") {
			base = path.Base(dir)
		}
	}
	base, _, _ = strings.Cut(base, ".v") // gopkg.in/yaml.v3
	return base
}

// ImportName is the name by which the file calls a package, empty where it
// does not import it; a dot or an underscore where it does under no other.
func (f *File) ImportName(importPath string) string {
	local := ""
	for _, spec := range f.Tree.Imports {
		if PathOf(spec) != importPath {
			continue
		}
		if local = LocalName(spec); IsName(local) {
			return local
		}
	}
	return local
}

// ImportPath is the package that the file calls by a name, empty for none.
func (f *File) ImportPath(local string) string {
	for _, spec := range f.Tree.Imports {
		if LocalName(spec) == local && IsName(local) {
			return PathOf(spec)
		}
	}
	return ""
}

// Member is the name of what an expression takes from a package, empty for all
// other expressions. A file may import a package under several names.
func (f *File) Member(e ast.Expr, importPath string) string {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok || id.Obj != nil || !f.calls(importPath, id.Name) {
		return ""
	}
	return sel.Sel.Name
}

// calls says whether the file calls a package by a name. Asked for most of a
// file's expressions, it looks at the path first: guessing a name takes longer.
func (f *File) calls(importPath, local string) bool {
	return slices.ContainsFunc(f.Tree.Imports, func(spec *ast.ImportSpec) bool {
		return PathOf(spec) == importPath && LocalName(spec) == local && IsName(local)
	})
}

// Is says whether an expression is a certain member of a package.
func (f *File) Is(e ast.Expr, importPath, name string) bool {
	return name != "" && f.Member(e, importPath) == name
}

// ResultOf is the first variable that gets the result of a package's function, such as
// mgr of "mgr, err := ctrl.NewManager(config, options)"; empty where none does.
func (f *File) ResultOf(importPath, function string) string {
	for a := range Each[*ast.AssignStmt](f.Tree) {
		call, isCall := a.Rhs[0].(*ast.CallExpr)
		variable, isName := a.Lhs[0].(*ast.Ident)
		if isCall && isName && f.Is(call.Fun, importPath, function) {
			return variable.Name
		}
	}
	return ""
}

// Need makes the file import a package and returns the name to call it by:
// the given one, or the package's own where that is empty, unless something
// else has it.
func (f *File) Need(importPath, name string) string {
	if local := f.ImportName(importPath); IsName(local) {
		return local
	}
	i := slices.IndexFunc(f.needs, func(n imported) bool { return n.path == importPath })
	if i >= 0 {
		return cmp.Or(f.needs[i].name, path.Base(importPath))
	}
	want := cmp.Or(name, path.Base(importPath))
	for f.taken(want) {
		want += "pkg"
	}
	f.AddImport(importPath, want)
	return want
}

// taken says whether the file or its package has something of a name.
func (f *File) taken(name string) bool {
	at := f.ImportPath(name)
	return f.Declared[name] || at != "" && !f.drops[at] ||
		slices.ContainsFunc(f.needs, func(n imported) bool { return cmp.Or(n.name, path.Base(n.path)) == name })
}

// AddImport makes the file import a package under a name, or its own where
// that is empty, unless it imports it.
func (f *File) AddImport(importPath, name string) {
	if name == path.Base(importPath) {
		name = ""
	}
	if need := (imported{importPath, name}); !slices.Contains(f.needs, need) {
		f.needs = append(f.needs, need)
	}
}

// DropImport takes an import out whether it is used or not: where it is, the compiler says so.
func (f *File) DropImport(importPath string) { f.drops[importPath] = true }

func addImport(name string, src []byte, module string, need imported) ([]byte, error) {
	f, err := Parse(name, src)
	if err != nil {
		return nil, err
	}
	f.Module = module
	if f.calls(need.path, cmp.Or(need.name, PackageName(need.path))) {
		return src, nil
	}
	line := strings.TrimSpace(need.name + " " + strconv.Quote(need.path))
	for _, d := range f.Tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		if g.Lparen.IsValid() {
			f.insertImport(g, need.path, line)
		} else {
			f.Insert(f.behind(g), "\nimport "+line)
		}
		return f.Apply()
	}
	f.Insert(f.behind(f.Tree.Name), "\n\nimport "+line)
	return f.Apply()
}

// behind is the end of a node, or of the comment that follows it on its line.
func (f *File) behind(n ast.Node) token.Pos {
	for _, c := range f.Tree.Comments {
		if c.Pos() >= n.End() && f.Line(c.Pos()) == f.Line(n.End()) && strings.TrimSpace(f.Between(n.End(), c.Pos())) == "" {
			return c.End()
		}
	}
	return n.End()
}

// insertImport puts an import behind the last one of its group, there of those
// of the same host, or begins a group: the standard library's, others, and the
// module's own. gofmt sorts within a group; the standard library's is sorted in
// files that nobody formats, too.
func (f *File) insertImport(g *ast.GenDecl, importPath, line string) {
	group := func(p string) int {
		first, _, _ := strings.Cut(p, "/")
		switch {
		case f.Module != "" && (p == f.Module || strings.HasPrefix(p, f.Module+"/")):
			return 2
		case strings.Contains(first, "."):
			return 1
		}
		return 0
	}
	host, _, _ := strings.Cut(importPath, "/")
	own := group(importPath)
	var same, near, before ast.Spec
	var next *ast.ImportSpec
	for _, s := range g.Specs {
		spec, ok := s.(*ast.ImportSpec)
		if !ok {
			continue
		}
		switch p := PathOf(spec); {
		case group(p) == own:
			same = spec
			if next == nil && own == 0 && p > importPath && spec.Doc == nil {
				next = spec
			}
			if strings.HasPrefix(p, host+"/") {
				near = spec
			}
		case group(p) < own:
			before = spec
		}
	}
	switch {
	case next != nil:
		f.Insert(next.Pos(), line+"\n\t")
	case near != nil:
		f.Insert(f.behind(near), "\n\t"+line)
	case same != nil:
		f.Insert(f.behind(same), "\n\t"+line)
	case before != nil:
		f.Insert(f.behind(before), "\n\n\t"+line)
	case len(g.Specs) > 0:
		f.Insert(g.Lparen+1, "\n\t"+line+"\n")
	default:
		f.Insert(g.Lparen+1, "\n\t"+line)
	}
}

// removeImports takes out the imports that gone picks by path and local name.
func removeImports(name string, src []byte, gone func(importPath, local string) bool) ([]byte, error) {
	f, err := Parse(name, src)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		left, was := len(g.Specs), len(f.edits)
		for _, s := range g.Specs {
			if spec, ok := s.(*ast.ImportSpec); ok && gone(PathOf(spec), LocalName(spec)) {
				left--
				f.RemoveLines(spec)
			}
		}
		if left == 0 && len(g.Specs) > 0 {
			f.edits = f.edits[:was]
			f.RemoveLines(g)
		}
	}
	return f.Apply()
}

// used are the imports of the file, and whether it calls something of each.
func (f *File) used() map[string]bool {
	names := f.Qualifiers()
	out := map[string]bool{}
	for _, spec := range f.Tree.Imports {
		out[PathOf(spec)] = out[PathOf(spec)] || names[LocalName(spec)]
	}
	return out
}

// Qualifiers are the names before a dot that the file does not declare itself:
// all imports that are used are among them.
func (f *File) Qualifiers() map[string]bool {
	names := map[string]bool{}
	for sel := range Each[*ast.SelectorExpr](f.Tree) {
		if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil {
			names[id.Name] = true
		}
	}
	return names
}

// pruneImports takes out the imports that were used before, or are new, and are not used.
func pruneImports(name string, src []byte, before map[string]bool) ([]byte, error) {
	f, err := Parse(name, src)
	if err != nil {
		return nil, err
	}
	now := f.used()
	return removeImports(name, src, func(p, local string) bool {
		was, known := before[p]
		return IsName(local) && !now[p] && (was || !known)
	})
}
