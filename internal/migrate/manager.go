package migrate

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const managerPath = "config/manager/manager.yaml"

// manager carries what the operator's Deployment says over to config/manager.
func (m *migration) manager(o *object) error {
	docs, err := documents(m.out[managerPath].data)
	if err != nil {
		return fmt.Errorf("%s: %w", managerPath, err)
	}
	c := ownContainer(o)
	for _, d := range docs {
		box := managerContainer(d.Content[0])
		if box == nil {
			continue
		}
		m.environment(box, c)
		m.arguments(box, c)
		if c.Resources.Kind == yaml.MappingNode && len(c.Resources.Content) > 0 {
			setNode(box, "resources", plain(&c.Resources))
		}
		appendNodes(box, "volumeMounts", c.Mounts)
		if len(c.EnvFrom) > 0 {
			setNode(box, "envFrom", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"})
			appendNodes(box, "envFrom", c.EnvFrom)
		}
		spec := child(child(child(d.Content[0], "spec"), "template"), "spec")
		appendNodes(spec, "volumes", o.Spec.Template.Spec.Volumes)
		if r := o.Spec.Replicas; r != nil && *r > 1 {
			setNode(child(d.Content[0], "spec"), "replicas", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(*r)})
		}
		m.pod(o, d.Content[0], box)
	}
	text, err := joinDocuments(docs)
	if err != nil {
		return err
	}
	m.put(managerPath, text)
	if len(o.Spec.Template.Spec.Containers) > 1 {
		m.note(managerPath, "%s had %d containers: add the others if they are needed", o.file, len(o.Spec.Template.Spec.Containers))
	}
	m.image(c.Image)
	return nil
}

// ownContainer is the container of the operator: the one that is told which
// namespaces to watch, else the first.
func ownContainer(o *object) container { return o.Spec.Template.Spec.Containers[ownIndex(o)] }

func ownIndex(o *object) int {
	return max(0, slices.IndexFunc(o.Spec.Template.Spec.Containers, func(c container) bool {
		return slices.ContainsFunc(c.Env, func(e yaml.Node) bool { return scalar(&e, "name") == "WATCH_NAMESPACE" })
	}))
}

// managerContainer is the container called manager of a Deployment.
func managerContainer(doc *yaml.Node) *yaml.Node {
	if scalar(doc, "kind") != "Deployment" {
		return nil
	}
	list := child(child(child(child(doc, "spec"), "template"), "spec"), "containers")
	if list == nil {
		return nil
	}
	for _, c := range list.Content {
		if scalar(c, "name") == "manager" {
			return c
		}
	}
	return nil
}

// environment takes over the variables that the scaffold has not.
func (m *migration) environment(box *yaml.Node, c container) {
	if len(c.Env) == 0 {
		return
	}
	list := sequence(box, "env")
	for i := range c.Env {
		e := &c.Env[i]
		name := scalar(e, "name")
		j := slices.IndexFunc(list.Content, func(n *yaml.Node) bool { return scalar(n, "name") == name })
		switch {
		case name == "WATCH_NAMESPACE" && !m.namespaced && scalar(e, "value") == "":
			// All namespaces is what none means.
			if child(e, "valueFrom") != nil {
				list.Content = append(list.Content, plain(e))
			}
		case j >= 0:
			list.Content[j] = plain(e)
		default:
			list.Content = append(list.Content, plain(e))
		}
	}
}

// arguments takes over arguments that the new main program has, and marks the
// others.
func (m *migration) arguments(box *yaml.Node, c container) {
	args := c.Args
	if len(c.Command) > 1 {
		args = append(slices.Clone(c.Command[1:]), args...)
	}
	list := sequence(box, "args")
	for i := 0; i < len(args); i++ {
		a := args[i]
		if i+1 < len(args) && strings.HasPrefix(a, "-") && !strings.Contains(a, "=") && !strings.HasPrefix(args[i+1], "-") {
			i++
			a += "=" + args[i]
		}
		list.Content = append(list.Content, m.argumentNode(a))
	}
}

// argumentNode is an argument for the new main program, marked where that has
// no such flag.
func (m *migration) argumentNode(arg string) *yaml.Node {
	name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: arg}
	switch name {
	case "zap-level":
		n.Value = "--zap-log-level=" + value
	case "zap-encoder":
		n.Value = "--zap-encoder=" + value
	case "zap-devel":
		n.Value = strings.TrimSuffix("--zap-devel="+value, "=")
	case "zap-time-encoding":
		n.Value = "--zap-time-encoding=" + value
	case "zap-log-level", "zap-stacktrace-level":
	default:
		if !bytes.Contains(m.out[newMain].data, []byte(strconv.Quote(name))) { // a flag of the user's that was carried over
			n.HeadComment = "# " + todoMark + "the new main program has no such argument: add it to cmd/main.go, or remove it here"
		}
	}
	return n
}

const managerKustomization = "config/manager/kustomization.yaml"

// image sets the operator's image, unless it was a placeholder.
func (m *migration) image(image string) {
	text := string(m.out[managerKustomization].data)
	if with := m.withImage(text, image); with != text {
		m.put(managerKustomization, []byte(with))
	}
}

// withImage is the kustomization of the manager with an image of the user's:
// the first that is found.
func (m *migration) withImage(text, image string) string {
	if m.imaged || image == "" || strings.Contains(image, "REPLACE") || strings.ContainsAny(image, "{}$@") || strings.HasPrefix(image, "controller:") {
		return text
	}
	m.imaged = true
	name, tag := image, "latest"
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		name, tag = image[:i], image[i+1:]
	}
	text = m.instead(text, "newName: controller", "newName: "+name)
	return m.instead(text, "newTag: latest", fmt.Sprintf("newTag: %q", tag))
}

// instead replaces a text of the scaffold. One that is not there fails the
// migration: what was to be in its place would be lost.
func (m *migration) instead(text, old, now string) string {
	if !strings.Contains(text, old) {
		m.anchors = append(m.anchors, old)
	}
	return strings.Replace(text, old, now, 1)
}

// child is the value of a key, nil where there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func scalar(n *yaml.Node, key string) string {
	if c := child(n, key); c != nil && c.Kind == yaml.ScalarNode {
		return c.Value
	}
	return ""
}

func setNode(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

func appendNodes(n *yaml.Node, key string, items []yaml.Node) {
	if len(items) == 0 || n == nil {
		return
	}
	list := sequence(n, key)
	for i := range items {
		list.Content = append(list.Content, plain(&items[i]))
	}
}

// sequence is the list of a key, which is made where there is none.
func sequence(n *yaml.Node, key string) *yaml.Node {
	list := child(n, key)
	if list == nil || list.Kind != yaml.SequenceNode {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		setNode(n, key, list)
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
