package olm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/cache"
	"github.com/operator-framework/operator-registry/pkg/registry"
	registryserver "github.com/operator-framework/operator-registry/pkg/server"
	"golang.org/x/net/proxy"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/mysdk/internal/cluster/state"
)

const (
	// catalogTimeout is how long a connection waits for a catalog that
	// nobody has spoken of yet.
	catalogTimeout = 3 * time.Second
	// pullTimeout is how long it waits for one that is on its way; gRPC's own
	// timeout for a connection is 20 seconds.
	pullTimeout = 15 * time.Second
)

// catalogs are the catalogs that OLM reads, by the CatalogSource's name. They are
// served in memory: OLM's connections to <name>.<namespace>.svc end here, whatever the
// port, and no connection to a cluster's Service leaves the process.
type catalogs struct {
	log     *log.Logger
	global  string                                            // namespace whose catalogs all others see
	owner   func(address string) (types.NamespacedName, bool) // the CatalogSource that is meant by an address
	unknown func(types.NamespacedName, string)                // told of a catalog that is asked for and has no content, and why
	mu      sync.Mutex                                        // guards what follows
	served  map[types.NamespacedName]*catalogServer           // the content of each
	coming  map[types.NamespacedName]bool                     // content that is being loaded
	closed  bool
	changed chan struct{} // closed at the next change
}

func newCatalogs(l *log.Logger, global string) *catalogs {
	return &catalogs{
		log: l, global: global, changed: make(chan struct{}),
		owner:   func(string) (types.NamespacedName, bool) { return types.NamespacedName{}, false },
		unknown: func(types.NamespacedName, string) {},
		served:  map[types.NamespacedName]*catalogServer{}, coming: map[types.NamespacedName]bool{},
	}
}

// announce says that the content of a catalog is being loaded.
func (c *catalogs) announce(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.coming[name] = true
}

// put serves content, or nothing where it is nil, and closes the connections
// to what was served before. OLM connects again at once, as nothing failed,
// and rereads the catalog.
func (c *catalogs) put(name types.NamespacedName, content *catalogServer) {
	c.mu.Lock()
	old := c.replace(name, content)
	c.mu.Unlock()
	old.stop(c.log)
}

// replace is put with the lock held. The caller stops what it returns.
func (c *catalogs) replace(name types.NamespacedName, content *catalogServer) (old *catalogServer) {
	old = c.served[name]
	delete(c.coming, name)
	switch {
	case c.closed:
		old = content // nobody is going to ask for it
	case content == nil:
		delete(c.served, name)
	default:
		c.served[name] = content
	}
	close(c.changed)
	c.changed = make(chan struct{})
	return old
}

// digest is that of the content that is served; "" where there is none.
func (c *catalogs) digest(name types.NamespacedName) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.served[name]; s != nil {
		return s.digest
	}
	return ""
}

// serves reports whether a catalog's content is that of the image with the digest hex.
func (c *catalogs) serves(hex string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.served {
		if strings.HasSuffix(s.digest, " "+hex) {
			return true
		}
	}
	return false
}

func (c *catalogs) close() {
	c.mu.Lock()
	served := c.served
	c.served, c.closed = nil, true
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
	for _, s := range served {
		s.stop(c.log)
	}
}

// Dial implements proxy.Dialer for OLM's connections to catalogs.
func (c *catalogs) Dial(_, address string) (net.Conn, error) {
	began := time.Now()
	for {
		name, err := catalogName(address)
		// Each time: the CatalogSource may be newer than what is known here.
		if owner, ok := c.owner(address); ok {
			name = owner
		} else if err != nil {
			return nil, err
		}
		if err != nil {
			c.standFor(name, err, true)
		}
		c.mu.Lock()
		s, coming, changed, closed := c.served[name], c.coming[name], c.changed, c.closed
		c.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		if s != nil {
			return s.listener.DialContext(context.Background()) // the interface passes none; it is in memory
		}
		timeout := catalogTimeout
		if coming {
			timeout = pullTimeout
		}
		timer := time.NewTimer(timeout - time.Since(began))
		select {
		case <-changed:
		case <-timer.C:
			reason := errors.New("no ConfigMap labelled " + state.CatalogLabel + "=" + name.Name)
			if coming {
				reason = fmt.Errorf("timed out after %s waiting for its content", pullTimeout)
			}
			c.standFor(name, reason, false)
		}
		timer.Stop()
	}
}

