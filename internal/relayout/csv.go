package relayout

import (
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

var (
	supportedLine = lazy.Delayed(`^(\s*(?:- )?supported:\s*)(true|false)(\s*)$`)
	typeLine      = lazy.Delayed(`^\s*(?:- )?type:\s*"?(OwnNamespace|AllNamespaces)"?\s*$`)
)

// InstallModes says in a ClusterServiceVersion that the manager is for the
// namespace it runs in, or for all of them. The other two install modes, and
// the rest of the file, stay as they are.
func InstallModes(csv []byte, namespaced bool) []byte {
	lines := strings.SplitAfter(string(csv), "\n")
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
				lines[at] = s[1] + strconv.FormatBool((m[1] == "AllNamespaces") != namespaced) + s[3]
			}
		}
	}
	return []byte(strings.Join(lines, ""))
}
