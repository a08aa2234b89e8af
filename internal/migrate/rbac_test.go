package migrate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newMigration is one of texts, with nothing decided yet.
func newMigration(files map[string]string) *migration {
	m := &migration{module: "example.com/shop", files: map[string]file{}, out: map[string]output{}, dropped: map[string]string{}}
	for name, text := range files {
		m.files[name] = file{data: []byte(text), mode: 0o644}
	}
	m.readDeploy()
	return m
}

func TestPackageMarkers(t *testing.T) {
	const pods, carts = "// +kubebuilder:rbac:groups=\"\",resources=pods,verbs=get\n", "// +kubebuilder:rbac:groups=a,resources=carts,verbs=get\n"
	const reconcile = "func Reconcile() {}"
	runPasses(t, map[string]passCase{
		"above the comment": {"", pods + carts + "// Reconcile does it.\n" + reconcile, "", pods + carts + "\n// Reconcile does it.\n" + reconcile},
		"below the comment": {"", "// Reconcile does it.\n" + pods + reconcile, "", pods + "\n// Reconcile does it.\n" + reconcile},
		"alone":             {"", pods + reconcile, "", pods + "\n" + reconcile},
		"set off":           {"", pods + "\n// Reconcile does it.\n" + reconcile, "", ""},
		"of something else": {"", "// Reconcile does it.\n// +marker\n" + reconcile, "", ""},
	}, commonPasses(nil)...)
}

// rbacObject is a role, or a binding, of the operator of the tests.
func rbacObject(kind, name, rest string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n" + rest + "---\n"
}

// bind binds a role to service accounts.
func bind(kind, role, refKind string, accounts ...string) string {
	text := "roleRef: {kind: " + refKind + ", name: " + role + "}\nsubjects:\n"
	for _, a := range accounts {
		text += "- {kind: ServiceAccount, name: " + a + "}\n"
	}
	return rbacObject(kind, role, text)
}

const (
	shopDeployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  template:\n    spec:\n      serviceAccountName: shop\n      containers: [{name: shop}]\n"
	podRules       = "rules:\n- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [get]\n"
)

