package v4

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// storageMarker says which of several versions the API server stores.
const storageMarker = "+kubebuilder:storageversion"

// markStorageVersion makes the first version of a kind the stored one when a
// second one comes and none is yet. It is stored already: what is in the
// cluster stays readable.
func (s *createAPISubcommand) markStorageVersion(disk afero.Fs) error {
	others, err := otherVersions(s.config, s.resource)
	if err != nil || len(others) == 0 {
		return err
	}
	first := ""
	for _, r := range others {
		f, err := typesFile(disk, s.config, r)
		if err != nil || hasStorageMarker(f, r.Kind) {
			return err
		}
		if f != nil {
			first = or(first, f.Name)
		}
	}
	if first == "" {
		s.notes = append(s.notes, "No types of another version of "+s.resource.Kind+" were found: put '// "+storageMarker+"' on the one that the API server is to store.")
		return nil
	}
	s.notes = append(s.notes, first+" was marked as the stored version.")
	return edit(disk, first, func(text string) (string, error) {
		return addStorageMarker(first, text, s.resource.Kind)
	})
}

// markStorageVersion makes the hub the stored version where none is.
func (s *createWebhookSubcommand) markStorageVersion(disk afero.Fs) error {
	others, err := otherVersions(s.config, s.resource)
	if err != nil {
		return err
	}
	hub := ""
	for _, r := range append(others, *s.resource) {
		f, err := typesFile(disk, s.config, r)
		if err != nil || hasStorageMarker(f, r.Kind) {
			return err
		}
		if hub = ""; f != nil {
			hub = f.Name
		}
	}
	if hub == "" || len(others) == 0 {
		return nil // a single version is stored in any case
	}
	s.notes = append(s.notes, hub+" was marked as the stored version.")
	return edit(disk, hub, func(text string) (string, error) { return addStorageMarker(hub, text, s.resource.Kind) })
}

// otherVersions lists the resources of PROJECT that are another version of a
// kind, oldest first.
func otherVersions(c config.Config, res *resource.Resource) ([]resource.Resource, error) {
	all, err := c.GetResources()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r resource.Resource) bool { return !isVersionOf(r, res) }), nil
}

// typesFile finds the file that declares the type of a resource; nil when none
// does.
func typesFile(disk afero.Fs, c config.Config, r resource.Resource) (*goedit.File, error) {
	dir, ok := strings.CutPrefix(r.Path, c.GetRepository()+"/")
	if !ok {
		return nil, nil
	}
	p, err := readPackage(disk, dir, false)
	if err != nil {
		return nil, err
	}
	return p.types[r.Kind].file, nil
}

// declOf returns the declaration of a type, nil where there is none.
func declOf(tree *ast.File, kind string) *ast.GenDecl {
	for decl, t := range goedit.Types(tree) {
		if t.Name.Name == kind {
			return decl
		}
	}
	return nil
}

// addStorageMarker adds one line to a types file: below the marker that makes
// the type a kind, or else above the type's comment. Every other line stays.
func addStorageMarker(name, text, kind string) (string, error) {
	f, err := parseGo(name, text)
	if err != nil {
		return "", err
	}
	decl := declOf(f.Tree, kind)
	at := decl.Pos()
	if decl.Doc != nil {
		at = decl.Doc.Pos()
	}
	line := f.Line(at) - 1 // index of the line to insert before
	after := f.Line(previousEnd(f.Tree, decl))
	for _, group := range f.Tree.Comments {
		for _, c := range group.List {
			l := f.Line(c.Pos())
			if l > after && c.Pos() < decl.Pos() && strings.Contains(c.Text, "+kubebuilder:object:root=true") {
				line = l
			}
		}
	}
	lines := strings.Split(text, "\n")
	return strings.Join(slices.Insert(lines, line, "// "+storageMarker), "\n"), nil
}

// previousEnd is where the declaration before decl ends.
func previousEnd(tree *ast.File, decl ast.Decl) token.Pos {
	end := tree.Name.End()
	for _, d := range tree.Decls {
		if d == decl {
			return end
		}
		end = d.End()
	}
	return end
}

// MarkStored puts the marker of the stored version on a kind. A types file that does not
// parse, or declares no such kind, stays as it is.
func MarkStored(name string, src []byte, kind string) []byte {
	if f, err := parseGo(name, string(src)); err != nil || declOf(f.Tree, kind) == nil {
		return src
	}
	text, err := addStorageMarker(name, string(src), kind)
	if err != nil {
		return src
	}
	return []byte(text)
}

// IsStored says whether a types file has the marker of the stored version on a kind. One
// that does not parse has none.
func IsStored(name string, src []byte, kind string) bool {
	f, err := parseGo(name, string(src))
	return err == nil && hasStorageMarker(f, kind)
}

// hasStorageMarker says whether a types file, nil included, has the marker on a
// kind. One file may declare several.
func hasStorageMarker(f *goedit.File, kind string) bool {
	if f == nil {
		return false
	}
	decl := declOf(f.Tree, kind)
	if decl == nil {
		return false
	}
	from := previousEnd(f.Tree, decl)
	for _, group := range f.Tree.Comments {
		for _, c := range group.List {
			if c.Pos() > from && c.Pos() < decl.Pos() && strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), storageMarker) {
				return true
			}
		}
	}
	return false
}
