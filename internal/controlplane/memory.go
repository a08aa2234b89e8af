package controlplane

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/example/mysdk/internal/host"
)

const (
	// trimInterval is how often the heap is looked at.
	trimInterval = 5 * time.Second
	// trimWaste is how much of it may be garbage or free, in bytes. What
	// bundles, CRDs and OLM leave behind is many times that.
	trimWaste = 48 << 20
	// restWaste is the same for a server that rests: that has allocated no more
	// than restAllocs in an interval.
	restWaste, restAllocs = 16 << 20, 8 << 20
)

// trimMemory gives memory that is no longer used back to the system until ctx
// ends. Go by itself keeps the heap at twice its largest size for minutes, and
// etcd its file at its largest for ever.
func (s *server) trimMemory(ctx context.Context) error {
	var before uint64
	shrink := s.shrinkStore
	for host.Pause(ctx, trimInterval) {
		wasted, allocated := heap()
		limit := uint64(trimWaste)
		if allocated-before <= restAllocs {
			limit = restWaste
			if err := shrink(); err != nil {
				s.log.Printf("etcd's file keeps its size: %v", err) // a full disk ends no server
				shrink = func() error { return nil }
			}
		}
		if before = allocated; wasted > limit {
			debug.FreeOSMemory()
		}
	}
	return context.Cause(ctx)
}

// heap is how much of the heap is garbage or free, and how much of it was ever
// asked for, in bytes.
func heap() (wasted, allocated uint64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(samples)
	held, live := samples[0].Value.Uint64()+samples[1].Value.Uint64(), samples[2].Value.Uint64()
	return held - min(live, held), samples[3].Value.Uint64()
}
