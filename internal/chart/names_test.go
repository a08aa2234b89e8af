package chart_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/chart"
)

// TestRender_NoPrefix: names of objects that have no prefix, and that of the namespace, are
// words like others outside of the fields for names. $ stands for what the release puts
// before names, and NS for its namespace.
func TestRender_NoPrefix(t *testing.T) {
	const manifests = `apiVersion: v1
kind: ServiceAccount
metadata: {name: $manager, namespace: NS}
---
apiVersion: v1
kind: Service
metadata: {name: $webhook-service, namespace: NS}
spec: {selector: {app: manager}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: $cache, labels: {app: manager}}
rules:
- {apiGroups: [cache.example.com], resources: [cache, manager], resourceNames: [$cache], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: $cache}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: $cache}
subjects: [{kind: ServiceAccount, name: $manager, namespace: NS}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: $checks, annotations: {cert-manager.io/inject-ca-from: NS/$certs}}
webhooks:
- name: vcache.example.com
  clientConfig: {service: {name: $webhook-service, namespace: NS, path: /validate-cache-example-com}}
  rules: [{apiGroups: [cache.example.com], resources: [cache]}]
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: $certs, namespace: NS}
spec: {dnsNames: [$webhook-service.NS.svc], secretName: $certs}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $controller-manager, namespace: NS, labels: {app: manager}}
spec:
  replicas: 1
  selector: {matchLabels: {app: manager}}
  template:
    metadata: {labels: {app: manager}}
    spec:
      serviceAccountName: $manager
      volumes: [{name: certs, secret: {secretName: $certs}}]
      containers:
      - name: manager
        image: example.com/cache/manager:v1
        command: [/manager]
        args: [--group=cache.example.com, --manager, --service=$webhook-service, --host=$webhook-service.NS.svc]
        env: [{name: ROLE, value: $cache}, {name: GROUP, value: cache.example.com}]
        volumeMounts: [{name: certs, mountPath: /certs}]
`
	files, err := chart.Render(chart.Input{Name: "shop", Objects: []byte(strings.NewReplacer("$", "", "NS", "cache").Replace(manifests))})
	if err != nil {
		t.Fatal(err)
	}
	want := objects{}
	want.add(t, "the objects", strings.NewReplacer("$", "shop-", "NS", "shop-system").Replace(manifests))
	if d := cmp.Diff(want, template(t, "shop", load(t, files), nil)); d != "" {
		t.Errorf("(-want +helm):\n%s", d)
	}
}
