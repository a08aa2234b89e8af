package generate

import (
	"go/ast"
	"iter"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// metav1Path is the package whose TypeMeta and ObjectMeta make a kind.
const metav1Path = "k8s.io/apimachinery/pkg/apis/meta/v1"

// typed returns the packages that the deepcopy and CRD generators would find
// something in. The rest need no type-checking, which is what takes time.
func typed(packages []*sourcePackage) []*sourcePackage {
	var out, rest []*sourcePackage
	loose := map[string]bool{} // kinds of packages that name no group
	for _, p := range packages {
		kinds := p.kinds()
		if len(kinds) == 0 && !p.marked("+groupName", "+versionName", "+"+prefix+"object:", "+"+applyMarker, "+k8s:deepcopy-gen") {
			rest = append(rest, p)
			continue
		}
		out = append(out, p)
		if !p.marked("+groupName") {
			for _, k := range kinds {
				loose[k] = true
			}
		}
	}
	// controller-gen takes types of one name in packages without a group for versions of one kind.
	for _, p := range rest {
		if slices.ContainsFunc(p.typeSpecs(), func(s *ast.TypeSpec) bool { return loose[s.Name.Name] }) {
			out = append(out, p)
		}
	}
	return out
}

// marked reports whether a marker in the package begins with one of prefixes.
func (p *sourcePackage) marked(prefixes ...string) bool {
	for _, text := range p.markers() {
		if slices.ContainsFunc(prefixes, func(s string) bool { return strings.HasPrefix(text, s) }) {
			return true
		}
	}
	return false
}

// markers are those of all files of the package, wherever they stand.
func (p *sourcePackage) markers() iter.Seq2[*ast.Comment, string] {
	return func(yield func(*ast.Comment, string) bool) {
		for _, f := range p.files {
			for c, text := range markerComments(f.ast) {
				if !yield(c, text) {
					return
				}
			}
		}
	}
}

func (p *sourcePackage) typeNamed(name string) (*ast.TypeSpec, *sourceFile) {
	if p == nil {
		return nil, nil
	}
	for _, f := range p.files {
		for _, t := range goedit.Types(f.ast) {
			if t.Name.Name == name {
				return t, f
			}
		}
	}
	return nil, nil
}

// typeSpecs are the package's type declarations, not those within functions.
func (p *sourcePackage) typeSpecs() []*ast.TypeSpec {
	var out []*ast.TypeSpec
	for _, f := range p.files {
		for _, t := range goedit.Types(f.ast) {
			out = append(out, t)
		}
	}
	return out
}

// kinds names the types that embed TypeMeta and ObjectMeta, by which controller-gen knows a kind.
func (p *sourcePackage) kinds() []string {
	if !slices.ContainsFunc(p.files, func(f *sourceFile) bool { return imports(f.ast, metav1Path) }) {
		return nil
	}
	var out []string
	for _, t := range p.typeSpecs() {
		s, ok := t.Type.(*ast.StructType)
		if ok && embeds(s, "TypeMeta") && embeds(s, "ObjectMeta") {
			out = append(out, t.Name.Name)
		}
	}
	return out
}

func imports(f *ast.File, path string) bool {
	return slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return goedit.PathOf(s) == path })
}

// embeds reports whether s embeds a type of that name, whichever package it is from.
func embeds(s *ast.StructType, name string) bool {
	return slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 && goedit.TypeName(f.Type) == name })
}
