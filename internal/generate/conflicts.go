package generate

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// conflict begins the error of controller-tools for a field of one type that
// refers to a schema of another. It does not say which field.
const conflict = "conflicting types in allOf branches in schema: "

// recheckConflicts drops conflicts that are none. controller-tools 0.23 gives
// every field of a named slice or map the type array or object, also where the
// type's own schema says string, as those of net.IP and json.RawMessage do. The
// CRD that it writes is right nevertheless.
func recheckConflicts(g crd.Generator, ctx *genall.GenerationContext) {
	isConflict := func(e packages.Error) bool { return strings.HasPrefix(e.Msg, conflict) }
	if !slices.ContainsFunc(ctx.Roots, func(p *loader.Package) bool { return slices.ContainsFunc(p.Errors, isConflict) }) {
		return
	}
	for _, p := range ctx.Roots {
		p.Errors = slices.DeleteFunc(p.Errors, isConflict)
	}
	c := conflicts{&crd.Parser{
		Collector: ctx.Collector, Checker: ctx.Checker,
		IgnoreUnexportedFields:     ptr.Deref(g.IgnoreUnexportedFields, false),
		AllowDangerousTypes:        ptr.Deref(g.AllowDangerousTypes, false),
		GenerateEmbeddedObjectMeta: ptr.Deref(g.GenerateEmbeddedObjectMeta, false),
	}}
	kinds := c.kinds(ctx.Roots)
	for _, ident := range kinds {
		c.NeedSchemaFor(ident)
	}
	for ident, s := range c.Schemata {
		crd.EditSchema(&s, untyped{c, ident.Package})
		c.Schemata[ident] = s
	}
	for _, ident := range kinds {
		c.NeedFlattenedSchemaFor(ident)
		if slices.ContainsFunc(ident.Package.Errors, isConflict) && c.locate() {
			ident.Package.Errors = slices.DeleteFunc(ident.Package.Errors, isConflict)
		}
	}
}

// conflicts looks for types in schemas that contradict each other.
type conflicts struct{ *crd.Parser }

// kinds are the types that CRDs are made of.
func (c conflicts) kinds(roots []*loader.Package) []crd.TypeIdent {
	crd.AddKnownTypes(c.Parser)
	for _, p := range roots {
		c.NeedPackage(p)
	}
	kinds := crd.FindKubeKinds(c.Parser, crd.FindMetav1(roots))
	var out []crd.TypeIdent
	for ident := range c.Types {
		if slices.Contains(kinds, schema.GroupKind{Group: c.GroupVersions[ident.Package].Group, Kind: ident.Name}) {
			out = append(out, ident)
		}
	}
	return out
}

// referred is the schema that one in package p refers to; it is empty for none.
func (c conflicts) referred(s apiextensionsv1.JSONSchemaProps, p *loader.Package) apiextensionsv1.JSONSchemaProps {
	if s.Ref == nil {
		return apiextensionsv1.JSONSchemaProps{}
	}
	name, path, err := crd.RefParts(*s.Ref)
	if err != nil {
		return apiextensionsv1.JSONSchemaProps{}
	}
	if path != "" {
		p = p.Imports()[path]
	}
	return c.Schemata[crd.TypeIdent{Package: p, Name: name}]
}

// untyped is a crd.SchemaVisitor that removes the types array and object from
// references to schemas of other types.
type untyped struct {
	conflicts
	pkg *loader.Package
}

// Visit implements crd.SchemaVisitor.
func (u untyped) Visit(s *apiextensionsv1.JSONSchemaProps) crd.SchemaVisitor {
	if s != nil && (s.Type == "array" || s.Type == "object") && u.referred(*s, u.pkg).Type != s.Type {
		s.Type = ""
	}
	return u
}

// locate leaves an error with each field that a marker gives another type than
// its Go type has, and reports whether there is one.
func (c conflicts) locate() (found bool) {
	for ident, info := range c.Types {
		for _, f := range info.Fields {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			prop := c.Schemata[ident].Properties[name]
			if to := c.referred(prop, ident.Package).Type; prop.Type != "" && to != "" && prop.Type != to {
				ident.Package.AddError(loader.ErrFromNode(fmt.Errorf("marker +%svalidation:Type=%s: the Go type of %s has the type %s", prefix, prop.Type, f.Name, to), f.RawField))
				found = true
			}
		}
	}
	return found
}
