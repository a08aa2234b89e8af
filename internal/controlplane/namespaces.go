package controlplane

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	kcmapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"
)

const (
	namespaceWorkers = 4
	// admittedFirst is for requests that were admitted before the deletion to
	// come to their end: what they make would be left behind.
	admittedFirst = 200 * time.Millisecond
	// A namespace that is not empty yet is looked at again after the first of
	// these, then each time after twice as long, up to the second, the stock pause.
	lookAgain, lookAgainMost = 50 * time.Millisecond, 8 * time.Second
)

// namespaceController empties namespaces that are being deleted by the stock
// deleter, but soon. The stock controller waits five seconds, for other API
// servers to hear of the deletion, and eight more if pods are still ending; here
// is one API server.
func namespaceController(ctx context.Context, cc kcmapp.ControllerContext) (kcmapp.Controller, error) {
	client, objects, err := controllerClients(cc, "namespace-controller")
	if err != nil {
		return nil, err
	}
	deleter := deletion.NewNamespacedResourcesDeleter(ctx, client.CoreV1().Namespaces(), objects, client.CoreV1(),
		client.Discovery().ServerPreferredNamespacedResources, corev1.FinalizerKubernetes)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](lookAgain, lookAgainMost))
	_, err = cc.InformerFactory.Core().V1().Namespaces().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { enqueueDeleted(queue, &corev1.Namespace{}, now) },
		// The deleter's own notes in the status are no reason to look again.
		UpdateFunc: func(before, now any) { enqueueDeleted(queue, before, now) },
	})
	return loop{names.NamespaceController, func(ctx context.Context) {
		var workers sync.WaitGroup
		for range namespaceWorkers {
			workers.Go(func() { emptyNamespaces(ctx, queue, deleter) })
		}
		<-ctx.Done()
		queue.ShutDown()
		workers.Wait()
	}}, err
}

// enqueueDeleted adds a namespace whose deletion is new.
func enqueueDeleted(queue workqueue.TypedDelayingInterface[string], before, now any) {
	was, wasOK := before.(*corev1.Namespace)
	is, isOK := now.(*corev1.Namespace)
	if wasOK && isOK && is.DeletionTimestamp != nil && (was.DeletionTimestamp == nil || was.UID != is.UID) {
		queue.AddAfter(is.Name, admittedFirst)
	}
}

func emptyNamespaces(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string], deleter deletion.NamespacedResourcesDeleterInterface) {
	for name, ended := queue.Get(); !ended; name, ended = queue.Get() {
		err := deleter.Delete(ctx, name)
		if _, remaining := errors.AsType[*deletion.ResourcesRemainingError](err); err != nil && !remaining {
			utilruntime.HandleErrorWithContext(ctx, err, "Deletion of namespace failed", "namespace", name)
		}
		if err != nil {
			queue.AddRateLimited(name)
		} else {
			queue.Forget(name)
		}
		queue.Done(name)
	}
}
