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
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			scheme, objects := "", call.Args
			switch {
			case f.calls(call, crFake, "NewFakeClient") != nil:
			case f.calls(call, crFake, "NewFakeClientWithScheme") != nil && len(call.Args) > 0:
				scheme, objects = ".WithScheme("+f.text(call.Args[0])+")", call.Args[1:]
			default:
				return true
			}
			list := make([]string, len(objects))
			for i, o := range objects {
				list[i] = f.text(o)
			}
			with := strings.Join(list, ", ")
			if call.Ellipsis.IsValid() {
				with += "..."
			}
			f.replace(call, fmt.Sprintf("%s.NewClientBuilder()%s%s.WithRuntimeObjects(%s).Build()",
				f.importName(crFake), scheme, f.statusOf(kinds), with))
			return true
		})
	}
}

// statusOf names the project's kinds that the file speaks of.
func (f *goFile) statusOf(kinds map[string][]string) string {
	var list []string
	for importPath, names := range kinds {
		for _, member := range f.members(importPath) {
			text := fmt.Sprintf("&%s.%s{}", f.importName(importPath), member)
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
	ast.Inspect(f.tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if c := f.calls(call, crLog, "ZapLogger"); c != nil && len(c.Args) == 1 {
			f.replace(c, fmt.Sprintf("%s.New(%s.UseDevMode(%s))", f.need(crZap, ""), f.need(crZap, ""), f.text(c.Args[0])))
		}
		if c := f.calls(call, sdkZap, "Logger"); c != nil {
			// The same name, from the package that has it today.
			local := f.importName(sdkZap)
			if len(f.members(sdkZap)) == 1 {
				f.dropImport(sdkZap)
				f.needs = append(f.needs, importSpec{crZap, aliasUnless(local, "zap")})
				f.replace(c, local+".New()")
			}
		}
		return true
	})
}

// aliasUnless is the name for an import, empty where it is the package's own.
func aliasUnless(local, own string) string {
	if local == own {
		return ""
	}
	return local
}
