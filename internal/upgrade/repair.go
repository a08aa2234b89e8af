package upgrade

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/merge3"
)

// repair makes the changes to the user's files without which they would not
// build with what the scaffold has become.
func (p *planner) repair() error {
	if err := p.calls(); err != nil {
		return err
	}
	if unasked := p.unaskedE2E(); p.foreign != nil && unasked != "" {
		p.plan.ByMake = true
		p.plan.Notes = append(p.plan.Notes, unasked+":1: 'mysdk test' without packages runs this too, against the cluster of your kubeconfig: "+
			"use 'make test', or put '//go:build e2e' above it and add -tags=e2e to the target test-e2e")
	}
	return p.listed()
}

// definedBy is the file beside a new manifest that has one of its objects
// already, empty for none: kustomize refuses an object that is there twice.
func (p *planner) definedBy(name string, text []byte) string {
	dir := path.Dir(name)
	entries, err := p.Files.ReadDir(p.path(dir))
	if err != nil || !strings.HasPrefix(name, "config/") {
		return "" // nothing is beside it
	}
	ours := objectNames(text)
	for _, e := range entries {
		other := path.Join(dir, e.Name())
		if other == name || !isYAML(other) || e.Name() == "kustomization.yaml" {
			continue
		}
		if slices.ContainsFunc(objectNames(p.original(other)), func(id string) bool { return slices.Contains(ours, id) }) {
			return other
		}
	}
	return ""
}

// objectNames are the objects of a manifest, as KIND NAME.
func objectNames(text []byte) []string {
	var out []string
	for _, o := range objectsIn(text) {
		if name := o.text("metadata", "name"); name != "" {
			out = append(out, o.text("kind")+" "+name)
		}
	}
	return out
}

// listed adds new files of config/rbac to its kustomization, in projects of
// other tools: ours is not what theirs began with.
func (p *planner) listed() error {
	const name = "config/rbac/kustomization.yaml"
	if p.foreign == nil {
		return nil
	}
	mine, there, err := p.tree.Read(name)
	if err != nil || !there {
		return err
	}
	text := string(mine)
	for _, f := range p.plan.Files {
		base := path.Base(f.Path)
		if f.Action != New || path.Dir(f.Path) != path.Dir(name) || strings.Contains(text, "- "+base) {
			continue
		}
		merged, _ := merge3.Merge(name, nil, []byte(text), fmt.Appendf(nil, "resources:\n- %s\n", base))
		text = string(merged)
	}
	if text == string(mine) {
		return nil
	}
	p.note(name, Merged, "lists the new files")
	return p.tree.Write(name, []byte(text))
}
