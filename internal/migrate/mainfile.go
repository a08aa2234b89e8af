package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mainParts is what an old main program has beyond the scaffold's.
type mainParts struct {
	imports map[string]importSpec // by local name, of the old file
	aliases map[string]string     // for imports whose name the new main program has for another
	schemes []string              // calls that add types to the scheme
	lock    string                // name of the lock of leader-for-life, as Go text
	left    []leftover            // statements of main that are the user's
	decls   string                // declarations of the user's own
	flags   map[string]string     // other values of the new main program's flags, as Go text
	blank   []importSpec          // imports without a name
	dots    []importSpec          // imports into the file's own names
	rules   []string              // markers of rules

	bound    map[*variable]string // variables for flags that the new main program has too: what has the value there
	own      map[*variable]bool   // variables for flags of the user's own
	args     map[*variable]ast.Expr
	signals  map[*variable]string // what the signal to stop ends
	stop     string               // name of the context that it ends
	signaled bool                 // something besides the manager waits for it
	channels bool                 // it closed a channel
	start    string               // the context that the manager is started with, if it is the user's
}

// leftover are statements of the old main program that the new one needs.
type leftover struct {
	file        string
	first, last int
	text        string
	phase       int    // one of the phases
	carried     bool   // everything that they use is there in the new one
	option      string // of the manager, which they set
	signal      bool   // they make the context that the signal to stop ends
}

// The phases of a main program: before the flags are parsed, before there is a
// manager, with it, and where its options are.
const (
	beforeFlags = iota
	beforeManager
	withManager
	withOptions
)

// text are the lines for a place in the new main program. Statements that
// cannot be carried over as they are become marked lines that the compiler
// trips over.
func (p *mainParts) text(phase int) string {
	var b strings.Builder
	for i := 0; i < len(p.left); i++ {
		l := p.left[i]
		if l.phase != phase || l.signal && !p.signaled {
			continue
		}
		if l.carried {
			b.WriteString("\t" + l.text + "\n")
			continue
		}
		for l.option == "" && i+1 < len(p.left) && p.left[i+1].phase == phase && !p.left[i+1].carried && p.left[i+1].option == "" && p.left[i+1].file == l.file {
			i++
			l.text, l.last = l.text+"\n"+p.left[i].text, p.left[i].last
		}
		at := fmt.Sprintf("%s:%d-%d", l.file, l.first, l.last)
		why := todoLine("%s use what the new main program has not: write them anew, or leave them out", at)
		if l.option != "" {
			why = todoLine("%s sets %s, which has no successor of its form: see what %s has for it, or leave it out", at, l.option, managerVariable)
		}
		fmt.Fprintf(&b, "\t%s\n", why)
		for line := range strings.Lines(l.text) {
			fmt.Fprintf(&b, "\t//\t%s\n", strings.TrimRight(line, "\n"))
		}
		fmt.Fprintf(&b, "\tTODO_migrate(%q)\n", at)
	}
	return b.String()
}

// used are the imports of the old main program that a text needs. carried says
// that it is one for the new main program.
func (p *mainParts) used(text string, carried bool) []importSpec {
	var out []importSpec
	for _, name := range slices.Sorted(maps.Keys(p.imports)) {
		spec := p.imports[name]
		if alias := p.aliases[name]; carried && alias != "" {
			spec.name = alias
		}
		if name != "_" && name != "." && regexp.MustCompile(`\b`+spec.name+`\.`).MatchString(stripComments(text)) {
			if spec.name == localName(&ast.ImportSpec{}, spec.path) {
				spec.name = "" // it is the package's own
			}
			out = append(out, spec)
		}
	}
	return out
}

// readAliases finds the imports whose names mean something else in the new
// main program.
func (p *mainParts) readAliases(rendered []byte) error {
	f, err := parseGo(newMain, rendered)
	if err != nil {
		return err
	}
	for name, spec := range p.imports {
		if f.taken(name) && f.importName(spec.path) != name {
			p.aliases[name] = "old" + name
		}
	}
	return nil
}

