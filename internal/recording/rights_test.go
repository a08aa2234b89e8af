package recording

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

func rule(line int, groups, resources, verbs []string) Rule {
	return Rule{PolicyRule: rbacv1.PolicyRule{APIGroups: groups, Resources: resources, Verbs: verbs}, File: "c.go", Line: line}
}

func use(verb, group, resource string, denied bool) Use {
	u := Use{Right: Right{Verb: verb, Group: group, Resource: resource}, Allowed: 1}
	if denied {
		u.Allowed, u.Denied = 0, 1
	}
	return u
}

func TestCompareRights(t *testing.T) {
	one := func(s string) []string { return []string{s} }
	tests := map[string]struct {
		uses    []Use
		rules   []Rule
		missing []string
		unused  []string // line: rights → marker
	}{
		"as granted": {
			[]Use{use("get", "apps", "deployments", false), use("watch", "apps", "deployments", false)},
			[]Rule{rule(1, one("apps"), one("deployments"), []string{"get", "list", "watch"})}, nil, nil,
		},
		"refused": {
			[]Use{use("list", "", "secrets", true)},
			[]Rule{rule(1, one(""), one("configmaps"), one("*"))}, one("list secrets"), one("1: * configmaps → all"),
		},
		"refused once, granted since": {
			[]Use{{Right: Right{Verb: "list", Resource: "secrets"}, Allowed: 2, Denied: 1}},
			[]Rule{rule(1, one(""), one("secrets"), one("list"))}, nil, nil,
		},
		"refused in all namespaces, granted in one": {
			[]Use{{Right: Right{Verb: "list", Resource: "secrets"}, Namespaces: one(""), Denied: 1}},
			[]Rule{{PolicyRule: rbacv1.PolicyRule{Verbs: one("list"), APIGroups: one(""), Resources: one("secrets")}, Namespace: "shop"}}, one("list secrets"), nil,
		},
		"refused in the Role's own namespace, granted since": {
			[]Use{{Right: Right{Verb: "get", Resource: "secrets"}, Namespaces: one("shop"), Denied: 1}},
			[]Rule{{PolicyRule: rbacv1.PolicyRule{Verbs: one("get"), APIGroups: one(""), Resources: one("secrets")}, File: "c.go", Line: 1, Namespace: "shop"}}, nil, nil,
		},
		"allowed to an administrator only": {[]Use{use("delete", "", "pods", false)}, nil, one("delete pods"), nil},
		"surplus verbs": {
			[]Use{use("get", "apps", "deployments", false), use("patch", "apps", "deployments/status", false)},
			[]Rule{rule(1, one("apps"), []string{"deployments"}, []string{"get", "delete"}), rule(2, one("apps"), one("deployments/status"), []string{"get", "patch"})},
			nil, []string{"1: delete deployments.apps → +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get", "2: get deployments/status.apps → +kubebuilder:rbac:groups=apps,resources=deployments/status,verbs=patch"},
		},
		"resources that need different verbs": {
			[]Use{use("get", "", "pods", false), use("list", "", "services", false)},
			[]Rule{rule(1, one(""), []string{"pods", "services"}, []string{"get", "list"})},
			nil, one("1: get services, list pods → +kubebuilder:rbac:groups=core,resources=pods,verbs=get; +kubebuilder:rbac:groups=core,resources=services,verbs=list"),
		},
		"in one namespace": {
			[]Use{{Right: Right{Verb: "get", Resource: "secrets"}, Names: one("a"), Namespaces: one("shop"), Allowed: 1}},
			[]Rule{{PolicyRule: rbacv1.PolicyRule{Verbs: []string{"get", "update"}, APIGroups: one(""), Resources: one("secrets"), ResourceNames: one("a")}, File: "c.go", Line: 1, Namespace: "shop"}},
			nil, one("1: update secrets → +kubebuilder:rbac:groups=core,namespace=shop,resources=secrets,resourceNames=a,verbs=get"),
		},
		"in the namespace that config/default sets": {
			[]Use{{Right: Right{Verb: "get", Resource: "secrets"}, Namespaces: one("shop-system"), Denied: 1}},
			[]Rule{{PolicyRule: rbacv1.PolicyRule{Verbs: []string{"get", "update"}, APIGroups: one(""), Resources: one("secrets")}, File: "c.go", Line: 1, Namespace: "shop-system", Marked: "system"}},
			nil, one("1: update secrets → +kubebuilder:rbac:groups=core,namespace=system,resources=secrets,verbs=get"),
		},
		"wildcards": {
			[]Use{use("get", "batch", "jobs", false), use("update", "batch", "jobs/status", false)},
			[]Rule{rule(1, one("*"), one("*"), one("get")), rule(2, one("batch"), one("*/status"), one("update"))}, nil, nil,
		},
		"names": {
			[]Use{{Right: Right{Verb: "get", Resource: "configmaps"}, Names: one("b"), Denied: 1}},
			[]Rule{{PolicyRule: rbacv1.PolicyRule{Verbs: one("get"), APIGroups: one(""), Resources: one("configmaps"), ResourceNames: one("a")}}},
			one("get configmaps"), nil,
		},
		"one name granted, another refused": {
			[]Use{{Right: Right{Verb: "get", Resource: "secrets"}, Names: []string{"a", "b"}, Allowed: 1, Denied: 1}},
			[]Rule{{PolicyRule: rbacv1.PolicyRule{Verbs: one("get"), APIGroups: one(""), Resources: one("secrets"), ResourceNames: one("a")}, File: "c.go", Line: 1}},
			one("get secrets"), nil,
		},
		"each name granted": {
			[]Use{{Right: Right{Verb: "get", Resource: "secrets"}, Names: []string{"a", "b"}, Allowed: 2}},
			[]Rule{
				{PolicyRule: rbacv1.PolicyRule{Verbs: one("get"), APIGroups: one(""), Resources: one("secrets"), ResourceNames: one("a")}},
				{PolicyRule: rbacv1.PolicyRule{Verbs: one("get"), APIGroups: one(""), Resources: one("secrets"), ResourceNames: one("b")}, Namespace: "shop"},
			}, nil, nil,
		},
		"refused in another namespace": {
			[]Use{{Right: Right{Verb: "create", Resource: "configmaps"}, Names: one("a"), Namespaces: one("other"), Denied: 1}},
			[]Rule{{PolicyRule: rbacv1.PolicyRule{Verbs: one("create"), APIGroups: one(""), Resources: one("configmaps")}, File: "c.go", Line: 1, Namespace: "shop"}},
			one("create configmaps"), one("1: create configmaps → all"),
		},
		"paths": {
			[]Use{{Right: Right{Verb: "get", Path: "/metrics"}, Denied: 1}, {Right: Right{Verb: "get", Path: "/apis/apps/v1"}, Allowed: 1}},
			EveryonesRules(), one("get /metrics"), nil,
		},
		"finalizers of owners": {nil, []Rule{rule(1, one("example.com"), one("shops/finalizers"), one("update"))}, nil, nil},
		"written by hand":      {nil, []Rule{{PolicyRule: rbacv1.PolicyRule{Verbs: one("get"), APIGroups: one(""), Resources: one("pods")}}}, nil, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := CompareRights(tc.uses, tc.rules)
			var missing, unused []string
			for _, u := range got.Missing {
				missing = append(missing, u.Right.String())
			}
			for _, u := range got.Unused {
				text := string(rune('0'+u.Line)) + ": "
				for i, r := range u.Rights {
					if i > 0 {
						text += ", "
					}
					text += r.String()
				}
				if text += " → " + strings.Join(u.Markers, "; "); u.All {
					text += "all"
				}
				unused = append(unused, text)
			}
			if diff := cmp.Diff(tc.missing, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.unused, unused); diff != "" {
				t.Errorf("unused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarkersFor(t *testing.T) {
	got := MarkersFor([]Right{
		{Verb: "watch", Resource: "pods"}, {Verb: "list", Resource: "pods"}, {Verb: "list", Resource: "services"}, {Verb: "watch", Resource: "services"},
		{Verb: "get", Group: "apps", Resource: "deployments/scale"}, {Verb: "get", Path: "/metrics"}, {Verb: "escalate", Group: "apps", Resource: "deployments/scale"},
	}, "", nil)
	want := []string{
		"+kubebuilder:rbac:groups=apps,resources=deployments/scale,verbs=get;escalate",
		"+kubebuilder:rbac:groups=core,resources=pods;services,verbs=list;watch",
		"+kubebuilder:rbac:urls=/metrics,verbs=get",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMarkersOf: what was asked for in all namespaces, or was refused in spite of a Role,
// needs a ClusterRole, in a project that has a Role, too.
func TestMarkersOf(t *testing.T) {
	pods, secrets := use("list", "", "pods", true), use("get", "", "secrets", true)
	pods.Namespaces, secrets.Namespaces = []string{"", "shop"}, []string{"shop"}
	uses := []Use{pods, secrets, {Right: Right{Verb: "list", Resource: "secrets"}, Namespaces: []string{"shop"}}}
	for namespace, want := range map[string][]string{
		"":            {"+kubebuilder:rbac:groups=core,resources=pods,verbs=list", "+kubebuilder:rbac:groups=core,resources=secrets,verbs=get;list"},
		"shop-system": {"+kubebuilder:rbac:groups=core,resources=pods,verbs=list", "+kubebuilder:rbac:groups=core,namespace=shop-system,resources=secrets,verbs=get;list"},
	} {
		if diff := cmp.Diff(want, MarkersOf(uses, namespace)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", namespace, diff)
		}
	}
	inShop := Rule{PolicyRule: rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}}, Namespace: "shop-system"}
	missing := CompareRights([]Use{secrets}, []Rule{inShop}).Missing
	if diff := cmp.Diff([]string{"+kubebuilder:rbac:groups=core,resources=secrets,verbs=get"}, MarkersOf(missing, "shop-system")); diff != "" {
		t.Errorf("refused with a Role (-want +got):\n%s", diff)
	}
}

func TestSummary(t *testing.T) {
	got := Summary([]Right{
		{Verb: "list", Resource: "pods"}, {Verb: "get", Resource: "services"}, {Verb: "get", Resource: "pods"}, {Verb: "list", Resource: "services"},
		{Verb: "delete", Group: "apps", Resource: "deployments"}, {Verb: "get", Path: "/metrics"},
	})
	if diff := cmp.Diff([]string{"delete deployments.apps", "get /metrics", "get,list pods, services"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInProject(t *testing.T) {
	for frame, want := range map[string]bool{
		"main.go:12": true, "internal/controller/shop.go:7": true, "example.org/helper/pkg/helper.go:9": false,
	} {
		if got := InProject(frame); got != want {
			t.Errorf("%s: %v", frame, got)
		}
	}
}
