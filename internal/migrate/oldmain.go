package migrate

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// keptMain is where the old main program stays for its owner to copy from. No
// compiler reads it.
const keptMain = newMain + ".old"

// oldProgram is what an old main program gives to the new one, and what it
// leaves to its owner.
type oldProgram struct {
	m        *migration
	file     *goFile
	target   *goFile           // the new main program as the scaffold has it
	imports  map[string]string // paths by local name
	schemes  []string          // calls that add types of other projects to the scheme
	setup    string            // statements that set controllers up, and others that take the manager
	wired    bool              // controllers are among these
	unwired  bool              // lines that set controllers up are left
	election string            // name of the lease, as Go text; empty for the scaffold's
	rules    []string          // markers of rules
	taken    map[int]bool      // lines that were carried over
	left     []Note            // what is not in the new main program, by line
}

// readMain reads the old main program.
func (m *migration) readMain(name string) (*oldProgram, error) {
	f, err := parseGo(name, m.files[name].data)
	if err != nil {
		return nil, err
	}
	target, err := parseGo(newMain, m.rendered[newMain])
	if err != nil {
		return nil, err
	}
	p := &oldProgram{m: m, file: f, target: target, imports: map[string]string{}, taken: map[int]bool{}}
	for _, spec := range f.Tree.Imports {
		at, local := goedit.PathOf(spec), goedit.LocalName(spec)
		if spec.Name == nil {
			local = m.packageName(at)
		}
		switch {
		case goedit.IsName(local):
			p.imports[local] = at
		case !strings.HasPrefix(at, "k8s.io/client-go/plugin/pkg/client/auth") && !strings.HasPrefix(at, operatorSDK):
			p.leave(p.file.Line(spec.Pos()), p.file.Line(spec.End())) // the new main program has the logins of kubeconfigs itself
		}
	}
	for fn := range f.Functions() {
		if fn.Recv == nil && (fn.Name.Name == "main" || fn.Name.Name == "init" || p.runs(fn.Body)) {
			p.statements(fn.Body.List)
		}
	}
	p.readComments()
	p.leaveLines()
	return p, nil
}

// runs says whether main leaves making the manager to a function.
func (p *oldProgram) runs(n ast.Node) bool {
	return goedit.Has(n, func(c *ast.CallExpr) bool {
		return p.file.Is(c.Fun, crRoot, "NewManager") || p.file.Is(c.Fun, crManager, "New")
	})
}

// statements reads what main does: what the new main program does in its own
// way, and what it gets at its markers.
func (p *oldProgram) statements(list []ast.Stmt) {
	for _, s := range list {
		if p.wire(s) || isSimple(s) && (p.scheme(s) || p.leads(s)) {
			p.take(s)
		}
		for kv := range goedit.Each[*ast.KeyValueExpr](s) {
			if value, ok := goedit.StringLiteral(kv.Value); ok && isNamed(kv.Key, "LeaderElectionID") {
				p.election = strconv.Quote(value)
				if p.isAlone(kv) {
					p.take(kv)
				}
			}
		}
		for call := range goedit.Each[*ast.CallExpr](s) {
			if callee(call) == setupWebhook && p.m.ownWebhook(p.file.Text(call.Fun)) {
				p.take(call)
			}
		}
	}
}

// isSimple reports whether a statement is one call, with the check of its error at
// the most. A block may have more in it than the call that is looked for.
func isSimple(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.AssignStmt:
		return true
	case *ast.IfStmt:
		return s.Init != nil
	}
	return false
}

// take notes that a node was carried over.
func (p *oldProgram) take(n ast.Node) {
	for line := p.file.Line(n.Pos()); line <= p.file.Line(n.End()); line++ {
		p.taken[line] = true
	}
}

// isAlone reports whether nothing else is in the lines of a node but a comma.
func (p *oldProgram) isAlone(n ast.Node) bool {
	before, after := p.file.Src[:p.file.Offset(n.Pos())], p.file.Src[p.file.Offset(n.End()):]
	head := before[bytes.LastIndexByte(before, '\n')+1:]
	tail, _, _ := bytes.Cut(after, []byte("\n"))
	return len(bytes.TrimSpace(head))+len(bytes.Trim(tail, " \t\r,")) == 0
}

