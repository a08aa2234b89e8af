package migrate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

const (
	defaultKustomization = "config/default/kustomization.yaml"
	proxyPatch           = "config/default/manager_auth_proxy_patch.yaml"
	rbacKustomization    = "config/rbac/kustomization.yaml"
)

// pristineV3 is goV3 with the values in config that the scaffold of go/v3 had.
func pristineV3() map[string]string {
	files := goV3()
	for name := range files {
		if strings.HasPrefix(name, "config/") && !strings.HasPrefix(name, "config/samples/") {
			delete(files, name)
		}
	}
	object := func(apiVersion, kind, name, rest string) string {
		return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n%s", apiVersion, kind, name, rest)
	}
	const rbac = "rbac.authorization.k8s.io/v1"
	bound := func(role, kind string) string {
		return "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: " + kind + "\n  name: " + role + "\nsubjects:\n- kind: ServiceAccount\n  name: controller-manager\n  namespace: system\n"
	}
	for name, text := range map[string]string{
		defaultKustomization: "namespace: shop-system\nnamePrefix: shop-\nbases:\n- ../crd\n- ../rbac\n- ../manager\n#- ../prometheus\npatchesStrategicMerge:\n- manager_auth_proxy_patch.yaml\n",
		proxyPatch: object("apps/v1", "Deployment", "controller-manager", "  namespace: system\nspec:\n  template:\n    spec:\n      containers:\n      - name: kube-rbac-proxy\n"+
			"        image: gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0\n        args:\n        - --v=10\n      - name: manager\n        args:\n        - --health-probe-bind-address=:8081\n"+
			"        - --metrics-bind-address=127.0.0.1:8080\n        - --leader-elect\n"),
		managerKustomization: "resources:\n- manager.yaml\n",
		managerPath: object("v1", "Namespace", "system", "  labels:\n    control-plane: controller-manager\n---\n") + object("apps/v1", "Deployment", "controller-manager",
			"  namespace: system\n  labels:\n    control-plane: controller-manager\nspec:\n  selector:\n    matchLabels:\n      control-plane: controller-manager\n  replicas: 1\n"+
				"  template:\n    metadata:\n      labels:\n        control-plane: controller-manager\n    spec:\n      containers:\n      - command:\n        - /manager\n        args:\n        - --leader-elect\n"+
				"        image: controller:latest\n        name: manager\n        resources:\n          limits:\n            cpu: 100m\n            memory: 30Mi\n          requests:\n            cpu: 100m\n            memory: 20Mi\n"+
				"      serviceAccountName: controller-manager\n      terminationGracePeriodSeconds: 10\n"),
		rbacKustomization:                     "resources:\n- service_account.yaml\n- role.yaml\n- role_binding.yaml\n- leader_election_role.yaml\n- leader_election_role_binding.yaml\n- auth_proxy_service.yaml\n- auth_proxy_role.yaml\n- auth_proxy_role_binding.yaml\n",
		"config/rbac/service_account.yaml":    object("v1", "ServiceAccount", "controller-manager", "  namespace: system\n"),
		"config/rbac/role_binding.yaml":       object(rbac, "ClusterRoleBinding", "manager-rolebinding", bound("manager-role", "ClusterRole")),
		"config/rbac/auth_proxy_service.yaml": object("v1", "Service", "controller-manager-metrics-service", "  namespace: system\n  labels:\n    control-plane: controller-manager\nspec:\n  ports:\n  - name: https\n    port: 8443\n    targetPort: https\n  selector:\n    control-plane: controller-manager\n"),
		"config/rbac/memcached_editor_role.yaml": object(rbac, "ClusterRole", "memcached-editor-role", "rules:\n- apiGroups: [cache.example.com]\n  resources: [memcacheds]\n  verbs: [create, delete, get, list, patch, update, watch]\n"+
			"- apiGroups: [cache.example.com]\n  resources: [memcacheds/status]\n  verbs: [get]\n"),
		"config/crd/kustomization.yaml": "resources:\n- bases/cache.example.com_memcacheds.yaml\n#+kubebuilder:scaffold:crdkustomizeresource\n",
		"config/prometheus/monitor.yaml": object("monitoring.coreos.com/v1", "ServiceMonitor", "controller-manager-metrics-monitor",
			"  namespace: system\n  labels:\n    control-plane: controller-manager\nspec:\n  endpoints:\n  - path: /metrics\n    port: https\n  selector:\n    matchLabels:\n      control-plane: controller-manager\n"),
	} {
		files[name] = text
	}
	return files
}

// configOf are the files of config in a plan.
func configOf(p *Plan) map[string]string {
	out := map[string]string{}
	for name, text := range content(p.Result) {
		if strings.HasPrefix(name, "config/") {
			out[name] = text
		}
	}
	return out
}

// renderedScaffold is today's scaffold of the project.
func renderedScaffold(t *testing.T) map[string][]byte {
	t.Helper()
	m := newMigration(pristineV3())
	m.Scaffolder = testScaffolder
	text, err := m.readProject()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.renderBare(text); err != nil {
		t.Fatal(err)
	}
	return m.rendered
}

// configPlan migrates config alone, on a scaffold whose main program has the
// flag pause.
func configPlan(t *testing.T, rendered map[string][]byte, files map[string]string) map[string]string {
	t.Helper()
	m := newMigration(files)
	m.layout, m.recorded, m.rendered = LayoutGo3, "shop", rendered
	for name, data := range rendered {
		m.out[name] = output{file: file{data: data, mode: 0o644}}
	}
	m.put(newMain, append([]byte(nil), string(rendered[newMain])+"\n// \"pause\"\n"...))
	if err := m.kubebuilderConfig(); err != nil {
		t.Fatal(err)
	}
	p, err := m.plan()
	if err != nil {
		t.Fatal(err)
	}
	return content(p.Result)
}

