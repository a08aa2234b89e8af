package controlplane

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestKeepHome(t *testing.T) {
	dialled := errors.New("dialled")
	transport := &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, dialled },
	}
	metrics := errors.New("metrics")
	loopbackOnly(transport, map[string]dialFunc{metricsAddress: func(context.Context, string, string) (net.Conn, error) { return nil, metrics }})
	if _, err := transport.DialContext(t.Context(), "tcp", metricsAddress); !errors.Is(err, metrics) {
		t.Errorf("the metrics API: %v", err)
	}
	if transport.Proxy != nil {
		t.Error("requests may still go to a proxy")
	}
	for address, home := range map[string]bool{
		"127.0.0.1:80": true, "localhost:80": true, "[::1]:80": true,
		"240.0.0.10:443": false, "240.2.0.3:8080": false, "example.com:80": false,
	} {
		_, err := transport.DialContext(t.Context(), "tcp", address)
		if errors.Is(err, dialled) != home {
			t.Errorf("%s: %v, want dialled = %v", address, err, home)
		}
		if !home && !strings.Contains(err.Error(), "no cluster network") {
			t.Errorf("%s: %v", address, err)
		}
	}
	plain := &http.Transport{}
	loopbackOnly(plain, nil)
	if _, err := plain.DialContext(t.Context(), "tcp", "192.0.2.1:1"); err == nil {
		t.Error("a transport without a dialer reaches other machines")
	}
}
