//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mysdk runs the program under test, with a home of its own.
func (n *node) mysdk(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("MYSDK_E2E_PROGRAM")
	if program == "" {
		program = filepath.Join("..", "..", "bin", "mysdk")
	}
	program, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"XDG_STATE_HOME=" + filepath.Join(n.dir, "state"), "XDG_CONFIG_HOME=" + filepath.Join(n.dir, "config"), "KUBECONFIG="}
	return try(t, dir, env, program, args...)
}

func (n *node) must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := n.mysdk(t, dir, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// TestRealNode takes an operator through its life on a cluster that runs
// containers, step by step: each needs what the one before left.
func TestRealNode(t *testing.T) {
	n := startNode(t)
	project := filepath.Join(n.dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	testImage{
		ref: "library/memcached:1.6.39-alpine", files: map[string]string{"bin/busybox": "/bin/busybox"},
		entrypoint: []string{"/bin/busybox", "sh", "-c", "sleep 1000000"}, user: "1000",
	}.push(t)
	n.must(t, project, "init", "--domain", "example.com", "--repo", "example.com/memcached-operator", "--project-name", "memcached-operator")
	n.must(t, project, "create", "api", "--group", "cache", "--version", "v1alpha1", "--kind", "Memcached", "--image", "memcached:1.6.39-alpine")
	for _, step := range []struct {
		name string
		run  func(*testing.T, *node, string)
	}{
		{"image and deploy", testDeploy},
		{"undeploy", testUndeploy},
		{"olm install", testOLM},
		{"run bundle", testRunBundle},
		{"scorecard", testScorecard},
		{"run bundle-upgrade", testUpgrade},
		{"cleanup", testCleanup},
		{"run bundle --no-push", testNoPush},
		{"broken image", testBrokenImage},
		{"olm uninstall", testOLMUninstall},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, n, project) }) {
			n.explain(t)
			return
		}
	}
}

const operatorImage = registryAddr + "/memcached-operator:v0.0.1"

func testDeploy(t *testing.T, n *node, project string) {
	n.must(t, project, "image", "build", "--base", "scratch", "--image", operatorImage)
	n.must(t, project, "image", "push", operatorImage, "--use-http")
	n.must(t, project, "deploy", "--kubeconfig", n.kubeconfig, "--context", "e2e", "--image", operatorImage)
	n.reconciled(t, project, "default")
}

// reconciled creates the sample and waits until its pods run.
func (n *node) reconciled(t *testing.T, project, namespace string) {
	t.Helper()
	n.mustKubectl(t, "-n", namespace, "apply", "-f", filepath.Join(project, "config/samples/cache_v1alpha1_memcached.yaml"))
	err := until("wait for the custom resource's pods", func(context.Context) error {
		out, err := n.kubectl(t, "-n", namespace, "get", "memcacheds", "-o", "jsonpath={.items[*].status.nodes}")
		if err == nil && strings.Count(out, "memcached") == 0 {
			err = fmt.Errorf("status.nodes is %q", out)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n.mustKubectl(t, "-n", namespace, "wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")
}

func testUndeploy(t *testing.T, n *node, project string) {
	n.mustKubectl(t, "delete", "memcacheds", "--all", "--timeout=60s")
	n.must(t, project, "undeploy", "--crds", "--kubeconfig", n.kubeconfig, "--context", "e2e", "--yes")
	if out := n.mustKubectl(t, "get", "namespaces", "-o", "name"); strings.Contains(out, "memcached-operator") {
		t.Errorf("left behind:\n%s", out)
	}
}

// explain shows what the cluster looks like after a failure.
func (n *node) explain(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"get", "pods", "-A", "-o", "wide"}, {"get", "events", "-A", "--sort-by=.lastTimestamp"}} {
		out, err := n.kubectl(t, args...)
		t.Logf("%s\n%v", out, err)
	}
}
