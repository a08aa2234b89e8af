package olm

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/grpc"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/event"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
)

// TestConnectionsEndWithTheirOperator leaves no goroutine in the bubble, which
// would fail it.
func TestConnectionsEndWithTheirOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := logrus.New()
		logger.SetOutput(io.Discard)
		var handled []string
		store := grpc.NewSourceStore(logger, time.Minute, time.Minute, func(s grpc.SourceState) { handled = append(handled, s.Key.Name) })
		store.Start(context.WithoutCancel(t.Context()))
		end, err := endable(store)
		if err != nil {
			t.Fatal(err)
		}
		states, err := hiddenField[chan grpc.SourceState](store, "notify")
		if err != nil {
			t.Fatal(err)
		}
		*states <- grpc.SourceState{Key: registry.CatalogKey{Name: "a"}}
		end()
		synctest.Wait()
		if len(handled) != 1 || handled[0] != "a" {
			t.Errorf("handled %q", handled)
		}
	})
}

// TestRecorderEndsWithItsOperator is the same for what records events.
func TestRecorderEndsWithItsOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fake.NewClientset()
		recorder, err := event.NewRecorder(c.CoreV1().Events(""))
		if err != nil {
			t.Fatal(err)
		}
		end, err := recorderEnd(&struct{ recorder record.EventRecorder }{recorder})
		if err != nil {
			t.Fatal(err)
		}
		about := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		recorder.Event(about, corev1.EventTypeWarning, "Before", "it is recorded")
		synctest.Wait()
		end()
		recorder.Event(about, corev1.EventTypeWarning, "After", "a worker that outlives its operator")
		if n := len(c.Actions()); n != 1 {
			t.Errorf("%d events were recorded", n)
		}
	})
	if _, err := recorderEnd(&struct{ recorder record.EventRecorder }{record.NewFakeRecorder(1)}); err == nil {
		t.Error("a recorder of another kind is taken for OLM's")
	}
}
