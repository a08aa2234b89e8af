package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	crCache   = "sigs.k8s.io/controller-runtime/pkg/cache"
	crConfig  = "sigs.k8s.io/controller-runtime/pkg/config"
	crWebhook = "sigs.k8s.io/controller-runtime/pkg/webhook"
)

// managerVariable is the name of the options in the new main program.
const managerVariable = "managerOptions"

// optionReader carries the options that the old main program gave its manager
// over to the new one.
type optionReader struct {
	m        *migration
	file     *goFile
	parts    *mainParts
	carried  map[*variable]bool
	variable *variable // the options, where they have one
}

// option is what becomes of one: lines for the new main program, empty for what
// that has in its own way. ok is false for what has no successor.
type option struct {
	text  string
	phase int
	ok    bool
}

// read reads a statement that makes the options or changes them, and says
// whether it is one.
func (r *optionReader) read(s ast.Stmt) bool {
	f := r.file
	if lit := optionsLiteral(f, s); lit != nil {
		a, ok := s.(*ast.AssignStmt)
		if !ok || !r.isDirect(a, lit) {
			return false
		}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				r.add(kv, f.text(kv.Key), kv.Value)
			}
		}
		if literalOf(a.Rhs[0]) == lit {
			if id, ok := a.Lhs[0].(*ast.Ident); ok {
				r.variable = id.Obj
			}
		}
		return true
	}
	if r.variable == nil || !uses(s, map[*variable]bool{r.variable: true}) {
		return false
	}
	if a, ok := s.(*ast.AssignStmt); ok {
		if key := r.field(a); key != "" {
			r.add(a, key, a.Rhs[0])
			return true
		}
	}
	return r.readBlock(s)
}

// isDirect says whether an assignment makes the options, or the manager of
// them.
func (r *optionReader) isDirect(a *ast.AssignStmt, lit *ast.CompositeLit) bool {
	if len(a.Rhs) != 1 {
		return false
	}
	call, ok := a.Rhs[0].(*ast.CallExpr)
	if !ok {
		return literalOf(a.Rhs[0]) == lit
	}
	return len(call.Args) == 2 && call.Args[1] == lit && (r.file.calls(call, crRoot, "NewManager") != nil || r.file.calls(call, crManager, "New") != nil)
}

// field is the option that an assignment sets, empty for any other.
func (r *optionReader) field(a *ast.AssignStmt) string {
	if len(a.Lhs) != 1 || len(a.Rhs) != 1 || a.Tok != token.ASSIGN {
		return ""
	}
	if sel, ok := a.Lhs[0].(*ast.SelectorExpr); ok {
		if id, ok := sel.X.(*ast.Ident); ok && id.Obj == r.variable {
			return sel.Sel.Name
		}
	}
	return ""
}

// readBlock carries a statement that sets options somewhere inside of it, such
// as under a condition.
func (r *optionReader) readBlock(s ast.Stmt) bool {
	instead, options, text := map[ast.Node]string{}, 0, ""
	inner := *r // knows what the statement declares
	inner.carried = maps.Clone(r.carried)
	declaredIn(s, inner.carried)
	ast.Inspect(s, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || r.field(a) == "" {
			return true
		}
		o := inner.option(r.field(a), a.Rhs[0])
		if !o.ok || o.text != "" && o.phase != withOptions {
			return true
		}
		options++
		text += o.text
		instead[a] = strings.TrimSpace(o.text)
		return true
	})
	switch {
	case options == 0:
		return false // the manager is made of them, or they are read from a file
	case text == "":
		return true // the namespaces to watch, by the scaffold's variables
	}
	l := leftover{file: r.file.name, first: r.file.line(s.Pos()), last: r.file.line(s.End()), phase: withOptions}
	l.text, l.carried = r.file.carry(s, r.carried, r.parts, false, instead)
	r.parts.left = append(r.parts.left, l)
	return true
}

