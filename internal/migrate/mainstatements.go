package migrate

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// readStatements sorts the statements of main: those that the new scaffold has
// in its own way, those that it has a place for, and the rest.
func (m *migration) readStatements(f *goFile, list []ast.Stmt, p *mainParts) {
	phase, end := beforeFlags, token.NoPos
	carried, mine := map[*variable]bool{}, map[*variable]bool{}
	dropped := false // the statement before was the scaffold's
	options := &optionReader{m: m, file: f, parts: p, carried: carried}
	p.readFlags(f, list)
	for _, s := range list {
		text := squeeze(f.text(s))
		check, isCheck := s.(*ast.IfStmt)
		isCheck = isCheck && check.Init == nil && squeeze(f.text(check.Cond)) == "err!=nil"
		instead, left := p.withoutFlags(f, s)
		switch {
		case !left, m.leader(f, s, p), m.schemeCall(f, s, p), options.flag(s), options.read(s), m.ownWebhooks(f, s), p.signal(f, s, phase), options.start(s):
			dropped = true
		case (isCheck || isBareReturn(s)) && dropped:
		case !uses(s, mine) && m.isScaffoldStatement(f, s):
			dropped = true
		default:
			dropped = false
			l := leftover{file: f.name, first: f.line(s.Pos()), last: f.line(s.End()), phase: phase}
			l.text, l.carried = f.carry(s, carried, p, phase == withManager, instead)
			// There is a manager already, it is started, and it has its flags.
			l.carried = l.carried && optionsLiteral(f, s) == nil && !hasAnyPrefix(text, "mgr,err:=", "mgr,err=") && startCall(f, s) == nil && f.definesFlag(s) == ""
			if strings.Contains(l.text, restConfig) {
				l.phase = max(phase, beforeManager)
			}
			p.declaredIn(s, mine)
			if c := withoutMarkers(f.comments(end, s.Pos())); l.carried && end.IsValid() && c != "" {
				l.text = strings.TrimSpace(c) + "\n" + l.text
			}
			p.left = append(p.left, l)
		}
		if strings.HasSuffix(text, "flag.Parse()") {
			phase = beforeManager
		}
		if strings.HasPrefix(text, "mgr,err:=") || strings.HasPrefix(text, "mgr,err=") {
			phase = withManager
		}
		end = s.End()
	}
}

// withoutMarkers takes out the lines of comments that the scaffold's tools look
// for: the new main program has its own, and rules go to a file of theirs.
func withoutMarkers(comments string) string {
	var b strings.Builder
	for line := range strings.Lines(comments) {
		if !hasAnyPrefix(strings.TrimLeft(line, "/ \t"), "+kubebuilder:scaffold:", rulePrefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// variable is what the parser knows of a local name. It knows nothing of types,
// and for variables that is enough; the modules that types would take may be
// gone.
//
//lint:ignore SA1019 see above
type variable = ast.Object

// uses says whether a statement uses one of the variables.
func uses(s ast.Stmt, variables map[*variable]bool) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Obj != nil && variables[id.Obj] {
			found = true
		}
		return !found
	})
	return found
}

// declaredIn adds the variables that a statement declares, but for err.
func declaredIn(s ast.Node, into map[*variable]bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || id.Obj == nil || id.Name == "err" {
			return true
		}
		if decl, ok := id.Obj.Decl.(ast.Node); ok && decl.Pos() >= s.Pos() && decl.End() <= s.End() {
			into[id.Obj] = true
		}
		return true
	})
}

// restConfig is the new main program's name of the client's configuration,
// where something is done with it before there is a manager.
const restConfig = "restConfig"

// carry is the text of a statement or expression for the new main program, and
// whether everything that it uses is there. carried are the variables of
// statements before it that are, managed says that there is a manager, and
// instead has other texts for parts of it.
func (f *goFile) carry(s ast.Node, carried map[*variable]bool, p *mainParts, managed bool, instead map[ast.Node]string) (string, bool) {
	c := &carrier{file: f, parts: p, carried: carried, managed: managed, instead: instead, start: f.offset(s.Pos()), ok: true, declared: map[*variable]bool{}, keys: map[*ast.Ident]bool{}}
	p.declaredIn(s, c.declared)
	ast.Inspect(s, c.visit)
	c.returns(s)
	for _, gone := range []string{operatorSDK + "version", operatorSDK + "pkg/metrics", operatorSDK + "pkg/kube-metrics"} {
		if name := f.importName(gone); name != "" && mentions(s, name) {
			c.ok = false
		}
	}
	if !c.ok {
		return f.text(s), false
	}
	for o := range c.declared {
		carried[o] = true
	}
	part := &goFile{src: []byte(f.text(s)), edits: c.edits}
	return strings.ReplaceAll(string(part.spliced()), "pflag.", "flag."), true
}

// scaffoldFuncs are functions of old main programs that the new one needs not.
func scaffoldFuncs() []string {
	return []string{"printVersion", "addMetrics", "serveCRMetrics", "getWatchNamespace"}
}

