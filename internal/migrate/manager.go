package migrate

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

const (
	managerPath = "config/manager/manager.yaml"
	accountPath = "config/rbac/service_account.yaml"
	managerBox  = "spec/template/spec/containers/[name=manager]/" // the way to its container
)

// manager carries what the operator's Deployment says over to config/manager.
func (m *migration) manager(o *object) {
	box := o.ownContainer()
	yamledit.Set(box, "name", textNode("manager"))
	yamledit.Set(box, "args", arguments(box))
	m.know(restricted)
	m.carryObject(o, managerPath)
}

// restricted tells what the container may not, and the old one perhaps could.
const restricted = "The operator's container has limits of CPU and memory, and cannot write files: change it in " + managerPath + " if the operator needs more."

// carryObject puts what an object of deploy sets, and its peer in the scaffold
// does not, into the scaffold's file. Where both set something the scaffold's
// stays, but for what makes an operator run, and the old file is kept beside.
func (m *migration) carryObject(o *object, to string) {
	docs, err := yamledit.Documents(m.out[to].data)
	if err != nil {
		m.fail(fmt.Errorf("%s: %w", to, err))
		return
	}
	place := documentOf(docs, o.node.Content[0])
	if place == nil {
		return
	}
	var mine, left []change
	for _, l := range leaves(o.node.Content[0], func(way string) bool {
		at := find(place, way)
		return at != nil && len(at.Content) > 0 && !strings.HasSuffix(way, "Probe") && !strings.HasSuffix(way, "[name=manager]/resources") && !strings.Contains(way, "/env/") ||
			strings.HasSuffix(way, "[name=manager]/ports")
	}) {
		theirs := find(place, l.way)
		switch c := (change{l, o.file, theirs}); {
		case l.node.Tag == "!!null", isNoise(l.way) && theirs != nil, skipDeployment(l.way), m.skipContainer(l.way, l.node), theirs != nil && value(theirs) == value(l.node):
		case theirs == nil, len(theirs.Content) == 0 && theirs.Kind != yaml.ScalarNode, runs(l.way):
			mine = append(mine, c)
		default:
			left = append(left, c)
		}
	}
	_, rest := m.settle(place, mine)
	m.writeDocuments(to, docs)
	m.beside(o.file, append(left, rest...))
}

// runs says whether a value is one that an operator may not run without.
func runs(way string) bool {
	box, isBox := strings.CutPrefix(way, managerBox)
	return way == "spec/replicas" || isBox && hasAnyPrefix(box, "env", "args", "resources", "image")
}

// skipDeployment names what has another place, or another value by design.
func skipDeployment(way string) bool {
	return strings.HasPrefix(way, "spec/selector/") || slices.Contains([]string{
		"apiVersion", "kind", "status", "metadata/name", "metadata/namespace", "metadata/creationTimestamp", "metadata/labels/name", "spec/selector",
		"spec/template/metadata/name", "spec/template/metadata/creationTimestamp", "spec/template/metadata/labels/name",
		"spec/template/spec/serviceAccountName", "spec/template/spec/serviceAccount",
	}, way)
}

// skipContainer names what the scaffolds of v0.x wrote: the manager has ports
// and probes of its own for that.
func (m *migration) skipContainer(way string, n *yaml.Node) bool {
	way, is := strings.CutPrefix(way, managerBox)
	switch {
	case !is:
		return false
	case way == "name", way == "command", strings.HasPrefix(way, "command/"), way == "imagePullPolicy" && n.Value == "Always":
		return true
	case way == "readinessProbe":
		return strings.Contains(value(n), "/tmp/operator-sdk-ready")
	case strings.HasPrefix(way, "env/") && scalar(n, "name") == "WATCH_NAMESPACE": // all namespaces is what none means
		return !m.namespaced && scalar(n, "value") == "" && yamledit.Value(n, "valueFrom") == nil
	}
	return strings.HasPrefix(way, "ports/") && strings.HasSuffix(scalar(n, "name"), "metrics") && slices.Contains([]string{"60000", "8383", "8686"}, scalar(n, "containerPort"))
}

// containers are those of a Deployment.
func (o *object) containers() []*yaml.Node {
	if list := find(o.node.Content[0], "spec/template/spec/containers"); list != nil {
		return list.Content
	}
	return nil
}

// ownContainer is the operator's container: the one that is told which namespaces
// to watch, else the first.
func (o *object) ownContainer() *yaml.Node {
	return o.containers()[max(0, slices.IndexFunc(o.containers(), func(c *yaml.Node) bool {
		return find(c, "env/[name=WATCH_NAMESPACE]") != nil
	}))]
}

// managerContainer is the container called manager of a Deployment.
func managerContainer(doc *yaml.Node) *yaml.Node {
	if scalar(doc, "kind") != "Deployment" {
		return nil
	}
	return find(doc, "spec/template/spec/containers/[name=manager]")
}

// probedAt says whether the manager of a Deployment serves its probes at a port.
func probedAt(doc *yaml.Node, port string) bool {
	args := yamledit.Value(managerContainer(doc), "args")
	return args != nil && slices.ContainsFunc(args.Content, func(e *yaml.Node) bool {
		return strings.HasPrefix(e.Value, "--health-probe-bind-address=") && strings.HasSuffix(e.Value, ":"+port)
	})
}