// TestMarkRules holds what the rules of roles become.
func TestMarkRules(t *testing.T) {
	const marker = "// +kubebuilder:rbac:"
	tests := map[string]struct {
		roles string
		want  []string
		note  string // part of a note
	}{
		"a ClusterRole": {rbacObject("ClusterRole", "shop", podRules), []string{`groups="",resources=pods,verbs=get`}, ""},
		"a Role":        {rbacObject("Role", "shop", podRules), []string{`groups="",namespace=shop-system,resources=pods,verbs=get`}, ""},
		"both": {rbacObject("Role", "shop", podRules) + rbacObject("ClusterRole", "shop", podRules),
			[]string{`groups="",namespace=shop-system,resources=pods,verbs=get`, `groups="",resources=pods,verbs=get`}, ""},
		"rules are not joined": {rbacObject("ClusterRole", "shop", podRules+"- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [list]\n"),
			[]string{`groups="",resources=pods,verbs=get`, `groups="",resources=pods,verbs=list`}, ""},
		"the same rule twice": {rbacObject("ClusterRole", "a", podRules) + rbacObject("ClusterRole", "b", podRules), []string{`groups="",resources=pods,verbs=get`}, ""},
		"names": {rbacObject("ClusterRole", "shop", "rules:\n- apiGroups: [a.io]\n  resources: [x, y]\n  resourceNames: [one, 'two:three']\n  verbs: [get]\n"),
			[]string{`groups=a.io,resources=x;y,resourceNames=one;"two:three",verbs=get`}, ""},
		"the operator's own name": {rbacObject("Role", "shop", "rules:\n- apiGroups: [apps]\n  resources: [deployments/finalizers]\n  resourceNames: [shop]\n  verbs: [update]\n"),
			[]string{`groups=apps,namespace=shop-system,resources=deployments/finalizers,resourceNames=shop,verbs=update`}, ""},
		"URLs": {rbacObject("ClusterRole", "shop", "rules:\n- nonResourceURLs: [/metrics, /healthz/*]\n  verbs: [get]\n"),
			[]string{`urls=/metrics;"/healthz/*",verbs=get`}, ""},
		"several groups":                     {rbacObject("ClusterRole", "shop", "rules:\n- {apiGroups: ['', '*'], resources: ['*'], verbs: ['*']}\n"), []string{`groups=core;*,resources="*",verbs="*"`}, ""},
		"a rule that allows nothing":         {rbacObject("ClusterRole", "shop", "rules:\n- {apiGroups: [a.io], resources: [x]}\n"), nil, ""},
		"a role without rules":               {rbacObject("ClusterRole", "shop", ""), nil, ""},
		"of somebody else":                   {rbacObject("ClusterRole", "x", podRules) + bind("ClusterRoleBinding", "x", "ClusterRole", "other"), nil, ""},
		"of the operator and somebody else":  {rbacObject("ClusterRole", "x", podRules) + bind("ClusterRoleBinding", "x", "ClusterRole", "other", "shop"), []string{`groups="",resources=pods,verbs=get`}, ""},
		"for users of the cluster":           {rbacObject("ClusterRole", "x", "  labels: {rbac.authorization.k8s.io/aggregate-to-edit: 'true'}\n"+podRules), nil, ""},
		"for users, and bound":               {rbacObject("ClusterRole", "x", "  labels: {rbac.authorization.k8s.io/aggregate-to-edit: 'true'}\n"+podRules) + bind("ClusterRoleBinding", "x", "ClusterRole", "shop"), []string{`groups="",resources=pods,verbs=get`}, ""},
		"a ClusterRole in one namespace":     {rbacObject("ClusterRole", "x", podRules) + bind("RoleBinding", "x", "ClusterRole", "shop"), []string{`groups="",resources=pods,verbs=get`}, "A RoleBinding gave the operator the ClusterRole x in one namespace"},
		"a Role of the name of that of all":  {rbacObject("Role", "x", podRules) + bind("ClusterRoleBinding", "x", "ClusterRole", "other"), []string{`groups="",namespace=shop-system,resources=pods,verbs=get`}, ""},
		"a role in a file that is not valid": {"kind: [\n", nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(map[string]string{"deploy/operator.yaml": shopDeployment, "deploy/rbac.yaml": test.roles})
			if err := m.markRules(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(string(m.out["internal/controller/rbac.go"].data)) {
				if rest, ok := strings.CutPrefix(strings.TrimSpace(line), marker); ok {
					got = append(got, rest)
				}
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			checkNotes(t, m.general, test.note)
		})
	}
}

// checkNotes holds that one note has a text, or that there is none.
func checkNotes(t *testing.T, notes []Note, part string) {
	t.Helper()
	switch {
	case part == "" && len(notes) > 0, part != "" && len(notes) != 1, part != "" && !strings.Contains(notes[0].Text, part):
		t.Errorf("the notes are %v, want one with %q", notes, part)
	}
}

// TestMarkersPlace holds that markers stand above one Reconcile, and that
// those that are there already do not come again.
func TestMarkersPlace(t *testing.T) {
	const have = `// +kubebuilder:rbac:groups=apps,namespace=memcached-operator-system,resources=deployments,verbs="*"`
	files := memcached(t)
	other := strings.NewReplacer("package memcached", "package other", "ReconcileMemcached", "ReconcileOther").Replace(files["pkg/controller/memcached/memcached_controller.go"])
	files["pkg/controller/other/other_controller.go"] = other
	files["pkg/controller/add_other.go"] = strings.ReplaceAll(files["pkg/controller/add_memcached.go"], "memcached.Add", "other.Add")
	swap(files, "pkg/controller/add_other.go", "controller/memcached", "controller/other")
	swap(files, "pkg/controller/memcached/memcached_controller.go", "func (r *ReconcileMemcached) Reconcile(", have+"\nfunc (r *ReconcileMemcached) Reconcile(")
	got := content(mustPlan(t, files).Result)
	all := ""
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if strings.HasSuffix(name, ".go") {
			all += got[name]
		}
	}
	if n := strings.Count(all, have); n != 1 {
		t.Errorf("the marker stands there %d times", n)
	}
	if n := strings.Count(all, "resources=pods;configmaps;events"); n != 1 {
		t.Errorf("the rule for pods stands there %d times", n)
	}
	if _, ok := got["internal/controller/rbac.go"]; ok {
		t.Error("there is a file for the markers though there is a Reconcile")
	}
}

