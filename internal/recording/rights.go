package recording

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Rule is a rule of the operator's roles.
type Rule struct {
	rbacv1.PolicyRule
	// File and Line are the marker's that the rule is generated from; empty for
	// rules from elsewhere, which are granted and never called unused.
	File string
	Line int
	// Namespace is the only one that the rule holds in; empty for all. Marked is that
	// of its marker, where config/default puts the Role into another.
	Namespace, Marked string
}

// Rights compares what an operator used with what its roles grant.
type Rights struct {
	Used    []Use    `json:"used"`
	Unused  []Unused `json:"unused,omitempty"`
	Missing []Use    `json:"missing,omitempty"` // granted by no rule: refused, or allowed to an administrator
}

// Unused is what a marker grants and the operator did not use.
type Unused struct {
	File   string  `json:"file"`
	Line   int     `json:"line"`
	Rights []Right `json:"rights"`
	All    bool    `json:"all,omitempty"` // nothing of the marker was used
	// Markers are what would grant only what was used; empty with All.
	Markers []string `json:"markers,omitempty"`
}

// Unwatched are the rights whose lack keeps controllers from starting: to list or to
// watch what they watch, which was refused each time. What the project's own code
// lists is left out.
func (r Recording) Unwatched() []Right {
	var list []Right
	for _, u := range r.Uses {
		if (u.Verb == "list" || u.Verb == "watch") && u.Denied > 0 && u.Allowed == 0 && (len(u.Frames) == 0 || !InProject(u.Frames[0])) {
			list = append(list, u.Right)
		}
	}
	return list
}

// CompareRights judges uses by the rules.
func CompareRights(uses []Use, rules []Rule) Rights {
	var out Rights
	for _, u := range uses {
		// Each time, or in all namespaces at once: a Role was not enough.
		refused := u.Denied > 0 && (u.Allowed == 0 || slices.Contains(u.Namespaces, ""))
		short := func(r Rule) bool {
			return refused && r.Namespace != "" && slices.ContainsFunc(u.Namespaces, func(ns string) bool { return ns != r.Namespace })
		}
		names := u.Names
		if len(names) == 0 {
			names = []string{""}
		}
		granted := 0
		for _, name := range names {
			if slices.ContainsFunc(rules, func(r Rule) bool { return grants(r, u.Right, []string{name}) && !short(r) }) {
				granted++
			}
		}
		if granted > 0 { // perhaps only since it was refused
			out.Used = append(out.Used, u)
		}
		if granted < len(names) {
			u.Beyond = slices.ContainsFunc(rules, func(r Rule) bool { return short(r) && grants(r, u.Right, names) })
			out.Missing = append(out.Missing, u)
		}
	}
	for _, r := range rules {
		if r.File == "" {
			continue
		}
		if u := unusedOf(r, out.Used); len(u.Rights) > 0 {
			out.Unused = append(out.Unused, u)
		}
	}
	slices.SortFunc(out.Unused, func(a, b Unused) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}

// grants reports whether a rule allows a right, for one of the names at least
// where it is limited to some.
func grants(r Rule, right Right, names []string) bool {
	if !matches(r.Verbs, right.Verb) {
		return false
	}
	if right.Path != "" {
		return slices.ContainsFunc(r.NonResourceURLs, func(p string) bool {
			prefix, any := strings.CutSuffix(p, "*")
			return p == right.Path || any && strings.HasPrefix(right.Path, prefix)
		})
	}
	limited := len(r.ResourceNames) > 0
	if limited && !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(r.ResourceNames, n) }) {
		return false
	}
	_, sub, _ := strings.Cut(right.Resource, "/")
	return matches(r.APIGroups, right.Group) && (matches(r.Resources, right.Resource) || sub != "" && slices.Contains(r.Resources, "*/"+sub))
}

func matches(list []string, value string) bool {
	return slices.Contains(list, value) || slices.Contains(list, rbacv1.ResourceAll)
}

// unusedOf lists what a rule grants and nobody used, each verb of each resource.
func unusedOf(r Rule, used []Use) Unused {
	out := Unused{File: r.File, Line: r.Line, All: true}
	var needed []Right
	for _, right := range rightsOf(r) {
		i := slices.IndexFunc(used, func(u Use) bool {
			return covers(right, u.Right) && grants(r, u.Right, u.Names) || listsByWatching(right, u.Right)
		})
		if i < 0 && !forOwners(right) {
			out.Rights = append(out.Rights, right)
			continue
		}
		out.All = false
		needed = append(needed, right)
	}
	if !out.All && len(out.Rights) > 0 {
		out.Markers = MarkersFor(needed, cmp.Or(r.Marked, r.Namespace), r.ResourceNames)
	}
	return out
}

// forOwners reports whether a right is asked for where owner references are
// checked, as on OpenShift, and on the embedded cluster never.
func forOwners(r Right) bool {
	return r.Verb == "update" && strings.HasSuffix(r.Resource, "/finalizers")
}

