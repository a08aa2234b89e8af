//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// boxEnv makes the test program the first process of the node's namespaces; its
// value is the node's directory.
const boxEnv = "MYSDK_E2E_BOX"

// The addresses of the node. Nothing in it reaches the machine or beyond.
const (
	nodeName       = "mysdk-e2e"
	hostIP         = "10.99.7.1"
	nodeIP         = "10.99.7.2"
	podCIDR        = "10.88.7.0/24"
	serviceCIDR    = "10.96.7.0/24"
	firstServiceIP = "10.96.7.1"
	dnsIP          = "10.96.7.10"
	registryAddr   = nodeIP + ":5000"
	apiServer      = "https://" + nodeIP + ":6443"
)

// box is the node from inside: process 1 of its own pid, mount and network
// namespaces. What it mounts and starts is gone when it is killed.
type box struct {
	dir string // for everything of the node, below the test's own
	bin string // where the programs are
}

// boxMain runs the node until it is killed.
func boxMain(dir string) {
	b := box{dir: dir, bin: filepath.Join(dir, "bin")}
	if err := b.run(); err != nil {
		log.Fatal(err)
	}
	reap()
}

func (b box) run() error {
	for _, step := range []func() error{
		b.mounts, b.network, b.registry, b.cgroups, b.controlPlane, b.node,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return os.WriteFile(b.path("started"), nil, 0o600)
}

// reap waits for the children for ever, orphans of containers among them.
func reap() {
	for {
		var status syscall.WaitStatus
		if pid, err := syscall.Wait4(-1, &status, 0, nil); err != nil {
			time.Sleep(time.Second)
		} else {
			log.Printf("process %d ended: %d", pid, status.ExitStatus())
		}
	}
}

func (b box) path(parts ...string) string { return filepath.Join(append([]string{b.dir}, parts...)...) }

// sh runs commands that prepare the machine, one a line.
func sh(lines string) error {
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		words := strings.Fields(line)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.TrimSpace(line), err, out)
		}
	}
	return nil
}

// mounts keeps what kubelet and containerd write away from the machine.
func (b box) mounts() error {
	for _, d := range []string{"var/up", "var/work", "containerd", "cni", "certs.d/_default", "sysctl", "plugins", "log", "tmp"} {
		if err := os.MkdirAll(b.path(d), 0o755); err != nil {
			return err
		}
	}
	err := sh(fmt.Sprintf(`
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /run/netns
mount -t overlay overlay -o lowerdir=/var,upperdir=%s,workdir=%s /var
mkdir -p /var/lib/kubelet /var/lib/cni /var/log/pods /var/log/containers`, b.path("var/up"), b.path("var/work")))
	if err != nil {
		return err
	}
	// kubelet insists on these settings of the whole machine: it is shown files
	// that have them instead.
	for name, value := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		file := b.path("sysctl", strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := sh("mount --bind " + file + " /proc/sys/" + name); err != nil {
			return err
		}
	}
	return sh("mount --make-rshared /")
}

// network waits for the end of the cable that the host moves in.
func (b box) network() error {
	for range 1000 {
		if _, err := net.InterfaceByName("eth0"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	err := sh(fmt.Sprintf(`
ip link set lo up
ip addr add %s/30 dev eth0
ip link set eth0 up
ip route add default via %s
iptables -A FORWARD -o eth0 -m conntrack --ctstate NEW -j REJECT
iptables -A OUTPUT -m conntrack --ctstate NEW -m addrtype ! --dst-type LOCAL ! -d %s -j REJECT`, nodeIP, hostIP, podCIDR))
	if err != nil {
		return err
	}
	// A pod's answer on the bridge has to pass the rules of Services.
	return errors.Join(os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0),
		os.WriteFile("/proc/sys/net/bridge/bridge-nf-call-iptables", []byte("1"), 0))
}

// registry serves every image that the cluster pulls, whatever its name.
func (b box) registry() error {
	l, err := net.Listen("tcp", registryAddr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: time.Minute}
	go func() { log.Print(server.Serve(l)) }()
	hosts := fmt.Sprintf("[host.\"http://%s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", registryAddr)
	return os.WriteFile(b.path("certs.d/_default/hosts.toml"), []byte(hosts), 0o644)
}

// cgroups makes the root of all pods' cgroups, in each hierarchy there is.
func (b box) cgroups() error {
	roots, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if err != nil {
		return err
	}
	for _, procs := range roots {
		hierarchy := filepath.Dir(procs)
		if err := os.MkdirAll(filepath.Join(hierarchy, nodeName), 0o755); err != nil {
			return err
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			data, err := os.ReadFile(filepath.Join(hierarchy, file))
			if err != nil {
				continue // not the hierarchy of cpusets
			}
			if err := os.WriteFile(filepath.Join(hierarchy, nodeName, file), data, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts a program that runs as long as the node does.
func (b box) start(name string, args ...string) error {
	out, err := os.Create(b.path("log", filepath.Base(name)+".log"))
	if err != nil {
		return err
	}
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = out, out
	c.Env = append(os.Environ(), "TMPDIR="+b.path("tmp"))
	if err := c.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	return out.Close()
}

// until asks done again and again, for a minute and a half at most.
func until(what string, done func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		if err = done(ctx); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s: %w", what, err)
}
