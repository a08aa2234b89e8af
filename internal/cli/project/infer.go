package project

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// firstVersion is the version of a kind that has none yet.
const firstVersion = "v1alpha1"

// named are the flags --group, --version and --kind of a command. Group and
// version may be left out where the project tells them.
type named struct{ group, version, kind string }

// among are the project's resources that the flags may mean.
func (n named) among(p *project.Project) []project.Resource {
	return slices.DeleteFunc(slices.Clone(p.Resources), func(r project.Resource) bool {
		return r.Kind != n.kind || n.group != "" && r.Group != n.group || n.version != "" && r.Version != n.version
	})
}

// checkGroup refuses a group that is written as kubectl shows it: the domain would
// be in it twice.
func (n named) checkGroup(p *project.Project) error {
	short, ok := strings.CutSuffix("."+n.group, "."+p.Domain)
	if short = strings.TrimPrefix(short, "."); !ok || n.group == "" || slices.ContainsFunc(p.Resources, func(r project.Resource) bool { return r.Group == n.group }) {
		return nil
	}
	return clierr.Usagef(fmt.Sprintf("use --group %s", cmp.Or(short, `""`)), "--group %s is written with the project's domain, which mysdk adds", n.group)
}

// ambiguous asks for flags that tell several resources apart.
func (n named) ambiguous(found []project.Resource) error {
	choices := make([]string, len(found))
	for i, r := range found {
		choices[i] = fmt.Sprintf("--group %s --version %s", cmp.Or(r.Group, `""`), r.Version)
	}
	return clierr.Usagef("use one of:\n"+strings.Join(choices, "\n"), "the project has %d resources of kind %s", len(found), n.kind)
}

// infer fills in the group and the version of a kind that the project has, or
// that is built into Kubernetes. What nothing tells stays empty.
func (n *named) infer(p *project.Project, group, version bool) error {
	if err := n.checkGroup(p); err != nil {
		return err
	}
	ofKind := named{group: n.group, kind: n.kind}.among(p)
	if !group { // the empty group is one, too, where it was typed
		ofKind = slices.DeleteFunc(ofKind, func(r project.Resource) bool { return r.Group != n.group })
	}
	for _, r := range ofKind {
		if r.Group != ofKind[0].Group { // which may be empty
			return n.ambiguous(ofKind)
		}
		n.group = r.Group
	}
	if !version {
		return nil
	}
	for _, r := range ofKind {
		if n.version != "" && n.version != r.Version {
			return n.ambiguous(ofKind)
		}
		n.version = r.Version
	}
	if built := v4.BuiltInVersions(n.group, n.kind); n.version == "" && len(built) == 1 {
		n.version = built[0]
	}
	return nil
}

// misspelt is the error of a kind that is nearly one of the project's.
func (n named) misspelt(p *project.Project) error {
	var kinds []string
	for _, r := range p.Resources {
		kinds = append(kinds, r.Kind)
	}
	if near := clierr.Closest(n.kind, kinds); near != "" && near != n.kind {
		return clierr.Usagef("did you mean --kind "+near+"?", "the project has no kind %s", n.kind)
	}
	return nil
}
