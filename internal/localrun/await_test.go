package localrun

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// TestAwaitStranger: an operator that does not use the certificate that it was
// given is told of once, and is waited for. --apply does not wait, nor is it waited
// for: its objects may need the webhook server.
func TestAwaitStranger(t *testing.T) {
	w := webhookWorld(t)
	own, err := makeCertificates(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := makeCertificates(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	h := &hooks{r: newRun(Options{}, w.deps()), certs: own}
	h.r.client, h.r.manifests = clientFake{w}, []manifest{{name: "sample.yaml", objs: objects(t, sample)}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	stop := serveTLS(t, l, other.cert, other.key)
	applying, answered := make(chan bool), make(chan bool)
	w.onEvent = func(e string) {
		if strings.HasPrefix(e, "apply Memcached") {
			close(applying)
			<-answered
		}
	}
	w.applyErr["Memcached"] = errors.New("boom")
	done := make(chan error)
	go func() { done <- h.await(t.Context(), address) }()
	w.shows(t.Context(), "has a certificate of its own")
	<-applying
	stop()
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	defer serveTLS(t, l, own.cert, own.key)()
	if err := <-done; err != nil {
		t.Errorf("error: %v", err)
	}
	close(answered)
	h.r.settling.Wait()
	if !strings.Contains(w.err.String(), "error: --apply sample.yaml: boom") {
		t.Errorf("nothing is said of --apply:\n%s", w.err)
	}
	if n := strings.Count(w.err.String(), "warning"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, w.err)
	}
}

// TestAwaitEnds: nobody waits for an operator that is gone.
func TestAwaitEnds(t *testing.T) {
	w := webhookWorld(t)
	own, err := makeCertificates(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := &hooks{r: newRun(Options{}, w.deps()), certs: own}
	if err := h.await(ctx, "127.0.0.1:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}

// TestAwaitDying: an operator that dies when its webhook server has answered tells
// itself why.
func TestAwaitDying(t *testing.T) {
	w := webhookWorld(t)
	own, err := makeCertificates(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	died := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			died <- err
			return
		}
		// In TLS 1.2 the server has the last word: the handshake is complete for both.
		config := own.server.Clone()
		config.MaxVersion = tls.VersionTLS12
		err = tls.Server(conn, config).HandshakeContext(t.Context())
		died <- errors.Join(err, conn.(*net.TCPConn).SetLinger(0), conn.Close(), l.Close())
	}()
	h := &hooks{r: newRun(Options{}, w.deps()), certs: own}
	err = h.await(t.Context(), l.Addr().String())
	if err = errors.Join(err, <-died); err != nil {
		t.Errorf("error: %v", err)
	}
}

// TestWebhookHost: where the API server is sent, and where the proxy listens.
func TestWebhookHost(t *testing.T) {
	tests := map[string]struct {
		context       string
		embedded      bool
		host, address string // --webhook-host, --webhook-listen
		where, listen string
	}{
		"embedded":              {"mysdk-default", true, "", "", "127.0.0.1", "127.0.0.1:0"},
		"embedded in name only": {"mysdk-prod", false, "me.example.com", "", "me.example.com", "0.0.0.0:0"},
		"not to be had outside": {"mysdk-test", true, "10.0.0.1", "", "127.0.0.1", "127.0.0.1:0"},
		"embedded, a port":      {"mysdk-test", true, "", ":9443", "127.0.0.1", "127.0.0.1:9443"},
		"embedded, everywhere":  {"mysdk-test", true, "", "0.0.0.0:9443", "127.0.0.1", "0.0.0.0:9443"},
		"embedded, elsewhere":   {"mysdk-test", true, "", "192.168.1.5", "192.168.1.5", "192.168.1.5:0"},
		"minikube":              {"minikube", false, "", "", "host.minikube.internal", "0.0.0.0:0"},
		"the user knows better": {"minikube", false, "10.0.0.1", "", "10.0.0.1", "0.0.0.0:0"},
		"any cluster":           {"production", false, "me.example.com", "", "me.example.com", "0.0.0.0:0"},
		"one address":           {"production", false, "", "192.168.1.5:9443", "192.168.1.5", "192.168.1.5:9443"},
		"behind a tunnel":       {"production", false, "me.example.com", "127.0.0.1:9443", "me.example.com", "127.0.0.1:9443"},
		"loopback is no way in": {"minikube", false, "", "::1", "host.minikube.internal", "[::1]:0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.context = tc.context
			r := newRun(Options{WebhookHost: tc.host, WebhookListen: tc.address}, w.deps())
			r.client, r.embedded = clientFake{w}, tc.embedded
			where, listen, err := r.webhookHost(t.Context())
			if where != tc.where || listen != tc.listen || err != nil {
				t.Errorf("%s, %s, %v", where, listen, err)
			}
		})
	}
}

// TestWebhooksNamed: a cluster elsewhere calls a name that the certificate has.
func TestWebhooksNamed(t *testing.T) {
	w := webhookWorld(t)
	w.context = "minikube"
	ctx := cancelWhen(t, w, "webhooks on")
	seen := ""
	w.onEvent = func(e string) {
		if e == "edit "+hookKey {
			seen = e
		}
	}
	if err := Run(ctx, Options{Dir: w.Dir, Context: "minikube"}, w.deps()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error: %v\n%s", err, w.err)
	}
	if seen == "" || !strings.Contains(w.err.String(), "at https://host.minikube.internal:") || !strings.Contains(w.err.String(), "listening on 0.0.0.0:") {
		t.Errorf("stderr:\n%s", w.err)
	}
	if w.happened("stop cluster") || w.object(hookKey) != nil || len(w.journalFiles(t)) > 0 {
		t.Errorf("left in a cluster of the user's: %q", w.listed())
	}
}

func TestValueOf(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"none":       {nil, ""},
		"equals":     {[]string{"--a=1"}, "1"},
		"one dash":   {[]string{"-a=1"}, "1"},
		"two words":  {[]string{"--a", "1"}, "1"},
		"the last":   {[]string{"--a=1", "--a=2"}, "2"},
		"no value":   {[]string{"--a"}, ""},
		"other":      {[]string{"--ab=1", "a=2", "a", "3"}, ""},
		"with equal": {[]string{"--a=b=c"}, "b=c"},
	}
	for name, tc := range tests {
		if got, _ := valueOf(tc.args, "a"); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestExitText(t *testing.T) {
	for want, err := range map[string]error{"exit code 0": nil, "exit code 3": exited(3), "signal: killed": errors.New("signal: killed")} {
		if got := exitText(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
