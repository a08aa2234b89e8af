package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/controllernames"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// controller is what the package of a single file has of the scaffold of old,
// and what becomes of it.
type controller struct {
	typ     string // name of the type with Reconcile
	newType string
	fields  map[string]string // of typ: old name to new one
}

// readController looks at the files of a package. A package without a
// Reconcile that takes a request and nothing else has no controller.
func readController(files map[string][]byte) (*controller, error) {
	c := &controller{fields: map[string]string{}}
	parsed := map[string]*goFile{}
	for name, src := range files {
		f, err := parseGo(name, src)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(name, "_test.go") {
			parsed[name] = f
		}
	}
	for _, f := range sortedFiles(parsed) {
		for fn := range f.Functions() {
			if f.isReconcile(fn) && c.typ == "" {
				c.typ = goedit.Receiver(fn)
			}
		}
	}
	if c.typ == "" {
		return nil, nil
	}
	c.rename(parsed)
	for _, f := range sortedFiles(parsed) {
		c.readFields(f)
	}
	return c, nil
}

func sortedFiles(files map[string]*goFile) []*goFile {
	var out []*goFile
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, files[name])
	}
	return out
}

// isReconcile says whether a method is Reconcile as it was before
// controller-runtime 0.7: without a context.
func (f *goFile) isReconcile(fn *ast.FuncDecl) bool {
	if fn.Name.Name != "Reconcile" || fn.Recv.NumFields() == 0 || fn.Type.Results.NumFields() != 2 {
		return false
	}
	list := fn.Type.Params.List
	return len(list) > 0 && f.isRequest(list[len(list)-1].Type) && fn.Type.Params.NumFields() <= 2
}

func (f *goFile) isRequest(e ast.Expr) bool {
	return f.Is(e, crReconcile, "Request") || f.Is(e, crRoot, "Request")
}

// rename chooses the name of the type: ReconcileMemcached is
// MemcachedReconciler today.
func (c *controller) rename(files map[string]*goFile) {
	c.newType = c.typ
	kind, ok := strings.CutPrefix(c.typ, "Reconcile")
	if !ok || kind == "" || kind == "r" {
		return
	}
	for _, f := range files {
		if f.Tree.Scope.Lookup(kind+"Reconciler") != nil {
			return
		}
	}
	c.newType = kind + "Reconciler"
}

// readFields finds the fields for the client and the scheme.
func (c *controller) readFields(f *goFile) {
	st := f.structOf(c.typ)
	if st == nil {
		return
	}
	for _, field := range st.Fields.List {
		for _, name := range field.Names {
			if f.Is(field.Type, crClient, "Client") && name.Name == "client" {
				c.fields["client"] = "Client"
			}
			star, ok := field.Type.(*ast.StarExpr)
			if ok && f.Is(star.X, apiRuntime, "Scheme") && name.Name == "scheme" {
				c.fields["scheme"] = "Scheme"
			}
			if f.Is(field.Type, crClient, "Client") && name.Name == "Client" || ok && f.Is(star.X, apiRuntime, "Scheme") && name.Name == "Scheme" {
				c.fields[name.Name] = name.Name
			}
		}
		if len(field.Names) == 0 && f.Is(field.Type, crClient, "Client") {
			c.fields["Client"] = "Client"
		}
	}
}

// structOf is the struct type of the name, nil where the file has none.
func (f *goFile) structOf(name string) *ast.StructType {
	for _, t := range f.Types() {
		if t.Name.Name == name {
			st, _ := t.Type.(*ast.StructType)
			return st
		}
	}
	return nil
}

func (f *goFile) function(name string) *ast.FuncDecl {
	for fn := range f.Functions() {
		if fn.Recv == nil && fn.Name.Name == name {
			return fn
		}
	}
	return nil
}

// typeOf is the type in the text of an empty value: &T{} or new(T).
func typeOf(value string) string {
	if t, ok := strings.CutPrefix(value, "new("); ok {
		return strings.TrimSuffix(t, ")")
	}
	return strings.TrimSuffix(strings.TrimPrefix(value, "&"), "{}")
}

// setupPass has the scaffold's main program, which calls SetupWithManager, set up
// a controller by its function Add.
func (c *controller) setupPass(f *goFile) {
	add := f.function("Add")
	if add == nil || f.managerParam(add) == "" || add.Type.Params.NumFields() != 1 {
		return
	}
	for fn := range f.Functions() {
		if fn.Name.Name == "SetupWithManager" && goedit.Receiver(fn) == c.newType {
			return
		}
	}
	f.Insert(add.End(), fmt.Sprintf("\n\n// SetupWithManager adds the controller to the manager.\nfunc (*%s) SetupWithManager(mgr %s) error { return Add(mgr) }",
		c.newType, f.Text(add.Type.Params.List[0].Type)))
}

