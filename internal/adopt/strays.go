package adopt

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/oldapi"
	"github.com/example/mysdk/internal/relayout"
)

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
