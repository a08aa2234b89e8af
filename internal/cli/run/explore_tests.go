package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/explore"
	"github.com/example/mysdk/internal/explore/gotest"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/localrun/trace"
	"github.com/example/mysdk/internal/mainpkg"
)

const (
	runtimeModule = "sigs.k8s.io/controller-runtime"
	oldestRuntime = "v0.15.0" // with the options that tests give a manager
)

// testsFor finds out, before anything is started, how tests are written in this
// project; nil without --write-tests.
func (o *exploreOptions) testsFor(f *cli.Factory) (*gotest.Project, error) {
	if o.tests == "" {
		return nil, nil
	}
	dir, err := filepath.Rel(f.Host.Dir, f.Host.Path(o.tests))
	if err != nil || !filepath.IsLocal(dir) || dir == "." {
		return nil, clierr.Usagef("name one such as test/explore", "--write-tests: %s is not a directory within the project", o.tests)
	}
	p := &gotest.Project{Dir: filepath.ToSlash(dir)}
	if p.Package, err = testPackage(f, p.Dir); err != nil {
		return nil, err
	}
	if p.Runtime, err = runtimeVersion(f); err != nil {
		return nil, err
	}
	if _, err := f.Host.Files.Lstat(f.Host.Path(gotest.CRDs)); err != nil {
		return nil, clierr.Failedf("move the CRDs there, or leave --write-tests out", "--write-tests: no CRDs in %s: %w", gotest.CRDs, err)
	}
	main, err := mainpkg.Find(f.Host.Files, f.Host.Dir)
	if err != nil {
		return nil, clierr.Failedf("leave --write-tests out", "--write-tests: %w", err)
	}
	name := path.Join(main, "main.go")
	src, err := f.Host.Files.ReadFile(f.Host.Path(name))
	if err == nil {
		p.Setup, err = gotest.SetupOf(name, src)
	}
	if err != nil {
		return nil, fmt.Errorf("--write-tests: %w", err)
	}
	return p, nil
}

// testPackage is the name of the package of tests in a directory: apart from the
// one whose code is there.
func testPackage(f *cli.Factory, dir string) (string, error) {
	entries, err := f.Host.Files.ReadDir(f.Host.Path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("--write-tests: %w", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		src, err := f.Host.Files.ReadFile(f.Host.Path(path.Join(dir, e.Name())))
		if err != nil {
			return "", fmt.Errorf("--write-tests: %w", err)
		}
		if name := gotest.PackageOf(src); name != "" {
			return name + "_test", nil
		}
	}
	return "explore_test", nil
}

// runtimeVersion is the version of controller-runtime that the project uses.
func runtimeVersion(f *cli.Factory) (string, error) {
	_, mod, err := trace.Module(f.Host.Files, f.Host.Dir)
	if err != nil {
		return "", fmt.Errorf("--write-tests: %w", err)
	}
	for _, r := range mod.Require {
		if r.Mod.Path == runtimeModule && semver.Compare(r.Mod.Version, oldestRuntime) >= 0 {
			return r.Mod.Version, nil
		}
	}
	return "", clierr.Failedf("bring it up to date, or leave --write-tests out", "--write-tests: go.mod does not require %s %s or later", runtimeModule, oldestRuntime)
}

// writeTests writes the tests of findings, and nothing over what is there.
func writeTests(ctx context.Context, f *cli.Factory, p gotest.Project, findings []explore.Finding) error {
	files, without, err := gotest.Render(p, findings)
	if err != nil {
		return err
	}
	for _, why := range without {
		f.Say("no test of %s", why)
	}
	var set fileset.Set
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := set.Put(path.Join(p.Dir, name), fileset.File{Data: files[name], New: true}); err != nil {
			return err
		}
	}
	if set, err = f.Tree().Changed(set); err != nil || set.Len() == 0 {
		return err
	}
	err = f.Write(ctx, set, false)
	if there := (*fileset.ConflictError)(nil); errors.As(err, &there) {
		return clierr.Failedf("remove what is there, or name another directory; --replay writes the test of one finding", "--write-tests: %w", there)
	}
	if err != nil {
		return err
	}
	for _, name := range set.Paths() {
		f.Say("wrote %s", name)
	}
	return nil
}
