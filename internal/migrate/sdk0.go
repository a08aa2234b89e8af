package migrate

import (
	"cmp"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// fromSDK0 migrates the layout of operator-sdk v0.x.
func (m *migration) fromSDK0() error {
	return m.run(m.read, m.place, m.nestedModules, m.scaffold, m.moveAPIs, m.wireMain, m.code, m.deployment, m.samples, m.olmCatalog,
		m.buildFiles, m.rootFiles, m.mainRules, m.rest, m.buildContext, m.modules)
}

// read finds out what there is.
func (m *migration) read() (err error) {
	if m.module, err = modulePath(m.files); err != nil {
		return err
	}
	if m.apis, err = readAPIs(m.files); err != nil {
		return err
	}
	if len(m.apis) == 0 {
		return clierr.Failedf("give the group in register.go, as a schema.GroupVersion", "no kind with a group was found below pkg/apis")
	}
	groups := map[string]bool{}
	for _, a := range m.apis {
		groups[a.group] = true
	}
	m.multigroup = len(groups) > 1
	m.attachCRDs()
	m.dropVendor()
	return nil
}

// attachCRDs finds the CRD of each kind.
func (m *migration) attachCRDs() {
	crds := m.crdsBefore()
	for _, name := range slices.Sorted(maps.Keys(crds)) {
		c, err := compat.ReadCRD(crds[name])
		if err != nil {
			continue // markUnread and the comparison of CRDs tell of it
		}
		for _, a := range m.apis {
			for i := range a.kinds {
				if a.group == c.Spec.Group && a.kinds[i].name == c.Spec.Names.Kind {
					a.kinds[i].crd = c
					a.kinds[i].clustered = c.Spec.Scope == "Cluster"
				}
			}
		}
	}
}

func isYAML(name string) bool {
	return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml"
}

// place decides where packages go.
func (m *migration) place() error {
	m.moves = map[string]string{"pkg/apis": "api", "pkg/controller": "internal/controller"}
	for _, a := range m.apis {
		group, _, _ := strings.Cut(a.group, ".")
		m.moves[a.dir] = path.Join("api", a.version)
		if m.multigroup {
			m.moves[a.dir] = path.Join("api", group, a.version)
		}
		if g := path.Dir(a.dir); m.hasCode(g) {
			m.moves[g] = path.Join("api", group)
		}
	}
	m.moveCommand()
	return nil
}

// packageName is what a package calls itself, which imports of the project's own
// tell by its clause.
func (m *migration) packageName(importPath string) string {
	if dir, own := strings.CutPrefix(importPath, m.module+"/"); own {
		name := ""
		for f := range m.parse(inDir(m.files, dir)) {
			if strings.HasSuffix(f.Name, "_test.go") {
				continue
			}
			if name = f.Tree.Name.Name; name != "main" {
				break // a program that the build leaves out may be beside a package
			}
		}
		return cmp.Or(name, path.Base(dir))
	}
	return goedit.PackageName(importPath)
}

// hasCode says whether a directory has Go files that declare something.
func (m *migration) hasCode(dir string) bool {
	return slices.ContainsFunc(inDir(m.files, dir), func(name string) bool {
		return path.Ext(name) == ".go" && !isOnlyDoc(name, m.files[name].data)
	})
}

// commonPasses are those for all Go code.
func commonPasses(kinds map[string][]string) []pass {
	return []pass{renameImports, conditions, clientAPI, managerOptions, eventHandlers, coreTypes, clusterName, fakeClients(kinds), loggers, packageMarkers}
}

// projectFile is the text of the new PROJECT.
func (m *migration) projectFile() ([]byte, error) {
	domain, controlled := m.domain(), m.controlled()
	var resources []map[string]any
	for _, a := range m.apis {
		group, own, ok := strings.Cut(a.group, ".") // groups may be of several domains
		if !ok {
			own = domain
		}
		for _, k := range a.kinds {
			r := map[string]any{
				"api": map[string]any{"crdVersion": "v1", "namespaced": !k.clustered}, "domain": own, "group": group, "kind": k.name,
				"path": path.Join(m.module, m.moved(a.dir)), "version": a.version,
			}
			if k.clustered {
				r["api"] = map[string]any{"crdVersion": "v1"}
			}
			if k.crd != nil && !slices.Contains([]string{"", project.RegularPlural(k.name)}, k.crd.Spec.Names.Plural) {
				r["plural"] = k.crd.Spec.Names.Plural
			}
			if controlled[path.Join(m.module, a.dir, k.name)] {
				r["controller"] = true
			}
			resources = append(resources, r)
		}
	}
	p := map[string]any{
		"domain": domain, "layout": []string{string(LayoutCurrent)}, "projectName": m.projectName(), "repo": m.module,
		"plugins":   map[string]any{"manifests.sdk.operatorframework.io/v2": map[string]any{}, "scorecard.sdk.operatorframework.io/v2": map[string]any{}},
		"resources": resources, "version": "3",
	}
	if m.multigroup {
		p["multigroup"] = true
	}
	if m.namespaced {
		p["namespaced"] = true
	}
	return projectText(p)
}

// domain is what the groups have behind their first label, of the group that
// comes first.
func (m *migration) domain() string {
	_, domain, _ := strings.Cut(m.apis[0].group, ".")
	return cmp.Or(domain, m.apis[0].group)
}

var notName = lazy.Delayed(`[^a-z0-9-]+`)

// projectName is the name of the operator's Deployment, or the module's, if
// the names made of it are not too long.
func (m *migration) projectName() string {
	name := path.Base(m.module)
	if m.operator != nil {
		name = cmp.Or(m.operator.Metadata.Name, name)
	}
	name = strings.Trim(notName.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if project.CheckName(name) != nil {
		name = strings.TrimSuffix(name, "-operator")
	}
	if project.CheckName(name) != nil {
		name = "operator"
	}
	return name
}

// controlled are the types that something watches for their own sake, each with
// the path of its package.
func (m *migration) controlled() map[string]bool {
	out := map[string]bool{}
	for f := range m.parse(m.ownCode()) {
		for call := range goedit.Each[*ast.CallExpr](f.Tree) {
			w, ok := f.readWatch(call)
			lit, object := goedit.Literal(w.handler), goedit.Literal(w.object)
			if ok && lit != nil && object != nil && f.Is(lit.Type, crHandler, "EnqueueRequestForObject") {
				alias, name, _ := strings.Cut(f.Text(object.Type), ".")
				out[path.Join(f.ImportPath(alias), name)] = true
			}
		}
	}
	return out
}

// scaffold renders the new project and takes its files.
func (m *migration) scaffold() error {
	m.namespaced = m.isNamespaced()
	text, err := m.projectFile()
	if err != nil {
		return err
	}
	return m.renderBare(text)
}

// goFile moves a Go file and carries its text over.
func (m *migration) goFile(name, to string, more ...pass) {
	data := m.files[name].data
	if m.ignored(name) {
		m.keep(name, to, data)
		return
	}
	if strings.HasPrefix(path.Base(name), "zz_generated") {
		more = nil
	}
	r := relayout.Rewrite{Packages: m.packages(), Climb: strings.Count(to, "/") - strings.Count(name, "/")}
	if p, ok := r.Packages[path.Join(m.module, path.Dir(name))]; ok && path.Dir(to) != path.Dir(name) {
		r.Own = &p
	}
	data, err := r.Go(name, data)
	if err != nil {
		m.fail(err)
		return
	}
	passes := slices.Concat(commonPasses(m.kindsByPath()), []pass{m.helperPass, m.uniqueNames}, more, []pass{m.compat, markGone})
	if data, err = transform(name, data, passes...); err != nil {
		m.fail(err)
		return
	}
	m.keep(name, to, data)
}

// packages are those that move, by their old import paths. They are called what
// their clauses say, which need not be what their directories are called.
func (m *migration) packages() map[string]relayout.Package {
	if m.moving != nil {
		return m.moving
	}
	m.moving = map[string]relayout.Package{}
	for name := range m.files {
		dir, to := path.Dir(name), path.Dir(m.along(name))
		at := path.Join(m.module, dir)
		if _, known := m.moving[at]; known || dir == to || path.Ext(name) != ".go" {
			continue
		}
		p := relayout.Package{Path: path.Join(m.module, to), OldName: m.packageName(at)}
		if p.Name = p.OldName; dir == "controllers" {
			p.Name = "controller"
		}
		m.moving[at] = p
	}
	return m.moving
}

// kindsByPath are the project's kinds by their packages' new import paths.
func (m *migration) kindsByPath() map[string][]string {
	out := map[string][]string{}
	for _, a := range m.apis {
		for _, k := range a.kinds {
			p := path.Join(m.module, m.moved(a.dir))
			out[p] = append(out[p], k.name)
		}
	}
	return out
}

// along is where a file goes with the package that it is in, or below. Programs
// below cmd stay.
func (m *migration) along(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if to, moves := m.moves[dir]; moves && (dir != path.Dir(newMain) || dir == path.Dir(name)) {
			return to + strings.TrimPrefix(name, dir)
		}
	}
	return name
}

// moved is where a directory goes.
func (m *migration) moved(dir string) string { return path.Dir(m.along(dir + "/x")) }
