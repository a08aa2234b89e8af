//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
)

// controlPlane starts etcd and the servers of Kubernetes, with their own
// defaults wherever possible.
func (b box) controlPlane() error {
	pki := func(name string) string { return b.path("pki", name) }
	if err := os.MkdirAll(pki(""), 0o700); err != nil {
		return err
	}
	if err := writePKI(pki("")); err != nil {
		return err
	}
	err := b.start(b.path("bin", "server"), "--data-dir="+b.path("etcd"), "--unsafe-no-fsync", "--log-level=error",
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379", "--listen-peer-urls=http://127.0.0.1:2380")
	if err != nil {
		return err
	}
	err = b.start(b.path("bin", "kube-apiserver"), "--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=0.0.0.0", "--secure-port=6443", "--advertise-address="+nodeIP,
		"--tls-cert-file="+pki("apiserver.crt"), "--tls-private-key-file="+pki("apiserver.key"), "--client-ca-file="+pki("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+pki("sa.key"), "--service-account-signing-key-file="+pki("sa.key"),
		"--service-cluster-ip-range="+serviceCIDR, "--authorization-mode=Node,RBAC", "--allow-privileged=true",
		"--kubelet-client-certificate="+pki("kubelet-client.crt"), "--kubelet-client-key="+pki("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file="+pki("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+pki("front-proxy-client.crt"), "--proxy-client-key-file="+pki("front-proxy-client.key"))
	if err != nil {
		return err
	}
	if err := b.kubeconfig(); err != nil {
		return err
	}
	if err := until("wait for the API server", ready); err != nil {
		return err
	}
	err = b.start(b.path("bin", "kube-controller-manager"), "--kubeconfig="+b.path("kubeconfig"), "--leader-elect=false",
		"--service-account-private-key-file="+pki("sa.key"), "--root-ca-file="+pki("ca.crt"), "--bind-address=127.0.0.1")
	if err != nil {
		return err
	}
	return b.start(b.path("bin", "kube-scheduler"), "--kubeconfig="+b.path("kubeconfig"), "--leader-elect=false", "--bind-address=127.0.0.1")
}

// ready asks the API server whether it serves; who asks does not matter.
func ready(ctx context.Context) error {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // the answer is no secret
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, apiServer+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("answer %s", res.Status)
	}
	return nil
}

// kubeconfig writes the administrator's, which works inside and outside.
func (b box) kubeconfig() error {
	var parts []any
	for _, file := range []string{"ca.crt", "admin.crt", "admin.key"} {
		data, err := os.ReadFile(b.path("pki", file))
		if err != nil {
			return err
		}
		parts = append(parts, base64.StdEncoding.EncodeToString(data))
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: e2e
clusters: [{name: e2e, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: admin, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: e2e, context: {cluster: e2e, user: admin}}]
`, append([]any{apiServer}, parts...)...)
	return os.WriteFile(b.path("kubeconfig"), []byte(text), 0o600)
}

// node starts what runs on every node: containerd, kubelet and kube-proxy.
func (b box) node() error {
	for name, text := range map[string]string{
		"cni/bridge.conflist": cniConfig, "containerd.toml": fmt.Sprintf(containerdConfig, b.dir), "resolv.conf": "",
		"kubelet.yaml": fmt.Sprintf(kubeletConfig, b.dir), "kubeproxy.yaml": fmt.Sprintf(kubeproxyConfig, b.dir),
	} {
		if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := b.start("containerd", "--config", b.path("containerd.toml")); err != nil {
		return err
	}
	err := until("wait for containerd", func(ctx context.Context) error {
		return exec.CommandContext(ctx, "ctr", "--address", b.path("containerd.sock"), "version").Run()
	})
	if err != nil {
		return err
	}
	err = b.start(b.path("bin", "kubelet"), "--config="+b.path("kubelet.yaml"), "--kubeconfig="+b.path("kubeconfig"),
		"--cert-dir="+b.path("kubelet-pki"), "--node-ip="+nodeIP, "--hostname-override="+nodeName)
	if err != nil {
		return err
	}
	return b.start(b.path("bin", "kube-proxy"), "--config="+b.path("kubeproxy.yaml"))
}

const cniConfig = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "ranges": [[{"subnet": "` + podCIDR + `"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
`

// containerdConfig asks the node's registry for the images of all names.
const containerdConfig = `version = 2
root = "%[1]s/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing"]
[grpc]
  address = "%[1]s/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + registryAddr + `/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "%[1]s/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "%[1]s/certs.d"
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /` + nodeName + `
failSwapOn: false
address: ` + nodeIP + `
containerRuntimeEndpoint: unix://%[1]s/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %[1]s/pki/ca.crt}}
authorization: {mode: Webhook}
clusterDNS: [` + dnsIP + `]
clusterDomain: cluster.local
resolvConf: %[1]s/resolv.conf
volumePluginDir: %[1]s/plugins
evictionHard: {memory.available: 1Mi, nodefs.available: "0%%", nodefs.inodesFree: "0%%", imagefs.available: "0%%", imagefs.inodesFree: "0%%"}
imageGCHighThresholdPercent: 100
serializeImagePulls: false
registryPullQPS: 0
makeIPTablesUtilChains: false
protectKernelDefaults: true
enableControllerAttachDetach: false
oomScoreAdj: 0
`

const kubeproxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
bindAddress: ` + nodeIP + `
hostnameOverride: ` + nodeName + `
clusterCIDR: ` + podCIDR + `
clientConnection: {kubeconfig: %[1]s/kubeconfig}
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
iptables: {minSyncPeriod: 100ms}
`
