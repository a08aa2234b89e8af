package migrate

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
)

// kubebuilderConfig makes config today's, with what the user has set in it.
func (m *migration) kubebuilderConfig() error {
	known := readScaffolds(scaffoldValues)
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if !strings.HasPrefix(name, "config/") || m.isMoved(name) {
			continue
		}
		if err := m.configFile(name, known); err != nil {
			return err
		}
	}
	if err := m.configRemoved(); err != nil {
		return err
	}
	m.general = append(m.general, Note{Text: "The files of config are today's scaffold, with what you had set in yours: see 'git diff' for the whole."})
	return m.bareSamples()
}

// configFile decides about one file of config.
func (m *migration) configFile(name string, known map[scaffoldKey]*scaffold) error {
	_, scaffolded := m.rendered[name]
	switch {
	case strings.HasPrefix(name, "config/samples/") && path.Base(name) != "kustomization.yaml", strings.HasPrefix(name, "config/manifests/bases/"):
		return m.keep(name, name, m.files[name].data)
	case strings.HasPrefix(name, "config/scorecard/") && scaffolded && path.Base(name) != "kustomization.yaml":
		if scorecardText(m.files[name].data) == scorecardText(m.rendered[name]) {
			return nil
		}
		return m.keep(name, name, m.files[name].data)
	case !isYAML(name), isGeneratedConfig(name):
		return nil
	case roleForUsers.MatchString(name):
		return m.userRole(name)
	case path.Base(name) == "kustomization.yaml" && scaffolded:
		return m.kustomization(name, known)
	case m.successor(name, "") != "" && !m.inUse(name):
		m.drop(name, "nothing used it")
		return nil
	case m.successor(name, "") != "":
		return m.carryOver(name, known)
	case isObsolete(name):
		m.drop(name, "the new layout has no such file")
		return m.lost(name, known)
	case m.isPristine(name, known):
		m.drop(name, "it was as the scaffold of old wrote it, and nothing needs it")
		return nil
	}
	return m.ownConfig(name)
}

// isGeneratedConfig names what the generators write.
func isGeneratedConfig(name string) bool {
	return name == "config/rbac/role.yaml" || name == "config/webhook/manifests.yaml" || path.Dir(name) == "config/crd/bases"
}

// isObsolete says whether a file of config was the old scaffold's, and has no
// successor.
func isObsolete(name string) bool {
	old := regexp.MustCompile(`^config/(default/webhookcainjection_patch\.yaml|crd/patches/(cainjection|webhook)_in_.*|crd/bases/_\.yaml|` +
		`crd/kustomizeconfig\.yaml|webhook/kustomizeconfig\.yaml|certmanager/(certificate|kustomization|kustomizeconfig)\.yaml|rbac/prometheus_role(_binding)?\.yaml)$`)
	return old.MatchString(name)
}

// successor is the file that has today what an old one of the scaffold's had
// in documents of the kind, empty for none.
func (m *migration) successor(name, kind string) string {
	to := map[string]string{
		"config/default/manager_auth_proxy_patch.yaml":         managerPath,
		"config/default/manager_config_patch.yaml":             managerPath,
		"config/default/manager_image_patch.yaml":              managerPath,
		"config/default/manager_prometheus_metrics_patch.yaml": managerPath,
		"config/default/manager_webhook_patch.yaml":            managerPath,
		"config/manager/controller_manager_config.yaml":        managerPath,
		"config/rbac/auth_proxy_service.yaml":                  "config/default/metrics_service.yaml",
		"config/rbac/auth_proxy_role.yaml":                     "config/rbac/metrics_auth_role.yaml",
		"config/rbac/auth_proxy_role_binding.yaml":             "config/rbac/metrics_auth_role_binding.yaml",
		"config/rbac/auth_proxy_client_clusterrole.yaml":       "config/rbac/metrics_reader_role.yaml",
	}[name]
	if name == "config/certmanager/certificate.yaml" && m.rendered["config/certmanager/issuer.yaml"] != nil {
		to = map[string]string{"": "config/certmanager/issuer.yaml", "Issuer": "config/certmanager/issuer.yaml", "Certificate": "config/certmanager/certificate-webhook.yaml"}[kind]
	}
	if to == "" && m.rendered[name] != nil && path.Base(name) != "kustomization.yaml" && !isObsolete(name) {
		return name
	}
	return to
}

// carryOver takes what the user has set in a file of the scaffold's over to
// its successor.
func (m *migration) carryOver(name string, known map[scaffoldKey]*scaffold) error {
	docs, err := readConfig(name, m.files[name].data)
	if err != nil {
		return err
	}
	var taken []string
	for _, doc := range docs {
		kind := scalar(doc, "kind")
		to := m.successor(name, kind)
		if to == "" {
			m.note(m.successor(name, ""), "%s:%d has an object of kind %s: put it in a file of its own", name, doc.Line, kind)
			continue
		}
		into, err := documents(m.out[to].data)
		if err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
		s, place := known[scaffoldKey{name, kind}], documentOf(into, doc)
		if s != nil && place == nil {
			if err := m.lost(name, known); err != nil {
				return err
			}
		} else if s == nil {
			into, taken = append(into, &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{doc}}), append(taken, kind)
		} else {
			mine, missing := s.changes(name, doc, m.oldName())
			taken = append(taken, m.settle(to, into, place, mine, missing)...)
		}
		if err := m.writeDocuments(to, into); err != nil {
			return err
		}
	}
	if to := m.successor(name, ""); to != name {
		m.drop(name, "%s has its content", to)
	}
	m.tookOver(name, taken)
	return nil
}

