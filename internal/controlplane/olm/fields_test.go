package olm

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/install"
	olmoperator "github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/olm"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/grpc"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/queueinformer"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc/connectivity"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slowSync is a worker's step that is under way when its operator ends.
type slowSync struct{ entered, leave chan struct{} }

func (s slowSync) Sync(context.Context, client.Object) error {
	close(s.entered)
	<-s.leave
	return nil
}

// leftQueue tells when a worker has done with its item.
type leftQueue struct {
	workqueue.TypedRateLimitingInterface[types.NamespacedName]
	left chan struct{}
}

func (q leftQueue) Done(item types.NamespacedName) {
	q.TypedRateLimitingInterface.Done(item)
	close(q.left)
}

func TestAWorkerOutlivesItsOperator(t *testing.T) {
	c := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	op, err := queueinformer.NewOperator(c.Discovery(), queueinformer.WithOperatorLogger(logger))
	if err != nil {
		t.Fatal(err)
	}
	if err := mute(op); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	step := slowSync{make(chan struct{}), make(chan struct{})}
	queue := leftQueue{
		workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()), make(chan struct{}),
	}
	work, err := queueinformer.NewQueueInformer(ctx, queueinformer.WithQueue(queue), queueinformer.WithSyncer(step),
		queueinformer.WithInformer(informers.NewSharedInformerFactory(c, 0).Core().V1().Namespaces().Informer()))
	if err != nil {
		t.Fatal(err)
	}
	if err := op.RegisterQueueInformer(work); err != nil {
		t.Fatal(err)
	}
	op.Run(ctx)
	<-step.entered
	cancel()
	<-op.Done()
	close(step.leave)
	<-queue.left // a worker that sends to a closed channel panics before
}

func TestDisconnect(t *testing.T) {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	store := grpc.NewSourceStore(logger, time.Minute, time.Minute, func(grpc.SourceState) {})
	store.Start(t.Context())
	var conns []*grpc.SourceConn
	for _, name := range []string{"a", "b"} {
		c, err := store.Add(registry.CatalogKey{Namespace: "olm", Name: name}, "127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	if err := disconnect(store); err != nil {
		t.Fatal(err)
	}
	for _, c := range conns {
		if got := c.Conn.GetState(); got != connectivity.Shutdown {
			t.Errorf("a connection is %s", got)
		}
	}
	if clients := store.AsClients("olm"); len(clients) > 0 {
		t.Errorf("left are %v", clients)
	}
}

func TestHiddenFieldOfWhatIsNotThere(t *testing.T) {
	for name, holder := range map[string]any{
		"nothing": nil, "no pointer": slowSync{}, "no such field": &slowSync{}, "of another type": &struct{ syncCh chan int }{},
	} {
		if got, err := hiddenField[chan error](holder, "syncCh"); err == nil {
			t.Errorf("%s: hiddenField() = %v", name, got)
		}
	}
}

// TestRulesAfterTheEnd: OLM asks for a checker of rules while it ends, too.
func TestRulesAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	op := &olmoperator.Operator{}
	if err := outlive(ctx, op, fake.NewClientset()); err != nil {
		t.Fatal(err)
	}
	check, err := hiddenField[func(*v1alpha1.ClusterServiceVersion) *install.CSVRuleChecker](op, "ruleChecker")
	if err != nil {
		t.Fatal(err)
	}
	if (*check)(&v1alpha1.ClusterServiceVersion{}) == nil {
		t.Error("no checker while OLM runs")
	}
	cancel()
	if (*check)(&v1alpha1.ClusterServiceVersion{}) != nil {
		t.Error("a checker after OLM's end")
	}
}
