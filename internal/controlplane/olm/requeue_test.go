package olm

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// paced returns a queue with a gap of a second and a worker, what it is made
// of, and how often the worker has looked at the item that waits. Until it is
// met, the worker puts that back each time, as OLM does.
func paced(t *testing.T) (q *pacedQueue, inner workqueue.TypedRateLimitingInterface[types.NamespacedName], looks *atomic.Int64, met *atomic.Bool) {
	t.Helper()
	inner = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
	t.Cleanup(inner.ShutDown)
	q = &pacedQueue{TypedRateLimitingInterface: inner, gap: time.Second, added: map[types.NamespacedName]time.Time{}}
	looks, met = &atomic.Int64{}, &atomic.Bool{}
	go func() {
		for {
			item, shutdown := inner.Get()
			if shutdown {
				return
			}
			if item.Name == "waits" {
				looks.Add(1)
				if !met.Load() {
					q.Add(item)
				}
			}
			inner.Done(item)
		}
	}()
	return q, inner, looks, met
}

func TestPacedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, inner, looks, _ := paced(t)
		waits := types.NamespacedName{Name: "waits"}
		q.Add(waits)
		synctest.Wait()
		if n := looks.Load(); n != 1 {
			t.Errorf("%d looks at once, want one", n)
		}
		for range 100 {
			q.Add(types.NamespacedName{Name: "other"})
			q.Add(waits) // others ask for it, too
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		n := looks.Load()
		if n < 10 || n > 11 {
			t.Errorf("%d looks in ten gaps, want one each", n)
		}
		inner.Add(waits) // as informers do
		synctest.Wait()
		if now := looks.Load(); now != n+1 {
			t.Errorf("%d looks for what an informer saw, want one", now-n)
		}
		if n := len(q.added); n != 2 {
			t.Errorf("it remembers %d items, want those of the last gap", n)
		}
		time.Sleep(3 * q.gap)
		q.Add(waits)
		if n := len(q.added); n != 1 {
			t.Errorf("it remembers %d items, want those of the last gap", n)
		}
	})
}

// TestPacedQueue_Retry: the queue keeps an item that is to be added later in one
// place, at the earliest time. A retry after an error takes that of the next look.
func TestPacedQueue_Retry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, inner, looks, met := paced(t)
		waits := types.NamespacedName{Name: "waits"}
		q.Add(waits)
		synctest.Wait()
		met.Store(true)
		inner.AddAfter(waits, time.Millisecond)
		time.Sleep(2 * time.Millisecond)
		q.Add(waits)
		time.Sleep(q.gap)
		if n := looks.Load(); n != 3 {
			t.Errorf("%d looks, want the first, the retry and what was asked for after it", n)
		}
	})
}
