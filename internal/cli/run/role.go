package run

import (
	"context"
	"errors"
	"io/fs"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	return kube.ParseManifests(data, cli.DeployDir)
}

// roleOf finds the service account of the Deployment among objs, and the roles
// that are bound to it. Bindings stay as they are, with other subjects too: they
// may be those of a deployed operator.
func roleOf(objs []*unstructured.Unstructured) localrun.Role {
	var role localrun.Role
	for _, u := range objs {
		var d appsv1.Deployment
		if u.GetKind() == "Deployment" && runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d) == nil {
			role.Namespace, role.Account = d.Namespace, d.Spec.Template.Spec.ServiceAccountName
			break
		}
	}
	if role.Account == "" {
		return role
	}
	bound := map[string]bool{} // kind and name, with the namespace of a Role
	for _, u := range objs {
		if k := u.GetKind(); k != "ClusterRoleBinding" && k != "RoleBinding" || !binds(u, role) {
			continue
		}
		kind, _, _ := unstructured.NestedString(u.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(u.Object, "roleRef", "name")
		bound[roleKey(kind, u.GetNamespace(), name)] = true
		role.Objects = append(role.Objects, u)
	}
	for _, u := range objs {
		if bound[roleKey(u.GetKind(), u.GetNamespace(), u.GetName())] {
			role.Objects = append(role.Objects, u)
		}
	}
	return role
}

func roleKey(kind, namespace, name string) string {
	if kind == "ClusterRole" {
		namespace = ""
	}
	return kind + " " + namespace + "/" + name
}

// binds reports whether a binding names the service account.
func binds(u *unstructured.Unstructured, role localrun.Role) bool {
	subjects, _, _ := unstructured.NestedSlice(u.Object, "subjects")
	for _, s := range subjects {
		m, ok := s.(map[string]any)
		if ok && m["kind"] == "ServiceAccount" && m["name"] == role.Account && m["namespace"] == role.Namespace {
			return true
		}
	}
	return false
}
