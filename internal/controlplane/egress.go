package controlplane

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

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
