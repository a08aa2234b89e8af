//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// kubernetesVersion is what the components report, as go.mod pins them.
const kubernetesVersion = "v1.37.2"

func TestMain(m *testing.M) {
	if dir := os.Getenv(boxEnv); dir != "" {
		boxMain(dir)
		return
	}
	os.Exit(m.Run())
}

// node is the node from outside.
type node struct {
	dir, bin, kubeconfig string
}

// requireNode skips the test where a node is not wanted, and ends it where none
// can be.
func requireNode(t *testing.T) {
	t.Helper()
	if os.Getenv("MYSDK_E2E") == "" {
		t.Skip("makes a node that runs containers: see 'make e2e'")
	}
	if os.Getuid() != 0 {
		t.Fatal("needs root, for namespaces and cgroups")
	}
	for _, program := range []string{"containerd", "ctr", "runc", "iptables", "ip", "busybox", "/usr/lib/cni/bridge"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("needs %s: apt-get install containerd runc containernetworking-plugins iptables iproute2 busybox-static", program)
		}
	}
}

// startNode builds the components, starts a node that ends with the test, and
// waits until pods run on it and find each other by name.
func startNode(t *testing.T) *node {
	t.Helper()
	requireNode(t)
	// Not below /var, which the node sees an overlay of, and short, for sockets.
	dir, err := os.MkdirTemp("/tmp", "mysdk-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{dir: dir, bin: filepath.Join(dir, "bin"), kubeconfig: filepath.Join(dir, "kubeconfig")}
	t.Cleanup(func() { n.remove(t) })
	n.build(t)
	n.launch(t)
	n.waitFor(t, "started")
	pause(t, n)
	dns(t, n)
	return n
}

// build builds what the node runs, or takes it from MYSDK_E2E_BIN.
func (n *node) build(t *testing.T) {
	t.Helper()
	if built := os.Getenv("MYSDK_E2E_BIN"); built != "" {
		if err := os.Symlink(built, n.bin); err != nil {
			t.Fatal(err)
		}
		return
	}
	version := "-X k8s.io/component-base/version."
	ldflags := "-s -w " + version + "gitVersion=" + kubernetesVersion + " " + version + "gitMajor=1 " + version + "gitMinor=37"
	for dir, what := range map[string]string{"cluster": "tool", "dns": "."} {
		out := n.bin + string(filepath.Separator)
		run(t, filepath.Join("..", "..", "testdata", "e2e", dir), "go", "build", "-tags", "containers_image_openpgp", "-ldflags", ldflags, "-o", out, what)
	}
}

// launch starts the node's first process and plugs in its network cable.
func (n *node) launch(t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(n.dir, "box.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	box := exec.Command(self)
	box.Env = append(os.Environ(), boxEnv+"="+n.dir)
	box.Stdout, box.Stderr = log, log
	box.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL, Setsid: true}
	// The parent that the kernel means is the thread that starts the process.
	started := make(chan error)
	go func() {
		lockThread()
		started <- box.Start()
		<-t.Context().Done()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = box.Process.Kill() // it may have ended, which its log tells
		_ = box.Wait()         // killed, so that there is an error
	})
	cable := fmt.Sprintf(`
ip link add mysdk-e2e type veth peer name eth0 netns %d
ip addr add %s/30 dev mysdk-e2e
ip link set mysdk-e2e up
ip route replace %s via %s
ip route replace %s via %s`, box.Process.Pid, hostIP, podCIDR, nodeIP, serviceCIDR, nodeIP)
	if err := sh(cable); err != nil {
		t.Fatal(err)
	}
}

// waitFor waits for a file of the node.
func (n *node) waitFor(t *testing.T, name string) {
	t.Helper()
	err := until("wait for the node", func(context.Context) error {
		_, err := os.Stat(filepath.Join(n.dir, name))
		return err
	})
	if err != nil {
		log, readErr := os.ReadFile(filepath.Join(n.dir, "box.log"))
		t.Fatalf("%v\n%s", errors.Join(err, readErr), log)
	}
}

// remove takes away what is left when the processes are gone.
func (n *node) remove(t *testing.T) {
	t.Helper()
	if t.Failed() && os.Getenv("MYSDK_E2E_KEEP") != "" {
		t.Logf("kept %s", n.dir)
		return
	}
	// The cable goes with the namespace, in its own time.
	_ = exec.Command("ip", "link", "del", "mysdk-e2e").Run()
	roots, err := filepath.Glob("/sys/fs/cgroup/*/" + nodeName)
	if err != nil {
		t.Error(err)
	}
	for _, root := range roots {
		err := until("remove "+root, func(context.Context) error { return removeCgroup(root) })
		if err != nil {
			t.Error(err)
		}
	}
	if err := os.RemoveAll(n.dir); err != nil {
		t.Error(err)
	}
}

// removeCgroup removes an empty tree of cgroups, from the leaves up.
func removeCgroup(dir string) error {
	children, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range children {
		if c.IsDir() {
			if err := removeCgroup(filepath.Join(dir, c.Name())); err != nil {
				return err
			}
		}
	}
	return syscall.Rmdir(dir)
}

// run runs a program in dir and returns what it printed on stdout.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := try(t, dir, nil, name, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// try is run for commands that may fail; their stderr is part of the error.
func try(t *testing.T, dir string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var stdout, stderr strings.Builder
	c.Stdout, c.Stderr = &stdout, &stderr
	start := time.Now()
	err := c.Run()
	t.Logf("%s %s (%s)\n%s", filepath.Base(name), strings.Join(args, " "), time.Since(start).Round(10*time.Millisecond), stderr.String())
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), err
}
