package registry

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// ErrPlainHTTP is the refusal to speak plain http with another machine.
var ErrPlainHTTP = errors.New("plain http is allowed on this machine only, because passwords are sent unencrypted")

// guard refuses plain http with other machines unless that is wanted: the
// library would use it, password included, with every private address.
type guard struct {
	next    http.RoundTripper
	useHTTP bool
}

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "http" && !g.useHTTP && !loopback(r.URL) {
		return nil, ErrPlainHTTP
	}
	return g.next.RoundTrip(r)
}

func loopback(u *url.URL) bool {
	h := u.Hostname()
	if h == "localhost" || strings.HasSuffix(h, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(h)
	return err == nil && addr.IsLoopback()
}