// add takes one option over, or marks it alone.
func (r *optionReader) add(at ast.Node, key string, e ast.Expr) {
	o := r.option(key, e)
	if o.ok && o.text == "" {
		return
	}
	l := leftover{file: r.file.name, first: r.file.line(at.Pos()), last: r.file.line(at.End()), phase: o.phase, carried: o.ok, text: strings.TrimSpace(o.text)}
	if !o.ok {
		l.phase, l.text, l.option = withOptions, r.file.text(at), key
	}
	r.parts.left = append(r.parts.left, l)
}

// option finds out what becomes of an option.
func (r *optionReader) option(key string, e ast.Expr) option {
	if r.isScaffolds(key, e) {
		return option{ok: true}
	}
	if flag := flagOfOption()[key]; flag != "" {
		if _, isLiteral := e.(*ast.BasicLit); isLiteral || r.file.text(e) == "true" {
			r.parts.flags[flag] = r.file.text(e)
			return option{ok: true}
		}
	}
	value, ok := r.file.carry(e, r.carried, r.parts, false, nil)
	switch key {
	case "Controller", "NewCache", "ClientBuilder", "NewClient", "Metrics", "WebhookServer":
		return r.structured(key, e)
	case "MapperProvider":
		return option{}
	}
	if !ok {
		return option{}
	}
	if slices.Contains(sameOptions(), key) {
		return option{managerVariable + "." + key + " = " + value, withOptions, true}
	}
	return r.renamed(key, value)
}

// isScaffolds says whether an option has the value that the scaffolds gave it,
// by the names of their variables and flags.
func (r *optionReader) isScaffolds(key string, e ast.Expr) bool {
	text := squeeze(r.file.text(e))
	if id, ok := e.(*ast.Ident); ok && r.file.isOfPackage(id) && !isScaffoldName(id.Name) {
		return false // it bears the name by chance
	}
	switch key {
	case "Scheme":
		return text == "scheme"
	case "Namespace":
		return slices.Contains([]string{`""`, "namespace", "watchNamespace"}, text) || strings.Contains(text, "WATCH_NAMESPACE")
	case "NewCache":
		return strings.HasPrefix(text, "cache.MultiNamespacedCacheBuilder(") && (strings.Contains(text, "amespace,") || strings.HasSuffix(text, "(namespaces)"))
	case "MetricsBindAddress":
		return text == "metricsAddr" || text == `"0"` || strings.HasPrefix(text, "fmt.Sprintf(")
	case "MapperProvider":
		return strings.HasSuffix(text, "restmapper.NewDynamicRESTMapper") || strings.HasPrefix(text, "apiutil.New")
	case "LeaderElection":
		return text == "enableLeaderElection" || text == "false"
	case "HealthProbeBindAddress":
		return text == "probeAddr"
	case "Port":
		return text == "9443"
	case "WebhookServer":
		return text == "webhookServer"
	case "Metrics":
		return text == "metricsServerOptions"
	case "TLSOpts":
		return text == "tlsOpts"
	}
	return false
}

// flagOfOption are the flags of the new main program that stand for options.
func flagOfOption() map[string]string {
	return map[string]string{
		"LeaderElectionID": "leader-election-id", "LeaderElection": "leader-elect", "HealthProbeBindAddress": "health-probe-bind-address",
		"Port": "webhook-port", "MetricsBindAddress": "metrics-bind-address",
	}
}

// sameOptions are options that have the same name and type today.
func sameOptions() []string {
	return []string{
		"Scheme", "Logger", "LeaderElection", "LeaderElectionID", "LeaderElectionNamespace", "LeaderElectionResourceLock", "LeaderElectionConfig",
		"LeaderElectionReleaseOnCancel", "LeaderElectionResourceLockInterface", "LeaseDuration", "RenewDeadline", "RetryPeriod",
		"HealthProbeBindAddress", "ReadinessEndpointName", "LivenessEndpointName", "PprofBindAddress", "BaseContext", "EventBroadcaster",
		"GracefulShutdownTimeout", "Cache", "Client",
	}
}

