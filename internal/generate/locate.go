package generate

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// locator finds what in the sources a part of a CRD comes from.
type locator struct {
	workspace
	markers map[*sourceFile][]marker
}

func newLocator(w workspace) *locator { return &locator{w, map[*sourceFile][]marker{}} }

// crdDoc is as much of a CRD as leads to its types.
type crdDoc struct {
	Metadata struct{ Name string }
	Spec     struct {
		Group    string
		Names    struct{ Kind string }
		Versions []struct{ Name string }
	}
}

// located is what in the sources a part of a CRD comes from.
type located struct {
	crd    string         // its name
	at     token.Position // of the marker, else of the type, or of a field of another; without a file where the types are not the project's
	field  token.Position // of the field of that type
	marker string         // its name, empty for none
	rest   []string       // of the path, below the field or type
}

// locate finds what makes the part of the CRD that the path names.
func (l *locator) locate(data []byte, field string) (located, error) {
	var crd crdDoc
	var whole any
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return located{}, err
	}
	if err := yaml.Unmarshal(data, &whole); err != nil {
		return located{}, err
	}
	path := fieldSteps(field)
	o, rest := l.origin(crd, path)
	found := located{crd: crd.Metadata.Name, rest: rest}
	if len(o.holders) == 0 {
		return found, nil
	}
	found.field, found.at = l.src.fset.Position(o.holders[0].pos()), l.src.fset.Position(o.holders[len(o.holders)-1].pos())
	if m, ok := l.cause(o, rest, stringsAt(whole, path[:len(path)-len(rest)], rest)); ok {
		found.at, found.marker = m.position(l.src), m.name
	}
	return found, nil
}

// problem is a refusal with the place of the marker that causes it, and true,
// else with that of the nearest field or type, or the CRD.
func (l *locator) problem(r Refusal, data []byte) (p problem, marked bool, err error) {
	found, err := l.locate(data, r.Field)
	if err != nil {
		return p, false, fmt.Errorf("generate: read %s: %w", r.File, err)
	}
	said := fmt.Sprintf("CRD %s: %s: %s", found.crd, r.Field, r.Text)
	switch {
	case found.at.Filename == "":
		return problem{file: r.File, msg: said}, false, nil
	case found.marker == "":
		return newProblem(l.tree, found.at, said), false, nil
	}
	if rest := found.rest; rest[0] == "default" && len(rest) > 1 {
		r.Text = strings.Join(rest[1:], ".") + ": " + r.Text
	}
	return newProblem(l.tree, found.at, fmt.Sprintf("marker +%s: %s", found.marker, r.Text)), true, nil
}

// Part is a part of a CRD, by its path in the manifest, such as
// spec.versions[0].schema.openAPIV3Schema.properties[spec].minProperties.
type Part struct {
	CRD  []byte
	Path string
}

// Position is a place in the sources: a file relative to the project where it
// lies below, and a line and column from 1. It is empty where the project has no
// such place.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Locate finds where in the Go types parts of CRDs come from: the marker, else
// the field; the type where the path is that of a schema as a whole.
func Locate(ctx context.Context, opts Options, parts []Part) ([]Position, error) {
	w, err := parse(ctx, opts)
	if err != nil {
		return nil, err
	}
	l := newLocator(w)
	out := make([]Position, len(parts))
	for i, part := range parts {
		found, err := l.locate(part.CRD, part.Path)
		if err != nil {
			return nil, fmt.Errorf("generate: read a CRD: %w", err)
		}
		if found.at.Filename == "" {
			continue
		}
		at := found.at
		if found.marker == "" && len(found.rest) > 0 {
			at = found.field
		}
		p := newProblem(w.tree, at, "")
		out[i] = Position{p.file, p.line, p.col}
	}
	return out, nil
}

var fieldStep = lazy.Delayed(`\[([^\]]*)\]|[^.\[\]]+`)

// fieldSteps takes a path such as spec.versions[0].schema apart.
func fieldSteps(field string) []string {
	var out []string
	for _, m := range fieldStep.FindAllStringSubmatch(field, -1) {
		if strings.HasPrefix(m[0], "[") {
			out = append(out, m[1])
		} else {
			out = append(out, m[0])
		}
	}
	return out
}

// holder is a field or type whose markers shape a schema.
type holder struct {
	file  *sourceFile
	node  ast.Node
	items bool // the schema is that of the items of a list
}

