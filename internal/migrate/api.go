package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// registerNames are what the scaffold's groupversion_info.go declares, or what
// register.go had and nobody needs.
var registerNames = []string{"SchemeGroupVersion", "GroupVersion", "SchemeBuilder", "AddToScheme", "localSchemeBuilder"}

// registerRest is what the user's register.go has beyond the scaffold's, nil
// where that is nothing. standard says that kinds register themselves with
// SchemeBuilder.Register; otherwise the file has to stay as a whole.
func registerRest(name string, src []byte) (rest []byte, standard bool, err error) {
	f, err := parseGo(name, src)
	if err != nil {
		return nil, false, err
	}
	if standard = goedit.Has(f.Tree, func(lit *ast.CompositeLit) bool {
		return f.isAny(lit.Type, "Builder", crScheme, "sigs.k8s.io/controller-runtime/pkg/runtime/scheme")
	}); !standard {
		return src, false, nil
	}
	left := 0
	rest, err = transform(name, src, func(f *goFile) {
		left = f.cutRegistration()
		if f.Tree.Doc != nil {
			f.RemoveLines(f.Tree.Doc) // the scaffold's file has one, and its markers
		}
	})
	if left == 0 {
		rest = nil
	}
	return rest, true, err
}

// cutRegistration takes out the declarations of those names and counts what is left.
func (f *goFile) cutRegistration() (left int) {
	for _, d := range f.Tree.Decls {
		g, ok := d.(*ast.GenDecl)
		switch {
		case !ok:
			left++
			continue
		case g.Tok == token.IMPORT:
			continue
		}
		kept := 0
		for _, s := range g.Specs {
			v, ok := s.(*ast.ValueSpec)
			if ok && len(v.Names) == 1 && slices.Contains(registerNames, v.Names[0].Name) {
				if g.Lparen.IsValid() {
					f.RemoveLines(v)
					if v.Doc != nil {
						f.RemoveLines(v.Doc)
					}
				}
				continue
			}
			kept++
		}
		if kept == 0 {
			f.RemoveLines(g)
		}
		left += kept
	}
	return left
}

// typesPass brings a file of types up to date: markers of the root types,
// registration, and what their CRD said.
func typesPass(kinds []kind, version string, standard bool) pass {
	return func(f *goFile) {
		for d, t := range f.Types() {
			if len(d.Specs) == 1 {
				f.rootType(d, t, kinds, version)
			}
		}
		for fn := range f.Functions() {
			if fn.Name.Name == "init" && fn.Recv == nil && standard {
				f.register(fn)
			}
		}
	}
}

// rootType adds the markers that make a type an API's, once.
func (f *goFile) rootType(d *ast.GenDecl, t *ast.TypeSpec, kinds []kind, version string) {
	if !f.embeds(t, "TypeMeta") || !f.embeds(t, "ObjectMeta") && !f.embeds(t, "ListMeta") {
		return
	}
	have := f.markersAbove(d)
	var add []string
	if !strings.Contains(have, rootMarker) {
		add = append(add, rootMarker)
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == t.Name.Name })
	if i >= 0 && kinds[i].crd != nil {
		add = append(add, crdMarkers(kinds[i].crd, version, have)...)
	} else if i >= 0 && kinds[i].clustered && !strings.Contains(have, "+kubebuilder:resource:") {
		add = append(add, "+kubebuilder:resource:scope=Cluster")
	}
	if len(add) == 0 {
		return
	}
	// A group of its own, and one: godoc shows only the one next to the type,
	// and the generators read no more than one above that.
	text := "// " + strings.Join(add, "\n// ") + "\n"
	if f.replaceMarker(d, oldRootMarker, strings.TrimSuffix(text, "\n")) {
		return
	}
	if d.Doc != nil {
		f.Insert(d.Doc.Pos(), text+"\n")
		return
	}
	f.Insert(d.Pos(), text)
}

// rootMarker makes a type one of its own objects, and oldRootMarker did so for
// the generator of k8s.io/code-generator.
const (
	rootMarker    = "+kubebuilder:object:root=true"
	oldRootMarker = "+k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object"
)

// replaceMarker replaces a marker above a declaration by lines of others and
// says whether it was there.
func (f *goFile) replaceMarker(d ast.Decl, old, text string) bool {
	from := f.before(d)
	for _, group := range f.Tree.Comments {
		if group.Pos() < from || group.End() > d.Pos() {
			continue
		}
		for _, c := range group.List {
			if strings.TrimSpace(strings.TrimPrefix(c.Text, "//")) == old {
				f.Replace(c, text)
				return true
			}
		}
	}
	return false
}

// markersAbove is the text of the comments between a declaration and the one
// before it.
func (f *goFile) markersAbove(d ast.Decl) string {
	out := ""
	for _, group := range f.Tree.Comments {
		if group.Pos() > f.before(d) && group.End() <= d.Pos() {
			out += f.Text(group) + "\n"
		}
	}
	return out
}

// before is the end of what stands before a declaration.
func (f *goFile) before(d ast.Decl) token.Pos {
	from := f.Tree.Name.End()
	for _, other := range f.Tree.Decls {
		if other.End() <= d.Pos() {
			from = other.End()
		}
	}
	return from
}

