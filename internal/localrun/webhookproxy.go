package localrun

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/certmanager"
	"github.com/example/mysdk/internal/recording"
)

// webhookProxy is the server that the cluster calls for the webhooks' sake. It hands
// requests on to the operator's own webhook server, and keeps them waiting
// while the operator restarts: a reload is no reason for a refused `kubectl
// apply`, and conversions may be asked for before the operator is up.
type webhookProxy struct {
	listener  net.Listener
	server    *http.Server
	transport *http.Transport // to the operator's server

	mu      sync.Mutex
	changed chan struct{} // closed at each change of what follows
	target  *url.URL      // the operator's server; nil: wait for it
	refusal string        // why there is no use in waiting; "" if there is
}

// newWebhookProxy listens on address, and answers requests whose path begins with
// /secret only: others than the cluster may reach the port. The operator's
// server shows the certificate of certs too, which proves that no other process
// took its port. around wraps the handler behind the secret, so that it meets the
// cluster's requests only, and their paths as the operator has them.
func newWebhookProxy(ctx context.Context, address, secret string, certs *certificates,
	around func(http.Handler) http.Handler) (*webhookProxy, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	f := &webhookProxy{listener: l, changed: make(chan struct{})}
	// The operator's server has a certificate for localhost; it is dialled by
	// address, as most operators listen without a name. The next request may meet
	// another process.
	f.transport = &http.Transport{TLSClientConfig: certs.client, DisableKeepAlives: true}
	f.server = &http.Server{
		Handler:           http.StripPrefix("/"+secret, around(http.HandlerFunc(f.forward))),
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: quietLog(),
		TLSConfig: certs.server.Clone(), // ServeTLS writes to it
	}
	go func() {
		// It ends with close, and an error before that shows in the requests.
		_ = f.server.ServeTLS(l, "", "")
	}()
	return f, nil
}

// quietLog is for what net/http would print by itself: handshakes that a
// client broke off are not the user's business.
func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// forward lets a request through once there is somebody to answer it. The
// API server gives up by itself, after the webhook's timeoutSeconds.
func (f *webhookProxy) forward(w http.ResponseWriter, r *http.Request) {
	target, err := f.await(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(target); p.SetXForwarded() },
		Transport: f.transport, ErrorLog: quietLog(),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the operator's webhook server does not answer: "+err.Error(), http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}

// await returns the operator's address as soon as there is one.
func (f *webhookProxy) await(ctx context.Context) (*url.URL, error) {
	for {
		f.mu.Lock()
		target, refusal, changed := f.target, f.refusal, f.changed
		f.mu.Unlock()
		if refusal != "" {
			return nil, errors.New(refusal)
		}
		if target != nil {
			return target, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// point sends requests to the operator's server at address.
func (f *webhookProxy) point(address string) { f.set(&url.URL{Scheme: "https", Host: address}, "") }

// pause keeps requests waiting until point or refuse.
func (f *webhookProxy) pause() { f.set(nil, "") }

// refuse answers requests with the reason why nobody else will.
func (f *webhookProxy) refuse(why string) { f.set(nil, why) }

// set changes the state and wakes whoever waits for that.
func (f *webhookProxy) set(target *url.URL, refusal string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.target, f.refusal = target, refusal
	// Closing wakes all that wait; those that come later wait on the new one.
	close(f.changed)
	f.changed = make(chan struct{})
}

// port is where the proxy listens.
func (f *webhookProxy) port() string {
	_, port, _ := net.SplitHostPort(f.listener.Addr().String()) // it listens on TCP
	return port
}

// close ends the server and what still waits in it.
func (f *webhookProxy) close() error {
	f.refuse("mysdk run local has ended")
	return f.server.Close()
}

// certificateLife is how long a run's certificates are good for: longer than
// anybody leaves a run alone.
const certificateLife = 30 * 24 * time.Hour

// certificates are what the servers of one run's webhooks show, PEM encoded. The API
// server trusts the same certificate: it is its own authority.
type certificates struct {
	cert, key []byte
	server    *tls.Config // shows it
	client    *tls.Config // trusts nothing else
}

// makeCertificates makes those for the hosts, and for this machine: what is
// checked is the address that a client dialled.
func makeCertificates(now time.Time, hosts ...string) (*certificates, error) {
	cert, key, err := certmanager.Make(now, certificateLife, append([]string{"localhost", "127.0.0.1", "::1"}, hosts...))
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert) // X509KeyPair has read it
	return &certificates{
		cert: cert, key: key,
		server: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		client: &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS12},
	}, nil
}

// noteTimeout bounds the report of one call.
const noteTimeout = 2 * time.Second

// noting reports to the control plane, if there is one, what next was asked and has
// answered. The API server has the answer before that.
func (r *run) noting(next http.Handler) http.Handler {
	if r.control == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		began := r.Host.Now()
		request, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, "read the review: "+err.Error(), http.StatusBadRequest)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(request))
		copied := &copied{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(copied, req)
		took := r.Host.Now().Sub(began)
		// Without it, the answer waits for this function's end.
		_ = http.NewResponseController(w).Flush()
		path := req.URL.Path
		call, err := recording.ReadWebhook(path, request, copied.body.Bytes(), copied.code, r.salt)
		if err != nil {
			return // no review
		}
		call.Time, call.Took, call.Webhook = began, took, webhookName(r.wanted().Webhooks, path)
		if call.Operation == "CONVERT" {
			call.Webhook = "conversion of " + call.Kind
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), noteTimeout)
		defer cancel()
		_ = r.control.Webhook(ctx, r.Dir, call) // a cluster that has gone is nothing to stop for
	})
}

// copied is an answer that is kept, too.
type copied struct {
	http.ResponseWriter
	body bytes.Buffer
	code int
}

// Unwrap is for http.ResponseController.
func (c *copied) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *copied) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (c *copied) Write(p []byte) (int, error) {
	c.body.Write(p)
	return c.ResponseWriter.Write(p)
}

// webhookName is the name of the webhook that calls a path, empty where none does.
func webhookName(configs []*unstructured.Unstructured, path string) string {
	for _, config := range configs {
		list, _, _ := unstructured.NestedSlice(config.Object, "webhooks")
		for _, item := range list {
			hook, _ := item.(map[string]any)
			at, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
			name, _, _ := unstructured.NestedString(hook, "name")
			if strings.TrimPrefix(at, "/") == strings.TrimPrefix(path, "/") {
				return cmp.Or(name, config.GetName())
			}
		}
	}
	return ""
}
