package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// sections are the lists of a kubeconfig with an entry for each cluster.
func sections() []string { return []string{"clusters", "users", "contexts"} }

// mergeKubeconfig returns the kubeconfig old with the context, cluster and
// user of that name taken from add. Whatever else old holds stays as it is,
// comments included, and a context of this cluster, whose namespace may be the
// user's choice. Where old has no contexts, this one becomes the current one, if
// current says so. An empty old gives add; entries of that name that are another
// cluster's are an error.
func mergeKubeconfig(old, add []byte, name string, current bool) ([]byte, error) {
	source, err := parseConfig(add)
	if err != nil {
		return nil, fmt.Errorf("the cluster's kubeconfig: %w", err)
	}
	doc, err := parseConfig(old)
	if err != nil {
		return nil, err
	}
	if source == nil {
		return nil, errors.New("the cluster's kubeconfig is empty")
	}
	if doc == nil {
		if !current {
			setCurrent(source.Content[0], "")
		}
		data, err := yamledit.Encode(source)
		return append(comments(old), data...), err
	}
	root, take := doc.Content[0], sections()
	first := len(entries(root, "contexts")) == 0
	has := func(section string) bool { return namedEntry(root, section, name) != nil }
	if ca := authority(root, name); ca == "" || ca != authority(source.Content[0], name) {
		if i := slices.IndexFunc(take, has); i >= 0 {
			return nil, clierr.Failedf(fmt.Sprintf("rename it, or delete it: kubectl config delete-context %[1]s; kubectl config delete-cluster %[1]s; kubectl config delete-user %[1]s", name),
				"there is a %s in its %s already, and it is another cluster's", name, take[i])
		}
	} else if has("contexts") {
		take = []string{"clusters", "users"}
	}
	if err := takeEntries(root, source.Content[0], name, take...); err != nil {
		return nil, err
	}
	if first && current {
		setCurrent(root, name)
	}
	return yamledit.Encode(doc)
}

// unmergeKubeconfig returns the kubeconfig old without what mergeKubeconfig took
// from own; nil if there is nothing of it. An entry of the same name with another
// certificate authority is somebody else's cluster.
func unmergeKubeconfig(old, own []byte, name string) ([]byte, error) {
	source, err := parseConfig(own)
	if err != nil {
		return nil, fmt.Errorf("the cluster's kubeconfig: %w", err)
	}
	doc, err := parseConfig(old)
	if err != nil || doc == nil || source == nil {
		return nil, err
	}
	root := doc.Content[0]
	if ca := authority(root, name); ca == "" || ca != authority(source.Content[0], name) {
		return nil, nil
	}
	for _, section := range sections() {
		if entry := namedEntry(root, section, name); entry != nil {
			list := yamledit.Value(root, section)
			list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool { return n == entry })
		}
	}
	if current := yamledit.Value(root, "current-context"); current != nil && current.Value == name {
		setCurrent(root, "")
	}
	return yamledit.Encode(doc)
}

// refreshKubeconfig returns the kubeconfig old with the cluster and the user that
// mergeKubeconfig took from before as now has them; nil if there is nothing of it.
// The context stays: its namespace may be the user's choice.
func refreshKubeconfig(old, before, now []byte, name string) ([]byte, error) {
	had, err := parseConfig(before)
	if err != nil || had == nil {
		return nil, err
	}
	has, err := parseConfig(now)
	if err != nil || has == nil {
		return nil, err
	}
	doc, err := parseConfig(old)
	if err != nil || doc == nil {
		return nil, err
	}
	root := doc.Content[0]
	if ca := authority(root, name); ca == "" || ca != authority(had.Content[0], name) {
		return nil, nil
	}
	if err := takeEntries(root, has.Content[0], name, "clusters", "users"); err != nil {
		return nil, err
	}
	return yamledit.Encode(doc)
}

