package migrate

import (
	"crypto/sha256"
	_ "embed" // the digests
	"fmt"
	"path"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// The digests, as lineDigest makes them, of every line that a scaffold has ever
// written into its Makefile, Dockerfile and main program, but for comments and
// lines that name something of the project: any other is the user's.
var (
	//go:embed files/makefile.txt
	makefileLines string
	//go:embed files/dockerfile.txt
	dockerfileLines string
	//go:embed files/main.txt
	mainLines string
)

var (
	helpText    = lazy.Delayed(`^([a-z][a-z-]*:[^#]*?)\s*##.*$`)
	lineVersion = lazy.Delayed(`v?[0-9]+(\.[0-9]+)+(-(alpha|beta|rc)\.[0-9]+)?`)
	builderName = lazy.Delayed(`(buildx (?:create --name|use|rm) )\S+-builder`)
	loggedName  = lazy.Delayed(`,"[A-Z]\w*"\)$`)
	onlyLogs    = lazy.Delayed(`^(log|setupLog)\.\w+\((err,)?"[^"]*"\)$`)
)

// ownBuildLines lists the lines of a Makefile or Dockerfile that no scaffold
// wrote. Versions are {v} in the digests, and the name of buildx's builder is
// {name}.
func ownBuildLines(data []byte, known string) []string {
	var out []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		text := lineVersion.ReplaceAllString(helpText.ReplaceAllString(line, "$1"), "{v}")
		text = builderName.ReplaceAllString(text, "$1{name}-builder")
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ".PHONY:") && !strings.Contains(known, lineDigest(text)) {
			out = append(out, line)
		}
	}
	return out
}

// isMainLine says whether a line is one of the scaffolds' main programs, in any
// form that gofmt gives it and whatever it logs.
func isMainLine(line string) bool {
	text := loggedName.ReplaceAllString(squeeze(line), `,"{name}")`)
	return onlyLogs.MatchString(text) || strings.Contains(mainLines, lineDigest(text))
}

// lineDigest stands for a line in the lists.
func lineDigest(line string) string { return fmt.Sprintf("%.6x", sha256.Sum256([]byte(line))) }

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