// stripComments takes out lines that are comments.
func stripComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "//") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// readMain reads the old main program.
func (m *migration) readMain(name string) (*mainParts, error) {
	f, err := parseGo(name, m.files[name].data)
	if err != nil {
		return nil, err
	}
	p := newMainParts(f)
	p.channels = m.signalsByChannel()
	if err := p.readAliases(m.rendered[newMain]); err != nil {
		return nil, err
	}
	for name, spec := range p.imports { // the new main program imports controllers under names of its own
		if dir, below := strings.CutPrefix(spec.path, m.module+"/pkg/controller/"); below && hasDir(m.files, "pkg/controller/"+dir) && !strings.Contains(dir, "/") {
			p.aliases[name] = m.controllerName(&controller{dir: dir})
		}
	}
	m.readDecls(f, p)
	p.readRules(f)
	return p, nil
}

func newMainParts(f *goFile) *mainParts {
	p := &mainParts{imports: map[string]importSpec{}, aliases: map[string]string{}, flags: map[string]string{},
		bound: map[*variable]string{}, own: map[*variable]bool{}, args: map[*variable]ast.Expr{}, signals: map[*variable]string{}}
	for _, spec := range f.tree.Imports {
		at, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		switch name := localName(spec, at); name {
		case "_":
			p.blank = append(p.blank, importSpec{at, name})
		case ".":
			p.dots = append(p.dots, importSpec{at, name})
		default:
			p.imports[name] = importSpec{at, name}
		}
	}
	return p
}

// readDecls sorts the declarations of the old main program.
func (m *migration) readDecls(f *goFile, p *mainParts) {
	through := m.readWork(f, p)
	for _, d := range f.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case d.Recv == nil && d.Name.Name == "main", slices.Contains(through, d):
			case d.Recv == nil && d.Name.Name == "init":
				m.readInit(f, d, p)
			case d.Recv == nil && slices.Contains(scaffoldFuncs(), d.Name.Name):
			default:
				p.keepDecl(f, f.text(d), d.Doc)
			}
		case *ast.GenDecl:
			if d.Tok != token.IMPORT && !isScaffoldVar(d) {
				p.keepDecl(f, f.withoutScaffold(d), d.Doc)
			}
		}
	}
}

// readWork reads what main does, and returns the functions that it leaves it
// to.
func (m *migration) readWork(f *goFile, p *mainParts) []*ast.FuncDecl {
	main := f.function("main")
	if main == nil || main.Body == nil {
		return nil
	}
	w, ok := p.workOf(f, main)
	if !ok && len(main.Body.List) > 0 {
		p.elsewhere(f, main)
		return nil
	}
	p.signalArguments(f, w.through)
	m.readStatements(f, w.list, p)
	return w.through
}

func (p *mainParts) keepDecl(f *goFile, text string, doc *ast.CommentGroup) {
	if doc != nil {
		text = f.text(doc) + "\n" + text
	}
	p.decls += "\n" + text + "\n"
}

// isScaffoldVar says whether a declaration is the scaffold's, by its names.
func isScaffoldVar(d *ast.GenDecl) bool {
	return !slices.ContainsFunc(d.Specs, func(s ast.Spec) bool { return !isScaffoldSpec(s) })
}

// withoutScaffold is the text of a declaration without the scaffold's variables.
func (f *goFile) withoutScaffold(d *ast.GenDecl) string {
	part := &goFile{src: f.src[:f.offset(d.End())], fset: f.fset, edits: []edit{{0, f.offset(d.Pos()), ""}}}
	for _, s := range d.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && isScaffoldSpec(s) {
			part.removeSpec(v)
		}
	}
	return string(part.spliced())
}

func isScaffoldSpec(s ast.Spec) bool {
	v, ok := s.(*ast.ValueSpec)
	return ok && slices.ContainsFunc(v.Names, func(n *ast.Ident) bool { return isScaffoldName(n.Name) })
}

// readInit takes the types of other projects out of main's init. What else it
// does stays an init.
func (m *migration) readInit(f *goFile, d *ast.FuncDecl, p *mainParts) {
	rest := ""
	for _, s := range d.Body.List {
		ours := false
		ast.Inspect(s, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 || f.text(call.Args[0]) != "scheme" {
				return true
			}
			pkg, _, _ := strings.Cut(f.text(call.Fun), ".")
			spec, imported := p.imports[pkg]
			if !imported {
				return true // a function of the user's own
			}
			ours = true
			if spec.path != "k8s.io/client-go/kubernetes/scheme" && !m.isOwnTypes(spec.path) {
				p.schemes = append(p.schemes, f.text(call))
			}
			return true
		})
		if !ours {
			rest += "\t" + f.text(s) + "\n"
		}
	}
	if rest != "" {
		p.decls += "\nfunc init() {\n" + rest + "}\n"
	}
}