// readComments takes the comments that have lines of their own: what they are
// about is listed. Those that are markers of rules are kept.
func (p *oldProgram) readComments() {
	for _, group := range p.file.Tree.Comments {
		for _, c := range group.List {
			if p.isAlone(c) {
				p.take(c)
			}
			if strings.HasPrefix(strings.TrimLeft(c.Text, "/ \t"), "+kubebuilder:rbac:") && !slices.Contains(p.rules, c.Text) {
				p.rules = append(p.rules, c.Text)
			}
		}
	}
}

// leaveLines notes the lines below the imports that were not carried over and
// that no scaffold wrote. A few of the scaffolds' lines in between, such as the
// end of a block, go with them.
func (p *oldProgram) leaveLines() {
	const between = 3
	from, to, n, imports := 0, 0, 0, p.file.Line(p.file.Tree.Name.End())
	for _, spec := range p.file.Tree.Imports {
		imports = p.file.Line(spec.End())
	}
	for line := range strings.Lines(string(p.file.Src)) {
		n++
		text := strings.TrimSpace(line)
		open := n > imports && !p.taken[n]
		p.unwired = p.unwired || open && (strings.Contains(text, "SetupWithManager(") || strings.Contains(text, "AddToManager("))
		if !open || text == "" || isMainLine(text) {
			continue
		}
		if from > 0 && n > to+between+1 {
			p.leave(from, to)
			from = 0
		}
		to = n
		if from == 0 {
			from = n
		}
	}
	if from > 0 {
		p.leave(from, to)
	}
}

// leave notes lines that are not in the new main program.
func (p *oldProgram) leave(from, to int) {
	text := strings.Split(string(p.file.Src), "\n")[from-1]
	if to > from {
		text += fmt.Sprintf(" … (to line %d)", to)
	}
	p.left = append(p.left, Note{from, fmt.Sprintf("not in %s: %s", newMain, strings.Join(strings.Fields(text), " "))})
}

// setupCall is the call that sets controllers up in a statement which does nothing
// else but to report its error; nil for any other. It is that of a reconciler's method, of
// the function that operator-sdk v0.x had for all of a package, or of another function of
// the project that takes the manager.
func (p *oldProgram) setupCall(s ast.Stmt) *ast.CallExpr {
	check, _ := s.(*ast.IfStmt)
	if check != nil {
		s = check.Init
	}
	a, ok := s.(*ast.AssignStmt)
	if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
		return nil
	}
	if check != nil && (check.Else != nil || squeeze(p.file.Text(check.Cond)) != p.file.Text(a.Lhs[0])+"!=nil" || !p.exits(check.Body)) {
		return nil
	}
	call, ok := a.Rhs[0].(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	pkg, _, _ := strings.Cut(p.file.Text(call.Fun), ".")
	own := strings.HasPrefix(p.imports[pkg], p.m.module+"/") && isNamed(call.Args[0], "mgr") && isNamed(a.Lhs[0], "err") && callee(call) != setupWebhook
	if own || slices.Contains([]string{"SetupWithManager", "AddToManager"}, callee(call)) {
		return call
	}
	return nil
}

// The statements that report, by functions of packages for logs and of fmt, and those
// that end the program or return.
var (
	reports = lazy.Delayed(`^(?:\w+(?:\([^()]*\))?\.)*(?:Error|Info|Warn|Warning|Print|Fprint|print)(?:f|ln|w)?\(`)
	ends    = lazy.Delayed(`^(?:return\b|(?:\w+(?:\([^()]*\))?\.)*(?:Exit|Fatal|Panic|panic)(?:f|ln|w)?\()`)
)

// exits says whether a block reports an error and ends the program, or returns, and
// does nothing else.
func (p *oldProgram) exits(b *ast.BlockStmt) (last bool) {
	for _, s := range b.List {
		text := p.file.Text(s)
		if last = ends.MatchString(text); !last && !reports.MatchString(text) {
			return false
		}
	}
	return last
}