// TestNamespaced holds how it is told whether an operator is namespaced.
func TestNamespaced(t *testing.T) {
	tests := map[string]struct {
		roles     string
		clustered bool
		want      bool
	}{
		"nothing":                            {"", false, false},
		"a Role":                             {rbacObject("Role", "shop", podRules), false, true},
		"a ClusterRole":                      {rbacObject("ClusterRole", "shop", podRules), false, false},
		"both":                               {rbacObject("Role", "shop", podRules) + rbacObject("ClusterRole", "shop", podRules), false, false},
		"a kind outside of namespaces":       {rbacObject("Role", "shop", podRules), true, false},
		"a ClusterRole of somebody else":     {rbacObject("Role", "shop", podRules) + rbacObject("ClusterRole", "x", podRules) + bind("ClusterRoleBinding", "x", "ClusterRole", "other"), false, true},
		"a ClusterRole for users":            {rbacObject("Role", "shop", podRules) + rbacObject("ClusterRole", "x", "  labels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}\n"), false, true},
		"a ClusterRole of both":              {rbacObject("Role", "shop", podRules) + rbacObject("ClusterRole", "x", podRules) + bind("ClusterRoleBinding", "x", "ClusterRole", "other", "shop"), false, false},
		"a Role of somebody else and no own": {rbacObject("Role", "x", podRules) + bind("RoleBinding", "x", "Role", "other"), false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(map[string]string{"deploy/operator.yaml": shopDeployment, "deploy/rbac.yaml": test.roles})
			m.apis = []*apiVersion{{kinds: []kind{{name: "A"}, {name: "B", clustered: test.clustered}}}}
			if got := m.isNamespaced(); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestRolesThatStay holds which roles and bindings go to config/rbac, which is
// deployed with the operator, and which are only kept.
func TestRolesThatStay(t *testing.T) {
	const others = "it is not about the operator's own account, so it is not deployed"
	tests := map[string]struct {
		text   string
		status Status // of more.yaml, empty where none is expected
		want   []string
		note   string
	}{
		"for users": {rbacObject("ClusterRole", "edit", "  labels: {rbac.authorization.k8s.io/aggregate-to-edit: 'true'}\n"+podRules), Clean, []string{"aggregate-to-edit"}, ""},
		"shared": {rbacObject("Role", "x", podRules) + bind("RoleBinding", "x", "Role", "other", "memcached-operator"), Needs,
			[]string{"kind: Role\n", "kind: RoleBinding\n"}, "the RoleBinding x is for the ServiceAccount memcached-operator, which is controller-manager now"},
		"a role of the cluster": {bind("RoleBinding", "view", "ClusterRole", "memcached-operator"), Needs, []string{"name: view"}, "which is controller-manager now"},
		"another account":       {"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: other}\n", Needs, []string{"name: other"}, others},
		"of a test":             {bind("ClusterRoleBinding", "cluster-admin", "ClusterRole", "test-runner"), Needs, []string{"name: cluster-admin"}, others},
		"the operator's":        {rbacObject("Role", "x", podRules) + bind("RoleBinding", "x", "Role", "memcached-operator"), "", nil, ""},
		"a part of a file": {rbacObject("Role", "x", podRules) + "# of others\n" + rbacObject("Role", "z", podRules) + bind("RoleBinding", "z", "Role", "other"), Needs,
			[]string{"!name: x\n", "name: z\n"}, others},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := memcached(t)
			files["deploy/more.yaml"] = test.text
			p := mustPlan(t, files)
			to := "config/rbac/more.yaml"
			if test.note == others {
				to = "config/extra/more.yaml"
			}
			e, ok := p.entry(to)
			if e.Status != test.status || ok != (test.status != "") {
				t.Fatalf("got %+v, want %q", e, test.status)
			}
			checkNotes(t, e.Notes, test.note)
			got := content(p.Result)
			expect(t, got, map[string][]string{to: test.want})
			if listed := strings.Contains(got["config/rbac/kustomization.yaml"], "- more.yaml\n"); listed != (ok && test.note != others) {
				t.Errorf("listed in the kustomization: %v", listed)
			}
			if _, there := got["deploy/more.yaml"]; there {
				t.Error("it is still in deploy")
			}
		})
	}
}

// TestRightsOfExamples holds that what tests and examples are allowed is no part
// of what the operator is, even by the operator's own account.
func TestRightsOfExamples(t *testing.T) {
	files := memcached(t)
	files["deploy/examples/oauth/more.yaml"] = rbacObject("ClusterRole", "proxy", "rules:\n- apiGroups: [authorization.k8s.io]\n  resources: [subjectaccessreviews]\n  verbs: [create]\n") +
		bind("ClusterRoleBinding", "proxy", "ClusterRole", "memcached-operator")
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"config/extra/more.yaml": {"subjectaccessreviews"}, "config/rbac/kustomization.yaml": {"!more.yaml"}, "PROJECT": {"namespaced: true"},
		"internal/controller/memcached_controller.go": {"!subjectaccessreviews"}, ReportName: {"- [ ] `config/extra/more.yaml`: it is not about the operator's own account"},
	})
}

// TestForeignRole holds that a role for another namespace stays an object of
// its own.
func TestForeignRole(t *testing.T) {
	files := memcached(t)
	swap(files, "deploy/operator.yaml", "metadata:\n", "metadata:\n  namespace: ours\n")
	files["deploy/other_role.yaml"] = rbacObject("Role", "reader", "  namespace: theirs\nrules:\n- apiGroups: [\"\"]\n  resources: [secrets]\n  verbs: [get]\n") +
		rbacObject("RoleBinding", "reader", "  namespace: theirs\nroleRef: {kind: Role, name: reader, apiGroup: rbac.authorization.k8s.io}\nsubjects: [{kind: ServiceAccount, name: memcached-operator, namespace: ours}]\n")
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"config/extra/other_role.yaml":                {"namespace: theirs\nrules:", "kind: RoleBinding"},
		"config/extra/kustomization.yaml":             {"- other_role.yaml\n"},
		"config/rbac/kustomization.yaml":              {"!other_role"},
		ReportName:                                    {"`config/extra/other_role.yaml`: it is for a namespace of its own"},
		"internal/controller/memcached_controller.go": {"!resources=secrets"},
	})
}
