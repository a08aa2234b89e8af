package migrate

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// fakeClients builds the clients of tests by today's builder. kinds are the
// project's own, by import path of their packages: their status is a
// subresource, which the client must be told.
func fakeClients(kinds map[string][]string) pass {
	return func(f *goFile) {
		for call := range goedit.Each[*ast.CallExpr](f.Tree) {
			scheme, objects := "", call.Args
			switch {
			case f.calls(call, crFake, "NewFakeClient") != nil:
			case f.calls(call, crFake, "NewFakeClientWithScheme") != nil && len(call.Args) > 0:
				scheme, objects = ".WithScheme("+f.Text(call.Args[0])+")", call.Args[1:]
			default:
				continue
			}
			with := strings.Join(f.texts(objects), ", ")
			if call.Ellipsis.IsValid() {
				with += "..."
			}
			f.Replace(call, fmt.Sprintf("%s.NewClientBuilder()%s%s.WithRuntimeObjects(%s).Build()",
				f.ImportName(crFake), scheme, f.statusOf(kinds), with))
		}
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
	for c := range goedit.Each[*ast.CallExpr](f.Tree) {
		if f.Is(c.Fun, crLog, "ZapLogger") && len(c.Args) == 1 {
			f.Replace(c, fmt.Sprintf("%s.New(%s.UseDevMode(%s))", f.Need(crZap, ""), f.Need(crZap, ""), f.Text(c.Args[0])))
		}
		// The same name, from the package that has it today.
		others := slices.ContainsFunc(f.members(sdkZap), func(m string) bool { return m != "Logger" })
		if local := f.ImportName(sdkZap); f.Is(c.Fun, sdkZap, "Logger") && !others {
			f.DropImport(sdkZap)
			f.AddImport(crZap, local)
			f.Replace(c, local+".New()")
		}
	}
}