// standFor serves reason in place of a catalog that has no content. A refused
// connection would be tried again at ever longer intervals only, and would not be
// told the reason. Every namespace's resolution reads the global catalogs and
// fails with any of them: there an empty catalog stands in, and the reason is an
// event only. Content is left alone unless over is set: it may have come while
// somebody waited for it until a timeout.
func (c *catalogs) standFor(name types.NamespacedName, reason error, over bool) {
	c.mu.Lock()
	old := c.served[name]
	if c.closed || old != nil && (old.reason == reason.Error() || old.digest != "" && !over) {
		c.mu.Unlock()
		return // nothing new: OLM need not read it again
	}
	told := fmt.Errorf("catalog %s: %w", name, reason)
	if name.Namespace == c.global {
		told = nil
	}
	s := newSubstitute(told)
	s.reason = reason.Error()
	old = c.replace(name, s)
	c.mu.Unlock()
	old.stop(c.log)
	c.log.Printf("catalog %s has no content: %v", name, reason)
	c.unknown(name, reason.Error())
}

// catalogName finds which catalog an address of the form
// <name>.<namespace>.svc[.cluster.local]:<port> means.
func catalogName(address string) (types.NamespacedName, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return types.NamespacedName{}, fmt.Errorf("%q is not an address with a port: %w", address, err)
	}
	host = strings.TrimSuffix(strings.TrimSuffix(host, "."), ".cluster.local")
	parts := strings.Split(host, ".")
	if len(parts) != 3 || parts[2] != "svc" || parts[0] == "" || parts[1] == "" {
		return types.NamespacedName{}, fmt.Errorf("%q cannot be reached: there is no cluster network here, and it is not the Service of a catalog", address)
	}
	return types.NamespacedName{Namespace: parts[1], Name: parts[0]}, nil
}

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

// catalogBuffer is how much a connection in memory holds, in bytes.
const catalogBuffer = 1 << 20

// catalogServer serves one state of one catalog over gRPC, in memory.
type catalogServer struct {
	digest   string // of the content, "" for a substitute
	reason   string // why there is a substitute
	listener *bufconn.Listener
	server   *grpc.Server
	store    cache.Cache // nil for a substitute
	dir      string      // of the store, to be removed with it
}

// newCatalogServer serves a file-based catalog. Its index is built in dir,
// which must be empty or the index of the same catalog.
func newCatalogServer(ctx context.Context, fbc fs.FS, dir, digest string) (*catalogServer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	store, err := cache.New(dir, cache.WithFormat(cache.FormatJSON))
	if err != nil {
		return nil, fmt.Errorf("index the catalog: %w", err)
	}
	if err := cache.LoadOrRebuild(ctx, store, fbc); err != nil {
		return nil, errors.Join(fmt.Errorf("index the catalog: %w", err), store.Close())
	}
	s := serveCatalog(store)
	s.digest, s.store, s.dir = digest, store, dir
	return s, nil
}

// newSubstitute answers every request with reason; a nil one stands for a catalog
// that has no packages.
func newSubstitute(reason error) *catalogServer {
	var list error
	one := status.Error(codes.NotFound, "the catalog is empty")
	if reason != nil {
		one = status.Error(codes.Unavailable, reason.Error())
		list = one
	}
	return serveCatalog(registry.NewEmptyQuerier(),
		grpc.StreamInterceptor(func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error { return list }),
		grpc.UnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) { return nil, one }))
}

func serveCatalog(content registry.GRPCQuery, options ...grpc.ServerOption) *catalogServer {
	s := &catalogServer{listener: bufconn.Listen(catalogBuffer), server: grpc.NewServer(options...)}
	api.RegisterRegistryServer(s.server, registryserver.NewRegistryServer(content))
	health.RegisterHealthServer(s.server, registryserver.NewHealthServer())
	go func() {
		// It ends by stop alone: a listener in memory does not fail.
		_ = s.server.Serve(s.listener)
	}()
	return s
}

// stop closes the server's connections and drops its index; nil is none.
func (s *catalogServer) stop(l *log.Logger) {
	if s == nil {
		return
	}
	s.server.Stop()
	var err error
	if s.store != nil {
		err = s.store.Close()
	}
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	if err != nil {
		l.Printf("drop the index of a catalog: %v", err)
	}
}
