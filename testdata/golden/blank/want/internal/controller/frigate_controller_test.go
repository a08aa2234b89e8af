package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	shipv1 "example.com/blank/api/v1"
)

func TestFrigate_ReconcilesItsSample(t *testing.T) {
	if err := shipv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t)
	var reconciler *FrigateReconciler
	startManager(t, namespace, func(mgr ctrl.Manager) error {
		reconciler = &FrigateReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme()}
		return reconciler.SetupWithManager(mgr)
	})

	sample, err := os.ReadFile(filepath.Join(root, "config", "samples", "ship_v1_frigate.yaml"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the sample is gone")
	}
	object := &unstructured.Unstructured{}
	if err := errors.Join(err, yaml.Unmarshal(sample, &object.Object)); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(namespace)
	if err := k8sClient.Create(t.Context(), object, client.FieldValidation("Strict")); err != nil {
		t.Fatalf("the sample is refused: %v", err)
	}

	// The manager reconciles the object, too: where both write it at once, one of them has
	// to try again.
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
	reconcile := func(exists bool) error {
		var last error
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true,
			func(ctx context.Context) (bool, error) {
				last = reconciler.Get(ctx, request.NamespacedName, &shipv1.Frigate{})
				if apierrors.IsNotFound(last) == exists {
					return false, nil // the cache is behind, or a finalizer is left
				}
				_, last = reconciler.Reconcile(ctx, request)
				return last == nil, nil
			})
		return errors.Join(err, last)
	}
	if err := reconcile(true); err != nil {
		t.Fatalf("reconciling the sample: %v", err)
	}
	if err := k8sClient.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if err := reconcile(false); err != nil {
		t.Errorf("reconciling the deleted sample: %v", err)
	}
}
