package hostpods

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/client-go/util/cert"
)

func testKubelet(t *testing.T) (*Kubelet, error) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("kubelet", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return NewKubelet(certificate, key, log.New(io.Discard, "", 0))
}

func TestKubeletSaysThatPodsAreSimulated(t *testing.T) {
	k, err := testKubelet(t)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- k.Serve(ctx) }()
	dial, err := k.Lookup(egressselector.NetworkContext{})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{
		DialContext:     dial,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as the API server's own client
	}}
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/containerLogs/default/web-1/c?tailLines=5": {http.StatusOK, "pod default/web-1 is simulated"},
		"/exec/default/web-1/c?command=ls":           {http.StatusBadRequest, "at least 1 of stdin, stdout, stderr"},
		"/attach/default/web-1/c":                    {http.StatusNotImplemented, "are simulated"},
		"/portForward/default/web-1":                 {http.StatusNotImplemented, "are simulated"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://240.1.0.1:10250"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Error(err)
		}
		if resp.StatusCode != want.code || !strings.Contains(string(body), want.text) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("serve() = %v", err)
	}
	if _, err := dial(t.Context(), "tcp", "x"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dial after the end = %v, want net.ErrClosed", err)
	}
}

func TestKubeletDialEndsWithItsContext(t *testing.T) {
	k, err := testKubelet(t)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Dial(ctx, "tcp", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("dial() = %v, want context.Canceled", err)
	}
}

func TestKubeletNeedsItsCertificate(t *testing.T) {
	if _, err := NewKubelet(nil, nil, log.New(io.Discard, "", 0)); err == nil {
		t.Error("newKubelet() = nil error")
	}
}
