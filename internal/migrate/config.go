package migrate

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// oldConfig is where files of config stay that set something for which today's
// scaffold has no place. Nothing reads them.
const oldConfig = "config.old"

// kubebuilderConfig makes config today's scaffold with the user's own files,
// and with what was set in files of the old scaffold.
func (m *migration) kubebuilderConfig() error {
	known := readScaffolds(scaffoldValues)
	if hasFile(m.files, rolePath) {
		m.managerRole(rolePath) // before the bindings to it
	}
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if !strings.HasPrefix(name, "config/") || m.isMoved(name) {
			continue
		}
		m.configFile(name, known)
	}
	if err := m.oneNamespace(); err != nil {
		return err
	}
	m.know("The files of config are today's scaffold, with what you had set in yours: compare them with the old ones. What you had taken out is there again. The manager elects a leader: remove --leader-elect from its arguments in " + managerPath + " to turn that off.")
	m.know(restricted)
	return m.bareSamples()
}

const securedMetrics = " They are served on port 8443 by HTTPS now, and to those who may read them only: see config/default/manager_metrics_patch.yaml."

var isNamespace = lazy.Delayed(`(?m)^kind: Namespace\s*$`)
var roleName = lazy.Delayed(`(?m)^  name: ([-a-z0-9]+)`)

// oneNamespace takes the operator's Namespace out of the manager's file where
// the user had it in another one: kustomize gives all of a build one name.
func (m *migration) oneNamespace() error {
	if isNamespace.Match(m.files[managerPath].data) {
		return nil
	}
	listed := m.out["config/default/kustomization.yaml"].data
	for name, o := range m.out {
		dir := strings.TrimPrefix(path.Dir(name), "config")
		if o.from == "" || name == managerPath || dir != "/default" && !bytes.Contains(listed, []byte("\n- .."+dir+"\n")) || !isNamespace.Match(o.data) {
			continue
		}
		docs, err := yamledit.Documents(m.out[managerPath].data)
		if err != nil {
			return fmt.Errorf("%s: %w", managerPath, err)
		}
		m.writeDocuments(managerPath, slices.DeleteFunc(docs, func(d *yaml.Node) bool { return scalar(d.Content[0], "kind") == "Namespace" }))
		return nil
	}
	return nil
}

// configFile decides about one file of config.
func (m *migration) configFile(name string, known map[scaffoldKey]*scaffold) {
	_, scaffolded := m.rendered[name]
	switch {
	case path.Base(name) == "kustomization.yaml" && scaffolded:
		m.carryOver(name, known)
		return
	case hasAnyPrefix(name, "config/samples/", "config/manifests/bases/", "config/scorecard/"), strings.HasSuffix(name, "_editor_role.yaml"), strings.HasSuffix(name, "_viewer_role.yaml"):
		data := m.files[name].data
		mine, today := roleName.FindSubmatch(data), roleName.FindSubmatch(m.rendered[name])
		if mine != nil && today != nil && strings.HasSuffix(string(today[1]), "-"+string(mine[1])) {
			data = bytes.Replace(data, mine[0], today[0], 1) // with the group: the role of another group's kind may have had that name, too
		}
		m.keep(name, name, data)
		return
	case name == rolePath, !isYAML(name), relayout.IsGenerated(name):
		return
	case !m.inUse(name):
		m.drop(name, "nothing used it")
		if name == "config/default/manager_auth_proxy_patch.yaml" {
			m.know("The metrics had no proxy in front of them." + securedMetrics)
		}
		return
	case m.successor(name, "") != "", isObsolete.MatchString(name), m.isPristine(name, known):
		m.carryOver(name, known)
		return
	}
	data := m.files[name].data
	m.keep(name, name, markGoneConfig(data))
	if docs, err := yamledit.Documents(m.out[name].data); err == nil {
		for _, d := range docs {
			m.generated(d.Content[0])
		}
		m.writeDocuments(name, docs)
	}
	if forDefault.Match(data) {
		m.note(name, "the manager's ServiceAccount is controller-manager now: name that one in the subjects if default was the manager's")
	}
}

