package chart_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/chart"
)

// TestRender_Arguments: an argument whose value the chart has no section for is one like
// others.
func TestRender_Arguments(t *testing.T) {
	const manager = `apiVersion: apps/v1
kind: Deployment
metadata: {name: op-controller-manager, namespace: op-system}
spec: {replicas: 1, template: {metadata: {labels: {a: b}}, spec: {containers: [{image: "a:b", name: manager, args: [ARGS]}]}}}
`
	const service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: op-controller-manager-metrics-service, namespace: op-system}\nspec: {}\n"
	for _, in := range []string{manager, manager + service} {
		for _, args := range []string{
			"--webhook-port=9443", "--metrics-bind-address=:8080, --metrics-secure=false", "--metrics-secure=false, --metrics-bind-address=:8080",
			"--metrics-bind-address=0.0.0.0:8443, --metrics-secure=true", "--metrics-secure, --metrics-bind-address=:8443", "--metrics-bind-address=0, --metrics-secure=false",
		} {
			objects := chart.Input{Name: "op", Objects: []byte(strings.Replace(in, "ARGS", args, 1))}
			files, err := chart.Render(objects)
			if err != nil {
				t.Fatal(err)
			}
			got := template(t, "op", load(t, files), nil)
			_, container := pod(got["Deployment op-system/op-controller-manager"])
			var words []string
			for _, word := range container["args"].([]any) {
				words = append(words, word.(string))
			}
			slices.Sort(words)
			want := strings.Split(strings.Replace(args, "--metrics-secure,", "--metrics-secure=true,", 1), ", ")
			slices.Sort(want)
			if d := cmp.Diff(want, words); d != "" {
				t.Errorf("%s (-kustomize +helm):\n%s", args, d)
			}
		}
	}
}

// TestRender_WebhookCertPath: without webhooks nothing is mounted for them, whether or not
// an argument says where.
func TestRender_WebhookCertPath(t *testing.T) {
	_, in := render(t, "../../testdata/golden/webhook-cert-manager/want")
	in.Objects = []byte(strings.Replace(string(in.Objects), "        - --webhook-cert-path=/tmp/k8s-webhook-server/serving-certs\n", "", 1))
	files, err := chart.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	got := template(t, in.Name, load(t, files), parse(t, "{webhook: {enabled: false}}").(map[string]any))
	spec, container := pod(got["Deployment webhook-cert-manager-system/webhook-cert-manager-controller-manager"])
	if spec["volumes"] != nil || container["volumeMounts"] != nil {
		t.Errorf("volumes %v, mounts %v", spec["volumes"], container["volumeMounts"])
	}
}
