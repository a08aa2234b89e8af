package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/clierr"
)

// running is a run of version 0.0.2 in that world.
func running(t *testing.T, manifests string, o Options) *installer {
	t.Helper()
	o.Namespace = "ns"
	w := worldOf(t, manifests)
	w.objects = append(w.objects, crdObject("clusterserviceversions.operators.coreos.com"))
	return &installer{Options: o, reader: w, bundle: makeBundle(t, "0.0.2", "")}
}

// taken is an operator in namespace far that provides the bundle's API to the
// namespaces of its OperatorGroup.
func taken(group string) string {
	return strings.NewReplacer("namespace: ns", "namespace: far", "spec: {version: 0.0.1}", "spec: {version: 0.0.1, customresourcedefinitions: {owned: [{name: carts.shop.example.com}]}}").Replace(liveCSV("1", "Succeeded")) +
		strings.NewReplacer("namespace: ns", "namespace: far", "{targetNamespaces: [ns]}", group).Replace(groupYAML)
}

const nsYAML = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n"

// TestPlan decides everything before the first write.
func TestPlan(t *testing.T) {
	tests := map[string]struct {
		world   string
		pkg     string // of the bundle; empty: shop
		options Options
		action  string
		mode    string
		channel string
		group   bool // one is applied
		err     string
		hint    string
		fails   bool // with the code of a failure
	}{
		"first":                 {world: nsYAML, action: Installed, mode: "AllNamespaces", channel: "beta", group: true},
		"into a new namespace":  {world: "", action: Installed, mode: "AllNamespaces", channel: "beta", group: true},
		"keeps the channel":     {world: nsYAML + ours("{installedCSV: shop.v0.0.1}") + liveCSV("1", "Succeeded"), action: Upgraded, mode: "AllNamespaces", channel: "alpha", group: true},
		"takes the group there": {world: nsYAML + strings.Replace(groupYAML, "{targetNamespaces: [ns]}", "{}", 1), action: Installed, mode: "AllNamespaces", channel: "beta"},
		"no such Secret":        {world: nsYAML, options: Options{PullSecrets: []string{"pull"}}, err: "--pull-secret-name: namespace ns has no Secret pull"},
		"another sort of Secret": {world: nsYAML + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: ns}\ntype: Opaque\n", options: Options{PullSecrets: []string{"pull"}},
			err: "Secret ns/pull: it is of type Opaque, which holds no registry's credentials"},
		"a Secret": {world: nsYAML + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: ns}\ntype: kubernetes.io/dockerconfigjson\ndata: {.dockerconfigjson: e30=}\n", options: Options{PullSecrets: []string{"pull"}},
			action: Installed, mode: "AllNamespaces", channel: "beta", group: true},
		"another's catalog": {world: nsYAML + "---\napiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata: {name: shop-catalog, namespace: ns}\nspec: {image: 'theirs:v1'}\n", fails: true,
			err: "CatalogSource ns/shop-catalog already exists and was not created by mysdk"},
		"another's Subscription": {world: nsYAML + strings.Replace(subYAML, "spec: {name: shop,", "spec: {name: cart,", 1), fails: true,
			err: "Subscription ns/shop already exists and is for package cart"},
		"no such account": {world: nsYAML, options: Options{ServiceAccount: "reader"}, err: "--service-account: namespace ns has no ServiceAccount reader"},
		"an API that is taken": {world: nsYAML + taken("{}"), fails: true,
			err: "carts.shop.example.com is already provided by ClusterServiceVersion far/shop.v0.0.1, which watches all namespaces", hint: "mysdk run bundle BUNDLE -n far"},
		"an API that is taken elsewhere": {world: nsYAML + taken("{targetNamespaces: [far]}"), options: Options{Mode: Mode{Type: allNamespaces}}, fails: true, err: "which watches namespace far"},
		"an upgrade of what has the API": {world: nsYAML + taken("{}") + ours("{installedCSV: shop.v0.0.1}") + liveCSV("1", "Succeeded"), action: Upgraded, mode: "AllNamespaces", channel: "alpha", group: true},
		"namespaces that another has": {world: nsYAML + groupYAML + taken("{targetNamespaces: [two]}") + ours("{installedCSV: shop.v0.0.1}") + liveCSV("1", "Succeeded"),
			options: Options{Mode: Mode{Type: allNamespaces}}, fails: true, err: "which watches namespace two"},
		"a copy is no operator": {world: nsYAML + strings.Replace(taken("{}"), "name: shop.v0.0.1,", "name: shop.v0.0.1, labels: {olm.copiedFrom: x},", 1), action: Installed, mode: "AllNamespaces", channel: "beta", group: true},
		"a long name":           {world: nsYAML, pkg: strings.Repeat("x", 50), err: "-catalog-server: must be no more than 63 characters", hint: "--no-push", fails: true},
		"a longer name":         {world: nsYAML, pkg: strings.Repeat("x", 56), options: Options{Embedded: true}, err: "-catalog: must be no more than 63", fails: true},
		"a long name elsewhere": {world: nsYAML, pkg: strings.Repeat("x", 50), options: Options{Embedded: true}, action: Installed, mode: "AllNamespaces", channel: "beta", group: true},
		"wrong mode":            {world: nsYAML, options: Options{Mode: Mode{Type: ownNamespace}}, err: "it does not support OwnNamespace"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := running(t, tc.world, tc.options)
			if tc.pkg != "" {
				in.bundle.Package = tc.pkg
			}
			err := in.plan(t.Context())
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(clierr.HintOf(err), tc.hint) || (clierr.CodeOf(err) == clierr.CodeUsage) == tc.fails {
					t.Errorf("error %v, hint %q", err, clierr.HintOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if in.action != tc.action || in.group.mode.String() != tc.mode || in.channel != tc.channel || (in.group.apply != nil) != tc.group {
				t.Errorf("%s in %s from channel %s, group %v", in.action, in.group.mode, in.channel, in.group.apply)
			}
		})
	}
}

