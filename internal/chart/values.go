package chart

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// files are the files of a chart that no object is in. Their directives for us
// stand in [[ ]]: what stands in braces is helm's.
//
//go:embed all:templates
var files embed.FS

// values are the chart's values and what else its texts depend on.
type values struct {
	Name      string
	Scoped    bool   // the manager can be restricted to one namespace
	Accounts  bool   // the chart has the manager's ServiceAccount
	FixedName string // what the names of the objects have to begin with; mostly empty
	defaults  map[string]*yaml.Node
	sections  map[string]bool // whether each is enabled by default
}

// enable notes that the chart has a section, and whether something in it is
// installed by default.
func (v *values) enable(section string, on bool) { v.sections[section] = v.sections[section] || on }

// Has says whether the chart has a section.
func (v *values) Has(section string) bool { _, ok := v.sections[section]; return ok }

// On says whether a section is enabled by default.
func (v *values) On(section string) bool {
	if n := v.defaults[section]; n != nil {
		return n.Value == "true"
	}
	return v.sections[section]
}

// set gives a value its default, or empty where the build has none.
func (v *values) set(path string, n *yaml.Node, empty string) {
	if path == "" {
		return
	}
	if n == nil || n.Kind != yaml.ScalarNode && len(n.Content) == 0 {
		n = &yaml.Node{Kind: yaml.ScalarNode, Value: empty, Tag: "!!raw"}
	}
	v.defaults[path] = n
}

// text is a scalar default, empty for none.
func (v *values) text(path string) string {
	if n := v.defaults[path]; n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

// Default writes a value behind its key, whose column is given: on the same line
// or below it.
func (v *values) Default(path string, indent int) (string, error) {
	n := v.defaults[path]
	if n == nil {
		return "", fmt.Errorf("the chart has no value %s", path)
	}
	if n.Tag == "!!raw" {
		return " " + n.Value, nil
	}
	data, err := yamledit.Encode(n)
	if err != nil {
		return "", err
	}
	if n.Kind == yaml.ScalarNode {
		return " " + strings.TrimSpace(string(data)), nil
	}
	in := "\n" + strings.Repeat(" ", indent+2)
	return in + strings.ReplaceAll(strings.TrimRight(string(data), "\n"), "\n", in), nil
}

// Known says whether the chart has a value.
func (v *values) Known(path string) bool { return v.defaults[path] != nil }

// static renders the files that no object is in.
func (c *chart) static() (map[string][]byte, error) {
	if c.knowsNames() {
		c.values.FixedName = strings.TrimSuffix(c.prefix, "-")
	}
	out := map[string][]byte{}
	err := fs.WalkDir(files, "templates", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		t, err := template.New(path.Base(name)).Delims("[[", "]]").ParseFS(files, name)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := t.Execute(&text, &c.values); err != nil {
			return fmt.Errorf("render %s of the chart: %w", path.Base(name), err)
		}
		to := strings.TrimPrefix(name, "templates/")
		if to == "_helpers.tpl" || to == "NOTES.txt" {
			to = "templates/" + to
		}
		out[to] = text.Bytes()
		return nil
	})
	return out, err
}

// knowsNames says whether the manager makes the certificates of its webhooks, with
// the names of their Service and configurations in its code: its role names the
// Secret, as internal/certs of the scaffold keeps it.
func (c *chart) knowsNames() bool {
	return slices.ContainsFunc(c.objects, func(o *object) bool {
		return o.group == rbacGroup && slices.ContainsFunc(at(o.node, "rules.*.resourceNames.*"), func(n *yaml.Node) bool {
			return n.Value == c.prefix+"webhook-server-cert"
		})
	})
}
