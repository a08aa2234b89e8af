package run

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/mysdk/internal/clierr"
)

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
