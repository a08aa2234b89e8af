//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	pkg         = "memcached-operator"
	bundleImage = registryAddr + "/memcached-operator-bundle"
	olmVersion  = "v0.46.0"
	opmVersion  = "v1.74.0"
)

// real are the flags that name the node's cluster.
func (n *node) real() []string { return []string{"--kubeconfig", n.kubeconfig, "--context", "e2e"} }

// testOLM installs OLM from a mirror of its images.
func testOLM(t *testing.T, n *node, project string) {
	bin := func(name string) string { return filepath.Join(n.bin, name) }
	testImage{ref: "operator-framework/olm:" + olmVersion, user: "1001", entrypoint: []string{"/bin/olm"}, files: map[string]string{
		"bin/olm": bin("olm"), "bin/catalog": bin("catalog"), "bin/package-server": bin("package-server"),
		"bin/cpb": bin("cpb"), "bin/copy-content": bin("copy-content"), "bin/cp": "/bin/busybox",
	}}.push(t)
	for _, tag := range []string{"latest", opmVersion} {
		testImage{ref: "operator-framework/opm:" + tag, user: "1001", entrypoint: []string{"/bin/opm"}, files: map[string]string{
			"bin/opm": bin("opm"), "bin/grpc_health_probe": bin("grpc-health-probe"),
		}}.push(t)
	}
	n.must(t, project, append([]string{"olm", "install", "--no-default-catalog", "--image-registry", registryAddr, "--timeout", "4m"}, n.real()...)...)
	n.must(t, project, append([]string{"olm", "status"}, n.real()...)...)
}

// bundle writes, builds and pushes the bundle of a version, with the operator's
// image of that version.
func (n *node) bundle(t *testing.T, project, version string) {
	t.Helper()
	operator := registryAddr + "/memcached-operator:v" + version
	n.must(t, project, "image", "build", "--base", "scratch", "--image", operator)
	n.must(t, project, "image", "push", operator, "--use-http")
	n.must(t, project, "generate", "kustomize", "manifests")
	n.must(t, project, "bundle", "generate", "--version", version, "--image", operator)
	n.must(t, project, "bundle", "validate", "bundle")
	n.must(t, project, "bundle", "build", "--image", bundleImage+":v"+version, "--push", "--use-http")
}

// testRunBundle installs the operator from its bundle's image: the catalog is
// an image too, which OLM serves.
func testRunBundle(t *testing.T, n *node, project string) {
	n.bundle(t, project, "0.0.1")
	n.mustKubectl(t, "create", "namespace", "pushed")
	n.mustKubectl(t, "label", "namespace", "pushed", "pod-security.kubernetes.io/enforce=restricted")
	n.must(t, project, append([]string{"run", "bundle", bundleImage + ":v0.0.1", "-n", "pushed", "--use-http", "--timeout", "4m"}, n.real()...)...)
	n.installed(t, "pushed", "0.0.1")
	n.reconciled(t, project, "pushed")
}

