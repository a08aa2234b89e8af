package kube

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const listed = `
apiVersion: v1
kind: Namespace
metadata: {name: listed}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: listed, labels: {color: red}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: listed, labels: {color: blue}}
---
apiVersion: v1
kind: Pod
metadata: {name: simulated, namespace: listed}
spec:
  containers: [{name: main, image: nowhere.example.com/none}]
`

func testListAndLogs(t *testing.T, c *Client) {
	objs := parse(t, listed)
	if _, err := c.Apply(t.Context(), objs, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	for name, tc := range map[string]struct {
		kind schema.GroupVersionKind
		opts ListOptions
		want []string
	}{
		"namespace":      {configMap, ListOptions{Namespace: "listed", Selector: "color"}, []string{"a", "b"}},
		"selector":       {configMap, ListOptions{Selector: "color=blue"}, []string{"b"}},
		"no such kind":   {schema.GroupVersionKind{Group: "none.example.com", Version: "v1", Kind: "None"}, ListOptions{}, nil},
		"no objects":     {schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1", Kind: "SubjectAccessReview"}, ListOptions{Namespace: "listed"}, nil},
		"cluster scoped": {schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, ListOptions{Namespace: "ignored", Selector: "kubernetes.io/metadata.name=listed"}, []string{"listed"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := c.List(t.Context(), tc.kind, tc.opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, namesOf(found)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if err := c.WaitReady(t.Context(), objs[3:], 30*time.Second); err != nil {
		t.Fatal(err)
	}
	out, err := c.Logs(t.Context(), "listed", "simulated", LogOptions{Container: "main", Tail: 5, Limit: 1 << 20})
	if err != nil || !strings.Contains(string(out), "simulated") {
		t.Errorf("log of a simulated pod: %q, %v", out, err)
	}
	if _, err := c.Logs(t.Context(), "listed", "missing", LogOptions{}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("log of no pod: %v", err)
	}
}

func namesOf(list []*unstructured.Unstructured) []string {
	var out []string
	for _, u := range list {
		out = append(out, u.GetName())
	}
	return out
}
