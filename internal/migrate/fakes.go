package migrate

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// fakeClients builds the clients of tests by today's builder. kinds are the
// project's own, by import path of their packages: their status is a
// subresource, which the client must be told.
func fakeClients(kinds map[string][]string) pass {
	return func(f *goFile) {
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			scheme, objects := "", call.Args
			switch {
			case f.calls(call, crFake, "NewFakeClient") != nil:
			case f.calls(call, crFake, "NewFakeClientWithScheme") != nil && len(call.Args) > 0:
				scheme, objects = ".WithScheme("+f.Text(call.Args[0])+")", call.Args[1:]
			default:
				return true
			}
			list := make([]string, len(objects))
			for i, o := range objects {
				list[i] = f.Text(o)
			}
			with := strings.Join(list, ", ")
			if call.Ellipsis.IsValid() {
				with += "..."
			}
			f.Replace(call, fmt.Sprintf("%s.NewClientBuilder()%s%s.WithRuntimeObjects(%s).Build()",
				f.ImportName(crFake), scheme, f.statusOf(kinds), with))
			return true
		})
	}
}

// statusOf names the project's kinds that the file speaks of.
func (f *goFile) statusOf(kinds map[string][]string) string {
	var list []string
	for importPath, names := range kinds {
		for _, member := range f.members(importPath) {
			text := fmt.Sprintf("&%s.%s{}", f.ImportName(importPath), member)
			if slices.Contains(names, member) && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return ".WithStatusSubresource(" + strings.Join(list, ", ") + ")"
}

// loggers carries over how loggers are made.
func loggers(f *goFile) {
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if c := f.calls(call, crLog, "ZapLogger"); c != nil && len(c.Args) == 1 {
			f.Replace(c, fmt.Sprintf("%s.New(%s.UseDevMode(%s))", f.Need(crZap, ""), f.Need(crZap, ""), f.Text(c.Args[0])))
		}
		if c := f.calls(call, sdkZap, "Logger"); c != nil {
			// The same name, from the package that has it today.
			local := f.ImportName(sdkZap)
			if others := slices.DeleteFunc(f.members(sdkZap), func(m string) bool { return m == "Logger" }); len(others) == 0 {
				f.DropImport(sdkZap)
				f.AddImport(crZap, local)
				f.Replace(c, local+".New()")
			}
		}
		return true
	})
}
