package run

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/kube"
)

// TestExplainCSV has a sentence and the next step for every reason that OLM
// gives for a CSV that does not come up.
func TestExplainCSV(t *testing.T) {
	static := strings.Replace(groupYAML, "spec: {", "spec: {staticProvidedAPIs: true, ", 1)
	tests := map[string]struct {
		status string // of the CSV
		more   string // of the world
		want   string // after the CSV's name
		hint   string
		waits  bool
	}{
		"TooManyOperatorGroups": {status: "reason: TooManyOperatorGroups", more: groupYAML + strings.Replace(groupYAML, "mysdk-operators", "second", 1),
			want: "namespace ns has more than one OperatorGroup, and so OLM cannot tell what its operators watch", hint: "delete all OperatorGroups of the namespace but one"},
		"NoTargetNamespaces": {status: "reason: NoTargetNamespaces", more: groupYAML,
			want: "the OperatorGroup of namespace ns selects no namespace", hint: "correct spec.targetNamespaces"},
		"static APIs": {status: "reason: CannotModifyStaticOperatorGroupProvidedAPIs", more: static,
			want: "the OperatorGroup of namespace ns has a fixed list of APIs, and carts.shop.example.com is not among them", hint: "spec.staticProvidedAPIs of the OperatorGroup to false"},
		"install modes": {status: "reason: InvalidInstallModes, message: twice the same", more: groupYAML,
			want: "its install modes are not valid: twice the same", hint: "mysdk bundle validate"},
		"unknown requirements": {status: "reason: RequirementsUnknown, message: 'requirements not yet checked'", more: groupYAML,
			want: "requirements are not met: requirements not yet checked", waits: true},
		"not upgradeable": {status: "reason: OperatorConditionNotUpgradeable, message: a backup runs", more: groupYAML,
			want: "the installed operator says that it is not to be upgraded now: a backup runs", hint: "mysdk kubectl edit operatorcondition -n ns"},
		"install strategy":  {status: "reason: InvalidInstallStrategy, message: no deployments", more: groupYAML, want: "no deployments", hint: "correct the CSV"},
		"webhook":           {status: "reason: InvalidWebhookDescription, message: no such deployment", more: groupYAML, want: "no such deployment", hint: "correct the CSV"},
		"install component": {status: "reason: InstallComponentFailed, message: 'bad label'", more: groupYAML, want: "OLM cannot make the operator's objects: bad label", hint: "install strategy"},
		"APIService":        {status: "reason: APIServiceInstallFailed, message: 'no CA'", more: groupYAML, want: "OLM cannot make the operator's objects: no CA", hint: "install strategy"},
		"no reason":         {status: "message: x", more: groupYAML, want: "OLM has not processed it yet", waits: true},
		"progress":          {status: "reason: AllRequirementsMet, message: 'all requirements found,\n  attempting install'", more: groupYAML, want: "all requirements found, attempting install", waits: true},
		"conflict with nobody known": {status: "reason: OwnerConflict", more: groupYAML,
			want: "another operator that watches some of the same namespaces provides carts.shop.example.com", hint: "remove the other operator"},
		"conflict without a group": {status: "reason: OwnerConflict", more: strings.NewReplacer("shop.v1, namespace: ns", "store.v3, namespace: far", "csv-1", "csv-9").Replace(csvYAML) + succeeded,
			want: "carts.shop.example.com is already provided by ClusterServiceVersion far/store.v3, and in one namespace an API can have only one operator", hint: "the other's package: store"},
		"mode without a group": {status: "reason: UnsupportedOperatorGroup",
			want: "the OperatorGroup of its namespace asks for an install mode that it does not support", hint: "install it into another namespace"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := look(t.Context(), worldOf(t, csvYAML+"{phase: Failed, "+tc.status+"}\n"+tc.more), "ns", "", "shop.v1")
			if err != nil {
				t.Fatal(err)
			}
			f := c.checkCSV(c.csv())
			if d := cmp.Diff("ClusterServiceVersion ns/shop.v1: "+tc.want, f.String()); d != "" {
				t.Errorf("finding (-want +got):\n%s", d)
			}
			if !strings.Contains(f.Hint, tc.hint) || (f.after == waitOnly) != tc.waits {
				t.Errorf("hint %q, waits %v", f.Hint, f.after == waitOnly)
			}
			if !strings.HasPrefix(f.Condition, "phase Failed (") {
				t.Errorf("condition %q", f.Condition)
			}
		})
	}
}

