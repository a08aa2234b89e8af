package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

// TestKubebuilderConfig holds what becomes of files in config and of PROJECT.
func TestKubebuilderConfig(t *testing.T) {
	const kustomization = "config/manager/kustomization.yaml"
	tests := map[string]struct {
		files map[string]string
		want  map[string][]string
	}{
		"an image": {map[string]string{kustomization: "images:\n- name: controller\n  newName: quay.io/a/shop\n  newTag: v1.2.0\n"},
			map[string][]string{kustomization: {"newName: quay.io/a/shop\n", `newTag: "v1.2.0"`}}},
		"an image without tag": {map[string]string{kustomization: "images:\n- name: controller\n  newName: quay.io/a/shop\n"},
			map[string][]string{kustomization: {"newName: quay.io/a/shop\n", `newTag: "latest"`}}},
		"an image of another name": {map[string]string{kustomization: "images:\n- name: proxy\n  newName: quay.io/a/proxy\n"},
			map[string][]string{kustomization: {"newName: controller\n", "- name: proxy\n  newName: quay.io/a/proxy\n"}}},
		"an old patch of the image": {map[string]string{
			"config/default/kustomization.yaml":       "patchesStrategicMerge:\n- manager_image_patch.yaml\n",
			"config/default/manager_image_patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: controller-manager, namespace: system}\nspec: {template: {spec: {containers: [{name: manager, image: IMAGE_URL, env: [{name: MINE, value: a}]}]}}}\n"},
			map[string][]string{managerPath: {"- name: MINE\n"}, kustomization: {"newName: controller\n"}, ReportName: {"!config.old"}}},
		"old patches": {map[string]string{"config/default/manager_auth_proxy_patch.yaml": "a: 1\n", "config/crd/patches/webhook_in_memcacheds.yaml": "kind: CustomResourceDefinition\n"},
			map[string][]string{ReportName: {"| config/default/manager_auth_proxy_patch.yaml |", "| config/crd/patches/webhook_in_memcacheds.yaml |"}}},
		"a file of one's own": {map[string]string{"config/default/mine.yaml": "a: 1\n"}, map[string][]string{"config/default/mine.yaml": {"a: 1\n"}}},
		"a listed file that is not there": {map[string]string{"config/rbac/kustomization.yaml": "resources:\n- gone.yaml\n- mine.yaml\n"},
			map[string][]string{"config/rbac/kustomization.yaml": {"- mine.yaml\n", "!gone.yaml"}}},
		"a CRD that is generated": {map[string]string{"config/crd/kustomization.yaml": "resources:\n- mine/cart.yaml\n- mine/memcached.yaml\n",
			"config/crd/mine/cart.yaml":      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: cache.example.com, names: {kind: Cart}}\n",
			"config/crd/mine/memcached.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: cache.example.com, names: {kind: Memcached}}\n"},
			map[string][]string{"config/crd/kustomization.yaml": {"- mine/cart.yaml\n", "!mine/memcached.yaml"}, ReportName: {"- config/crd/mine/memcached.yaml is no longer in the kustomization"}}},
		"a CRD where it is generated": {map[string]string{"config/crd/kustomization.yaml": "resources:\n- bases/memcached.yaml\n",
			"config/crd/bases/memcached.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: cache.example.com, names: {kind: Memcached}}\n"},
			map[string][]string{"config/crd/kustomization.yaml": {"- bases/memcached.yaml\n"}, ReportName: {"!no longer in the kustomization"}}},
		"one that says what it is": {map[string]string{"config/rbac/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- mine.yaml\n", "config/default/kustomization.yaml": "kind: Kustomization\nnamespace: shops\nnamePrefix: shop-\n"},
			map[string][]string{"config/rbac/kustomization.yaml": {"- mine.yaml\n", "- role.yaml\n"}, "config/default/kustomization.yaml": {"namespace: shops\n"}, ReportName: {"!config.old"}}},
		"a kind that is gone": {map[string]string{"PROJECT": strings.Replace(goV3()["PROJECT"], "version: \"3\"\n", "- api:\n    crdVersion: v1\n  domain: example.com\n  group: cache\n  kind: Shelf\n  path: example.com/shop/apis/cache/v1\n  version: v1\nversion: \"3\"\n", 1)},
			map[string][]string{"PROJECT": {"kind: Memcached", "!Shelf"}, "config/crd/kustomization.yaml": {"!shelves"}, ReportName: {"- PROJECT had the kind Shelf, for which the project has no type: the entry is left out."}}},
		"a kind of Kubernetes": {map[string]string{"PROJECT": strings.Replace(goV3()["PROJECT"], "version: \"3\"\n", "- controller: true\n  group: apps\n  kind: Deployment\n  path: k8s.io/api/apps/v1\n  version: v1\nversion: \"3\"\n", 1)},
			map[string][]string{"PROJECT": {"- controller: true\n  group: apps\n"}, "config/crd/kustomization.yaml": {"!deployments"}, ReportName: {"!apps"}}},
		"below the list, a marker": {map[string]string{"config/crd/kustomization.yaml": "resources:\n- bases/mine.yaml\n", "config/crd/bases/mine.yaml": "kind: CustomResourceDefinition\n"},
			map[string][]string{"config/crd/kustomization.yaml": {"- bases/mine.yaml\n# +kubebuilder:scaffold:crdkustomizeresource\n"}}},
		"a sample with fields of any type": {map[string]string{"config/samples/cache_v1_memcached.yaml": "kind: Memcached\nspec: {replicas: \"1\", template: x}\n"},
			map[string][]string{"config/samples/cache_v1_memcached.yaml": {`replicas: "1", template: x`}}},
		"the base of a bundle": {map[string]string{"config/manifests/bases/shop.clusterserviceversion.yaml": "kind: ClusterServiceVersion\n# mine\n"},
			map[string][]string{"config/manifests/bases/shop.clusterserviceversion.yaml": {"# mine\n"}}},
		"the manager has no Deployment": {map[string]string{managerPath: "kind: Namespace\n"}, map[string][]string{managerPath: {"kind: Deployment", "!--pause=3s"}}},
		"a placeholder of an image": {map[string]string{managerPath: "kind: Deployment\napiVersion: apps/v1\nspec: {template: {spec: {containers: [{name: manager, image: 'controller:latest', args: [--enable-leader-election, --metrics-addr=:1, --pause=5s]}]}}}\n"},
			map[string][]string{managerPath: {"--pause=5s", "!--enable-leader-election", "!--metrics-addr"}, kustomization: {"newName: controller\n"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := goV3()
			for name, text := range test.files {
				files[name] = text
			}
			got := content(mustPlan(t, files).Result)
			expect(t, got, test.want)
			if again := mustPlan(t, got); again.Changes.Len() > 0 {
				t.Errorf("a second time changes %v", again.Changes.Paths())
			}
		})
	}
}

