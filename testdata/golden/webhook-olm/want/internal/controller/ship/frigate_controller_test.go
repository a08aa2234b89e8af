package ship

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	shipv1alpha1 "example.com/webhook-olm/api/ship/v1alpha1"
)

func TestFrigate_ReconcilesItsSample(t *testing.T) {
	if err := shipv1alpha1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t)
	var reconciler *FrigateReconciler
	startManager(t, namespace, func(mgr ctrl.Manager) error {
		reconciler = &FrigateReconciler{Client: k8sClient, Scheme: mgr.GetScheme()}
		return reconciler.SetupWithManager(mgr)
	})

	sample, err := os.ReadFile(filepath.Join(root, "config", "samples", "ship_v1alpha1_frigate.yaml"))
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

	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
	if _, err := reconciler.Reconcile(t.Context(), request); err != nil {
		t.Errorf("reconciling the sample: %v", err)
	}
	if err := k8sClient.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if _, err := reconciler.Reconcile(t.Context(), request); err != nil {
		t.Errorf("reconciling the deleted sample: %v", err)
	}
}
