package adopt

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/oldapi"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// facts are what the text of a project's Go code tells. Places are written
// file:line.
type facts struct {
	namespaces string   // where WATCH_NAMESPACE is read
	manager    string   // where the manager is made
	envtest    []string // where test suites start a control plane
	existing   string   // where such a suite wants a cluster that is there
	tests      int      // test files
}

var (
	readsNamespaces = lazy.Delayed(`"WATCH_NAMESPACE"([^\]]|\]\s*([^\s=]|==|$)|$)`) // not ["WATCH_NAMESPACE"] = value
	makesManager    = lazy.Delayed(`\bNewManager\(`)
	startsPlane     = lazy.Delayed(`\benvtest\.Environment\{`)
	wantsCluster    = lazy.Delayed(`\bUseExistingCluster\b`)
	wantsNone       = lazy.Delayed(`\bUseExistingCluster[ :=]+[\w.]+\(false\)`)
)

func scan(tree *relayout.Tree) (*facts, error) {
	f := &facts{}
	return f, tree.EachGo(func(name string, data []byte) error {
		if strings.HasSuffix(name, "_test.go") {
			f.tests++
			starts := places(name, data, &startsPlane)
			f.envtest = append(f.envtest, starts[:min(1, len(starts))]...)
			if wants := places(name, wantsNone.ReplaceAll(data, nil), &wantsCluster); len(wants) >= len(starts) { // else it has a choice
				first(&f.existing, wants)
			}
			return nil
		}
		first(&f.namespaces, places(name, data, &readsNamespaces))
		first(&f.manager, places(name, data, &makesManager))
		return nil
	})
}

// first sets a place that is not known yet to the first of several.
func first(to *string, at []string) {
	if *to == "" && len(at) > 0 {
		*to = at[0]
	}
}

// places are where a text has a pattern, outside of comments.
func places(name string, data []byte, pattern *lazy.Regexp) []string {
	var out []string
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if code, _, _ := bytes.Cut(line, []byte("//")); pattern.Match(code) {
			out = append(out, fmt.Sprintf("%s:%d", name, n))
		}
	}
	return out
}

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

// oldDirs are where operator-sdk v0.x had controllers and types.
var oldDirs = []string{"pkg/controller", "pkg/apis"}

// Stray is what is wrong with such a directory.
const Stray = "no package of the project imports this code, and nothing builds or runs it"

// Strays lists those directories that have controllers or types which no other
// code of the project imports: nothing builds, generates from or runs them.
func Strays(files host.Files, root string) ([]string, error) {
	if !slices.ContainsFunc(oldDirs, func(dir string) bool {
		_, err := files.Lstat(filepath.Join(root, filepath.FromSlash(dir)))
		return err == nil
	}) {
		return nil, nil // without reading the project
	}
	found, used := map[string]bool{}, map[string]bool{}
	err := relayout.NewTree(files, root).EachGo(func(name string, src []byte) error {
		old := slices.IndexFunc(oldDirs, func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
		if old >= 0 {
			found[oldDirs[old]] = found[oldDirs[old]] || bytes.Contains(src, []byte("controller-runtime")) || bytes.Contains(src, []byte("TypeMeta"))
			return nil
		}
		for _, dir := range oldDirs {
			src := bytes.ReplaceAll(src, []byte("/controller-runtime/"+dir), nil) // has a package of the same path
			used[dir] = used[dir] || bytes.Contains(src, []byte("/"+dir))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for code of an old layout: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(oldDirs), func(dir string) bool { return !found[dir] || used[dir] }), nil
}

// StraysHint says what to do about a directory that Strays found.
func StraysHint(dir string) string {
	to := "internal/controller"
	if dir == oldDirs[1] {
		to = "api/VERSION"
	}
	return fmt.Sprintf("move its files to %s, then 'mysdk migrate --file FILE' for each; see %s", to, oldapi.Guide)
}
