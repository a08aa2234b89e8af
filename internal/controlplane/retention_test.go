package controlplane

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

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
	if got := o.Etcd.StorageConfig.CompactionInterval; got != defaultHistory {
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

// TestStoreShrinks fills etcd and empties it.
func TestStoreShrinks(t *testing.T) {
	s := testServer(t, &strings.Builder{})
	if err := s.startEtcd(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.store.HardStop)
	kept := &pb.PutRequest{Key: []byte("kept"), Value: []byte("1")}
	if _, err := s.store.Put(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	big := &pb.PutRequest{Key: []byte("big"), Value: make([]byte, 1<<20)}
	var revision int64
	for range 2 * etcdWaste >> 20 {
		r, err := s.store.Put(t.Context(), big)
		if err != nil {
			t.Fatal(err)
		}
		revision = r.Header.Revision
	}
	if _, err := s.store.Compact(t.Context(), &pb.CompactionRequest{Revision: revision, Physical: true}); err != nil {
		t.Fatal(err)
	}
	// A page is free one transaction after its last use.
	for range 2 {
		if _, err := s.store.Put(t.Context(), kept); err != nil {
			t.Fatal(err)
		}
		s.store.Backend().ForceCommit()
	}
	before := s.store.Backend().Size()
	if err := s.shrinkStore(); err != nil {
		t.Fatal(err)
	}
	if after := s.store.Backend().Size(); after > before-etcdWaste {
		t.Errorf("etcd's file has %d bytes, %d before, %d in use", after, before, s.store.Backend().SizeInUse())
	}
	if r, err := s.store.Range(t.Context(), &pb.RangeRequest{Key: kept.Key}); err != nil || len(r.Kvs) != 1 {
		t.Errorf("what is kept: %v, %v", r, err)
	}
}
