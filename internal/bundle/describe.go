package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"k8s.io/apimachinery/pkg/version"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/generate/arguments"
)

// API is a kind of the project whose Go type describes the owned CRD.
type API struct {
	Group, Version, Kind, Plural string // Group with its domain

	// Dir is the directory of its Go package, relative to the module; empty when it is not known.
	Dir string
}

// Description is what the Go types say of an owned CRD.
type Description struct {
	entry object            // as in customresourcedefinitions.owned
	order int               // math.MaxInt for last
	from  map[string]string // field of the entry -> file:line
}

// Describe reads the Go types of the APIs below fsys, the root of the module,
// and returns what they say of the owned CRDs: their comments, and the markers
// +operator-sdk:csv:customresourcedefinitions. A kind without a marker on any
// field has its top fields described by their comments alone. Packages that
// the APIs do not name are looked for below apisDir. Kinds without a Go type
// are warned of.
func Describe(fsys fs.FS, module, apisDir string, apis []API) ([]Description, []string, error) {
	g := &goSource{fsys: fsys, module: module, fset: token.NewFileSet(), packages: map[string]*goPackage{}}
	var list []Description
	var wrong []error
	for _, api := range apis {
		t, err := g.find(api, apisDir)
		if err != nil {
			return nil, nil, err
		}
		if t.spec == nil {
			g.warn("%s %s: there is no Go type below %s to describe it", api.Kind, api.Version, apisDir)
			continue
		}
		d, err := g.describe(api, t)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		list = append(list, d)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, nil, clierr.WithHint(err, "correct the markers and run the command again")
	}
	return list, g.warnings, nil
}

// find looks for the type of an API, in its directory or below apisDir; the zero goType is none.
func (g *goSource) find(api API, apisDir string) (found goType, err error) {
	if api.Dir != "" {
		p, err := g.load(api.Dir)
		if err != nil || p != nil {
			return p.lookup(api.Kind), err
		}
	}
	// PROJECT files of older tools do not say where types are.
	err = fs.WalkDir(g.fsys, path.Clean(apisDir), func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll
		}
		if err != nil || !e.IsDir() {
			return err
		}
		p, err := g.load(name)
		if err != nil {
			return err
		}
		if t := p.lookup(api.Kind); t.spec != nil && p.serves(api) {
			found = t
			return fs.SkipAll
		}
		return nil
	})
	return found, err
}

// lookup finds a type of a package, which may be nil; the zero goType is none.
func (p *goPackage) lookup(name string) goType {
	if p == nil {
		return goType{}
	}
	return p.types[name]
}

// serves reports whether the package is one of the API's group and version, as
// its markers say: +groupName, and +versionName or the package's own name.
func (p *goPackage) serves(api API) bool {
	group, ver := "", p.name
	for _, f := range p.files {
		for _, c := range f.Comments {
			for _, line := range c.List {
				text := strings.TrimSpace(strings.TrimPrefix(line.Text, "//"))
				if v, ok := strings.CutPrefix(text, "+groupName="); ok {
					group = v
				}
				if v, ok := strings.CutPrefix(text, "+versionName="); ok {
					ver = v
				}
			}
		}
	}
	return group == api.Group && ver == api.Version
}

// describe makes the description of one API.
func (g *goSource) describe(api API, t goType) (Description, error) {
	d := Description{order: math.MaxInt, from: map[string]string{}, entry: object{
		"kind": api.Kind, "version": api.Version, "displayName": DisplayName(api.Kind),
	}}
	here := g.at(t.spec.Pos())
	if text := t.doc.text(); text != "" {
		d.entry["description"] = text
	}
	d.from["description"], d.from["displayName"] = "the comment at "+here, "the kind's name"
	// The marker wins over PROJECT, as it does in the CRD.
	plural := api.Plural
	var resources [][]string
	for _, line := range t.doc.lines() {
		text := strings.TrimPrefix(line.Text, "//")
		if p := resourcePath.FindStringSubmatch(text); p != nil {
			plural = cmp.Or(p[1], plural)
		}
		m, ok, err := parseMarker(text, false)
		if err != nil {
			return d, g.wrong(line, err)
		}
		if !ok {
			continue
		}
		if m.displayName != "" {
			d.entry["displayName"], d.from["displayName"] = m.displayName, "the marker at "+g.at(line.Pos())
		}
		if m.order != nil {
			d.order = *m.order
		}
		if len(m.resources) > 0 {
			d.from["resources"] = "the marker at " + g.at(line.Pos())
		}
		resources = append(resources, m.resources...)
	}
	d.entry["name"] = plural + "." + api.Group
	if len(resources) > 0 {
		d.entry["resources"] = sortedResources(resources)
	}
	return d, g.describeFields(&d, t)
}

