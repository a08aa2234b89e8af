//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// lockThread keeps a goroutine, and what it started, on its thread.
func lockThread() { runtime.LockOSThread() }

// pause is the image that holds a pod's namespaces open.
func pause(t *testing.T, n *node) {
	t.Helper()
	testImage{ref: "pause:1", files: map[string]string{"bin/busybox": "/bin/busybox"}, entrypoint: []string{"/bin/busybox", "sleep", "1000000"}, user: "65535:65535"}.push(t)
	err := until("wait for the node to be Ready", func(context.Context) error {
		out, err := n.kubectl(t, "get", "node", nodeName, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
		if err == nil && out != "True" {
			err = fmt.Errorf("Ready is %q", out)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dns runs the server that answers for the cluster's names.
func dns(t *testing.T, n *node) {
	t.Helper()
	testImage{ref: "dns:1", files: map[string]string{"dns": filepath.Join(n.bin, "dns")}, entrypoint: []string{"/dns"}}.push(t)
	file := filepath.Join(n.dir, "dns.yaml")
	if err := os.WriteFile(file, []byte(fmt.Sprintf(dnsManifests, dnsIP, registryAddr)), 0o600); err != nil {
		t.Fatal(err)
	}
	n.mustKubectl(t, "apply", "-f", file)
	n.mustKubectl(t, "-n", "kube-system", "rollout", "status", "deploy/dns", "--timeout=90s")
}

const dnsManifests = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: dns, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: dns}
rules:
- {apiGroups: [""], resources: [endpoints, services, pods, namespaces], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: dns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: dns}
subjects: [{kind: ServiceAccount, name: dns, namespace: kube-system}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: dns, namespace: kube-system}
data:
  Corefile: |
    .:53 {
        errors
        health
        ready
        kubernetes cluster.local in-addr.arpa ip6.arpa
        cache 5
    }
---
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: kube-system}
spec:
  clusterIP: %[1]s
  selector: {app: dns}
  ports:
  - {name: dns, port: 53, protocol: UDP}
  - {name: dns-tcp, port: 53, protocol: TCP}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: dns, namespace: kube-system}
spec:
  selector: {matchLabels: {app: dns}}
  template:
    metadata: {labels: {app: dns}}
    spec:
      serviceAccountName: dns
      dnsPolicy: Default
      containers:
      - name: dns
        image: %[2]s/dns:1
        args: [-conf, /etc/dns/Corefile]
        volumeMounts: [{name: config, mountPath: /etc/dns, readOnly: true}]
        readinessProbe: {httpGet: {path: /ready, port: 8181}, periodSeconds: 1}
      volumes: [{name: config, configMap: {name: dns}}]
`

// kubectl runs the kubectl of mysdk-cluster on the node's cluster.
func (n *node) kubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return n.mysdk(t, n.dir, append([]string{"kubectl", "--kubeconfig", n.kubeconfig}, args...)...)
}

func (n *node) mustKubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := n.kubectl(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
