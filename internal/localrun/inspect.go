package localrun

import (
	"path/filepath"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/mainpkg"
)

// Inspect looks for the main package of the project in dir, as the go command calls
// it there, and for the names of the flags that it defines. That there is none is a
// usage error.
func Inspect(h host.Host, dir string) (pkg string, flags map[string]bool, err error) {
	if pkg, err = mainpkg.Find(h.Files, dir); err != nil {
		return "", nil, err
	}
	found, err := scanMain(h, filepath.Join(dir, filepath.FromSlash(pkg)))
	return pkg, found.flags, err
}
