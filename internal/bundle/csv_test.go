package bundle

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// authored is a base in which its author has written what is generated
// otherwise.
const authored = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v0.0.0}
spec:
  install:
    strategy: deployment
    spec:
      deployments:
      - {name: agent, spec: {replicas: 1}}
      - {name: shop-controller-manager, spec: {replicas: 9}}
      clusterPermissions:
      - serviceAccountName: shop-controller-manager
        rules:
        - {apiGroups: [shop.example.com], resources: [carts], verbs: [get, list, watch]}
        - {apiGroups: [""], resources: [nodes], verbs: [get]}
      - serviceAccountName: agent
        rules:
        - {apiGroups: [""], resources: [pods], verbs: [get]}
      permissions: null
  webhookdefinitions:
  - {generateName: mine.kb.io, type: MutatingAdmissionWebhook, deploymentName: agent}
  - {generateName: vcart.kb.io, type: MutatingAdmissionWebhook}
`

// TestAuthorWins: what the base has and the input has not stays; what both
// have is generated. All of it is said.
func TestAuthorWins(t *testing.T) {
	r := render(t, input(t, authored))
	rights := map[string]int{}
	for _, e := range objectsAt(r.csv.Object, "spec", "install", "spec", "clusterPermissions") {
		rights[textAt(e, "serviceAccountName")] = len(listAt(e, "rules"))
	}
	if diff := cmp.Diff(map[string]int{"agent": 1, "shop-controller-manager": 2}, rights); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, e := range objectsAt(r.csv.Object, "spec", "install", "spec", "deployments") {
		names = append(names, textAt(e, "name"))
		if n, _ := number(at(e, "spec", "replicas")); n != 1 {
			t.Errorf("%s has %d replicas", textAt(e, "name"), n)
		}
	}
	for _, e := range objectsAt(r.csv.Object, "spec", "webhookdefinitions") {
		names = append(names, textAt(e, "generateName")+" "+textAt(e, "type"))
	}
	want := []string{
		"shop-controller-manager", "agent",
		"ccarts.kb.io ConversionWebhook", "vcart.kb.io ValidatingAdmissionWebhook", "mine.kb.io MutatingAdmissionWebhook",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{
		"deployments: agent comes only from the base", "webhookdefinitions: mine.kb.io comes only from the base",
		"clusterPermissions: the base grants service account shop-controller-manager a permission that no role in the input grants",
		"clusterPermissions: the base grants service account agent a permission",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("not said: %s\n%s", want, notes)
		}
	}
	if strings.Count(notes, "\n") > 8 {
		t.Errorf("said more than there is:\n%s", notes)
	}
}

// TestBaseDeployments: a Deployment that the base alone has is treated as those
// of the input are: its images get digests and are related.
func TestBaseDeployments(t *testing.T) {
	const base = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v0.0.0}
spec:
  install:
    spec:
      deployments:
      - name: agent
        label: {app: agent}
        spec: {template: {spec: {containers: [{name: agent, image: "agent:1", env: [{name: RELATED_IMAGE_DB, value: "db:1"}]}]}}}
      - name: shop-controller-manager
        spec: {template: {spec: {containers: [{name: manager, image: "old:1"}]}}}
`
	in := input(t, base)
	refs := Images(in.Objects)
	for ref, want := range map[string]bool{"agent:1": true, "db:1": true, "old:1": false} {
		if slices.Contains(refs, ref) != want {
			t.Errorf("%s is to be pinned: %v; the images are %q", ref, !want, refs)
		}
	}
	in.Digests = map[string]string{"agent:1": "agent@sha256:aa", "db:1": "db@sha256:bb"}
	r := render(t, in)
	text := r.file("manifests/shop.clusterserviceversion.yaml")
	for _, want := range []string{"image: agent@sha256:aa", "value: db@sha256:bb", "    name: agent\n", "    name: db\n", "- label:\n          app: agent\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "agent:1") || strings.Contains(text, "db:1") {
		t.Errorf("a tag is left:\n%s", text)
	}

	// Where each image has its digest already, they are related all the same.
	pinned := input(t, strings.NewReplacer("agent:1", "agent@sha256:aa", "db:1", "db@sha256:bb").Replace(base))
	pinned.Digests = map[string]string{}
	if text := render(t, pinned).file("manifests/shop.clusterserviceversion.yaml"); !strings.Contains(text, "    name: agent\n") {
		t.Errorf("the agent's image is not related:\n%s", text)
	}
}

