package oldapi

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/example/mysdk/internal/host"
)

// oldDirs are where operator-sdk v0.x had controllers and types.
var oldDirs = []string{"pkg/controller", "pkg/apis"}

// Stray is what is wrong with such a directory.
const Stray = "no package of the project imports this code, and nothing builds or runs it"

// Strays lists those directories that have controllers or types which no other
// code of the project imports: nothing builds, generates from or runs them.
func Strays(files host.Files, root string) ([]string, error) {
	var out []string
	for _, dir := range oldDirs {
		w := walker{files: files, root: root}
		err := w.walk(dir, func(_ string, data []byte) {
			w.found = w.found || bytes.Contains(data, []byte("controller-runtime")) || bytes.Contains(data, []byte("TypeMeta"))
		})
		if err == nil && w.found {
			err = w.walk("", func(name string, data []byte) {
				old := strings.HasPrefix(name, oldDirs[0]+"/") || strings.HasPrefix(name, oldDirs[1]+"/")
				data = bytes.ReplaceAll(data, []byte("/controller-runtime/"+dir), nil) // has a package of the same path
				w.used = w.used || !old && bytes.Contains(data, []byte("/"+dir))
			})
		}
		if err != nil {
			return nil, fmt.Errorf("look for code of an old layout: %w", err)
		}
		if w.found && !w.used {
			out = append(out, dir)
		}
	}
	return out, nil
}

// StraysHint says what to do about a directory that Strays found.
func StraysHint(dir string) string {
	to := "internal/controller"
	if dir == oldDirs[1] {
		to = "api/VERSION"
	}
	return fmt.Sprintf("move its files to %s, then 'mysdk migrate --file FILE' for each; see %s", to, Guide)
}

// walker looks at the Go code of a project.
type walker struct {
	files       host.Files
	root        string
	found, used bool
}

// walk calls visit with every Go file below a directory that is part of the
// project's packages.
func (w *walker) walk(dir string, visit func(name string, data []byte)) error {
	entries, err := w.files.ReadDir(filepath.Join(w.root, filepath.FromSlash(dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") || e.Name() == "vendor" || e.Name() == "testdata":
		case e.IsDir():
			if err := w.walk(name, visit); err != nil {
				return err
			}
		case path.Ext(name) == ".go" && e.Type().IsRegular():
			data, err := w.files.ReadFile(filepath.Join(w.root, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			visit(name, data)
		}
	}
	return nil
}
