package migrate

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// The operator's role, as the generator makes it.
const (
	rolePath        = "config/rbac/role.yaml"
	managerRoleName = "manager-role"
)

// managerRole decides about the operator's role, which the generator writes if there
// are markers for it. Rules that were written by hand become markers, unless all of
// them were and something may be bound to the role by its name.
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
			if left := slices.DeleteFunc(slices.Concat(r.Resources, r.URLs), func(what string) bool { return marked[what] }); len(left) > 0 {
				lines, missing = append(lines, r.marker(namespace)), append(missing, left...)
			}
		}
	}
	if len(missing) > 0 && len(marked) == 0 && slices.ContainsFunc(list, func(o *object) bool { return o.Metadata.Name != managerRoleName }) {
		m.keep(name, name, m.files[name].data)
		m.note(name, "no +kubebuilder:rbac marker makes it, and the first one replaces it: write its rules as markers, or give the file another name")
		return
	}
	m.roles = map[string]bool{}
	for _, o := range list {
		m.roles[o.Metadata.Name] = o.Metadata.Name != "" // an object without a roleRef names none
	}
	if m.putRules(lines); len(missing) > 0 {
		m.know("No +kubebuilder:rbac marker had the rules of %s for %s: they are markers in internal/controller now, as 'mysdk generate' writes the role from markers only.",
			name, strings.Join(slices.Compact(slices.Sorted(slices.Values(missing))), ", "))
	}
}

// markedWhat finds the resources or URLs of a marker.
var markedWhat = lazy.Delayed(`\+kubebuilder:rbac:.*?(?:resources|urls)=(\{[^}\n]*\}|[^,\n]*)`)

// roleMarkers are the resources and URLs that the project's code has markers of
// rules for.
func (m *migration) roleMarkers() map[string]bool {
	out := map[string]bool{}
	for _, name := range m.ownCode() {
		for _, marker := range markedWhat.FindAllSubmatch(m.files[name].data, -1) {
			for _, what := range strings.FieldsFunc(string(marker[1]), func(c rune) bool { return strings.ContainsRune("\"'`{},; \r", c) }) {
				out[what] = true
			}
		}
	}
	return out
}

// generated has a binding to the operator's role name it as the generator does.
func (m *migration) generated(doc *yaml.Node) {
	if ref := yamledit.Value(doc, "roleRef"); m.roles[scalar(ref, "name")] {
		yamledit.Value(ref, "name").Value = managerRoleName
	}
}

// runsAs names the manager's account in the bindings of the scaffold.
func (m *migration) runsAs(account string) {
	for name, o := range m.out {
		if account != "" && path.Dir(name) == path.Dir(rolePath) && strings.HasSuffix(name, "_binding.yaml") {
			m.put(name, bytes.ReplaceAll(o.data, []byte("  name: controller-manager\n"), []byte("  name: "+account+"\n")))
		}
	}
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