// TestRender has the objects in the order in which OLM is to see them.
func TestRender(t *testing.T) {
	in := running(t, nsYAML, Options{Embedded: true, PullSecrets: []string{"pull"}, Credentials: func(images []string) ([]byte, error) {
		if diff := cmp.Diff([]string{"shop:v0.0.2", "proxy"}, images); diff != "" {
			t.Errorf("images (-want +got):\n%s", diff)
		}
		return []byte(`{"auths":{}}`), nil
	}})
	if err := in.plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := in.render(t.Context()); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, u := range in.apply {
		kinds = append(kinds, u.GetKind())
		if !isOurs(u) {
			t.Errorf("%s %s bears no label", u.GetKind(), u.GetName())
		}
	}
	if diff := cmp.Diff([]string{"Secret", "ConfigMap", "CatalogSource", "OperatorGroup", "Subscription"}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	in.Embedded = false
	made, err := in.catalog(t.Context(), &catalog.Catalog{Packages: []catalog.Package{{Schema: catalog.SchemaPackage, Name: "shop"}}})
	if err != nil || len(made) != 4 {
		t.Errorf("%d objects, %v", len(made), err)
	}
}

// TestRenderAgain gives the same objects for the same bundle: the API server
// finds nothing to change.
func TestRenderAgain(t *testing.T) {
	render := func(world string) []*unstructured.Unstructured {
		in := running(t, world, Options{Embedded: true})
		if err := errors.Join(in.plan(t.Context()), in.render(t.Context())); err != nil {
			t.Fatal(err)
		}
		return in.apply
	}
	first := render(nsYAML)
	sub := first[len(first)-1].Object
	sub["status"] = map[string]any{"installedCSV": "shop.v0.0.2", "currentCSV": "shop.v0.0.2"}
	sub["spec"].(map[string]any)["config"] = map[string]any{"env": []any{map[string]any{"name": "LOG", "value": "debug"}}} // of the user
	sub["spec"].(map[string]any)["installPlanApproval"] = "Manual"
	again := render(nsYAML + "---\n" + asYAML(t, first...) + liveCSV("2", "Succeeded"))
	delete(first[len(first)-1].Object, "status")
	if diff := cmp.Diff(asYAML(t, withoutGroup(first)...), asYAML(t, withoutGroup(again)...)); diff != "" {
		t.Errorf("the second run (-first +second):\n%s", diff)
	}
}

// TestPlanOfAnotherMode: an operator whose OperatorGroup gets another mode begins again,
// and so a rollback brings the group back; one whose group is only opened to the global
// catalogs stays.
func TestPlanOfAnotherMode(t *testing.T) {
	needy := makeBundle(t, "0.0.2", "  apiservicedefinitions: {required: [{name: jobs, kind: Job, group: jobs.example.com, version: v1}]}\n")
	plan := func(world string) *installer {
		in := running(t, world, Options{Embedded: true})
		in.bundle = needy
		if err := in.plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		return in
	}
	first := plan(nsYAML)
	if err := first.render(t.Context()); err != nil {
		t.Fatal(err)
	}
	var group *unstructured.Unstructured
	for _, u := range first.apply {
		switch u.GetKind() {
		case "Subscription":
			u.Object["status"] = map[string]any{"installedCSV": "shop.v0.0.2", "currentCSV": "shop.v0.0.2"}
		case "OperatorGroup":
			group = isolated(u)
		}
	}
	again := func() *installer {
		return plan(nsYAML + "---\n" + asYAML(t, first.apply...) + liveCSV("2", "Succeeded"))
	}
	if in := again(); in.action != Unchanged || in.group.apply == nil {
		t.Errorf("a group that is opened: %s %v", in.action, in.group.apply)
	}
	group.Object["spec"] = map[string]any{"targetNamespaces": []any{"ns"}}
	if in := again(); in.action != Reinstalled || in.whyRemove() != "the OperatorGroup of its namespace changes" {
		t.Errorf("%s: %s", in.action, in.whyRemove())
	}
	// An upgrade leaves the CSV of before in the group until the new one works.
	for modes, want := range map[string]string{"{type: OwnNamespace, supported: true}": Reinstalled, "{type: AllNamespaces, supported: true}": Upgraded} {
		old := strings.Replace(liveCSV("1", "Succeeded"), "spec: {", "spec: {installModes: ["+modes+"], ", 1)
		in := plan(nsYAML + "---\n" + strings.NewReplacer("shop.v0.0.2", "shop.v0.0.1", first.content, "other").Replace(asYAML(t, first.apply...)) + old)
		if in.action != want || want == Reinstalled && in.whyRemove() != "the OperatorGroup of its namespace changes" {
			t.Errorf("an upgrade of one with %s: %s: %s", modes, in.action, in.whyRemove())
		}
	}
}

// withoutGroup leaves the OperatorGroup out, which is not applied again.
func withoutGroup(list objects) objects {
	return list.where(func(u *unstructured.Unstructured) bool { return u.GetKind() != "OperatorGroup" })
}

// TestRefused finds what the API server would not take, before the first write.
func TestRefused(t *testing.T) {
	deployment := func(name, selector, labels string) string {
		return "metadata: {name: " + name + "}\nspec: {install: {spec: {deployments: [{name: shop, spec: {selector: " + selector + ", template: {metadata: {labels: " + labels + "}}}}]}}}\n"
	}
	for name, tc := range map[string]struct{ csv, want string }{
		"good":              {deployment("shop.v1", "{matchLabels: {app: shop}}", "{app: shop, more: x}"), ""},
		"no selector":       {deployment("shop.v1", "null", "{}"), ""},
		"bad name":          {deployment("Shop_v1", "null", "{}"), "the API server would refuse ClusterServiceVersion Shop_v1: metadata.name: a lowercase RFC 1123 subdomain"},
		"long name":         {deployment(strings.Repeat("a", 64), "null", "{}"), "the API server would refuse the label olm.owner=aaa"},
		"selects others":    {deployment("shop.v1", "{matchLabels: {app: shop}}", "{app: cart}"), `the API server would refuse Deployment shop: spec.selector "app=shop" does not match the labels "app=cart" of spec.template`},
		"unknown operator":  {deployment("shop.v1", "{matchExpressions: [{key: app, operator: Is, values: [shop]}]}", "{app: shop}"), "Deployment shop: spec.selector: "},
		"by an expression":  {deployment("shop.v1", "{matchExpressions: [{key: app, operator: In, values: [shop]}]}", "{app: shop}"), ""},
		"against its value": {deployment("shop.v1", "{matchExpressions: [{key: app, operator: DoesNotExist}]}", "{app: shop}"), "does not match"},
	} {
		err := refused(worldOf(t, "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"+tc.csv).objects[0])
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || clierr.HintOf(err) == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	in := running(t, nsYAML, Options{})
	in.bundle.CSVObject().SetName("Shop_v2")
	if err := in.plan(t.Context()); err == nil || !strings.Contains(err.Error(), "would refuse ClusterServiceVersion") {
		t.Errorf("the run goes on: %v", err)
	}
}