// renamed are options that have another name today.
func (r *optionReader) renamed(key, value string) option {
	set := func(format string, args ...any) option {
		return option{fmt.Sprintf(format, args...), withOptions, true}
	}
	const o = managerVariable
	switch key {
	case "SyncPeriod":
		return set("%s.Cache.SyncPeriod = %s", o, value)
	case "DryRunClient":
		return set("dryRun := %s\n\t%s.Client.DryRun = &dryRun", value, o)
	case "ClientDisableCacheFor":
		return r.uncached(value + "...")
	case "Namespace":
		return set("if namespace := %s; namespace != \"\" {\n\t\t%s.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}\n\t}", value, o)
	case "MetricsBindAddress":
		return set("%s.Metrics.BindAddress = %s", o, value)
	case "Port", "Host", "CertDir", "TLSOpts":
		return set("if server, ok := %s.WebhookServer.(*webhook.DefaultServer); ok {\n\t\tserver.Options.%s = %s\n\t}", o, key, value)
	}
	return option{}
}

// uncached are objects that are read without the cache.
func (r *optionReader) uncached(objects string) option {
	const list = managerVariable + ".Client.Cache.DisableFor"
	return option{fmt.Sprintf("%s = append(%s, %s)", list, list, objects), withOptions, true}
}

// structured are options whose parts went to several places.
func (r *optionReader) structured(key string, e ast.Expr) option {
	call, _ := e.(*ast.CallExpr)
	switch lit := r.literalIn(e); {
	case key == "Controller" && lit != nil:
		return r.controllerOptions(lit)
	case key == "NewCache" && call != nil && callee(call) == "MultiNamespacedCacheBuilder" && len(call.Args) == 1:
		return r.namespaces(call.Args[0])
	case key == "NewCache" && call != nil && callee(call) == "BuilderWithOptions" && lit != nil:
		return r.fields(lit, map[string]string{"Resync": "Cache.SyncPeriod", "SelectorsByObject": "Cache.ByObject", "Mapper": "", "Scheme": ""})
	case key == "NewCache" && call == nil:
		if text, ok := r.file.carry(e, r.carried, r.parts, false, nil); ok {
			return option{managerVariable + ".NewCache = " + text, withOptions, true}
		}
	case (key == "ClientBuilder" || key == "NewClient") && call != nil && callee(call) == "WithUncached":
		return r.objects(call.Args)
	case key == "NewClient" && call != nil && callee(call) == "ClientBuilderWithOptions" && lit != nil:
		return r.fields(lit, map[string]string{"CacheUnstructured": "Client.Cache.Unstructured", "UncachedObjects": "Client.Cache.DisableFor"})
	case key == "Metrics" && lit != nil:
		return r.fields(lit, map[string]string{"BindAddress": "", "SecureServing": "", "TLSOpts": "", "FilterProvider": "",
			"CertDir": "", "CertName": "", "KeyName": "", "ExtraHandlers": "Metrics.ExtraHandlers"})
	case key == "WebhookServer" && lit != nil:
		return r.server(lit)
	}
	return option{}
}

// literalIn is the literal that an expression is, or that it gives to a call.
func (r *optionReader) literalIn(e ast.Expr) *ast.CompositeLit {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		e = call.Args[0]
	}
	return literalOf(e)
}

// objects are those of a list of arguments.
func (r *optionReader) objects(list []ast.Expr) option {
	var texts []string
	for _, e := range list {
		text, ok := r.file.carry(e, r.carried, r.parts, false, nil)
		if !ok {
			return option{}
		}
		texts = append(texts, text)
	}
	return r.uncached(strings.Join(texts, ", "))
}

// namespaces are those to watch.
func (r *optionReader) namespaces(e ast.Expr) option {
	text, ok := r.file.carry(e, r.carried, r.parts, false, nil)
	const o = managerVariable + ".Cache.DefaultNamespaces"
	return option{fmt.Sprintf("%s = map[string]cache.Config{}\n\tfor _, namespace := range %s {\n\t\t%s[namespace] = cache.Config{}\n\t}", o, text, o), withOptions, ok}
}

