/*
Copyright 2026.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package v1alpha1

// The tests of a defaulter MemcachedDefaulter and of a validator MemcachedValidator
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

	cachev1alpha1 "example.com/webhook-cert-manager/api/v1alpha1"
)

// newMemcached serves the webhooks of Memcached and returns the sample in config/samples, not
// created yet. It is gone after the test.
func newMemcached(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	if err := cachev1alpha1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	sample, err := os.ReadFile(filepath.Join(root, "config", "samples", "cache_v1alpha1_memcached.yaml"))
	if err != nil {
		t.Skipf("no sample to start from: %v", err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(sample, &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(createNamespace(t))
	serveWebhooks(t, SetupMemcachedWebhookWithManager)
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(k8sClient.Delete(context.WithoutCancel(t.Context()), object)); err != nil {
			t.Error(err)
		}
	})
	return object
}

func TestMemcachedWebhook_AdmitsTheSample(t *testing.T) {
	object := newMemcached(t)
	if err := k8sClient.Create(t.Context(), object); err != nil {
		t.Errorf("the sample is refused: %v", err)
	}
}

func TestMemcachedDefaulter_SizeOfNothing(t *testing.T) {
	object := newMemcached(t)
	for given, want := range map[int64]int64{0: 1, 5: 5} {
		object := object.DeepCopy()
		if err := unstructured.SetNestedField(object.Object, given, "spec", "size"); err != nil {
			t.Fatal(err)
		}
		if err := k8sClient.Create(t.Context(), object); err != nil {
			t.Fatalf("size %d: %v", given, err)
		}
		if size, _, err := unstructured.NestedInt64(object.Object, "spec", "size"); size != want || err != nil {
			t.Errorf("size %d is stored as %d, want %d (%v)", given, size, want, err)
		}
		if err := k8sClient.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMemcachedValidator_AdmitsEverythingYet(t *testing.T) {
	v, object := &MemcachedValidator{}, &cachev1alpha1.Memcached{}
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
