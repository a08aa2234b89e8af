package migrate

import (
	"cmp"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// Layout is how a project is laid out.
type Layout string

// The layouts that are told apart.
const (
	LayoutSDK0    Layout = "operator-sdk v0.x"    // cmd/manager, pkg/apis, pkg/controller, deploy
	LayoutGo2     Layout = "go.kubebuilder.io/v2" // main.go, api, controllers, config
	LayoutGo3     Layout = "go.kubebuilder.io/v3"
	LayoutCurrent Layout = "go.kubebuilder.io/v4"
)

// projectFile is what PROJECT tells of the layout, in any of its versions.
type projectFile struct {
	Version string       `yaml:"version"`
	Layout  project.Keys `yaml:"layout"`
}

// detect finds out which layout the project has. What migrate has no answer to
// is an error that says what to use instead.
func detect(files map[string]file) (Layout, error) {
	if f, ok := files["PROJECT"]; ok {
		if err := clierr.Unmerged("PROJECT", f.data); err != nil {
			return "", err
		}
		var p projectFile
		if err := yaml.Unmarshal(f.data, &p); err != nil {
			return "", clierr.Failedf("fix it, or restore it from version control", "PROJECT: %w", err)
		}
		return p.detect(files)
	}
	switch {
	case hasFile(files, "watches.yaml") || hasFile(files, "watches.yml"):
		return "", foreign(hasDir(files, "helm-charts"))
	case hasDir(files, "pkg/apis") && (hasFile(files, oldMain) || hasDir(files, "pkg/controller")):
		return LayoutSDK0, nil // with charts or roles of its own, maybe
	case hasDir(files, "helm-charts") || hasDir(files, "roles"):
		return "", foreign(hasDir(files, "helm-charts"))
	case hasDir(files, "pkg/apis") && hasDir(files, "pkg/stub"):
		return "", clierr.Failedf("start over with 'mysdk init' and 'mysdk create api', and move the code of pkg/stub into the new Reconcile",
			"the project is of operator-sdk 0.0.x (pkg/stub), which had no controllers to carry over")
	}
	return "", clierr.Failedf("run it in the root of a project: with cmd/manager and pkg/apis, or with PROJECT", "there is no project here that migrate knows")
}

func (p projectFile) detect(files map[string]file) (Layout, error) {
	keys := p.Layout
	all := strings.Join(keys, ",")
	switch {
	// First of all: kubebuilder's plugin for charts may stand beside it.
	case p.Version == "3" && slices.ContainsFunc(keys, func(k string) bool { return strings.HasSuffix(k, "go.kubebuilder.io/v4") }):
		return LayoutCurrent, nil
	case strings.Contains(all, "ansible"):
		return "", foreign(false)
	case strings.Contains(all, "helm"):
		return "", foreign(true)
	case slices.Contains(keys, string(LayoutGo3)), slices.Contains(keys, string(LayoutGo3)+"-alpha"), p.Version == "3" && len(keys) == 0:
		return LayoutGo3, nil
	case slices.Contains(keys, string(LayoutGo2)), p.Version == "2", strings.HasPrefix(p.Version, "3-"):
		return LayoutGo2, nil
	case p.Version == "1" && hasFile(files, oldMain):
		return "", clierr.Failedf("bring it to version 2 first: https://book.kubebuilder.io/migration/legacy/v1vsv2",
			"the project is of kubebuilder 1, whose config directory migrate does not know")
	}
	return "", clierr.Failedf("see 'mysdk adopt' for what works with it", "unsupported project layout %s", strconv.Quote(all))
}

// foreign refuses operators that are not written in Go.
func foreign(helm bool) error {
	if helm {
		return clierr.Failedf("keep it on operator-sdk's helm plugin (https://github.com/operator-framework/operator-sdk); 'mysdk bundle', 'mysdk olm' and 'mysdk run bundle' work with its bundles",
			"this is a Helm operator: there is no Go code to carry over")
	}
	return clierr.Failedf("keep it on https://github.com/operator-framework/ansible-operator-plugins; 'mysdk bundle', 'mysdk olm' and 'mysdk run bundle' work with its bundles",
		"this is an Ansible operator: there is no Go code to carry over")
}

func hasFile(files map[string]file, name string) bool {
	_, ok := files[name]
	return ok
}

func hasDir(files map[string]file, dir string) bool {
	for name := range files {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// inDir lists the files that lie in a directory, not below, but for those that
// the go command ignores.
func inDir(files map[string]file, dir string) []string {
	var out []string
	for name := range files {
		if path.Dir(name) == dir && !isIgnored(path.Base(name)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// subdirs lists the directories in a directory that have files somewhere below,
// but for those that the go command ignores.
func subdirs(files map[string]file, dir string) []string {
	found := map[string]bool{}
	for name := range files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			if sub, _, deeper := strings.Cut(rest, "/"); deeper && !isIgnored(sub) {
				found[sub] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// modulePath is that of go.mod or, in projects from before modules, the one
// that the main program imports pkg/apis by.
func modulePath(files map[string]file) (string, error) {
	if f, ok := files["go.mod"]; ok {
		if p := modfile.ModulePath(f.data); p != "" {
			return p, nil
		}
		return "", clierr.Failedf("repair it and run the command again", "go.mod has no module line")
	}
	const hint = "add a go.mod with 'go mod init', under the path that the code imports itself by"
	if !hasFile(files, oldMain) {
		return "", clierr.Failedf(hint, "there is no go.mod")
	}
	main, err := parseGo(oldMain, files[oldMain].data)
	if err != nil {
		return "", err
	}
	for _, spec := range main.Tree.Imports {
		if module, ok := strings.CutSuffix(goedit.PathOf(spec), "/pkg/apis"); ok {
			return module, nil
		}
	}
	return "", clierr.Failedf(hint, "there is no go.mod, and cmd/manager/main.go imports no pkg/apis that would tell the module's path")
}

// apiVersion is one package of types.
type apiVersion struct {
	dir     string // as it was, pkg/apis/<group>/<version>
	group   string // qualified, such as cache.example.com
	label   string // group without the domain, as PROJECT has it; of go/v2 and go/v3 only
	version string
	kinds   []kind
	hub     bool // other versions are converted to this one
	// PROJECT, as it will be, has webhooks for it.
	webhooks bool
}

// kind is one type with objects of its own.
type kind struct {
	name      string
	clustered bool // not in namespaces
	crd       *crd // what the CRD of old says, nil without one
}

func readAPIs(files map[string]file) ([]*apiVersion, error) {
	var out []*apiVersion
	for _, group := range subdirs(files, "pkg/apis") {
		for _, version := range subdirs(files, "pkg/apis/"+group) {
			a := &apiVersion{dir: path.Join("pkg/apis", group, version), version: version}
			if err := a.read(files); err != nil {
				return nil, err
			}
			if len(a.kinds) > 0 && a.group != "" {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// read finds the group and the kinds.
func (a *apiVersion) read(files map[string]file) error {
	constants := map[string]string{}
	var code []*goFile
	for _, name := range append(inDir(files, path.Dir(a.dir)), inDir(files, a.dir)...) {
		if path.Ext(name) != ".go" {
			continue
		}
		f, err := parseGo(name, files[name].data)
		if err != nil {
			return err
		}
		f.constants(constants)
		made := strings.HasPrefix(path.Base(name), "zz_generated")
		if path.Dir(name) == a.dir && !strings.HasSuffix(name, "_test.go") && !made {
			code = append(code, f)
		}
	}
	for _, f := range code {
		a.group = cmp.Or(f.registeredGroup(constants), a.group)
		if m := project.GroupMarker.FindSubmatch(f.Src); m != nil && a.group == "" {
			a.group = string(m[1])
		}
		a.kinds = append(a.kinds, f.kinds()...)
	}
	return nil
}

func (f *goFile) constants(into map[string]string) {
	for v := range goedit.Each[*ast.ValueSpec](f.Tree) {
		for i, name := range v.Names {
			if i < len(v.Values) && f.Tree.Scope.Lookup(name.Name) == name.Obj {
				if text, ok := goedit.StringLiteral(v.Values[i]); ok {
					into[name.Name] = text
				}
			}
		}
	}
}

// registeredGroup is the group in a literal of schema.GroupVersion.
func (f *goFile) registeredGroup(constants map[string]string) string {
	group := ""
	for lit := range goedit.Each[*ast.CompositeLit](f.Tree) {
		if !f.Is(lit.Type, "k8s.io/apimachinery/pkg/runtime/schema", "GroupVersion") {
			continue
		}
		switch v := goedit.Field(lit, "Group").(type) {
		case *ast.BasicLit:
			group, _ = goedit.StringLiteral(v)
		case *ast.Ident:
			group = constants[v.Name]
		case *ast.SelectorExpr:
			group = constants[v.Sel.Name]
		}
	}
	return group
}

// kinds are the types with metadata of their own.
func (f *goFile) kinds() []kind {
	var out []kind
	for g, t := range f.Types() {
		if !f.embeds(t, "TypeMeta") || !f.embeds(t, "ObjectMeta") {
			continue
		}
		doc := f.markersAbove(g)
		out = append(out, kind{name: t.Name.Name, clustered: strings.Contains(doc, "+genclient:nonNamespaced") || strings.Contains(doc, "scope=Cluster")})
	}
	return out
}

func (f *goFile) embeds(t *ast.TypeSpec, name string) bool {
	st, ok := t.Type.(*ast.StructType)
	return ok && slices.ContainsFunc(st.Fields.List, func(field *ast.Field) bool {
		return len(field.Names) == 0 && f.Is(field.Type, metaV1, name)
	})
}