// register rewrites SchemeBuilder.Register(&Kind{}, &KindList{}) for a builder
// of apimachinery.
func (f *goFile) register(d *ast.FuncDecl) {
	for call := range goedit.Each[*ast.CallExpr](d.Body) {
		isNew := slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return goedit.Literal(a) == nil })
		if isNew || squeeze(f.Text(call.Fun)) != "SchemeBuilder.Register" || len(call.Args) == 0 {
			continue
		}
		f.Replace(call, fmt.Sprintf("SchemeBuilder.Register(func(scheme *%s.Scheme) error {\n\tscheme.AddKnownTypes(SchemeGroupVersion, %s)\n\treturn nil\n})",
			f.Need(apiRuntime, ""), strings.Join(f.texts(call.Args), ", ")))
	}
}

// moveAPIs decides about the files of pkg/apis.
func (m *migration) moveAPIs() error {
	for _, a := range m.apis {
		standard, err := m.moveRegister(a)
		if err != nil {
			return err
		}
		for _, name := range inDir(m.files, a.dir) {
			_, done := m.dropped[name]
			switch base := path.Base(name); {
			case done || base == "register.go" || path.Ext(name) != ".go":
			case base == "zz_generated.openapi.go":
				m.drop(name, "'mysdk generate openapi' writes it where it is needed")
			default:
				m.goFile(name, m.along(name), typesPass(a.kinds, a.version, standard), oldMarkers, forGenerators)
			}
		}
	}
	m.moveAPIRoot()
	return nil
}

// moveRegister decides about register.go and doc.go of a version.
func (m *migration) moveRegister(a *apiVersion) (standard bool, err error) {
	to := m.moved(a.dir)
	info := path.Join(to, "groupversion_info.go")
	name := path.Join(a.dir, "register.go")
	src, ok := m.files[name]
	if !ok {
		return true, nil
	}
	rest, standard, err := registerRest(name, src.data)
	if err != nil {
		return false, err
	}
	switch {
	case !standard:
		delete(m.out, info)
		m.goFile(name, path.Join(to, "register.go"), generateMarker(a.group))
		return false, nil
	case rest == nil:
		m.drop(name, "%s has what it had", info)
	default:
		m.files[name] = file{rest, src.mode}
		m.goFile(name, path.Join(to, "register.go"), typesPass(a.kinds, a.version, true))
	}
	if doc := path.Join(a.dir, "doc.go"); hasFile(m.files, doc) && isOnlyDoc(doc, m.files[doc].data) {
		m.drop(doc, "%s has the package's comment and markers", info)
	}
	return true, nil
}

// generateMarker makes a package of types one for the generators, where the
// scaffold's file that says so has no place.
func generateMarker(group string) pass {
	return func(f *goFile) {
		text := string(f.Src[:f.Offset(f.Tree.Package)])
		for _, marker := range []string{"+kubebuilder:object:generate=true", "+groupName=" + group} {
			if !strings.Contains(text, marker) {
				f.Insert(f.Tree.Package, "// "+marker+"\n")
			}
		}
		if f.Tree.Scope.Lookup("GroupVersion") == nil && f.Tree.Scope.Lookup("SchemeGroupVersion") != nil {
			f.Insert(f.Tree.End(), "\n\n// GroupVersion is another name of SchemeGroupVersion.\nvar GroupVersion = SchemeGroupVersion\n")
		}
	}
}

func isOnlyDoc(name string, src []byte) bool {
	f, err := parseGo(name, src)
	return err == nil && len(f.Tree.Decls) == 0
}

// oldMarkers takes out markers that controller-tools gave up: what they said is
// in the CRD of old, and from there in today's.
func oldMarkers(f *goFile) {
	for _, group := range f.Tree.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(strings.TrimLeft(c.Text, "/ "), "+kubebuilder:singular") {
				f.RemoveLines(c)
			}
		}
	}
}

// forGenerators says of types what the generators of today ask for: that
// embedded structs are inline, as they always were, and that interfaces are no
// part of the API.
func forGenerators(f *goFile) {
	for g, spec := range f.Types() {
		if g.Lparen.IsValid() {
			continue
		}
		switch t := spec.Type.(type) {
		case *ast.StructType:
			for _, field := range t.Fields.List {
				if len(field.Names) == 0 && field.Tag == nil {
					f.Insert(field.End(), " `json:\",inline\"`")
				}
			}
		case *ast.InterfaceType:
			const marker = "+kubebuilder:object:generate=false"
			if !strings.Contains(f.markersAbove(g), marker) {
				f.Insert(g.Pos(), "// "+marker+"\n")
			}
		}
	}
}

// moveAPIRoot decides about pkg/apis itself and the directories of groups.
func (m *migration) moveAPIRoot() {
	for _, name := range inDir(m.files, "pkg/apis") {
		if path.Ext(name) == ".go" {
			m.goFile(name, m.along(name))
		}
	}
	for _, group := range subdirs(m.files, "pkg/apis") {
		for _, name := range inDir(m.files, "pkg/apis/"+group) {
			if path.Ext(name) == ".go" && isOnlyDoc(name, m.files[name].data) {
				m.drop(name, "it held the place of a package")
			}
		}
	}
}
