package bundle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	someService    = "{apiVersion: v1, kind: Service, metadata: {name: svc}, spec: {ports: [{port: 80, targetPort: x}, {port: 443, targetPort: https}], selector: {app: a}}}"
	someDeployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: dep}, spec: {template: {metadata: {labels: {app: a, b: c}}}}}"
)

// hook is a configuration of one webhook.
func hook(kind, webhook string) string {
	return "{apiVersion: admissionregistration.k8s.io/v1, kind: " + kind + ", metadata: {name: cfg}, webhooks: [" + webhook + "]}"
}

func TestWebhookDefinitions(t *testing.T) {
	const validating, mutating = "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"
	minimal := object{
		"type": "ValidatingAdmissionWebhook", "generateName": "v.kb.io", "sideEffects": "None", "admissionReviewVersions": []any{"v1beta1"},
		"deploymentName": "dep", "containerPort": int64(443), "targetPort": "https", "webhookPath": "/v",
	}
	with := func(more object, without ...string) []object {
		o := object{}
		for k, v := range minimal {
			o[k] = v
		}
		for k, v := range more {
			o[k] = v
		}
		for _, k := range without {
			delete(o, k)
		}
		return []object{o}
	}
	for name, c := range map[string]struct {
		objects []string
		want    []object
		note    string
		left    string
	}{
		"minimal": {[]string{someService, someDeployment, hook(validating, "{name: v.kb.io, clientConfig: {service: {name: svc, path: /v}}}")}, with(nil), "", ""},
		"everything": {[]string{someService, someDeployment, hook(mutating, "{name: v.kb.io, clientConfig: {service: {name: svc, path: /v, port: 80}}, admissionReviewVersions: [v1], failurePolicy: Ignore, matchPolicy: Exact, objectSelector: {matchLabels: {a: b}}, sideEffects: NoneOnDryRun, timeoutSeconds: 5, reinvocationPolicy: IfNeeded, rules: [{operations: [CREATE]}]}")},
			with(object{
				"type": "MutatingAdmissionWebhook", "admissionReviewVersions": []any{"v1"}, "failurePolicy": "Ignore", "matchPolicy": "Exact",
				"objectSelector": object{"matchLabels": object{"a": "b"}}, "sideEffects": "NoneOnDryRun", "timeoutSeconds": int64(5),
				"reinvocationPolicy": "IfNeeded", "rules": []any{object{"operations": []any{"CREATE"}}}, "containerPort": int64(80), "targetPort": "x",
			}), "", ""},
		"what a CSV cannot say": {[]string{someService, someDeployment, hook(validating, "{name: v.kb.io, clientConfig: {service: {name: svc, path: /v}}, namespaceSelector: {matchLabels: {a: b}}, matchConditions: [{name: x}]}")},
			with(nil), "webhook v.kb.io: a CSV cannot express its namespaceSelector and matchConditions", ""},
		"no service": {[]string{someDeployment, hook(validating, "{name: v.kb.io, clientConfig: {service: {name: dep-service, path: /v}}}")},
			with(nil, "containerPort", "targetPort"), "", ""},
		"no Deployment": {[]string{someService, hook(validating, "{name: v.kb.io, clientConfig: {service: {name: svc, path: /v}}}")},
			with(object{"deploymentName": "svc"}), "webhook v.kb.io: no Deployment of the input serves it", ""},
		"another port": {[]string{someService, someDeployment, hook(validating, "{name: v.kb.io, clientConfig: {service: {name: svc, path: /v, port: 9}}}")},
			with(nil, "containerPort", "targetPort"), "", ""},
		"a URL": {[]string{someService, someDeployment, hook(validating, "{name: v.kb.io, clientConfig: {url: 'https://x'}}")},
			nil, "", "webhook v.kb.io: it calls a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			c2, err := collect(parse(t, strings.Join(c.objects, "\n---\n")))
			if err != nil {
				t.Fatal(err)
			}
			got, notes := webhookDefinitions(c2)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if joined := strings.Join(notes, "\n"); joined != c.note {
				t.Errorf("notes %q", joined)
			}
			left := ""
			for _, l := range c2.left {
				left += l.Object + ": " + l.Reason
			}
			if !strings.HasPrefix(left, c.left) || c.left == "" && left != "" {
				t.Errorf("left %q", left)
			}
		})
	}
}

