package bundle

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

// defaultAccount is what a Deployment runs as that names no service account.
const defaultAccount = "default"

// grants are the rights of the operator's service accounts, as a CSV has them.
type grants struct {
	accounts    map[string]bool  // of the Deployments; true for those asked for, whatever their namespace
	home        map[string]bool  // namespaces of the Deployments
	permissions map[string][]any // rules by account, in the operator's namespaces; none is of an account without rights
	cluster     map[string][]any // rules by account, everywhere
	files       []*unstructured.Unstructured
	noted
	sources map[string][]string // kind of binding -> those that the rules come from
}

// account is the service account that a Deployment runs as.
func account(deployment *unstructured.Unstructured) string {
	return cmp.Or(textAt(deployment.Object, "spec", "template", "spec", "serviceAccountName"), defaultAccount)
}

// grant sorts the RBAC objects: what is bound to an account of the operator
// goes into the CSV, and OLM makes the objects; the rest are files.
func grant(c *collection, extra []string) *grants {
	g := &grants{accounts: map[string]bool{}, home: map[string]bool{}, permissions: map[string][]any{}, cluster: map[string][]any{}, sources: map[string][]string{}}
	for _, d := range c.deployments {
		g.accounts[account(d)] = false
		g.home[d.GetNamespace()] = true
	}
	for _, name := range extra {
		g.accounts[name] = true
	}
	// used roles have their rules in the CSV; needed ones are, besides, referred
	// to by a binding that stays a file, and so they must stay one too.
	used, needed := map[*unstructured.Unstructured]bool{}, map[*unstructured.Unstructured]bool{}
	for _, b := range c.roleBindings {
		role := g.bind(b, c.roleOf(b), g.permissions, used, needed)
		if role != nil && b.GetNamespace() != "" && !g.home[b.GetNamespace()] {
			g.note("%s: OLM grants its role in the namespaces that the operator watches, not in %s", kube.RefOf(b), b.GetNamespace())
		}
	}
	for _, b := range c.clusterRoleBindings {
		g.bind(b, c.roleOf(b), g.cluster, used, needed)
	}
	for _, r := range slices.Concat(c.roles, c.clusterRoles) {
		if !used[r] || needed[r] {
			g.files = append(g.files, r)
		}
	}
	g.sortAccounts(c)
	return g
}

// bind adds the role's rules to the accounts that the binding names. A binding
// that names others too stays a file, and so does its role.
func (g *grants) bind(b, role *unstructured.Unstructured, rules map[string][]any, used, needed map[*unstructured.Unstructured]bool) *unstructured.Unstructured {
	var ours []string
	subjects := objectsAt(b.Object, "subjects")
	for _, s := range subjects {
		if textAt(s, "kind") == "ServiceAccount" && g.owns(textAt(s, "name"), textAt(s, "namespace")) {
			ours = append(ours, textAt(s, "name"))
		}
	}
	if len(ours) == 0 || role == nil {
		g.files = append(g.files, b)
		if len(ours) > 0 {
			g.note("%s: its role %s is not in the input, so it is a file of the bundle; the namespace of its subjects stays as it is",
				kube.RefOf(b), textAt(b.Object, "roleRef", "name"))
		}
		if role != nil {
			needed[role] = true
		}
		return nil
	}
	for _, name := range ours {
		rules[name] = append(rules[name], listAt(role.Object, "rules")...)
	}
	used[role] = true
	g.sources[b.GetKind()] = append(g.sources[b.GetKind()], kube.RefOf(b).String())
	if len(ours) < len(subjects) {
		needed[role] = true
		g.files = append(g.files, b)
	}
	if at(role.Object, "aggregationRule") != nil {
		g.note("%s aggregates rules from other roles, which a CSV cannot express: only its own rules are in the bundle", kube.RefOf(role))
	}
	return role
}

// owns reports whether a service account is one of the operator's.
func (g *grants) owns(name, namespace string) bool {
	asked, known := g.accounts[name]
	return known && (asked || namespace == "" || g.home[""] || g.home[namespace])
}

// roleOf finds the role that a binding refers to; nil if it is not in the
// input, as with the roles that every cluster has.
func (c *collection) roleOf(b *unstructured.Unstructured) *unstructured.Unstructured {
	kind, name := textAt(b.Object, "roleRef", "kind"), textAt(b.Object, "roleRef", "name")
	list := c.clusterRoles
	if kind == "Role" {
		list = c.roles
	}
	i := slices.IndexFunc(list, func(r *unstructured.Unstructured) bool {
		return r.GetName() == name && (kind != "Role" || r.GetNamespace() == b.GetNamespace())
	})
	if i < 0 {
		return nil
	}
	return list[i]
}

// sortAccounts leaves out the service accounts that OLM makes, which are those
// that the CSV lists rights for. A Deployment's has an empty list if it has
// none: OLM would not make it, and validators refuse it as a manifest.
func (g *grants) sortAccounts(c *collection) {
	for _, sa := range c.accounts {
		name := sa.GetName()
		ours := g.owns(name, sa.GetNamespace())
		if !ours || len(g.permissions[name]) == 0 && len(g.cluster[name]) == 0 {
			runs := ours && slices.ContainsFunc(c.deployments, func(d *unstructured.Unstructured) bool { return account(d) == name })
			if !runs || name == defaultAccount {
				g.files = append(g.files, sa)
				continue
			}
			g.permissions[name] = []any{}
			g.sources["RoleBinding"] = append(g.sources["RoleBinding"], kube.RefOf(sa).String())
		}
		if len(sa.GetAnnotations()) > 0 || !empty(sa.Object["imagePullSecrets"]) || !empty(sa.Object["secrets"]) {
			g.note("%s: OLM makes it from the CSV, without its annotations and secrets", kube.RefOf(sa))
		}
	}
}

// entries are the rules as install.spec of a CSV lists them.
func entries(rules map[string][]any) []any {
	var list []any
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if rules[name] != nil {
			list = append(list, object{"serviceAccountName": name, "rules": rules[name]})
		}
	}
	return list
}
