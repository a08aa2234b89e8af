package cmd_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/example/mysdk/internal/host/hosttest"
)

// typeCheckers check the types of projects, and share what they read of other
// modules among those with the same go.mod and go.sum.
type typeCheckers struct {
	lock sync.Mutex
	all  map[string]*typeChecker // by go.mod, without the module's name, and go.sum
}

type typeChecker struct {
	*hosttest.TypeChecker
	imports []string // that it knows
}

// typecheck is the command of scripts: go build ./... and go vet ./... without a
// compiler, which takes seconds for a project that it has not seen, and without a
// linker.
func (c *typeCheckers) typecheck(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: typecheck")
	}
	ts.Check(c.check(ts.MkAbs("."), environment(ts)))
}

// check checks the types of the module in dir, tests included.
func (c *typeCheckers) check(dir string, env []string) error {
	files, err := moduleFiles(os.DirFS(dir))
	if err != nil {
		return err
	}
	first, requires, _ := strings.Cut(files["go.mod"], "\n")
	module := strings.TrimPrefix(first, "module ")
	imports, err := hosttest.GoImports(module, files)
	if err != nil {
		return err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	known := c.all[requires+files["go.sum"]]
	if known == nil || len(missing(imports, known.imports)) > 0 {
		checker, err := hosttest.NewTypeChecker(dir, env, imports)
		if err != nil {
			return err
		}
		known = &typeChecker{checker, imports}
		if c.all == nil {
			c.all = map[string]*typeChecker{}
		}
		c.all[requires+files["go.sum"]] = known
	}
	n, err := known.Check(module, files)
	if err == nil && n == 0 {
		return fmt.Errorf("%s: no packages", dir)
	}
	return err
}

// moduleFiles are the Go files of a module that the pattern ./... has, go.mod and
// go.sum.
func moduleFiles(root fs.FS) (map[string]string, error) {
	out := map[string]string{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
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
	})
	return out, err
}
