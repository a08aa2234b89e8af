package migrate

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// object is a Kubernetes object in a file of deploy, as far as migrate reads
// it.
type object struct {
	header   `yaml:",inline"`
	Rules    []rule    `yaml:"rules"`
	Subjects []subject `yaml:"subjects"`
	RoleRef  subject   `yaml:"roleRef"`
	node     *yaml.Node
	file     string
}

// header is what every object has.
type header struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name      string            `yaml:"name"`
		Namespace string            `yaml:"namespace"`
		Labels    map[string]string `yaml:"labels"`
	} `yaml:"metadata"`
}

// readObject reads an object, and of kinds that migrate has nothing to do with
// the header only: they may have fields of the same names and other types.
func readObject(d *yaml.Node, file string) (*object, error) {
	o := &object{node: d, file: file}
	if err := d.Decode(&o.header); err != nil {
		return nil, err
	}
	switch o.Kind {
	case "Deployment": // only checked: what is read of it are the nodes
		type container struct {
			Args, Command []string
			Env           []yaml.Node
		}
		return o, d.Decode(&struct {
			Spec struct {
				Template struct {
					Spec struct{ Containers []container }
				}
			}
		}{})
	case "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding":
		return o, d.Decode(o)
	}
	return o, nil
}

type subject struct {
	Kind string `yaml:"kind"`
	Name string `yaml:"name"`
}

// inDeploy says whether a file is one of deploy's manifests: no bundle, none of an
// older release, and no template of a Helm chart.
func inDeploy(name string) bool {
	return strings.HasPrefix(name, "deploy/") && isYAML(name) && !hasAnyPrefix(name, catalogDir+"/", "deploy/releases/") && !strings.Contains(name, "/templates/")
}

func (m *migration) deployFiles() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.files)), func(name string) bool { return !inDeploy(name) })
}

// readDeploy reads the objects in deploy. Files that are no YAML have none:
// markUnread tells of them. The operator's Deployment is the one in operator.yaml,
// else the first.
func (m *migration) readDeploy() {
	for _, name := range m.deployFiles() {
		if list, err := readObjects(name, m.files[name].data); err == nil {
			m.objects = append(m.objects, list...)
		}
	}
	byName := func(o *object) bool { return o != nil && path.Base(o.file) == "operator.yaml" }
	for _, o := range m.objects {
		isOne := o.Kind == "Deployment" && o.containers() != nil && !o.isExample()
		if isOne && (m.operator == nil || byName(o) && !byName(m.operator)) {
			m.operator = o
		}
	}
	if m.operator != nil {
		pod := find(m.operator.node.Content[0], "spec/template/spec")
		m.account = cmp.Or(scalar(pod, "serviceAccountName"), scalar(pod, "serviceAccount")) // its older name
		m.namespace = m.operator.Metadata.Namespace
	}
	for _, o := range m.objects {
		if o.Kind == "ServiceAccount" && o.Metadata.Name == m.account {
			m.namespace = cmp.Or(m.namespace, o.Metadata.Namespace)
		}
	}
	m.readBindings()
}

func readObjects(name string, data []byte) ([]*object, error) {
	docs, err := yamledit.Documents(data)
	if err != nil {
		return nil, err
	}
	var out []*object
	for _, d := range docs {
		if err := writeOut(d.Content[0]); err != nil {
			return nil, err
		}
		o, err := readObject(d, name)
		if err != nil {
			return nil, err
		}
		if o.Kind != "" && o.APIVersion != "" {
			out = append(out, o)
		}
	}
	return out, nil
}

// markUnread keeps the files of deploy that cannot be read, and says why.
func (m *migration) markUnread() {
	for _, name := range m.deployFiles() {
		if _, err := readObjects(name, m.files[name].data); err != nil {
			m.keep(name, name, m.files[name].data)
			m.note(name, "nothing of it was taken over, because it cannot be read (%s): repair it and migrate again, or carry it over to config yourself",
				strings.Join(strings.Fields(err.Error()), " "))
		}
	}
}

