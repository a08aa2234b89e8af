package olm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/install"
	olmoperator "github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/olm"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/grpc"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/queueinformer"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

// hiddenField finds a field that OLM does not export, in the struct that holder
// points to. Where a release of OLM has another, that is an error.
func hiddenField[T any](holder any, name string) (*T, error) {
	v := reflect.ValueOf(holder)
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		if f := v.Elem().FieldByName(name); f.IsValid() && f.Type() == reflect.TypeFor[T]() {
			return (*T)(f.Addr().UnsafePointer()), nil
		}
	}
	return nil, fmt.Errorf("OLM's %T has no field %s of the type %s", holder, name, reflect.TypeFor[T]())
}

// mute takes away the channel that an operator's workers send their results
// to, which nobody reads here. OLM closes it at the operator's end without
// waiting for its workers, and a worker that sends to it then ends the process.
// A send to no channel is never ready, so they skip it. Call it
// before the operator runs.
func mute(queues queueinformer.Operator) error {
	results, err := hiddenField[chan error](queues, "syncCh")
	if err != nil {
		return err
	}
	*results = nil
	return nil
}

// endable makes the goroutine of a store's connections end when the function that it
// returns is called. OLM starts it with a context that has no end, and it holds all
// that its operator ever knew. Call it before the operator runs.
func endable(store *grpc.SourceStore) (end func(), err error) {
	handle, err := hiddenField[func(grpc.SourceState)](store, "syncFn")
	if err != nil {
		return nil, err
	}
	states, err := hiddenField[chan grpc.SourceState](store, "notify")
	if err != nil {
		return nil, err
	}
	last, inner := grpc.SourceState{}, *handle
	*handle = func(s grpc.SourceState) {
		if s == last {
			runtime.Goexit()
		}
		inner(s)
	}
	return func() { *states <- last }, nil
}

// recorderEnd finds what ends the recorder of an operator's events, which OLM
// leaves at work.
func recorderEnd(op any) (end func(), err error) {
	outer, err := hiddenField[record.EventRecorder](op, "recorder")
	if err != nil {
		return nil, err
	}
	inner, err := hiddenField[record.EventRecorder](*outer, "recorder")
	if err != nil {
		return nil, err
	}
	broadcaster, ok := (*inner).(interface{ Shutdown() })
	if !ok {
		return nil, fmt.Errorf("the recorder of OLM's %T, a %T, has no Shutdown", op, *inner)
	}
	return broadcaster.Shutdown, nil
}

// outlive has an operator check the rules of roles with a function of ours, which says
// that it ends after the end of ctx. OLM's own is nil then, and called nevertheless,
// which ends the process. Call it before the operator runs.
func outlive(ctx context.Context, op *olmoperator.Operator, client kubernetes.Interface) error {
	check, err := hiddenField[func(*v1alpha1.ClusterServiceVersion) *install.CSVRuleChecker](op, "ruleChecker")
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	rbac := factory.Rbac().V1()
	roles, bindings := rbac.Roles().Lister(), rbac.RoleBindings().Lister()
	clusterRoles, clusterBindings := rbac.ClusterRoles().Lister(), rbac.ClusterRoleBindings().Lister()
	*check = func(csv *v1alpha1.ClusterServiceVersion) *install.CSVRuleChecker {
		factory.Start(ctx.Done()) // once, for the first that asks
		factory.WaitForCacheSync(ctx.Done())
		if ctx.Err() != nil {
			return nil
		}
		return install.NewCSVRuleChecker(roles, bindings, clusterRoles, clusterBindings, csv)
	}
	return nil
}

// disconnect closes the connections of OLM's catalog operator, which leaves
// them open at its end and would dial again each time one breaks.
func disconnect(store *grpc.SourceStore) error {
	sources, err := hiddenField[map[registry.CatalogKey]grpc.SourceConn](store, "sources")
	if err != nil {
		return err
	}
	lock, err := hiddenField[sync.RWMutex](store, "sourcesLock")
	if err != nil {
		return err
	}
	lock.RLock()
	keys := slices.Collect(maps.Keys(*sources))
	lock.RUnlock()
	var errs []error
	for _, key := range keys {
		errs = append(errs, store.Remove(key))
	}
	return errors.Join(errs...)
}

// unlimit takes the rate limit off every REST client that root holds, and off
// every configuration that it makes more of. OLM's catalog operator makes its
// clients itself, from a kubeconfig, which cannot say more than client-go's
// default of five requests a second: an upgrade would take seconds longer, and a
// step of the last one could come after what it installs is gone. The fields are
// not exported, so they are found by their types.
func unlimit(root any) (clients, configs int) {
	seen := map[unsafe.Pointer]bool{}
	var walk func(v reflect.Value, depth int)
	walk = func(v reflect.Value, depth int) {
		switch v.Kind() {
		case reflect.Interface:
			walk(v.Elem(), depth)
		case reflect.Pointer:
			if v.IsNil() || seen[v.UnsafePointer()] {
				return
			}
			seen[v.UnsafePointer()] = true
			switch v.Type() {
			case reflect.TypeFor[*rest.RESTClient]():
				if raise((*rest.RESTClient)(v.UnsafePointer())) {
					clients++
				}
			case reflect.TypeFor[*rest.Config]():
				(*rest.Config)(v.UnsafePointer()).QPS = -1
				configs++
			default:
				walk(v.Elem(), depth)
			}
		case reflect.Struct:
			for i := 0; i < v.NumField() && depth < limitDepth; i++ {
				walk(v.Field(i), depth+1)
			}
		}
	}
	walk(reflect.ValueOf(root), 0)
	return clients, configs
}

// limitDepth bounds how deep below the root clients are looked for.
const limitDepth = 8

// raise takes the limit off a client, and reports whether it has found it.
func raise(c *rest.RESTClient) bool {
	bucket := reflect.ValueOf(c.GetRateLimiter())
	if bucket.Kind() != reflect.Pointer || bucket.Elem().Kind() != reflect.Struct {
		return false
	}
	field := bucket.Elem().FieldByName("limiter")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*rate.Limiter]() {
		return false
	}
	(*rate.Limiter)(field.UnsafePointer()).SetLimit(rate.Inf)
	return true
}

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

// paceRequeues keeps OLM from looking without a pause at ClusterServiceVersions whose
// Deployments are not ready yet: it puts them back into the queue each time, and only
// the rate limit of its clients, which these have not, would hold it up. What its
// informers see is not held up. Call it before the operator runs.
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
