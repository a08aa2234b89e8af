package migrate

import (
	"cmp"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// Rewrite brings single Go files of a project of today's layout to today's API,
// where they are: code that was copied from an old tutorial or project. The plan
// has those files, with their marks, and the change to them.
func Rewrite(o Options, names []string) (*Plan, error) {
	m := &migration{Options: o, layout: LayoutCurrent, files: map[string]file{}, out: map[string]output{}}
	if err := m.walk(""); err != nil {
		return nil, err
	}
	var err error
	if m.module, err = modulePath(m.files); err != nil {
		return nil, err
	}
	m.kindsInPlace()
	for _, name := range names {
		if path.Ext(name) != ".go" || !hasFile(m.files, name) {
			return nil, clierr.Usagef("name Go files, relative to the project's root", "%s is not a Go file of the project", name)
		}
		if err := m.rewrite(name, names); err != nil {
			return nil, err
		}
	}
	p := &Plan{From: m.layout}
	for _, name := range slices.Sorted(maps.Keys(m.out)) {
		p.Files = append(p.Files, m.entry(name))
	}
	return p, cmp.Or(m.err, m.written(p))
}

// kindsInPlace finds the project's kinds, wherever they are.
func (m *migration) kindsInPlace() {
	kinds := map[string][]kind{}
	for f := range m.parse(m.ownCode()) {
		kinds[path.Dir(f.Name)] = append(kinds[path.Dir(f.Name)], f.kinds()...)
	}
	for dir, list := range kinds {
		if len(list) > 0 {
			m.apis = append(m.apis, &apiVersion{dir: dir, version: path.Base(dir), kinds: list})
		}
	}
}

// rewrite makes all passes on a file that stays where it is. names are those
// that are rewritten: the others of its package are of today.
func (m *migration) rewrite(name string, names []string) error {
	dir := path.Dir(name)
	passes := slices.Concat([]pass{m.packageOf(dir, names), m.ownImports}, commonPasses(m.kindsByPath()), []pass{m.helperPass,
		typesPass(nil, path.Base(dir), m.takesFunctions(dir)), oldMarkers, oldWatches, kubebuilderWatches, webhookBuilders, reconcileContexts, suites, m.compat, markGone})
	src, err := transform(name, m.files[name].data, passes...)
	if err != nil {
		return err
	}
	m.keep(name, name, src)
	f, err := parseGo(name, src)
	if err == nil && f.function("Add") != nil && goedit.Has(f.Tree, f.isReconcile) {
		m.note(name, "Add sets the controller up: call it in %s and in tests, in the place of SetupWithManager", newMain)
	}
	return err
}

// packageOf gives a file the package that the others in its directory have, or
// the one that a directory without others is named after.
func (m *migration) packageOf(dir string, names []string) pass {
	return func(f *goFile) {
		own := strings.TrimSuffix(f.Tree.Name.Name, "_test")
		want := path.Base(dir)
		for other := range m.parse(inDir(m.files, dir)) {
			if !slices.Contains(names, other.Name) {
				want = strings.TrimSuffix(other.Tree.Name.Name, "_test")
				break
			}
		}
		if own != want && own != "main" && token.IsIdentifier(want) {
			f.Replace(f.Tree.Name, want+strings.TrimPrefix(f.Tree.Name.Name, own))
		}
	}
}

// takesFunctions says whether the SchemeBuilder of a directory is apimachinery's.
func (m *migration) takesFunctions(dir string) bool {
	return slices.ContainsFunc(m.codeIn(dir), func(name string) bool {
		return regexp.MustCompile(`\bSchemeBuilder\s*(=\s*runtime\.NewSchemeBuilder|runtime\.SchemeBuilder)`).Match(m.files[name].data)
	})
}

// apisOf are import paths of types in any layout: the module, and what follows.
var apisOf = lazy.Delayed(`^(.+?)/(?:pkg/apis|apis|api)/(.+)$`)

// ownImports finds the project's packages in imports of the project that a file
// was copied from: those of its types, and others of the same module.
func (m *migration) ownImports(f *goFile) {
	modules := map[string]bool{}
	to := map[string]string{}
	for _, spec := range f.Tree.Imports {
		at := goedit.PathOf(spec)
		if parts := apisOf.FindStringSubmatch(at); parts != nil && !m.isOwn(at) {
			if dir := m.apiOf(parts[2], f.members(at)); dir != "" {
				modules[parts[1]], to[at] = true, dir
			}
		}
	}
	for _, spec := range f.Tree.Imports {
		at := goedit.PathOf(spec)
		for module := range modules {
			if dir, below := strings.CutPrefix(at, module+"/"); below && to[at] == "" && !m.isOwn(at) && len(m.codeIn(dir)) > 0 {
				to[at] = dir
			}
		}
		if to[at] != "" {
			f.repath(spec, path.Join(m.module, to[at]))
		}
	}
}

// isOwn says whether a package is in the project.
func (m *migration) isOwn(importPath string) bool {
	dir, own := strings.CutPrefix(importPath, m.module+"/")
	return own && len(m.codeIn(dir)) > 0
}

// apiOf is the directory of the project's types that has all members which a
// file uses of a package, by the end of the package's path; empty for none.
func (m *migration) apiOf(end string, members []string) string {
	group, _, _ := strings.Cut(strings.TrimSuffix(end, "/"+path.Base(end)), ".")
	for _, dir := range []string{path.Join("api", end), path.Join("api", group, path.Base(end)), path.Join("api", path.Base(end))} {
		declared := map[string]bool{}
		for f := range m.parse(m.codeIn(dir)) {
			for member := range f.Tree.Scope.Objects {
				declared[member] = true
			}
		}
		if len(declared) > 0 && !slices.ContainsFunc(members, func(member string) bool { return !declared[member] }) {
			return dir
		}
	}
	return ""
}
