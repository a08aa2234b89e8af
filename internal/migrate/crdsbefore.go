package migrate

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// crdsBefore are the CRDs that the project was deployed with: those of config/crd
// or, with operator-sdk v0.x, of deploy. One that is there several times, in
// installers and old bundles, is that of the usual directory.
func (m *migration) crdsBefore() compat.CRDs {
	usual := []string{"deploy/crds", "deploy"}
	rank := func(name string) int {
		if i := slices.Index(usual, path.Dir(name)); i >= 0 {
			return i
		}
		return len(usual)
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(m.files)), func(name string) bool {
		if m.layout == LayoutSDK0 {
			return !inDeploy(name)
		}
		return !isYAML(name) || path.Dir(name) != "config/crd/bases"
	})
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	out := compat.CRDs{}
	for _, name := range names {
		found := compat.CRDs{}
		if found.Add(name, m.files[name].data) != nil {
			continue // markUnread tells of those in deploy, and what is generated replaces the others
		}
		for crd, data := range found {
			if out[crd] == nil {
				out[crd] = data
			}
		}
	}
	return out
}

// Field is a field of a type, by the line that it begins in and its name in objects.
type Field struct {
	Line int
	Name string
}

// Marked is the text of a Go file with markers above fields.
func Marked(name string, src []byte, markers map[Field][]string) ([]byte, error) {
	done := false // the lines are those of the text as it was
	return transform(name, src, func(f *goFile) {
		for at := range goedit.Each[*ast.Field](f.Tree) {
			json, _, _ := strings.Cut(goedit.JSONTag(at), ",")
			if list := markers[Field{f.Line(at.Pos()), json}]; !done && len(list) > 0 {
				f.Insert(at.Pos(), "// +"+strings.Join(list, "\n// +")+"\n")
			}
		}
		done = true
	})
}
