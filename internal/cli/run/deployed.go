package run

import (
	"cmp"
	"context"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/localrun"
)

// likeDeployed takes over what the project's deployment says: its name, how it
// starts the operator, and the namespaces that it watches, unless others were named.
func likeDeployed(ctx context.Context, f *cli.Factory, o *localrun.Options) {
	objs, err := deployedObjects(ctx, f)
	if err != nil {
		f.Warn("%s: cannot determine which namespaces the operator watches when deployed: %v", cli.DeployDir, err)
		return
	}
	if list := cli.Deployments(objs); len(list) > 0 { // others are not the operator
		o.Deployment = list[0].Name
		switch names := watchedBy(list[0]); {
		case len(names) == 0 || f.Running.Flags().Changed("watch-namespace"): // typed or configured
		case slices.ContainsFunc(names, noNamespace):
			f.Warn("%s: Deployment %s: WATCH_NAMESPACE is %q, which names no namespace: watching all; --watch-namespace names others",
				cli.DeployDir, list[0].Name, strings.Join(names, ","))
		default:
			o.WatchNamespaces = names
			f.Say("watching namespace %s, as when deployed; --watch-namespace names others, --watch-namespace= all", strings.Join(names, ", "))
		}
	}
	o.Deployed = startedBy(objs)
	cli.WarnOfUnbound(objs, f.Warn)
}

// watchedBy are the namespaces in the WATCH_NAMESPACE of a Deployment's pods.
func watchedBy(d appsv1.Deployment) []string {
	for _, c := range d.Spec.Template.Spec.Containers {
		var before []string
		for _, e := range c.Env {
			value := localrun.Expand(e.Value, before)
			if fieldOf(e) == "metadata.namespace" {
				value = d.Namespace
			}
			if e.Name == "WATCH_NAMESPACE" && value != "" {
				return strings.Split(value, ",")
			}
			if value != "" { // what is not known here stays as it is written
				before = append(before, e.Name+"="+value)
			}
		}
	}
	return nil
}

// noNamespace reports whether no namespace can have a name, which may be one of a
// list and empty.
func noNamespace(name string) bool {
	name = strings.TrimSpace(name)
	return name != "" && len(validation.IsDNS1123Label(name)) > 0
}

// fieldOf is the field of the pod that a variable has, empty for others.
func fieldOf(e corev1.EnvVar) string {
	if e.ValueFrom == nil || e.ValueFrom.FieldRef == nil {
		return ""
	}
	return e.ValueFrom.FieldRef.FieldPath
}

// startedBy is how the first Deployment among objs starts the operator. What
// Secrets and ConfigMaps hold is left out: it is not here.
func startedBy(objs []*unstructured.Unstructured) localrun.Deployed {
	var out localrun.Deployed
	list := cli.Deployments(objs)
	if len(list) == 0 || len(list[0].Spec.Template.Spec.Containers) == 0 {
		return out
	}
	containers := list[0].Spec.Template.Spec.Containers
	c := containers[max(0, slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == "manager" }))]
	if len(c.Command) > 0 {
		out.Args = c.Command[1:]
	}
	out.Args = slices.Concat(out.Args, c.Args)
	for _, e := range c.Env {
		value := cmp.Or(e.Value, fieldValue(list[0].Spec.Template, fieldOf(e)))
		if value != "" && e.Name != "ENABLE_WEBHOOKS" { // the run serves what the project has
			out.Env = append(out.Env, e.Name+"="+value)
		}
	}
	return out
}

var mapField = lazy.Delayed(`^metadata\.(labels|annotations)\['(.*)'\]$`)

// fieldValue is a field of a pod of the template as the downward API has it, in
// terms of a run; empty for one that no run has.
func fieldValue(pod corev1.PodTemplateSpec, field string) string {
	switch field {
	case "metadata.namespace":
		return "$(POD_NAMESPACE)"
	case "metadata.name":
		return "$(OPERATOR_NAME)"
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName
	case "status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs":
		return "127.0.0.1"
	}
	m := mapField.FindStringSubmatch(field)
	switch {
	case m == nil:
		return ""
	case m[1] == "labels":
		return pod.Labels[m[2]]
	}
	return pod.Annotations[m[2]]
}

// explorable are the manifests of a run whose operator watches all namespaces, as
// those of trials come and go: the roles of one that watches its own when
// deployed hold in all of them.
func explorable(m localrun.Manifests, deployed []*unstructured.Unstructured) localrun.Manifests {
	if list := cli.Deployments(deployed); len(list) == 0 || len(watchedBy(list[0])) == 0 {
		return m
	}
	objs := slices.Clone(m.Role.Objects)
	for i, u := range objs {
		if u.GetNamespace() != m.Role.Namespace {
			continue
		}
		there := u.DeepCopy()
		name := func(name string) string { return name + "-of-" + m.Role.Namespace }
		there.SetKind("Cluster" + strings.TrimPrefix(u.GetKind(), "Cluster"))
		there.SetName(name(u.GetName()))
		there.SetNamespace("")
		if ref, ok := there.Object["roleRef"].(map[string]any); ok {
			if text, _ := ref["name"].(string); ref["kind"] == "Role" {
				ref["kind"], ref["name"] = "ClusterRole", name(text)
			}
			there.Object["subjects"] = []any{map[string]any{"kind": "ServiceAccount", "name": m.Role.Account, "namespace": m.Role.Namespace}}
		}
		objs[i] = there
	}
	m.Role.Objects = objs
	return m
}

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
