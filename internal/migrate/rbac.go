package migrate

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// rule is one of a role.
type rule struct {
	Groups    []string `yaml:"apiGroups"`
	Resources []string `yaml:"resources"`
	Names     []string `yaml:"resourceNames"`
	URLs      []string `yaml:"nonResourceURLs"`
	Verbs     []string `yaml:"verbs"`
}

// marker is the rule as a marker that controller-gen makes the same rule of.
func (r rule) marker(namespace string) string {
	var parts []string
	add := func(key string, values []string) {
		if len(values) > 0 {
			parts = append(parts, key+"="+strings.Join(values, ";"))
		}
	}
	groups, core := slices.Clone(r.Groups), `""`
	if len(groups) > 1 {
		core = "core" // an empty one cannot stand in a list
	}
	for i, g := range groups {
		groups[i] = cmp.Or(g, core)
	}
	add("groups", groups)
	if namespace != "" && len(r.URLs) == 0 {
		parts = append(parts, "namespace="+namespace)
	}
	add("resources", quoted(r.Resources))
	add("resourceNames", quoted(r.Names))
	add("urls", quoted(r.URLs))
	add("verbs", quoted(r.Verbs))
	return "// +kubebuilder:rbac:" + strings.Join(parts, ",")
}

// quoted puts values in quotes that markers need them around.
func quoted(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v
		if strings.ContainsAny(v, "*:,; {}") {
			out[i] = fmt.Sprintf("%q", v)
		}
	}
	return out
}

// binding is who a role is bound to, and by what.
type binding struct {
	own, others     bool // the operator's service account, somebody else
	here, clustered bool // by a RoleBinding, by a ClusterRoleBinding
}

// readBindings finds out who the roles in deploy are bound to.
func (m *migration) readBindings() {
	m.bound = map[string]binding{}
	for _, o := range m.objects {
		if !o.binds() || o.isExample() {
			continue
		}
		b := m.bound[o.boundTo()]
		for _, s := range o.Subjects {
			own := m.account == "" || s.Name == m.account
			b.own, b.others = b.own || own, b.others || !own
			b.here, b.clustered = b.here || own && o.Kind == "RoleBinding", b.clustered || own && o.Kind == "ClusterRoleBinding"
		}
		m.bound[o.boundTo()] = b
	}
}

// binds says whether an object gives a role to somebody.
func (o *object) binds() bool { return o.Kind == "RoleBinding" || o.Kind == "ClusterRoleBinding" }

func (o *object) isRole() bool { return o.Kind == "Role" || o.Kind == "ClusterRole" }

// key names a role, and boundTo the one that a binding is of.
func (o *object) key() string     { return o.Kind + "/" + o.Metadata.Name }
func (o *object) boundTo() string { return o.RoleRef.Kind + "/" + o.RoleRef.Name }

var exampleDir = lazy.Delayed(`(?i)/(examples?|samples?|demos?|e2e|test[^/]*)/`)

// isExample says whether an object is in a directory of tests or examples: what
// it allows is not what the operator is deployed with.
func (o *object) isExample() bool { return exampleDir.MatchString("/" + o.file) }

// isOwnRight says whether an object is about the rights of the operator's
// account, or a role that becomes a part of the cluster's own.
func (m *migration) isOwnRight(o *object) bool {
	switch {
	case o.isExample():
		return false
	case o.isRole():
		return o.isAggregated() || m.bound[o.key()].own
	}
	return o.binds() && (m.account == "" || m.isForAccount(o))
}

// isForAccount says whether the operator's service account is a subject of a
// binding.
func (m *migration) isForAccount(o *object) bool {
	return slices.ContainsFunc(o.Subjects, func(s subject) bool { return s.Name == m.account })
}

// ownRoles are the roles that are bound to the operator's service account, or
// to nobody. A role that is a part of the cluster's own is for users.
func (m *migration) ownRoles() []*object {
	return slices.DeleteFunc(slices.Clone(m.objects), func(o *object) bool {
		b := m.bound[o.key()]
		return !o.isRole() || m.isForeign(o) || o.isExample() || !b.own && (b.others || o.isAggregated())
	})
}