// pos is that of the name.
func (h holder) pos() token.Pos {
	switch n := h.node.(type) {
	case *ast.TypeSpec:
		return n.Name.Pos()
	case *ast.Field:
		if len(n.Names) > 0 {
			return n.Names[0].Pos()
		}
	}
	return h.node.Pos()
}

// origin is what a schema is made of: the type, and what has markers for it.
type origin struct {
	typ     ast.Expr // nil where the type is not the project's
	file    *sourceFile
	pkg     *sourcePackage
	holders []holder
}

// origin follows the path of a field into the types, and returns the rest that
// is no part of the types.
func (l *locator) origin(crd crdDoc, path []string) (o origin, rest []string) {
	version := 0
	rest = path
	if len(path) > 3 && path[0] == "spec" && path[1] == "versions" {
		n, err := strconv.Atoi(path[2])
		if err != nil {
			return o, nil
		}
		version, rest = n, path[3:]
	}
	if version >= len(crd.Spec.Versions) {
		return o, nil
	}
	o = l.kind(crd.Spec.Group, crd.Spec.Versions[version].Name, crd.Spec.Names.Kind)
	if len(rest) < 2 || rest[0] != "schema" {
		return o, rest
	}
	for rest = rest[2:]; len(rest) > 0; {
		next, n := o, 1
		switch step := rest[0]; {
		case step == "properties" && len(rest) > 1:
			next, n = l.property(o, rest[1]), 2
		case step == "items" || step == "additionalProperties":
			next = l.element(o, step)
		case (step == "allOf" || step == "anyOf" || step == "oneOf") && len(rest) > 1:
			n = 2
		default:
			return o, rest
		}
		if len(next.holders) == 0 {
			return o, rest
		}
		o, rest = next, rest[n:]
	}
	return o, rest
}

// kind is the type of a version of a kind.
func (l *locator) kind(group, version, kind string) origin {
	for _, p := range l.src.packages {
		if !p.marked("+groupName="+group, "+groupName="+strconv.Quote(group)) {
			continue
		}
		spec, file := p.typeNamed(kind)
		if spec != nil && (file.ast.Name.Name == version || p.marked("+versionName="+version)) {
			return l.of(spec.Name, file, p)
		}
	}
	return origin{}
}

// of follows a type to its declaration, as far as the project has it.
func (l *locator) of(typ ast.Expr, file *sourceFile, pkg *sourcePackage) origin {
	o := origin{typ: typ, file: file, pkg: pkg}
	for range 100 { // types that are declared by each other do not compile
		name := ""
		in := o.pkg
		switch t := o.typ.(type) {
		case *ast.StarExpr:
			o.typ = t.X
			continue
		case *ast.ParenExpr:
			o.typ = t.X
			continue
		case *ast.Ident:
			name = t.Name
		case *ast.SelectorExpr:
			name, in = t.Sel.Name, l.imported(o.file, t.X)
		default:
			return o
		}
		spec, file := in.typeNamed(name)
		if spec == nil {
			o.typ = nil
			return o
		}
		o.typ, o.file, o.pkg = spec.Type, file, in
		o.holders = append(o.holders, holder{file: file, node: spec})
	}
	return o
}

// imported is the project's package that a file knows by the name x, or nil.
func (l *locator) imported(f *sourceFile, x ast.Expr) *sourcePackage {
	name, ok := x.(*ast.Ident)
	if !ok {
		return nil
	}
	for _, s := range f.ast.Imports {
		path := goedit.PathOf(s)
		i := slices.IndexFunc(l.src.packages, func(p *sourcePackage) bool { return p.importPath == path && len(p.files) > 0 })
		if i < 0 {
			continue
		}
		p := l.src.packages[i]
		if s.Name != nil && s.Name.Name == name.Name || s.Name == nil && p.files[0].ast.Name.Name == name.Name {
			return p
		}
	}
	return nil
}

// property is the field of a struct by its name in JSON.
func (l *locator) property(o origin, name string) origin {
	s, ok := o.typ.(*ast.StructType)
	if !ok {
		return origin{}
	}
	for _, f := range s.Fields.List {
		called, options, _ := strings.Cut(goedit.JSONTag(f), ",")
		switch {
		case called == name:
			found := l.of(f.Type, o.file, o.pkg)
			found.holders = append([]holder{{file: o.file, node: f}}, found.holders...)
			return found
		case called == "" && (len(f.Names) == 0 || strings.Contains(options, "inline")):
			if found := l.property(l.of(f.Type, o.file, o.pkg), name); len(found.holders) > 0 {
				return found
			}
		}
	}
	return origin{}
}