// isNamespaced says whether the operator may do things in its own namespace
// only: it has a Role, and no ClusterRole.
func (m *migration) isNamespaced() bool {
	role, cluster := false, false
	for _, o := range m.ownRoles() {
		role, cluster = role || o.Kind == "Role", cluster || o.Kind == "ClusterRole"
	}
	clustered := slices.ContainsFunc(m.apis, func(a *apiVersion) bool {
		return slices.ContainsFunc(a.kinds, func(k kind) bool { return k.clustered })
	})
	return role && !cluster && !clustered
}

// deployment carries deploy over to config.
func (m *migration) deployment() error {
	m.markUnread()
	m.know("Metrics were served to anyone, on the ports 8383 and 8686." + securedMetrics)
	if err := m.markRules(); err != nil {
		return err
	}
	roles := m.ownRoles()
	if m.operator != nil {
		m.manager(m.operator)
	}
	if !m.namespaced && slices.ContainsFunc(roles, func(o *object) bool { return o.Kind == "Role" }) {
		// Markers with a namespace make a Role, which the scaffold binds in namespaced projects only.
		const binding = "namespaced_role_binding.yaml"
		text := string(m.out["config/rbac/role_binding.yaml"].data)
		for _, change := range [][2]string{
			{"kind: ClusterRoleBinding", "kind: RoleBinding"}, {"kind: ClusterRole\n", "kind: Role\n"}, {"name: manager-rolebinding", "name: namespaced-manager-rolebinding"},
		} {
			text = m.instead(text, change[0], change[1])
		}
		m.put("config/rbac/"+binding, []byte(text))
		m.listIn("config/rbac/kustomization.yaml", binding)
	}
	files := m.byFile()
	crds := map[string]string{} // files, by the names of those that have no type
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var rest []*object
		for _, o := range files[name] {
			if first := crds[o.Metadata.Name]; o.Kind == "CustomResourceDefinition" && first != "" {
				m.know("%s has the CRD %s again: the one of %s is in config/crd/bases.", name, o.Metadata.Name, first)
			} else if !m.replaced(o, roles) {
				rest = append(rest, o)
				if o.Kind == "CustomResourceDefinition" {
					crds[o.Metadata.Name] = name
				}
			} else {
				m.carryReplaced(o)
			}
		}
		m.furtherObjects(name, rest, len(rest) == len(files[name]))
	}
	return nil
}

func (m *migration) byFile() map[string][]*object {
	out := map[string][]*object{}
	for _, o := range m.objects {
		out[o.file] = append(out[o.file], o)
	}
	return out
}

// carryReplaced takes over what an object says that the scaffold's does not.
func (m *migration) carryReplaced(o *object) {
	switch o.Kind {
	case "ServiceAccount":
		m.carryObject(o, accountPath)
	case "Namespace":
		m.carryObject(o, managerPath)
		m.oldNamespace(o.Metadata.Name)
	case "Deployment":
		m.oldNamespace(o.Metadata.Namespace)
	case "Kustomization":
		m.keep(o.file, o.file, m.files[o.file].data)
		m.note(o.file, "config has kustomizations of its own: take over what this one does beside listing the files of deploy, then remove it")
	}
}

// oldNamespace tells of the namespace that the operator was in.
func (m *migration) oldNamespace(name string) {
	now := m.projectName() + "-system"
	if name != "" && name != now {
		m.know("deploy had the operator in the namespace %s, config/default has it in %s: change namespace there, and in the +kubebuilder:rbac markers that have one, to keep the old one.", name, now)
	}
}

// replaced says whether the scaffold, or the types, have what an object was
// for.
func (m *migration) replaced(o *object, roles []*object) bool {
	if m.isForeign(o) || o.isExample() && (o.binds() || o.isRole() || o.Kind == "ServiceAccount") {
		return false
	}
	switch o.Kind {
	case "Deployment":
		return o == m.operator
	case "Role", "ClusterRole":
		return !m.bound[o.key()].others && slices.Contains(roles, o)
	case "ServiceAccount":
		return m.account == "" || o.Metadata.Name == m.account
	case "RoleBinding", "ClusterRoleBinding":
		return !m.bound[o.boundTo()].others && slices.ContainsFunc(roles, func(r *object) bool { return r.key() == o.boundTo() })
	case "CustomResourceDefinition":
		return m.hasType(o)
	case "Namespace", "Kustomization":
		return true
	}
	return m.isSample(o)
}

