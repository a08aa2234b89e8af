package olm

import (
	"errors"
	"maps"
	"sync"
	"time"

	olmoperator "github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/olm"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/queueinformer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// requeueGap is the time between two looks at a ClusterServiceVersion that waits.
const requeueGap = 100 * time.Millisecond

// pacedQueue adds an item at once, but not again before a gap has passed.
type pacedQueue struct {
	workqueue.TypedRateLimitingInterface[types.NamespacedName]
	gap time.Duration

	mu    sync.Mutex
	added map[types.NamespacedName]time.Time // in the future where an item is still to be added
}

// Add implements workqueue.TypedInterface.
func (q *pacedQueue) Add(item types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	at := q.added[item]
	if !at.After(now) {
		at = at.Add(q.gap)
		if at.Before(now) {
			at = now
		}
		maps.DeleteFunc(q.added, func(_ types.NamespacedName, t time.Time) bool { return now.Sub(t) > q.gap })
		q.added[item] = at
	}
	// Again if it is still to be added: a retry after an error, which the queue
	// keeps in the same place, may have taken its turn before.
	q.AddAfter(item, at.Sub(now))
}

// paceRequeues keeps OLM from looking without a pause at ClusterServiceVersions
// whose Deployments are not ready yet: it puts them back into the queue each
// time, and only the rate limit of its clients, which these have not, would hold
// it up. What its informers see is not held up. Call it before the operator
// runs.
func paceRequeues(op *olmoperator.Operator) error {
	set, err := hiddenField[*queueinformer.ResourceQueueSet](op, "csvQueueSet")
	if err != nil {
		return err
	}
	queues, err := hiddenField[map[string]workqueue.TypedRateLimitingInterface[types.NamespacedName]](*set, "queueSet")
	if err != nil {
		return err
	}
	if len(*queues) == 0 {
		return errors.New("OLM has no queue of ClusterServiceVersions")
	}
	for namespace, q := range *queues {
		(*set).Set(namespace, &pacedQueue{TypedRateLimitingInterface: q, gap: requeueGap, added: map[types.NamespacedName]time.Time{}})
	}
	return nil
}