// TestExplainResolution words what OLM's solver says.
func TestExplainResolution(t *testing.T) {
	for message, tc := range map[string]struct{ want, hint string }{
		"constraints not satisfiable: no operators found in package shop in the catalog referenced by subscription shop": {"the catalog has no package shop", "correct spec.channel"},
		"constraints not satisfiable: no operators found with name shop.v1 in channel alpha of package shop":             {`the catalog has no shop.v1 in channel "alpha"`, "spec.startingCSV"},
		"no operators found from catalog operatorhub in namespace olm referenced by subscription shop":                   {"nothing of CatalogSource ns/shop-catalog reaches namespace ns", "annotate operatorgroup -n ns mysdk-operators olm.operatorframework.io/exclude-global-namespace-resolution-"},
		"bundle shop.v1 requires an operator with package: db":                                                           {"something that the operator depends on is in no catalog", "describe subscription -n ns shop"},
		"failed to populate resolver cache":                                                                              {"failed to populate resolver cache", "describe subscription"},
		"@existing/ns//shop.v0 is not referenced by a subscription":                                                      {"a CSV of the package already exists, without a Subscription", "mysdk cleanup shop -n ns"},
	} {
		c, err := look(t.Context(), worldOf(t, subWith+`{conditions: [{type: ResolutionFailed, status: "True", reason: ConstraintsNotSatisfiable, message: "`+message+`"}]}`+
			strings.Replace(groupYAML, "labels: {", "annotations: {"+isolateAnnotation+": 'true'}, labels: {", 1)), "ns", "shop", "shop.v1")
		if err != nil {
			t.Fatal(err)
		}
		f := c.checkSubscription(t.Context(), nil)
		if f == nil || f.Problem != "OLM finds no way to install it: "+tc.want || !strings.Contains(f.Hint, tc.hint) || f.after != patient {
			t.Errorf("%s:\n%v, hint %q", message, f, f.Hint)
		}
	}
}

// TestCheckPlan looks at an InstallPlan in each of its phases.
func TestCheckPlan(t *testing.T) {
	const plan = "\n---\napiVersion: operators.coreos.com/v1alpha1\nkind: InstallPlan\nmetadata: {name: install-1, namespace: ns}\nstatus: "
	failed := func(message string) string {
		return "{phase: Failed, conditions: [{type: Installed, status: 'False', message: \"" + message + "\"}]}"
	}
	for name, tc := range map[string]struct {
		status, want, hint string
		waits              bool
	}{
		"complete":        {status: "{phase: Complete}"},
		"nothing to make": {status: "{phase: Installing, plan: [{status: Created, resource: {kind: Service, name: a}}]}"},
		"on its way": {status: "{phase: Installing, plan: [{status: Created, resource: {kind: Service, name: a}}, {status: Unknown, resource: {kind: Role, name: b}}, {status: Unknown, resource: {kind: Role, name: b}}, {status: NotPresent, resource: {kind: Secret, name: c}}]}",
			want: "not made yet: Role b, Secret c", waits: true},
		"no right":  {status: failed("roles is forbidden"), want: "it failed: roles is forbidden", hint: "the OperatorGroup's service account lacks a right"},
		"bad CRD":   {status: failed("risk of data loss updating: new CRD removes a storage version"), want: "it failed: risk of data loss", hint: "keep the schema compatible"},
		"no object": {status: failed("no match for kind X"), want: "it failed: no match for kind X", hint: "correct the bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := look(t.Context(), worldOf(t, subWith+"{installPlanRef: {name: install-1}}"+plan+tc.status), "ns", "shop", "")
			if err != nil {
				t.Fatal(err)
			}
			f := c.checkPlan(t.Context(), nil)
			if tc.want == "" {
				if f != nil {
					t.Errorf("found %s", f)
				}
				return
			}
			if f == nil || !strings.HasPrefix(f.Problem, tc.want) || !strings.Contains(f.Hint, tc.hint) || (f.after == waitOnly) != tc.waits {
				t.Errorf("found %v", f)
			}
		})
	}
}