// hasType says whether the CRD is of one of the project's types.
func (m *migration) hasType(o *object) bool {
	c, err := decodeCRD(o.node)
	return err == nil && slices.ContainsFunc(m.apis, func(a *apiVersion) bool {
		return a.group == c.Spec.Group && slices.ContainsFunc(a.kinds, func(k kind) bool { return k.name == c.Spec.Names.Kind })
	})
}

// isSample says whether an object is of one of the project's kinds.
func (m *migration) isSample(o *object) bool {
	return slices.ContainsFunc(m.apis, func(a *apiVersion) bool {
		return o.APIVersion == a.group+"/"+a.version && slices.ContainsFunc(a.kinds, func(k kind) bool { return k.name == o.Kind })
	})
}

// furtherObjects keeps the objects of a file that nothing else is in the place
// of: CRDs without types in config/crd, roles in config/rbac, others in
// config/extra.
func (m *migration) furtherObjects(name string, rest []*object, whole bool) {
	if len(rest) == 0 {
		if _, moved := m.out[name]; !moved && !m.isMoved(name) && m.dropped[name] == "" {
			m.drop(name, "config has its content")
		}
		return
	}
	if slices.ContainsFunc(rest, isCRD) && slices.ContainsFunc(rest, isOther) {
		// What stands beside a CRD in a file is not deployed with it.
		m.furtherObjects(name, slices.DeleteFunc(slices.Clone(rest), isCRD), false)
		rest, whole = slices.DeleteFunc(slices.Clone(rest), isOther), false
	}
	dir := "config/extra"
	crds, rights, foreign := false, false, slices.ContainsFunc(rest, m.isForeign)
	switch rest[0].Kind {
	case "CustomResourceDefinition":
		dir, crds = "config/crd/bases", true
	case "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ServiceAccount":
		rights = true
		if !foreign && !slices.ContainsFunc(rest, func(o *object) bool { return !m.isOwnRight(o) }) {
			dir = "config/rbac"
		}
	}
	data := m.files[name].data
	if !whole || crds {
		var err error
		if data, err = m.joinObjects(rest); err != nil {
			m.fail(err)
			return
		}
	}
	base := path.Base(name)
	if m.rendered[path.Join(dir, base)] != nil {
		base = "operand_" + base
	}
	if other := m.out[path.Join(dir, base)].from; other != "" && other != name {
		base = strings.ReplaceAll(strings.TrimPrefix(name, "deploy/"), "/", "_")
	}
	to := path.Join(dir, base)
	m.keep(name, to, data)
	switch {
	case crds:
		m.listIn("config/crd/kustomization.yaml", "bases/"+base)
		return
	case dir == "config/rbac":
		m.oldAccount(to, rest)
	case foreign:
		m.oldAccount(to, rest)
		m.note(to, "it is for a namespace of its own, and config/default would move it to the operator's: apply config/extra by itself")
	case rights:
		m.note(to, "it is not about the operator's own account, so it is not deployed: add ../extra to config/default/kustomization.yaml if what the operator makes needs it")
	default:
		m.note(to, "deploy had it beside the operator: add ../extra to config/default/kustomization.yaml to deploy it with the operator")
	}
	m.listIn(dir+"/kustomization.yaml", base)
}

func isCRD(o *object) bool { return o.Kind == "CustomResourceDefinition" }

func isOther(o *object) bool { return !isCRD(o) }

// isMoved says whether a file's content is in the result already.
func (m *migration) isMoved(name string) bool {
	for _, o := range m.out {
		if o.from == name {
			return true
		}
	}
	return false
}

// joinObjects writes objects into one file, CRDs in their version of today.
func (m *migration) joinObjects(list []*object) ([]byte, error) {
	var docs [][]byte
	for _, o := range list {
		data, err := yamledit.Encode(o.node)
		if isCRD(o) && strings.HasSuffix(o.APIVersion, "/v1beta1") {
			data, err = upgradeCRD(o.node)
		}
		if err != nil {
			return nil, clierr.Failedf("repair it and run the command again", "%s: %w", o.file, err)
		}
		docs = append(docs, data)
	}
	return bytes.Join(docs, []byte("---\n")), nil
}

