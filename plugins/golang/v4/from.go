package v4

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// completeFrom finds the version that the new one starts from, and takes over
// what all versions of a kind have in common.
func (s *createAPISubcommand) completeFrom() error {
	if s.from == "" {
		return nil
	}
	var versions []string
	for _, r := range s.otherVersions() {
		versions = append(versions, r.Version)
		if r.Version == s.from {
			s.source = &r
		}
	}
	switch {
	case s.changed("pattern"):
		return usage("leave out one of the two", "--pattern brings fields, and --from those of another version")
	case s.from == s.resource.Version:
		return usage("name another version with --version", "--from %s names the new version itself", s.from)
	case len(versions) == 0:
		return usage("leave out --from", "%s has no other version in this project", s.resource.Kind)
	case s.source == nil:
		return usage("use --from "+strings.Join(versions, " or "), "%s has no version %q", s.resource.Kind, s.from)
	}
	if s.plural == "" {
		s.resource.Plural = or(s.source.Plural, s.resource.Plural)
	}
	if !s.changed("namespaced") {
		s.namespaced = s.source.API.Namespaced
		s.resource.API.Namespaced = s.namespaced
	}
	return nil
}

// notTaken matches the markers of a version that are not those of the next.
var notTaken = lazy.Delayed(`(?m)^[ \t]*//[ \t]*\+kubebuilder:(storageversion|deprecatedversion|unservedversion)\b.*\n`)

// startFrom replaces the types and the sample that the templates made by those
// of the other version.
func (s *createAPISubcommand) startFrom(disk afero.Fs, d data) error {
	if s.source == nil {
		return nil
	}
	name := path.Join(s.apiDir(), strings.ToLower(s.resource.Kind)+"_types.go")
	text, err := s.typesFrom(disk, d, name)
	if err != nil {
		return err
	}
	if err := writeFile(disk, name, text); err != nil {
		return err
	}
	s.note("The types of %s begin as those of %s.", s.resource.Version, s.from)
	sample, err := readIfThere(disk, "config/samples/"+sampleFile(s.source.GVK))
	if err != nil || len(sample) == 0 {
		return err
	}
	group := s.resource.QualifiedGroup() + "/"
	return writeFile(disk, "config/samples/"+d.SampleFile, strings.ReplaceAll(string(sample), group+s.from, group+s.resource.Version))
}

// typesFrom is the types file with the declarations of the other version that
// the kind needs, whatever file they are in.
func (s *createAPISubcommand) typesFrom(disk afero.Fs, d data, name string) (string, error) {
	kind := s.resource.Kind
	source, err := readPackage(disk, s.apiDirOf(s.source.GVK), false)
	if err != nil {
		return "", err
	}
	own := source.fileOf(kind)
	if own == nil {
		return "", usage("write the types by hand, or leave out --from", "%s: found no struct %s", source.dir, kind)
	}
	target, err := readPackage(disk, s.apiDir(), false)
	if err != nil {
		return "", err
	}
	rendered := target.files[path.Base(name)]
	for _, n := range namesOf(rendered) {
		delete(target.names, n) // they are about to be replaced
	}
	into, err := parseGo(name, rendered.Between(rendered.Tree.FileStart, rendered.Tree.Name.End())+"\n")
	if err != nil {
		return "", err
	}
	needed := source.needs(kind, kind+"List")
	for _, g := range source.written(own) {
		if into, err = mergeGo(into, g, func(n string) bool { return !needed[n] || target.names[n] }, d.Repo); err != nil {
			return "", err
		}
	}
	// Its init registers the kind.
	if into, err = mergeGo(into, rendered, func(n string) bool { return n != "init" }, d.Repo); err != nil {
		return "", err
	}
	out := notTaken.ReplaceAllString(string(into.Src), "")
	if d.StorageVersion {
		return addStorageMarker(name, out, kind)
	}
	return out, nil
}

// namesOf are the names that a file declares.
func namesOf(g *goedit.File) []string {
	var all []string
	for _, decl := range g.Tree.Decls {
		all = append(all, goedit.DeclaredNames(decl)...)
	}
	return all
}

// written lists the files that are not generated, in their order behind first.
func (p *goPackage) written(first *goedit.File) []*goedit.File {
	all := []*goedit.File{first}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if g := p.files[name]; g != first && !strings.HasPrefix(name, "zz_generated") {
			all = append(all, g)
		}
	}
	return all
}

// needs lists what types are made of, by the names that the package declares:
// other types, methods and constants of all of these, and what they use in
// turn. Conversions to the other versions are not among it.
func (p *goPackage) needs(types ...string) map[string]bool {
	needed := map[string]bool{}
	for _, name := range types {
		needed[name] = true
	}
	for size := 0; size < len(needed); {
		size = len(needed)
		for _, g := range p.written(p.fileOf(types...)) {
			for _, decl := range g.Tree.Decls {
				if !belongs(decl, needed) {
					continue
				}
				for _, name := range goedit.DeclaredNames(decl) {
					needed[name] = true
				}
				eachUse(decl, func(name string) { needed[name] = needed[name] || p.names[name] })
			}
		}
	}
	return needed
}

// belongs says whether a declaration is needed, or goes with a type that is.
func belongs(decl ast.Decl, needed map[string]bool) bool {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if r := goedit.Receiver(decl); r != "" {
			return needed[r] && !slices.Contains([]string{"Hub", "ConvertTo", "ConvertFrom"}, decl.Name.Name)
		}
		return needed[decl.Name.Name]
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.CONST && needed[goedit.TypeName(value.Type)] {
				return true
			}
		}
	}
	return slices.ContainsFunc(goedit.DeclaredNames(decl), func(name string) bool { return needed[name] })
}

// eachUse calls use for the names in a declaration that may be those of the
// package: not for fields, nor for what others declare.
func eachUse(decl ast.Decl, use func(name string)) {
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			ast.Inspect(n.Type, visit)
			return false
		case *ast.SelectorExpr:
			ast.Inspect(n.X, visit)
			return false
		case *ast.Ident:
			use(n.Name)
		}
		return true
	}
	ast.Inspect(decl, visit)
}
