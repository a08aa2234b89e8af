package v4

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// mainWiring is what cmd/main.go needs for an API, a controller, or both.
type mainWiring struct {
	apiPath, apiAlias               string // empty path: no API to register
	controllerPath, controllerAlias string // empty path: no controller to set up
	reconciler, controllerName      string
	repo                            string // the project's module
	certsPath                       string // empty: nobody in the operator makes certificates
	migrationPath                   string // empty: nobody in the operator migrates stored objects
	webhookPath, webhookAlias       string // empty path: no webhook to set up
	webhookKind                     string
	manager                         string // variable in main.go
}

// mainWiring says what this run wires.
func (s *createAPISubcommand) mainWiring(d data) mainWiring {
	w := mainWiring{repo: d.Repo}
	if !s.core { // client-go's scheme has what is built in
		w.apiPath, w.apiAlias = s.resource.Path, d.ImportAlias
	}
	if !s.doController {
		return w
	}
	w.controllerPath, w.controllerAlias = d.Repo+"/"+s.controllerDir(), "controller"
	if s.byGroup() {
		w.controllerAlias = groupName(d.Resource.GVK) + "controller"
	}
	w.reconciler, w.controllerName = d.Reconciler, d.ControllerName
	return w
}

// insertion is code for the place above a marker.
type insertion struct{ marker, code string }

// wireMain adds to main.go what is missing in it, above its markers. What all webhooks
// share goes above the first of them and of the controllers, whatever came first.
func wireMain(text string, w mainWiring) (string, error) {
	f, err := parseGo(mainPath, text)
	if err != nil {
		return "", err
	}
	tree := f.Tree
	w.manager = cmp.Or(f.ResultOf("sigs.k8s.io/controller-runtime", "NewManager"), "mgr")
	var todo []insertion
	if w.apiPath != "" {
		name, line := importName(f, w.apiPath, w.apiAlias)
		todo = append(todo, insertion{"imports", line}, insertion{"scheme", "utilruntime.Must(" + name + ".AddToScheme(scheme))"})
	}
	if w.controllerPath != "" {
		name, line := importName(f, w.controllerPath, w.controllerAlias)
		todo = append(todo, insertion{"imports", line})
		if !uses(tree, name, w.reconciler) {
			todo = append(todo, insertion{"builder", w.setup(name)})
		}
	}
	lines := strings.Split(text, "\n")
	call := func(first int, importPath, alias, function, failure string, keysAndValues ...string) {
		if importPath == "" {
			return
		}
		name, line := importName(f, importPath, alias)
		todo = append(todo, insertion{"imports", line})
		if uses(tree, name, function) {
			return
		}
		code := webhookSetup(name+"."+function+"("+w.manager+")", failure, keysAndValues...)
		if first >= 0 {
			lines[first] = code + "\n" + lines[first]
			return
		}
		todo = append(todo, insertion{"builder", code})
	}
	first := firstSetup(f, lines)
	call(first, w.certsPath, path.Base(w.certsPath), "SetupWithManager", "Failed to set up the webhook certificates")
	call(first, w.migrationPath, path.Base(w.migrationPath), "SetupWithManager", "Failed to set up the migration of stored objects")
	call(-1, w.webhookPath, w.webhookAlias, "Setup"+w.webhookKind+"WebhookWithManager", "Failed to create webhook", "webhook", w.webhookKind)

	todo = slices.DeleteFunc(todo, func(i insertion) bool { return i.code == "" || hasCode(lines, i.code) })
	if err := checkMarkers(lines, todo, f.Fset, tree); err != nil {
		return "", err
	}
	for _, i := range todo {
		at := slices.IndexFunc(lines, func(l string) bool { return isMarker(l, i.marker) })
		if i.marker == "imports" && at > 0 && !strings.Contains(lines[at-1], `"`+w.repo+"/") {
			i.code = "\n" + i.code // the project's own imports stand apart
		}
		lines = slices.Insert(lines, at, i.code)
	}
	formatted, err := format.Source([]byte(strings.Join(lines, "\n")))
	if err != nil {
		return "", fmt.Errorf("wiring %s: %w", mainPath, err)
	}
	return string(formatted), nil
}

// firstSetup is the index of the line with which the first statement begins that sets up
// a controller or a webhook, with the comment above it, in the function with the marker
// for more of them; -1 where there is none.
func firstSetup(f *goedit.File, lines []string) int {
	marker := 1 + slices.IndexFunc(lines, func(l string) bool { return isMarker(l, "builder") })
	for _, decl := range f.Tree.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || !hasMarker(f.Tree, fn, "builder") {
			continue
		}
		for _, stmt := range fn.Body.List {
			if f.Line(stmt.End()) >= marker || !goedit.Has(stmt, func(s *ast.SelectorExpr) bool {
				return strings.HasPrefix(s.Sel.Name, "Setup") && strings.HasSuffix(s.Sel.Name, "WithManager")
			}) {
				continue
			}
			at := f.Fset.Position(stmt.Pos())
			first := at.Line - 1
			if strings.TrimSpace(lines[first][:at.Column-1]) != "" {
				return -1 // it shares the line
			}
			for strings.HasPrefix(strings.TrimSpace(lines[first-1]), "//") {
				first--
			}
			return first
		}
	}
	return -1
}