// isObsolete are files of the old scaffold without a successor.
var isObsolete = lazy.Delayed(`^config/(default/webhookcainjection_patch\.yaml|crd/patches/(cainjection|webhook)_in_.*|crd/bases/_\.yaml|` +
	`crd/kustomizeconfig\.yaml|webhook/kustomizeconfig\.yaml|certmanager/(certificate|kustomization|kustomizeconfig)\.yaml|rbac/prometheus_role(_binding)?\.yaml|` +
	`manager/controller_manager_config\.yaml)$`)

// isConversion is what the scaffolds' patches set in a CRD.
var isConversion = lazy.Delayed(`^(metadata/name|metadata/annotations/cert-?manager\..*~1inject-ca-from|spec/conversion|spec/preserveUnknownFields)(/|$)`)

// successors are the files that have today what others of the old scaffold had.
var successors = map[string]string{
	"config/default/manager_auth_proxy_patch.yaml":         managerPath,
	"config/default/manager_config_patch.yaml":             managerPath,
	"config/default/manager_image_patch.yaml":              managerPath,
	"config/default/manager_prometheus_metrics_patch.yaml": managerPath,
	"config/default/manager_webhook_patch.yaml":            managerPath,
	"config/rbac/auth_proxy_service.yaml":                  "config/default/metrics_service.yaml",
	"config/rbac/auth_proxy_role.yaml":                     "config/rbac/metrics_auth_role.yaml",
	"config/rbac/auth_proxy_role_binding.yaml":             "config/rbac/metrics_auth_role_binding.yaml",
	"config/rbac/auth_proxy_client_clusterrole.yaml":       "config/rbac/metrics_reader_role.yaml",
}

// successor is the file that has today what an old one of the scaffold's had
// in documents of the kind, empty for none.
func (m *migration) successor(name, kind string) string {
	switch to := successors[name]; {
	case to != "":
		return to
	case name == "config/certmanager/certificate.yaml" && m.rendered["config/certmanager/issuer.yaml"] != nil:
		return map[string]string{"": "config/certmanager/issuer.yaml", "Issuer": "config/certmanager/issuer.yaml", "Certificate": "config/certmanager/certificate-webhook.yaml"}[kind]
	case m.rendered[name] != nil && !isObsolete.MatchString(name):
		return name
	}
	return ""
}

// inUse says whether a file of the scaffold's had an effect: patches of
// config/default have none unless they are listed, and the manager's options in
// a file have none unless it reads them.
func (m *migration) inUse(name string) bool {
	const list = "config/default/kustomization.yaml"
	if name == "config/manager/controller_manager_config.yaml" {
		return strings.Contains(string(m.files["main.go"].data), "ConfigFile()")
	}
	if path.Dir(name) != path.Dir(list) || successors[name] == "" || !hasFile(m.files, list) {
		return true
	}
	docs, err := readConfig(list, m.files[list].data)
	return err != nil || len(docs) > 0 && find(docs[0], "patches/"+itemStep("path="+path.Base(name))) != nil
}

// isPristine says whether all of a file is as a scaffold wrote it.
func (m *migration) isPristine(name string, known map[scaffoldKey]*scaffold) bool {
	docs, err := readConfig(name, m.files[name].data)
	return err == nil && len(docs) > 0 && !slices.ContainsFunc(docs, func(doc *yaml.Node) bool {
		s := known[keyOf(name, doc)]
		return s == nil || len(s.changes(name, doc, m.oldName())) > 0
	})
}

// keyOf names a document in the table of the scaffolds' values.
func keyOf(name string, doc *yaml.Node) scaffoldKey {
	if path.Base(name) == "kustomization.yaml" {
		return scaffoldKey{name, ""}
	}
	return scaffoldKey{name, scalar(doc, "kind")}
}

