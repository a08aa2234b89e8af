package migrate

import (
	"maps"
	"path"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/rewrite/goedit"
	"github.com/example/mysdk/internal/rewrite/merge3"
)

// buildFiles decides about what built the image.
func (m *migration) buildFiles() error {
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		switch {
		case name == "build/Dockerfile":
			m.aside(name, "Dockerfile")
		case strings.HasPrefix(name, "build/bin/") || strings.HasPrefix(name, "build/test-framework/"):
			m.drop(name, "the image is built without it")
		}
	}
	return nil
}

// rootFiles brings the user's files and the scaffold's together where both
// have one.
func (m *migration) rootFiles() error {
	if v := m.versionOf(); v != "" { // a Makefile of the user's that sets it has the last word
		const makefile = "Makefile"
		m.put(makefile, []byte(m.instead(string(m.out[makefile].data), "VERSION ?= 0.0.1", "VERSION ?= "+v)))
	}
	for name := range m.files {
		if strings.EqualFold(name, "README.md") {
			delete(m.out, "README.md") // one directory cannot have both everywhere
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.rendered)) {
		mine, there := m.files[name]
		inConfig := m.layout != LayoutSDK0 && strings.HasPrefix(name, "config/")
		if !there || name == "go.mod" || name == "go.sum" || name == "PROJECT" || m.dropped[name] != "" || inConfig || m.isMoved(name) {
			continue
		}
		switch base := path.Base(name); {
		case slices.Contains([]string{"README.md", "AGENTS.md", ".golangci.yml", "boilerplate.go.txt", "devcontainer.json"}, base), strings.HasPrefix(name, ".github/workflows/"):
			delete(m.out, name) // the user's stays
		case base == ".gitignore", base == ".dockerignore":
			merged, _ := merge3.Merge(name, []byte("\n"), mine.data, m.rendered[name])
			m.keep(name, name, merged)
		default:
			m.aside(name, name)
		}
	}
	for _, name := range []string{"Gopkg.toml", "Gopkg.lock"} {
		if hasFile(m.files, name) {
			m.drop(name, "go.mod is in its place")
		}
	}
	return nil
}

// asideEnding is what the names of such files end in.
const asideEnding = ".before-migrate"

// aside keeps a file of the user's beside the scaffold's of a name.
func (m *migration) aside(from, name string) {
	m.keep(from, name+asideEnding, m.files[from].data)
	m.note(name+asideEnding, "take over what you need of it into %s, then remove it", name)
}

// buildContext lets packages of the user's own into the image build: what the
// scaffold's .dockerignore names are those of its layout. Of the lines that fit
// a file the last one counts.
func (m *migration) buildContext() error {
	const name = ".dockerignore"
	lines := strings.Split(string(m.out[name].data), "\n")
	at, missing := len(lines), []string{}
	for i, line := range lines {
		if strings.HasPrefix(line, "!") {
			at = i + 1
		}
	}
	for _, top := range m.imported() {
		if !slices.Contains(lines[slices.Index(lines, "*")+1:], "!"+top) {
			missing = append(missing, "!"+top)
		}
	}
	if len(missing) > 0 {
		m.put(name, []byte(strings.Join(slices.Insert(lines, at, missing...), "\n")))
	}
	return nil
}

// imported is what the module's code, or the old main program, imports of the module:
// the directories in its root, and *.go for the root itself.
func (m *migration) imported() []string {
	all := map[string]bool{}
	for name, o := range m.out {
		if path.Ext(name) != ".go" && name != keptMain || strings.HasSuffix(name, "_test.go") || m.ignored(name) {
			continue
		}
		f, err := goedit.Parse(name, o.data)
		if err != nil {
			continue // the compiler tells
		}
		for _, spec := range f.Tree.Imports {
			if rest, ok := strings.CutPrefix(goedit.PathOf(spec)+"/", m.module+"/"); ok {
				top, _, deeper := strings.Cut(m.along(rest+"x"), "/") // the old main program has the old paths
				if !deeper {
					top = "*.go"
				}
				all[top] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

var versionLine = lazy.Delayed(`(?m)Version\s*=\s*"v?([0-9]+\.[0-9]+\.[0-9]+[^"]*)"`)

// versionOf is the version in version/version.go.
func (m *migration) versionOf() string {
	if v := versionLine.FindSubmatch(m.files["version/version.go"].data); v != nil {
		return string(v[1])
	}
	return ""
}
