package generate

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/example/mysdk/internal/clierr"
)

// module is a Go module with directories in the project.
type module struct {
	dir    string   // absolute
	path   string   // import path of dir
	ignore []string // of the ignore directives
}

// sourcePackage is one directory of Go files that belong to a package.
type sourcePackage struct {
	dir        string // relative to the root
	importPath string
	module     *module
	files      []*sourceFile
}

type sourceFile struct {
	name string // relative to the root
	ast  *ast.File
}

// sources are the Go files of the project, parsed but not type-checked.
type sources struct {
	fset     *token.FileSet
	packages []*sourcePackage
	byPath   map[string]*sourceFile // by absolute path
	problems []problem              // syntax errors
}

// discoverer walks the project as the go command expands ./... patterns.
type discoverer struct {
	tree  *tree
	build *build.Context
	seen  map[string]bool // directories whose files are read
	out   *sources
}

// workspace is a project, and what is known of it to generate from.
type workspace struct {
	Options // with defaults
	*tree
	env      goEnv
	registry *registry
	src      *sources // not type-checked
}

// open finds out all but what the project's Go files say.
func open(ctx context.Context, opts Options) (w workspace, err error) {
	w.tree = newTree(opts.Dir, opts.Overlay)
	if w.Options, err = opts.withDefaults(w.tree); err == nil {
		w.env, err = readGoEnv(ctx, w.Host, w.Dir)
	}
	return w, err
}

// withSources is the workspace with the Go files that the options name, parsed.
func (w workspace) withSources() (workspace, error) {
	var err error
	if w.registry, err = newRegistry(); err == nil {
		w.src, err = discover(w.tree, w.env, w.paths())
	}
	return w, err
}

// parse opens a project and parses its Go files.
func parse(ctx context.Context, opts Options) (workspace, error) {
	w, err := open(ctx, opts)
	if err != nil {
		return w, err
	}
	return w.withSources()
}

// discover parses the Go files below the given paths. A module nested in one
// of them is walked too, as controller-gen does; unlike there, not one that
// stands where the go command looks for no packages, such as testdata.
func discover(t *tree, env goEnv, paths []string) (*sources, error) {
	d := &discoverer{tree: t, build: env.buildContext(t), seen: map[string]bool{},
		out: &sources{fset: token.NewFileSet(), byPath: map[string]*sourceFile{}}}
	for _, p := range paths {
		dir, all := strings.CutSuffix(p, "...")
		dir = path.Clean(filepath.ToSlash(dir))
		if !filepath.IsLocal(dir) {
			return nil, clierr.Usagef("name a directory such as ./api/...",
				"generate: path %q does not lie below the project", p)
		}
		m, err := d.moduleOf(dir, env)
		if err != nil {
			return nil, err
		}
		if err := d.walk(dir, m, all); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, clierr.Usagef("", "generate: no directory %s in %s", dir, t.root)
			}
			return nil, fmt.Errorf("generate: read the project: %w", err)
		}
	}
	return d.out, nil
}

// moduleOf finds the module that dir belongs to: the nearest go.mod at or above it.
func (d *discoverer) moduleOf(dir string, env goEnv) (*module, error) {
	for at := dir; ; at = path.Dir(at) {
		if d.tree.exists(path.Join(at, "go.mod")) {
			return d.readModule(at)
		}
		if at == "." {
			break
		}
	}
	if env.GOMOD != "" && filepath.Base(env.GOMOD) == "go.mod" {
		rel, err := filepath.Rel(d.tree.root, filepath.Dir(env.GOMOD))
		if err == nil {
			return d.readModule(filepath.ToSlash(rel))
		}
	}
	return nil, clierr.Failedf("run 'mysdk init --domain example.com' here first, or 'go mod init MODULE'",
		"generate: no go.mod in %s", d.tree.root)
}

