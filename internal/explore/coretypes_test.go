package explore

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
)

const (
	podWith       = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}], FIELD}}`
	containerWith = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i", FIELD}]}}`
	serviceWith   = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {FIELD}}`
	claimWith     = `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default"}, FIELD}`
	deployment    = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "default"}, "spec": {FIELD,
		"template": {"metadata": {"labels": {"example.com/explored": "explored"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}`
)

// TestCoreTypes: types of Kubernetes' own are known by their properties, as older
// versions have them too, and what is made for them is accepted where they belong.
func TestCoreTypes(t *testing.T) {
	types := coreTypes()
	h := kubetest.World(t)
	client, err := kube.Connect(t.Context(), kube.Options{Host: h, Kubeconfig: kubetest.StartIn(t, h)})
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct{ properties, in, field string }{
		{"nodeAffinity podAffinity podAntiAffinity", podWith, `"affinity": VALUE`},
		{"key name optional", containerWith, `"env": [{"name": "E", "valueFrom": {"configMapKeyRef": VALUE}}]`},
		{"args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resources securityContext startupProbe stdin terminationMessagePath volumeMounts workingDir", podWith, `"initContainers": [VALUE]`},
		{"containerPort hostIP hostPort name protocol", containerWith, `"ports": [VALUE]`},
		{"configMapRef prefix secretRef", containerWith, `"envFrom": [VALUE]`},
		{"name value valueFrom", containerWith, `"env": [VALUE]`},
		{"hostnames ip", podWith, `"hostAliases": [VALUE]`},
		{"postStart preStop", containerWith, `"lifecycle": VALUE`},
		{"name", podWith, `"imagePullSecrets": [VALUE]`},
		{"matchExpressions matchLabels", deployment, `"selector": VALUE`},
		{"accessModes dataSource resources selector storageClassName volumeMode volumeName", claimWith, `"spec": VALUE`},
		{"nameservers options searches", podWith, `"dnsConfig": VALUE`},
		{"fsGroup runAsGroup runAsNonRoot runAsUser seLinuxOptions supplementalGroups sysctls windowsOptions", podWith, `"securityContext": VALUE`},
		{"exec failureThreshold grpc httpGet initialDelaySeconds periodSeconds successThreshold tcpSocket timeoutSeconds", containerWith, `"readinessProbe": VALUE`},
		{"limits requests", containerWith, `"resources": VALUE`},
		{"claims limits requests", containerWith, `"resources": VALUE`},
		{"allowPrivilegeEscalation capabilities privileged procMount readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser seLinuxOptions", containerWith, `"securityContext": VALUE`},
		{"name nodePort port protocol targetPort", serviceWith, `"ports": [VALUE]`},
		{"effect key operator tolerationSeconds value", podWith, `"tolerations": [VALUE]`},
		{"labelSelector maxSkew minDomains topologyKey whenUnsatisfiable", podWith, `"topologySpreadConstraints": [VALUE]`},
	}
	if len(rows) < len(types) {
		t.Errorf("%d types, %d rows", len(types), len(rows))
	}
	for _, row := range rows {
		value, err := json.Marshal(coreValue(properties(row.properties)))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(row.in, "FIELD", strings.Replace(row.field, "VALUE", string(value), 1), 1)
		if string(value) == "null" {
			t.Errorf("%s is not known", row.properties)
		} else if _, err := client.Apply(t.Context(), []*unstructured.Unstructured{object(t, text)}, kube.ApplyOptions{DryRun: true}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCoreTypes_others: what has other properties too is not Kubernetes' own, nor is
// what has few of them.
func TestCoreTypes_others(t *testing.T) {
	for _, others := range []string{"", "name image", "name size", "limits requests quota", "port", "key value"} {
		if v := coreValue(properties(others)); v != nil {
			t.Errorf("%q is taken for %v", others, v)
		}
	}
}

func properties(names string) map[string]any {
	all := map[string]any{}
	for _, name := range strings.Fields(names) {
		all[name] = map[string]any{}
	}
	return map[string]any{"properties": all}
}
