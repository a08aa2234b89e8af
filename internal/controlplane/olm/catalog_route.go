package olm

import (
	"errors"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/net/proxy"
)

// catalogScheme is the scheme of the proxy that OLM is told to reach catalogs
// through, and that this process answers itself.
const catalogScheme = "mysdk-catalogs"

// catalogRoute takes OLM's connections to the catalogs of the OLM that runs.
// OLM's dialers are registered for the whole process, where nothing guards
// them, and those of an OLM that has ended may dial on: so one route is
// registered, once, and what it leads to comes and goes.
type catalogRoute struct {
	once sync.Once
	err  error // of registering
	to   atomic.Pointer[catalogs]
}

// Dial implements proxy.Dialer.
func (r *catalogRoute) Dial(network, address string) (net.Conn, error) {
	c := r.to.Load()
	if c == nil {
		return nil, net.ErrClosed
	}
	return c.Dial(network, address)
}

// register has OLM connect through r. OLM takes a proxy from the environment,
// and leaves it out for hosts in NO_PROXY, where names of Services often are.
// net/http reads its own settings once, so it does before.
func (r *catalogRoute) register(l *log.Logger) error {
	r.once.Do(func() {
		if _, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: "example.com"}}); err != nil {
			l.Printf("proxy settings: %v", err) // the one who needs them will say so
		}
		proxy.RegisterDialerType(catalogScheme, func(*url.URL, proxy.Dialer) (proxy.Dialer, error) { return r, nil })
		r.err = errors.Join(
			os.Setenv("GRPC_PROXY", catalogScheme+"://local"), os.Unsetenv("NO_PROXY"), os.Unsetenv("no_proxy"),
		)
	})
	return r.err
}
