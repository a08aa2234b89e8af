package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

const (
	etcdClientSocket = "etcd.sock"
	etcdPeerSocket   = "etcd-peer.sock"
	// longestSocket is the longest name of a socket in the runtime directory.
	longestSocket = etcdPeerSocket
	// etcdWALBytes is the size of a segment of etcd's log. Two are allocated
	// at the first start, which at etcd's own size would take 128 MB of disk.
	etcdWALBytes = 4 << 20
	// A single member elects itself after one election timeout, so that
	// etcd's timeouts, made for networks, would be waited for at every start.
	etcdTickMs, etcdElectionMs = 10, 100
	// etcd holds what was written since its last snapshot in memory, and some
	// more for members that are behind, of which there are none. At etcd's own
	// 10,000 writes that would be a hundred megabytes of CRDs.
	etcdSnapshotWrites, etcdCatchUpWrites = 500, 50
	// etcdWaste is how much of etcd's file, which is mapped into memory, may be
	// free, in bytes.
	etcdWaste = 4 << 20
)

// startEtcd starts etcd on sockets in the private runtime directory: no port,
// and nobody else can read the store. It returns when etcd has a leader.
func (s *server) startEtcd(ctx context.Context) error {
	wal.SegmentSizeBytes = etcdWALBytes
	e, err := embed.StartEtcd(s.etcdConfig())
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		return fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.parts.Run("etcd", func(ctx context.Context) error {
		select {
		case err := <-e.Err():
			return err
		case <-e.Server.StopNotify():
			return errors.New("it stopped")
		case <-ctx.Done():
			return nil
		}
	})
	s.store = e.Server
	client := s.socketURL(etcdClientSocket)
	s.etcdURL = client.String()
	s.tracker.stage("etcd")
	return nil
}

// shrinkStore writes etcd's file again without what is free in it, where that is
// worth it. Requests wait for that, some milliseconds. What a kill leaves of it,
// etcd removes at its next start.
func (s *server) shrinkStore() error {
	b := s.store.Backend()
	if b.Size()-b.SizeInUse() <= etcdWaste {
		return nil
	}
	if err := s.store.Defragment(); err != nil {
		return fmt.Errorf("shrink etcd's file: %w", err)
	}
	return nil
}

func (s *server) etcdConfig() *embed.Config {
	c := embed.NewConfig()
	c.Dir = s.layout.Etcd()
	// A first start always logs an error that means nothing; what stops etcd
	// comes back as an error value.
	c.LogOutputs, c.LogLevel = []string{"stderr"}, "fatal"
	if s.Verbosity > 0 {
		c.LogLevel = "info"
	}
	c.ListenClientUrls = []url.URL{s.socketURL(etcdClientSocket)}
	c.ListenPeerUrls = []url.URL{s.socketURL(etcdPeerSocket)}
	// Names only: a single member never calls its peers. They are in the
	// data, so they must be the same at every start.
	c.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2379"}}
	c.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.TickMs, c.ElectionMs = etcdTickMs, etcdElectionMs
	c.SnapshotCount, c.SnapshotCatchUpEntries = etcdSnapshotWrites, etcdCatchUpWrites
	// What is acknowledged has been written to the log file, which outlives a
	// kill of the process; only a power cut can lose it.
	c.UnsafeNoFsync = !s.FSync
	return c
}

func (s *server) socketURL(name string) url.URL {
	return url.URL{Scheme: "unix", Path: filepath.ToSlash(filepath.Join(s.now.RuntimeDir, name))}
}