// renameContainer calls the first container of a Deployment manager, as the
// scaffold's patches do, if none is, and says so.
func renameContainer(doc *yaml.Node) []string {
	list := find(doc, "spec/template/spec/containers")
	if scalar(doc, "kind") != "Deployment" || list == nil || len(list.Content) == 0 || managerContainer(doc) != nil {
		return nil
	}
	was := scalar(list.Content[0], "name")
	yamledit.Set(list.Content[0], "name", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "manager", Line: list.Content[0].Line})
	return []string{"the container " + was + ", which is called manager now"}
}

// todaysFlags gives the arguments of a container the flags' names of today. Flags
// in its command, unless that is a shell's, are arguments, too.
func todaysFlags(box *yaml.Node) {
	command := yamledit.Value(box, "command")
	if command != nil && len(command.Content) > 1 && strings.HasPrefix(command.Content[1].Value, "-") && !strings.HasSuffix(command.Content[0].Value, "sh") {
		args := sequence(box, "args")
		args.Content, command.Content = slices.Concat(command.Content[1:], args.Content), command.Content[:1]
	}
	if args := yamledit.Value(box, "args"); args != nil {
		for _, e := range args.Content {
			e.Value = todaysFlag(e.Value)
		}
	}
}

// arguments are those of a container, each in one entry with its value.
func arguments(box *yaml.Node) *yaml.Node {
	var args []string
	for _, key := range []string{"command", "args"} {
		if list := yamledit.Value(box, key); list != nil {
			for i, e := range list.Content {
				if key == "args" || i > 0 {
					args = append(args, e.Value)
				}
			}
		}
	}
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if i+1 < len(args) && strings.HasPrefix(a, "-") && !strings.Contains(a, "=") && !strings.HasPrefix(args[i+1], "-") {
			i++
			a += "=" + args[i]
		}
		out.Content = append(out.Content, textNode(a))
	}
	return out
}

// argument puts an argument into a list, in the place of the same flag's. One
// for which the new main program has no flag is marked.
func (m *migration) argument(list *yaml.Node, arg string) {
	n := m.argumentNode(arg)
	if old := next(list, itemStep(itemOf(n))); old != nil {
		old.Value = n.Value
		return
	}
	list.Content, list.Style = append(list.Content, n), 0
}

// argumentNode is an argument for the new main program, marked where that has
// no such flag.
func (m *migration) argumentNode(arg string) *yaml.Node {
	name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	n := textNode(arg)
	switch name {
	case "zap-level":
		n.Value = "--zap-log-level=" + value
	case "zap-encoder", "zap-time-encoding":
		n.Value = "--" + name + "=" + value
	case "zap-devel":
		n.Value = strings.TrimSuffix("--zap-devel="+value, "=")
	case "zap-log-level", "zap-stacktrace-level":
	default:
		if !bytes.Contains(m.out[newMain].data, []byte(strconv.Quote(name))) { // a flag of the user's that was carried over
			n.HeadComment = "# " + todoMark + "the new main program has no such argument: add it to cmd/main.go, or remove it here"
		}
	}
	return n
}

const managerKustomization = "config/manager/kustomization.yaml"

// image sets the operator's image, the first that is found, unless it is a
// placeholder, and says whether it did. A digest decides alone: it names what a
// tag beside it may not name any more.
func (m *migration) image(image string) bool {
	if m.imaged || image == "" || strings.Contains(image, "REPLACE") || strings.ContainsAny(image, "{}$") || strings.HasPrefix(image, "controller:") {
		return false
	}
	m.imaged = true
	name, digest, isDigest := strings.Cut(image, "@")
	version := "newTag: \"latest\""
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name, version = name[:i], fmt.Sprintf("newTag: %q", name[i+1:])
	}
	if isDigest {
		version = "digest: " + digest
	}
	text := m.instead(string(m.out[managerKustomization].data), "newName: controller", "newName: "+name)
	m.put(managerKustomization, []byte(m.instead(text, "newTag: latest", version)))
	return true
}

// instead replaces a text of the scaffold. One that is not there fails the
// migration: what was to be in its place would be lost.
func (m *migration) instead(text, old, now string) string {
	if !strings.Contains(text, old) {
		m.fail(noAnchor(strconv.Quote(old)))
	}
	return strings.Replace(text, old, now, 1)
}

func scalar(n *yaml.Node, key string) string {
	if c := yamledit.Value(n, key); c != nil && c.Kind == yaml.ScalarNode {
		return c.Value
	}
	return ""
}

// sequence is the list of a key, which is made where there is none.
func sequence(n *yaml.Node, key string) *yaml.Node {
	list := yamledit.Value(n, key)
	if list == nil || list.Kind != yaml.SequenceNode {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		yamledit.Set(n, key, list)
	}
	list.Style = 0
	return list
}

// plain is a node without the place that it was read from.
func plain(n *yaml.Node) *yaml.Node {
	c := *n
	c.Line, c.Column = 0, 0
	return &c
}