// TestCheckDeployment walks to what is in the way of a Deployment.
func TestCheckDeployment(t *testing.T) {
	const set = "\n---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: old, namespace: ns, uid: rs-0, annotations: {deployment.kubernetes.io/revision: '1'}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: shop-manager, uid: dep-1}]}\nspec: {replicas: 0}\nstatus: {conditions: [{type: ReplicaFailure, status: 'True', message: of before}]}\n"
	replicas := func(message string) string {
		return strings.Replace(deploymentYAML, "conditions: [", "conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: '"+message+"'}, ", 1)
	}
	for name, tc := range map[string]struct{ world, want, hint string }{
		"no pods yet":       {deploymentYAML, "0 of 1 replicas are available", ""},
		"of before":         {deploymentYAML + set, "0 of 1 replicas are available", ""},
		"quota":             {replicas("exceeded quota: small"), "no pod can be made: exceeded quota: small", "raise the ResourceQuota"},
		"no such account":   {replicas(`error looking up service account ns/shop: serviceaccount "shop" not found`), "no pod can be made: error looking up service account", "OLM makes the account"},
		"pod security":      {replicas(`violates PodSecurity "restricted"`), "no pod can be made: violates PodSecurity", "securityContext"},
		"available":         {readyYAML, "", ""},
		"available, surged": {strings.Replace(readyYAML, "updatedReplicas: 1", "updatedReplicas: 1, unavailableReplicas: 1", 1), "1 of 1 replicas are available", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := look(t.Context(), worldOf(t, csvYAML+installing+tc.world), "ns", "", "shop.v1")
			if err != nil {
				t.Fatal(err)
			}
			f := c.checkDeployment(t.Context(), &world{}, c.deployments[0])
			if tc.want == "" {
				if f != nil {
					t.Errorf("found %s", f)
				}
				return
			}
			if f == nil || !strings.HasPrefix(f.Problem, tc.want) || !strings.Contains(f.Hint, tc.hint) {
				t.Errorf("found %v", f)
			}
		})
	}
}

