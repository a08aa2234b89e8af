package migrate

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// buildFiles decides about what built the image, and the version package.
func (m *migration) buildFiles() error {
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if !strings.HasPrefix(name, "build/") {
			continue
		}
		switch {
		case name == "build/Dockerfile":
			m.drop(name, "'mysdk image build' needs none, and the new Dockerfile is in the root")
			if lines := unusualLines(m.files[name].data); len(lines) > 0 {
				m.note("Dockerfile", "%s had lines of its own: %s", name, strings.Join(lines, "; "))
			}
		case strings.HasPrefix(name, "build/bin/"):
			m.drop(name, "the image runs as any user without it")
		case strings.HasPrefix(name, "build/test-framework/"):
			m.drop(name, "it built the image of the old test framework")
		}
	}
	return nil
}

// unusualLines are the lines of a Dockerfile that the scaffolds of v0.x did
// not write.
func unusualLines(data []byte) []string {
	known := regexp.MustCompile(`^(#|$|FROM |COPY build/(_output/bin|bin)|RUN +/usr/local/bin/user_setup|ENTRYPOINT|USER \$\{USER_UID\}|ENV (OPERATOR|USER_UID|USER_NAME)=\S+ ?\\?$|\s+USER_(UID|NAME)=\S+ ?\\?$)`)
	var out []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if !known.MatchString(line) && strings.TrimSpace(line) != "" {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// rootFiles brings the user's files and the scaffold's together where both
// have one.
func (m *migration) rootFiles() error {
	if v := m.versionOf(); v != "" { // a Makefile of the user's that sets it has the last word
		const makefile = "Makefile"
		m.put(makefile, []byte(m.instead(string(m.out[makefile].data), "VERSION ?= 0.0.1", "VERSION ?= "+v)))
	}
	for _, name := range slices.Sorted(maps.Keys(m.rendered)) {
		mine, there := m.files[name]
		inConfig := m.layout != LayoutSDK0 && strings.HasPrefix(name, "config/")
		if !there || name == "go.mod" || name == "go.sum" || name == "PROJECT" || m.dropped[name] != "" || inConfig || m.isMoved(name) {
			continue
		}
		switch path.Base(name) {
		case "README.md", "AGENTS.md", ".golangci.yml", "boilerplate.go.txt", "devcontainer.json":
			delete(m.out, name) // the user's stays
		case ".gitignore", ".dockerignore":
			m.keep(name, name, unionLines(mine.data, m.rendered[name]))
		default:
			m.aside(name)
		}
	}
	for _, name := range []string{"Gopkg.toml", "Gopkg.lock", "deploy/namespace-init.yaml"} {
		if hasFile(m.files, name) {
			m.drop(name, "go.mod is in its place")
		}
	}
	return nil
}

// asideEnding is what the names of such files end in.
const asideEnding = ".before-migrate"

// aside keeps a file of the user's whose name the scaffold needs under another
// one.
func (m *migration) aside(name string) {
	to := name + asideEnding
	if strings.HasPrefix(name, ".github/workflows/") {
		delete(m.out, name)
		return
	}
	lines, known := m.ownLinesOf(name)
	if known && len(lines) == 0 {
		m.dropped[name] = "it was as the scaffold of old wrote it"
		return
	}
	m.keep(name, to, m.files[name].data)
	m.note(to, "%s", m.takeOver(name, lines))
}

// missingTargets are the targets of a Makefile that another one has not.
func missingTargets(mine, theirs []byte) []string {
	target := regexp.MustCompile(`(?m)^([A-Za-z0-9][A-Za-z0-9_./-]*)[ \t]*:(?:[^=]|$)`)
	have := map[string]bool{}
	for _, t := range target.FindAllSubmatch(theirs, -1) {
		have[string(t[1])] = true
	}
	var out []string
	for _, t := range target.FindAllSubmatch(mine, -1) {
		if name := string(t[1]); !have[name] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// unionLines adds the lines of b that a has not.
func unionLines(a, b []byte) []byte {
	have := map[string]bool{}
	for line := range strings.Lines(string(a)) {
		have[strings.TrimSpace(line)] = true
	}
	out := strings.TrimRight(string(a), "\n") + "\n"
	for line := range strings.Lines(string(b)) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "#") && !have[t] {
			out += t + "\n"
		}
	}
	return []byte(out)
}

var versionLine = lazy.Delayed(`(?m)Version\s*=\s*"v?([0-9]+\.[0-9]+\.[0-9]+[^"]*)"`)

// versionOf is the version in version/version.go.
func (m *migration) versionOf() string {
	if v := versionLine.FindSubmatch(m.files["version/version.go"].data); v != nil {
		return string(v[1])
	}
	return ""
}
