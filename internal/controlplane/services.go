package controlplane

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/controlplane/hostpods"
)

// AddressAnnotation on a Service says where on this machine its backend
// listens, such as 127.0.0.1:9443. Webhooks and aggregated APIs that name the
// Service are called there: there is no cluster network.
const AddressAnnotation = "mysdk.dev/address"

// resolveTimeout bounds the look-up of a Service within a request.
const resolveTimeout = 5 * time.Second

// serviceResolver finds the backends of Services in this process, by their
// annotation, or among the pods that programs of this machine serve.
type serviceResolver struct {
	ctx       context.Context // of the control plane: the interface passes none
	client    kubernetes.Interface
	local     *localServices
	processes *hostpods.Pods // may be what the Service stands for
	cluster   string         // that is running
}

// ResolveEndpoint implements the API server's webhook.ServiceResolver. The
// Service's port does not matter where there is an annotation, which has one.
func (r serviceResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	if address := r.local.find(namespace, name); address != "" {
		return &url.URL{Scheme: "https", Host: address}, nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, resolveTimeout)
	defer cancel()
	service, err := r.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("find where service %s/%s listens: %w", namespace, name, err)
	}
	address := service.Annotations[AddressAnnotation]
	if at := r.processes.Backend(service, port); address == "" && at != "" {
		return &url.URL{Scheme: "https", Host: at}, nil
	}
	if address == "" && len(service.Spec.Selector) > 0 {
		return nil, fmt.Errorf("service %s/%s cannot be called: none of its pods is running as a process that stands behind port %d: look at them with"+
			" 'mysdk kubectl%s describe pods -n %s -l %s', and at their logs; a server that is not in a pod needs the annotation %s: 127.0.0.1:PORT on the service",
			namespace, name, port, state.Flag(r.cluster), namespace, labels.Set(service.Spec.Selector), AddressAnnotation)
	}
	if address == "" {
		return nil, fmt.Errorf("service %s/%s cannot be called: there is no cluster network here, and it has no annotation %s: 127.0.0.1:PORT",
			namespace, name, AddressAnnotation)
	}
	if err := checkLoopback(address); err != nil {
		return nil, fmt.Errorf("service %s/%s, annotation %s: %w", namespace, name, AddressAnnotation, err)
	}
	return &url.URL{Scheme: "https", Host: address}, nil
}

// checkLoopback refuses addresses of other machines: what is meant for a
// cluster's inside must not leave this one.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not an address with a port: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return fmt.Errorf("%q is not a loopback address", address)
	}
	return nil
}

// localServices are the Services whose backends run in this process.
type localServices struct{ addresses sync.Map } // namespace/name to address

// set says where a Service's backend listens; "" takes it away.
func (l *localServices) set(namespace, name, address string) {
	l.addresses.Store(namespace+"/"+name, address)
}

// find returns "" for a Service that is not served by this process.
func (l *localServices) find(namespace, name string) string {
	address, _ := l.addresses.Load(namespace + "/" + name)
	text, _ := address.(string)
	return text
}

// dialFunc connects to something.
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// loopbackOnly has a transport reach this machine only, and what is in this process
// by the addresses of inside. By it the API server calls pods and Services, whose
// addresses exist in names only here: on the network outside they may be
// somebody's.
func loopbackOnly(t *http.Transport, inside map[string]dialFunc) {
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	t.Proxy = nil
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dialHere := inside[address]; dialHere != nil {
			return dialHere(ctx, network, address)
		}
		if err := checkLoopback(address); err != nil {
			return nil, fmt.Errorf("there is no cluster network here: %w", err)
		}
		return dial(ctx, network, address)
	}
}