// carryOver takes what the user has set in a file of the scaffold's over to
// its successor. A file with something that has no place there stays in
// config.old as it was.
func (m *migration) carryOver(name string, known map[scaffoldKey]*scaffold) {
	docs, err := readConfig(name, m.files[name].data)
	if err != nil {
		m.fail(err)
		return
	}
	var taken []string
	var left []change
	for _, doc := range docs {
		m.generated(doc)
		kind := keyOf(name, doc).kind
		if err := checkLists(name, kind, doc); err != nil {
			m.fail(err)
			return
		}
		to, s := m.successor(name, kind), known[keyOf(name, doc)]
		own, patch := kind == "" || s.wrote(doc, docs), name != managerPath && to == managerPath
		if name == managerPath && own {
			taken = append(taken, renameContainer(doc)...)
			m.runsAs(scalar(find(doc, "spec/template/spec"), "serviceAccountName"))
		}
		if own {
			todaysFlags(managerContainer(doc))
		}
		mine, missing := s.changes(name, doc, m.oldName()), []change(nil)
		if kind == "" {
			mine, missing = m.entries(name, mine)
		}
		into, err := yamledit.Documents(m.out[to].data)
		if err != nil {
			m.fail(fmt.Errorf("%s: %w", to, err))
			return
		}
		switch {
		case !own && to != "" && !patch:
			into, taken = append(into, &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{doc}}), append(taken, kind+" "+nameOf(doc))
		case s == nil && isObsolete.MatchString(name):
			left = append(left, slices.DeleteFunc(mine, func(c change) bool { return isConversion.MatchString(c.way) })...)
		default:
			var place *yaml.Node
			if own {
				place = documentOf(into, doc)
			}
			did, rest := m.settle(place, mine)
			missing = slices.DeleteFunc(missing, func(c change) bool { return find(place, c.way) != nil }) // is generated
			taken, left = append(taken, did...), slices.Concat(left, rest, missing)
		}
		if to == "" {
			continue
		}
		m.writeDocuments(to, into)
	}
	m.ownBinding(name, docs)
	m.tookOver(name, taken)
	switch to := m.successor(name, ""); {
	case to == "":
		m.drop(name, "the new layout has no such file")
	case to != name:
		m.drop(name, "%s has its content", to)
	}
	m.beside(name, left)
}

// checkLists refuses a kustomization with something else in the place of a list.
func checkLists(name, kind string, doc *yaml.Node) error {
	for _, key := range kustomizationLists {
		if list := yamledit.Value(doc, key); kind == "" && list != nil && list.Kind != yaml.SequenceNode && list.Tag != "!!null" {
			return clierr.Failedf("repair it and run the command again", "%s:%d: %s is not a list", name, list.Line, key)
		}
	}
	return nil
}

// ownBinding keeps a RoleBinding of the user's in the place of the scaffold's
// ClusterRoleBinding, which would give the operator more.
func (m *migration) ownBinding(name string, docs []*yaml.Node) {
	has := func(kind string) bool {
		return slices.ContainsFunc(docs, func(d *yaml.Node) bool { return scalar(d, "kind") == kind })
	}
	into, err := yamledit.Documents(m.out[name].data)
	if err == nil && has("RoleBinding") && !has("ClusterRoleBinding") && m.successor(name, "") == name {
		m.writeDocuments(name, slices.DeleteFunc(into, func(d *yaml.Node) bool { return scalar(d.Content[0], "kind") == "ClusterRoleBinding" }))
	}
}

// beside keeps a whole file of the user's where nothing reads it, and notes by
// line what it sets that the scaffold's files do not.
func (m *migration) beside(name string, left []change) {
	if len(left) == 0 {
		return
	}
	to := name
	if rest, ok := strings.CutPrefix(name, "config/"); ok {
		to = path.Join(oldConfig, rest)
	}
	delete(m.dropped, name)
	m.keep(name, to, m.files[name].data)
	o := m.out[to]
	for _, c := range left {
		text := fmt.Sprintf("sets %s to %s, for which the new scaffold has no place: see whether you need it", c.leaf, short(value(c.node)))
		if c.theirs != nil {
			text = fmt.Sprintf("sets %s to %s, where the new scaffold has %s: see whether you need yours", c.leaf, short(value(c.node)), short(value(c.theirs)))
		}
		o.notes = append(o.notes, Note{c.node.Line, text})
	}
	m.out[to] = o
}