// reconcilerOf is the expression that makes the reconciler of a call of
// SetupWithManager.
func reconcilerOf(call *ast.CallExpr) ast.Expr {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	e := ast.Unparen(sel.X)
	if id, ok := e.(*ast.Ident); ok {
		return assigned(id)
	}
	return e
}

// portableReconciler says whether the new main program can make a reconciler.
// Fields that it cannot set are marked.
func (p *oldProgram) portableReconciler(e ast.Expr) bool {
	if lit := goedit.Literal(e); lit != nil && lit.Type != nil {
		return p.portable(lit.Type)
	}
	_, isCall := e.(*ast.CallExpr)
	return isCall && p.portable(e)
}

// wire takes over a statement that sets up a controller of the project.
func (p *oldProgram) wire(s ast.Stmt) bool {
	call := p.setupCall(s)
	if call == nil {
		return false
	}
	if callee(call) != "SetupWithManager" {
		return p.wireAll(call)
	}
	e := reconcilerOf(call)
	if e == nil || !p.portableReconciler(e) {
		return false
	}
	p.wired = true
	p.take(e) // a variable's, maybe
	made, name := p.file.Text(e), ""
	if lit := goedit.Literal(e); lit == nil {
		p.use(e)
	} else {
		_, name, _ = strings.Cut(p.file.Text(lit.Type), ".")
		made = p.literal(lit)
	}
	args := "mgr"
	if len(call.Args) > 1 || p.file.Text(call.Args[0]) != "mgr" {
		if slices.ContainsFunc(call.Args, func(e ast.Expr) bool { return !p.portable(e) }) {
			p.setup += p.marked(call, "hands more to SetupWithManager")
		} else {
			for _, arg := range call.Args {
				p.use(arg)
			}
			args = string(p.file.Src[p.file.Offset(call.Args[0].Pos()):p.file.Offset(call.Args[len(call.Args)-1].End())])
		}
	}
	setup := fmt.Sprintf("\tif err := %s.SetupWithManager(%s); err != nil {\n"+
		"\t\tsetupLog.Error(err, \"Failed to create controller\", \"controller\", %q)\n\t\tos.Exit(1)\n\t}\n", made, args, strings.TrimSuffix(name, "Reconciler"))
	if strings.Contains(p.setup, setup) {
		p.m.know("%s:%d set up %s a second time, which controller-runtime refuses: it is set up once now.", p.file.Name, p.file.Line(s.Pos()), cmp.Or(name, made))
		return true
	}
	p.setup += setup
	return true
}

// wireAll takes over a call that sets up all that a package has.
func (p *oldProgram) wireAll(call *ast.CallExpr) bool {
	todo := "takes the manager: call it here"
	if callee(call) == "AddToManager" {
		p.wired, todo = true, "sets controllers up: do that here"
	}
	if !p.portable(call) {
		p.setup += p.marked(call, "%s", todo)
		return true
	}
	p.use(call)
	p.setup += fmt.Sprintf("\tif err := %s; err != nil {\n\t\tsetupLog.Error(err, \"Failed to set up\", \"function\", %q)\n\t\tos.Exit(1)\n\t}\n", p.file.Text(call), p.file.Text(call.Fun))
	return true
}

// literal is the text that makes a reconciler, with marks in the place of
// fields whose values the new main program lacks.
func (p *oldProgram) literal(lit *ast.CompositeLit) string {
	var b strings.Builder
	p.use(lit.Type)
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && p.portable(kv.Value) {
			p.use(kv.Value)
			fmt.Fprintf(&b, "\t\t%s,\n", p.file.Text(e))
			continue
		}
		fmt.Fprintf(&b, "\t\t%s\n", todoLine("%s:%d has %s: set it here", keptMain, p.file.Line(e.Pos()), strings.Join(strings.Fields(p.file.Text(e)), " ")))
	}
	fields := b.String()
	if fields != "" {
		fields = "\n" + fields + "\t"
	}
	return fmt.Sprintf("(&%s{%s})", p.file.Text(lit.Type), fields)
}

// marked has a part of the old code that is not carried over as a comment below
// a mark.
func (p *oldProgram) marked(n ast.Node, format string, args ...any) string {
	mark := todoLine("%s:%d %s", keptMain, p.file.Line(n.Pos()), fmt.Sprintf(format, args...))
	return fmt.Sprintf("\t%s\n\t//\t%s\n", mark, strings.ReplaceAll(p.file.Text(n), "\n", "\n\t//\t"))
}