// reconcileContexts gives Reconcile its context.
func reconcileContexts(f *goFile) {
	for fn := range f.Functions() {
		if f.isReconcile(fn) && fn.Type.Params.NumFields() == 1 {
			f.reconcileContext(fn)
		}
	}
}

// uniqueNames names the controllers of the project that would have the name of
// another one.
func (m *migration) uniqueNames(f *goFile) {
	if m.names == nil {
		var all []controllernames.Builder
		for f := range m.parse(m.ownCode()) {
			all = append(all, controllernames.Find(f.File)...)
		}
		m.names = controllernames.Choose(all)
	}
	m.names.Apply(f.File)
}

// reconcilerPass gives the type its new name and fields.
func (c *controller) reconcilerPass(f *goFile) {
	c.structPass(f)
	c.usePass(f)
}

// reconcileContext adds the context that the manager passes, and uses it.
func (f *goFile) reconcileContext(fn *ast.FuncDecl) {
	own := f.ownContext(fn.Body)
	name := "ctx"
	if own == nil && declares(fn.Body, "ctx") {
		name = "reconcileCtx"
	}
	if own != nil {
		f.RemoveLines(own)
	}
	if name == "reconcileCtx" && !f.usesFreshContext(fn.Body) {
		name = "_"
	}
	f.Insert(fn.Type.Params.Opening+1, name+" "+f.Need("context", "")+".Context, ")
	if len(fn.Type.Params.List[0].Names) == 0 {
		f.Insert(fn.Type.Params.List[0].Pos(), "_ ")
	}
	if name != "_" {
		f.freshContexts(fn.Body, name)
	}
}

// ownContext is the statement ctx := context.TODO() of a body.
func (f *goFile) ownContext(body *ast.BlockStmt) *ast.AssignStmt {
	for _, s := range body.List {
		a, ok := s.(*ast.AssignStmt)
		if ok && a.Tok == token.DEFINE && len(a.Lhs) == 1 && len(a.Rhs) == 1 && f.Text(a.Lhs[0]) == "ctx" && f.isFreshContext(a.Rhs[0]) {
			return a
		}
	}
	return nil
}

// structPass renames the fields for client and scheme; the client is embedded,
// as it is in the scaffold.
func (c *controller) structPass(f *goFile) {
	st := f.structOf(c.typ)
	if st == nil {
		return
	}
	embeds := slices.ContainsFunc(st.Fields.List, func(field *ast.Field) bool { return len(field.Names) == 0 })
	for _, field := range st.Fields.List {
		if len(field.Names) != 1 {
			continue
		}
		switch to := c.fields[field.Names[0].Name]; {
		case to == "" || to == field.Names[0].Name:
		case to == "Client" && !embeds:
			f.ReplaceRange(field.Pos(), field.Type.Pos(), "")
		default:
			f.Replace(field.Names[0], to)
		}
	}
}

// usePass renames the type and its fields where they are used, and the type
// in comments.
func (c *controller) usePass(f *goFile) {
	if word := regexp.MustCompile(`\b` + c.typ + `\b`); c.typ != c.newType {
		for _, group := range f.Tree.Comments {
			for _, line := range group.List {
				if word.MatchString(line.Text) {
					f.Replace(line, word.ReplaceAllString(line.Text, c.newType))
				}
			}
		}
	}
	others := map[*ast.Ident]bool{} // methods, and members of other packages
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil {
				others[n.Name] = true
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Obj == nil && f.ImportPath(id.Name) != "" {
				others[n.Sel] = true
			}
			if id, ok := n.X.(*ast.Ident); ok && c.isReconciler(f, id) {
				if to := c.fields[n.Sel.Name]; to != "" && to != n.Sel.Name {
					f.Replace(n.Sel, to)
				}
			}
		case *ast.CompositeLit:
			if id, ok := n.Type.(*ast.Ident); ok && (id.Name == c.typ || id.Name == c.newType) {
				c.literal(f, n)
			}
		case *ast.Ident:
			if n.Name == c.typ && c.typ != c.newType && !others[n] && (n.Obj == nil || n.Obj.Kind == ast.Typ) {
				f.Replace(n, c.newType)
			}
		}
		return true
	})
}

func (c *controller) literal(f *goFile, lit *ast.CompositeLit) {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if to := c.fields[f.Text(kv.Key)]; to != "" && to != f.Text(kv.Key) {
				f.Replace(kv.Key, to)
			}
		}
	}
}

// isReconciler says whether a variable is of the type, by its declaration.
func (c *controller) isReconciler(f *goFile, id *ast.Ident) bool {
	t := f.declaredType(id)
	return t != nil && slices.Contains([]string{c.typ, c.newType}, f.Text(t))
}
