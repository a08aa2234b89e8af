package migrate

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// expect looks for texts in files of a plan's result; one that begins with an
// exclamation mark must not be there.
func expect(t *testing.T, got map[string]string, want map[string][]string) {
	t.Helper()
	for name, parts := range want {
		for _, part := range parts {
			if gone, not := strings.CutPrefix(part, "!"); not {
				if strings.Contains(got[name], gone) {
					t.Errorf("%s has %q:\n%s", name, gone, got[name])
				}
			} else if !strings.Contains(got[name], part) {
				t.Errorf("%s has no %q:\n%s", name, part, got[name])
			}
		}
	}
}

func TestDeploy(t *testing.T) {
	tests := map[string]struct {
		change func(files map[string]string)
		want   map[string][]string
	}{
		"a ClusterRole makes it cluster-wide": {
			func(f map[string]string) {
				swap(f, "deploy/role.yaml", "kind: Role", "kind: ClusterRole")
				swap(f, "deploy/role_binding.yaml", "  kind: Role\n", "  kind: ClusterRole\n")
				swap(f, "deploy/role_binding.yaml", "kind: RoleBinding", "kind: ClusterRoleBinding")
			},
			map[string][]string{
				"PROJECT": {"!namespaced: true\nplugins"},
				"internal/controller/memcached/memcached_controller.go": {`rbac:groups=apps,resources=deployments,verbs="*"`},
				"config/rbac/role.yaml":                                 {"kind: ClusterRole"},
			},
		},
		"a Role beside a ClusterRole": {
			func(f map[string]string) {
				f["deploy/cluster.yaml"] = rbacObject("ClusterRole", "nodes", "rules:\n- {apiGroups: [\"\"], resources: [nodes], verbs: [get]}\n") + bind("ClusterRoleBinding", "nodes", "ClusterRole", "memcached-operator")
			},
			map[string][]string{
				"internal/controller/memcached/memcached_controller.go": {"namespace=memcached-operator-system,resources=deployments", `groups="",resources=nodes`},
				"config/rbac/role_binding.yaml":                         {"kind: ClusterRoleBinding\n"},
				"config/rbac/namespaced_role_binding.yaml":              {"kind: RoleBinding\n", "\n  name: namespaced-manager-rolebinding\n", "  kind: Role\n  name: manager-role\n", "  name: controller-manager\n"},
				"config/rbac/kustomization.yaml":                        {"- namespaced_role_binding.yaml\n"},
			},
		},
		"a Role alone": {func(map[string]string) {}, map[string][]string{"config/rbac/kustomization.yaml": {"!namespaced_role_binding"}}},
		"the account's older field": {
			func(f map[string]string) {
				swap(f, "deploy/operator.yaml", "serviceAccountName:", "serviceAccount:")
				f["deploy/more.yaml"] = rbacObject("ClusterRole", "x", podRules) + bind("ClusterRoleBinding", "x", "ClusterRole", "other")
			},
			map[string][]string{"PROJECT": {"namespaced: true"}, "config/extra/more.yaml": {"kind: ClusterRole\n"}},
		},
		"all namespaces by an empty value": {
			func(f map[string]string) {
				swap(f, "deploy/role.yaml", "kind: Role", "kind: ClusterRole")
				swap(f, "deploy/role_binding.yaml", "  kind: Role\n", "  kind: ClusterRole\n")
				swap(f, "deploy/operator.yaml", "              valueFrom:\n                fieldRef:\n                  fieldPath: metadata.namespace\n", "              value: \"\"\n")
			},
			map[string][]string{managerPath: {"!name: WATCH_NAMESPACE", "name: FLAVOUR"}},
		},
		"a role for somebody else": {
			func(f map[string]string) {
				f["deploy/backup.yaml"] = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: backup}\nrules: [{apiGroups: [other.io], resources: [x], verbs: [get]}]\n---\n" +
					"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: backup}\nroleRef: {kind: Role, name: backup}\nsubjects: [{kind: ServiceAccount, name: backup}]\n"
			},
			map[string][]string{
				"config/extra/backup.yaml": {"other.io"}, "config/rbac/kustomization.yaml": {"!backup.yaml"}, "config/extra/kustomization.yaml": {"- backup.yaml"},
				"internal/controller/memcached/memcached_controller.go": {"!other.io"},
			},
		},
		"manifests of an older release": {
			func(f map[string]string) {
				f["deploy/releases/0.2.0/settings.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
			},
			map[string][]string{"deploy/releases/0.2.0/settings.yaml": {"kind: ConfigMap"}, "config/extra/settings.yaml": {"!kind"}},
		},
		"another object": {
			func(f map[string]string) {
				f["deploy/settings.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
			},
			map[string][]string{
				"config/extra/settings.yaml": {"kind: ConfigMap"}, "config/extra/kustomization.yaml": {"resources:\n- settings.yaml"},
				ReportName: {"`config/extra/settings.yaml`: deploy had it beside the operator"},
			},
		},
		"a CRD of others": {
			func(f map[string]string) {
				f["deploy/crds/other_crd.yaml"] = "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: xs.other.io}\nspec: {group: other.io, version: v1, scope: Namespaced, names: {kind: X, plural: xs}}\n"
			},
			map[string][]string{
				"config/crd/bases/other_crd.yaml": {"apiextensions.k8s.io/v1\n", "x-kubernetes-preserve-unknown-fields: true"},
				"config/crd/kustomization.yaml":   {"- bases/other_crd.yaml", "- bases/cache.example.com_memcacheds.yaml"},
			},
		},
		"a second example": {
			func(f map[string]string) {
				f["deploy/crds/big_cr.yaml"] = strings.ReplaceAll(f["deploy/crds/cache.example.com_v1alpha1_memcached_cr.yaml"], "example-memcached", "big")
			},
			map[string][]string{"config/samples/kustomization.yaml": {"_example-memcached.yaml", "- cache_v1alpha1_memcached.yaml"}},
		},
		"no example": {
			func(f map[string]string) { delete(f, "deploy/crds/cache.example.com_v1alpha1_memcached_cr.yaml") },
			map[string][]string{"config/samples/cache_v1alpha1_memcached.yaml": {"spec: {}"}, ReportName: {"fill in its spec"}},
		},
		"an argument that nobody knows": {
			func(f map[string]string) {
				swap(f, "deploy/operator.yaml", "          - --delay=1s\n", "          - --secret=1\n")
			},
			map[string][]string{managerPath: {"# TODO(migrate): the new main program has no such argument", "--secret=1"}},
		},
		"several arguments in two words": {
			func(f map[string]string) {
				swap(f, "deploy/operator.yaml", "          - --delay=1s\n", "          - --zap-time-encoding\n          - iso8601\n")
			},
			map[string][]string{managerPath: {"- --zap-time-encoding=iso8601\n"}},
		},
		"limits that were not there": {
			func(map[string]string) {},
			map[string][]string{managerPath: {"cpu: 500m", "memory: 200Mi"}, ReportName: {"- The operator's container has limits of CPU and memory, and cannot write files: "}},
		},
		"volumes": {
			func(f map[string]string) {
				swap(f, "deploy/operator.yaml", "          resources:\n", "          volumeMounts:\n          - name: v\n            mountPath: /v\n          resources:\n")
				f["deploy/operator.yaml"] += "      volumes:\n      - name: v\n        emptyDir: {}\n"
			},
			map[string][]string{managerPath: {"mountPath: /v", "emptyDir: {}"}},
		},
		"a Makefile with targets of its own": {
			func(f map[string]string) { f["Makefile"] = "build:\n\ttrue\nship: build\n\ttrue\nX := 1\n" },
			map[string][]string{"Makefile.before-migrate": {"ship: build"}, ReportName: {"- [ ] `Makefile.before-migrate`: take over what you need of it into Makefile, then remove it\n"}, "Makefile": {"docker-build:"}},
		},
		"a Dockerfile with lines of its own": {
			func(f map[string]string) { f["build/Dockerfile"] += "COPY templates /templates\n" },
			map[string][]string{"Dockerfile.before-migrate": {"COPY templates /templates"}},
		},
		"lines of gitignore": {
			func(f map[string]string) { f[".gitignore"] = "mine\n" },
			map[string][]string{".gitignore": {"mine\n", "\n/bin/", "\n# Editors\n"}},
		},
		"gitignore without lines": {
			func(f map[string]string) { f[".gitignore"] = "" },
			map[string][]string{".gitignore": {"\n/bin/"}},
		},
		"a CRD without a type, twice": {
			func(f map[string]string) {
				f["deploy/a.yaml"] = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: boxes.example.org\nspec:\n  group: example.org\n"
				f["deploy/b.yaml"] = f["deploy/a.yaml"]
			},
			map[string][]string{"config/crd/kustomization.yaml": {"- bases/a.yaml\n", "!bases/b.yaml"}, ReportName: {"deploy/b.yaml has the CRD boxes.example.org again"}},
		},
		"a CRD without a type, beside others": {
			func(f map[string]string) {
				f["deploy/a.yaml"] = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: boxes.example.org\nspec:\n  group: example.org\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
			},
			map[string][]string{
				"config/crd/bases/a.yaml": {"name: boxes.example.org", "!ConfigMap"}, "config/crd/kustomization.yaml": {"- bases/a.yaml\n"},
				"config/extra/a.yaml": {"kind: ConfigMap", "!boxes"}, ReportName: {"`config/extra/a.yaml`: deploy had it beside the operator"},
			},
		},
		"a name that is too long": {
			func(f map[string]string) {
				f["deploy/operator.yaml"] = strings.ReplaceAll(f["deploy/operator.yaml"], "memcached-operator", "percona-xtradb-cluster-operator")
			},
			map[string][]string{"PROJECT": {"projectName: percona-xtradb-cluster\n"}},
		},
		"vendored code": {
			func(f map[string]string) { f["vendor/x/y.go"] = "no Go at all" },
			map[string][]string{ReportName: {"| vendor |"}},
		},
		"before modules": {
			func(f map[string]string) { delete(f, "go.mod"); f["Gopkg.toml"] = "" },
			map[string][]string{"go.mod": {"module example.com/memcached-operator\n"}, ReportName: {"| Gopkg.toml |"}},
		},
		"types of other projects": {
			func(f map[string]string) {
				f["pkg/apis/addtoscheme_route.go"] = "package apis\n\nimport routev1 \"github.com/openshift/api/route/v1\"\n\nfunc init() { AddToSchemes = append(AddToSchemes, routev1.AddToScheme) }\n"
			},
			map[string][]string{newMain: {"\tutilruntime.Must(apis.AddToScheme(scheme))", `apis "example.com/memcached-operator/api"`}, "api/addtoscheme_route.go": {"routev1.AddToScheme)"}},
		},
		"register.go with more in it": {
			func(f map[string]string) {
				f["pkg/apis/cache/v1alpha1/register.go"] += "\n// Kind is mine.\nfunc Kind(k string) schema.GroupKind { return SchemeGroupVersion.WithKind(k).GroupKind() }\n"
			},
			map[string][]string{"api/v1alpha1/register.go": {"// Kind is mine.", "!scheme.Builder"}, "api/v1alpha1/groupversion_info.go": {"SchemeGroupVersion = schema"}},
		},
		"register.go of code-generator": {
			func(f map[string]string) {
				f["pkg/apis/cache/v1alpha1/register.go"] = "package v1alpha1\n\nimport (\n\t\"k8s.io/apimachinery/pkg/runtime\"\n\t\"k8s.io/apimachinery/pkg/runtime/schema\"\n)\n\n" +
					"var SchemeGroupVersion = schema.GroupVersion{Group: groupName, Version: \"v1alpha1\"}\n\nconst groupName = \"cache.example.com\"\n\nvar (\n\tSchemeBuilder = runtime.NewSchemeBuilder(add)\n\tAddToScheme = SchemeBuilder.AddToScheme\n)\n"
			},
			map[string][]string{"api/v1alpha1/register.go": {"+kubebuilder:object:generate=true", "var GroupVersion = SchemeGroupVersion"}, "api/v1alpha1/groupversion_info.go": {"!package"}},
		},
		"the old API imported elsewhere": {
			func(f map[string]string) {
				f["pkg/util/s.go"] = "package util\n\nimport \"example.com/memcached-operator/pkg/apis\"\n\nvar Add = apis.AddToScheme\n"
			},
			map[string][]string{"api/apis.go": {"package apis"}, "pkg/util/s.go": {`apis "example.com/memcached-operator/api"`}},
		},
		"k8sutil": {
			func(f map[string]string) {
				f["pkg/util/s.go"] = "package util\n\nimport \"github.com/operator-framework/operator-sdk/pkg/k8sutil\"\n\nvar Name, _ = k8sutil.GetOperatorName()\n"
			},
			map[string][]string{"internal/k8sutil/k8sutil.go": {"func GetOperatorName()"}, "pkg/util/s.go": {`"example.com/memcached-operator/internal/k8sutil"`}},
		},
		"k8sutil of one's own": {
			func(f map[string]string) {
				f["pkg/util/s.go"] = "package util\n\nimport \"github.com/operator-framework/operator-sdk/pkg/k8sutil\"\n\nvar Name, _ = k8sutil.GetOperatorName()\n"
				f["internal/k8sutil/k8sutil.go"] = "package k8sutil\n\nvar Mine = 1\n"
			},
			map[string][]string{"internal/k8sutil/k8sutil.go": {"var Mine = 1"}, "pkg/util/s.go": {"TODO(migrate): k8sutil.GetOperatorName of github.com/operator-framework/operator-sdk/pkg/k8sutil is gone"}},
		},
		"a test of the old framework": {
			func(f map[string]string) {
				f["test/e2e/x_test.go"] = "// +build e2e\n\npackage e2e\n\nimport f \"github.com/operator-framework/operator-sdk/pkg/test\"\n\nvar _ = f.Global\n"
			},
			map[string][]string{"test/e2e/x_test.go": {"//go:build ignore\n", "!+build e2e"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := memcached(t)
			test.change(files)
			expect(t, content(mustPlan(t, files).Result), test.want)
		})
	}
}

// FuzzCRD holds that whatever is read as a CRD comes out as YAML, or as an
// error.
func FuzzCRD(f *testing.F) {
	f.Add("kind: CustomResourceDefinition\nspec: {versions: [{name: v1}], validation: {openAPIV3Schema: {properties: {a: {}}}}}")
	f.Add("spec: {versions: [1, {schema: []}], conversion: {webhookClientConfig: {}}}")
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := yamledit.Documents([]byte(text))
		if err != nil {
			t.Skip()
		}
		for _, d := range docs {
			data, err := upgradeCRD(d)
			if err != nil {
				continue
			}
			var v any
			if err := yaml.Unmarshal(data, &v); err != nil {
				t.Errorf("%v\n%s", err, data)
			}
		}
		if c, err := compat.ReadCRD([]byte(text)); err == nil {
			crdMarkers(c, "v1", "")
		}
	})
}
