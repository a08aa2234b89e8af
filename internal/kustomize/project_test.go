package kustomize

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// project is the shape of an operator's config directory: a default that pulls
// in CRDs, roles and the manager, prefixes names, sets the namespace, patches
// the Deployment, and carries names from one object into another.
func project() map[string]string {
	return map[string]string{
		"config/default/kustomization.yaml": `namespace: shop-system
namePrefix: shop-
labels:
- pairs: {team: a}
  includeSelectors: false
resources: [../crd, ../rbac, ../manager, service.yaml]
patches:
- path: args.yaml
  target: {kind: Deployment}
replacements:
- source: {kind: Service, name: metrics, fieldPath: metadata.name}
  targets:
  - select: {kind: Deployment}
    fieldPaths: [metadata.annotations.service]
    options: {create: true}
`,
		"config/default/args.yaml":          "- op: add\n  path: /spec/template/spec/containers/0/args/0\n  value: --metrics-bind-address=:8443\n",
		"config/default/service.yaml":       "apiVersion: v1\nkind: Service\nmetadata: {name: metrics}\nspec: {ports: [{port: 8443}]}\n",
		"config/crd/kustomization.yaml":     "resources: [bases/things.yaml]\n# +kubebuilder:scaffold:crdkustomizeresource\n",
		"config/crd/bases/things.yaml":      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n",
		"config/rbac/kustomization.yaml":    "resources: [account.yaml, binding.yaml]\n",
		"config/rbac/account.yaml":          "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: manager}\n",
		"config/rbac/binding.yaml":          "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: manager}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager}\nsubjects: [{kind: ServiceAccount, name: manager, namespace: system}]\n",
		"config/manager/kustomization.yaml": "resources: [manager.yaml]\nimages:\n- {name: controller, newName: example.com/shop, newTag: v1}\n",
		"config/manager/manager.yaml":       "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: manager}\nspec:\n  template:\n    spec:\n      serviceAccountName: manager\n      containers: [{name: manager, image: 'controller:latest', args: [--leader-elect]}]\n",
	}
}

// decode splits a build's output into objects, by kind.
func decode(t *testing.T, data []byte) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		var m map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		all[m["kind"].(string)] = m
	}
	return all
}

func TestBuildProject(t *testing.T) {
	data, err := Build(t.Context(), source(t, project()), "config/default")
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, data)
	labels := map[string]any{"team": "a"}
	want := map[string]map[string]any{
		"CustomResourceDefinition": {
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": "things.example.com", "labels": labels},
		},
		"ServiceAccount": {
			"apiVersion": "v1", "kind": "ServiceAccount",
			"metadata": map[string]any{"name": "shop-manager", "namespace": "shop-system", "labels": labels},
		},
		"ClusterRoleBinding": {
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
			"metadata": map[string]any{"name": "shop-manager", "labels": labels},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "manager"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "manager", "namespace": "system"}},
		},
		"Service": {
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{"name": "shop-metrics", "namespace": "shop-system", "labels": labels},
			"spec":     map[string]any{"ports": []any{map[string]any{"port": 8443.0}}},
		},
		"Deployment": {
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "shop-manager", "namespace": "shop-system", "labels": labels, "annotations": map[string]any{"service": "shop-metrics"}},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"serviceAccountName": "shop-manager",
				"containers": []any{map[string]any{
					"name": "manager", "image": "example.com/shop:v1", "args": []any{"--metrics-bind-address=:8443", "--leader-elect"},
				}},
			}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestBuildProjectOverlay: CRDs that are rendered but not written yet are built
// as if they were on disk.
func TestBuildProjectOverlay(t *testing.T) {
	files := project()
	delete(files, "config/crd/bases/things.yaml")
	src := source(t, files)
	if _, err := Build(t.Context(), src, "config/crd"); err == nil {
		t.Fatal("a missing CRD was ignored")
	}
	files["+config/crd/bases/things.yaml"] = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: rendered.example.com}\n"
	for _, path := range []string{"config/crd", "config/default"} {
		data, err := Build(t.Context(), source(t, files), path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), "name: rendered.example.com") {
			t.Errorf("%s lacks the CRD:\n%s", path, data)
		}
	}
}

// TestBuildTwice: kustomize keeps a schema in a global; one build must not
// change what the next one makes.
func TestBuildTwice(t *testing.T) {
	files := project()
	files["other/kustomization.yaml"] = "resources: [a.yaml]\nopenapi: {version: v1.21.2}\n"
	files["other/a.yaml"] = named("a")
	src := source(t, files)
	first, err := Build(t.Context(), src, "config/default")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), src, "other"); err != nil {
		t.Fatal(err)
	}
	second, err := Build(t.Context(), src, "config/default")
	if diff := cmp.Diff(string(first), string(second)); diff != "" || err != nil {
		t.Errorf("%v; the second build differs:\n%s", err, diff)
	}
}

func BenchmarkBuildProject(b *testing.B) {
	src := source(b, project())
	for b.Loop() {
		if _, err := Build(b.Context(), src, "config/default"); err != nil {
			b.Fatal(err)
		}
	}
}