// listsByWatching reports whether a granted list goes with a watch that was
// used: newer clients get both by one request, older ones need the list.
func listsByWatching(granted, used Right) bool {
	return granted.Verb == "list" && used.Verb == "watch" && covers(Right{Verb: "watch", Group: granted.Group, Resource: granted.Resource}, used)
}

// covers is a right that may have wildcards against one that has none.
func covers(granted, used Right) bool {
	return (granted.Verb == rbacv1.VerbAll || granted.Verb == used.Verb) &&
		(granted.Group == rbacv1.APIGroupAll || granted.Group == used.Group) &&
		(granted.Resource == rbacv1.ResourceAll || granted.Resource == used.Resource || strings.HasPrefix(granted.Resource, "*/") && strings.HasSuffix(used.Resource, granted.Resource[1:])) &&
		(granted.Path == used.Path || strings.HasSuffix(granted.Path, "*") && used.Path != "")
}

func rightsOf(r Rule) []Right {
	var list []Right
	for _, verb := range r.Verbs {
		for _, p := range r.NonResourceURLs {
			list = append(list, Right{Verb: verb, Path: p})
		}
		for _, g := range r.APIGroups {
			for _, res := range r.Resources {
				list = append(list, Right{Verb: verb, Group: g, Resource: res})
			}
		}
	}
	return list
}

// verbOrder is the order in which kubebuilder writes verbs.
var verbOrder = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// alike is what a group's resources need alike, or a path.
type alike struct{ group, verbs, path string }

// byVerbs joins the resources that need the same verbs.
func byVerbs(rights []Right) map[alike][]string {
	type target struct{ group, resource, path string }
	verbs := map[target][]string{}
	for _, r := range rights {
		t := target{r.Group, r.Resource, r.Path}
		if !slices.Contains(verbs[t], r.Verb) {
			verbs[t] = append(verbs[t], r.Verb)
		}
	}
	resources := map[alike][]string{}
	for t, list := range verbs {
		slices.SortFunc(list, compareVerbs)
		k := alike{t.group, strings.Join(list, ";"), t.path}
		resources[k] = append(resources[k], t.resource)
	}
	for _, list := range resources {
		slices.Sort(list)
	}
	return resources
}

// Summary are rights in words, those of resources that have the same verbs at once.
func Summary(rights []Right) []string {
	var out []string
	for k, list := range byVerbs(rights) {
		verbs := strings.ReplaceAll(k.verbs, ";", ",")
		if k.path != "" {
			out = append(out, verbs+" "+k.path)
			continue
		}
		for i, resource := range list {
			list[i] = Right{Verb: verbs, Group: k.group, Resource: resource}.String()
			if i > 0 {
				list[i] = strings.TrimPrefix(list[i], verbs+" ")
			}
		}
		out = append(out, strings.Join(list, ", "))
	}
	slices.Sort(out)
	return out
}

// MarkersFor returns the markers that grant exactly the rights, one for the
// resources of a group that need the same verbs: in one namespace if it is given,
// and for some names only if there are any.
func MarkersFor(rights []Right, namespace string, names []string) []string {
	within, limit := "", ""
	if namespace != "" {
		within = ",namespace=" + namespace
	}
	if len(names) > 0 {
		limit = ",resourceNames=" + strings.Join(names, ";")
	}
	var out []string
	for k, list := range byVerbs(rights) {
		if k.path != "" {
			out = append(out, "+kubebuilder:rbac:urls="+k.path+",verbs="+k.verbs)
			continue
		}
		out = append(out, "+kubebuilder:rbac:groups="+cmp.Or(k.group, "core")+within+",resources="+strings.Join(list, ";")+limit+",verbs="+k.verbs)
	}
	slices.Sort(out)
	return out
}

// compareVerbs is kubebuilder's order, and behind it the alphabet's.
func compareVerbs(a, b string) int {
	at := func(v string) uint { return uint(slices.Index(verbOrder, v)) } // -1 is behind all
	return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b))
}

// MarkersOf returns the markers that grant what was used: in the namespace, if it is
// given, but for what was asked for in all namespaces at once, or in one that a Role does
// not reach.
func MarkersOf(uses []Use, namespace string) []string {
	var within, everywhere []Right
	for _, u := range uses {
		if namespace == "" || u.Beyond || slices.Contains(u.Namespaces, "") {
			everywhere = append(everywhere, u.Right)
		} else {
			within = append(within, u.Right)
		}
	}
	return slices.Concat(MarkersFor(everywhere, "", nil), MarkersFor(within, namespace, nil))
}

// EveryonesRules are what Kubernetes grants to every user: its ClusterRoles
// system:discovery, system:basic-user and system:public-info-viewer.
func EveryonesRules() []Rule {
	return []Rule{
		{PolicyRule: rbacv1.PolicyRule{
			Verbs:           []string{"get"},
			NonResourceURLs: []string{"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"},
		}},
		{PolicyRule: rbacv1.PolicyRule{
			Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io", "authentication.k8s.io"},
			Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"},
		}},
	}
}
