package migrate

import (
	"bytes"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// usesSDKTest says whether a test stands on operator-sdk's test framework.
func usesSDKTest(f *goFile) bool {
	return slices.ContainsFunc(f.Tree.Imports, func(s *ast.ImportSpec) bool {
		return strings.HasPrefix(strings.Trim(s.Path.Value, `"`), operatorSDK+"pkg/test")
	})
}

// Reasons to keep a test out of the build, each with what to do about it.
const (
	frameworkGone = "operator-sdk's test framework is gone, and the constraint keeps this file out of the build: rewrite the test with envtest ('mysdk test')"
	suiteGone     = "internal/webhook sets up the webhooks now, which this package cannot import, and the constraint keeps this file out of the build: move the test there"
)

// legacyTests finds the files on operator-sdk's test framework, and the suites
// of webhooks that tests need: what sets their webhooks up is in another package
// now. The map says why they, and the tests that do not compile without them, are
// kept out of the build.
func (m *migration) legacyTests() map[string]string {
	out := map[string]string{}
	for name := range m.withDependents(usesSDKTest) {
		out[name] = frameworkGone
	}
	suites := m.withDependents(func(f *goFile) bool { return path.Base(f.Name) == webhookSuite && m.isUselessSuite(f.Name) })
	for name := range suites {
		if path.Base(name) == webhookSuite {
			continue
		}
		out[name], out[path.Join(path.Dir(name), webhookSuite)] = suiteGone, suiteGone
	}
	return out
}

// withDependents finds the files that first is true of, and the tests that do
// not compile without what only these files have.
func (m *migration) withDependents(first func(*goFile) bool) map[string]bool {
	out, tests := map[string]bool{}, map[string]*goFile{}
	for f := range m.parse(m.ownCode()) {
		switch {
		case first(f):
			out[f.Name] = true
		case strings.HasSuffix(f.Name, "_test.go") || strings.HasPrefix(f.Name, "test/"):
			tests[f.Name] = f
		}
	}
	for changed := len(out) > 0; changed; {
		changed = false
		for name, f := range tests {
			if !out[name] && (m.importsOnly(f, out) || m.namesOnly(f, out)) {
				out[name], changed = true, true
			}
		}
	}
	return out
}

// importsOnly says whether a file imports a package of the project that has no
// other files than those.
func (m *migration) importsOnly(f *goFile, files map[string]bool) bool {
	return slices.ContainsFunc(f.Tree.Imports, func(s *ast.ImportSpec) bool {
		dir, own := strings.CutPrefix(goedit.PathOf(s), m.module+"/")
		return own && len(m.codeIn(dir)) > 0 && !slices.ContainsFunc(m.codeIn(dir), func(name string) bool { return !files[name] })
	})
}

// codeIn are the Go files of a directory that others can import.
func (m *migration) codeIn(dir string) []string {
	return slices.DeleteFunc(inDir(m.files, dir), func(name string) bool {
		return path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go")
	})
}

// namesOnly says whether a file uses a name that those files of its package
// declare.
func (m *migration) namesOnly(f *goFile, files map[string]bool) bool {
	for of := range m.parse(inDir(m.files, path.Dir(f.Name))) {
		if files[of.Name] && of.Tree.Name.Name == f.Tree.Name.Name && slices.ContainsFunc(f.Tree.Unresolved, func(id *ast.Ident) bool { return of.Tree.Scope.Lookup(id.Name) != nil }) {
			return true
		}
	}
	return false
}

// legacyTest keeps a test out of the build.
func (m *migration) legacyTest(name, why string) {
	r := relayout.Rewrite{Packages: m.packages()}
	data, err := r.Go(name, m.files[name].data)
	if err != nil {
		m.fail(err)
		return
	}
	const constraint = "//go:build ignore\n\n" // the one that go mod tidy respects
	if !bytes.Contains(data, []byte(constraint)) {
		data = regexp.MustCompile(`(?m)^//(go:build| \+build) .*\n`).ReplaceAll(data, nil)
		data = bytes.TrimLeft(data, "\n")
		mark := todoLine("%s", why) + "\n\n"
		data = append([]byte(constraint+mark), data...)
	}
	m.keep(name, m.along(name), data)
}
