package migrate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
)

// isIgnored says whether the go command does not look at what has a name.
func isIgnored(base string) bool {
	return base == "testdata" || strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".")
}

// ignored says whether a file is no code of the project's module: it may hold
// anything, templates of code for instance.
func (m *migration) ignored(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), isIgnored) || m.moduleOf(name) != ""
}

// moduleOf is the directory of the module below the root that a file belongs
// to, empty for the root's.
func (m *migration) moduleOf(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if hasFile(m.files, dir+"/go.mod") {
			return dir
		}
	}
	return ""
}

// nestedModules tells of modules below the root: they stay as they are. Those
// with code that migrate would have to change are refused.
func (m *migration) nestedModules() error {
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		dir := path.Dir(name)
		if path.Base(name) != "go.mod" || dir == "." || strings.HasPrefix(name, "vendor/") || slices.ContainsFunc(strings.Split(dir, "/"), isIgnored) {
			continue
		}
		if m.changesIn(dir) {
			return clierr.Failedf("make its packages a part of the root's module first: remove it, and the requirement and replacement of it in go.mod, and run 'go mod tidy'",
				"%s makes a module of its own of packages that have to be changed", name)
		}
		m.know("%s is a module of its own, and stays as it is: see whether it names packages that have moved.", dir)
	}
	return nil
}

// changesIn says whether a directory has types of the project, or packages that
// move.
func (m *migration) changesIn(dir string) bool {
	for name := range m.files {
		if strings.HasPrefix(name, dir+"/") && m.moduleOf(name) == dir && path.Ext(name) == ".go" {
			types := slices.ContainsFunc(m.apis, func(a *apiVersion) bool { return a.dir == path.Dir(name) })
			if types || m.along(name) != name {
				return true
			}
		}
	}
	return false
}

// dropVendor takes vendored code out: it is that of the old go.mod. One line
// tells of all of it.
func (m *migration) dropVendor() {
	for name := range m.files {
		if strings.HasPrefix(name, "vendor/") {
			m.drop(name, "it is vendored")
			m.drop("vendor", "go.mod and the module cache are in the place of vendored code")
		}
	}
}

// ownPage keeps a page of the user's that has the name of the report.
func (m *migration) ownPage() {
	f, there := m.files[ReportName]
	if !there || strings.HasPrefix(string(f.data), reportTitle) {
		return
	}
	to := ReportName + asideEnding
	m.keep(ReportName, to, f.data)
	m.note(to, "%s", fmt.Sprintf("this page was yours, and %s is now the list of what is left to do: give it its name back when you have removed that", ReportName))
}
