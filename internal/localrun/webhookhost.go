package localrun

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"time"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

const (
	loopback       = "127.0.0.1"
	dockerHost     = "host.docker.internal" // by which containers of Docker Desktop know their machine
	inspectTimeout = 5 * time.Second        // bounds the question to the container engine
)

// webhookHost is the name or address by which the cluster's API server reaches
// this machine, and where to listen for it. Only for a cluster that was named,
// and that does not share this machine's loopback, is that all interfaces.
func (r *run) webhookHost(ctx context.Context) (where, listen string, err error) {
	host, port, err := splitListen(r.WebhookListen)
	if err != nil {
		return "", "", err
	}
	outside := host // an address that others can call, if it is one
	if ip := net.ParseIP(host); ip.IsUnspecified() || ip.IsLoopback() && !r.embedded {
		outside = ""
	}
	if r.embedded {
		return cmp.Or(outside, loopback), net.JoinHostPort(cmp.Or(host, loopback), port), nil
	}
	context := r.client.ContextName()
	if where = cmp.Or(r.WebhookHost, outside); where == "" {
		where = guessHost(ctx, r.Host, context)
	}
	if where == "" {
		return "", "", clierr.Usagef("name it with --webhook-host HOST, or leave the webhooks out with --no-webhooks",
			"the project has webhooks, and the address at which the cluster of context %s reaches this machine is unknown", context)
	}
	return where, net.JoinHostPort(cmp.Or(host, net.IPv4zero.String()), port), nil
}

// splitListen takes --webhook-listen apart. An address that is not given is "",
// and port 0 is any free one.
func splitListen(address string) (host, port string, err error) {
	if address == "" || net.ParseIP(address) != nil {
		return address, "0", nil
	}
	host, port, err = net.SplitHostPort(address)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host != "" && net.ParseIP(host) == nil {
		return "", "", clierr.Usagef("give an IP address of this machine, a port, or both: 192.168.1.5:9443", "--webhook-listen: %q is not an address", address)
	}
	return host, port, nil
}

// checkWebhookHost refuses what cannot stand in a URL and a certificate.
func checkWebhookHost(name string) error {
	if net.ParseIP(name) == nil && strings.ContainsAny(name, "/:@?# ") {
		return clierr.Usagef("give a name or an IP address, without https:// and port", "--webhook-host: %q is not a host", name)
	}
	return nil
}

// guessHost knows the local clusters by the names of their contexts, and the
// names that each has for the machine around it; "" for others. Those of
// minikube, k3d and Docker Desktop are what kopf's webhook servers go by; kind
// has no name for it on Linux, but a network of its own with a gateway.
func guessHost(ctx context.Context, h host.Host, kubeContext string) string {
	switch {
	case kubeContext == "minikube":
		return "host.minikube.internal"
	case kubeContext == "docker-desktop":
		return dockerHost
	case strings.HasPrefix(kubeContext, "k3d-"):
		return "host.k3d.internal"
	case strings.HasPrefix(kubeContext, "kind-") && runtime.GOOS != "linux":
		return dockerHost // on other systems containers run in a virtual machine
	case strings.HasPrefix(kubeContext, "kind-"):
		return kindGateway(ctx, h)
	}
	return ""
}

// kindGateway is this machine's address on the network of kind's nodes, as the
// container engine reports it; "" if none does.
func kindGateway(ctx context.Context, h host.Host) string {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	for _, engine := range []string{"docker", "podman", "nerdctl"} {
		path, err := h.LookPath(engine)
		if err != nil {
			continue
		}
		var out bytes.Buffer
		err = host.Run(ctx, h.Exec, host.Cmd{
			Name: path, Args: []string{"network", "inspect", "kind"},
			Env: h.Environ(), Stdout: &out, Stderr: io.Discard, DieWithParent: true,
		})
		if err != nil {
			continue
		}
		if found := gateway.FindSubmatch(out.Bytes()); found != nil {
			return string(found[1])
		}
	}
	return ""
}

// gateway is the IPv4 gateway in the answer to "network inspect". The engines
// spell the field differently ("Gateway", "gateway"), and nest it differently.
var gateway = lazy.Delayed(`(?i)"gateway":\s*"(\d+(?:\.\d+){3})"`)
