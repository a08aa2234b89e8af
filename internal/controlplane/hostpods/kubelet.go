package hostpods

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// Kubelet answers what the API server asks of a node: logs, exec, attach and
// port-forward of a pod. KWOK's pods run nothing, so it says that. It is
// reached in memory; no node has an address of its own. The metrics API is
// reached the same way.
type Kubelet struct {
	cert  tls.Certificate
	log   *log.Logger
	conns chan net.Conn
	done  chan struct{} // closed when it no longer serves

	Processes *Pods
}

// NewKubelet has a serving certificate, in PEM.
func NewKubelet(certificate, key []byte, l *log.Logger) (*Kubelet, error) {
	cert, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("load the kubelet's certificate: %w", err)
	}
	return &Kubelet{cert: cert, log: l, conns: make(chan net.Conn), done: make(chan struct{})}, nil
}

// Lookup gives the API server its way to every node.
func (k *Kubelet) Lookup(egressselector.NetworkContext) (utilnet.DialFunc, error) { return k.Dial, nil }

// Dial is a connection to the kubelet, whatever the address.
func (k *Kubelet) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case k.conns <- there:
		return here, nil
	case <-k.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Serve answers until ctx ends.
func (k *Kubelet) Serve(ctx context.Context) error {
	srv := &http.Server{
		Handler: k.handler(), ErrorLog: k.log, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{k.cert}, MinVersion: tls.VersionTLS12},
	}
	defer context.AfterFunc(ctx, func() { close(k.done) })()
	if err := srv.ServeTLS(pipeListener{k}, "", ""); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// handler leaves requests for other APIs than a kubelet's to those. There is no
// schema of them.
func (k *Kubelet) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", kubeletHandler(k.Processes))
	mux.Handle("/apis/", metricsHandler(k.Processes))
	mux.Handle("/apis", http.NotFoundHandler())
	mux.Handle("/openapi/", http.NotFoundHandler())
	return mux
}

// kubeletHandler answers in the place of every node's kubelet: with logs where a
// program stands behind the pod, and else with what simulated pods cannot do.
func kubeletHandler(p *Pods) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		if p.serveLogs(w, r) {
			return
		}
		// Ignore write errors: the client is gone.
		_, _ = fmt.Fprintf(w, "(pod %s/%s is simulated: no container runs, so there is no log)\n",
			r.PathValue("namespace"), r.PathValue("pod"))
	})
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		namespace, pod := r.PathValue("namespace"), r.PathValue("pod")
		simulated := fmt.Sprintf("pod %s/%s is simulated: no container runs", namespace, pod)
		if hosted := p.hosted(namespace, pod); hosted != nil {
			_, err := hosted.find(r.PathValue("container"))
			if err == nil {
				http.Error(w, p.says(namespace, pod), http.StatusNotImplemented)
				return
			}
			simulated = err.Error()
		}
		serveExec(w, r, simulated)
	})
	// attach, portForward and what else there is, with and without the
	// pod's UID and the container.
	says := func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, p.says(r.PathValue("namespace"), r.PathValue("pod")), http.StatusNotImplemented)
	}
	mux.HandleFunc("/{what}/{namespace}/{pod}", says)
	mux.HandleFunc("/{what}/{namespace}/{pod}/{rest...}", says)
	mux.HandleFunc("/", says)
	return mux
}

// Times of a stream, as in a kubelet.
const (
	streamIdle     = 4 * time.Hour
	streamCreation = 30 * time.Second
)

// serveExec answers a command for a simulated container, with why it is one: it
// counts as done, as the container counts as running. Operators that run commands in
// their pods would try for ever otherwise.
func serveExec(w http.ResponseWriter, r *http.Request, why string) {
	streams, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, simulatedExec(why), r.PathValue("pod"), "", r.PathValue("container"), r.URL.Query()["command"], streams,
		streamIdle, streamCreation, remotecommand.SupportedStreamingProtocols)
}

// simulatedExec is why nothing is run.
type simulatedExec string

// ExecInContainer implements remotecommand.Executor.
func (why simulatedExec) ExecInContainer(_ context.Context, _, _, _ string, _ []string, _ io.Reader, stdout, stderr io.WriteCloser, tty bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	to := stderr
	if tty {
		to = stdout
	}
	if to != nil {
		// Ignore write errors: the client is gone.
		_, _ = fmt.Fprintf(to, "(%s: nothing was run; reported as success)\n", string(why))
	}
	return nil
}

// pipeListener is the kubelet's end of Dial. bufconn has no timeouts after which TLS goes
// on, as it must where a connection is upgraded for exec.
type pipeListener struct{ *Kubelet }

// Accept implements net.Listener.
func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener; the kubelet's context is what ends it.
func (pipeListener) Close() error { return nil }

// Addr implements net.Listener.
func (pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "kubelet", Net: "unix"} }