// TestChooseChannel: that of the Subscription, else the bundle's.
func TestChooseChannel(t *testing.T) {
	for name, tc := range map[string]struct {
		sub    string
		bundle bundle.Bundle
		want   string
	}{
		"of the Subscription": {subYAML, bundle.Bundle{DefaultChannel: "beta"}, "alpha"}, "the default one": {"", bundle.Bundle{DefaultChannel: "beta", Channels: []string{"x"}}, "beta"},
		"the first one": {"", bundle.Bundle{Channels: []string{"x", "y"}}, "x"}, "none": {"", bundle.Bundle{}, "alpha"},
	} {
		in := &installer{bundle: &tc.bundle, before: &survey{}}
		if tc.sub != "" {
			in.before.subscription = worldOf(t, tc.sub).objects[0]
		}
		if got := in.chooseChannel(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestWhyRemove says why an operator cannot be upgraded in its place.
func TestWhyRemove(t *testing.T) {
	for status, want := range map[string]string{
		"{installedCSV: shop.v1, currentCSV: shop.v2}": "the bundle has changed under the same version",
		"{installedCSV: shop.v0, currentCSV: shop.v1}": "it is not healthy, and OLM upgrades only what is",
	} {
		in := &installer{csv: kube.Named(olmV1alpha1, "ClusterServiceVersion", "", "shop.v2"), before: &survey{subscription: worldOf(t, subWith+status).objects[0]}, content: "now"}
		if got := in.whyRemove(); got != want {
			t.Errorf("%s: %s", status, got)
		}
		in.content = in.before.subscription.GetAnnotations()[contentAnnotation]
		if got := in.whyRemove(); got != "it is not healthy, and OLM upgrades only what is" {
			t.Errorf("%s, the same bundle: %s", status, got)
		}
	}
	in := &installer{csv: kube.Named(olmV1alpha1, "ClusterServiceVersion", "", "shop.v0.0.2"), before: &survey{csvs: worldOf(t, liveCSV("2", "Pending")).objects}}
	if got := in.whyRemove(); got != "it has been left behind without a Subscription" {
		t.Errorf("without a Subscription: %s", got)
	}
	in.before.subscription = worldOf(t, subWith+"{installedCSV: a, currentCSV: a}").objects[0]
	in.before.stalled = kube.Named(olmV1alpha1, "ClusterServiceVersion", "ns", "b")
	if got := in.whyRemove(); got != "the upgrade to b was not completed" {
		t.Errorf("after an upgrade that was interrupted or has failed: %s", got)
	}
	in.before.stalled = nil
	if d := cmp.Diff([]string{"a", "shop.v0.0.2"}, in.standing()); d != "" {
		t.Errorf("standing (-want +got):\n%s", d)
	}
}

// TestImageHint takes what to type out of what the cluster was told of an image.
func TestImageHint(t *testing.T) {
	const told = "this cluster has no image shop:v9: build it with 'mysdk image build --image shop:v9'; the project here has the image controller:latest"
	if hint := (&chain{}).imageHint("shop:v9", told); hint != "build it with 'mysdk image build --image shop:v9'" {
		t.Errorf("hint %q", hint)
	}
	const here = "image shop:v9 cannot be used: it is for linux/arm64, and this machine runs darwin/arm64: run 'mysdk run bundle' or 'mysdk deploy' in the operator's project, which builds it from source"
	if hint := (&chain{}).imageHint("shop:v9", here); hint != here {
		t.Errorf("hint %q", hint)
	}
}

// TestOperatorsWithAnUpgradeToApprove: what runs is looked at, and the upgrade is
// no fault of it.
func TestOperatorsWithAnUpgradeToApprove(t *testing.T) {
	const plan = "\n---\napiVersion: operators.coreos.com/v1alpha1\nkind: InstallPlan\nmetadata: {name: install-2, namespace: ns}\nstatus: {phase: RequiresApproval}\n"
	sub := subWith + "{installedCSV: shop.v1, currentCSV: shop.v2, state: UpgradePending, installPlanRef: {name: install-2}}"
	for name, tc := range map[string]struct{ world, want string }{
		"healthy": {sub + plan + sourceYAML + csvYAML + succeeded + readyYAML, "shop.v1 Succeeded <nil>"},
		"broken":  {sub + plan + sourceYAML + csvYAML + "{phase: Failed, reason: InstallCheckFailed}" + deploymentYAML, "shop.v1 Failed Deployment ns/shop-manager: 0 of 1 replicas are available"},
		"gone":    {sub + plan + sourceYAML, "shop.v2  InstallPlan ns/install-2: waits for approval, as a Subscription in the namespace has installPlanApproval: Manual"},
	} {
		w := worldOf(t, tc.world)
		w.objects = append(w.objects, crdObject("clusterserviceversions.operators.coreos.com"))
		found, err := Operators(t.Context(), w, "ns", "shop")
		if err != nil {
			t.Fatal(err)
		}
		o := found[0]
		if got := fmt.Sprint(o.CSV, " ", o.Phase, " ", o.Finding); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
		if (o.Note == nil) != (name == "gone") || o.Note != nil && (!strings.Contains(o.Note.String(), "InstallPlan ns/install-2: the upgrade to shop.v2 waits for approval") || !strings.Contains(o.Note.Hint, "patch installplan")) {
			t.Errorf("%s: note %v", name, o.Note)
		}
	}
}
