package migrate

import (
	"strings"
	"testing"

	"github.com/example/mysdk/internal/clierr"
)

// TestUnreadable holds that what cannot be read stays where it is, with the
// position in the note.
func TestUnreadable(t *testing.T) {
	tests := map[string]struct{ name, text, note string }{
		"no YAML":                   {"deploy/role.yaml", "kind: Role\nrules: [\n", "line 2"},
		"rules that are no list":    {"deploy/role.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: x}\nrules: all\n", "line 4"},
		"a template that is a text": {"deploy/operator.yaml", "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template: many\n", "line 4"},
		"arguments that are a text": {
			"deploy/operator.yaml", strings.Replace(shopDeployment, "[{name: shop}", "[{name: shop, args: --x}", 1),
			"line 8: cannot unmarshal !!str `--x`",
		},
		"a file of more objects": {
			"deploy/all.yaml",
			"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: memcached-operator}\n---\nkind: [\n", "line ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := memcached(t)
			files[test.name] = test.text
			p := mustPlan(t, files)
			e, _ := p.entry(test.name)
			if e.Status != Needs || len(e.Notes) != 1 || !strings.Contains(e.Notes[0].Text, "cannot be read (yaml: ") || !strings.Contains(e.Notes[0].Text, test.note) {
				t.Errorf("got %+v, want %q", e, test.note)
			}
			got := content(p.Result)
			if got[test.name] != test.text {
				t.Errorf("it is %q now", got[test.name])
			}
			expect(t, got, map[string][]string{ReportName: {"- [ ] `" + test.name + "`: nothing of it was taken over"}})
		})
	}
}

// TestForeignFields holds that objects of other kinds may have fields of the
// names of those that migrate reads.
func TestForeignFields(t *testing.T) {
	files := memcached(t)
	const cr = "deploy/crds/cache.example.com_v1alpha1_memcached_cr.yaml"
	files[cr] = "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: mine}\nspec:\n  replicas: \"3\"\n  template: small\n"
	files["deploy/all.yaml"] = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: memcached-operator}\n---\napiVersion: other.io/v1\nkind: Thing\nmetadata: {name: x}\nrules: {a: b}\nspec: {template: text}\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"config/samples/cache_v1alpha1_memcached.yaml": {"replicas: \"3\"\n  template: small\n"},
		"config/extra/all.yaml":                        {"kind: Thing", "rules: {a: b}", "!ServiceAccount"},
	})
}

