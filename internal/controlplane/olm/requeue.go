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

const (
	// requeueGap is before the second look at a ClusterServiceVersion that waits,
	// and requeueLongest the most that it becomes.
	requeueGap     = 100 * time.Millisecond
	requeueLongest = time.Second
)

// pacedQueue adds an item at once, but not soon again: the longer it is asked
// for without a rest, the longer that takes.
type pacedQueue struct {
	workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu    sync.Mutex
	looks map[types.NamespacedName]look
}

// look is when an item is added, and how long after it was asked for.
type look struct {
	at  time.Time
	gap time.Duration
}

func newPacedQueue(q workqueue.TypedRateLimitingInterface[types.NamespacedName]) *pacedQueue {
	return &pacedQueue{TypedRateLimitingInterface: q, looks: map[types.NamespacedName]look{}}
}

// Add implements workqueue.TypedInterface.
func (q *pacedQueue) Add(item types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(q.looks, func(_ types.NamespacedName, l look) bool { return now.Sub(l.at) > requeueLongest })
	l, again := q.looks[item]
	switch {
	case !again:
		l = look{at: now}
	case !l.at.After(now):
		l.gap = min(max(requeueGap, l.gap+l.gap/8), requeueLongest)
		l.at = now.Add(l.gap)
	}
	q.looks[item] = l
	// Also if it is still to be added: a retry after an error, which the queue
	// keeps in the same place, may have taken its turn before.
	q.AddAfter(item, l.at.Sub(now))
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
		(*set).Set(namespace, newPacedQueue(q))
	}
	return nil
}
