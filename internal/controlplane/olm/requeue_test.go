package olm

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// paced returns a queue with a worker, what the queue is made of, and how often
// the worker has looked at the item that waits. Until that is met, the worker
// puts it back each time, as OLM does.
func paced(t *testing.T) (q *pacedQueue, inner workqueue.TypedRateLimitingInterface[types.NamespacedName], looks *atomic.Int64, met *atomic.Bool) {
	t.Helper()
	inner = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
	t.Cleanup(inner.ShutDown)
	q = newPacedQueue(inner)
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
		q, inner, looks, met := paced(t)
		waits := types.NamespacedName{Name: "waits"}
		q.Add(waits)
		synctest.Wait()
		if n := looks.Load(); n != 1 {
			t.Errorf("%d looks at once, want one", n)
		}
		seconds := func(n int) (looked int64) {
			from := looks.Load()
			for range 100 * n {
				q.Add(types.NamespacedName{Name: "other"})
				q.Add(waits) // others ask for it, too
				time.Sleep(10 * time.Millisecond)
			}
			synctest.Wait()
			return looks.Load() - from
		}
		if n := seconds(1); n < 5 || n > 10 {
			t.Errorf("%d looks in the first second, want fewer and fewer from one each %v on", n, requeueGap)
		}
		seconds(20)
		if n := seconds(10); n < 9 || n > 10 {
			t.Errorf("%d looks in ten seconds, want one each %v", n, requeueLongest)
		}
		n := looks.Load()
		inner.Add(waits) // as informers do
		synctest.Wait()
		if now := looks.Load(); now != n+1 {
			t.Errorf("%d looks for what an informer saw, want one", now-n)
		}
		met.Store(true)
		time.Sleep(time.Minute)
		n = looks.Load()
		q.Add(waits)
		synctest.Wait()
		if now := looks.Load(); now != n+1 {
			t.Errorf("%d looks at once after a rest, want one", now-n)
		}
		if n := len(q.looks); n != 1 {
			t.Errorf("it remembers %d items, want those of the last second", n)
		}
	})
}

// TestPacedQueue_Retry: the queue adds a delayed item once, at the earliest time
// that it was given. A retry after an error can so take the place of the next look.
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
		time.Sleep(requeueGap)
		if n := looks.Load(); n != 3 {
			t.Errorf("%d looks, want the first, the retry and what was asked for after it", n)
		}
	})
}