// tookOver tells what was the user's in a file.
func (m *migration) tookOver(name string, taken []string) {
	if len(taken) > 0 {
		m.know("Of %s, these were yours and are kept: %s.", name, strings.Join(taken, ", "))
	}
}

func nameOf(doc *yaml.Node) string { return scalar(yamledit.Value(doc, "metadata"), "name") }

// documentOf finds the object of the same kind, and of the same name where
// there are several; kustomizations need not say that they are one. Nil is none.
func documentOf(docs []*yaml.Node, like *yaml.Node) *yaml.Node {
	var found *yaml.Node
	for _, d := range docs {
		theirs, mine := scalar(d.Content[0], "kind"), scalar(like, "kind")
		if theirs != mine && mine != "" && !(theirs == "" && mine == "Kustomization") {
			continue
		}
		if found == nil || nameOf(d.Content[0]) == nameOf(like) {
			found = d.Content[0]
		}
	}
	return found
}

// settle puts changes into a document of the scaffold's, and returns those that
// have no place there.
func (m *migration) settle(doc *yaml.Node, mine []change) (taken []string, left []change) {
	for _, c := range mine {
		way := c.way
		c.theirs = find(doc, way)
		switch {
		case c.theirs != nil && value(c.theirs) == value(c.node):
			continue
		case doc == nil, strings.HasPrefix(way, "spec/selector/"), strings.HasSuffix(way, "/control-plane"), // other files name the label too
			strings.Contains(way, "[name=manager]/command/"), // it would be an argument of the scaffold's
			strings.Contains(way, "[name=manager]/") && strings.Contains(way, "Probe/httpGet/") && !probedAt(doc, value(c.node)):
			left = append(left, c)
			continue
		case strings.HasSuffix(way, "/containers/[name=manager]/image"):
			if !m.image(value(c.node)) {
				continue
			}
		case strings.Contains(way, "/containers/[name=manager]/args"):
			list := sequence(managerContainer(doc), "args")
			for _, e := range entriesOf(c.node) {
				m.argument(list, e.Value)
			}
		case c.theirs != nil && path.Base(path.Dir(way)) == "env":
			*c.theirs = *plain(c.node) // a value and where it comes from cannot be both
		case !put(doc, c.leaf):
			left = append(left, c)
			continue
		}
		taken = append(taken, c.String())
	}
	return taken, left
}

