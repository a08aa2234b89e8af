package controlplane

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// keepHome has a transport reach this machine only. By it the API server calls
// pods and Services, whose addresses exist in names only here: on the network
// outside they may be somebody's.
func keepHome(t *http.Transport) {
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	t.Proxy = nil
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := checkLoopback(address); err != nil {
			return nil, fmt.Errorf("there is no cluster network here: %w", err)
		}
		return dial(ctx, network, address)
	}
}
