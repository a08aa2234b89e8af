package run

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/localrun"
)

// deployedObjects are those of config/default; none where the project has none.
func deployedObjects(ctx context.Context, f *cli.Factory) ([]*unstructured.Unstructured, error) {
	if _, err := f.Host.Files.Lstat(f.Host.Path(cli.DeployDir + "/kustomization.yaml")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	data, err := kustomize.Build(ctx, kustomize.Source{Dir: f.Host.Dir, Files: f.Host.Files}, cli.DeployDir)
	if err != nil {
		return nil, err
	}
	objs, err := kube.ParseManifests(data, cli.DeployDir)
	placeTogether(objs)
	return objs, err
}

// placeTogether gives what the manifests name no namespace for that of the
// operator, or the one that 'kubectl apply' would take for it.
func placeTogether(objs []*unstructured.Unstructured) {
	namespace := metav1.NamespaceDefault
	if list := deployments(objs); len(list) > 0 {
		namespace = cmp.Or(list[0].Namespace, namespace)
	}
	for _, u := range objs {
		switch u.GetKind() {
		case "Deployment", "ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Secret":
			u.SetNamespace(cmp.Or(u.GetNamespace(), namespace))
		}
	}
}

// roleOf finds the service account of the Deployment among objs, the roles that
// are bound to it, and what else pods use. Bindings stay as they are, with other
// subjects too: they may be those of a deployed operator.
func roleOf(objs []*unstructured.Unstructured) localrun.Role {
	var role localrun.Role
	list := deployments(objs)
	if len(list) == 0 {
		return role
	}
	role.Namespace, role.Account = list[0].Namespace, cmp.Or(list[0].Spec.Template.Spec.ServiceAccountName, "default")
	role.Objects = boundTo(objs, role.Namespace, role.Account)
	for _, u := range objs {
		var bound []*unstructured.Unstructured
		switch u.GetKind() {
		case "ServiceAccount":
			if u.GetNamespace() != role.Namespace || u.GetName() == role.Account {
				continue
			}
			bound = boundTo(objs, role.Namespace, u.GetName())
		case "ConfigMap", "Secret", "PriorityClass":
		default:
			continue
		}
		for _, o := range append([]*unstructured.Unstructured{u}, bound...) {
			if !slices.Contains(role.Objects, o) && !slices.Contains(role.Others, o) {
				role.Others = append(role.Others, o)
			}
		}
	}
	return role
}

// isEverywhere reports whether a role is one of Kubernetes' own, which every
// cluster has.
func isEverywhere(name string) bool {
	return strings.HasPrefix(name, "system:") || slices.Contains([]string{"cluster-admin", "admin", "edit", "view", "extension-apiserver-authentication-reader"}, name)
}

// boundTo are the bindings of a service account, the roles that they bind, and
// those that are aggregated into them; nothing where a role is not there, as with
// names that another layer completes.
func boundTo(objs []*unstructured.Unstructured, namespace, account string) []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	missing := map[string]string{} // names, by kind and name, with the namespace of a Role
	for _, u := range objs {
		if k := u.GetKind(); k != "ClusterRoleBinding" && k != "RoleBinding" || !binds(u, namespace, account) {
			continue
		}
		kind, _, _ := unstructured.NestedString(u.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(u.Object, "roleRef", "name")
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
		if !isEverywhere(name) {
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