// portable says whether an expression means the same in the new main program:
// it uses the manager, the scheme and packages, and no variables.
func (p *oldProgram) portable(e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			ok = false
		case *ast.KeyValueExpr:
			ok = ok && p.portable(n.Value)
			return false
		case *ast.SelectorExpr:
			if id, isName := n.X.(*ast.Ident); isName && id.Obj == nil {
				ok = ok && p.canImport(id.Name)
			} else {
				ok = ok && p.portable(n.X)
			}
			return false
		case *ast.Ident:
			ok = ok && (slices.Contains([]string{"mgr", "scheme", "setupLog"}, n.Name) || n.Obj == nil && types.Universe.Lookup(n.Name) != nil)
		}
		return ok
	})
	return ok
}

// canImport says whether the new main program can call a package by the name
// that it has in the old one.
func (p *oldProgram) canImport(local string) bool {
	at, known := p.imports[local]
	return known && !strings.HasPrefix(at, operatorSDK) && (p.target.ImportPath(local) == "" || p.target.ImportName(p.today(at)) == local)
}

// today is the path of a package that has moved to another module.
func (p *oldProgram) today(importPath string) string {
	return cmp.Or(renamedPackages[importPath], importPath)
}

// use has the new main program import what an expression calls.
func (p *oldProgram) use(e ast.Expr) {
	for sel := range goedit.Each[*ast.SelectorExpr](e) {
		if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil && p.canImport(id.Name) {
			p.need(id.Name)
		}
	}
}

func (p *oldProgram) need(local string) {
	at, name := p.today(p.imports[local]), local
	if local == goedit.PackageName(at) && local == p.m.packageName(at) {
		name = ""
	}
	p.target.AddImport(at, name)
}

// scheme takes over a statement that adds types of another project to the
// scheme. The project's own are added by the scaffold.
func (p *oldProgram) scheme(s ast.Stmt) bool {
	if check, ok := s.(*ast.IfStmt); ok && check.Init != nil {
		s = check.Init
	}
	for c := range goedit.Each[*ast.CallExpr](s) {
		if len(c.Args) == 1 && slices.Contains([]string{"scheme", "mgr.GetScheme()"}, squeeze(p.file.Text(c.Args[0]))) {
			return p.addScheme(c.Fun)
		}
	}
	return false
}

// addScheme takes over a function that adds types to the scheme.
func (p *oldProgram) addScheme(fn ast.Expr) bool {
	local, member, _ := strings.Cut(p.file.Text(fn), ".")
	at := p.imports[local]
	switch {
	case member == "" || at == "" || strings.HasPrefix(at, operatorSDK):
		return false
	case at == "k8s.io/client-go/kubernetes/scheme" || p.m.isOwnTypes(at):
		return true
	case p.canImport(local):
		p.need(local)
	default: // the new main program has a package of the project under that name
		local = "other" + local
		p.target.AddImport(p.today(at), local)
	}
	if line := local + "." + member + "(scheme)"; !slices.Contains(p.schemes, line) {
		p.schemes = append(p.schemes, line)
	}
	return true
}

// isOwnTypes says whether a package has types that PROJECT knows: those the new
// main program adds to the scheme itself.
func (m *migration) isOwnTypes(importPath string) bool {
	return slices.ContainsFunc(m.apis, func(a *apiVersion) bool {
		return importPath == path.Join(m.module, a.dir) && len(inDir(m.files, a.dir)) > 0
	})
}

// leads finds leader.Become, which the election of the manager stands in for.
func (p *oldProgram) leads(s ast.Stmt) bool {
	found := goedit.Has(s, func(c *ast.CallExpr) bool { return p.file.isAny(c.Fun, "Become", operatorSDK+"pkg/leader", leaderLib) })
	if found {
		p.m.know("%s:%d led for life (leader.Become). The new main program holds a lease (--leader-elect): stop the old operator before the new one starts. The guide on leader election has leader-for-life.", p.file.Name, p.file.Line(s.Pos()))
	}
	return found
}
