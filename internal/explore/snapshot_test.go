package explore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

// podOf is a pod whose name the API server has made up.
func podOf(t *testing.T, namespace, suffix, ip string) *unstructured.Unstructured {
	return object(t, `
apiVersion: v1
kind: Pod
metadata: {name: web-`+suffix+`, generateName: web-, namespace: `+namespace+`, uid: `+suffix+`}
spec:
  containers: [{name: c, volumeMounts: [{name: kube-api-access-`+suffix+`, mountPath: /s}]}]
  nodeName: n-`+suffix+`
status: {podIP: `+ip+`, startTime: "`+suffix+`"}
`)
}

// TestSameStates: two runs of the same differ in nothing that counts.
func TestSameStates(t *testing.T) {
	list := func(ns, a, b string) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{
			podOf(t, ns, a, "10.0.0.1"), podOf(t, ns, b, "10.0.0.2"),
			object(t, "apiVersion: v1\nkind: Shop\nmetadata: {name: s}\nstatus: {pods: [web-"+a+", web-"+b+"], url: s."+ns+".svc, lastTransitionTime: "+a+"}\n"),
			object(t, "apiVersion: v1\nkind: Clock\nmetadata: {name: s}\nspec: {format: x, runtime: y}\nstatus: {at: "+a+", createdAt: "+a+", timestamp: "+a+"}\n"),
			object(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {password: "+a+"}\n"),
			object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+ns+"-s}\n"),
			object(t, "apiVersion: v1\nkind: Event\nmetadata: {name: "+a+"}\n"),
		}
	}
	one, two := stateOf("explore-1", list("explore-1", "abcde", "fghij")), stateOf("explore-2", list("explore-2", "vwxyz", "klmno"))
	if d := differences(one, two); len(d) > 0 {
		t.Errorf("differences: %v", d)
	}
	if got := one["Shop/s"]["status.url"]; got != "s."+OwnNamespace+".svc" {
		t.Errorf("the namespace in a value: %s", got)
	}
	if got := one["Secret/s"]["data.password"]; got != "(secret)" {
		t.Errorf("a Secret's value: %s", got)
	}
	if got := len(one["Clock/s"]); got != 5 {
		t.Errorf("what is no time: %v", one["Clock/s"])
	}
	if len(one) != 6 || one["ConfigMap/"+OwnNamespace+"-s"] == nil {
		t.Errorf("objects: %v", one)
	}
}

// TestStateOfCluster: objects of several namespaces stay apart, and what they have in
// common with a namespace's name stays as it is.
func TestStateOfCluster(t *testing.T) {
	config := func(ns string) *unstructured.Unstructured {
		return object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: "+ns+"}\ndata: {k: "+ns+"}\n")
	}
	zone := object(t, "apiVersion: v1\nkind: Zone\nmetadata: {name: z}\nspec: {where: here}\n")
	got := stateOf("", []*unstructured.Unstructured{config("a"), config("b"), podOf(t, "a", "abcde", ""), zone})
	for object, want := range map[string][2]string{
		"ConfigMap/a/c": {"data.k", "a"}, "ConfigMap/b/c": {"data.k", "b"}, "Pod/a/web-1": {"kind", "Pod"}, "Zone/z": {"spec.where", "here"},
	} {
		if got[object][want[0]] != want[1] {
			t.Errorf("%s is %v", object, got[object])
		}
	}
	if len(got) != 4 {
		t.Errorf("objects: %v", got)
	}
}

// TestEmptyText: a text that says nothing is none.
func TestEmptyText(t *testing.T) {
	state := func(annotations string) State {
		return stateOf("", []*unstructured.Unstructured{object(t, "apiVersion: v1\nkind: Zone\nmetadata: {name: z, annotations: "+annotations+"}\n")})
	}
	if d := differences(state("{}"), state(`{capacity: ""}`)); len(d) > 0 {
		t.Errorf("differences: %v", d)
	}
	if d := differences(state("{}"), state(`{capacity: "0"}`)); len(d) != 1 {
		t.Errorf("differences: %v", d)
	}
}

func TestDifferences(t *testing.T) {
	want := State{"A/a": {"x": "1", "y": "2"}, "B/b": {"x": "1"}}
	got := State{"A/a": {"x": "3", "z": "4"}, "C/c": {"x": "1"}}
	list := differences(want, got)
	if d := cmp.Diff([]Difference{
		{Object: "A/a", Path: "x", Want: "1", Got: "3"}, {Object: "A/a", Path: "y", Want: "2", Got: ""}, {Object: "A/a", Path: "z", Want: "", Got: "4"}, {Object: "B/b", Want: there}, {Object: "C/c", Got: there},
	}, list); d != "" {
		t.Errorf("differences (-want +got):\n%s", d)
	}
	var words []string
	for _, d := range list {
		words = append(words, d.String())
	}
	if d := cmp.Diff([]string{`A/a x: "3", want "1"`, `A/a y: absent, want "2"`, `A/a z: "4", want absent`, "B/b is missing", "C/c should not be there"}, words); d != "" {
		t.Errorf("in words (-want +got):\n%s", d)
	}
	m := mask{}
	m.add(State{"A/a": {"x": "1"}, "C/c": {}}, State{"A/a": {"x": "2"}})
	if rest := m.without(list); len(rest) != 3 || rest[0].Path != "y" || rest[2].Object != "B/b" {
		t.Errorf("without what differs anyway: %v", rest)
	}
}

func setStatus(u *unstructured.Unstructured, field string, value any) error {
	return unstructured.SetNestedField(u.Object, value, "status", field)
}

// TestRetired: what a Deployment keeps of its past is no part of a state.
func TestRetired(t *testing.T) {
	set := func(name, owner, replicas string) *unstructured.Unstructured {
		return object(t, `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: `+name+`, namespace: explore-1, ownerReferences: [{kind: `+owner+`, name: s, controller: true}]}
spec: {replicas: `+replicas+`}
`)
	}
	got := stateOf("explore-1", []*unstructured.Unstructured{set("now", "Deployment", "2"), set("past", "Deployment", "0"), set("own", "Shop", "0")})
	if len(got) != 2 || got["ReplicaSet/now"] == nil || got["ReplicaSet/own"] == nil {
		t.Errorf("%v", got)
	}
}