// TestObjects holds where the objects of deploy go.
func TestObjects(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	const kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n"
	const thing = "apiVersion: other.io/v1\nkind: Thing\nmetadata: {name: x}\n"
	tests := map[string]struct {
		files map[string]string
		want  map[string][]string
	}{
		"a file as it is": {map[string]string{"deploy/x.yaml": "# mine\n" + configMap}, map[string][]string{"config/extra/x.yaml": {"# mine\n" + configMap}}},
		"a part of a file": {map[string]string{"deploy/x.yml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n# mine\n" + configMap},
			map[string][]string{"config/extra/x.yml": {"kind: ConfigMap", "# mine", "!Namespace"}, "config/extra/kustomization.yaml": {"resources:\n- x.yml\n"}}},
		"what the tests of the cluster took": {map[string]string{"deploy/namespace-init.yaml": rbacObject("ClusterRole", "memcached-operator", podRules)}, map[string][]string{ReportName: {"| deploy/namespace-init.yaml | config has its content |"}}},
		"several files": {map[string]string{"deploy/x.yaml": configMap, "deploy/more/y.yaml": thing},
			map[string][]string{"config/extra/kustomization.yaml": {"- x.yaml\n", "- y.yaml\n"}, "config/extra/y.yaml": {thing}}},
		"a name of the scaffold's": {map[string]string{"deploy/extra/role.yaml": rbacObject("Role", "x", podRules) + bind("RoleBinding", "x", "Role", "other", "memcached-operator")},
			map[string][]string{"config/rbac/operand_role.yaml": {"kind: RoleBinding"}, "config/rbac/kustomization.yaml": {"- operand_role.yaml\n", "- role.yaml\n"}}},
		"templates":      {map[string]string{"deploy/chart/templates/x.yaml": "{{ if .a }}\n" + configMap}, map[string][]string{"deploy/chart/templates/x.yaml": {"{{ if .a }}"}}},
		"no YAML at all": {map[string]string{"deploy/x.json": "{}", "deploy/x.sh": "ls"}, map[string][]string{"deploy/x.json": {"{}"}, "deploy/x.sh": {"ls"}}},
		"a second Deployment": {map[string]string{"deploy/other.yaml": strings.ReplaceAll(shopDeployment, "shop", "other")},
			map[string][]string{"config/extra/other.yaml": {"name: other"}, "PROJECT": {"projectName: memcached-operator"}}},
		"a CRD of others in v1": {map[string]string{"deploy/crds/x.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.other.io}\nspec:\n  group: other.io\n  names: {kind: X}\n  preserveUnknownFields: false\n"},
			map[string][]string{"config/crd/bases/x.yaml": {"preserveUnknownFields: false"}, "config/crd/kustomization.yaml": {"- bases/x.yaml\n"}}},
		"a kustomization": {map[string]string{"deploy/kustomization.yaml": kustomization + "resources: [role.yaml, crds]\n"}, map[string][]string{"deploy/kustomization.yaml": {"[role.yaml, crds]"}, ReportName: {"`deploy/kustomization.yaml`: config has kustomizations of its own: take over"}}},
		"what a namespace says": {map[string]string{"deploy/namespace.yaml": namespace + "  labels: {team: carts}\n  annotations: {a: b}\n"},
			map[string][]string{managerPath: {"team: carts", "a: b"}, ReportName: {"| deploy/namespace.yaml | config has its content |", "\n- deploy had the operator in the namespace shop, config/default has it in memcached-operator-system: "}, "config/extra/namespace.yaml": {"!Namespace"}}},
		"a namespace of others": {map[string]string{"deploy/namespace.yaml": namespace + "---\n" + strings.ReplaceAll(namespace, "shop", "carts"), "deploy/operator.yaml": strings.Replace(shopDeployment, "{name: shop}", "{name: shop, namespace: shop}", 1)},
			map[string][]string{"config/extra/namespace.yaml": {"name: carts", "!name: shop"}, ReportName: {"`config/extra/namespace.yaml`: it is for a namespace of its own"}}},
		"namespaces of any": {map[string]string{"deploy/namespace.yaml": namespace + "---\n" + strings.ReplaceAll(namespace, "shop", "carts")}, map[string][]string{"config/extra/namespace.yaml": {"name: carts", "name: shop"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := memcached(t)
			for name, text := range test.files {
				files[name] = text
			}
			p := mustPlan(t, files)
			got := content(p.Result)
			expect(t, got, test.want)
			if again := mustPlan(t, got); again.Changes.Len() > 0 || again.From != LayoutCurrent {
				t.Errorf("a second time changes %v", again.Changes.Paths())
			}
		})
	}
}

// TestSameName holds that two files do not become one, where the directories in
// their names do not tell them apart.
func TestSameName(t *testing.T) {
	files := memcached(t)
	files["deploy/a/x.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	files["deploy/b/x.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
	files["deploy/b_x.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
	_, err := makePlan(t, files)
	if err == nil || !strings.Contains(err.Error(), "deploy/b/x.yaml and deploy/b_x.yaml would both become config/extra/b_x.yaml") || clierr.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
}

func TestImage(t *testing.T) {
	const before = "images:\n- name: controller\n  newName: controller\n  newTag: latest\n"
	tests := map[string]struct{ image, name, version string }{
		"with a tag":         {"quay.io/a/b:v1", "quay.io/a/b", `newTag: "v1"`},
		"without":            {"quay.io/a/b", "quay.io/a/b", `newTag: "latest"`},
		"of a port":          {"localhost:5000/a", "localhost:5000/a", `newTag: "latest"`},
		"of a port, and tag": {"localhost:5000/a:1", "localhost:5000/a", `newTag: "1"`},
		"by digest":          {"quay.io/a@sha256:00", "quay.io/a", "digest: sha256:00"},
		"by tag and digest":  {"localhost:5000/a:1@sha256:00", "localhost:5000/a", "digest: sha256:00"},
		"a placeholder":      {"REPLACE_IMAGE", "controller", "newTag: latest"},
		"a template":         {"{{ .Image }}", "controller", "newTag: latest"},
		"a variable":         {"${IMG}", "controller", "newTag: latest"},
		"none":               {"", "controller", "newTag: latest"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(nil)
			const file = "config/manager/kustomization.yaml"
			m.put(file, []byte(before))
			set := m.image(test.image)
			want := strings.NewReplacer("newName: controller", "newName: "+test.name, "newTag: latest", test.version).Replace(before)
			if got := string(m.out[file].data); got != want || set != (got != before) {
				t.Errorf("got %t, %s", set, got)
			}
		})
	}
}

func TestListIn(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"a new one":             {"", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- x.yaml\n"},
		"one that has it":       {"resources:\n- x.yaml\n", "resources:\n- x.yaml\n"},
		"behind others":         {"resources:\n- a.yaml\n", "resources:\n- a.yaml\n- x.yaml\n"},
		"above a marker":        {"resources:\n- a.yaml\n# +kubebuilder:scaffold:crdkustomizeresource\n\npatches:\n", "resources:\n- a.yaml\n- x.yaml\n# +kubebuilder:scaffold:crdkustomizeresource\n\npatches:\n"},
		"above that of samples": {"resources:\n# +kubebuilder:scaffold:manifestskustomizesamples\n", "resources:\n- x.yaml\n# +kubebuilder:scaffold:manifestskustomizesamples\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(nil)
			if test.text != "" {
				m.put("k.yaml", []byte(test.text))
			}
			for range 2 { // a second time changes nothing
				if m.listIn("k.yaml", "x.yaml"); m.err != nil {
					t.Fatal(m.err)
				}
				if got := string(m.out["k.yaml"].data); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			}
		})
	}
}

// TestSamplesOfOneName holds that the kustomization of the samples builds: it
// may have each object once.
func TestSamplesOfOneName(t *testing.T) {
	const sample = "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: twin}\nspec: {size: SIZE}\n"
	files := memcached(t)
	files["deploy/examples/large.yaml"] = strings.Replace(sample, "SIZE", "9", 1)
	files["deploy/examples/small.yaml"] = strings.Replace(sample, "SIZE", "1", 1)
	got := content(mustPlan(t, files).Result)
	twins, listed := 0, 0
	for name, text := range got {
		if strings.HasPrefix(name, "config/samples/") && strings.Contains(text, "name: twin") {
			twins++
			if strings.Contains(got["config/samples/kustomization.yaml"], "- "+strings.TrimPrefix(name, "config/samples/")+"\n") {
				listed++
			}
		}
	}
	if twins != 2 || listed != 1 {
		t.Errorf("%d files, %d listed in\n%s", twins, listed, got["config/samples/kustomization.yaml"])
	}
	expect(t, got, map[string][]string{ReportName: {"another sample is a Memcached of the name twin, too"}})
}

// TestDoubleKeys holds that a Deployment is read in spite of a key that is there twice
// where nothing is read: without it all roles would count as the operator's.
func TestDoubleKeys(t *testing.T) {
	files := memcached(t)
	const limits = "            limits:\n"
	swap(files, "deploy/operator.yaml", limits, limits+"              cpu: 1\n              cpu: 2\n")
	files["deploy/more.yaml"] = rbacObject("ClusterRole", "x", podRules) +
		bind("ClusterRoleBinding", "x", "ClusterRole", "other")
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{"config/extra/more.yaml": {"kind: ClusterRole\n"}, ReportName: {"!cannot be read"}})
}
