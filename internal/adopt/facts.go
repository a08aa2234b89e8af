package adopt

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// facts are what the Go code of a project tells without being compiled. Places
// are written file:line.
type facts struct {
	types       map[string]string   // import path and name of a type -> place
	controllers map[string][]string // the same -> places of what reconciles it
	webhooks    map[string][]string // the same -> places of what sets its webhooks up
	namespaces  string              // where WATCH_NAMESPACE is read
	manager     string              // where the manager is made
	envtest     []string            // where test suites start a control plane
	existing    string              // where such a suite wants a cluster that is there
	tests       map[string]bool     // test files
}

// source is one file while it is looked at.
type source struct {
	*facts
	*goedit.File
	pkg string // import path
}

// scan reads all Go files. Those that do not parse are left out: the
// generators say what is wrong with them.
func scan(tree *relayout.Tree, module string) (*facts, error) {
	f := &facts{types: map[string]string{}, controllers: map[string][]string{}, webhooks: map[string][]string{}, tests: map[string]bool{}}
	return f, tree.EachGo(func(name string, data []byte) error {
		file, err := goedit.Parse(name, data)
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		s := source{f, file, path.Join(module, path.Dir(name))}
		if strings.HasSuffix(name, "_test.go") {
			s.tests[name] = true
			s.test()
			return nil
		}
		for _, d := range file.Tree.Decls {
			s.declaration(d)
		}
		return nil
	})
}

func (s source) place(n ast.Node) string { return fmt.Sprintf("%s:%d", s.Name, s.Line(n.Pos())) }

// test looks for suites that start a control plane.
func (s source) test() {
	ast.Inspect(s.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if s.Is(n.Type, "sigs.k8s.io/controller-runtime/pkg/envtest", "Environment") {
				s.envtest = append(s.envtest, s.place(n))
			}
		case *ast.KeyValueExpr:
			if goedit.TypeName(n.Key) == "UseExistingCluster" {
				s.existing = s.place(n)
			}
		}
		return true
	})
}

func (s source) declaration(d ast.Decl) {
	receiver := ""
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				s.types[s.pkg+"."+t.Name.Name] = s.place(t)
			}
		}
	case *ast.FuncDecl:
		if d.Recv != nil && len(d.Recv.List) == 1 {
			receiver = s.pkg + "." + goedit.TypeName(d.Recv.List[0].Type)
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Value == `"WATCH_NAMESPACE"` && s.namespaces == "" {
				s.namespaces = s.place(n)
			}
		case *ast.CallExpr:
			s.call(n, receiver)
		}
		return true
	})
}

// call recognizes what builds managers, controllers and webhooks.
func (s source) call(c *ast.CallExpr, receiver string) {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	var object ast.Expr
	switch name := sel.Sel.Name; {
	case name == "NewManager" && s.manager == "":
		s.manager = s.place(c)
		return
	case s.Is(sel, "sigs.k8s.io/controller-runtime/pkg/source", "Kind") && len(c.Args) > 2:
		s.watch(c, receiver)
		return
	case name == "For" && len(c.Args) > 0:
		object = c.Args[0]
	case name == "NewWebhookManagedBy" && len(c.Args) == 2:
		object = c.Args[1]
	default:
		return
	}
	kind := s.kind(object, receiver)
	switch builder(c) {
	case "NewControllerManagedBy", "ControllerManagedBy":
		s.controllers[kind] = append(s.controllers[kind], s.place(c))
	case "NewWebhookManagedBy", "WebhookManagedBy":
		s.webhooks[kind] = append(s.webhooks[kind], s.place(c))
	}
}

// watch recognizes a controller without a builder by what it watches for its own
// sake.
func (s source) watch(c *ast.CallExpr, receiver string) {
	object := c.Args[1]
	if conversion, ok := object.(*ast.CallExpr); ok && len(conversion.Args) == 1 { // client.Object(&v1.Kind{})
		object = conversion.Args[0]
	}
	const handlers = "sigs.k8s.io/controller-runtime/pkg/handler"
	if s.kind(c.Args[2], "") == handlers+".EnqueueRequestForObject" {
		kind := s.kind(object, receiver)
		s.controllers[kind] = append(s.controllers[kind], s.place(c))
	}
}

// builder is the name of the function that a chain of calls begins with.
func builder(c *ast.CallExpr) string {
	for {
		sel, ok := c.Fun.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		inner, ok := sel.X.(*ast.CallExpr)
		if !ok {
			return sel.Sel.Name
		}
		c = inner
	}
}

// kind is the import path and name of an object's type, as in &v1.Kind{} or
// the receiver r.
func (s source) kind(e ast.Expr, receiver string) string {
	if u, ok := e.(*ast.UnaryExpr); ok {
		e = u.X
	}
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return receiver
	}
	if sel, ok := lit.Type.(*ast.SelectorExpr); ok {
		return s.ImportPath(goedit.TypeName(sel.X)) + "." + sel.Sel.Name
	}
	return s.pkg + "." + goedit.TypeName(lit.Type)
}

// testsOf are the test files that go with those at the places.
func (f *facts) testsOf(places ...string) []string {
	var out []string
	for _, p := range places {
		name, _, _ := strings.Cut(p, ":")
		if name = strings.TrimSuffix(name, ".go") + "_test.go"; f.tests[name] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
