package v1

// The tests of a defaulter FrigateDefaulter and of a validator FrigateValidator
// go here, those of the Conversion Webhook beside the types. kubebuilder leaves
// the file alone where it finds these words.

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	shipv1 "example.com/webhook-olm/api/ship/v1"
)

// newFrigate serves the webhooks of Frigate and returns the sample in config/samples, not
// created yet. It is gone after the test.
func newFrigate(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	if err := shipv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	sample, err := os.ReadFile(filepath.Join(root, "config", "samples", "ship_v1_frigate.yaml"))
	if err != nil {
		t.Skipf("no sample to start from: %v", err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(sample, &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(createNamespace(t))
	serveWebhooks(t, SetupFrigateWebhookWithManager)
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(k8sClient.Delete(context.WithoutCancel(t.Context()), object)); err != nil {
			t.Error(err)
		}
	})
	return object
}

func TestFrigateWebhook_AdmitsTheSample(t *testing.T) {
	object := newFrigate(t)
	if err := k8sClient.Create(t.Context(), object); err != nil {
		t.Errorf("the sample is refused: %v", err)
	}
}

func TestFrigateDefaulter_ChangesNothingYet(t *testing.T) {
	object := &shipv1.Frigate{}
	object.Name = "sample"
	before := object.DeepCopy()
	if err := (&FrigateDefaulter{}).Default(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if object.Name != before.Name || len(object.Labels) != 0 || len(object.Annotations) != 0 {
		t.Errorf("changed to %v", object.ObjectMeta)
	}
}

func TestFrigateValidator_AdmitsEverythingYet(t *testing.T) {
	v, object := &FrigateValidator{}, &shipv1.Frigate{}
	if warnings, err := v.ValidateCreate(t.Context(), object); err != nil || len(warnings) > 0 {
		t.Errorf("create: %q, %v", warnings, err)
	}
	if warnings, err := v.ValidateUpdate(t.Context(), object, object.DeepCopy()); err != nil || len(warnings) > 0 {
		t.Errorf("update: %q, %v", warnings, err)
	}
	if warnings, err := v.ValidateDelete(t.Context(), object); err != nil || len(warnings) > 0 {
		t.Errorf("delete: %q, %v", warnings, err)
	}
}
