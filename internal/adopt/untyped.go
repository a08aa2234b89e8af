package adopt

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// Untyped lists the project's own kinds in PROJECT that have no Go type, such as one
// that was renamed by hand.
func Untyped(files host.Files, root string, p *project.Project) []string {
	var out []string
	types := map[string]map[string]bool{} // by directory; nil if a file cannot be read
	for _, r := range p.Resources {
		dir, own := strings.CutPrefix(r.Path, p.Repo+"/")
		if !r.API || !own {
			continue
		}
		found, seen := types[dir]
		if !seen {
			found = typesIn(files, filepath.Join(root, filepath.FromSlash(dir)))
			types[dir] = found
		}
		if found != nil && !found[r.Kind] {
			out = append(out, fmt.Sprintf("there is no Go type %s in %s for the kind %s/%s %[1]s", r.Kind, dir, r.QualifiedGroup(), r.Version))
		}
	}
	return out
}

// UntypedHint says what to do about such kinds.
const UntypedHint = "change the kind in PROJECT to that of the type, or remove it with 'mysdk delete api'"

// typesIn are the types that the Go files in a directory declare. It is nil where a
// file cannot be read: the generators say what is wrong with it.
func typesIn(files host.Files, dir string) map[string]bool {
	types := map[string]bool{}
	entries, err := files.ReadDir(dir)
	if err != nil {
		return types
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".go" || strings.HasPrefix(e.Name(), "zz_generated.") {
			continue
		}
		src, err := files.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil
		}
		f, err := goedit.Parse(e.Name(), src)
		if err != nil {
			return nil
		}
		for _, t := range f.Types() {
			types[t.Name.Name] = true
		}
	}
	return types
}
