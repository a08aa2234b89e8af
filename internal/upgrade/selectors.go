package upgrade

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Where objects keep the labels by which they select others.
var selectorPaths = map[string][]string{
	"Deployment":     {"spec", "selector", "matchLabels"},
	"Service":        {"spec", "selector"},
	"NetworkPolicy":  {"spec", "podSelector", "matchLabels"},
	"ServiceMonitor": {"spec", "selector", "matchLabels"},
}

// Files of the scaffold that selectors are checked against.
const (
	managerManifest = "config/manager/manager.yaml"
	metricsService  = "config/default/metrics_service.yaml"
	proxyService    = "config/rbac/auth_proxy_service.yaml"
)

// selectors takes labels out of the selectors of today's scaffold that would
// break what is deployed: the selector of a Deployment cannot change, and a
// Service must not ask for labels that a manager.yaml which was kept lacks.
func (p *planner) selectors() error {
	manager, there, err := p.tree.Read(managerManifest)
	if err != nil || !there {
		return err
	}
	was := labelsAt(p.original(managerManifest), "Deployment", selectorPaths["Deployment"])
	if len(was) > 0 {
		manager = trimSelectors(manager, map[string]map[string]string{"Deployment": was})
		if err := p.tree.Write(managerManifest, manager); err != nil {
			return err
		}
	}
	pods := labelsAt(manager, "Deployment", []string{"spec", "template", "metadata", "labels"})
	allowed := map[string]map[string]string{"Service": pods, "NetworkPolicy": pods}
	for _, name := range p.changedManifests() {
		data, _, err := p.tree.Read(name)
		if err != nil {
			return err
		}
		if err := p.tree.Write(name, trimSelectors(data, allowed)); err != nil {
			return err
		}
	}
	return p.monitors()
}

// monitors makes ServiceMonitors select the metrics Service as it is now.
func (p *planner) monitors() error {
	service, there, err := p.tree.Read(metricsService)
	if err == nil && !there {
		service, there, err = p.tree.Read(proxyService)
	}
	if err != nil || !there {
		return err
	}
	labels := labelsAt(service, "Service", []string{"metadata", "labels"})
	for _, name := range p.changedManifests() {
		data, _, err := p.tree.Read(name)
		if err != nil {
			return err
		}
		if err := p.tree.Write(name, trimSelectors(data, map[string]map[string]string{"ServiceMonitor": labels})); err != nil {
			return err
		}
	}
	return nil
}

// changedManifests are the manifests that the plan writes.
func (p *planner) changedManifests() []string {
	var names []string
	for _, f := range p.plan.Files {
		written := f.Action == New || f.Action == Updated || f.Action == Merged
		if written && strings.HasPrefix(f.Path, "config/") && kindOf(f.Path) == kindYAML && path.Base(f.Path) != "kustomization.yaml" {
			names = append(names, f.Path)
		}
	}
	return names
}

// labelsAt returns the labels that the first object of a kind has at a path,
// nil where there is none.
func labelsAt(text []byte, kind string, at []string) map[string]string {
	for _, doc := range documentNodes(text) {
		if scalar(field(doc, "kind")) != kind {
			continue
		}
		labels := map[string]string{}
		if n := descend(doc, at); n != nil {
			for i := 0; i+1 < len(n.Content); i += 2 {
				labels[n.Content[i].Value] = n.Content[i+1].Value
			}
		}
		return labels
	}
	return nil
}

// trimSelectors removes from the selectors of the kinds given every label that
// is not allowed. A selector of which nothing would be left stays: without
// labels it would select everything.
func trimSelectors(text []byte, allowed map[string]map[string]string) []byte {
	var drop []int
	for _, doc := range documentNodes(text) {
		kind := scalar(field(doc, "kind"))
		labels, wanted := allowed[kind]
		n := descend(doc, selectorPaths[kind])
		if !wanted || n == nil || n.Style&yaml.FlowStyle != 0 {
			continue
		}
		var lines []int
		for i := 0; i+1 < len(n.Content); i += 2 {
			if value, ok := labels[n.Content[i].Value]; !ok || value != n.Content[i+1].Value {
				lines = append(lines, n.Content[i].Line)
			}
		}
		if 2*len(lines) < len(n.Content) {
			drop = append(drop, lines...)
		}
	}
	if len(drop) == 0 {
		return text
	}
	var out []byte
	number := 0
	for line := range bytes.Lines(text) {
		if number++; !slices.Contains(drop, number) {
			out = append(out, line...)
		}
	}
	return out
}

// documentNodes are the documents of a YAML file, as far as it can be parsed.
func documentNodes(text []byte) []*yaml.Node {
	var out []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		if err := dec.Decode(&doc); err != nil {
			return out
		}
		if len(doc.Content) == 1 {
			out = append(out, doc.Content[0])
		}
	}
}

// descend follows keys of mappings, to nil where one is missing.
func descend(n *yaml.Node, at []string) *yaml.Node {
	for _, key := range at {
		n = field(n, key)
	}
	return n
}

func field(n *yaml.Node, key string) *yaml.Node {
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

func scalar(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}
