package migrate

import (
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// roleForUsers are the roles that the scaffolds wrote for a kind's users.
var roleForUsers = lazy.Delayed(`^config/rbac/.*_(editor|viewer)_role\.yaml$`)

// userRole decides about a role for a kind's users: today's takes its place
// unless the rules are others.
func (m *migration) userRole(name string) {
	list, err := readObjects(name, m.files[name].data)
	if err != nil || len(list) != 1 {
		m.keep(name, name, m.files[name].data)
		return
	}
	if o := list[0]; o.Kind == "ClusterRole" && isScaffoldRole(o.Rules, strings.Contains(name, "_editor_")) {
		if m.rendered[name] == nil {
			m.drop(name, "the new scaffold's roles are called otherwise")
		}
		return
	}
	m.keep(name, name, m.files[name].data)
}

// isScaffoldRole says whether rules are those that the scaffolds wrote.
func isScaffoldRole(rules []rule, editor bool) bool {
	verbs := []string{"get", "list", "watch"}
	if editor {
		verbs = append(verbs, "create", "update", "patch", "delete")
	}
	if len(rules) != 2 || len(rules[0].Resources) != 1 || len(rules[0].Verbs) != len(verbs) {
		return false
	}
	kind := rules[0].Resources[0]
	return !slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(rules[0].Verbs, v) }) &&
		slices.Equal(rules[1].Resources, []string{kind + "/status"}) && slices.Equal(rules[1].Verbs, []string{"get"})
}

// forDefault is a subject that is a namespace's default account, as which the
// manager of go/v2 ran.
var forDefault = lazy.Delayed(`(?m)^- kind: ServiceAccount[^\n]*\n\s+name: default$`)

// markGoneConfig marks the lines that name what is gone, or has another place.
func markGoneConfig(data []byte) []byte {
	gone := []struct{ text, why string }{
		{"kube-rbac-proxy", "the proxy in front of the metrics is gone: take this out"},
		{"/containers/1/", "the manager is the only container now, and has the index 0"},
		{"manager_auth_proxy_patch.yaml", "there is no such file any more"},
		{"auth_proxy_service.yaml", "the file is config/default/metrics_service.yaml now"},
	}
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		text := strings.TrimLeft(line, " ")
		for _, g := range gone {
			if strings.Contains(line, g.text) && !strings.HasPrefix(text, "#") {
				out.WriteString(line[:len(line)-len(text)] + "# " + todoMark + g.why + "\n")
			}
		}
		out.WriteString(line)
	}
	return []byte(out.String())
}
