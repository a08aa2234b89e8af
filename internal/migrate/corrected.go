package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// correction is what an error of the compiler, with the types that it names,
// shows to be the change that its place needs.
type correction struct {
	error lazy.Regexp
	make  func(f *goFile, at ast.Expr, m []string)
}

var corrections = []correction{
	{lazy.Delayed(`^cannot use .*"k8s\.io/api/core/v1"\.(?:Volume)?ResourceRequirements\) as "k8s\.io/api/core/v1"\.((?:Volume)?ResourceRequirements) value`), retypeResources},
	{lazy.Delayed(`^cannot use .*(?:untyped (?:string|int) constant).* as \*(?:"([^"]+)"\.)?(\w+) value`), pointTo},
	{lazy.Delayed(`^cannot use .*\{…?\} \(value of (?:struct )?type ("[^"]+"\.\w+|\w+\.\w+)\) as \*("[^"]+"\.\w+|\w+\.\w+) value in struct literal`), pointToLiteral},
	{lazy.Delayed(`"k8s\.io/api/core/v1"\.Probe has no field or method Handler\b`), func(f *goFile, at ast.Expr, _ []string) { f.rename(at, "ProbeHandler") }},
	{lazy.Delayed(`^invalid operation: cannot receive from non-channel .* interface type context\.Context\)`), func(f *goFile, at ast.Expr, _ []string) { f.Insert(at.End(), ".Done()") }},
	{lazy.Delayed(`"k8s\.io/[\w/.-]+"\.\w+ has no field or method ClusterName\b`), readNothing},
	{lazy.Delayed(`^not enough arguments in call to .* have \((.*)\) want \("?context"?\.Context(?:, (.*))?\)$`), giveContext},
	{lazy.Delayed(`^too many arguments in call to .* have \("?context"?\.Context, (.*)\) want \((.*)\)$`), takeContext},
	{lazy.Delayed(`^cannot use .* \((?:variable|value) of type \*("[^"]+"\.\w+|\w+\.\w+)\) as ("[^"]+"\.\w+|\w+\.\w+) value in argument`), passValue},
	{lazy.Delayed(`^cannot use nil as "k8s\.io/apimachinery/pkg/apis/meta/v1"\.(\w+Options) value in argument`), passEmpty},
	{lazy.Delayed(`^cannot (?:use|convert) .* \((?:variable|value) of interface type (?:runtime|"k8s\.io/apimachinery/pkg/runtime")\.Object\) (?:as|to type) (?:client|"sigs\.k8s\.io/controller-runtime/pkg/client")\.(Object|ObjectList)\b`), assertObject},
	{lazy.Delayed(`^cannot use .*\bof (?:\S+ )?type \S*List\) as (?:client|"sigs\.k8s\.io/controller-runtime/pkg/client")\.ListOption value in argument to .*\.List\b`), listFirst},
	{lazy.Delayed(`^cannot use &.* \(value of type \*handler\.EventHandler\) as handler\.TypedEventHandler\[|type \*handler\.EventHandler of &.* does not match inferred type handler\.TypedEventHandler\[`), func(f *goFile, at ast.Expr, _ []string) { f.dropAddress(at) }},
	{lazy.Delayed(`EnqueueRequestForOwner \(value of type func.* is not a type$`), callOwnerHandler},
}

// Corrected is the text of a file with the places changed whose errors leave no
// doubt about what they have to be.
func Corrected(name string, src []byte, problems []Problem) ([]byte, error) {
	done := false // the places are those of the text as it was
	return transform(name, src, func(f *goFile) {
		for _, p := range problems {
			for _, c := range corrections {
				m := c.error.FindStringSubmatch(p.Text)
				if m == nil || done || p.Line < 1 {
					continue
				}
				if at := f.expressionAt(p.Line, p.Column); at != nil {
					c.make(f, at, m)
				}
			}
		}
		done = true
	})
}

