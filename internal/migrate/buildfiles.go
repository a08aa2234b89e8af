package migrate

import (
	"crypto/sha256"
	_ "embed" // the digests
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// The digests, as lineDigest makes them, of every line that a scaffold of go/v2
// or go/v3 has ever written into its Makefile and Dockerfile, but for comments:
// any other is the user's. Versions are {v} in them, and the name of buildx's
// builder is {name}.
//
//go:embed files/makefile.txt
var makefileLines string

//go:embed files/dockerfile.txt
var dockerfileLines string

var (
	helpText     = lazy.Delayed(`^([a-z][a-z-]*:[^#]*?)\s*##.*$`)
	lineVersion  = lazy.Delayed(`v?[0-9]+(\.[0-9]+)+(-(alpha|beta|rc)\.[0-9]+)?`)
	builderName  = lazy.Delayed(`(buildx (?:create --name|use|rm) )\S+-builder`)
	assignment   = lazy.Delayed(`^([A-Z_]+)[ \t]*[:?]?=(.*)$`)
	variableName = lazy.Delayed(`\$[({]([A-Za-z_][A-Za-z0-9_]*)[)}]`)
)

// ownBuildLines lists the lines of a Makefile or Dockerfile that no scaffold wrote.
func ownBuildLines(data []byte, known string) []string {
	scaffolds := map[string]bool{}
	for line := range strings.Lines(known) {
		scaffolds[strings.TrimSpace(line)] = true
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		text := lineVersion.ReplaceAllString(helpText.ReplaceAllString(line, "$1"), "{v}")
		text = builderName.ReplaceAllString(text, "$1{name}-builder")
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ".PHONY:") && !scaffolds[lineDigest(text)] {
			out = append(out, line)
		}
	}
	return out
}

// lineDigest stands for a line in the lists.
func lineDigest(line string) string {
	sum := sha256.Sum256([]byte(line))
	return hex.EncodeToString(sum[:])[:12]
}

// carriedVariables are the variables that users set in a Makefile, and that
// today's has too.
func carriedVariables() []string {
	return []string{"VERSION", "IMAGE_TAG_BASE", "IMG", "BUNDLE_IMG", "BUNDLE_IMGS", "CATALOG_IMG", "CHANNELS", "DEFAULT_CHANNEL", "PLATFORMS", "USE_IMAGE_DIGESTS"}
}

// makefileVariables carries the variables that the user has set over to the
// new Makefile, and returns the lines of his that were.
func (m *migration) makefileVariables(name string) []string {
	text := string(m.out[name].data)
	var taken, names []string
	for _, variable := range carriedVariables() {
		line := onlyAssignment(m.files[name].data, variable)
		if line == "" || !isDefined(line, text) || len(ownBuildLines([]byte(line), makefileLines)) == 0 {
			continue
		}
		with, ok := withAssignment(text, variable, line)
		if !ok {
			continue
		}
		if taken = append(taken, line); with != text {
			names = append(names, variable)
		}
		text = with
	}
	if len(names) > 0 {
		m.put(name, []byte(text))
		m.tookOver(name, names)
	}
	return taken
}

// onlyAssignment is the line that sets a variable, empty where there is none,
// where there are several, and where it goes on.
func onlyAssignment(data []byte, variable string) string {
	found := ""
	for line := range strings.Lines(string(data)) {
		a := assignment.FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
		if a == nil || a[1] != variable {
			continue
		}
		if found != "" || strings.HasSuffix(a[0], `\`) {
			return ""
		}
		found = a[0]
	}
	return found
}

// isDefined says whether a Makefile has the variables that a line names.
func isDefined(line, makefile string) bool {
	for _, v := range variableName.FindAllStringSubmatch(line, -1) {
		if !regexp.MustCompile(`(?m)^` + v[1] + `[ \t]*[:?]?=`).MatchString(makefile) {
			return false
		}
	}
	return true
}

// withAssignment is a Makefile with a variable as a line sets it: in the place
// of its own line, or in front of the one that asks whether it is set.
func withAssignment(makefile, variable, line string) (string, bool) {
	lines := strings.SplitAfter(makefile, "\n")
	for i, old := range lines {
		if a := assignment.FindStringSubmatch(strings.TrimRight(old, "\r\n")); a != nil && a[1] == variable {
			lines[i] = line + "\n"
			return strings.Join(lines, ""), true
		}
		if strings.HasPrefix(old, "ifneq ($(origin "+variable+"),") {
			return strings.Join(slices.Insert(lines, i, line+"\n"), ""), true
		}
	}
	return makefile, false
}

// ownLinesOf lists the lines of a Makefile or Dockerfile of the user's that no
// scaffold wrote, and that were not carried over. known is false for other
// files, which have nothing but such.
func (m *migration) ownLinesOf(name string) (lines []string, known bool) {
	switch path.Base(name) {
	case "Makefile":
		taken := m.makefileVariables(name)
		lines = slices.DeleteFunc(ownBuildLines(m.files[name].data, makefileLines), func(l string) bool { return slices.Contains(taken, l) })
		return lines, true
	case "Dockerfile":
		return ownBuildLines(m.files[name].data, dockerfileLines), m.layout != LayoutSDK0
	}
	return nil, false
}

// takeOver says what is to be done about a file that was kept aside.
func (m *migration) takeOver(name string, lines []string) string {
	if path.Base(name) == "Makefile" {
		if targets := missingTargets(m.files[name].data, m.rendered[name]); len(targets) > 0 {
			return fmt.Sprintf("the new Makefile has no %s: take over what you need, and remove this file", strings.Join(targets, ", "))
		}
	}
	const most = 3
	if len(lines) == 0 {
		return "take over what you need of it into " + name + ", and remove it"
	}
	quoted, more := make([]string, min(len(lines), most)), ""
	for i := range quoted {
		quoted[i] = short(lines[i])
	}
	if n := len(lines) - most; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("it had lines of its own (%s%s): take over what you need of it into %s, and remove it", strings.Join(quoted, "; "), more, name)
}
