package generate

import (
	"fmt"
	"go/ast"
	"iter"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// place is what controller-tools takes a comment to describe.
type place struct {
	known  bool // false: nothing, such as a comment within a function
	target markers.TargetType
}

// probe is the marker that stands in for the real ones while controller-tools
// is asked where they belong.
const probe = "mysdk:probe"

// markerComments are the line comments of a file that begin with a plus sign, with their texts.
func markerComments(f *ast.File) iter.Seq2[*ast.Comment, string] {
	return func(yield func(*ast.Comment, string) bool) {
		for _, group := range f.Comments {
			for _, c := range group.List {
				rest, ok := strings.CutPrefix(c.Text, "//")
				if text := strings.TrimSpace(rest); ok && strings.HasPrefix(text, "+") && !yield(c, text) {
					return
				}
			}
		}
	}
}

// markersOf lists the marker comments of a file in their order. Where each
// belongs is found out by the code that the generators use: its comments are
// numbered for the time of one collection.
func markersOf(f *ast.File, r *registry) []marker {
	var ms []marker
	for c, text := range markerComments(f) {
		ms = append(ms, marker{comment: c, text: text})
	}
	if len(ms) == 0 {
		return nil
	}
	kept := make([]string, len(ms))
	for i, m := range ms {
		kept[i], m.comment.Text = m.comment.Text, fmt.Sprintf("//+%s=%d", probe, i)
	}
	byNode, docs := collectProbes(f), typeDocs(f)
	for i, m := range ms {
		m.comment.Text = kept[i]
		if node, ok := byNode[i]; ok {
			ms[i].place, ms[i].node = placeOf(node, m, docs, r), node
		}
	}
	return ms
}

// collectProbes returns the node that each numbered comment belongs to.
func collectProbes(f *ast.File) map[int]ast.Node {
	c := &markers.Collector{Registry: &markers.Registry{}}
	for _, target := range targets() {
		if err := c.Define(probe, target, 0); err != nil {
			return nil // an int is a type that markers can have
		}
	}
	found, err := c.MarkersInPackage(&loader.Package{Package: &packages.Package{Syntax: []*ast.File{f}}})
	if err != nil {
		return nil // numbers parse
	}
	out := map[int]ast.Node{}
	for node, values := range found {
		for _, v := range values[probe] {
			if n, err := strconv.Atoi(fmt.Sprint(v)); err == nil {
				out[n] = node
			}
		}
	}
	return out
}

// placeOf is the target that a node stands for. A marker above a type, but not
// in its doc comment, describes the package if only packages have such a one.
func placeOf(node ast.Node, m marker, docs []*ast.CommentGroup, r *registry) place {
	switch node.(type) {
	case *ast.File:
		return place{true, markers.DescribesPackage}
	case *ast.Field:
		return place{true, markers.DescribesField}
	}
	inDoc := slices.ContainsFunc(docs, func(g *ast.CommentGroup) bool {
		return g.Pos() <= m.comment.Pos() && m.comment.Pos() <= g.List[len(g.List)-1].Pos()
	})
	if !inDoc && r.Lookup(m.text, markers.DescribesType) == nil && r.Lookup(m.text, markers.DescribesPackage) != nil {
		return place{true, markers.DescribesPackage}
	}
	return place{true, markers.DescribesType}
}

func typeDocs(f *ast.File) []*ast.CommentGroup {
	var docs []*ast.CommentGroup
	for g, t := range goedit.Types(f) {
		for _, doc := range []*ast.CommentGroup{g.Doc, t.Doc} {
			if doc != nil && !slices.Contains(docs, doc) { // g has one for several
				docs = append(docs, doc)
			}
		}
	}
	return docs
}

// useless says why a marker that is right in itself has no effect where it
// stands; "" when it has one.
func (r *registry) useless(m marker) string {
	name := nameOf(m.text)
	def, at := r.anywhere(m.text)
	if def == nil || !strings.HasPrefix(name, prefix) {
		return ""
	}
	if m.place.known && r.Lookup(m.text, m.place.target) != nil {
		return ""
	}
	where := make([]string, len(at))
	for i, target := range at {
		where[i] = target.String()
	}
	msg := fmt.Sprintf("marker +%s has no effect here; it describes a %s", def.Name, strings.Join(where, " or a "))
	if at[0] == markers.DescribesPackage {
		msg += " and needs an empty line between it and the declaration below"
	}
	return msg
}
