package chart_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	helmkube "helm.sh/helm/v4/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
)

// foreignCRDs are those of cert-manager and of the Prometheus operator, as far as
// charts need them.
func foreignCRDs(t *testing.T) (crds []*unstructured.Unstructured) {
	t.Helper()
	for kind, group := range map[string]string{"Certificate": "cert-manager.io", "Issuer": "cert-manager.io", "ServiceMonitor": "monitoring.coreos.com"} {
		plural := strings.ToLower(kind) + "s"
		text := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[1]s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, plural, group, kind)
		crds = append(crds, &unstructured.Unstructured{Object: parse(t, text).(map[string]any)})
	}
	return crds
}

// certificate is a Secret that cert-manager would make. Pods wait for it.
func certificate(name, namespace string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s, namespace: %s}, stringData: {tls.crt: a, tls.key: b, ca.crt: c}}", name, namespace)
}

// TestInstall_Matrix has helm install and remove the chart of each golden project
// with each set of values.
func TestInstall_Matrix(t *testing.T) {
	hosttest.LeaveToNightly(t, "installs each golden chart with each set of values; TestInstall does so with one")
	r := openCluster(t, "matrix")
	there := foreignCRDs(t)
	for _, text := range []string{"{apiVersion: v1, kind: Namespace, metadata: {name: " + r.ns + "}}", certificate("webhook-server-cert", r.ns), certificate("other-webhook-server-cert", r.ns), certificate("metrics-server-cert", r.ns)} {
		there = append(there, &unstructured.Unstructured{Object: parse(t, text).(map[string]any)})
	}
	if _, err := r.client.Apply(t.Context(), there, kube.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	sets := map[string]string{
		"defaults":                "{}",
		"small":                   "{metrics: {enabled: false}, rbac: {helpers: {enabled: false}}}",
		"watched":                 "{prometheus: {enabled: true}, networkPolicy: {enabled: true}}",
		"plain metrics":           "{metrics: {secure: false, port: 8080}}",
		"no webhooks":             "{webhook: {enabled: false}}",
		"no cert-manager":         "{certManager: {enabled: false}}",
		"namespaced":              "{rbac: {namespaced: true}}",
		"larger and more visible": `{manager: {replicas: 2, labels: {a: b}, annotations: {c: d}, env: [{name: A, value: b}], nodeSelector: {kubernetes.io/os: linux}}, fullnameOverride: other}`,
	}
	for _, dir := range golden(t) {
		project := filepath.Base(filepath.Dir(dir))
		files, in := render(t, dir)
		for name, text := range sets {
			t.Run(project+"/"+name, func(t *testing.T) {
				values := parse(t, text).(map[string]any)
				// Of the projects some have the same CRD.
				values["crd"] = map[string]any{"keep": false}
				r.name = in.Name
				r.installAndRemove(t, files, values)
			})
		}
	}
}

func (r *release) installAndRemove(t *testing.T, files map[string][]byte, values map[string]any) {
	t.Helper()
	i := action.NewInstall(r.cfg)
	i.ReleaseName, i.Namespace, i.CreateNamespace, i.WaitStrategy, i.Timeout = r.name, r.ns, true, helmkube.StatusWatcherStrategy, patience
	if _, err := i.RunWithContext(t.Context(), load(t, files), values); err != nil {
		t.Fatal(err)
	}
	x := action.NewUninstall(r.cfg)
	x.WaitStrategy, x.Timeout, x.DeletionPropagation = helmkube.StatusWatcherStrategy, patience, "background"
	if _, err := x.Run(r.name); err != nil {
		t.Fatal(err)
	}
}