// expressionAt is the outermost expression that begins at a place, the selector
// whose selected name does, or the call that ends there; nil without one.
func (f *goFile) expressionAt(line, column int) ast.Expr {
	file := f.Fset.File(f.Tree.FileStart)
	if line > file.LineCount() {
		return nil
	}
	at := file.LineStart(line) + token.Pos(column-1)
	var found ast.Expr
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		sel, selects := n.(*ast.SelectorExpr)
		call, calls := n.(*ast.CallExpr)
		switch _, pair := n.(*ast.KeyValueExpr); {
		case n == nil || found != nil || !ok || pair:
		case e.Pos() == at, selects && sel.Sel.Pos() == at, calls && call.Rparen == at:
			found = e
		}
		return found == nil
	})
	return found
}

// rename gives what a selector selects another name.
func (f *goFile) rename(at ast.Expr, name string) {
	if sel, ok := at.(*ast.SelectorExpr); ok {
		f.Replace(sel.Sel, name)
	}
}

// retypeResources makes the resources of a container those of a volume claim,
// or the other way round. They have the same limits and requests.
func retypeResources(f *goFile, at ast.Expr, m []string) {
	switch e := at.(type) {
	case *ast.CompositeLit:
		if goedit.Field(e, "Claims") == nil && e.Type != nil {
			f.rename(e.Type, m[1])
		}
	case *ast.Ident, *ast.SelectorExpr:
		if pkg := f.ImportName(coreV1); goedit.IsName(pkg) {
			f.Replace(e, fmt.Sprintf("%s.%s{Limits: %[3]s.Limits, Requests: %[3]s.Requests}", pkg, m[1], f.Text(e)))
		}
	}
}

// pointTo makes a constant a pointer to a value of the type that is wanted.
func pointTo(f *goFile, at ast.Expr, m []string) {
	name := m[2]
	if m[1] != "" {
		pkg := f.ImportName(m[1])
		if !goedit.IsName(pkg) {
			return
		}
		name = pkg + "." + name
	}
	f.Replace(at, fmt.Sprintf("new(%s(%s))", name, f.Text(at)))
}

// pointToLiteral points to a value that was in a field itself.
func pointToLiteral(f *goFile, at ast.Expr, m []string) {
	if _, ok := at.(*ast.CompositeLit); ok && m[1] == m[2] {
		f.Insert(at.Pos(), "&")
	}
}

// readNothing puts what ClusterName always was in the place of reading it.
func readNothing(f *goFile, at ast.Expr, _ []string) {
	if !goedit.Has(f.Tree, func(a *ast.AssignStmt) bool { return slices.Contains(a.Lhs, at) }) {
		f.Replace(at, `""`)
	}
}

// giveContext puts a context before the arguments of a call that lacks one, and
// behind them the options that methods of typed clients take besides.
func giveContext(f *goFile, at ast.Expr, m []string) {
	call, ok := at.(*ast.CallExpr)
	if !ok || strings.Contains(m[0], "func(") || strings.Contains(m[1], "context.Context") {
		return
	}
	have, want := typesOf(m[1]), typesOf(m[2])
	if len(want) > len(have) && strings.HasPrefix(want[len(want)-1], "...") {
		want = want[:len(want)-1]
	}
	options := ""
	if len(want) == len(have)+1 {
		if name, ok := strings.CutPrefix(want[len(have)], `"`+metaV1+`".`); ok && strings.HasSuffix(name, "Options") {
			options = name
		}
	}
	if len(want) != len(have) && options == "" {
		return
	}
	ctx := f.contextAt(call)
	if len(have) > 0 {
		ctx += ", "
	}
	f.Insert(call.Lparen+1, ctx)
	if options != "" {
		f.Insert(call.Rparen, fmt.Sprintf(", %s.%s{}", f.Need(metaV1, "metav1"), options))
	}
}

func typesOf(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ", ")
}

