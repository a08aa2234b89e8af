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

// TestRender_NamesOfManager: the manager is told the names that the release has, by its
// arguments and its environment. What is no name, or a directive, stays as it is.
func TestRender_NamesOfManager(t *testing.T) {
	const op = "webhook-cert-manager"
	_, in := render(t, "../../testdata/golden/webhook-cert-manager/want")
	in.Objects = []byte(strings.NewReplacer(
		"- --leader-elect\n", "- --leader-elect\n        - --service="+op+"-webhook-service."+op+"-system.svc\n        - "+op+"-system\n",
		"        env:\n", "        env:\n        - {name: ROLE, value: "+op+"-manager-role}\n        - {name: TEXT, value: 'say \"{{ .x }}\"\\'}\n        - {name: EMPTY}\n",
	).Replace(string(in.Objects)))
	files, err := chart.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(expected(t, in), template(t, in.Name, load(t, files), nil)); d != "" {
		t.Errorf("(-kustomize +helm):\n%s", d)
	}
	got := template(t, "shop", load(t, files), map[string]any{"fullnameOverride": "shop"})
	_, container := pod(got["Deployment shop-system/shop-controller-manager"])
	for _, arg := range []string{"--service=shop-webhook-service.shop-system.svc", "shop-system"} {
		if args := container["args"].([]any); !slices.Contains(args, any(arg)) {
			t.Errorf("%s is not among %v", arg, args)
		}
	}
	if d := cmp.Diff(parse(t, `[{name: ROLE, value: shop-manager-role}, {name: TEXT, value: 'say "{{ .x }}"\'}, {name: EMPTY}]`), container["env"].([]any)[:3]); d != "" {
		t.Errorf("environment (-want +helm):\n%s", d)
	}
}
