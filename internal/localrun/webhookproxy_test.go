package localrun

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/recording"
)

// webhookServer is an operator's webhook server with the run's certificate. It
// answers with its name and the path that was asked for.
func webhookServer(t *testing.T, certs *certificates, name string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, name+" "+r.URL.Path+" "+string(body)) // the client notices
	}))
	s.TLS = certs.server.Clone()
	s.Config.ErrorLog = quietLog()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// apiServer asks a proxy as the API server would.
func apiServer(t *testing.T, f *webhookProxy, certs *certificates) func(ctx context.Context) (int, string) {
	ask := caller(t, f, certs)
	return func(ctx context.Context) (int, string) { return ask(ctx, "/secret/validate") }
}

// caller asks a proxy for a path.
func caller(t *testing.T, f *webhookProxy, certs *certificates) func(ctx context.Context, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: certs.client}}
	return func(ctx context.Context, path string) (int, string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+f.listener.Addr().String()+path, strings.NewReader("{}"))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = resp.Body.Close() }() // read only
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		return resp.StatusCode, strings.TrimSpace(string(body))
	}
}

func newTestProxy(t *testing.T, r *run) (*webhookProxy, *certificates) {
	t.Helper()
	certs, err := makeCertificates(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f, err := newWebhookProxy(t.Context(), "127.0.0.1:0", "secret", certs, r.noting)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.close() }) // closed twice by some tests
	return f, certs
}

// TestFront: a request that comes before the operator is answered by it, and so
// is one during a restart, by the new one.
func TestFront(t *testing.T) {
	f, certs := newTestProxy(t, &run{})
	ask := apiServer(t, f, certs)
	type answer struct {
		code int
		text string
	}
	early := make(chan answer)
	go func() {
		code, text := ask(t.Context())
		early <- answer{code, text}
	}()
	one := webhookServer(t, certs, "one")
	f.point(one.Listener.Addr().String())
	if got := <-early; got != (answer{200, "one /validate {}"}) {
		t.Errorf("a request from before the operator: %v", got)
	}
	f.pause()
	go func() {
		code, text := ask(t.Context())
		early <- answer{code, text}
	}()
	one.Close()
	two := webhookServer(t, certs, "two")
	f.point(two.Listener.Addr().String())
	if got := <-early; got != (answer{200, "two /validate {}"}) {
		t.Errorf("a request during the restart: %v", got)
	}
}

// TestFrontWantsTheSecret: whoever else reaches the port gets no answer of the
// operator's, not even that there is none.
func TestFrontWantsTheSecret(t *testing.T) {
	f, certs := newTestProxy(t, &run{})
	ask := caller(t, f, certs)
	s := webhookServer(t, certs, "operator")
	f.point(s.Listener.Addr().String())
	for _, path := range []string{"/validate", "/", "/secre/validate", "//secret/validate", "/SECRET/validate"} {
		if code, text := ask(t.Context(), path); code != http.StatusNotFound || strings.Contains(text, "operator") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text := ask(t.Context(), "/secret/validate"); code != http.StatusOK || text != "operator /validate {}" {
		t.Errorf("with the secret: %d %s", code, text)
	}
}

func TestFrontRefuses(t *testing.T) {
	f, certs := newTestProxy(t, &run{})
	ask := apiServer(t, f, certs)
	f.refuse("the operator has ended")
	if code, text := ask(t.Context()); code != http.StatusServiceUnavailable || text != "the operator has ended" {
		t.Errorf("%d %s", code, text)
	}
	s := webhookServer(t, certs, "gone")
	f.point(s.Listener.Addr().String())
	s.Close()
	if code, text := ask(t.Context()); code != http.StatusBadGateway || !strings.Contains(text, "does not answer") {
		t.Errorf("%d %s", code, text)
	}
	// A stranger on the operator's port is not trusted.
	others, err := makeCertificates(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f.point(webhookServer(t, others, "stranger").Listener.Addr().String())
	if code, text := ask(t.Context()); code != http.StatusBadGateway {
		t.Errorf("%d %s", code, text)
	}
	// The API server gives up while the operator does not come.
	f.pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if code, text := ask(ctx); code != 0 || !strings.Contains(text, "deadline") {
		t.Errorf("%d %s", code, text)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	if code, _ := ask(t.Context()); code != 0 {
		t.Errorf("code %d after the end", code)
	}
}

// TestNoting: what the API server asks, and is answered, is told to whom it
// concerns, and stays as it is.
func TestNoting(t *testing.T) {
	w := newWorld(t)
	control := &controlFake{w: w}
	d, now := w.deps(), w.Now()
	began := now.Add(time.Second)
	d.Host.Now = func() time.Time { now = now.Add(time.Second); return now }
	r := newRun(Options{Dir: w.Dir}, d)
	r.control = control
	r.manifest.Webhooks = objects(t, hookYAML)
	f, certs := newTestProxy(t, r)
	s := webhookServer(t, certs, "operator")
	f.point(strings.TrimPrefix(s.URL, "https://"))
	if code, text := caller(t, f, certs)(t.Context(), "/secret/validate"); code != 200 || text != "operator /validate {}" {
		t.Fatalf("%d %s", code, text)
	}
	if err := f.server.Shutdown(t.Context()); err != nil { // when all is told
		t.Error(err)
	}
	want := []recording.Webhook{{Path: "/validate", Webhook: "a.example.com", Time: began, Took: time.Second, Code: 200,
		Message: "the answer is not a review: invalid character 'o' looking for beginning of value"}}
	if diff := cmp.Diff(want, control.calls); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestWebhookName(t *testing.T) {
	configs := objects(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating}
webhooks:
- {name: a.example.com, clientConfig: {service: {path: /mutate-a}}}
- {name: b.example.com, clientConfig: {service: {path: /mutate-b}}}
`)
	for path, want := range map[string]string{"/mutate-b": "b.example.com", "/mutate-a": "a.example.com", "/convert": ""} {
		if got := webhookName(configs, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func BenchmarkFront(b *testing.B) {
	certs, err := makeCertificates(time.Now())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f, err := newWebhookProxy(b.Context(), "127.0.0.1:0", "secret", certs, (&run{}).noting)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.close(); err != nil {
			b.Fatal(err)
		}
	}
}

// serveTLS answers on l until it is stopped.
func serveTLS(t *testing.T, l net.Listener, cert, key []byte) (stop func()) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Error(err)
	}
	s := &http.Server{
		ReadHeaderTimeout: time.Minute, ErrorLog: quietLog(),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = s.ServeTLS(l, "", "") }() // ends with stop
	return func() { _ = s.Close() }
}
