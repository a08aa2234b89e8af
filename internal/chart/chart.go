// Package chart makes a Helm chart of the objects that kustomize builds of a
// project, and merges it with what the user made of the last one. Names and
// values are those of kubebuilder's plugin helm/v2-alpha. It works on the
// parsed objects, in memory; it knows neither helm nor how the objects are
// built.
package chart

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// Input is what a chart is made of.
type Input struct {
	Name     string // of the project and of the chart
	Objects  []byte // what is installed by default: YAML documents
	Optional []byte // the same with what can be switched on; may be empty
}

// object is one object of the build.
type object struct {
	node                       *yaml.Node
	group, kind, name, ns, dir string
	when                       string // condition for the whole object; empty: always
	optional                   bool   // not installed by default
	crd                        bool
}

type chart struct {
	Input
	templates
	objects []*object
	prefix  string // of the objects' names
	ns      string // the operator's
	manager *object
	roles   []string // ClusterRoles that rbac.namespaced makes Roles of
	values  values
}

// Render returns the files of the chart by their paths below its directory.
// Objects that cannot be read are an error, and so is a build without the
// manager's Deployment.
func Render(in Input) (map[string][]byte, error) {
	c := &chart{Input: in, templates: newTemplates(in.Objects, in.Optional)}
	c.values = values{Name: in.Name, defaults: map[string]*yaml.Node{}, sections: map[string]bool{}}
	if err := c.load(); err != nil {
		return nil, err
	}
	c.prefix = strings.TrimSuffix(c.manager.name, managerName)
	if c.prefix == c.manager.name {
		c.prefix = in.Name + "-"
	}
	c.ns = c.manager.ns
	c.address()
	c.classify()
	for _, o := range c.objects {
		c.label(o)
	}
	if err := c.readManager(); err != nil {
		return nil, err
	}
	c.condition()
	c.parametrize()
	c.rename()
	files, err := c.static()
	if err != nil {
		return nil, err
	}
	for _, o := range c.objects {
		if o.dir == "" {
			continue
		}
		if err := c.put(files, o); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// load reads the objects, those of Optional behind the others.
func (c *chart) load() error {
	for i, data := range [][]byte{c.Objects, c.Optional} {
		docs, err := yamledit.Documents(data)
		if err != nil {
			return clierr.Failedf("correct the manifests and run the command again", "read the manifests: %w", err)
		}
		for _, doc := range docs {
			if !spread(doc) {
				return clierr.Failedf("write their contents out, as kustomize does", "the manifests have YAML aliases (document at line %d)", doc.Line)
			}
			o := newObject(doc.Content[0])
			if o.kind == "" || o.name == "" {
				return clierr.Failedf("correct the manifests and run the command again", "the manifests have an object without kind or name (line %d)", doc.Line)
			}
			if !slices.ContainsFunc(c.objects, o.same) {
				o.optional = i > 0
				c.objects = append(c.objects, o)
			}
		}
	}
	return c.findManager()
}

// spread gives every mapping and list lines of its own: directives have no place
// in braces. It returns false for documents with aliases.
func spread(n *yaml.Node) bool {
	n.Style &^= yaml.FlowStyle
	return n.Kind != yaml.AliasNode && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !spread(c) })
}

func newObject(n *yaml.Node) *object {
	o := &object{node: n, kind: text(n, "kind"), name: text(n, "metadata.name"), ns: text(n, "metadata.namespace")}
	if group, _, ok := strings.Cut(text(n, "apiVersion"), "/"); ok {
		o.group = group
	}
	o.crd = o.kind == "CustomResourceDefinition"
	return o
}

func (o *object) same(p *object) bool {
	return o.group == p.group && o.kind == p.kind && o.name == p.name && o.ns == p.ns
}

// managerName is what kustomize puts the prefix before.
const managerName = "controller-manager"

// findManager finds the Deployment of the manager: by its name, else by its
// label or as the only one.
func (c *chart) findManager() error {
	var all []*object
	for _, o := range c.objects {
		if o.kind == "Deployment" && !o.optional {
			all = append(all, o)
		}
	}
	for _, is := range []func(*object) bool{
		func(o *object) bool { return strings.HasSuffix(o.name, managerName) },
		func(o *object) bool { return text(o.node, "metadata.labels.control-plane") != "" },
		func(*object) bool { return len(all) == 1 },
	} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			c.manager = all[i]
			return nil
		}
	}
	return clierr.Failedf("check that the kustomization or the file has the Deployment of config/manager",
		"none of the %d objects is the manager's Deployment", len(c.objects))
}

// put renders an object to the file that is named after it.
func (c *chart) put(files map[string][]byte, o *object) error {
	data, err := yamledit.Encode(o.node)
	if err != nil {
		return fmt.Errorf("write %s %s: %w", o.kind, o.name, err)
	}
	data = c.substitute(data)
	if o.when != "" {
		data = slices.Concat([]byte("{{- if "+o.when+" }}\n"), data, []byte("{{- end }}\n"))
	}
	base := strings.ToLower(strings.TrimPrefix(o.name, c.prefix))
	if o == c.manager {
		base = "manager"
	}
	name := path.Join("templates", o.dir, base+".yaml")
	if _, taken := files[name]; taken { // two kinds of one name, or two namespaces
		name = path.Join("templates", o.dir, base+"-"+strings.ToLower(o.kind)+".yaml")
	}
	for i := 2; files[name] != nil; i++ {
		name = path.Join("templates", o.dir, fmt.Sprintf("%s-%s-%d.yaml", base, strings.ToLower(o.kind), i))
	}
	files[name] = data
	return nil
}