// TestBundleAsBase: a bundle that is taken for the base of the next one, with
// the same input, gives the same ClusterServiceVersion.
func TestBundleAsBase(t *testing.T) {
	first := render(t, input(t))
	in := input(t)
	in.Base, in.BaseName = first.csv, "bundle"
	second := render(t, in)
	if diff := cmp.Diff(first.file("manifests/shop.clusterserviceversion.yaml"), second.file("manifests/shop.clusterserviceversion.yaml")); diff != "" {
		t.Error(diff)
	}
}

// TestNewBase: a namespaced operator is for some namespaces, any other for all,
// and no base has an icon that is none.
func TestNewBase(t *testing.T) {
	for _, namespaced := range []bool{false, true} {
		base := NewBase("shop-operator", namespaced)
		for _, m := range objectsAt(base.Object, "spec", "installModes") {
			if want := (textAt(m, "type") != "AllNamespaces") == namespaced; m["supported"] != want {
				t.Errorf("namespaced %v: %v", namespaced, m)
			}
		}
		if got := textAt(base.Object, "spec", "displayName"); got != "Shop Operator" {
			t.Errorf("displayName %q", got)
		}
		if at(base.Object, "spec", "icon") != nil {
			t.Error("there is an icon")
		}
		if data, err := marshal(base.Object); err != nil {
			t.Error(err)
		} else if again, err := ParseBase(data, "base.yaml"); err != nil || again.GetName() != "shop-operator.v0.0.0" {
			t.Errorf("it reads back as %v, %v", again, err)
		}
	}
}

// TestModesForConversion: the modes of a namespaced operator give way to those
// that a conversion webhook needs, unless the author has chosen them.
func TestModesForConversion(t *testing.T) {
	modes := func(in Input) string {
		var list []string
		for _, m := range objectsAt(render(t, in).csv.Object, "spec", "installModes") {
			if m["supported"] == true {
				list = append(list, textAt(m, "type"))
			}
		}
		return strings.Join(list, " ")
	}
	in := input(t)
	in.Base = NewBase("shop", true)
	if got := modes(in); got != "AllNamespaces" {
		t.Errorf("supported: %s", got)
	}
	objectsAt(in.Base.Object, "spec", "installModes")[0]["supported"] = false
	if got := modes(in); got != "SingleNamespace MultiNamespace" {
		t.Errorf("chosen by the author, and now %s", got)
	}
	for _, u := range in.Objects {
		delete(mapAt(u.Object, "spec"), "conversion")
	}
	in.Base = NewBase("shop", true)
	if got := modes(in); got != "OwnNamespace SingleNamespace MultiNamespace" {
		t.Errorf("without conversion: %s", got)
	}
}

// TestFileNames are those of operator-sdk, as far as file systems permit.
func TestFileNames(t *testing.T) {
	for text, want := range map[string]string{
		"{apiVersion: v1, kind: Service, metadata: {name: a}}":                                                                                     "a_v1_service.yaml",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:a/b'}}":                                            "system-a-b_rbac.authorization.k8s.io_v1_clusterrole.yaml",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.x.y}, spec: {group: x.y, names: {plural: as}}}": "x.y_as.yaml",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.x.y}, spec: {group: x.y}}":                      "as.x.y_apiextensions.k8s.io_v1_customresourcedefinition.yaml",
	} {
		if got := fileName(parse(t, text)[0]); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestTree: what is not of the shape that is asked for is like nothing.
func TestTree(t *testing.T) {
	m := object{"a": object{"b": []any{"x", object{"c": int64(1)}, 2}}, "n": nil}
	if at(m, "a", "b", "c") != nil || mapAt(m, "n") != nil || textAt(m, "a") != "" || listAt(m, "a") != nil || at(nil, "x") != nil {
		t.Error("something was found where there is nothing")
	}
	if got := objectsAt(m, "a", "b"); len(got) != 1 || got[0]["c"] != int64(1) {
		t.Errorf("objects %v", got)
	}
	put(m, "v", "n", "deep", "er")
	if textAt(m, "n", "deep", "er") != "v" {
		t.Errorf("put made %v", m)
	}
	for v, want := range map[any]int64{int64(3): 3, 4: 4, 5.0: 5} {
		if n, ok := number(v); !ok || n != want {
			t.Errorf("%v: %d %v", v, n, ok)
		}
	}
	for _, v := range []any{"3", 1.5, nil} {
		if _, ok := number(v); ok {
			t.Errorf("%v is no whole number", v)
		}
	}
	for _, v := range []any{nil, "", []any{}, object{}} {
		if !empty(v) {
			t.Errorf("%#v says something", v)
		}
	}
	if empty(false) || empty(int64(0)) {
		t.Error("false and 0 say something")
	}
}
