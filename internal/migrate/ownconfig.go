package migrate

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
)

// roleForUsers are the roles that the scaffolds wrote for a kind's users.
var roleForUsers = regexp.MustCompile(`^config/rbac/.*_(editor|viewer)_role\.yaml$`)

// userRole decides about a role for a kind's users: today's takes its place
// unless the rules are others.
func (m *migration) userRole(name string) error {
	list, err := readObjects(name, m.files[name].data)
	if err != nil || len(list) != 1 {
		return m.keep(name, name, m.files[name].data)
	}
	if o := list[0]; o.Kind == "ClusterRole" && isScaffoldRole(o.Rules, strings.Contains(name, "_editor_")) {
		if m.rendered[name] == nil {
			m.drop(name, "the new scaffold's roles are called otherwise")
		}
		return nil
	}
	return m.keep(name, name, m.files[name].data)
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

// ownConfig keeps a file of the user's, and looks for what it says of things
// that are called otherwise today.
func (m *migration) ownConfig(name string) error {
	data := m.files[name].data
	if m.defaultAccount() {
		data = accountLines(data)
	}
	return m.keep(name, name, markGoneConfig(data))
}

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

// defaultAccount says whether the manager ran as its namespace's default
// account, as it did in go/v2. Today it has one of its own.
func (m *migration) defaultAccount() bool {
	docs, err := documents(m.files[managerPath].data)
	if err != nil {
		return false // the file is read again, and the error told
	}
	for _, d := range docs {
		spec := find(d.Content[0], stepsOf("spec/template/spec"))
		if managerContainer(d.Content[0]) != nil && spec != nil {
			return scalar(spec, "serviceAccountName") == ""
		}
	}
	return false
}

// accountLines names the manager's account in subjects that name the default
// one. Other lines keep their bytes.
func accountLines(data []byte) []byte {
	docs, err := documents(data)
	if err != nil {
		return data
	}
	lines := strings.SplitAfter(string(data), "\n")
	for _, d := range docs {
		list := child(d.Content[0], "subjects")
		if list == nil {
			continue
		}
		for _, s := range list.Content {
			if name := child(s, "name"); name != nil && name.Value == "default" && scalar(s, "kind") == "ServiceAccount" {
				line := lines[name.Line-1]
				at := name.Column - 1
				lines[name.Line-1] = line[:at] + strings.Replace(line[at:], "default", "controller-manager", 1)
			}
		}
	}
	return []byte(strings.Join(lines, ""))
}

// kustomization carries what the user has set in a kustomization over.
func (m *migration) kustomization(name string, known map[scaffoldKey]*scaffold) error {
	docs, err := readConfig(name, m.files[name].data)
	if err != nil || len(docs) == 0 {
		return err
	}
	for _, key := range []string{"resources", "patches", "images"} {
		if list := child(docs[0], key); list != nil && list.Kind != yaml.SequenceNode && list.Tag != "!!null" {
			return clierr.Failedf("repair it and run the command again", "%s:%d: %s is no list", name, list.Line, key)
		}
	}
	s := known[scaffoldKey{name, ""}]
	if s == nil {
		s = &scaffold{values: map[string][]string{}, under: map[string]bool{"resources": true, "patches": true}}
	}
	k := &kustomizationText{text: string(m.out[name].data)}
	mine, missing := s.changes(name, docs[0], m.oldName())
	var taken []string
	for _, c := range mine {
		if did := m.kustomize(k, path.Dir(name), c); did {
			taken = append(taken, c.String())
		}
	}
	for _, steps := range missing {
		if k.remove(steps) {
			taken = append(taken, "no "+leaf{steps: steps}.String())
		}
	}
	if path.Dir(name) == "config/default" {
		m.optional(k, docs[0])
	}
	if k.text == string(m.out[name].data) {
		return nil
	}
	if err := yaml.Unmarshal([]byte(k.text), &map[string]any{}); err != nil {
		return fmt.Errorf("%s, with what was yours: %w", name, err)
	}
	m.put(name, []byte(k.text))
	m.tookOver(name, taken)
	return nil
}

// optional turns on the parts of config/default that a user may have turned
// on: they are in the scaffold as comments.
func (m *migration) optional(k *kustomizationText, old *yaml.Node) {
	if list := child(old, "resources"); list != nil && next(list, step{item: "../prometheus"}) != nil {
		k.add("resources", &yaml.Node{Kind: yaml.ScalarNode, Value: "../prometheus"})
	}
	if list := child(old, "patches"); list == nil || next(list, step{item: "path=manager_auth_proxy_patch.yaml"}) == nil {
		m.general = append(m.general, Note{Text: "The metrics had no proxy in front of them. They are served on port 8443 by HTTPS now, and to those who may read them only: see config/default/manager_metrics_patch.yaml."})
	}
}

// kustomize puts one value of the user's into a kustomization, and says
// whether it did.
func (m *migration) kustomize(k *kustomizationText, dir string, c change) bool {
	top := c.steps[0].key
	if len(c.steps) == 1 && c.node.Kind != yaml.SequenceNode {
		k.set(c.leaf)
		return true
	}
	if len(c.steps) == 1 {
		did := false
		for _, e := range c.node.Content {
			did = m.listed(k, dir, top, e) || did
		}
		return did
	}
	if len(c.steps) == 2 && c.steps[1].item != "" {
		return m.listed(k, dir, top, c.node)
	}
	m.note(path.Join(dir, "kustomization.yaml"), "%s sets %s to %s, for which there is no place any more: see whether you need it", c.at(), c.leaf, short(value(c.node)))
	return false
}

// listed adds an entry of the user's to a list of a kustomization, where what
// it names is there.
func (m *migration) listed(k *kustomizationText, dir, list string, e *yaml.Node) bool {
	file := e.Value
	if e.Kind == yaml.MappingNode {
		file = scalar(e, "path")
	}
	switch list {
	case "images":
		if m.ownImage(k, dir, e) {
			return true
		}
	case "configurations":
		return false // today's are there where they are needed
	case "resources", "components", "patches":
		at := path.Join(dir, file)
		remote := file == "" || strings.Contains(file, "://") || strings.HasPrefix(file, "github.com/")
		if !remote && (isObsolete(at) || m.successor(at, "") != "" && m.successor(at, "") != at || !hasFile(m.files, at) && !hasDir(m.files, at)) {
			return false
		}
		if dir == "config/manifests" && strings.Contains(scalar(e, "patch"), "/volumes/0") {
			return false // the old scaffold's, for OLM's certificates
		}
	}
	return k.add(list, e)
}

// ownImage takes the operator's image over.
func (m *migration) ownImage(k *kustomizationText, dir string, e *yaml.Node) bool {
	if scalar(e, "name") != "controller" || scalar(e, "digest") != "" {
		return false
	}
	name := scalar(e, "newName")
	if tag := scalar(e, "newTag"); name != "" && name != "controller" && tag != "" {
		name += ":" + tag
	}
	if dir == path.Dir(managerKustomization) {
		k.text = m.withImage(k.text, name)
	} else {
		m.image(name)
	}
	return true
}

var scorecardImage = regexp.MustCompile(`(quay\.io/operator-framework/scorecard-test):[^\s"]+`)

// scorecardText is what a file of the scorecard says, but for the version of
// operator-sdk that it asks for.
func scorecardText(data []byte) string {
	var v any
	if err := yaml.Unmarshal(scorecardImage.ReplaceAll(data, []byte("$1")), &v); err != nil {
		return string(data)
	}
	n := &yaml.Node{}
	if err := n.Encode(v); err != nil {
		return string(data)
	}
	return value(n)
}