// warn adds a warning, unless it is known already: a type can be reached in several ways.
func (g *goSource) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(g.warnings, text) {
		g.warnings = append(g.warnings, text)
	}
}

// wrong is an error in a marker, with its place.
func (g *goSource) wrong(line *ast.Comment, err error) error {
	return fmt.Errorf("%s: %w", g.at(line.Pos()), err)
}

// resourcePath is the plural that kubebuilder's marker gives a type.
var resourcePath = lazy.Delayed("^\\s*\\+kubebuilder:resource:(?:[^,]*,)*?path=[\"` ]*([^,\"` ]*)")

// sortedResources are the resources in operator-sdk's order.
func sortedResources(list [][]string) []any {
	var out []object
	for _, r := range list {
		o := object{"kind": r[0], "version": r[1], "name": ""}
		if len(r) == 3 {
			o["name"] = r[2]
		}
		out = append(out, o)
	}
	slices.SortStableFunc(out, byName)
	return anys(out)
}

// byName is operator-sdk's order: by name, kind, and the newest version first.
func byName(a, b object) int {
	return cmp.Or(cmp.Compare(textAt(a, "name"), textAt(b, "name")), cmp.Compare(textAt(a, "kind"), textAt(b, "kind")),
		version.CompareKubeAwareVersionStrings(textAt(b, "version"), textAt(a, "version")))
}

// described is a field with its path below spec or status.
type described struct {
	goField
	path  []string
	kind  string // "spec" or "status": below which of them it was found
	order int
	entry object
}

// describeFields adds the spec and status descriptors. As in operator-sdk, a
// field counts for the list that its marker names, and only if it lies below the
// field of that name: a type can be part of both, with a marker for each.
func (g *goSource) describeFields(d *Description, t goType) error {
	all := map[string][]described{}
	marked := false
	for _, kind := range []string{"spec", "status"} {
		for _, f := range t.fields() {
			if name, _, _ := f.json(); name != kind {
				continue
			}
			found, err := g.below(described{goField: f, kind: kind}, nil)
			if err != nil {
				return err
			}
			for _, c := range found {
				has, err := g.readField(&c)
				if err != nil {
					return err
				}
				marked = marked || has
				all[kind] = append(all[kind], c)
			}
		}
	}
	for kind, field := range map[string]string{"spec": "specDescriptors", "status": "statusDescriptors"} {
		list := slices.DeleteFunc(all[kind], func(c described) bool {
			return marked && c.entry == nil || !marked && len(c.path) != 1
		})
		if entries := descriptors(list, marked); len(entries) > 0 {
			d.entry[field] = entries
			d.from[field] = "the comments and markers in " + path.Dir(strings.Split(g.at(t.spec.Pos()), ":")[0])
		}
	}
	return nil
}

// descriptors writes the fields as a CSV lists them: by their order, then by
// path. Fields without markers keep the order of the Go type. A path that can be
// reached in two ways is listed once.
func descriptors(list []described, marked bool) []any {
	for i := range list {
		if !marked {
			list[i].entry, list[i].order = list[i].plain(), i
		}
	}
	slices.SortStableFunc(list, func(a, b described) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(textAt(a.entry, "path"), textAt(b.entry, "path")))
	})
	var out []any
	seen := map[string]bool{}
	for _, c := range list {
		if p := textAt(c.entry, "path"); !seen[p] {
			seen[p] = true
			out = append(out, c.entry)
		}
	}
	return out
}

