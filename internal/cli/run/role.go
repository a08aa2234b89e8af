package run

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/localrun"
)

// deployedObjects are those of config/default; none where the project has none.
func deployedObjects(ctx context.Context, f *cli.Factory) ([]*unstructured.Unstructured, error) {
	src := kustomize.Source{Dir: f.Host.Dir, Files: f.Host.Files}
	if !src.Has(cli.DeployDir) {
		return nil, nil
	}
	data, err := kustomize.Build(ctx, src, cli.DeployDir)
	if err != nil {
		return nil, err
	}
	objs, err := kube.ParseManifests(data, cli.DeployDir)
	cli.PlaceTogether(objs)
	return objs, err
}

// roleOf finds the service account of the Deployment among objs, the roles that
// are bound to it, and what else pods use. Bindings stay as they are, with other
// subjects too: they may be those of a deployed operator.
func roleOf(objs []*unstructured.Unstructured) localrun.Role {
	var role localrun.Role
	if role.Namespace, role.Account = cli.OperatorAccount(objs); role.Account == "" {
		return role
	}
	role.Objects = cli.BoundTo(objs, role.Namespace, role.Account)
	for _, u := range objs {
		var bound []*unstructured.Unstructured
		switch u.GetKind() {
		case "ServiceAccount":
			if u.GetNamespace() != role.Namespace || u.GetName() == role.Account {
				continue
			}
			bound = cli.BoundTo(objs, role.Namespace, u.GetName())
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
