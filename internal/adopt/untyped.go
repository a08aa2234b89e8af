package adopt

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// Untyped says of which kinds of the project's own, as PROJECT has them, there is
// no Go type, as after one was renamed by hand.
func Untyped(files host.Files, root string, p *project.Project) []string {
	var out []string
	for _, r := range p.Resources {
		dir, own := strings.CutPrefix(r.Path, p.Repo+"/")
		if r.API && own && !declares(files, filepath.Join(root, filepath.FromSlash(dir)), r.Kind) {
			out = append(out, fmt.Sprintf("there is no Go type %s in %s for the kind %s/%s %[1]s", r.Kind, dir, r.QualifiedGroup(), r.Version))
		}
	}
	return out
}

// UntypedHint says what to do about such kinds.
const UntypedHint = "change the kind in PROJECT to that of the type, or remove it with 'mysdk delete api'"

// declares says whether the Go files in a directory declare a type. What cannot be
// read may: the generators say what is wrong with it.
func declares(files host.Files, dir, name string) bool {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".go" {
			continue
		}
		src, err := files.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return true
		}
		f, err := goedit.Parse(e.Name(), src)
		if err != nil {
			return true
		}
		for _, t := range f.Types() {
			if t.Name.Name == name {
				return true
			}
		}
	}
	return false
}
