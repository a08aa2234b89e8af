package cli

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/kube"
)

// Deployments are those among objs, the operator's first. One that cannot be read is
// left out: deploy has more to say about it.
func Deployments(objs []*unstructured.Unstructured) []appsv1.Deployment {
	var list []appsv1.Deployment
	for _, u := range objs {
		var d appsv1.Deployment
		if u.GetKind() == "Deployment" && runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d) == nil {
			list = append(list, d)
		}
	}
	manages := func(d appsv1.Deployment) bool {
		return slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == "manager" })
	}
	if i := slices.IndexFunc(list, manages); i > 0 {
		list[0], list[i] = list[i], list[0]
	}
	return list
}

// OperatorAccount is the service account of the operator's Deployment; empty
// where there is none.
func OperatorAccount(objs []*unstructured.Unstructured) (namespace, account string) {
	list := Deployments(objs)
	if len(list) == 0 {
		return "", ""
	}
	return list[0].Namespace, cmp.Or(list[0].Spec.Template.Spec.ServiceAccountName, "default")
}

// PlaceTogether gives what the manifests name no namespace for that of the
// operator, or the one that 'kubectl apply' would take for it.
func PlaceTogether(objs []*unstructured.Unstructured) {
	namespace := metav1.NamespaceDefault
	if list := Deployments(objs); len(list) > 0 {
		namespace = cmp.Or(list[0].Namespace, namespace)
	}
	for _, u := range objs {
		switch u.GetKind() {
		case "Deployment", "ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Secret":
			u.SetNamespace(cmp.Or(u.GetNamespace(), namespace))
		}
	}
}

// everywhere are roles of Kubernetes' own, as are those that begin with "system:".
var everywhere = []string{"cluster-admin", "admin", "edit", "view", "extension-apiserver-authentication-reader"}

// BoundTo are the bindings of a service account, the roles that they bind, and
// those that are aggregated into them; nothing where a role does not exist, as with
// names that another layer completes.
func BoundTo(objs []*unstructured.Unstructured, namespace, account string) []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	missing := map[string]string{} // names, by kind and name, with the namespace of a Role
	for _, u := range objs {
		if k := u.GetKind(); k != "ClusterRoleBinding" && k != "RoleBinding" || !binds(u, namespace, account) {
			continue
		}
		kind, name := roleRef(u)
		missing[roleKey(kind, u.GetNamespace(), name)] = name
		list = append(list, u)
	}
	for _, u := range objs {
		if key := roleKey(u.GetKind(), u.GetNamespace(), u.GetName()); missing[key] != "" {
			list = append(list, u)
			delete(missing, key)
		}
	}
	for _, name := range missing {
		if !strings.HasPrefix(name, "system:") && !slices.Contains(everywhere, name) {
			return nil
		}
	}
	for _, role := range list {
		for _, part := range aggregatedBy(role, objs) {
			if !slices.Contains(list, part) {
				list = append(list, part)
			}
		}
	}
	return list
}

// UnboundRoles are the roles of the project's markers that no binding names, so that
// nobody has their rights. There are none where BoundTo has nothing, as the bindings
// are in another layer then.
func UnboundRoles(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	namespace, account := OperatorAccount(objs)
	if len(BoundTo(objs, namespace, account)) == 0 {
		return nil
	}
	bound := map[string]bool{}
	for _, u := range objs {
		kind, name := roleRef(u)
		bound[roleKey(kind, u.GetNamespace(), name)] = true
	}
	return slices.DeleteFunc(slices.Clone(objs), func(u *unstructured.Unstructured) bool {
		return u.GetKind() != "Role" && u.GetKind() != "ClusterRole" || !strings.HasSuffix(u.GetName(), generate.DefaultRoleName) ||
			bound[roleKey(u.GetKind(), u.GetNamespace(), u.GetName())]
	})
}

// WarnOfUnbound warns of UnboundRoles. The scaffold has a binding to one role only,
// and what others are for is the user's to say.
func WarnOfUnbound(objs []*unstructured.Unstructured, warn func(format string, args ...any)) {
	for _, u := range UnboundRoles(objs) {
		warn("%s is not bound to any service account: add a %sBinding to config/rbac", kube.RefOf(u), u.GetKind())
	}
}

// roleRef is what a binding binds.
func roleRef(binding *unstructured.Unstructured) (kind, name string) {
	kind, _, _ = unstructured.NestedString(binding.Object, "roleRef", "kind")
	name, _, _ = unstructured.NestedString(binding.Object, "roleRef", "name")
	return kind, name
}

// aggregatedBy are the roles whose rules become those of another one.
func aggregatedBy(role *unstructured.Unstructured, objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	var r rbacv1.ClusterRole
	if role.GetKind() != "ClusterRole" || runtime.DefaultUnstructuredConverter.FromUnstructured(role.Object, &r) != nil || r.AggregationRule == nil {
		return nil
	}
	var list []*unstructured.Unstructured
	for _, s := range r.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&s)
		for _, u := range objs {
			if err == nil && u.GetKind() == "ClusterRole" && u != role && selector.Matches(labels.Set(u.GetLabels())) {
				list = append(list, u)
			}
		}
	}
	return list
}

func roleKey(kind, namespace, name string) string {
	if kind == "ClusterRole" {
		namespace = ""
	}
	return kind + " " + namespace + "/" + name
}

// binds reports whether a binding names the service account.
func binds(u *unstructured.Unstructured, namespace, account string) bool {
	subjects, _, _ := unstructured.NestedSlice(u.Object, "subjects")
	for _, s := range subjects {
		m, ok := s.(map[string]any)
		if !ok || m["kind"] != "ServiceAccount" || m["name"] != account {
			continue
		}
		// Without one, a RoleBinding means its own.
		if ns, _ := m["namespace"].(string); cmp.Or(ns, u.GetNamespace()) == namespace {
			return true
		}
	}
	return false
}
