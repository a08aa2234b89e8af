package controlplane

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	kcmapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

const (
	collectorUser    = "generic-garbage-collector"
	collectorWorkers = 5
	// collectorSync is how long the collector waits for the caches of newly
	// found kinds; the stock value.
	collectorSync = 30 * time.Second
	// lookInterval is how often the collector looks for new kinds, in place
	// of the stock 30 seconds.
	lookInterval = time.Second
	// lookFor is how long after a change of a CRD or an APIService the looks go to
	// the API server: a CRD is served some time after it was created.
	lookFor = 5 * time.Second
)

// garbageCollector is the stock collector, but it looks for new kinds within a
// second after a CRD or an APIService changed: an operator's owned objects go at
// once, also those of a CRD that was installed just now.
func (s *server) garbageCollector(ctx context.Context, cc kcmapp.ControllerContext) (kcmapp.Controller, error) {
	client, objects, err := controllerClients(cc, collectorUser)
	if err != nil {
		return nil, err
	}
	api, err := cc.ClientBuilder.DiscoveryClient(collectorUser)
	if err != nil {
		return nil, err
	}
	kinds := &freshDiscovery{ServerResourcesInterface: api, now: time.Now, changed: s.forgetKinds}
	kinds.touch()
	if err := kinds.watch(cc); err != nil {
		return nil, err
	}
	collector, err := garbagecollector.NewComposedGarbageCollector(ctx, client, objects, cc.RESTMapper, cc.GraphBuilder)
	return loop{names.GarbageCollectorController, func(ctx context.Context) {
		go collector.Sync(ctx, kinds, lookInterval)
		collector.Run(ctx, collectorWorkers, collectorSync)
	}}, err
}

// graphBuilder is the stock one, which would listen to a kind's objects once
// more, and hear of each change as often, with each return of its CRD.
func graphBuilder(ctx context.Context, cc kcmapp.ControllerContext) (*garbagecollector.GraphBuilder, error) {
	_, objects, err := controllerClients(cc, collectorUser)
	if err != nil {
		return nil, err
	}
	ignored := map[schema.GroupResource]struct{}{}
	for _, r := range cc.ComponentConfig.GarbageCollectorController.GCIgnoredResources {
		ignored[schema.GroupResource{Group: r.Group, Resource: r.Resource}] = struct{}{}
	}
	heard := oneHandler{cc.ObjectOrMetadataInformerFactory, map[schema.GroupVersionResource]cache.ResourceEventHandlerRegistration{}}
	return garbagecollector.NewDependencyGraphBuilder(ctx, objects, cc.RESTMapper, ignored, heard, cc.InformersStarted), nil
}

// oneHandler is a factory whose informers have one handler for each kind: the
// last that was added. Only one goroutine at a time may use it.
type oneHandler struct {
	informerfactory.InformerFactory
	last map[schema.GroupVersionResource]cache.ResourceEventHandlerRegistration
}

// ForResource implements informerfactory.InformerFactory.
func (f oneHandler) ForResource(kind schema.GroupVersionResource) (informers.GenericInformer, error) {
	found, err := f.InformerFactory.ForResource(kind)
	if err != nil {
		return nil, err
	}
	return oneHandlerKind{found, f, kind}, nil
}

type oneHandlerKind struct {
	informers.GenericInformer
	factory oneHandler
	kind    schema.GroupVersionResource
}

// Informer implements informers.GenericInformer.
func (k oneHandlerKind) Informer() cache.SharedIndexInformer {
	return oneHandlerInformer{k.GenericInformer.Informer(), k}
}

type oneHandlerInformer struct {
	cache.SharedIndexInformer
	of oneHandlerKind
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (i oneHandlerInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	last := i.of.factory.last
	if before, ok := last[i.of.kind]; ok {
		if err := i.RemoveEventHandler(before); err != nil {
			return nil, err
		}
	}
	added, err := i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(handler, resync)
	if err == nil {
		last[i.of.kind] = added
	}
	return added, err
}

// freshDiscovery asks the API server for its kinds only for some seconds after
// touch, and repeats the last answer otherwise.
type freshDiscovery struct {
	discovery.ServerResourcesInterface
	now     func() time.Time
	changed func()       // called by touch
	until   atomic.Int64 // Unix nanoseconds
	last    []*metav1.APIResourceList
}

func (d *freshDiscovery) touch() {
	d.until.Store(d.now().Add(lookFor).UnixNano())
	d.changed()
}

// forgetKinds drops what kubectl remembers of this cluster. By itself it would
// for six hours, and an operator's kinds change while it is written.
func (s *server) forgetKinds() {
	if err := os.RemoveAll(s.layout.KubectlCache()); err != nil {
		s.log.Printf("forget kubectl's kinds: %v", err)
	}
}

// watch calls touch whenever a CRD changes, or an APIService, which also tells when its
// server comes up.
func (d *freshDiscovery) watch(cc kcmapp.ControllerContext) error {
	for _, kind := range []schema.GroupVersionResource{
		apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"),
		apiregistrationv1.SchemeGroupVersion.WithResource("apiservices"),
	} {
		informer, err := cc.ObjectOrMetadataInformerFactory.ForResource(kind)
		if err != nil {
			return err
		}
		_, err = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { d.touch() },
			UpdateFunc: func(any, any) { d.touch() },
			DeleteFunc: func(any) { d.touch() },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ServerPreferredResources implements discovery.ServerResourcesInterface. Only
// the collector's one goroutine that looks for kinds calls it.
func (d *freshDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	if d.last != nil && d.now().UnixNano() > d.until.Load() {
		return d.last, nil
	}
	kinds, err := d.ServerResourcesInterface.ServerPreferredResources()
	d.last = kinds
	if err != nil {
		d.last = nil // an API that does not answer: not all kinds, and the collector has to know
	}
	return kinds, err
}
