package migrate

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// options reads the options of the manager in a statement, and lists those that
// no scaffold wrote.
func (p *oldProgram) options(s ast.Stmt) bool {
	var lit *ast.CompositeLit
	for l := range goedit.Each[*ast.CompositeLit](s) {
		if p.file.isAny(l.Type, "Options", crManager, crRoot) {
			lit = l
			break
		}
	}
	if lit == nil {
		return false
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		switch value, isText := "", false; {
		case !ok:
			p.leave(e, e)
		case p.file.Text(kv.Key) == "LeaderElectionID":
			if value, isText = stringLiteral(kv.Value); isText {
				p.election = strconv.Quote(value)
			} else {
				p.leave(e, e)
			}
		case !p.isScaffoldOption(kv):
			p.leave(e, e)
		}
	}
	return true
}

// isScaffoldOption says whether an option of the manager is one that scaffolds
// of main wrote, with nothing in it but flags and known values.
func (p *oldProgram) isScaffoldOption(kv *ast.KeyValueExpr) bool {
	known := []string{"Scheme", "Namespace", "MetricsBindAddress", "HealthProbeBindAddress", "Host", "Port", "LeaderElection",
		"LeaderElectionReleaseOnCancel", "Metrics", "WebhookServer", "NewCache", "BindAddress", "TLSOpts", "SecureServing", "FilterProvider"}
	usual := regexp.MustCompile(`^("(|0|:8080|:8443|:8081|0\.0\.0\.0|%s:%d)"|9443|8383|8686)$`)
	if p.file.Text(kv.Key) == "MapperProvider" {
		return strings.HasSuffix(p.file.Text(kv.Value), ".NewDynamicRESTMapper")
	}
	ok := true
	ast.Inspect(kv, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			ok = ok && slices.Contains(known, p.file.Text(n.Key))
		case *ast.BasicLit:
			ok = ok && usual.MatchString(n.Value)
		case *ast.FuncLit:
			ok = false
		case *ast.CallExpr:
			ok = ok && p.isScaffoldCall(n)
		}
		return ok
	})
	return ok
}

// flagCall is a call that defines a flag.
type flagCall struct {
	name  string
	value ast.Expr // the default
}

// flagCall reads a call that defines a flag, nil for any other.
func (f *goFile) flagCall(n ast.Node) *flagCall {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) < 3 || !hasAnyPrefix(f.Text(call.Fun), "flag.", "pflag.", "fs.") {
		return nil
	}
	args := call.Args
	if strings.Contains(callee(call), "Var") {
		args = args[1:]
	}
	name, ok := stringLiteral(args[0])
	if !ok {
		return nil
	}
	return &flagCall{name, args[1]}
}

// isScaffolds says whether a statement is one that the scaffolds of v0.x, or
// those of go/v2 and go/v3, wrote, by what it declares and calls.
func (p *oldProgram) isScaffolds(s ast.Stmt) bool {
	if d, ok := s.(*ast.DeclStmt); ok {
		g, ok := d.Decl.(*ast.GenDecl)
		return ok && !slices.ContainsFunc(g.Specs, func(spec ast.Spec) bool {
			v, ok := spec.(*ast.ValueSpec)
			return !ok || !areScaffoldNames(v.Names)
		})
	}
	called := false
	for call := range goedit.Each[*ast.CallExpr](s) {
		if called = true; !p.isScaffoldCall(call) || p.logsOwn(call) {
			return false
		}
	}
	text := squeeze(p.file.Text(s))
	return called || hasAnyPrefix(text, "options.Namespace=", "options.NewCache=", "opts:=zap.Options{", "namespace=", "servicePorts:=[]", "services:=[]*")
}

// logsOwn says whether a call logs something of another package of the
// project's.
func (p *oldProgram) logsOwn(call *ast.CallExpr) bool {
	return hasAnyPrefix(squeeze(p.file.Text(call.Fun)), "log.", "setupLog.") && slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
		for local, at := range p.imports {
			if strings.HasPrefix(at, p.m.module+"/") && mentions(e, local) {
				return true
			}
		}
		return false
	})
}

// isScaffoldCall knows the functions that scaffolds of main called.
func (p *oldProgram) isScaffoldCall(call *ast.CallExpr) bool {
	text := squeeze(p.file.Text(call.Fun))
	known := []string{
		"printVersion", "addMetrics", "serveCRMetrics", "getWatchNamespace", "flag.Parse", "pflag.Parse", "pflag.CommandLine.AddFlagSet", "pflag.CommandLine.AddGoFlagSet",
		"zap.FlagSet", "zap.Logger", "zap.New", "zap.UseDevMode", "zap.UseFlagOptions", "opts.BindFlags", "logf.SetLogger", "logf.ZapLogger",
		"os.Exit", "config.GetConfig", "context.TODO", "context.Background", "runtime.NewScheme",
		"manager.New", "mgr.GetScheme", "mgr.Start", "signals.SetupSignalHandler",
		"ctrl.SetLogger", "ctrl.NewManager", "ctrl.GetConfigOrDie", "ctrl.SetupSignalHandler", "ctrl.ConfigFile", "options.AndFrom", "options.AndFromOrDie", "webhook.NewServer",
		"cache.MultiNamespacedCacheBuilder", "strings.Split", "strings.Contains", "fmt.Sprintf", "err.Error", "errors.Is",
		"runtime.Version", "restmapper.NewDynamicRESTMapper", "ready.NewFileReady", "r.Set", "r.Unset",
	}
	if slices.Contains(known, text) || hasAnyPrefix(text, "log.", "setupLog.") {
		return true
	}
	if c := p.file.flagCall(call); c != nil {
		return slices.Contains([]string{"metrics-addr", "enable-leader-election", "metrics-bind-address", "health-probe-bind-address", "leader-elect", "config",
			"metrics-secure", "enable-http2"}, c.name)
	}
	switch {
	case strings.HasSuffix(text, "SetupWebhookWithManager"):
		return p.m.ownWebhook(text)
	case strings.HasPrefix(text, "ctrl.ConfigFile()."):
		return strings.HasSuffix(text, ".AtPath")
	case text == "mgr.AddHealthzCheck" || text == "mgr.AddReadyzCheck":
		return len(call.Args) == 2 && squeeze(p.file.Text(call.Args[1])) == "healthz.Ping"
	}
	if id, ok := call.Fun.(*ast.Ident); ok && id.Obj != nil {
		fn, ok := id.Obj.Decl.(*ast.FuncDecl)
		return ok && fn.Body != nil && p.runs(fn.Body) // what it does is read there
	}
	pkg, _, _ := strings.Cut(text, ".")
	at := p.imports[pkg]
	return strings.HasPrefix(at, operatorSDK) || strings.HasSuffix(at, "/pkg/runtime/log") || at == crLog
}
