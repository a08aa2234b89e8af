package registry

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestAuthorities(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	for name, tc := range map[string]struct{ data, want string }{
		"one":       {authority, ""},
		"two":       {authority + "# and another\n" + authority, ""},
		"none":      {"hello", "no certificate"},
		"a key":     {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no certificate"},
		"a bad one": {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "read a certificate"},
	} {
		pool, err := Authorities([]byte(tc.data))
		if tc.want == "" && (err != nil || pool == nil) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestGuard: no password goes over plain http to another machine.
func TestGuard(t *testing.T) {
	for address, c := range map[string]struct{ useHTTP, want bool }{
		"http://localhost:5000/v2/": {false, true}, "http://kind.localhost:5000/v2/": {false, true},
		"http://127.0.0.1:5000/v2/": {false, true}, "http://127.8.8.8/v2/": {false, true}, "http://[::1]:5000/v2/": {false, true},
		"https://10.0.0.5:5000/v2/": {false, true}, "https://ghcr.io/v2/": {false, true},
		"http://10.0.0.5:5000/v2/": {false, false}, "http://192.168.1.2/v2/": {false, false}, "http://localhost.example.com/v2/": {false, false},
		"http://10.0.0.6:5000/v2/": {true, true},
	} {
		sent := errors.New("sent")
		g := guard{roundTrip(func(*http.Request) (*http.Response, error) { return nil, sent }), c.useHTTP}
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.RoundTrip(&http.Request{URL: u}) //nolint:bodyclose // there is no answer
		if errors.Is(err, sent) != c.want || errors.Is(err, ErrPlainHTTP) == c.want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