// inUse says whether a file of the scaffold's had an effect: patches of
// config/default have none unless they are listed, and the manager's options in
// a file have none unless it reads them.
func (m *migration) inUse(name string) bool {
	switch {
	case name == "config/manager/controller_manager_config.yaml":
		return strings.Contains(string(m.files["main.go"].data), "ConfigFile()")
	case path.Dir(name) != "config/default" || m.successor(name, "") != managerPath || !hasFile(m.files, "config/default/kustomization.yaml"):
		return true
	}
	docs, err := readConfig(name, m.files["config/default/kustomization.yaml"].data)
	return err != nil || slices.ContainsFunc(docs, func(doc *yaml.Node) bool {
		list := child(doc, "patches")
		return list != nil && next(list, step{item: "path=" + path.Base(name)}) != nil
	})
}

// isPristine says whether all of a file is as a scaffold wrote it.
func (m *migration) isPristine(name string, known map[scaffoldKey]*scaffold) bool {
	docs, err := readConfig(name, m.files[name].data)
	return err == nil && len(docs) > 0 && !slices.ContainsFunc(docs, func(doc *yaml.Node) bool {
		s := known[keyOf(name, doc)]
		if s == nil {
			return true
		}
		mine, _ := s.changes(name, doc, m.oldName())
		return len(mine) > 0
	})
}

// keyOf names a document in the table of the scaffolds' values.
func keyOf(name string, doc *yaml.Node) scaffoldKey {
	if path.Base(name) == "kustomization.yaml" {
		return scaffoldKey{name, ""}
	}
	return scaffoldKey{name, scalar(doc, "kind")}
}

// lost tells of what the user has set in a file that has no successor.
func (m *migration) lost(name string, known map[scaffoldKey]*scaffold) error {
	docs, err := readConfig(name, m.files[name].data)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		s := known[keyOf(name, doc)]
		if s == nil {
			continue // of the project's kinds
		}
		mine, _ := s.changes(name, doc, m.oldName())
		for _, c := range mine {
			m.note("config/default/kustomization.yaml", "%s sets %s to %s, and the new scaffold has no such file: see whether you need it", c.at(), c.leaf, short(value(c.node)))
		}
	}
	return nil
}

// tookOver tells what was the user's in a file.
func (m *migration) tookOver(name string, taken []string) {
	if len(taken) > 0 {
		m.general = append(m.general, Note{Text: fmt.Sprintf("Of %s, these were yours and are kept: %s.", name, strings.Join(taken, ", "))})
	}
}

// documentOf finds the object of the same kind, and of the same name where
// there are several. The options that the manager read from a file belong to
// its Deployment.
func documentOf(docs []*yaml.Node, like *yaml.Node) *yaml.Node {
	var found *yaml.Node
	if scalar(like, "kind") == "ControllerManagerConfig" {
		like = &yaml.Node{Kind: yaml.MappingNode}
		addKey(like, nil, "kind", &yaml.Node{Kind: yaml.ScalarNode, Value: "Deployment"})
	}
	for _, d := range docs {
		if scalar(d.Content[0], "kind") != scalar(like, "kind") {
			continue
		}
		if found == nil || scalar(child(d.Content[0], "metadata"), "name") == scalar(child(like, "metadata"), "name") {
			found = d.Content[0]
		}
	}
	return found
}

// settle puts changes into a document and takes out what the user had taken
// out. What has no place becomes a note with its line.
func (m *migration) settle(to string, docs []*yaml.Node, doc *yaml.Node, mine []change, missing [][]step) (taken []string) {
	before := snapshot(docs)
	for _, c := range mine {
		done, told := m.special(to, doc, c)
		if !done && !told && !put(doc, c.leaf) {
			m.note(to, "%s sets %s to %s, for which there is no place any more: see whether you need it", c.at(), c.leaf, short(value(c.node)))
			told = true
		}
		if !told {
			taken = append(taken, c.String())
		}
	}
	for _, steps := range missing {
		if cut(doc, steps) {
			taken = append(taken, "no "+leaf{steps: steps}.String())
		}
	}
	if snapshot(docs) == before {
		return nil
	}
	return taken
}