// listIn adds a resource to a kustomization, above its marker if it has one.
func (m *migration) listIn(kustomization, resource string) {
	text := string(m.out[kustomization].data)
	line := "- " + resource + "\n"
	text = cmp.Or(text, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n")
	if strings.Contains(text, line) {
		return
	}
	at := len(text)
	for _, marker := range []string{"crdkustomizeresource", "manifestskustomizesamples"} {
		if i := strings.Index(text, "# +kubebuilder:scaffold:"+marker); i >= 0 {
			at = i
		}
	}
	m.put(kustomization, []byte(text[:at]+line+text[at:]))
}

// samples moves the examples to config/samples.
func (m *migration) samples() error {
	used, ids := map[string]bool{}, map[string]bool{}
	files := m.byFile()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list := slices.DeleteFunc(slices.Clone(files[name]), func(o *object) bool { return !m.isSample(o) })
		if len(list) == 0 {
			continue
		}
		o, data := list[0], m.files[name].data
		if len(list) < len(files[name]) {
			var err error
			if data, err = m.joinObjects(list); err != nil {
				return err
			}
		}
		gv := strings.NewReplacer(".", "_", "/", "_").Replace(o.APIVersion)
		group, _, _ := strings.Cut(o.APIVersion, ".")
		_, version, _ := strings.Cut(o.APIVersion, "/")
		base := fmt.Sprintf("%s_%s_%s.yaml", group, version, strings.ToLower(o.Kind))
		if used[base] {
			base = fmt.Sprintf("%s_%s_%s.yaml", gv, strings.ToLower(o.Kind), strings.ToLower(o.Metadata.Name))
		}
		if used[base] {
			base = strings.ReplaceAll(strings.TrimPrefix(name, "deploy/"), "/", "_")
		}
		used[base] = true
		delete(m.dropped, name)
		m.keep(name, path.Join("config/samples", base), data)
		if twice := addIDs(ids, list); twice != nil {
			m.know("config/samples/%s is not in the kustomization beside it: another sample is a %s of the name %s, too.", base, twice.Kind, twice.Metadata.Name)
			continue
		}
		m.listIn("config/samples/kustomization.yaml", base)
	}
	return m.bareSamples()
}

// addIDs notes which objects there are, and returns one that was there already:
// a kustomization can have each once. Nil is none.
func addIDs(ids map[string]bool, list []*object) *object {
	var mine []string
	for _, o := range list {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		id := strings.Join([]string{group, o.Kind, o.Metadata.Namespace, o.Metadata.Name}, "/")
		if ids[id] || slices.Contains(mine, id) {
			return o
		}
		mine = append(mine, id)
	}
	for _, id := range mine {
		ids[id] = true
	}
	return nil
}

// hasSample says whether the user has an example of the kind.
func (m *migration) hasSample(kind string) bool {
	for name, o := range m.out {
		if path.Dir(name) == "config/samples" && o.from != "" && regexp.MustCompile(`(?m)^kind: *"?`+kind+`"?\s*$`).Match(o.data) {
			return true
		}
	}
	return false
}

// bareSamples empties the scaffold's samples: their fields are not those of
// the user's kinds.
func (m *migration) bareSamples() error {
	for name, o := range m.out {
		if o.from != "" || path.Dir(name) != "config/samples" || path.Base(name) == "kustomization.yaml" {
			continue
		}
		var sample map[string]any
		if err := yaml.Unmarshal(o.data, &sample); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if m.hasSample(fmt.Sprint(sample["kind"])) {
			delete(m.out, name)
			const list = "config/samples/kustomization.yaml"
			m.put(list, bytes.Replace(m.out[list].data, []byte("- "+path.Base(name)+"\n"), nil, 1))
			continue
		}
		sample["spec"] = map[string]any{}
		data, err := yamledit.Encode(sample)
		if err != nil {
			return err
		}
		m.put(name, data)
		m.note(name, "the project had no example of this kind: fill in its spec")
	}
	return nil
}
