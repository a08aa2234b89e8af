package migrate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
)

const rolePath = "config/rbac/role.yaml"

// managerRole decides about the operator's role, which the generator writes if there
// are markers for it. The rules of one that was written by hand become markers,
// unless something may be bound to it by its name.
func (m *migration) managerRole(name string) {
	list, err := readObjects(name, m.files[name].data)
	if err != nil {
		m.fail(clierr.Failedf("repair it and run the command again", "%s: %w", name, err))
		return
	}
	marked := m.roleMarkers()
	var lines, missing []string
	for _, o := range list {
		namespace := ""
		if o.Kind == "Role" {
			namespace = cmp.Or(o.Metadata.Namespace, m.projectName()+"-system")
		}
		for _, r := range o.Rules {
			lines = append(lines, r.marker(namespace))
			missing = append(missing, slices.DeleteFunc(slices.Concat(r.Resources, r.URLs), func(what string) bool { return strings.Contains(marked, what) })...)
		}
	}
	switch {
	case len(missing) == 0:
	case marked != "":
		m.general = append(m.general, Note{Text: fmt.Sprintf("%s has rules for %s that no +kubebuilder:rbac marker has: add markers for those you need, 'mysdk generate' writes the role from markers only.", name, strings.Join(slices.Compact(slices.Sorted(slices.Values(missing))), ", "))})
	case slices.ContainsFunc(list, func(o *object) bool { return o.Metadata.Name != "manager-role" }):
		m.keep(name, name, m.files[name].data)
		m.note(name, "no +kubebuilder:rbac marker makes it, and the first one replaces it: write its rules as markers, or give the file another name")
	default:
		m.putRules(lines)
		m.general = append(m.general, Note{Text: fmt.Sprintf("The rules of %s are markers in internal/controller now, of which 'mysdk generate' makes the role.", name)})
	}
}

// roleMarkers are the lines of the project's code with markers of rules.
func (m *migration) roleMarkers() string {
	var out strings.Builder
	for _, name := range m.ownCode() {
		for line := range strings.Lines(string(m.files[name].data)) {
			if path.Ext(name) == ".go" && strings.Contains(line, rulePrefix) {
				out.WriteString(line)
			}
		}
	}
	return out.String()
}

// forDefault is a subject that is a namespace's default account, as which the
// manager of go/v2 ran.
var forDefault = lazy.Delayed(`(?m)^- kind: ServiceAccount[^\n]*\n\s+name: default\s*$`)

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
