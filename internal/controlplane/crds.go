package controlplane

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
	kcmapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

const (
	// finalizerRetries is how long the API server's own finalizer of CRDs may take
	// to try again.
	finalizerRetries = time.Second
	// deletionRetried is the annotation that has it look at a CRD once more.
	deletionRetried = "mysdk.dev/deletion-retried"
)

// crdController finishes deletions of CRDs that the API server's finalizer has
// given up. If the finalizer cannot list the instances, as in the first moments
// of a CRD, it writes that into the status and tries again. That try may conflict
// with its own write, and then it waits for the update event, but ignores updates
// that change only its condition. Within one second these do not change the time
// in managedFields either, and the CRD would stay until the next resync, five
// minutes later.
func crdController(_ context.Context, cc kcmapp.ControllerContext) (kcmapp.Controller, error) {
	const name = "crd-deletion-controller"
	config, err := cc.ClientBuilder.Config(name)
	if err != nil {
		return nil, err
	}
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	queue := workqueue.NewTypedDelayingQueue[string]()
	informer, err := cc.ObjectOrMetadataInformerFactory.ForResource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	if err != nil {
		return nil, err
	}
	err = onChange(informer.Informer(), func(crd metav1.Object) {
		if crd.GetDeletionTimestamp() != nil {
			queue.AddAfter(crd.GetName(), finalizerRetries)
		}
	})
	return loop{name, func(ctx context.Context) {
		defer context.AfterFunc(ctx, queue.ShutDown)()
		for crd, ended := queue.Get(); !ended; crd, ended = queue.Get() {
			if err := retryDeletion(ctx, client.ApiextensionsV1().CustomResourceDefinitions(), crd); err != nil && !apierrors.IsNotFound(err) {
				utilruntime.HandleErrorWithContext(ctx, err, "Deletion of CRD was not retried", "crd", crd)
			}
			queue.Done(crd)
		}
	}}, err
}

// retryDeletion changes a CRD whose finalizer has failed, which wakes that up.
func retryDeletion(ctx context.Context, crds apiextensionsclient.CustomResourceDefinitionInterface, name string) error {
	crd, err := crds.Get(ctx, name, metav1.GetOptions{})
	if err != nil || !hasFailed(crd) {
		return err
	}
	patch := fmt.Sprintf(`{"metadata": {"uid": %q, "annotations": {%q: %q}}}`, crd.UID, deletionRetried, time.Now().Format(time.RFC3339Nano))
	_, err = crds.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// hasFailed reports whether the finalizer says that it could not delete the
// instances, or could not see that they are gone.
func hasFailed(crd *apiextensionsv1.CustomResourceDefinition) bool {
	c := apihelpers.FindCRDCondition(crd, apiextensionsv1.Terminating)
	return crd.DeletionTimestamp != nil && c != nil && c.Status == apiextensionsv1.ConditionTrue && c.Reason != "InstanceDeletionInProgress"
}
