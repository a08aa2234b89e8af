package localrun

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// webhookProxy is the server that the cluster calls for the webhooks' sake. It hands
// requests on to the operator's own webhook server, and keeps them waiting
// while the operator restarts: a reload is no reason for a refused `kubectl
// apply`, and conversions may be asked for before the operator is up.
type webhookProxy struct {
	listener net.Listener
	server   *http.Server

	mu      sync.Mutex
	changed chan struct{} // closed at each change of what follows
	target  *url.URL      // the operator's server; nil: wait for it
	refusal string        // why there is no use in waiting; "" if there is
}

// newWebhookProxy listens on address, and answers requests whose path begins with
// /secret only: others than the cluster may reach the port. The operator's
// server shows the certificate of certs too, which proves that no other process
// took its port. Calls are reported to note, unless it is nil, with times of clock.
func newWebhookProxy(ctx context.Context, address, secret string, certs *certificates, clock func() time.Time, note noteWebhook) (*webhookProxy, error) {
	pair, err := tls.X509KeyPair(certs.cert, certs.key)
	if err != nil {
		return nil, err
	}
	pool, err := certs.trusted()
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	f := &webhookProxy{listener: l, changed: make(chan struct{})}
	// The operator's server has a certificate for localhost; it is dialled by
	// address, as most operators listen without a name.
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(targetOf(p.In)); p.SetXForwarded() },
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, // the next request may meet another process
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the operator's webhook server does not answer: "+err.Error(), http.StatusBadGateway)
		},
		ErrorLog: quietLog(),
	}
	f.server = &http.Server{
		Handler: http.StripPrefix("/"+secret, noting(clock, note, f.waiting(proxy))), ReadHeaderTimeout: 10 * time.Second, ErrorLog: quietLog(),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
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

// targetKey is where a request's context keeps the operator's address.
type targetKey struct{}

// targetOf is the address that waiting found.
func targetOf(r *http.Request) *url.URL {
	u, _ := r.Context().Value(targetKey{}).(*url.URL) // waiting puts one there
	return u
}

// waiting lets requests through once there is somebody to answer them. The
// API server gives up by itself, after the webhook's timeoutSeconds.
func (f *webhookProxy) waiting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target, err := f.await(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), targetKey{}, target)))
	})
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
func (f *webhookProxy) port() int {
	if a, ok := f.listener.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0 // newWebhookProxy listens on TCP only
}

// close ends the server and what still waits in it.
func (f *webhookProxy) close() error {
	f.refuse("mysdk run local has ended")
	return f.server.Close()
}