// entriesOf are the entries of a list, and of anything else itself.
func entriesOf(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// kustomizationLists are the keys of a kustomization whose entries name files
// or images.
var kustomizationLists = []string{"resources", "patches", "components", "images", "configurations"}

// withoutProxy has a JSON patch in a kustomization find the manager as the first
// container: kustomize put the proxy of the metrics, which is gone, before it.
func (m *migration) withoutProxy(entry *yaml.Node) {
	const proxy, containers = "config/default/manager_auth_proxy_patch.yaml", "/spec/template/spec/containers/"
	patch, target := yamledit.Value(entry, "patch"), scalar(yamledit.Value(entry, "target"), "name")
	if patch != nil && (target == "" || target == "controller-manager") && hasFile(m.files, proxy) && m.inUse(proxy) {
		patch.Value = strings.ReplaceAll(patch.Value, containers+"1/", containers+"0/")
	}
}

// entries are what the user has set in a kustomization, list by list one entry
// each, without what names files that are gone and without the operator's image,
// which is set. Those that name what the project does not have are apart.
func (m *migration) entries(name string, mine []change) (out, missing []change) {
	for _, c := range mine {
		list, below, _ := strings.Cut(c.way, "/")
		if !slices.Contains(kustomizationLists, list) || strings.Contains(below, "/") {
			out = append(out, c)
			continue
		}
		for _, e := range entriesOf(c.node) {
			m.withoutProxy(e)
			if e.Tag == "!!null" {
				continue
			}
			one := change{leaf{list + "/" + itemStep(itemOf(e)), nil, e}, name, nil}
			switch is, there := m.isEntry(path.Dir(name), list, e); {
			case is && there:
				out = append(out, one)
			case is:
				missing = append(missing, one)
			}
		}
	}
	return out, missing
}

// isEntry says whether an entry of a list in a kustomization is still one, and
// whether what it names is there: links are not.
func (m *migration) isEntry(dir, list string, e *yaml.Node) (is, there bool) {
	file := e.Value
	if e.Kind == yaml.MappingNode {
		file = scalar(e, "path")
	}
	at := path.Join(dir, file)
	remote := file == "" || strings.ContainsAny(file, ":?") || strings.Contains(file, "//") || strings.HasPrefix(file, "github.com/")
	switch {
	case list == "images" && scalar(e, "name") == "controller":
		name, tag, digest := scalar(e, "newName"), scalar(e, "newTag"), scalar(e, "digest")
		switch {
		case name == "", name == "controller":
			return digest != "", true
		case digest != "":
			name += "@" + digest
		case tag != "":
			name += ":" + tag
		}
		m.image(name)
		return false, false
	case list != "images" && !remote:
		to := m.successor(at, "")
		if to != at && path.Dir(at) != "config/crd/bases" && m.isGenerated(at) {
			m.know("%s is no longer in the kustomization beside it: its CRD is generated into config/crd/bases.", at)
			return false, false
		}
		return !isObsolete.MatchString(at) && (to == "" || to == at), hasFile(m.files, at) || hasDir(m.files, at) || m.rendered[path.Join(at, "kustomization.yaml")] != nil
	}
	return dir != "config/manifests" || !strings.Contains(scalar(e, "patch"), "/volumes/0"), true // the old scaffold's, for OLM's certificates
}

// isGenerated says whether all that is in a file are CRDs of the project's types.
func (m *migration) isGenerated(name string) bool {
	list, err := readObjects(name, m.files[name].data)
	return err == nil && len(list) > 0 && !slices.ContainsFunc(list, func(o *object) bool { return isOther(o) || !m.hasType(o) })
}

// writeDocuments writes the objects of a file, if they are others than before.
func (m *migration) writeDocuments(name string, docs []*yaml.Node) {
	before, err := yamledit.Documents(m.out[name].data)
	if err != nil {
		m.fail(fmt.Errorf("%s: %w", name, err))
		return
	}
	was, err := joinDocuments(before)
	if err != nil {
		m.fail(fmt.Errorf("%s: %w", name, err))
		return
	}
	text, err := joinDocuments(docs)
	if err != nil || string(text) == string(was) {
		m.fail(err)
		return
	}
	if _, err := yamledit.Documents(text); err != nil {
		m.fail(clierr.Failedf("write it in another form and run the command again", "%s cannot be carried over: %w", name, err))
		return
	}
	m.put(name, text)
}

func joinDocuments(docs []*yaml.Node) ([]byte, error) {
	texts := make([][]byte, len(docs))
	for i, d := range docs {
		var err error
		if texts[i], err = yamledit.Encode(d); err != nil {
			return nil, err
		}
	}
	return bytes.Join(texts, []byte("---\n")), nil
}

var prefixLine = lazy.Delayed(`(?m)^namePrefix: *"?([a-z0-9][-a-z0-9]*)"?\s*$`)

// oldName is what the scaffold put in front of the objects' names: PROJECT did
// not always record it.
func (m *migration) oldName() string {
	if m.recorded != "" {
		return m.recorded
	}
	if p := prefixLine.FindSubmatch(m.files["config/default/kustomization.yaml"].data); p != nil {
		return strings.TrimSuffix(string(p[1]), "-")
	}
	return ""
}
