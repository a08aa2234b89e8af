package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm"
)

// groupRequest is what there is to decide about the OperatorGroup of a namespace.
type groupRequest struct {
	csv       *unstructured.Unstructured
	pkg       string
	namespace string
	want      Mode     // zero: what is there, else what the CSV supports
	groups    objects  // of the namespace
	others    []string // other operators in the namespace, by CSV
	isolated  bool     // the bundle needs nothing of the global catalogs
}

// groupPlan is the decision: the mode that the operator runs in, and the group
// to apply, nil where the one that is there stays as it is.
type groupPlan struct {
	mode  Mode
	apply *unstructured.Unstructured
	moved bool // from another mode
}

// planGroup decides. A namespace has exactly one OperatorGroup for all its
// operators; one that others use, or that is not ours, is not changed.
func planGroup(r groupRequest) (groupPlan, error) {
	if len(r.groups) > 1 {
		return groupPlan{}, clierr.Failedf("delete all but one, or install into another namespace with --namespace",
			"namespace %s has %d OperatorGroups (%s), and OLM installs nothing where there is more than one", r.namespace, len(r.groups), strings.Join(r.groups.names(), ", "))
	}
	if len(r.groups) == 0 {
		mode, err := r.choose()
		if err != nil {
			return groupPlan{}, err
		}
		return groupPlan{mode: mode, apply: operatorGroup(r.pkg, r.namespace, mode, r.isolated)}, nil
	}
	return r.reuse(r.groups[0])
}

// reuse decides about the group that is there.
func (r groupRequest) reuse(g *unstructured.Unstructured) (groupPlan, error) {
	is := modeOf(r.namespace, targetsOf(g))
	why := supports(modesOf(r.csv), is, r.namespace)
	if r.want.Type != "" && r.want.String() != is.String() {
		why = fmt.Sprintf("--install-mode is %s", r.want)
	}
	if why == "" {
		return groupPlan{mode: is, apply: r.opened(g)}, nil
	}
	// Changing the group changes what every operator of the namespace watches.
	free := isOurs(g) && len(r.others) == 0
	mode, err := r.choose()
	if err != nil {
		return groupPlan{}, err
	}
	if !free {
		return groupPlan{}, r.misfit(g, is, why)
	}
	apply := operatorGroup(r.pkg, r.namespace, mode, r.isolated)
	apply.SetName(g.GetName())
	return groupPlan{mode, apply, true}, nil
}

// opened is the group g with the global catalogs, which the bundle needs; nil if
// it has them, or is not ours.
func (r groupRequest) opened(g *unstructured.Unstructured) *unstructured.Unstructured {
	if r.isolated || !isOurs(g) || g.GetAnnotations()[isolateAnnotation] == "" {
		return nil
	}
	u := operatorGroup(g.GetLabels()[runLabel], r.namespace, modeOf(r.namespace, texts(g, "spec", "targetNamespaces")), false)
	u.SetName(g.GetName())
	return u
}

// misfit explains why the operator cannot join the group.
func (r groupRequest) misfit(g *unstructured.Unstructured, is Mode, why string) error {
	hint := "install into another namespace with --namespace"
	if whose := strings.Join(r.others, ", "); whose != "" {
		hint += ", as this one serves " + whose
	} else {
		hint += fmt.Sprintf(", or delete it: mysdk kubectl delete operatorgroup -n %s %s", r.namespace, g.GetName())
	}
	return clierr.Failedf(hint, "%s, which decides what the operators of its namespace watch, is for %s, and %s cannot join it: %s",
		kube.RefOf(g), is.describe(r.namespace), r.csv.GetName(), why)
}

func (m Mode) describe(own string) string {
	if m.Type == allNamespaces {
		return "all namespaces"
	}
	list := m.namespaces(own)
	if len(list) == 1 {
		return "namespace " + list[0]
	}
	return "namespaces " + strings.Join(list, ", ")
}

