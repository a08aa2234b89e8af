package localrun

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

const (
	loopback = "127.0.0.1"
	// dockerHost is the name by which containers of Docker Desktop know the
	// machine that they run on.
	dockerHost = "host.docker.internal"
	// inspectTimeout bounds the question to the container engine.
	inspectTimeout = 5 * time.Second
)

// webhookHost is the name or address by which the cluster's API server reaches
// this machine, and where to listen for it. Only for a cluster that was named,
// and that does not share this machine's loopback, is that all interfaces.
func (r *run) webhookHost(ctx context.Context) (where, listen string, err error) {
	context := r.client.ContextName()
	if r.embedded || strings.HasPrefix(context, "mysdk-") {
		return loopback, net.JoinHostPort(loopback, "0"), nil
	}
	where = r.WebhookHost
	if where == "" {
		where = guessHost(ctx, r.Host, context)
	}
	if where == "" {
		return "", "", clierr.Usagef("name it with --webhook-host HOST, or leave the webhooks out with --no-webhooks",
			"the project has webhooks, and there is no telling by which address the cluster of context %s reaches this machine", context)
	}
	return where, "0.0.0.0:0", nil
}

// checkWebhookHost refuses what cannot stand in a URL and a certificate.
func checkWebhookHost(name string) error {
	if name == "" || net.ParseIP(name) != nil {
		return nil
	}
	if strings.ContainsAny(name, "/:@?# ") {
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
// container engine tells it; "" if there is none that would.
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
		if ip := gatewayIn(out.Bytes()); ip != "" {
			return ip
		}
	}
	return ""
}

// gatewayIn finds the IPv4 gateway in the answer to "network inspect". The
// engines spell the field differently ("Gateway", "gateway"), and nest it
// differently.
func gatewayIn(answer []byte) string {
	var value any
	if err := json.Unmarshal(answer, &value); err != nil {
		return ""
	}
	return gatewayOf(value)
}

// gatewayOf goes through the answer wherever it is nested.
func gatewayOf(value any) string {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if ip := gatewayOf(item); ip != "" {
				return ip
			}
		}
	case map[string]any:
		// In order, so that of several gateways it is the same one each time.
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text, _ := v[key].(string)
			if ip := net.ParseIP(text); strings.EqualFold(key, "gateway") && ip != nil && ip.To4() != nil {
				return text
			}
			if ip := gatewayOf(v[key]); ip != "" {
				return ip
			}
		}
	}
	return ""
}
