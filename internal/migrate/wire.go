package migrate

import (
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

const (
	newMain   = "cmd/main.go"
	oldMain   = "cmd/manager/main.go"
	leaderLib = operatorLib + "/leader"
)

// wireMain writes cmd/main.go: the scaffold's, with the user's types and
// controllers.
func (m *migration) wireMain() error {
	if err := m.freeCommand(); err != nil {
		return err
	}
	name, err := m.mainFile(oldMain)
	if err != nil {
		return err
	}
	p, err := m.readMain(name)
	if err != nil {
		return err
	}
	if err := m.readSchemes(p); err != nil {
		return err
	}
	added, err := m.addedFuncs(p)
	if err != nil {
		return err
	}
	m.wireControllers(p, added)
	return m.writeMain(p)
}

// writeMain puts what the old main program gives into the new one, at its
// markers.
func (m *migration) writeMain(p *oldProgram) error {
	f := p.target
	schemes := ""
	for _, s := range p.schemes {
		schemes += "\tutilruntime.Must(" + s + ")\n"
	}
	if err := p.elect(); err != nil {
		return err
	}
	for _, part := range []struct{ marker, lines string }{{"scheme", schemes}, {"builder", p.setup}} {
		if marker := "// +kubebuilder:scaffold:" + part.marker; f.InsertAbove(marker, part.lines) != nil {
			return noAnchor(marker)
		}
	}
	for _, spec := range p.used {
		f.AddImport(spec.path, spec.name)
	}
	text, err := f.Apply()
	if err != nil {
		return err
	}
	rewrite := relayout.Rewrite{Packages: m.packages(), Aliases: map[string]string{path.Join(m.module, "internal/controller"): "controller"}}
	if text, err = rewrite.Go(newMain, text); err != nil {
		return err
	}
	if text, err = transform(newMain, text, slices.Concat(commonPasses(nil), []pass{m.compat})...); err != nil {
		return err
	}
	formatted, err := format.Source(text)
	if err != nil {
		return fmt.Errorf("%s: the migrated text is not Go: %w", newMain, err)
	}
	m.put(newMain, formatted)
	m.mainFiles(p)
	return nil
}

// elect makes the lease of the old main program the default of the new one's
// flag: two leaders must not work at once while one follows the other.
func (p *oldProgram) elect() error {
	if p.election == "" {
		return nil
	}
	const name = "leader-election-id"
	f := p.target
	for n := range goedit.Each[*ast.CallExpr](f.Tree) {
		if c := f.flagCall(n); c != nil && c.name == name {
			f.Replace(c.value, p.election)
		}
	}
	if !f.Edited() {
		return noAnchor("the flag " + name)
	}
	return nil
}

// noAnchor is the error of a scaffold that lacks a place which migrate fills.
func noAnchor(what string) error {
	return clierr.Failedf("report this as a bug: the scaffold and 'mysdk migrate' do not go together", "the scaffold has no %s", what)
}

// wireControllers adds what sets up the controllers and what else was added to
// the manager.
func (m *migration) wireControllers(p *oldProgram, added []addedFunc) {
	for _, c := range m.controllers {
		if !m.registered(c) {
			m.general = append(m.general, Note{Text: fmt.Sprintf("The controller of %s was not added to the manager, and is not now either.", c.where())})
			continue
		}
		t := m.moves[c.where()]
		name := m.controllerName(c)
		p.used = append(p.used, called(name, path.Join(m.module, t.dir)))
		p.setup += m.setUp(c, name)
	}
	for _, fn := range added {
		at := fn.importPath
		if moved, ok := m.packages()[at]; ok {
			at = moved.Path
		}
		p.used = append(p.used, called(fn.pkg, at))
		p.setup += fmt.Sprintf("\tif err := %s.%s(mgr); err != nil {\n\t\tsetupLog.Error(err, \"Failed to add to the manager\", \"function\", %q)\n\t\tos.Exit(1)\n\t}\n", fn.pkg, fn.name, fn.text)
	}
}

// called is the import of a package under a name.
func called(name, importPath string) importSpec {
	if name == path.Base(importPath) {
		name = ""
	}
	return importSpec{importPath, name}
}

// controllerName is the name by which the new main program imports a
// controller's package.
func (m *migration) controllerName(c *controller) string {
	t := m.moves[c.where()]
	if t.dir == "internal/controller" {
		return t.name
	}
	return strings.TrimSuffix(strings.NewReplacer("-", "", "_", "", ".", "").Replace(c.dir), "controller") + "controller"
}

// setUp are the lines that add one controller to the manager.
func (m *migration) setUp(c *controller, pkg string) string {
	call := pkg + ".Add(mgr)"
	if c.setup != "" {
		fields := ""
		for _, f := range []struct{ name, value string }{{"Client", "mgr.GetClient()"}, {"Scheme", "mgr.GetScheme()"}} {
			if slices.Contains(slices.Collect(maps.Values(c.fields)), f.name) && !slices.ContainsFunc(c.extra, func(s setting) bool { return s.field == f.name }) {
				fields += fmt.Sprintf("\t\t%s: %s,\n", f.name, f.value)
			}
		}
		if fields != "" {
			fields = "\n" + fields + "\t"
		}
		call = fmt.Sprintf("(&%s.%s{%s}).SetupWithManager(mgr)", pkg, c.newType, fields)
	}
	lines := controllerSetup(call, c.dir)
	if c.setup == "" && c.given != "" {
		lines = "\t" + todoLine("Add%s has more parameters than the manager: pass what the old main program did, see %s", c.given, keptMain) + "\n" + lines
	}
	return lines
}

// controllerSetup are the lines that set a controller up by a call.
func controllerSetup(call, name string) string {
	return fmt.Sprintf("\tif err := %s; err != nil {\n\t\tsetupLog.Error(err, \"Failed to create controller\", \"controller\", %q)\n\t\tos.Exit(1)\n\t}\n", call, name)
}

// registered says whether pkg/controller adds a controller to the manager.
func (m *migration) registered(c *controller) bool {
	importPath := path.Join(m.module, "pkg/controller", c.dir)
	for f := range m.parse(inDir(m.files, "pkg/controller")) {
		if slices.Contains(f.members(importPath), "Add") {
			return true
		}
	}
	return false
}

// readSchemes reads what pkg/apis adds to the scheme besides the project's own
// types.
func (m *migration) readSchemes(p *oldProgram) error {
	for _, name := range inDir(m.files, "pkg/apis") {
		if path.Ext(name) != ".go" {
			continue
		}
		f, err := parseGo(name, m.files[name].data)
		if err != nil {
			return err
		}
		list := &oldProgram{m: m, file: f, target: p.target, imports: map[string]string{}}
		for _, spec := range f.Tree.Imports {
			list.imports[goedit.LocalName(spec)] = goedit.PathOf(spec)
		}
		for call := range goedit.Each[*ast.CallExpr](f.Tree) {
			if f.Text(call.Fun) != "append" || len(call.Args) < 2 || f.Text(call.Args[0]) != "AddToSchemes" {
				continue
			}
			for _, arg := range call.Args[1:] {
				if _, isFunc := arg.(*ast.SelectorExpr); !isFunc || !list.addScheme(arg) {
					p.setup += markedLines(name, f, arg, "added types to the scheme")
				}
			}
		}
		p.schemes, p.used = append(p.schemes, list.schemes...), append(p.used, list.used...)
	}
	return nil
}
