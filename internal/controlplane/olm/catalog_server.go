package olm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"

	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/cache"
	"github.com/operator-framework/operator-registry/pkg/registry"
	registryserver "github.com/operator-framework/operator-registry/pkg/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

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