// uses says whether code names something of a package: it is wired, however the user
// has edited what stands around it.
func uses(tree *ast.File, pkg, name string) bool {
	return goedit.Has(tree, func(s *ast.SelectorExpr) bool {
		x, isIdent := s.X.(*ast.Ident)
		return isIdent && x.Name == pkg && s.Sel.Name == name
	})
}

// webhookSetup is the statement that calls something which only a manager with
// webhooks needs.
func webhookSetup(call, failure string, keysAndValues ...string) string {
	text := strconv.Quote(failure)
	for _, s := range keysAndValues {
		text += ", " + strconv.Quote(s)
	}
	return fmt.Sprintf(`if os.Getenv("ENABLE_WEBHOOKS") != "false" {
if err := %s; err != nil {
setupLog.Error(err, %s)
os.Exit(1)
}
}`, call, text)
}

// setup is the statement that registers the controller with the manager. It
// sets the two fields that every reconciler has: one from a tutorial, pasted
// over ours, is wired as well.
func (w mainWiring) setup(controller string) string {
	return fmt.Sprintf(`if err := (&%s.%s{
Client: %[3]s.GetClient(),
Scheme: %[3]s.GetScheme(),
}).SetupWithManager(%[3]s); err != nil {
setupLog.Error(err, "Failed to create controller", "controller", %[4]q)
os.Exit(1)
}`, controller, w.reconciler, w.manager, w.controllerName)
}

// importName returns the name under which the file imports a package, and the
// line to add, empty when it does already. A name that something else has, a
// variable of a function with a marker included, gets a suffix.
func importName(f *goedit.File, importPath, alias string) (name, line string) {
	if name = f.ImportName(importPath); goedit.IsName(name) {
		return name, ""
	}
	local := func(id *ast.Ident) bool { return id.Obj != nil && id.Name == name }
	declared := func(d ast.Decl) bool {
		names := goedit.DeclaredNames(d)
		return slices.Contains(names, name) || hasMarker(f.Tree, d, "builder", "scheme") && goedit.Has(d, local)
	}
	name = alias
	for n := 2; f.ImportPath(name) != "" || slices.ContainsFunc(f.Tree.Decls, declared); n++ {
		name = alias + "pkg" + strconv.Itoa(n)
	}
	if name == path.Base(importPath) {
		return name, strconv.Quote(importPath)
	}
	return name, name + " " + strconv.Quote(importPath)
}

// hasMarker says whether code is inserted into a declaration, at one of the markers.
func hasMarker(tree *ast.File, d ast.Decl, markers ...string) bool {
	for _, g := range tree.Comments {
		for _, c := range g.List {
			if d.Pos() < c.Pos() && c.Pos() < d.End() && slices.ContainsFunc(markers, func(m string) bool { return isMarker(c.Text, m) }) {
				return true
			}
		}
	}
	return false
}

// hasCode says whether the lines hold the code, apart from indentation and
// the alignment of fields.
func hasCode(lines []string, code string) bool {
	want := strings.Split(code, "\n")
	normal := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for i := range lines {
		if len(lines)-i >= len(want) && slices.EqualFunc(lines[i:i+len(want)], want, func(a, b string) bool {
			return normal(a) == normal(b)
		}) {
			return true
		}
	}
	return false
}

// checkMarkers names the first marker that is gone, the place where it was in
// the scaffold, and what to add there by hand.
func checkMarkers(lines []string, todo []insertion, files *token.FileSet, tree *ast.File) error {
	for _, i := range todo {
		if slices.ContainsFunc(lines, func(l string) bool { return isMarker(l, i.marker) }) {
			continue
		}
		var code []string
		for _, other := range todo {
			if other.marker == i.marker {
				code = append(code, other.code)
			}
		}
		return usage(fmt.Sprintf("put the marker back, or add this there by hand, and run the command again:\n%s", strings.Join(code, "\n")),
			"%s:%d: the marker %q is missing", mainPath, markerLine(files, tree, i.marker), "// "+markerPrefix+i.marker)
	}
	return nil
}

// markerLine is the line where a marker belongs: the end of the imports, of
// init, or the place in main before the manager starts.
func markerLine(files *token.FileSet, tree *ast.File, marker string) int {
	at := tree.Name.End()
	function := map[string]string{"scheme": "init", "builder": "main"}[marker]
	for _, decl := range tree.Decls {
		switch decl := decl.(type) {
		case *ast.GenDecl:
			if decl.Tok == token.IMPORT && function == "" {
				at = cmp.Or(decl.Rparen, decl.End())
			}
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Body != nil && decl.Name.Name == function {
				at = decl.Body.Rbrace
			}
		}
	}
	return files.Position(at).Line
}
