package migrate

import (
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/relayout"
)

const (
	newMain   = "cmd/main.go"
	oldMain   = "cmd/manager/main.go"
	leaderLib = operatorLib + "/leader"
)

// wireMain writes cmd/main.go: the scaffold's, with the user's types,
// controllers and statements.
func (m *migration) wireMain() error {
	if err := m.freeCommand(); err != nil {
		return err
	}
	parts, err := m.readMain(oldMain)
	if err != nil {
		return err
	}
	if err := m.readSchemes(parts); err != nil {
		return err
	}
	added, err := m.addedFuncs(parts)
	if err != nil {
		return err
	}
	imports, setup := m.wireControllers(added)
	text := insertBefore(string(m.rendered[newMain]), "\t// +kubebuilder:scaffold:imports", imports)
	if parts.lock != "" {
		text = m.leaderForLife(text, parts.lock, setup)
	} else {
		text = insertBefore(text, "\t// +kubebuilder:scaffold:builder", setup)
	}
	if err := m.finishMain(text, parts); err != nil {
		return err
	}
	return m.mainFiles(oldMain, parts)
}

// finishMain puts what the old main program did into the new one.
func (m *migration) finishMain(text string, parts *mainParts) error {
	m.rules = parts.rules
	text = parts.starts(parts.apply(m.wireSchemes(text, parts)))
	places := [][]string{{"\tflag.Parse()\n"}, {"\t" + managerVariable + " := ", "\tmgr, err := ctrl.NewManager("}, {"\tif err := leadForLife(", "\t// +kubebuilder:scaffold:builder"}}
	for i, place := range places {
		lines := parts.text(i)
		for _, line := range place {
			if strings.Contains(text, line) {
				text = insertBefore(text, line, lines)
				break
			}
		}
	}
	text, err := m.addImports(text, parts)
	if err != nil {
		return err
	}
	rewrite := relayout.Rewrite{Packages: m.packages(), Aliases: map[string]string{path.Join(m.module, "internal/controller"): "controller"}}
	out, err := rewrite.Go(newMain, []byte(text))
	if err != nil {
		return err
	}
	if out, err = transform(newMain, out, slices.Concat(commonPasses(nil), []pass{m.compat})...); err != nil {
		return err
	}
	formatted, err := format.Source(out)
	if err != nil {
		return fmt.Errorf("%s: the migrated text is not Go: %w", newMain, err)
	}
	m.put(newMain, formatted)
	return nil
}

// addImports adds what the old main program's part of the new one needs.
func (m *migration) addImports(text string, parts *mainParts) (string, error) {
	specs := parts.used(parts.text(beforeFlags)+parts.text(beforeManager)+parts.text(withManager)+parts.text(withOptions), true)
	if strings.Contains(text, "context.Background()") {
		specs = append(specs, importSpec{path: "context"})
	}
	for _, spec := range append(specs, parts.unnamed(text)...) {
		if moved, ok := m.packages()[spec.path]; ok && strings.Contains(text, strconv.Quote(moved.Path)) {
			continue // it is there under its new path
		}
		out, err := addImport(newMain, []byte(text), spec)
		if err != nil {
			return "", err
		}
		text = string(out)
	}
	return text, nil
}

// insertBefore puts lines above a line of a text.
func insertBefore(text, line, lines string) string {
	at := strings.Index(text, line)
	if at < 0 {
		return text
	}
	return text[:at] + lines + text[at:]
}

// wireControllers are the lines that set up the controllers and what else was
// added to the manager, and the imports for them.
func (m *migration) wireControllers(added []addedFunc) (imports, setup string) {
	lines := map[string]bool{}
	for _, c := range m.controllers {
		if !m.registered(c) {
			m.general = append(m.general, Note{Text: fmt.Sprintf("The controller of %s was not added to the manager, and is not now either.", c.where())})
			continue
		}
		t := m.moves[c.where()]
		name := m.controllerName(c)
		lines[importLine(name, path.Join(m.module, t.dir))] = true
		setup += m.setUp(c, name)
	}
	setup += m.wireFuncs(added, lines)
	return strings.Join(slices.Sorted(maps.Keys(lines)), ""), setup
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
	return fmt.Sprintf("\tif err := %s; err != nil {\n\t\tsetupLog.Error(err, \"Failed to create controller\", \"controller\", %q)\n\t\tos.Exit(1)\n\t}\n", call, c.dir)
}

// registered says whether pkg/controller adds a controller to the manager.
func (m *migration) registered(c *controller) bool {
	importPath := path.Join(m.module, "pkg/controller", c.dir)
	for _, name := range inDir(m.files, "pkg/controller") {
		f, err := parseGo(name, m.files[name].data)
		if err == nil && slices.Contains(f.members(importPath), "Add") {
			return true
		}
	}
	return false
}

// readSchemes reads what pkg/apis adds to the scheme besides the project's own
// types.
func (m *migration) readSchemes(parts *mainParts) error {
	for _, name := range inDir(m.files, "pkg/apis") {
		if path.Ext(name) != ".go" {
			continue
		}
		f, err := parseGo(name, m.files[name].data)
		if err != nil {
			return err
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || f.text(call.Fun) != "append" || len(call.Args) < 2 || f.text(call.Args[0]) != "AddToSchemes" {
				return true
			}
			for _, arg := range call.Args[1:] {
				m.addScheme(f, arg, parts)
			}
			return true
		})
	}
	return nil
}

// addScheme takes over one function that adds types to the scheme, unless it
// is of the project's own types.
func (m *migration) addScheme(f *goFile, arg ast.Expr, parts *mainParts) {
	root := arg
	for {
		sel, ok := root.(*ast.SelectorExpr)
		if !ok {
			break
		}
		root = sel.X
	}
	id, ok := root.(*ast.Ident)
	if !ok {
		parts.left = append(parts.left, leftover{file: f.name, first: f.line(arg.Pos()), last: f.line(arg.End()), text: f.text(arg), phase: 2})
		return
	}
	for _, spec := range f.tree.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil || localName(spec, p) != id.Name {
			continue
		}
		if m.isOwnTypes(p) {
			return
		}
		if to := renamedPackages()[p]; to != "" {
			p = to
		}
		parts.imports[id.Name] = importSpec{p, id.Name}
		parts.schemes = append(parts.schemes, f.text(arg)+"(scheme)")
		return
	}
}

// wireSchemes adds types of other projects to the scheme.
func (m *migration) wireSchemes(text string, parts *mainParts) string {
	lines, imports := "", ""
	for _, s := range parts.schemes {
		if line := "\tutilruntime.Must(" + s + ")\n"; !strings.Contains(text+lines, line) {
			lines += line
		}
		pkg, _, _ := strings.Cut(s, ".")
		if spec, ok := parts.imports[pkg]; ok {
			line := fmt.Sprintf("\t%s %q\n", pkg, spec.path)
			if !strings.Contains(imports, line) {
				imports += line
			}
		}
	}
	text = insertBefore(text, "\t// +kubebuilder:scaffold:imports", imports)
	return insertBefore(text, "\t// +kubebuilder:scaffold:scheme", lines)
}