func isScaffoldName(name string) bool {
	return slices.Contains([]string{"metricsHost", "metricsPort", "operatorMetricsPort", "log", "setupLog", "scheme"}, name)
}

// leader finds leader.Become.
func (m *migration) leader(f *goFile, s ast.Stmt, p *mainParts) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		if f.calls(call, operatorSDK+"pkg/leader", "Become") != nil || f.calls(call, leaderLib, "Become") != nil {
			found = true
			if text, ok := stringLiteral(call.Args[1]); ok {
				p.lock = strconv.Quote(text)
			} else {
				p.lock = strconv.Quote(m.projectName() + "-lock")
			}
		}
		return true
	})
	return found
}

// schemeCall finds statements that add the types of another project to the
// manager's scheme.
func (m *migration) schemeCall(f *goFile, s ast.Stmt, p *mainParts) bool {
	if i, ok := s.(*ast.IfStmt); ok {
		if i.Init == nil {
			return false
		}
		s = i.Init
	}
	var call *ast.CallExpr
	switch s := s.(type) {
	case *ast.AssignStmt:
		if len(s.Rhs) == 1 {
			call, _ = s.Rhs[0].(*ast.CallExpr)
		}
	case *ast.ExprStmt:
		call, _ = s.X.(*ast.CallExpr)
	}
	if call == nil || len(call.Args) != 1 || squeeze(f.text(call.Args[0])) != "mgr.GetScheme()" {
		return false
	}
	text := f.text(call.Fun)
	pkg, _, ok := strings.Cut(text, ".")
	spec, imported := p.imports[pkg]
	if !ok || !imported {
		return false
	}
	if spec.path == m.module+"/pkg/apis" {
		return true
	}
	if to := renamedPackages()[spec.path]; to != "" {
		p.imports[pkg] = importSpec{to, pkg}
	}
	p.schemes = append(p.schemes, text+"(scheme)")
	return true
}

// isScaffoldStatement says whether a statement of main is one that the
// scaffolds of v0.x, or those of go/v2 and go/v3, wrote, by what it calls.
func (m *migration) isScaffoldStatement(f *goFile, s ast.Stmt) bool {
	if _, isDecl := s.(*ast.DeclStmt); isDecl {
		return false
	}
	if c, _ := f.flagOf(s); c != nil {
		return false
	}
	scaffolded, called := true, false
	ast.Inspect(s, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		called = called || ok
		if ok && !m.isScaffoldCall(f, call) {
			scaffolded = false
		}
		return scaffolded
	})
	text := squeeze(f.text(s))
	return scaffolded && (called || hasAnyPrefix(text, "options.Namespace=", "options.NewCache=", "opts:=zap.Options{", "namespace=", "servicePorts:=[]", "services:=[]*"))
}

// isScaffoldCall knows the functions that scaffolds of main called.
func (m *migration) isScaffoldCall(f *goFile, call *ast.CallExpr) bool {
	text := squeeze(f.text(call.Fun))
	known := []string{
		"printVersion", "addMetrics", "serveCRMetrics", "getWatchNamespace", "flag.Parse", "pflag.Parse", "pflag.CommandLine.AddFlagSet", "pflag.CommandLine.AddGoFlagSet",
		"zap.FlagSet", "zap.Logger", "zap.New", "zap.UseDevMode", "zap.UseFlagOptions", "opts.BindFlags", "logf.SetLogger", "logf.ZapLogger",
		"os.Exit", "config.GetConfig", "context.TODO", "context.Background",
		"manager.New", "apis.AddToScheme", "controller.AddToManager", "mgr.GetScheme", "mgr.Start", "signals.SetupSignalHandler",
		"ctrl.SetLogger", "ctrl.NewManager", "ctrl.GetConfigOrDie", "ctrl.SetupSignalHandler", "ctrl.ConfigFile", "options.AndFrom", "options.AndFromOrDie", "webhook.NewServer",
		"cache.MultiNamespacedCacheBuilder", "strings.Split", "strings.Contains", "fmt.Sprintf", "err.Error", "errors.Is",
		"runtime.Version", "restmapper.NewDynamicRESTMapper", "ready.NewFileReady", "r.Set", "r.Unset",
	}
	if slices.Contains(known, text) || hasAnyPrefix(text, "log.", "setupLog.") {
		return true
	}
	switch {
	case strings.HasSuffix(text, "SetupWebhookWithManager"):
		return m.ownWebhook(text)
	case strings.HasPrefix(text, "ctrl.ConfigFile()."):
		return strings.HasSuffix(text, ".AtPath")
	case text == "mgr.AddHealthzCheck" || text == "mgr.AddReadyzCheck":
		return len(call.Args) == 2 && squeeze(f.text(call.Args[1])) == "healthz.Ping"
	}
	pkg, _, _ := strings.Cut(text, ".")
	for _, spec := range f.tree.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err == nil && localName(spec, p) == pkg {
			return strings.HasPrefix(p, operatorSDK) || strings.HasSuffix(p, "/pkg/runtime/log") || p == crLog
		}
	}
	return false
}
