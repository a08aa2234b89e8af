package cluster

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// answersRemovedAPIs does what an operator with a client of old does.
func answersRemovedAPIs(t *testing.T, c *client) {
	groups := c.get("/apis/policy")
	if data, err := json.Marshal(groups["versions"]); err != nil || !strings.Contains(string(data), "policy/v1beta1") || groups.at("preferredVersion.version") != "v1" {
		t.Errorf("the group: %s, %v", data, err)
	}
	if list := c.get("/apis"); list["kind"] != "APIGroupList" {
		t.Errorf("the groups: %v", list["kind"])
	}
	if version := c.get("/apis/policy/v1beta1"); version["groupVersion"] != "policy/v1beta1" || len(version["resources"].([]any)) == 0 {
		t.Errorf("the version: %v", version)
	}

	const path = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets"
	budget := object{
		"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": object{"name": "old"},
		"spec": object{"minAvailable": 1, "selector": object{"matchLabels": object{"app": "old"}}},
	}
	made := c.post(path, budget)
	if made["apiVersion"] != "policy/v1beta1" {
		t.Errorf("made as %v", made["apiVersion"])
	}
	if list := c.get(path); list["apiVersion"] != "policy/v1beta1" || len(names(list)) != 1 {
		t.Errorf("listed as %v: %v", list["apiVersion"], names(list))
	}
	c.do(http.MethodPatch, path+"/old", object{"spec": object{"minAvailable": 2}})
	if now := c.get(strings.Replace(path, "v1beta1", "v1", 1) + "/old"); now["apiVersion"] != "policy/v1" || now.at("spec.minAvailable") != 2.0 {
		t.Errorf("as of today: %v", now)
	}
	if _, code, err := c.try(http.MethodGet, path+"/none", nil); err != nil || code != http.StatusNotFound {
		t.Errorf("what is not there: %d, %v", code, err)
	}

	version, _ := made.at("metadata.resourceVersion").(string)
	event := firstOf(t, c, path+"?watch=true&resourceVersion="+version)
	if event["type"] != "MODIFIED" || event.at("object.apiVersion") != "policy/v1beta1" {
		t.Errorf("an event: %v", event)
	}
	c.del(path + "/old")
	c.await(path+"/old", nil)

	if code, answer := postProtobuf(t, c, path, "policy/v1beta1", "DeleteOptions"); code != http.StatusBadRequest || !strings.Contains(answer, `DeleteOptions in version`) {
		t.Errorf("protobuf of another kind: %d %s", code, answer)
	}
}

// firstOf is the first document of an answer that goes on.
func firstOf(t *testing.T, c *client, path string) object {
	t.Helper()
	resp, err := c.http.Get(c.server + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var o object
	if err := json.NewDecoder(resp.Body).Decode(&o); err != nil {
		t.Fatal(err)
	}
	return o
}

// postProtobuf posts an empty object in Kubernetes' protobuf format.
func postProtobuf(t *testing.T, c *client, path, version, kind string) (code int, answer string) {
	t.Helper()
	data, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: kind}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.http.Post(c.server+path, "application/vnd.kubernetes.protobuf", bytes.NewReader(append([]byte("k8s\x00"), data...)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(said)
}