// TestKubebuilderBroken holds that what cannot be read is an error with its
// position, and with a hint.
func TestKubebuilderBroken(t *testing.T) {
	tests := map[string]struct{ name, text, want string }{
		"a kustomization":            {"config/rbac/kustomization.yaml", "resources:\n- a\nb: [\n", "config/rbac/kustomization.yaml: yaml: line 3"},
		"resources that are no list": {"config/rbac/kustomization.yaml", "resources:\n  a: b\n", "config/rbac/kustomization.yaml:2: resources is not a list"},
		"the manager":                {managerPath, "kind: Deployment\n\tx\n", managerPath + ": yaml: line 2"},
		"resources of PROJECT":       {"PROJECT", "version: \"3\"\nlayout: [go.kubebuilder.io/v3]\nresources: [a]\n", "resource 1 is not a mapping"},
		"an entry without version":   {"PROJECT", strings.Replace(goV3()["PROJECT"], "  version: v1\n", "", 1), `render cache/ Memcached again: version ""`},
		"an entry twice":             {"PROJECT", strings.Replace(goV3()["PROJECT"], "resources:\n", "resources:\n- api:\n    crdVersion: v1\n  domain: example.com\n  group: cache\n  kind: Memcached\n  path: example.com/shop/apis/cache/v1\n  version: v1\n", 1), "PROJECT has cache/v1 Memcached twice"},
		"the main program":           {"main.go", "package main\n\nfunc {\n", "main.go:3:6"},
		"go.mod":                     {"go.mod", "module example.com/shop\n\nrequire (\n", "go.mod:"},
		"the types, which are no Go": {"apis/cache/v1/memcached_types.go", "package v1\n\ntype {\n", "apis/cache/v1/memcached_types.go:3:6"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := goV3()
			files[test.name] = test.text
			_, err := makePlan(t, files)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if hint := clierr.HintOf(err); hint == "" || strings.HasSuffix(test.want, " twice") && (hint != "remove one of them" || strings.Contains(err.Error(), "PROJECT: ")) {
				t.Errorf("%v has the hint %q", err, hint)
			}
		})
	}
	files := goV3()
	delete(files, "main.go")
	if _, err := makePlan(t, files); err == nil || !strings.Contains(err.Error(), "no main program that makes a manager") || clierr.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
}

