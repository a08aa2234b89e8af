package bundle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTexts: YAML's numbers and booleans are texts where the type has texts,
// and nowhere else.
func TestTexts(t *testing.T) {
	r := render(t, input(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: plain, labels: {tier: 1}}, spec: {replicas: 2, template: {
  metadata: {annotations: {inject: false}},
  spec: {hostNetwork: true, containers: [{name: a, image: b, args: [--level, 7], env: [{name: RATE, value: 0.5}, {name: LOUD, value: yes}],
    ports: [{containerPort: 80}], resources: {limits: {cpu: 1}}, unknown: 3, livenessProbe: {httpGet: {port: 80}}}]}}}}`))
	var got object
	for _, d := range objectsAt(r.csv.Object, "spec", "install", "spec", "deployments") {
		if textAt(d, "name") == "plain" {
			got = d
		}
	}
	want := object{"name": "plain", "label": object{"tier": "1"}, "spec": object{
		"replicas": int64(2), "template": object{"metadata": object{"annotations": object{"inject": "false"}}, "spec": object{
			"hostNetwork": true, "containers": []any{object{
				"name": "a", "image": "b", "args": []any{"--level", "7"}, "env": []any{object{"name": "RATE", "value": "0.5"}, object{"name": "LOUD", "value": "true"}},
				"ports": []any{object{"containerPort": int64(80)}}, "resources": object{"limits": object{"cpu": int64(1)}}, "unknown": int64(3),
				"livenessProbe": object{"httpGet": object{"port": int64(80)}},
			}},
		}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	notes := strings.Join(r.Notes, "\n")
	for _, field := range []string{"label.tier", "annotations.inject", "containers[0].args[1]", "env[0].value", "env[1].value"} {
		if !strings.Contains(notes, field) {
			t.Errorf("nothing is said of %s:\n%s", field, notes)
		}
	}
}

// TestTextsOfAnotherShape: what no reader makes a text of stays, and is told.
func TestTextsOfAnotherShape(t *testing.T) {
	r := render(t, input(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: odd}, spec: {template: {spec: {containers: [{name: [a], image: b}]}}}}"))
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "OLM cannot read the ClusterServiceVersion") || !strings.Contains(notes, "name") {
		t.Errorf("notes:\n%s", notes)
	}
}
