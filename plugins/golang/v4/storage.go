package v4

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// storageMarker says which of several versions the API server stores.
const storageMarker = "+kubebuilder:storageversion"

// markStorageVersion makes the first version of a kind the stored one when a
// second one comes and none is yet. It is stored already: what is in the
// cluster stays readable.
func (s *createAPISubcommand) markStorageVersion(disk afero.Fs) error {
	files, marked, err := s.typesFiles(disk, s.otherVersions())
	if marked || err != nil || len(files) == 0 {
		return err
	}
	first := slices.IndexFunc(files, func(f *goedit.File) bool { return f != nil })
	if first < 0 {
		s.note("No types of another version of %s were found: put '// %s' on the one that the API server is to store.", s.resource.Kind, storageMarker)
		return nil
	}
	return s.markStored(disk, files[first].Name)
}

// markStorageVersion makes the hub the stored version where none is. A single version is
// stored in any case.
func (s *createWebhookSubcommand) markStorageVersion(disk afero.Fs) error {
	files, marked, err := s.typesFiles(disk, append(s.otherVersions(), *s.resource))
	if marked || err != nil {
		return err
	}
	hub := files[len(files)-1]
	if hub == nil || len(files) == 1 {
		return nil
	}
	return s.markStored(disk, hub.Name)
}

func (s *creation) markStored(disk afero.Fs, name string) error {
	s.note("%s was marked as the stored version.", name)
	return edit(disk, name, func(text string) (string, error) { return addStorageMarker(name, text, s.resource.Kind) })
}

// otherVersions lists the resources of PROJECT that are another version of the
// kind, oldest first.
func (s *creation) otherVersions() []resource.Resource {
	return slices.DeleteFunc(slices.Clone(s.all), func(r resource.Resource) bool {
		isKind := r.QualifiedGroup() == s.resource.QualifiedGroup() && r.Kind == s.resource.Kind
		return !r.HasAPI() || !isKind || r.Version == s.resource.Version
	})
}

// typesFiles are the files that declare the types of resources, nil for one that no file
// declares. marked says that one of them has the marker.
func (s *creation) typesFiles(disk afero.Fs, versions []resource.Resource) (files []*goedit.File, marked bool, err error) {
	for _, r := range versions {
		var f *goedit.File
		if dir, ok := strings.CutPrefix(r.Path, s.config.GetRepository()+"/"); ok {
			p, err := readPackage(disk, dir, false)
			if err != nil {
				return nil, false, err
			}
			f = p.types[r.Kind].file
		}
		if hasStorageMarker(f, r.Kind) {
			return nil, true, nil
		}
		files = append(files, f)
	}
	return files, false, nil
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
	for _, c := range commentsAbove(f, decl) {
		if strings.Contains(c.Text, "+kubebuilder:object:root=true") {
			line = f.Line(c.Pos())
		}
	}
	lines := strings.Split(text, "\n")
	return strings.Join(slices.Insert(lines, line, "// "+storageMarker), "\n"), nil
}

// commentsAbove are the comments between a declaration and the one before it, but for
// those on the last line of that one.
func commentsAbove(f *goedit.File, decl ast.Decl) (list []*ast.Comment) {
	from := f.Tree.Name.End()
	if i := slices.Index(f.Tree.Decls, decl); i > 0 {
		from = f.Tree.Decls[i-1].End()
	}
	for _, group := range f.Tree.Comments {
		for _, c := range group.List {
			if f.Line(c.Pos()) > f.Line(from) && c.Pos() < decl.Pos() {
				list = append(list, c)
			}
		}
	}
	return list
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
	return decl != nil && slices.ContainsFunc(commentsAbove(f, decl), func(c *ast.Comment) bool {
		return strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), storageMarker)
	})
}