// TestPristineConfig holds that what nobody has changed is today's scaffold to
// the byte, with the certificates and samples that the project had.
func TestPristineConfig(t *testing.T) {
	files := pristineV3()
	got := mustPlan(t, files)
	for name := range files {
		if strings.HasPrefix(name, "config/") && !strings.HasPrefix(name, "config/samples/") && !strings.HasSuffix(name, "_editor_role.yaml") {
			delete(files, name)
		}
	}
	if d := cmp.Diff(configOf(mustPlan(t, files)), configOf(got)); d != "" {
		t.Errorf("(-scaffold +got):\n%s", d)
	}
	if report := content(got.Result)[ReportName]; strings.Contains(report, "these were yours") {
		t.Errorf("something was taken for the user's:\n%s", report)
	}
}

// TestOwnConfig holds where each kind of change of a user's in config goes.
func TestOwnConfig(t *testing.T) {
	type swaps map[string][2]string // what to replace, by file
	patch := "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: controller-manager\n  namespace: system\nspec:\n  template:\n    spec:\n      priorityClassName: high\n"
	const crdPatch = "config/crd/patches/webhook_in_memcacheds.yaml"
	const conversion = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: memcacheds.cache.example.com\nspec:\n  conversion:\n    strategy: Webhook\n    webhook:\n      clientConfig: {service: {namespace: system, name: webhook-service, path: /convert}}\n      conversionReviewVersions: [v1]\n"
	crdNames := func(version, path string) string {
		return fmt.Sprintf("nameReference:\n- kind: Service\n  version: v1\n  fieldSpecs:\n  - kind: CustomResourceDefinition\n    version: %[1]s\n    group: apiextensions.k8s.io\n    path: spec/conversion/%[2]s/service/name\n\n"+
			"namespace:\n- kind: CustomResourceDefinition\n  version: %[1]s\n  group: apiextensions.k8s.io\n  path: spec/conversion/%[2]s/service/namespace\n  create: false\nvarReference:\n- path: metadata/annotations\n", version, path)
	}
	tests := map[string]struct {
		swaps swaps
		add   map[string]string
		want  map[string][]string
	}{
		"namespace":                         {swaps{defaultKustomization: {"namespace: shop-system", "namespace: carts"}}, nil, map[string][]string{defaultKustomization: {"\nnamespace: carts\n", "!shop-system"}}},
		"prefix":                            {swaps{defaultKustomization: {"namePrefix: shop-", "namePrefix: cart-"}}, nil, map[string][]string{defaultKustomization: {"\nnamePrefix: cart-\n"}}},
		"no prefix":                         {swaps{defaultKustomization: {"namePrefix: shop-\n", ""}}, nil, map[string][]string{defaultKustomization: {"\nnamePrefix: shop-\n"}, ReportName: {" What you had taken out is there again. "}}},
		"common labels":                     {swaps{defaultKustomization: {"bases:", "commonLabels:\n  team: carts\nbases:"}}, nil, map[string][]string{defaultKustomization: {"\ncommonLabels:\n  team: carts\n"}}},
		"suffix":                            {swaps{defaultKustomization: {"bases:", "nameSuffix: -x\nbases:"}}, nil, map[string][]string{defaultKustomization: {"\nnameSuffix: -x\n"}}},
		"Prometheus":                        {swaps{defaultKustomization: {"#- ../prom", "- ../prom"}}, nil, map[string][]string{defaultKustomization: {"\n- ../prometheus\n"}}},
		"without CRDs":                      {swaps{defaultKustomization: {"- ../crd\n", ""}}, nil, map[string][]string{defaultKustomization: {"\n- ../crd\n"}}},
		"a directory":                       {swaps{defaultKustomization: {"- ../crd", "- ../crd\n- ../extra"}}, map[string]string{"config/extra/kustomization.yaml": "resources: []\n"}, map[string][]string{defaultKustomization: {"\n- ../extra\n"}}},
		"something far":                     {swaps{defaultKustomization: {"- ../crd", "- ../crd\n- https://example.com/a.yaml"}}, nil, map[string][]string{defaultKustomization: {"\n- https://example.com/a.yaml\n"}}},
		"something by SSH":                  {swaps{defaultKustomization: {"- ../crd", "- ../crd\n- git@github.com:org/repo//config?ref=v1"}}, nil, map[string][]string{defaultKustomization: {"\n- git@github.com:org/repo//config?ref=v1\n"}}},
		"something elsewhere":               {swaps{defaultKustomization: {"- ../crd", "- ../crd\n- gitlab.com/org/repo//x?ref=v1"}}, nil, map[string][]string{defaultKustomization: {"\n- gitlab.com/org/repo//x?ref=v1\n"}}},
		"a link, or a mistake":              {swaps{defaultKustomization: {"- ../crd", "- ../crd\n- link.yaml"}}, nil, map[string][]string{defaultKustomization: {"!link.yaml"}, ReportName: {"`config.old/default/kustomization.yaml:5`: sets resources[link.yaml] to link.yaml, for"}}},
		"a configuration":                   {swaps{defaultKustomization: {"bases:", "configurations:\n- mine.yaml\nbases:"}}, map[string]string{"config/default/mine.yaml": "nameReference: []\n"}, map[string][]string{defaultKustomization: {"\nconfigurations:\n- mine.yaml\n"}}},
		"a patch":                           {swaps{defaultKustomization: {"Merge:", "Merge:\n- mine.yaml"}}, map[string]string{"config/default/mine.yaml": patch}, map[string][]string{defaultKustomization: {"\n- path: mine.yaml\n"}, "config/default/mine.yaml": {"priorityClassName"}}},
		"a patch by its name alone":         {swaps{defaultKustomization: {"patchesStrategicMerge:", "patches:\n- mine.yaml\n-\npatchesStrategicMerge:"}}, map[string]string{"config/default/mine.yaml": patch}, map[string][]string{defaultKustomization: {"\n- path: mine.yaml\n", "!\n- mine.yaml", "!path: \"\""}}},
		"a patch in the list":               {swaps{defaultKustomization: {"Merge:", "Merge:\n- |-\n  kind: Deployment\n  a: b"}}, nil, map[string][]string{defaultKustomization: {"\n- patch: |-\n    kind: Deployment\n    a: b\n"}}},
		"a patch of JSON":                   {swaps{defaultKustomization: {"patchesS", "patchesJson6902:\n- target:\n    version: v1\n    kind: Service\n    name: a\n  path: mine.yaml\npatchesS"}}, map[string]string{"config/default/mine.yaml": "- {op: add, path: /a, value: b}\n"}, map[string][]string{defaultKustomization: {"\n- target:\n    version: v1\n    kind: Service\n    name: a\n  path: mine.yaml\n"}}},
		"a config map":                      {swaps{defaultKustomization: {"bases:", "configMapGenerator:\n- name: mine\n  literals:\n  - a=b\nbases:"}}, nil, map[string][]string{defaultKustomization: {"\nconfigMapGenerator:\n- name: mine\n  literals:\n  - a=b\n"}}},
		"no proxy":                          {swaps{defaultKustomization: {"patchesStrategicMerge:\n- manager_auth_proxy_patch.yaml\n", ""}}, nil, map[string][]string{ReportName: {"The metrics had no proxy in front of them."}}},
		"an image":                          {swaps{managerPath: {"controller:latest", "quay.io/a/b:v1"}}, nil, map[string][]string{managerKustomization: {"newName: quay.io/a/b\n  newTag: \"v1\"\n"}, managerPath: {"image: controller:latest"}}},
		"an image by digest":                {swaps{managerPath: {"controller:latest", "quay.io/a/b@sha256:00"}}, nil, map[string][]string{managerKustomization: {"newName: quay.io/a/b\n  digest: sha256:00\n"}}},
		"an image of ours":                  {nil, map[string]string{managerKustomization: "resources:\n- manager.yaml\nimages:\n- name: controller\n  newName: a/b\n  digest: sha256:00\n"}, map[string][]string{managerKustomization: {"newName: a/b\n  digest: sha256:00\n", "!newTag"}}},
		"a placeholder":                     {swaps{managerPath: {"controller:latest", "REPLACE_IMAGE"}}, nil, map[string][]string{managerKustomization: {"newName: controller\n"}, ReportName: {"![manager].image"}}},
		"replicas":                          {swaps{managerPath: {"replicas: 1", "replicas: 2"}}, nil, map[string][]string{managerPath: {"  replicas: 2\n"}}},
		"limits":                            {swaps{managerPath: {"memory: 30Mi", "memory: 2Gi"}}, nil, map[string][]string{managerPath: {"memory: 2Gi", "cpu: 500m"}, ReportName: {"\n- The operator's container has limits of CPU and memory, and cannot write files: change it in config/manager/manager.yaml if"}}},
		"no limits":                         {swaps{managerPath: {"          limits:\n            cpu: 100m\n            memory: 30Mi\n", ""}}, nil, map[string][]string{managerPath: {"limits:", "requests:"}}},
		"environment":                       {swaps{managerPath: {"        name: manager\n", "        name: manager\n        env:\n        # Mine.\n        - name: MINE\n          value: a\n"}}, nil, map[string][]string{managerPath: {"# Mine.\n        - name: MINE\n          value: a\n", "name: POD_NAMESPACE"}}},
		"volumes":                           {swaps{managerPath: {"      serviceAccountName", "      volumes:\n      - name: v\n        emptyDir: {}\n      serviceAccountName"}}, nil, map[string][]string{managerPath: {"volumes:\n      - name: v\n        emptyDir: {}\n"}}},
		"a side car":                        {swaps{managerPath: {"      serviceAccountName", "      - name: side\n        image: a\n      serviceAccountName"}}, nil, map[string][]string{managerPath: {"- name: side\n        image: a\n"}}},
		"affinity":                          {swaps{managerPath: {"      serviceAccountName", "      nodeSelector: {a: b}\n      serviceAccountName"}}, nil, map[string][]string{managerPath: {"nodeSelector: {a: b}"}}},
		"annotations":                       {swaps{managerPath: {"    metadata:\n", "    metadata:\n      annotations: {a: b}\n"}}, nil, map[string][]string{managerPath: {"a: b", "default-container: manager"}}},
		"a label to find pods":              {swaps{managerPath: {"matchLabels:\n      control-plane: controller-manager", "matchLabels:\n      control-plane: shop"}}, nil, map[string][]string{managerPath: {"control-plane: controller-manager", "!control-plane: shop"}, "config.old/manager/manager.yaml": {"control-plane: shop"}, ReportName: {"- [ ] `config.old/manager/manager.yaml:18`: sets spec.selector.matchLabels.control-plane to shop, where the new scaffold has controller-manager"}}},
		"an argument":                       {swaps{proxyPatch: {"- --leader-elect", "- --leader-elect\n        - --pause=3s"}}, nil, map[string][]string{managerPath: {"        - --pause=3s\n", "- --leader-elect\n", "!TODO"}}},
		"an argument of none":               {swaps{proxyPatch: {"- --leader-elect", "- --leader-elect\n        - --strange"}}, nil, map[string][]string{managerPath: {"TODO(migrate): the new main program has no such argument", "- --strange\n"}}},
		"arguments in the command":          {swaps{managerPath: {"        - /manager\n", "        - /manager\n        - --metrics-addr=:1\n        - --strange\n"}}, nil, map[string][]string{managerPath: {"        - /manager\n        args:", "- --metrics-bind-address=:1\n", "TODO(migrate): the new main program has no such argument: add it to cmd/main.go, or remove it here\n        - --strange\n"}}},
		"arguments in a command of a patch": {swaps{proxyPatch: {"      - name: manager\n", "      - name: manager\n        command: [/manager, --strange]\n"}}, nil, map[string][]string{managerPath: {"        - /manager\n        args:", "TODO(migrate): the new main program has no such argument: add it to cmd/main.go, or remove it here\n        - --strange\n"}}},
		"another command":                   {swaps{managerPath: {"        - /manager\n", "        - /bin/start\n"}}, nil, map[string][]string{managerPath: {"        - /manager\n", "!/bin/start"}, ReportName: {"`config.old/manager/manager.yaml:27`: sets spec.template.spec.containers[manager].command[/bin/start] to /bin/start, for which"}}},
		"another argument":                  {swaps{proxyPatch: {"address=:8081", "address=:9091"}}, nil, map[string][]string{managerPath: {"- --health-probe-bind-address=:9091\n", "!address=:8081"}}},
		"another probe":                     {swaps{managerPath: {"        name: manager\n", "        name: manager\n        livenessProbe:\n          httpGet: {path: /metrics, port: 8080}\n          periodSeconds: 7\n"}}, nil, map[string][]string{managerPath: {"path: /healthz\n            port: 8081\n", "periodSeconds: 7\n", "!8080"}, ReportName: {"sets spec.template.spec.containers[manager].livenessProbe.httpGet.port to 8080, where the new scaffold has 8081"}}},
		"another port of the probes":        {swaps{managerPath: {"        name: manager\n", "        name: manager\n        livenessProbe:\n          httpGet: {path: /healthz, port: 9091}\n"}, proxyPatch: {"address=:8081", "address=:9091"}}, nil, map[string][]string{managerPath: {"path: /healthz\n            port: 9091\n"}, ReportName: {"!config.old"}}},
		"no leader election":                {swaps{proxyPatch: {"        - --leader-elect\n", ""}, managerPath: {"        - --leader-elect\n", ""}}, nil, map[string][]string{managerPath: {"--leader-elect", "--health-probe"}}},
		"of the proxy":                      {swaps{proxyPatch: {"--v=10", "--v=10\n        - --tls-min-version=VersionTLS12"}}, nil, map[string][]string{"config.old/default/manager_auth_proxy_patch.yaml": {"VersionTLS12"}, ReportName: {"`config.old/default/manager_auth_proxy_patch.yaml:14`: sets spec.template.spec.containers[kube-rbac-proxy].args[--tls-min-version] to --tls-min-version=VersionTLS12, for which the new scaffold has no place"}}},
		"an account":                        {swaps{"config/rbac/service_account.yaml": {"  namespace", "  annotations: {eks.amazonaws.com/role-arn: x}\n  namespace"}}, nil, map[string][]string{"config/rbac/service_account.yaml": {"eks.amazonaws.com/role-arn: x"}}},
		"a subject":                         {swaps{"config/rbac/role_binding.yaml": {"subjects:\n", "subjects:\n- kind: ServiceAccount\n  name: mine\n  namespace: system\n"}}, nil, map[string][]string{"config/rbac/role_binding.yaml": {"name: mine", "name: controller-manager"}}},
		"a role":                            {swaps{rbacKustomization: {"- role.yaml", "- role.yaml\n- mine.yaml"}}, map[string]string{"config/rbac/mine.yaml": "kind: Role\n"}, map[string][]string{rbacKustomization: {"\n- mine.yaml\n", "!auth_proxy"}, "config/rbac/mine.yaml": {"kind: Role"}}},
		"a role for users":                  {swaps{"config/rbac/memcached_editor_role.yaml": {"create, delete", "create"}}, nil, map[string][]string{"config/rbac/memcached_editor_role.yaml": {"[create, get,"}}},
		"a role of another name": {nil, map[string]string{"config/rbac/cache_memcached_editor_role.yaml": "kind: ClusterRole\nmetadata:\n  name: mine\nrules: []\n"},
			map[string][]string{"config/rbac/cache_memcached_editor_role.yaml": {"\n  name: mine\n"}}},
		"rules by hand": {nil, map[string]string{rolePath: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: manager-role}\nrules:\n- {apiGroups: [\"\"], resources: [pods], verbs: [get, list]}\n"},
			map[string][]string{"internal/controller/rbac.go": {"\n// +kubebuilder:rbac:groups=\"\",resources=pods,verbs=get;list\n"}, rolePath: {"rules: []"}, ReportName: {"the rules of config/rbac/role.yaml for pods: they are markers in internal/controller now"}}},
		"a role by hand": {nil, map[string]string{rolePath: "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: shop}\nrules:\n- {apiGroups: [\"\"], resources: [pods], verbs: [get]}\n"},
			map[string][]string{rolePath: {"metadata: {name: shop}", "[pods]"}, "internal/controller/rbac.go": {"!pods"}, ReportName: {"`config/rbac/role.yaml`: no +kubebuilder:rbac marker makes it"}}},
		"rules beside markers": {nil, map[string]string{rolePath: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: manager-role}\nrules:\n- {apiGroups: [\"\"], resources: [pods], verbs: [get]}\n- {apiGroups: [\"\"], resources: [secrets], verbs: [get]}\n",
			"controllers/a.go": "package controllers\n\n//+kubebuilder:rbac:groups=\"\",resources=pods,verbs=get\n"},
			map[string][]string{rolePath: {"rules: []"}, "internal/controller/rbac.go": {"\n// +kubebuilder:rbac:groups=\"\",resources=secrets,verbs=get\n", "!pods"}, ReportName: {"No +kubebuilder:rbac marker had the rules of config/rbac/role.yaml for secrets: they are markers in internal/controller now"}}},
		"rules for all, beside markers": {nil, map[string]string{rolePath: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: manager-role}\nrules:\n- {apiGroups: [a.io], resources: ['*'], verbs: ['*']}\n- {apiGroups: [\"\"], resources: [pods, services], verbs: ['*']}\n",
			"controllers/a.go": "package controllers\n\n//+kubebuilder:rbac:groups=\"\",resources={\"pods\",services},verbs=*\n"},
			map[string][]string{"internal/controller/rbac.go": {"groups=a.io,resources=\"*\",verbs=\"*\"\n", "!pods"}}},
		"a role with another name": {swaps{"config/rbac/role_binding.yaml": {"name: manager-role\n", "name: shop\n"}}, map[string]string{rolePath: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: shop}\nrules:\n- {apiGroups: [\"\"], resources: [pods], verbs: [get]}\n",
			"controllers/a.go": "package controllers\n\n//+kubebuilder:rbac:groups=\"\",resources=pods,verbs=get\n", "config/rbac/a_binding.yaml": "kind: RoleBinding\nroleRef: {kind: ClusterRole, name: shop} # mine\n", "config/rbac/b_binding.yaml": "kind: RoleBinding\nroleRef: {kind: ClusterRole, name: edit}\n"},
			map[string][]string{"config/rbac/role_binding.yaml": {"  name: manager-role\n"}, "config/rbac/a_binding.yaml": {"name: manager-role} # mine\n"}, "config/rbac/b_binding.yaml": {"name: edit"}, ReportName: {"!roleRef"}}},
		"a role with another name, in one namespace": {swaps{"config/rbac/role_binding.yaml": {"kind: ClusterRoleBinding\nmetadata:\n  name: manager-rolebinding\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: manager-role\n", "kind: RoleBinding\nmetadata:\n  name: manager-rolebinding\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: shop\n"}},
			map[string]string{rolePath: "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: shop}\nrules: []\n"}, map[string][]string{"config/rbac/role_binding.yaml": {"kind: Role\n  name: manager-role\n", "!kind: ClusterRoleBinding"}}},
		"a binding to a role of others": {swaps{"config/rbac/role_binding.yaml": {"name: manager-role\n", "name: cluster-admin\n"}}, map[string]string{rolePath: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: shop}\nrules: []\n"}, map[string][]string{"config/rbac/role_binding.yaml": {"  name: cluster-admin\n"}}},
		"an account with another name": {swaps{managerPath: {"serviceAccountName: controller-manager", "serviceAccountName: shop"}, "config/rbac/service_account.yaml": {"name: controller-manager", "name: shop"}, "config/rbac/role_binding.yaml": {"name: controller-manager", "name: shop"}}, nil,
			map[string][]string{managerPath: {"serviceAccountName: shop\n"}, "config/rbac/service_account.yaml": {"  name: shop\n"}, "config/rbac/role_binding.yaml": {"  name: shop\n", "!controller-manager"},
				"config/rbac/leader_election_role_binding.yaml": {"  name: shop\n", "!controller-manager"}, "config/rbac/metrics_auth_role_binding.yaml": {"  name: shop\n", "!controller-manager"}}},
		"a role for users, aggregated": {swaps{"config/rbac/memcached_editor_role.yaml": {"  name: memcached-editor-role\n", "  name: memcached-editor-role\n  labels:\n    app.kubernetes.io/name: shop\n    rbac.authorization.k8s.io/aggregate-to-edit: \"true\"\n"}}, nil,
			map[string][]string{"config/rbac/memcached_editor_role.yaml": {"aggregate-to-edit"}}},
		"the metrics' service":         {swaps{"config/rbac/auth_proxy_service.yaml": {"  namespace", "  annotations: {a: b}\n  namespace"}}, nil, map[string][]string{"config/default/metrics_service.yaml": {"  annotations:\n    a: b\n"}}},
		"monitoring":                   {swaps{"config/prometheus/monitor.yaml": {"    port: https", "    port: https\n    interval: 30s"}}, nil, map[string][]string{"config/prometheus/monitor.yaml": {"    interval: 30s\n", "insecureSkipVerify: true"}}},
		"monitoring of the usual path": {swaps{"config/prometheus/monitor.yaml": {"  - path: /metrics\n    port: https", "  - port: https\n    interval: 30s"}}, nil, map[string][]string{"config/prometheus/monitor.yaml": {"    interval: 30s\n", "!\n  - port: https", "!\n    - port: https"}}},
		"a patch for webhooks":         {nil, map[string]string{crdPatch: conversion}, map[string][]string{crdPatch: {"!Webhook"}, "config.old/crd/patches/webhook_in_memcacheds.yaml": {"!Webhook"}, ReportName: {"| " + crdPatch + " | the new layout has no such file |"}}},
		"a patch for webhooks with more": {nil, map[string]string{crdPatch: strings.Replace(conversion, "  name:", "  annotations:\n    cert-manager.io/inject-ca-from: $(CERTIFICATE_NAMESPACE)/$(CERTIFICATE_NAME)\n    helm.sh/resource-policy: keep\n  name:", 1)},
			map[string][]string{"config.old/crd/patches/webhook_in_memcacheds.yaml": {"resource-policy: keep"}, ReportName: {"`config.old/crd/patches/webhook_in_memcacheds.yaml:6`: sets metadata.annotations.helm.sh/resource-policy to keep, for", "!webhook_in_memcacheds.yaml:5", "!spec."}}},
		"names in CRDs": {nil, map[string]string{"config/crd/kustomizeconfig.yaml": crdNames("v1beta1", "webhookClientConfig")}, map[string][]string{"config/crd/kustomizeconfig.yaml": {"clientConfig"}, ReportName: {"!config.old"}}},
		"more names in CRDs": {nil, map[string]string{"config/crd/kustomizeconfig.yaml": crdNames("v1", "webhook/clientConfig") + "- path: spec/mine\n"},
			map[string][]string{"config.old/crd/kustomizeconfig.yaml": {"path: spec/mine"}, ReportName: {"`config.old/crd/kustomizeconfig.yaml:18`: sets varReference[spec/mine] to {", "!kustomizeconfig.yaml:1`"}}},
		"a CRD of others": {swaps{"config/crd/kustomization.yaml": {"resources:", "resources:\n- bases/mine.yaml"}}, map[string]string{"config/crd/bases/mine.yaml": "kind: CustomResourceDefinition\n"}, map[string][]string{"config/crd/kustomization.yaml": {"\n- bases/mine.yaml\n"}}},
		"a patch that is not listed": {swaps{defaultKustomization: {"patchesStrategicMerge:\n- manager_auth_proxy_patch.yaml\n", ""}, proxyPatch: {"- --leader-elect", "- --leader-elect\n        - --pause=3s"}}, nil,
			map[string][]string{managerPath: {"!--pause"}, ReportName: {"| " + proxyPatch + " | nothing used it |"}}},
		"options in a file that nobody reads": {nil, map[string]string{"config/manager/controller_manager_config.yaml": "kind: ControllerManagerConfig\nwebhook:\n  port: 9999\n"},
			map[string][]string{managerPath: {"!9999"}, ReportName: {"controller_manager_config.yaml | nothing used it |"}}},
		"a container of another name": {swaps{managerPath: {"        name: manager\n", "        name: shop\n        env:\n        - name: MINE\n          value: a\n"}}, nil,
			map[string][]string{managerPath: {"name: manager\n", "name: MINE", "!\n        name: shop\n"}, ReportName: {"the container shop, which is called manager now"}}},
		"options in a file": {nil, map[string]string{"main.go": "package main\n\n// ctrl.ConfigFile()\n", "config/manager/controller_manager_config.yaml": "apiVersion: controller-runtime.sigs.k8s.io/v1alpha1\nkind: ControllerManagerConfig\nhealth:\n  healthProbeBindAddress: :9999\nwebhook:\n  port: 9443\ncacheNamespace: a\n"},
			map[string][]string{managerPath: {"!9999"}, "config.old/manager/controller_manager_config.yaml": {"cacheNamespace: a"},
				ReportName: {"controller_manager_config.yaml:4`: sets health.healthProbeBindAddress to :9999, for", "controller_manager_config.yaml:7`: sets cacheNamespace to a, for"}}},
		"what names the proxy": {nil, map[string]string{"config/prod/patch.yaml": "# kube-rbac-proxy\na:\n- name: kube-rbac-proxy\n"}, map[string][]string{"config/prod/patch.yaml": {"# kube-rbac-proxy\na:\n# TODO(migrate): the proxy"}, ReportName: {"`config/prod/patch.yaml:3`: the proxy in front of the metrics is gone"}}},
		"the scorecard":        {nil, map[string]string{"config/scorecard/bases/config.yaml": "kind: Configuration\nmine: true\n"}, map[string][]string{"config/scorecard/bases/config.yaml": {"mine: true"}}},
		"no Namespace": {swaps{managerPath: {"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: system\n  labels:\n    control-plane: controller-manager\n---\n", ""}}, nil,
			map[string][]string{managerPath: {"kind: Namespace"}}},
		"a Namespace elsewhere": {swaps{managerPath: {"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: system\n  labels:\n    control-plane: controller-manager\n---\n", ""}}, map[string]string{"config/default/ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: system}\n"},
			map[string][]string{managerPath: {"!kind: Namespace"}}},
		"a Namespace in a directory": {swaps{managerPath: {"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: system\n  labels:\n    control-plane: controller-manager\n---\n", ""}, defaultKustomization: {"- ../crd", "- ../crd\n- ../namespace"}}, map[string]string{"config/namespace/kustomization.yaml": "resources:\n- ns.yaml\n", "config/namespace/ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: system}\n"},
			map[string][]string{managerPath: {"!kind: Namespace"}, "config/namespace/ns.yaml": {"kind: Namespace"}}},
		"a Namespace in a directory that is off": {swaps{managerPath: {"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: system\n  labels:\n    control-plane: controller-manager\n---\n", ""}}, map[string]string{"config/prometheus/ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: system}\n"},
			map[string][]string{managerPath: {"kind: Namespace"}}},
		"no account": {nil, map[string]string{"config/rbac/service_account.yaml": "# none\n"},
			map[string][]string{"config/rbac/service_account.yaml": {"kind: ServiceAccount\n"}}},
		"rights in one namespace": {swaps{"config/rbac/role_binding.yaml": {"kind: ClusterRoleBinding", "kind: RoleBinding"}}, nil,
			map[string][]string{"config/rbac/role_binding.yaml": {"kind: RoleBinding\n", "!kind: ClusterRoleBinding"}}},
		"a second account": {swaps{"config/rbac/service_account.yaml": {"apiVersion: v1", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: pods}\n---\napiVersion: v1"}}, nil,
			map[string][]string{"config/rbac/service_account.yaml": {"  name: controller-manager\n", "metadata: {name: pods}\n"}, ReportName: {"these were yours and are kept: ServiceAccount pods."}}},
		"a second Deployment": {swaps{managerPath: {"apiVersion: apps/v1", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: dashboard}\nspec: {template: {spec: {containers: [{name: ui, image: a/ui, args: [--metrics-addr=:1]}]}}}\n---\napiVersion: apps/v1"}}, nil,
			map[string][]string{managerPath: {"  name: controller-manager\n", "name: manager\n", "metadata: {name: dashboard}\n", "{name: ui, image: a/ui, args: ['--metrics-addr=:1']}"}, managerKustomization: {"newName: controller\n"}, ReportName: {"!the container ui"}}},
		"a second service": {swaps{"config/rbac/auth_proxy_service.yaml": {"apiVersion: v1", "apiVersion: v1\nkind: Service\nmetadata: {name: mine}\n---\napiVersion: v1"}}, nil,
			map[string][]string{"config/default/metrics_service.yaml": {"  name: controller-manager-metrics-service\n", "metadata: {name: mine}\n"}}},
		"a second patch": {swaps{proxyPatch: {"apiVersion: apps/v1", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: dashboard}\n---\napiVersion: apps/v1"}}, nil,
			map[string][]string{managerPath: {"!dashboard"}, "config.old/default/manager_auth_proxy_patch.yaml": {"{name: dashboard}"}}},
		"another object": {swaps{managerPath: {"---\n", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n---\n"}}, nil, map[string][]string{managerPath: {"kind: ConfigMap\nmetadata: {name: mine}\n", "kind: Namespace", "kind: Deployment"}}},
	}
	rendered := renderedScaffold(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := pristineV3()
			for file, s := range test.swaps {
				if !strings.Contains(files[file], s[0]) {
					t.Fatalf("%s has no %q", file, s[0])
				}
				files[file] = strings.ReplaceAll(files[file], s[0], s[1])
			}
			for file, text := range test.add {
				files[file] = text
			}
			got := configPlan(t, rendered, files)
			expect(t, got, test.want)
			for file, text := range got {
				if strings.HasPrefix(file, "config/") && isYAML(file) {
					if _, err := yamledit.Documents([]byte(text)); err != nil {
						t.Errorf("%s: %v\n%s", file, err, text)
					}
				}
			}
		})
	}
}

// TestRolesOfTwoGroups holds that the roles for kinds of one name are two.
func TestRolesOfTwoGroups(t *testing.T) {
	files := pristineV3()
	swap(files, "PROJECT", "version: \"3\"\n", "- api: {crdVersion: v1, namespaced: true}\n  domain: example.com\n  group: shelf\n  kind: Memcached\n  path: example.com/shop/apis/shelf/v1\n  version: v1\nversion: \"3\"\n")
	files["apis/shelf/v1/memcached_types.go"] = files["apis/cache/v1/memcached_types.go"]
	want := map[string][]string{}
	for _, group := range []string{"cache", "shelf"} {
		name := "config/rbac/" + group + "_memcached_editor_role.yaml"
		files[name] = "kind: ClusterRole\nmetadata:\n  labels:\n    mine: a\n  name: memcached-editor-role\nrules: []\n"
		want[name] = []string{"    mine: a\n  name: " + group + "-memcached-editor-role\nrules: []\n"}
	}
	expect(t, content(mustPlan(t, files).Result), want)
}

// TestDefaultAccount holds that a binding which may be for go/v2's account is
// named: today the manager has one of its own.
func TestDefaultAccount(t *testing.T) {
	for text, want := range map[string]int{
		"- kind: ServiceAccount # of the operator\n  name: default\n": 1, "- kind: ServiceAccount\n  name: mine\n": 0, "- kind: User\n  name: default\n": 0, "- kind: ServiceAccount\r\n  name: default\r\n": 1,
	} {
		files := pristineV3()
		files["config/rbac/mine.yaml"] = "kind: RoleBinding\nsubjects:\n" + text
		if e, _ := mustPlan(t, files).entry("config/rbac/mine.yaml"); len(e.Notes) != want {
			t.Errorf("%s: %v", text, e.Notes)
		}
	}
}

// TestNamedAsTheScaffold holds that a project may have a name that is in every
// scaffold.
func TestNamedAsTheScaffold(t *testing.T) {
	for _, name := range []string{"controller-manager", "manager", "system"} {
		files := pristineV3()
		swap(files, "PROJECT", "projectName: shop", "projectName: "+name)
		swap(files, defaultKustomization, "shop-system", name+"-system")
		swap(files, defaultKustomization, "namePrefix: shop-", "namePrefix: "+name+"-")
		if report := content(mustPlan(t, files).Result)[ReportName]; strings.Contains(report, "these were yours") {
			t.Errorf("%s: something was taken for the user's:\n%s", name, report)
		}
	}
}

// TestUnusedWebhooks holds that what go/v2 wrote for webhooks that never came
// goes, unless the user has changed it.
func TestUnusedWebhooks(t *testing.T) {
	const service = "config/webhook/service.yaml"
	files := pristineV3()
	for name := range files {
		if strings.HasSuffix(name, "memcached_webhook.go") {
			delete(files, name)
		}
	}
	files[service] = "apiVersion: v1\nkind: Service\nmetadata:\n  name: webhook-service\n  namespace: system\nspec:\n  ports:\n  - port: 443\n    targetPort: 9443\n  selector:\n    control-plane: controller-manager\n"
	if _, there := content(mustPlan(t, files).Result)[service]; there {
		t.Error("the service is still there")
	}
	files[service] += "  type: NodePort\n"
	if got := content(mustPlan(t, files).Result)[service]; !strings.Contains(got, "type: NodePort") {
		t.Errorf("got %q", got)
	}
}

// TestOldPrefix holds that a project without a name in PROJECT keeps the names
// of its objects.
func TestOldPrefix(t *testing.T) {
	files := pristineV3()
	swap(files, "PROJECT", "projectName: shop\n", "")
	for _, s := range [][2]string{{"shop-system", "till-system"}, {"namePrefix: shop-", "namePrefix: till-"}} {
		swap(files, defaultKustomization, s[0], s[1])
	}
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{"PROJECT": {"projectName: till\n"}, defaultKustomization: {"namespace: till-system\n", "namePrefix: till-\n"}, ReportName: {"!these were yours"}})
}

// TestConfigBuilds builds what is deployed after a migration with changes of
// the user's.
func TestConfigBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs kustomize")
	}
	files := pristineV3()
	for _, s := range [][3]string{
		{defaultKustomization, "Merge:", "Merge:\n- mine.yaml"}, {defaultKustomization, "bases:", "commonLabels:\n  team: carts\nbases:"}, {managerPath, "replicas: 1", "replicas: 3"},
	} {
		swap(files, s[0], s[1], s[2])
	}
	files["config/default/mine.yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: controller-manager\n  namespace: system\nspec:\n  template:\n    spec:\n      priorityClassName: high\n"
	migrated := content(mustPlan(t, files).Result)
	maps.Copy(migrated, map[string]string{ // what is generated
		"config/crd/bases/cache.example.com_memcacheds.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: memcacheds.cache.example.com}\n",
		"config/rbac/role.yaml":                              "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: manager-role}\n",
		"config/webhook/manifests.yaml":                      "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: mutating-webhook-configuration}\n",
	})
	dir := t.TempDir()
	built, err := kustomize.Build(t.Context(), kustomize.Source{Dir: dir, Files: hosttest.NewMemory(t, dir, migrated)}, "config/default")
	if err != nil {
		t.Fatal(err)
	}
	text := string(built)
	for _, part := range []string{"priorityClassName: high", "team: carts", "replicas: 3", "name: shop-controller-manager\n", "--metrics-bind-address=:8443"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// TestConfigEditsSurvive puts values of the user's at random places of config
// and looks for them in the result.
func TestConfigEditsSurvive(t *testing.T) {
	places := []struct{ file, way string }{
		{managerPath, "metadata/annotations/MARK"}, {managerPath, "spec/template/metadata/labels/MARK"}, {managerPath, "spec/template/spec/containers/[name=manager]/MARK"},
		{managerPath, "spec/template/spec/MARK"}, {managerPath, "spec/template/spec/containers/[name=manager]/resources/limits/MARK"}, {proxyPatch, "spec/template/spec/MARK"},
		{"config/rbac/service_account.yaml", "MARK"}, {"config/rbac/service_account.yaml", "metadata/annotations/MARK"}, {"config/rbac/role_binding.yaml", "metadata/labels/MARK"},
		{"config/prometheus/monitor.yaml", "spec/MARK"}, {"config/prometheus/monitor.yaml", "spec/endpoints/[path=~1metrics]/MARK"}, {"config/rbac/auth_proxy_service.yaml", "spec/MARK"},
		{defaultKustomization, "MARK"}, {rbacKustomization, "MARK"}, {"config/crd/kustomization.yaml", "MARK"}, {managerKustomization, "MARK"},
	}
	for seed := range hosttest.Rounds(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 2))
			files, marks := pristineV3(), map[string]bool{}
			for i := range 1 + r.IntN(8) {
				place, mark := places[r.IntN(len(places))], fmt.Sprintf("mark%dOf%d", i, seed)
				docs, err := yamledit.Documents([]byte(files[place.file]))
				if err != nil {
					t.Fatal(err)
				}
				way := strings.ReplaceAll(place.way, "MARK", mark)
				node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "x"}
				if !put(docs[len(docs)-1].Content[0], leaf{way: way, node: node}) {
					t.Fatalf("no place %s in %s", place.way, place.file)
				}
				text, err := joinDocuments(docs)
				if err != nil {
					t.Fatal(err)
				}
				files[place.file], marks[mark] = string(text), true
			}
			p := mustPlan(t, files)
			all := ""
			for _, text := range configOf(p) {
				all += text
			}
			for mark := range marks {
				if !strings.Contains(all, mark) {
					t.Errorf("%s is lost", mark)
				}
			}
			if again := mustPlan(t, content(p.Result)); again.Changes.Len() > 0 {
				t.Errorf("a second time changes %v", again.Changes.Paths())
			}
		})
	}
}
