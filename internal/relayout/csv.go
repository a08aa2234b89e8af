package relayout

import (
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

var (
	supportedLine = lazy.Delayed(`^(\s*(?:- )?supported:\s*)(true|false)(\s*)$`)
	typeLine      = lazy.Delayed(`^\s*(?:- )?type:\s*"?(OwnNamespace|SingleNamespace|MultiNamespace|AllNamespaces)"?\s*$`)
)

// InstallModes says in a ClusterServiceVersion that the manager is for the
// namespace it runs in, or for all of them. Whether one for some namespaces can also
// be installed in the other two modes is its author's choice, unless all four are as
// they are scaffolded. The rest of the file stays as it is.
func InstallModes(csv []byte, namespaced bool) []byte {
	lines := strings.SplitAfter(string(csv), "\n")
	modes := map[string]int{} // the lines that say whether they are supported
	asScaffolded := 0
	for i, line := range lines {
		m := typeLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, at := range []int{i - 1, i + 1} { // the two fields of a list item
			if at < 0 || at >= len(lines) || (at < i) == strings.Contains(line, "- ") {
				continue
			}
			if s := supportedLine.FindStringSubmatch(lines[at]); s != nil {
				modes[m[1]] = at
				if s[2] == strconv.FormatBool((m[1] == "AllNamespaces") == namespaced) {
					asScaffolded++
				}
			}
		}
	}
	for mode, at := range modes {
		if namespaced && asScaffolded < 4 && (mode == "SingleNamespace" || mode == "MultiNamespace") {
			continue
		}
		s := supportedLine.FindStringSubmatch(lines[at])
		lines[at] = s[1] + strconv.FormatBool((mode == "AllNamespaces") != namespaced) + s[3]
	}
	return []byte(strings.Join(lines, ""))
}
