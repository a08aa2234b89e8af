package upgrade

import (
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// mainFile is the manager's main package.
const mainFile = "cmd/main.go"

// wiring is a main.go taken apart: what create api and create webhook have put
// into it, and the rest.
type wiring struct {
	imports, schemes, builders []string // lines; a builder has several
	election                   string   // ID of the leader election: it must not change
	license                    string   // comment at the top
	rest                       string
}

var (
	schemeLine   = lazy.Delayed(`^\tutilruntime\.Must\((\w+)\.(AddToScheme|Install)\(scheme\)\)$`)
	builderStart = lazy.Delayed(`^\t(// nolint:goconst|// nolint:|if os\.Getenv\("ENABLE_WEBHOOKS"\)|if err :?= (\(&|\w+\.Setup\w+WithManager\())`)
	electionID   = lazy.Delayed(`(\bLeaderElectionID:\s+")([0-9a-f]{1,8})\.`)
	// electionFlag is where our main.go has that ID.
	electionFlag = lazy.Delayed(`("leader-election-id",\s+")([0-9a-f]{1,8})\.`)
	importLine   = lazy.Delayed("[\"`]([^\"`]+)[\"`]")
	importAlias  = lazy.Delayed(`^\t(\w+) "`)
	blanks       = lazy.Delayed(`\n{3,}`)
)

// splitMain takes a main.go apart. It goes by lines: the tools write them
// always in the same form, and what has another form is the user's.
func splitMain(text, repo string) wiring {
	w := wiring{license: licenseComment.FindString(text)}
	var rest strings.Builder
	if m := electionID.FindStringSubmatch(text); m != nil {
		w.election = m[2]
		text = electionID.ReplaceAllString(text, "${1}0.")
	}
	lines := strings.SplitAfter(text, "\n")
	// A kind of another project comes as an import and a line of the scheme,
	// which have the name in common.
	types := map[string]bool{}
	for _, line := range lines {
		if m := schemeLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && m[1] != "clientgoscheme" {
			types[m[1]] = true
		}
	}
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\r\n")
		if isWired(line, repo, types) {
			w.imports = append(w.imports, line+"\n")
			continue
		}
		if m := schemeLine.FindStringSubmatch(line); m != nil && m[1] != "clientgoscheme" {
			w.schemes = append(w.schemes, line+"\n")
			continue
		}
		if end := builderEnd(lines, i); end > i {
			w.builders = append(w.builders, strings.Join(lines[i:end], ""))
			i = end - 1
			continue
		}
		rest.WriteString(lines[i])
	}
	w.rest = blanks.ReplaceAllString(rest.String(), "\n\n")
	return w
}

// isWired says whether a line imports a package of the project's, or one whose
// types are registered.
func isWired(line, repo string, types map[string]bool) bool {
	if !strings.HasPrefix(line, "\t") || strings.Contains(line, "(") {
		return false
	}
	if m := importAlias.FindStringSubmatch(line); m != nil && types[m[1]] {
		return true
	}
	m := importLine.FindStringSubmatch(line)
	return m != nil && strings.HasPrefix(m[1], repo+"/")
}

// builderEnd returns the line after a block that sets up a controller or
// webhook, or the line that was given where none begins.
func builderEnd(lines []string, i int) int {
	if !builderStart.MatchString(lines[i]) {
		return i
	}
	for end := i + 1; end < len(lines); end++ {
		if strings.TrimRight(lines[end], "\r\n") == "\t}" {
			if strings.Contains(strings.Join(lines[i:end], ""), "WithManager(") {
				return end + 1
			}
			return i
		}
	}
	return i
}

// into puts what was wired into one main.go into another, in the place of what
// that one has. It fails where a marker is missing.
func (w wiring) into(text, repo string) (string, bool) {
	out := splitMain(text, repo).rest
	for _, part := range []struct {
		marker string
		lines  []string
	}{
		{"\t// +kubebuilder:scaffold:imports\n", w.imports},
		{"\t// +kubebuilder:scaffold:scheme\n", w.schemes},
		{"\t// +kubebuilder:scaffold:builder\n", w.builders},
	} {
		if strings.Count(out, part.marker) != 1 {
			return "", false
		}
		out = strings.Replace(out, part.marker, strings.Join(part.lines, "")+part.marker, 1)
	}
	if w.election != "" {
		out = electionFlag.ReplaceAllString(out, "${1}"+w.election+".")
	}
	// kubebuilder's header file says YEAR where its files have the year.
	if w.license != "" {
		out = w.license + licenseComment.ReplaceAllString(out, "")
	}
	return out, true
}