// texts are the texts of a sequence.
func texts(list []any) []string {
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// TestConversions: CRDs that are converted at one place share a definition.
func TestConversions(t *testing.T) {
	crd := func(name, path string) string {
		return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: " + name + "}, spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: svc, path: " + path + "}}}}}}"
	}
	c, err := collect(parse(t, strings.Join([]string{
		someService, someDeployment, crd("bs.x.y", "/convert"), crd("as.x.y", "/convert"), crd("cs.x.y", "/other"),
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ds.x.y}, spec: {conversion: {strategy: None}}}",
	}, "\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	list, _ := webhookDefinitions(c)
	var got []string
	for _, d := range list {
		got = append(got, textAt(d, "generateName")+" "+strings.Join(texts(listAt(d, "conversionCRDs")), ",")+" "+textAt(d, "webhookPath")+" "+textAt(d, "deploymentName"))
	}
	if diff := cmp.Diff([]string{"casbs.kb.io as.x.y,bs.x.y /convert dep", "ccs.kb.io cs.x.y /other dep"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestCertificates: only volumes of Secrets that OLM's certificates replace go.
func TestCertificates(t *testing.T) {
	for name, c := range map[string]struct {
		pod, objects string
		want         bool // the volume goes
	}{
		"the scaffold's":    {pod: "volumes: [{name: v, secret: {secretName: s}}], containers: [{name: a, volumeMounts: [{name: v, mountPath: /tmp/k8s-webhook-server/serving-certs}]}]", want: true},
		"mounted elsewhere": {pod: "volumes: [{name: v, secret: {secretName: s}}], containers: [{name: a, volumeMounts: [{name: v, mountPath: /tmp/k8s-webhook-server/serving-certs}, {name: v, mountPath: /x}]}]"},
		"another path":      {pod: "volumes: [{name: v, secret: {secretName: s}}], containers: [{name: a, volumeMounts: [{name: v, mountPath: /x}]}]"},
		"no Secret":         {pod: "volumes: [{name: v, emptyDir: {}}], containers: [{name: a, volumeMounts: [{name: v, mountPath: /tmp/k8s-webhook-server/serving-certs}]}]"},
		"not mounted":       {pod: "volumes: [{name: v, secret: {secretName: s}}], containers: [{name: a}]"},
		"a Secret of ours":  {pod: "volumes: [{name: v, secret: {secretName: s}}], containers: [{name: a, volumeMounts: [{name: v, mountPath: /tmp/k8s-webhook-server/serving-certs}]}]", objects: "{apiVersion: v1, kind: Secret, metadata: {name: s}}"},
	} {
		t.Run(name, func(t *testing.T) {
			dep := "{apiVersion: apps/v1, kind: Deployment, metadata: {name: dep}, spec: {template: {metadata: {labels: {app: a}}, spec: {" + c.pod + "}}}}"
			r, err := Render(Input{Package: "shop", Objects: parse(t, strings.Join([]string{
				someService, dep, c.objects, hook("ValidatingWebhookConfiguration", "{name: v.kb.io, clientConfig: {service: {name: svc}}}"),
			}, "\n---\n"))})
			if err != nil {
				t.Fatal(err)
			}
			text := r.yaml(t, "spec", "install", "spec", "deployments")
			if gone := !strings.Contains(text, "name: v"); gone != c.want {
				t.Errorf("gone %v:\n%s", gone, text)
			}
		})
	}
}