// contextAt is the context that the functions around a node were given, else
// one for code that has none.
func (f *goFile) contextAt(n ast.Node) string {
	name := ""
	ast.Inspect(f.Tree, func(at ast.Node) bool {
		var t *ast.FuncType
		switch fn := at.(type) {
		case nil:
			return false
		case *ast.FuncDecl:
			t = fn.Type
		case *ast.FuncLit:
			t = fn.Type
		}
		if t != nil && at.Pos() <= n.Pos() && n.End() <= at.End() {
			for _, p := range t.Params.List {
				if f.Is(p.Type, "context", "Context") && len(p.Names) == 1 && goedit.IsName(p.Names[0].Name) {
					name = p.Names[0].Name
				}
			}
		}
		return true
	})
	if name == "" {
		return f.Need("context", "") + ".TODO()"
	}
	return name
}

// takeContext takes out the context that a call got like those of client-go,
// where the method is one of the project's own that takes none.
func takeContext(f *goFile, at ast.Expr, m []string) {
	for call := range goedit.Each[*ast.CallExpr](f.Tree) {
		if len(call.Args) > 1 && slices.Contains(call.Args, at) && f.isFreshContext(call.Args[0]) && m[1] == m[2] {
			f.ReplaceRange(call.Args[0].Pos(), call.Args[1].Pos(), "")
		}
	}
}

// passValue passes what options point to where they were passed by pointer.
func passValue(f *goFile, at ast.Expr, m []string) {
	if m[1] != m[2] || !strings.HasSuffix(m[1], "Options") || f.dropAddress(at) {
		return
	}
	switch at.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		f.Insert(at.Pos(), "*")
	}
}

// listFirst puts the list before its options, which it once came after.
func listFirst(f *goFile, at ast.Expr, _ []string) {
	for call := range goedit.Each[*ast.CallExpr](f.Tree) {
		switch {
		case len(call.Args) != 3 || call.Args[2] != at:
		case isNamed(call.Args[1], "nil"):
			f.ReplaceRange(call.Args[1].Pos(), at.Pos(), "")
		default:
			f.Replace(at, f.Text(call.Args[1]))
			f.Replace(call.Args[1], f.Text(at))
		}
	}
}

// passEmpty passes options in the place of a pointer to none.
func passEmpty(f *goFile, at ast.Expr, m []string) {
	f.Replace(at, fmt.Sprintf("%s.%s{}", f.Need(metaV1, "metav1"), m[1]))
}

// assertObject takes a runtime.Object for what the client takes: all objects that
// it ever took are. A function's parameter gets that type, and what others may
// have agreed on, such as a method's, is asserted to be of it.
func assertObject(f *goFile, at ast.Expr, m []string) {
	typ := f.Need(crClient, "") + "." + m[1]
	id, _ := at.(*ast.Ident)
	if fn := f.functionAround(at); fn != nil {
		for _, p := range fn.Type.Params.List {
			if id != nil && isParam(id, p) && len(p.Names) == 1 && fn.Recv == nil {
				f.Replace(p.Type, typ)
				return
			}
		}
		if goedit.Has(fn, func(id *ast.Ident) bool { return id.Obj != nil && strings.HasPrefix(typ, id.Name+".") }) {
			return // a variable has the package's name
		}
	}
	f.Insert(at.End(), ".("+typ+")")
}

// dropAddress makes &x x, and says whether it was that.
func (f *goFile) dropAddress(at ast.Expr) bool {
	address, ok := at.(*ast.UnaryExpr)
	if ok && address.Op == token.AND {
		f.ReplaceRange(at.Pos(), address.X.Pos(), "")
	}
	return ok
}

// callOwnerHandler makes a handler that was a literal by the function of today,
// where the manager is at hand.
func callOwnerHandler(f *goFile, at ast.Expr, _ []string) {
	fn := f.functionAround(at)
	if lit, ok := at.(*ast.CompositeLit); ok && fn != nil && f.managerParam(fn) != "" {
		f.Replace(lit, f.handlerText(lit, f.managerParam(fn)))
	}
}

// functionAround is the function that an expression is in, nil for none.
func (f *goFile) functionAround(at ast.Expr) *ast.FuncDecl {
	for fn := range f.Functions() {
		if fn.Pos() <= at.Pos() && at.End() <= fn.End() {
			return fn
		}
	}
	return nil
}