// targetsOf are the namespaces of an OperatorGroup: those it names, or those
// that OLM has found by its selector.
func targetsOf(g *unstructured.Unstructured) []string {
	if list := texts(g, "spec", "targetNamespaces"); len(list) > 0 {
		return list
	}
	if _, selects, _ := unstructured.NestedMap(g.Object, "spec", "selector"); selects {
		return texts(g, "status", "namespaces")
	}
	return nil
}

// isOurs reports whether a run made u.
func isOurs(u *unstructured.Unstructured) bool { return u != nil && u.GetLabels()[runLabel] != "" }

// otherOperators are the names of the CSVs in list that are not of this package.
func otherOperators(list objects, mine ...string) []string {
	names := list.where(func(u *unstructured.Unstructured) bool { return !slices.Contains(mine, u.GetName()) }).names()
	slices.Sort(names)
	return names
}

// refuseConflict is an error where an operator of another namespace provides
// one of the bundle's APIs in a namespace that the two would share: OLM lets
// neither a second one work there, nor says so of one of the same name.
func (in *installer) refuseConflict(ctx context.Context) error {
	c := &chain{}
	var err error
	if c.csvs, err = everywhere(ctx, in.reader, olmV1alpha1, "ClusterServiceVersion", in.Namespace); err != nil {
		return err
	}
	if c.groups, err = everywhere(ctx, in.reader, olmV1, "OperatorGroup", in.Namespace); err != nil {
		return err
	}
	for _, other := range c.csvs {
		where := other.GetNamespace()
		theirs, ok := c.modeIn(where)
		if !ok || where == in.Namespace || !overlap(in.group.mode.namespaces(in.Namespace), theirs.namespaces(where)) {
			continue
		}
		for _, crd := range olm.OwnedCRDs(other) {
			if !slices.Contains(olm.OwnedCRDs(in.csv), crd) {
				continue
			}
			return clierr.Failedf(fmt.Sprintf("upgrade that one with '%s', remove it with 'mysdk cleanup %s -n %s', or choose other namespaces with --install-mode", in.command("bundle", where), c.packageOf(other), where),
				"%s is already provided by %s%s, and in one namespace an API can have only one operator", crd, kube.RefOf(other), c.watches(other))
		}
	}
	return nil
}

// overlap reports whether two lists of namespaces share one; an empty list is all.
func overlap(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(ns string) bool { return slices.Contains(b, ns) })
}

// The install modes of a ClusterServiceVersion.
const (
	allNamespaces   = "AllNamespaces"
	ownNamespace    = "OwnNamespace"
	singleNamespace = "SingleNamespace"
	multiNamespace  = "MultiNamespace"
)

// modeExample ends the hints about --install-mode.
const modeExample = "write --install-mode AllNamespaces, OwnNamespace, SingleNamespace=ns or MultiNamespace=a,b"

// Mode is an install mode with the namespaces that the operator is to watch.
// The zero Mode leaves the choice to the bundle and the namespace.
type Mode struct {
	Type    string   // AllNamespaces, OwnNamespace, SingleNamespace or MultiNamespace
	Targets []string // of SingleNamespace and MultiNamespace, sorted
}

// ParseMode reads a mode as typed: TYPE or TYPE=namespace,namespace. Errors are
// usage errors.
func ParseMode(s string) (Mode, error) {
	if s == "" {
		return Mode{}, nil
	}
	name, list, named := strings.Cut(s, "=")
	m := Mode{Type: name}
	for _, ns := range strings.Split(list, ",") {
		if ns = strings.TrimSpace(ns); ns != "" && !slices.Contains(m.Targets, ns) {
			m.Targets = append(m.Targets, ns)
		}
	}
	slices.Sort(m.Targets)
	for _, ns := range m.Targets {
		if len(validation.IsDNS1123Label(ns)) > 0 {
			return Mode{}, clierr.Usagef(modeExample, "--install-mode: %q is not a namespace's name", ns)
		}
	}
	switch {
	case !slices.Contains(modeTypes, name):
		hint := modeExample
		if near := clierr.Closest(name, modeTypes); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		return Mode{}, clierr.Usagef(hint, "--install-mode: there is no install mode %q", name)
	case (name == allNamespaces || name == ownNamespace) && named:
		return Mode{}, clierr.Usagef(modeExample, "--install-mode: %s takes no namespaces", name)
	case name == singleNamespace && len(m.Targets) != 1:
		return Mode{}, clierr.Usagef(modeExample, "--install-mode: SingleNamespace takes one namespace, and got %d", len(m.Targets))
	case name == multiNamespace && len(m.Targets) < 2:
		return Mode{}, clierr.Usagef(modeExample, "--install-mode: MultiNamespace takes two namespaces or more, and got %d", len(m.Targets))
	}
	return m, nil
}