// snapshot is the text of documents, to see whether something has changed.
func snapshot(docs []*yaml.Node) string {
	text, err := joinDocuments(docs)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// short is the beginning of a long value.
func short(text string) string {
	const most = 60
	if text = strings.Join(strings.Fields(text), " "); len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// special deals with values that have another place today. told says that a
// note was made of it.
func (m *migration) special(to string, doc *yaml.Node, c change) (done, told bool) {
	way, text := c.way(), value(c.node)
	switch {
	case strings.HasPrefix(c.file, "config/manager/controller_manager_config"):
		return m.componentConfig(doc, c)
	case strings.Contains(way, "/[name=kube-rbac-proxy]"):
		m.note(to, "%s sets %s of the proxy in front of the metrics, which the manager needs no more: see whether you need it elsewhere", c.at(), c.leaf)
		return true, true
	case strings.HasSuffix(way, "/containers/[name=manager]/image"):
		m.image(text)
		return true, false
	case strings.Contains(way, "/containers/[name=manager]/args/"):
		return true, !m.argument(child(managerContainer(doc), "args"), text)
	case strings.HasSuffix(way, "/containers/[name=manager]/args"):
		for _, e := range c.node.Content {
			m.argument(sequence(managerContainer(doc), "args"), e.Value)
		}
		return true, false
	case to == managerPath && way == "spec/selector/matchLabels/control-plane":
		m.selector = text
	}
	return false, false
}

// argument puts an argument into a list, in the place of the same flag's. It
// says whether the new main program has the flag; where not, the line is
// marked.
func (m *migration) argument(list *yaml.Node, arg string) bool {
	if list == nil {
		return false
	}
	n := m.argumentNode(arg)
	if old := next(list, step{item: itemOf(n)}); old != nil {
		old.Value = n.Value
		return true
	}
	list.Content, list.Style = append(list.Content, n), 0
	return n.HeadComment == ""
}

// componentConfig turns an option of the file that the manager read into the
// argument for it.
func (m *migration) componentConfig(doc *yaml.Node, c change) (done, told bool) {
	args := sequence(managerContainer(doc), "args")
	flag := map[string]string{
		"health/healthProbeBindAddress": "health-probe-bind-address", "metrics/bindAddress": "metrics-bind-address",
		"webhook/port": "webhook-port", "leaderElection/resourceName": "leader-election-id",
	}[c.way()]
	switch {
	case flag != "":
		return true, !m.argument(args, "--"+flag+"="+value(c.node))
	case c.way() == "leaderElection/leaderElect" && value(c.node) == "false":
		cut(args, []step{{item: "--leader-elect"}})
		return true, false
	case isNoise(c.way()), strings.HasPrefix(c.way(), "metadata"):
		return true, true
	}
	m.note(newMain, "%s sets %s to %s: set it in the options of the manager here", c.at(), c.leaf, short(value(c.node)))
	return true, true
}

// configRemoved ends what goes through several files: a label of the user's
// that finds the manager's pods, and leader election that he had turned off.
func (m *migration) configRemoved() error {
	if m.selector != "" {
		for name, o := range m.out {
			if strings.HasPrefix(name, "config/") && o.from == "" {
				if text := strings.ReplaceAll(string(o.data), "control-plane: controller-manager", "control-plane: "+m.selector); text != string(o.data) {
					m.put(name, []byte(text))
				}
			}
		}
	}
	elects := slices.ContainsFunc(slices.Collect(maps.Keys(m.files)), func(name string) bool {
		text := string(m.files[name].data)
		return strings.HasPrefix(name, "config/") && (strings.Contains(text, "--leader-elect") || strings.Contains(text, "--enable-leader-election") || strings.Contains(text, "leaderElect: true"))
	})
	if elects || !hasFile(m.files, managerPath) {
		return nil
	}
	docs, err := documents(m.out[managerPath].data)
	if err != nil {
		return fmt.Errorf("%s: %w", managerPath, err)
	}
	for _, d := range docs {
		if box := managerContainer(d.Content[0]); box != nil && cut(box, []step{{key: "args"}, {item: "--leader-elect"}}) {
			m.tookOver(managerPath, []string{"no leader election"})
		}
	}
	return m.writeDocuments(managerPath, docs)
}

// writeDocuments writes the objects of a file, if they are others than before.
func (m *migration) writeDocuments(name string, docs []*yaml.Node) error {
	before, err := documents(m.out[name].data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	text, err := joinDocuments(docs)
	if err != nil || string(text) == snapshot(before) {
		return err
	}
	if _, err := documents(text); err != nil {
		return clierr.Failedf("write it in another form and run the command again", "%s cannot be carried over: %w", name, err)
	}
	m.put(name, text)
	return nil
}

// joinDocuments is the text of objects in one file.
func joinDocuments(docs []*yaml.Node) ([]byte, error) {
	var text []byte
	for i, d := range docs {
		if i > 0 {
			text = append(text, "---\n"...)
		}
		data, err := encodeYAML(d)
		if err != nil {
			return nil, err
		}
		text = append(text, data...)
	}
	return text, nil
}

var prefixLine = regexp.MustCompile(`(?m)^namePrefix: *"?([a-z0-9][-a-z0-9]*)"?\s*$`)

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