// element is what a list or map holds. Markers for items are above the list.
func (l *locator) element(o origin, step string) origin {
	var found origin
	switch t := o.typ.(type) {
	case *ast.ArrayType:
		found = l.of(t.Elt, o.file, o.pkg)
	case *ast.MapType:
		found = l.of(t.Value, o.file, o.pkg)
	default:
		return origin{}
	}
	var above []holder
	for _, h := range o.holders {
		h.items = step == "items"
		above = append(above, h)
	}
	found.holders = append(above, found.holders...)
	return found
}

// namedMarker is a marker with the name that it is registered by.
type namedMarker struct {
	marker
	name string
}

// cause is the marker that makes the part of the schema or CRD at path. Of
// several that might, the one whose values are said there is it.
func (l *locator) cause(o origin, path, said []string) (namedMarker, bool) {
	if len(path) == 0 {
		return namedMarker{}, false
	}
	word := markerWord(path)
	var candidates, rules []namedMarker
	for _, h := range slices.Backward(o.holders) {
		for _, m := range l.markersOf(h.file) {
			def, _ := l.registry.anywhere(m.text)
			if m.node != h.node || def == nil || strings.Contains(def.Name, ":items:") != h.items {
				continue
			}
			n := namedMarker{m, def.Name}
			switch w := plainWord(lastWord(def.Name)); {
			case w == word:
				candidates = append(candidates, n)
			case word == "validation" && (strings.HasSuffix(w, "oneof") || w == "immutable"):
				rules = append(rules, n)
			}
		}
	}
	for _, m := range candidates {
		if l.says(m, said) {
			return m, true
		}
	}
	if word == "validation" {
		candidates = rules
	}
	if len(candidates) == 0 {
		return namedMarker{}, false
	}
	return candidates[0], true
}

// markerWord is the last part, in plain letters, of the names of markers that make what is at path.
func markerWord(path []string) string {
	switch first := path[0]; {
	case first == "additionalPrinterColumns":
		return "printcolumn"
	case first == "deprecationWarning" || first == "deprecated":
		return "deprecatedversion"
	case first == "subresources" && len(path) > 1:
		return plainWord(path[1])
	case first == "spec" && len(path) > 1 && (path[1] == "names" || path[1] == "scope"):
		return "resource"
	default:
		return plainWord(first)
	}
}

// plainWord makes x-kubernetes-validations and XValidation the same word.
func plainWord(s string) string {
	s = strings.TrimPrefix(s, "x-kubernetes-")
	if len(s) > 1 && s[0] == 'X' && s[1] < 'a' {
		s = s[1:]
	}
	return strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(s, "-", "")), "s")
}

// says reports whether the values of the marker have all these texts.
func (l *locator) says(m namedMarker, said []string) bool {
	def := l.registry.Lookup(m.text, m.place.target)
	if def == nil || len(said) == 0 {
		return def != nil
	}
	value, err := def.Parse(m.text)
	text := fmt.Sprint(value)
	return err == nil && !slices.ContainsFunc(said, func(s string) bool { return !strings.Contains(text, s) })
}

// markersOf are the markers of a file, which are looked for once.
func (l *locator) markersOf(f *sourceFile) []marker {
	if _, ok := l.markers[f]; !ok {
		l.markers[f] = markersOf(f.ast, l.registry)
	}
	return l.markers[f]
}

// stringsAt are the texts of the pattern, rule, column or the like that the
// first steps of rest name below before.
func stringsAt(doc any, before, rest []string) []string {
	for _, step := range append(slices.Clone(before), rest[:min(2, len(rest))]...) {
		switch d := doc.(type) {
		case map[string]any:
			doc = d[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(d) {
				return nil
			}
			doc = d[n]
		default:
			return nil
		}
	}
	var out []string
	switch element := doc.(type) {
	case string:
		out = append(out, element)
	case map[string]any:
		for _, key := range []string{"rule", "jsonPath", "name"} {
			if text, ok := element[key].(string); ok {
				out = append(out, text)
			}
		}
	}
	return out
}