func TestPlugins(t *testing.T) {
	none := map[string]any{}
	both := map[string]any{"manifests.sdk.operatorframework.io/v2": none, "scorecard.sdk.operatorframework.io/v2": none}
	tests := map[string]struct {
		old  any
		want map[string]any
	}{
		"none":            {nil, both},
		"an empty list":   {map[string]any{}, map[string]any{}},
		"operator-sdk's":  {map[string]any{"go.sdk.operatorframework.io/v2-alpha": none}, both},
		"of early times":  {map[string]any{"go.operator-sdk.io/v2-alpha": none, "mine/v1": 1}, map[string]any{"manifests.sdk.operatorframework.io/v2": none, "scorecard.sdk.operatorframework.io/v2": none, "mine/v1": 1}},
		"of kubebuilder":  {map[string]any{"grafana.kubebuilder.io/v1-alpha": none}, map[string]any{"grafana.kubebuilder.io/v1-alpha": none}},
		"one of them set": {map[string]any{"manifests.sdk.operatorframework.io/v2": none}, map[string]any{"manifests.sdk.operatorframework.io/v2": none}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(test.want, newMigration(nil).plugins(test.old)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestIsObsolete(t *testing.T) {
	for name, want := range map[string]bool{
		"config/rbac/auth_proxy_service.yaml":           false,
		"config/default/manager_config_patch.yaml":      false,
		"config/manager/controller_manager_config.yaml": true,
		"config/default/webhookcainjection_patch.yaml":  true,
		"config/certmanager/certificate.yaml":           true,
		"config/crd/patches/cainjection_in_a.yaml":      true,
		"config/crd/bases/_.yaml":                       true,
		"config/testing/pull_policy/Always.yaml":        false,
		"config/crd/patches/mine.yaml":                  false,
		"config/crd/bases/a_b.yaml":                     false,
		"config/rbac/mine.yaml":                         false,
		"config/default/mine_patch.yaml":                false,
		"other/config/rbac/auth_proxy_service.yaml":     false,
	} {
		if got := isObsolete.MatchString(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPackages holds what becomes of package manifests and bundles.
func TestPackages(t *testing.T) {
	const dir = catalogDir + "/shop"
	versions := map[string]string{dir + "/0.1.0/a.yaml": "old\n", dir + "/shop.package.yaml": "p\n"}
	tests := map[string]struct {
		files map[string]string
		out   map[string]string
		note  string
	}{
		"versions":       {versions, nil, dir + " has package manifests, the format before bundles, and stays: 'mysdk pkgman-to-bundle " + dir + "' makes bundles of them."},
		"a bundle":       {map[string]string{dir + "/manifests/a.yaml": "a\n", dir + "/metadata/annotations.yaml": "b\n"}, map[string]string{"bundle/manifests/a.yaml": "a\n", "bundle/metadata/annotations.yaml": "b\n"}, ""},
		"something else": {map[string]string{dir + "/notes/a.yaml": "a\n"}, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(test.files)
			if m.packageDir("shop"); m.err != nil {
				t.Fatal(m.err)
			}
			got := map[string]string{}
			for name, o := range m.out {
				got[name] = string(o.data)
			}
			if test.out == nil {
				test.out = map[string]string{}
			}
			if d := cmp.Diff(test.out, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			checkNotes(t, m.general, test.note)
		})
	}
}

func TestBrokenCSV(t *testing.T) {
	files := memcached(t)
	const name = catalogDir + "/shop/manifests/shop.clusterserviceversion.yaml"
	files[name] = "kind: ClusterServiceVersion\nspec: [\n"
	if _, err := makePlan(t, files); err == nil || !strings.Contains(err.Error(), name+": yaml: line 2") || clierr.HintOf(err) == "" {
		t.Errorf("got %v with hint %q", err, clierr.HintOf(err))
	}
}

// TestResource holds what becomes of one entry of PROJECT.
func TestResource(t *testing.T) {
	api := map[string]any{"crdVersion": "v1", "namespaced": true}
	tests := map[string]struct {
		in, want map[string]any
		multi    bool
	}{
		"of version 2": {map[string]any{"group": "a", "kind": "Cart", "version": "v1"},
			map[string]any{"group": "a", "kind": "Cart", "version": "v1", "domain": "x.io", "api": api, "controller": true, "path": "example.com/shop/api/v1"}, false},
		"without controller and types": {map[string]any{"group": "a", "kind": "Till", "version": "v2"},
			map[string]any{"group": "a", "kind": "Till", "version": "v2", "domain": "x.io"}, false},
		"a controller for a kind without type": {map[string]any{"group": "a", "kind": "Till", "version": "v1", "controller": true},
			map[string]any{"group": "a", "kind": "Till", "version": "v1", "domain": "x.io", "controller": true}, false},
		"of groups": {map[string]any{"group": "a", "kind": "Cart", "version": "v1", "path": "example.com/shop/apis/a/v1", "api": map[string]any{"crdVersion": "v1beta1"}},
			map[string]any{"group": "a", "kind": "Cart", "version": "v1", "domain": "x.io", "api": api, "controller": true, "path": "example.com/shop/api/a/v1"}, true},
		"outside of namespaces": {map[string]any{"group": "a", "kind": "Zone", "version": "v1"},
			map[string]any{"group": "a", "kind": "Zone", "version": "v1", "domain": "x.io", "api": map[string]any{"crdVersion": "v1"}, "path": "example.com/shop/api/v1"}, false},
		"outside of namespaces, against PROJECT": {map[string]any{"group": "a", "kind": "Zone", "version": "v1", "api": map[string]any{"crdVersion": "v1", "namespaced": true}},
			map[string]any{"group": "a", "kind": "Zone", "version": "v1", "domain": "x.io", "api": map[string]any{"crdVersion": "v1"}, "path": "example.com/shop/api/v1"}, false},
		"of Kubernetes": {map[string]any{"group": "apps", "kind": "Deployment", "version": "v1", "path": "k8s.io/api/apps/v1", "controller": true},
			map[string]any{"group": "apps", "kind": "Deployment", "version": "v1", "path": "k8s.io/api/apps/v1", "controller": true}, false},
		"of Kubernetes, of version 2": {map[string]any{"group": "apps", "kind": "Deployment", "version": "v1"},
			map[string]any{"group": "apps", "kind": "Deployment", "version": "v1", "path": "k8s.io/api/apps/v1"}, false},
		"of Kubernetes, with a domain": {map[string]any{"group": "networking", "kind": "Ingress", "version": "v1"},
			map[string]any{"group": "networking", "kind": "Ingress", "version": "v1", "domain": "k8s.io", "path": "k8s.io/api/networking/v1"}, false},
		"of a group called as Kubernetes'": {map[string]any{"group": "apps", "kind": "Cart", "version": "v1"},
			map[string]any{"group": "apps", "kind": "Cart", "version": "v1", "domain": "x.io", "api": api, "controller": true, "path": "example.com/shop/api/v1"}, false},
		"with webhooks of no kind": {
			map[string]any{"group": "a", "kind": "Till", "version": "v1", "webhooks": map[string]any{"webhookVersion": "v1"}},
			map[string]any{"group": "a", "kind": "Till", "version": "v1", "domain": "x.io"}, false,
		},
		"types of others stay where they are": {map[string]any{"group": "apps", "domain": "k8s.io", "kind": "Deployment", "version": "v1", "path": "k8s.io/api/apps/v1", "controller": true},
			map[string]any{"group": "apps", "domain": "k8s.io", "kind": "Deployment", "version": "v1", "path": "k8s.io/api/apps/v1", "controller": true}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(map[string]string{"api/v1/cart_types.go": "package v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\ntype Cart struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n}\n\n//+kubebuilder:resource:scope=Cluster\n\n// Zone is mine.\ntype Zone struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n}\n", "controllers/cart_controller.go": "package controllers\n\ntype CartReconciler struct{}\n"})
			m.multigroup, m.moves = test.multi, map[string]string{}
			m.resources([]map[string]any{test.in}, "x.io")
			if d := cmp.Diff(test.want, test.in); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