// isForeign says whether a role or binding is for another namespace than the
// operator's, or is that namespace. Markers and config/default know one namespace
// only.
func (m *migration) isForeign(o *object) bool {
	in := o.Metadata.Namespace
	switch {
	case o.Kind == "Namespace" && m.namespace == "": // of several it may be any
		return slices.ContainsFunc(m.objects, func(other *object) bool { return other.Kind == "Namespace" && other != o })
	case o.Kind == "Namespace":
		in = o.Metadata.Name
	case o.Kind != "Role" && o.Kind != "RoleBinding" || in == "" || m.namespace == "":
		return false
	}
	return in != m.namespace
}

// isAggregated says whether a role's rules become those of another role, such
// as the cluster's edit.
func (o *object) isAggregated() bool {
	for label := range o.Metadata.Labels {
		if strings.HasPrefix(label, "rbac.authorization.k8s.io/aggregate-to-") {
			return true
		}
	}
	return false
}

// oldAccount tells of bindings that stay and name the operator's service
// account, which has another name now.
func (m *migration) oldAccount(file string, list []*object) {
	for _, o := range list {
		if m.account != "" && m.isForAccount(o) {
			m.note(file, "the %s %s is for the ServiceAccount %s, which is controller-manager now: name that one in its subjects", o.Kind, o.Metadata.Name, m.account)
		}
	}
}

// widened tells of a ClusterRole that the operator had in one namespace: by
// markers it has it in all of them.
func (m *migration) widened(o *object) {
	if b := m.bound[o.key()]; o.Kind == "ClusterRole" && b.here && !b.clustered {
		m.know("A RoleBinding gave the operator the ClusterRole %s in one namespace. Its rules are for all namespaces now: add namespace=%s-system to their markers to keep them in one.",
			o.Metadata.Name, m.projectName())
	}
}

// markRules turns the rules of the operator's roles into markers above the
// Reconcile of its first controller, or into a file of their own where there
// is none.
func (m *migration) markRules() error {
	var lines []string
	for _, o := range m.ownRoles() {
		namespace := ""
		if o.Kind == "Role" {
			namespace = m.projectName() + "-system"
		}
		m.widened(o)
		for _, r := range o.Rules {
			if line := r.marker(namespace); len(r.Verbs) > 0 && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	for _, name := range m.ownCode() {
		to := m.along(name)
		out, ok := m.out[to]
		if !ok || strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "pkg/controller/") {
			continue
		}
		marked, err := transform(to, out.data, markReconcile(lines))
		if err != nil {
			return err
		}
		if string(marked) != string(out.data) {
			m.keep(name, to, marked)
			return nil
		}
	}
	m.putRules(lines)
	return nil
}

// markReconcile puts markers above Reconcile, those that the file has not.
func markReconcile(lines []string) pass {
	return func(f *goFile) {
		for fn := range f.Functions() {
			if !f.isReconcile(fn) {
				continue
			}
			text := ""
			for _, line := range lines {
				if !strings.Contains(string(f.Src), line) {
					text += line + "\n"
				}
			}
			if text == "" {
				return
			}
			at := fn.Pos()
			if fn.Doc != nil {
				at = fn.Doc.Pos()
			}
			f.Insert(at, text+"\n")
			return
		}
	}
}

var ofPackage = lazy.Delayed(`(?m)^//[ \t]*\+kubebuilder:(rbac|webhook).*\n`)

// packageMarkers moves markers out of the comments of functions: the generator reads
// only those that an empty line sets off.
func packageMarkers(f *goFile) {
	for fn := range f.Functions() {
		if fn.Doc == nil {
			continue
		}
		doc := f.Between(fn.Doc.Pos(), fn.Pos())
		if moved := strings.Join(ofPackage.FindAllString(doc, -1), ""); moved != "" {
			f.ReplaceRange(fn.Doc.Pos(), fn.Pos(), moved+"\n"+ofPackage.ReplaceAllString(doc, ""))
		}
	}
}

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