// entriesOf returns the kubeconfig data with those entries only that keep wants, nil
// if there are none. Where it does not want the current context, current is that, and
// must be among them.
func entriesOf(data []byte, keep func(name string) bool, current string) ([]byte, error) {
	doc, err := parseConfig(data)
	if err != nil || doc == nil {
		return nil, err
	}
	root, kept := doc.Content[0], 0
	for _, section := range sections() {
		if list := yamledit.Value(root, section); list != nil {
			list.Content = slices.DeleteFunc(list.Content, func(e *yaml.Node) bool { n := yamledit.Value(e, "name"); return n == nil || !keep(n.Value) })
			kept += len(list.Content)
		}
	}
	if kept == 0 || current != "" && namedEntry(root, "contexts", current) == nil {
		return nil, nil
	}
	if v := yamledit.Value(root, "current-context"); v == nil || !keep(v.Value) {
		setCurrent(root, current)
	}
	return yamledit.Encode(doc)
}

// currentContext is the current context of a kubeconfig, "" if it says none.
func currentContext(data []byte) string {
	if doc, err := parseConfig(data); err == nil && doc != nil {
		if v := yamledit.Value(doc.Content[0], "current-context"); v != nil && v.Tag != "!!null" {
			return v.Value
		}
	}
	return ""
}

// authority is the certificate authority of the cluster of that name, "" if
// there is none.
func authority(config *yaml.Node, name string) string {
	if entry := namedEntry(config, "clusters", name); entry != nil {
		if ca := yamledit.Lookup(entry, "cluster.certificate-authority-data"); ca != nil {
			return ca.Value
		}
	}
	return ""
}

// entries are the items of a section, none if it is not a list.
func entries(config *yaml.Node, section string) []*yaml.Node {
	if list := yamledit.Value(config, section); list != nil && list.Kind == yaml.SequenceNode {
		return list.Content
	}
	return nil
}

// parseConfig reads one YAML document with a mapping in it; nil if there is
// nothing in data.
func parseConfig(data []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one YAML document in it")
	}
	switch root := doc.Content[0]; {
	case root.Tag == "!!null", root.Kind == yaml.MappingNode && len(root.Content) == 0:
		return nil, nil
	case root.Kind == yaml.MappingNode:
		return &doc, nil
	default:
		return nil, fmt.Errorf("line %d: a kubeconfig must be a mapping", root.Line)
	}
}

// comments are the lines of a file with nothing else in it.
func comments(data []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(data) {
		if bytes.HasPrefix(line, []byte("#")) {
			kept = append(append(kept, bytes.TrimRight(line, "\r\n")...), '\n')
		}
	}
	return kept
}

// setCurrent gives a kubeconfig another current context.
func setCurrent(config *yaml.Node, name string) {
	v := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	if name == "" {
		v.Style = yaml.DoubleQuotedStyle
	}
	if old := yamledit.Value(config, "current-context"); old != nil {
		v.LineComment = old.LineComment
	}
	yamledit.Set(config, "current-context", v)
}

// namedEntry returns the mapping with that name in a section, or nil.
func namedEntry(config *yaml.Node, section, name string) *yaml.Node {
	for _, e := range entries(config, section) {
		if n := yamledit.Value(e, "name"); e.Kind == yaml.MappingNode && n != nil && n.Value == name {
			return e
		}
	}
	return nil
}

// takeEntries puts the entries of that name in some sections of from into config.
func takeEntries(config, from *yaml.Node, name string, sections ...string) error {
	for _, section := range sections {
		entry := namedEntry(from, section, name)
		if entry == nil {
			return fmt.Errorf("the cluster's kubeconfig has no %s in its %s", name, section)
		}
		if err := putEntry(config, section, name, entry); err != nil {
			return err
		}
	}
	return nil
}

// putEntry replaces the entry of that name in a section, or appends it.
func putEntry(config *yaml.Node, section, name string, entry *yaml.Node) error {
	list := yamledit.Value(config, section)
	if list == nil || list.Tag == "!!null" {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		yamledit.Set(config, section, list)
	}
	if list.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: %s must be a list", list.Line, section)
	}
	if len(list.Content) == 0 {
		list.Style = 0 // `[]` would keep the whole entry on one line
	}
	if old := namedEntry(config, section, name); old != nil {
		*old = *entry
		return nil
	}
	list.Content = append(list.Content, entry)
	return nil
}