// modeTypes are the modes in the order in which one is chosen.
var modeTypes = []string{allNamespaces, ownNamespace, singleNamespace, multiNamespace}

// String is the mode as typed.
func (m Mode) String() string {
	if len(m.Targets) == 0 {
		return m.Type
	}
	return m.Type + "=" + strings.Join(m.Targets, ",")
}

// namespaces are the target namespaces of the mode's OperatorGroup in the
// namespace own; none stands for all.
func (m Mode) namespaces(own string) []string {
	switch m.Type {
	case ownNamespace:
		return []string{own}
	case allNamespaces:
		return nil
	}
	return m.Targets
}

// modeOf is the mode of an OperatorGroup in own with these target namespaces.
func modeOf(own string, targets []string) Mode {
	switch {
	case len(targets) == 0 || slices.Contains(targets, ""):
		return Mode{Type: allNamespaces}
	case len(targets) == 1 && targets[0] == own:
		return Mode{Type: ownNamespace}
	case len(targets) == 1:
		return Mode{Type: singleNamespace, Targets: targets}
	}
	return Mode{Type: multiNamespace, Targets: slices.Sorted(slices.Values(targets))}
}

// supports says why a CSV with these modes cannot run in m; "" if it can. The
// rules are those of OLM's InstallModeSet.
func supports(modes map[string]bool, m Mode, own string) string {
	switch {
	case !modes[m.Type]:
		return fmt.Sprintf("it does not support %s", m.Type)
	case m.Type == multiNamespace && slices.Contains(m.Targets, own) && !modes[ownNamespace]:
		return fmt.Sprintf("it does not support %s, and %s is among the namespaces", ownNamespace, own)
	}
	return ""
}

// supported lists the modes that are true, for messages.
func supported(modes map[string]bool) string {
	var list []string
	for _, t := range modeTypes {
		if modes[t] {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// choose returns the mode to install the CSV in: the wanted one if it supports that,
// or the first that needs no further namespaces.
func (r groupRequest) choose() (Mode, error) {
	want, own, modes := r.want, r.namespace, modesOf(r.csv)
	if want.Type == singleNamespace && want.Targets[0] == own {
		return Mode{}, clierr.Usagef("add --install-mode OwnNamespace, or name another namespace",
			"--install-mode: %s is the namespace that the operator is installed in", own)
	}
	if want.Type != "" {
		if why := supports(modes, want, own); why != "" {
			hint := fmt.Sprintf("it supports %s; others are turned on in spec.installModes of the base below config/manifests", supported(modes))
			return Mode{}, clierr.Usagef(hint, "%s cannot be installed with --install-mode %s: %s", r.csv.GetName(), want, why)
		}
		return want, nil
	}
	for _, t := range []string{allNamespaces, ownNamespace} {
		if modes[t] {
			return Mode{Type: t}, nil
		}
	}
	if supported(modes) == "none" {
		return Mode{}, clierr.Failedf("set one of spec.installModes to supported: true, then run 'mysdk bundle generate'",
			"%s supports no install mode", r.csv.GetName())
	}
	return Mode{}, clierr.Usagef("add --install-mode SingleNamespace=ns or --install-mode MultiNamespace=a,b",
		"%s supports only %s, which takes the namespaces to watch", r.csv.GetName(), supported(modes))
}