// readModule reads the go.mod in dir. What mysdk does not know in it is the go command's to judge.
func (d *discoverer) readModule(dir string) (*module, error) {
	name := path.Join(dir, "go.mod")
	data, err := d.tree.read(name)
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	f, err := modfile.ParseLax(name, data, nil)
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	if f.Module == nil {
		return nil, clierr.Failedf("run 'go mod init MODULE'", "generate: %s has no module line", name)
	}
	m := &module{dir: d.tree.abs(dir), path: f.Module.Mod.Path}
	for _, i := range f.Ignore {
		m.ignore = append(m.ignore, i.Path)
	}
	return m, nil
}

// walk reads the package in dir and, for all, those below. A directory that is
// reached by two paths is a package once.
func (d *discoverer) walk(dir string, m *module, all bool) error {
	first := !d.seen[dir]
	d.seen[dir] = true
	entries, err := d.tree.list(dir)
	if err != nil {
		return err
	}
	p := &sourcePackage{dir: dir, module: m, importPath: path.Join(m.path, m.rel(d.tree.abs(dir)))}
	for _, e := range entries {
		name := path.Join(dir, e.name)
		switch {
		case e.dir && all:
			err = d.descend(name, m)
		case !e.dir && !e.link && first:
			err = d.addFile(p, name)
		}
		if err != nil {
			return err
		}
	}
	if len(p.files) > 0 {
		d.out.packages = append(d.out.packages, p)
	}
	return nil
}

func (d *discoverer) descend(dir string, m *module) error {
	if skipDir(path.Base(dir)) || m.ignores(d.tree.abs(dir)) {
		return nil
	}
	if d.tree.exists(path.Join(dir, "go.mod")) {
		nested, err := d.readModule(dir)
		if err != nil {
			return err
		}
		m = nested
	}
	return d.walk(dir, m, true)
}

// skipDir says which directories ./... does not go into.
func skipDir(base string) bool {
	return base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

func (d *discoverer) addFile(p *sourcePackage, name string) error {
	base := path.Base(name)
	if path.Ext(base) != ".go" || strings.HasSuffix(base, "_test.go") {
		return nil
	}
	abs := d.tree.abs(name)
	// An error here is one of the file's header; the parser says it better.
	if match, err := d.build.MatchFile(filepath.Dir(abs), base); err == nil && !match {
		return nil
	}
	data, err := d.tree.read(name)
	if err != nil {
		return err
	}
	f, err := parseFile(d.out.fset, abs, data)
	if err != nil {
		if unmerged := clierr.Unmerged(name, data); unmerged != nil {
			return unmerged
		}
		d.out.problems = append(d.out.problems, syntaxProblems(d.tree, err)...)
		return nil
	}
	s := &sourceFile{name: name, ast: f}
	p.files = append(p.files, s)
	d.out.byPath[abs] = s
	return nil
}

// parseFile parses as controller-tools' loader does: its generators read the comments.
func parseFile(fset *token.FileSet, abs string, data []byte) (*ast.File, error) {
	return parser.ParseFile(fset, abs, data, parser.AllErrors|parser.ParseComments)
}

func syntaxProblems(t *tree, err error) []problem {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return []problem{{msg: err.Error()}}
	}
	list.RemoveMultiples() // what follows on a line follows from its first error
	var out []problem
	for _, e := range list {
		out = append(out, newProblem(t, e.Pos, e.Msg))
	}
	return out
}

// rel is a directory of the module relative to it.
func (m *module) rel(abs string) string {
	rel, err := filepath.Rel(m.dir, abs)
	if err != nil {
		return "."
	}
	return filepath.ToSlash(rel)
}

// ignores implements go.mod's ignore directive: a path that begins with ./ is
// one directory of the module, any other a directory at any depth.
func (m *module) ignores(abs string) bool {
	rel := m.rel(abs)
	return slices.ContainsFunc(m.ignore, func(dir string) bool {
		if fixed, ok := strings.CutPrefix(dir, "./"); ok {
			return rel == path.Clean(fixed)
		}
		return rel == dir || strings.HasSuffix(rel, "/"+dir)
	})
}
