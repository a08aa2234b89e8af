package relayout

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// InstallModes says in a ClusterServiceVersion that the manager is for the
// namespace it runs in, or for all of them. Whether one for some namespaces can also
// be installed in the other two modes is its author's choice, unless all four are as
// they are scaffolded. The rest of the file stays as it is.
func InstallModes(csv []byte, namespaced bool) []byte {
	var doc yaml.Node
	if err := yaml.Unmarshal(csv, &doc); err != nil {
		return csv // 'bundle generate' says what is wrong with it
	}
	var modes, supports []*yaml.Node
	asScaffolded := 0
	if list := yamledit.Lookup(&doc, "spec.installModes"); list != nil {
		for _, item := range list.Content {
			mode, supported := yamledit.Value(item, "type"), yamledit.Value(item, "supported")
			if mode == nil || supported == nil || supported.Tag != "!!bool" {
				continue
			}
			modes, supports = append(modes, mode), append(supports, supported)
			if supported.Value == strconv.FormatBool((mode.Value == "AllNamespaces") == namespaced) {
				asScaffolded++
			}
		}
	}
	lines := strings.SplitAfter(string(csv), "\n")
	for i, n := range slices.Backward(supports) { // several may be on one line
		mode := modes[i].Value
		if namespaced && asScaffolded < 4 && (mode == "SingleNamespace" || mode == "MultiNamespace") {
			continue
		}
		line := lines[n.Line-1]
		if !strings.HasPrefix(line[n.Column-1:], n.Value) {
			continue // behind an anchor
		}
		lines[n.Line-1] = line[:n.Column-1] + strconv.FormatBool((mode == "AllNamespaces") != namespaced) + line[n.Column-1+len(n.Value):]
	}
	return []byte(strings.Join(lines, ""))
}