// below lists the fields of the type that f refers to, and theirs, with their
// paths. trail holds the types on the way: one that contains itself ends there.
func (g *goSource) below(f described, trail []*ast.TypeSpec) ([]described, error) {
	// The console's notation of what lies in the items of a list.
	if _, isList := f.field.Type.(*ast.ArrayType); isList && len(f.path) > 0 {
		last := len(f.path) - 1
		f.path = append(slices.Clone(f.path[:last]), f.path[last]+"[0]")
	}
	t, err := g.refers(f.owner, f.field.Type)
	if err != nil || t.spec == nil || slices.Contains(trail, t.spec) {
		return nil, err
	}
	trail = append(slices.Clone(trail), t.spec)
	// type Items []Item: look through it.
	if _, isStruct := t.spec.Type.(*ast.StructType); !isStruct {
		return g.below(described{goField: goField{field: &ast.Field{Type: t.spec.Type}, owner: t}, path: f.path, kind: f.kind}, trail)
	}
	var list []described
	for _, c := range t.fields() {
		name, inline, skip := c.json()
		if skip {
			continue
		}
		child := described{goField: c, path: f.path, kind: f.kind}
		if !inline {
			child.path = append(slices.Clone(f.path), name)
			list = append(list, child)
		}
		more, err := g.below(child, trail)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// readField makes the entry of a field from its markers for the kind that it
// was found below. marked says whether it has any.
func (g *goSource) readField(c *described) (marked bool, err error) {
	c.order = math.MaxInt
	var xs []string
	display := ""
	for _, line := range c.doc.lines() {
		m, ok, err := parseMarker(strings.TrimPrefix(line.Text, "//"), true)
		if err != nil {
			return false, g.wrong(line, err)
		}
		if !ok {
			continue
		}
		if m.kind == "" {
			g.warn("%s: the marker has neither type=spec nor type=status, and no effect", g.at(line.Pos()))
			continue
		}
		marked = true
		if m.kind != c.kind {
			continue
		}
		c.entry = c.plain()
		if m.order != nil {
			c.order = *m.order
		}
		display = cmp.Or(display, m.displayName)
		xs = append(xs, m.descriptors...)
	}
	if c.entry != nil && display != "" {
		c.entry["displayName"] = display
	}
	if len(xs) > 0 {
		c.entry["x-descriptors"] = anys(xs)
	}
	return marked, nil
}

// plain is the entry of a field by its comment and its name alone.
func (c *described) plain() object {
	name := c.name
	if name == "" { // embedded, with a name in JSON
		name = c.path[len(c.path)-1]
	}
	entry := object{"path": strings.Join(c.path, "."), "displayName": DisplayName(name)}
	if text := c.doc.text(); text != "" {
		entry["description"] = text
	}
	return entry
}

// markerName begins the comments that describe owned CRDs: on a type
// displayName, resources and order, on a field type, displayName, xDescriptors
// and order. Names and syntax are operator-sdk's.
const markerName = "+operator-sdk:csv:customresourcedefinitions"

// marker is one such comment.
type marker struct {
	kind        string // "spec" or "status" on a field
	displayName string
	descriptors []string   // xDescriptors
	resources   [][]string // kind, version and perhaps a name
	order       *int
}

// parseMarker reads the comment line text, without its slashes. ok is false for
// any other comment. An error quotes the marker and may have a hint.
func parseMarker(text string, onField bool) (m marker, ok bool, err error) {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, markerName)
	if !ok || rest != "" && rest[0] != ':' && rest[0] != '=' {
		return m, false, nil
	}
	if m, err = parseArguments(strings.TrimPrefix(rest, ":"), onField); err != nil {
		return marker{}, true, fmt.Errorf("marker %s: %w", text, err)
	}
	return m, true, nil
}

func parseArguments(text string, onField bool) (marker, error) {
	if onField {
		a, err := arguments.Parse[struct {
			Type         string   `marker:",optional"`
			DisplayName  string   `marker:",optional"`
			XDescriptors []string `marker:",optional"`
			Order        *int
		}](text)
		if err == nil && a.Type != "" && a.Type != "spec" && a.Type != "status" {
			err = fmt.Errorf("type is spec or status, not %q", a.Type)
		}
		return marker{kind: a.Type, displayName: a.DisplayName, descriptors: a.XDescriptors, order: a.Order}, err
	}
	a, err := arguments.Parse[struct {
		DisplayName string     `marker:",optional"`
		Resources   [][]string `marker:",optional"`
		Order       *int
	}](text)
	for _, r := range a.Resources {
		if err == nil && (len(r) < 2 || len(r) > 3) {
			err = fmt.Errorf("a resource is {kind,version} or {kind,version,name}, not {%s}", strings.Join(r, ","))
		}
	}
	return marker{displayName: a.DisplayName, resources: a.Resources, order: a.Order}, err
}
