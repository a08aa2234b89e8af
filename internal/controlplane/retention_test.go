package controlplane

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/grpc"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/event"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/controller-manager/pkg/informerfactory"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
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

// TestCollectorHearsOnce adds a handler for a kind that came, went and came.
func TestCollectorHearsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := fake.NewClientset()
		typed := informers.NewSharedInformerFactory(c, 0)
		heard := oneHandler{informerfactory.NewInformerFactory(typed, nil), map[schema.GroupVersionResource]cache.ResourceEventHandlerRegistration{}}
		var first, second atomic.Int32
		for _, n := range []*atomic.Int32{&first, &second} {
			kind, err := heard.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := kind.Informer().AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { n.Add(1) }}, 0); err != nil {
				t.Fatal(err)
			}
			typed.Start(ctx.Done())
			synctest.Wait()
		}
		if _, err := c.CoreV1().ConfigMaps("a").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if first.Load() != 0 || second.Load() != 1 {
			t.Errorf("the handlers heard %d and %d times", first.Load(), second.Load())
		}
		cancel()
		typed.Shutdown()
	})
}

// TestOldStatesGo checks that the flags are read as they are meant: a kind that
// is not known is cached without a word.
func TestOldStatesGo(t *testing.T) {
	o := apioptions.NewServerRunOptions()
	if err := parseFlags(o.Flags(), (&server{}).apiServerFlags()); err != nil {
		t.Fatal(err)
	}
	if got := o.Etcd.StorageConfig.CompactionInterval; got != compactInterval {
		t.Errorf("etcd keeps old states for %v", got)
	}
	sizes, err := genericoptions.ParseWatchCacheSizes(o.Etcd.WatchCacheSizes)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []schema.GroupResource{
		rbacv1.Resource("clusterroles"), apiextensionsv1.Resource("customresourcedefinitions"),
		{Group: operatorsv1alpha1.GroupName, Resource: "clusterserviceversions"}, {Group: operatorsv1alpha1.GroupName, Resource: "installplans"},
	} {
		if size, ok := sizes[kind]; !ok || size != 0 {
			t.Errorf("the watch cache keeps %s", kind)
		}
	}
}
