package cmd_test

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/example/mysdk/internal/host/hosttest"
)

// typeCheckers check the projects of scripts, and share what they read of other
// modules among those with the same go.mod and go.sum.
type typeCheckers struct {
	lock sync.Mutex
	all  map[string]*typeChecker // by go.mod, without the module's name, and go.sum
}

type typeChecker struct {
	*hosttest.TypeChecker
	imports []string // that it knows
}

// check is the command typecheck of scripts: go vet ./... without a compiler,
// which takes seconds for a project that it has not seen.
func (c *typeCheckers) check(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: typecheck")
	}
	files := moduleFiles(ts)
	first, requires, _ := strings.Cut(files["go.mod"], "\n")
	module := strings.TrimPrefix(first, "module ")
	imports, err := hosttest.GoImports(module, files)
	ts.Check(err)
	c.lock.Lock()
	defer c.lock.Unlock()
	known := c.all[requires+files["go.sum"]]
	if known == nil || len(missing(imports, known.imports)) > 0 {
		known = &typeChecker{imports: imports}
		known.TypeChecker, err = hosttest.NewTypeChecker(ts.MkAbs("."), environment(ts), imports)
		ts.Check(err)
		if c.all == nil {
			c.all = map[string]*typeChecker{}
		}
		c.all[requires+files["go.sum"]] = known
	}
	n, err := known.Check(module, files)
	ts.Check(err)
	if n == 0 {
		ts.Fatalf("no packages")
	}
}

// moduleFiles are the Go files of the module in the script's directory that the
// pattern ./... has, go.mod and go.sum.
func moduleFiles(ts *testscript.TestScript) map[string]string {
	out, root := map[string]string{}, os.DirFS(ts.MkAbs("."))
	ts.Check(fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			_, err := fs.Stat(root, path.Join(name, "go.mod"))
			if err == nil || strings.ContainsAny(d.Name()[:1], "._") || slices.Contains([]string{"vendor", "testdata"}, d.Name()) {
				return fs.SkipDir
			}
		case path.Ext(name) == ".go" || name == "go.mod" || name == "go.sum":
			data, err := fs.ReadFile(root, name)
			out[name] = string(data)
			return err
		}
		return nil
	}))
	return out
}