// installed checks that one version of the operator is there, and healthy.
func (n *node) installed(t *testing.T, namespace, version string) {
	t.Helper()
	out := n.mustKubectl(t, "-n", namespace, "get", "csv", "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.phase} {end}`)
	if want := pkg + ".v" + version + "=Succeeded"; !strings.Contains(out, want) || strings.Count(out, pkg) != 1 {
		t.Errorf("CSVs are %q, want %s alone", out, want)
	}
}

// testUpgrade brings the second version; the user's object and pods stay.
func testUpgrade(t *testing.T, n *node, project string) {
	pods := []string{"-n", "pushed", "get", "pods", "-l", "cache.example.com/memcached", "-o", "name"}
	before := n.mustKubectl(t, pods...)
	n.bundle(t, project, "0.0.2")
	n.must(t, project, append([]string{"run", "bundle-upgrade", bundleImage + ":v0.0.2", "-n", "pushed", "--use-http", "--timeout", "4m"}, n.real()...)...)
	n.installed(t, "pushed", "0.0.2")
	if after := n.mustKubectl(t, pods...); before == "" || after != before {
		t.Errorf("pods before the upgrade:\n%safter:\n%s", before, after)
	}
}

// testCleanup leaves the user's objects only.
func testCleanup(t *testing.T, n *node, project string) {
	n.must(t, project, append([]string{"cleanup", pkg, "-n", "pushed", "--delete-crds"}, n.real()...)...)
	for _, kind := range []string{"csv", "subscriptions.operators.coreos.com", "catalogsources", "operatorgroups", "deployments"} {
		if out := n.mustKubectl(t, "-n", "pushed", "get", kind, "-o", "name"); out != "" {
			t.Errorf("left behind: %s", out)
		}
	}
}

// testNoPush installs from a directory: the catalog is in ConfigMaps, and a
// Deployment serves it, in a namespace that takes restricted pods only.
func testNoPush(t *testing.T, n *node, project string) {
	n.mustKubectl(t, "create", "namespace", "kept")
	n.mustKubectl(t, "label", "namespace", "kept", "pod-security.kubernetes.io/enforce=restricted")
	opm := registryAddr + "/operator-framework/opm:" + opmVersion
	n.must(t, project, append([]string{"run", "bundle", "bundle", "-n", "kept", "--no-push", "--registry-image", opm, "--timeout", "4m"}, n.real()...)...)
	n.installed(t, "kept", "0.0.2")
	n.reconciled(t, project, "kept")
	n.must(t, project, append([]string{"cleanup", pkg, "-n", "kept", "--delete-crds"}, n.real()...)...)
}

// testBrokenImage names the image that cannot be pulled, and not the timeout.
func testBrokenImage(t *testing.T, n *node, project string) {
	n.must(t, project, "bundle", "generate", "--version", "0.0.3", "--image", registryAddr+"/nowhere:v0.0.3")
	out, err := n.mysdk(t, project, append([]string{"run", "bundle", "bundle", "-n", "broken", "--no-push", "--rollback",
		"--registry-image", registryAddr + "/operator-framework/opm:" + opmVersion, "--timeout", "4m"}, n.real()...)...)
	if err == nil || !strings.Contains(err.Error(), "nowhere:v0.0.3") || !strings.Contains(err.Error(), "ImagePull") {
		t.Errorf("the cause is not named: %v\n%s", err, out)
	}
}

// testOLMUninstall leaves nothing of OLM.
func testOLMUninstall(t *testing.T, n *node, project string) {
	n.must(t, project, append([]string{"olm", "uninstall", "--timeout", "4m"}, n.real()...)...)
	if out := n.mustKubectl(t, "get", "crds,namespaces,apiservices", "-o", "name"); strings.Contains(out, "operators.coreos.com") || strings.Contains(out, "namespace/olm") {
		t.Errorf("left behind:\n%s", out)
	}
}

// testScorecard runs the built-in tests against the node's API server, and one
// in an image of its own, whose file is fetched from its pod.
func testScorecard(t *testing.T, n *node, project string) {
	busybox := map[string]string{"bin/busybox": "/bin/busybox", "bin/sh": "/bin/busybox", "bin/tar": "/bin/busybox", "bin/sleep": "/bin/busybox"}
	testImage{ref: "busybox:1", files: busybox, entrypoint: []string{"/bin/sh"}, user: "1000"}.push(t)
	config := filepath.Join(n.dir, "scorecard.yaml")
	if err := os.WriteFile(config, []byte(fmt.Sprintf(ownTest, registryAddr)), 0o600); err != nil {
		t.Fatal(err)
	}
	n.must(t, project, append([]string{"scorecard", "bundle"}, n.real()...)...)
	out := n.must(t, project, append([]string{"scorecard", "bundle", "--config", config, "--storage-image", registryAddr + "/busybox:1", "--pod-security", "restricted", "--test-output", "kept"}, n.real()...)...)
	if !strings.Contains(out, "PASS  mine") {
		t.Errorf("results:\n%s", out)
	}
	if data, err := os.ReadFile(filepath.Join(project, "kept", "own", "mine", "note.txt")); err != nil || string(data) != "left by the test\n" {
		t.Errorf("file of the test: %q, %v", data, err)
	}
	if left := n.mustKubectl(t, "get", "pods,configmaps", "-l", "app=scorecard-test", "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

const ownTest = `apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
stages:
- tests:
  - image: %[1]s/busybox:1
    entrypoint: [/bin/sh, -c, "test -f /bundle/manifests/memcached-operator.clusterserviceversion.yaml && echo left by the test > /out/note.txt && echo '{\"results\": [{\"name\": \"mine\", \"state\": \"pass\"}]}'"]
    labels: {suite: own, test: mine}
    storage: {spec: {mountPath: {path: /out}}}
`