// fields takes the fields of a literal to their places in the options. An empty
// place is one that the new main program fills itself.
func (r *optionReader) fields(lit *ast.CompositeLit, places map[string]string) option {
	var lines []string
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return option{}
		}
		place, known := places[r.file.text(kv.Key)]
		if place == "" && known {
			continue
		}
		text, ok := r.file.carry(kv.Value, r.carried, r.parts, false, nil)
		if !known || !ok {
			return option{}
		}
		lines = append(lines, fmt.Sprintf("%s.%s = %s", managerVariable, place, todaysCache(text)))
	}
	return option{strings.Join(lines, "\n\t"), withOptions, true}
}

// todaysCache names the types of a cache's selectors as they are called today.
func todaysCache(text string) string {
	text = regexp.MustCompile(`\bcache\.SelectorsByObject\{`).ReplaceAllString(text, "map[client.Object]cache.ByObject{")
	return regexp.MustCompile(`\bcache\.ObjectSelector\{`).ReplaceAllString(text, "cache.ByObject{")
}

// server are the options of the webhook server.
func (r *optionReader) server(lit *ast.CompositeLit) option {
	var lines []string
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return option{}
		}
		o := r.option(r.file.text(kv.Key), kv.Value)
		if !o.ok {
			return o
		}
		if o.text != "" {
			lines = append(lines, o.text)
		}
	}
	return option{strings.Join(lines, "\n\t"), withOptions, true}
}

// controllerOptions are those for all controllers.
func (r *optionReader) controllerOptions(lit *ast.CompositeLit) option {
	var lines []string
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return option{}
		}
		text, ok := r.file.carry(kv.Value, r.carried, r.parts, false, nil)
		key := r.file.text(kv.Key)
		if key == "CacheSyncTimeout" && r.isPointer(kv.Value) {
			if text = "*" + text; strings.HasPrefix(text, "*&") {
				text = text[2:]
			}
		}
		if !ok || !slices.Contains([]string{"GroupKindConcurrency", "CacheSyncTimeout", "RecoverPanic"}, key) {
			return option{}
		}
		lines = append(lines, fmt.Sprintf("%s.Controller.%s = %s", managerVariable, key, text))
	}
	return option{strings.Join(lines, "\n\t"), withOptions, true}
}

// isPointer says whether an option was of the old type, where it was a pointer.
func (r *optionReader) isPointer(e ast.Expr) bool {
	if u, ok := e.(*ast.UnaryExpr); ok {
		return u.Op == token.AND
	}
	return r.file.importName(crConfig) == "" // its type there is no pointer
}

// apply puts the options into a new main program: other values of flags, and
// statements between the options and the manager.
func (p *mainParts) apply(text string) string {
	for _, flag := range slices.Sorted(maps.Keys(p.flags)) {
		known := regexp.MustCompile(`(&o\.\w+, "` + flag + `", )("[^"]*"|\w+)(,)`)
		text = known.ReplaceAllString(text, "${1}"+strings.ReplaceAll(p.flags[flag], "$", "$$")+"${3}")
	}
	const direct, made = "opts.manager(namespaces)", "ctrl.NewManager(ctrl.GetConfigOrDie(), "
	lines := p.text(withOptions)
	if lines != "" {
		text = strings.Replace(text, "\tmgr, err := "+made+direct+")", "\t"+managerVariable+" := "+direct+"\n\tmgr, err := "+made+managerVariable+")", 1)
		text = insertBefore(text, "\tmgr, err := ctrl.NewManager(", lines)
	}
	if strings.Contains(p.text(beforeManager)+lines, restConfig) {
		text = strings.Replace(text, made, "ctrl.NewManager("+restConfig+", ", 1)
		place := "\tmgr, err := ctrl.NewManager("
		if strings.Contains(text, "\t"+managerVariable+" := ") {
			place = "\t" + managerVariable + " := "
		}
		text = insertBefore(text, place, "\t"+restConfig+" := ctrl.GetConfigOrDie()\n")
	}
	return text
}

// optionsLiteral is the literal of the manager's options in a statement.
func optionsLiteral(f *goFile, s ast.Stmt) *ast.CompositeLit {
	var found *ast.CompositeLit
	ast.Inspect(s, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok && (f.is(lit.Type, crManager, "Options") || f.is(lit.Type, crRoot, "Options")) {
			found = lit
		}
		return true
	})
	return found
}
