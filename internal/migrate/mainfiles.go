package migrate

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/clierr"
)

// freeCommand refuses projects with Go files where the new main program goes.
func (m *migration) freeCommand() error {
	for _, name := range inDir(m.files, path.Dir(newMain)) {
		if path.Ext(name) == ".go" {
			return clierr.Failedf("move the package to another directory first, with the imports of it", "%s is in cmd, where the new main program goes", name)
		}
	}
	return nil
}

// mainFiles carries the declarations of the old main program and the files
// beside it over to cmd.
func (m *migration) mainFiles(name string, parts *mainParts) error {
	for _, other := range inDir(m.files, path.Dir(name)) {
		if other == name || path.Ext(other) != ".go" || !m.isOfProgram(other) {
			continue
		}
		if err := m.goFile(other, m.inCommand(path.Base(other)), markFlags, markManagers, markEmbeds); err != nil {
			return err
		}
	}
	return m.mainDecls(name, parts)
}

// inCommand is where a file goes in cmd: under its name, if that is not taken.
func (m *migration) inCommand(base string) string {
	for {
		name := path.Join(path.Dir(newMain), base)
		if _, taken := m.out[name]; !taken && !hasFile(m.files, name) {
			return name
		}
		base = "main_" + base
	}
}

// isOfProgram says whether a file is of the main program that it lies beside,
// and no program or list of tools of its own.
func (m *migration) isOfProgram(name string) bool {
	f, err := parseGo(name, m.files[name].data)
	if err != nil {
		return false // it is told when the rest of the code is read
	}
	if pkg := f.tree.Name.Name; pkg != "main" && pkg != "main_test" || f.function("main") != nil {
		return false
	}
	for line := range strings.Lines(string(f.src[:f.offset(f.tree.Package)])) {
		if expr, err := constraint.Parse(strings.TrimSpace(line)); err == nil && !expr.Eval(isBuilt) {
			return false
		}
	}
	return true
}

// isBuilt says whether a program may be built with a tag. There are tags for
// what is never a part of it.
func isBuilt(tag string) bool { return !slices.Contains([]string{"ignore", "mage", "tools"}, tag) }

// mainDecls keeps the declarations of the user's own in a file beside the new
// main program.
func (m *migration) mainDecls(name string, parts *mainParts) error {
	if parts.decls == "" {
		m.drop(name, "%s is in its place", newMain)
		return nil
	}
	imports := ""
	if parts.embeds() {
		imports += "\t_ \"embed\"\n"
	}
	for _, spec := range slices.Concat(parts.used(parts.decls, false), parts.dotsOf("package main\n"+parts.decls)) {
		imports += "\t" + strings.TrimSpace(spec.name+" "+strconv.Quote(spec.path)) + "\n"
	}
	if imports != "" {
		imports = "\nimport (\n" + imports + ")\n"
	}
	to := m.inCommand("manager.go")
	// The text stands in for the old main program while it is carried over.
	old := m.files[name]
	m.files[name] = file{[]byte("package main\n" + imports + parts.decls), 0o644}
	err := m.goFile(name, to, markFlags, markManagers, markEmbeds)
	m.files[name] = old
	o := m.out[to]
	o.touched = true
	m.out[to] = o
	return err
}

// embeds says whether a declaration has files in it.
func (p *mainParts) embeds() bool {
	return strings.Contains(p.decls, "//go:embed ") && slices.ContainsFunc(p.blank, func(s importSpec) bool { return s.path == "embed" })
}

// dotsOf are the imports into the file's own names, for a text that uses names
// which it does not declare.
func (p *mainParts) dotsOf(text string) []importSpec {
	f, err := parseGo(newMain, []byte(text))
	if err != nil || !slices.ContainsFunc(f.tree.Unresolved, (*ast.Ident).IsExported) {
		return nil
	}
	return p.dots
}

// unnamed are the imports without a name that the new main program lacks. It
// has the logins of kubeconfigs itself, all of them.
func (p *mainParts) unnamed(text string) []importSpec {
	out := p.dotsOf(text)
	for _, s := range p.blank {
		if !strings.HasPrefix(s.path, "k8s.io/client-go/plugin/pkg/client/auth") && !strings.HasPrefix(s.path, operatorSDK) && s.path != "embed" {
			out = append(out, s)
		}
	}
	return out
}

// markEmbeds marks what names files beside the old main program.
func markEmbeds(f *goFile) {
	for _, group := range f.tree.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				f.todo(c, "the files that go:embed names are found beside this one: move them to %s", path.Dir(newMain))
			}
		}
	}
}

// rulePrefix is how markers of rules begin.
const rulePrefix = "+kubebuilder:rbac:"

// readRules finds the markers of rules that go with no declaration.
func (p *mainParts) readRules(f *goFile) {
	for _, group := range f.tree.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(strings.TrimLeft(c.Text, "/ \t"), rulePrefix) && !strings.Contains(p.decls, c.Text) && !slices.Contains(p.rules, c.Text) {
				p.rules = append(p.rules, c.Text)
			}
		}
	}
}

// mainRules writes the markers of the old main program into a file with the
// controllers, where the generator reads them whether the command is built or
// not.
func (m *migration) mainRules() error {
	if len(m.rules) == 0 {
		return nil
	}
	name := "internal/controller/rbac.go"
	for base := "rbac.go"; ; base = "main_" + base {
		name = path.Join(path.Dir(name), base)
		if _, taken := m.out[name]; !taken {
			break
		}
	}
	m.put(name, fmt.Appendf(nil, "%spackage controller\n\n%s\n", m.header(), strings.Join(m.rules, "\n")))
	return nil
}
