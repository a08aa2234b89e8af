package migrate

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const accountPath = "config/rbac/service_account.yaml"

// objectCarrier takes over what an object of the user's says, and the new scaffold's
// does not. What both say something of becomes a note.
type objectCarrier struct {
	m        *migration
	from, to string // files
	skip     func(way string, value *yaml.Node) bool
}

// carry joins a mapping into another one.
func (c *objectCarrier) carry(into, old *yaml.Node, steps []step) {
	if old == nil || old.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(old.Content); i += 2 {
		key, mine := old.Content[i], old.Content[i+1]
		way := append(slices.Clone(steps), step{key: key.Value})
		if mine.Tag == "!!null" || c.skip(wayTo(way), mine) {
			continue
		}
		theirs := child(into, key.Value)
		switch {
		case theirs == nil:
			addKey(into, key, key.Value, plain(mine))
		case mine.Kind == yaml.MappingNode && theirs.Kind == yaml.MappingNode && !strings.HasSuffix(key.Value, "Probe"):
			c.carry(theirs, mine, way)
		case mine.Kind == yaml.SequenceNode && theirs.Kind == yaml.SequenceNode:
			c.carryList(theirs, mine, way)
		case value(mine) != value(theirs):
			c.note(leaf{way, key, mine})
		}
	}
}

// carryList adds the entries that a list has not.
func (c *objectCarrier) carryList(into, old *yaml.Node, steps []step) {
	for _, mine := range old.Content {
		way := append(slices.Clone(steps), step{item: itemOf(mine)})
		if c.skip(wayTo(way), mine) {
			continue
		}
		theirs := next(into, step{item: itemOf(mine)})
		switch {
		case theirs == nil:
			into.Content, into.Style = append(into.Content, plain(mine)), 0
		case value(mine) != value(theirs):
			c.note(leaf{way, nil, mine})
		}
	}
}

func (c *objectCarrier) note(l leaf) {
	c.m.note(c.to, "%s:%d sets %s to %s, and the new scaffold has another value there: see whether you need yours", c.from, l.node.Line, l, short(value(l.node)))
}

// pod carries over what else the old Deployment says: of itself, of the pod and
// of the operator's container.
func (m *migration) pod(o *object, doc, box *yaml.Node) {
	if o.node == nil {
		return
	}
	c := &objectCarrier{m: m, from: o.file, to: managerPath, skip: skipDeployment}
	c.carry(doc, o.node.Content[0], nil)
	c.skip = skipContainer
	if list := find(o.node.Content[0], stepsOf("spec/template/spec/containers")); list != nil {
		c.carry(box, list.Content[ownIndex(o)], nil)
	}
}

// skipDeployment names what has another place, or another value by design.
func skipDeployment(way string, _ *yaml.Node) bool {
	return slices.Contains([]string{
		"apiVersion", "kind", "status", "metadata/name", "metadata/namespace", "metadata/creationTimestamp", "metadata/labels/name",
		"spec/replicas", "spec/selector", "spec/template/metadata/name", "spec/template/metadata/creationTimestamp", "spec/template/metadata/labels/name",
		"spec/template/spec/containers", "spec/template/spec/volumes", "spec/template/spec/serviceAccountName", "spec/template/spec/serviceAccount",
	}, way)
}

// skipContainer names what manager takes over, and what the scaffolds of v0.x
// wrote: the manager has ports and probes of its own for that.
func skipContainer(way string, n *yaml.Node) bool {
	switch way {
	case "name", "image", "args", "command", "env", "envFrom", "resources", "volumeMounts":
		return true
	case "imagePullPolicy":
		return n.Value == "Always"
	case "readinessProbe":
		return strings.Contains(value(n), "/tmp/operator-sdk-ready")
	}
	port := scalar(n, "containerPort")
	return strings.HasPrefix(way, "ports/") && strings.HasSuffix(scalar(n, "name"), "metrics") && slices.Contains([]string{"60000", "8383", "8686"}, port)
}

// serviceAccount carries over what the operator's account says beside its name.
func (m *migration) serviceAccount(o *object) error {
	docs, err := documents(m.out[accountPath].data)
	if err != nil {
		return fmt.Errorf("%s: %w", accountPath, err)
	}
	into := documentOf(docs, o.node.Content[0])
	if into == nil {
		return nil
	}
	c := &objectCarrier{m: m, from: o.file, to: accountPath, skip: func(way string, _ *yaml.Node) bool {
		return slices.Contains([]string{"metadata/name", "metadata/namespace", "metadata/creationTimestamp"}, way)
	}}
	c.carry(into, o.node.Content[0], nil)
	return m.writeDocuments(accountPath, docs)
}
