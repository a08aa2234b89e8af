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
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func TestMemcachedValidator(t *testing.T) {
	for name, test := range map[string]struct {
		before, size int32
		refused      bool
		warned       bool
	}{
		"one pod":                 {size: 1, warned: true},
		"some":                    {size: 3},
		"as many as there may be": {size: maxMemcachedSize},
		"one more":                {size: maxMemcachedSize + 1, refused: true},
		"too many since long":     {before: maxMemcachedSize + 1, size: maxMemcachedSize + 1},
		"more and more":           {before: maxMemcachedSize + 1, size: maxMemcachedSize + 2, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := &MemcachedValidator{}
			before, object := &cachev1alpha1.Memcached{}, &cachev1alpha1.Memcached{}
			before.Spec.Size, object.Spec.Size = test.before, test.size
			warnings, err := v.ValidateUpdate(t.Context(), before, object)
			if test.before == 0 {
				warnings, err = v.ValidateCreate(t.Context(), object)
			}
			if apierrors.IsInvalid(err) != test.refused || (err != nil) != test.refused {
				t.Errorf("refused: %t (%v), want %t", err != nil, err, test.refused)
			}
			if (len(warnings) > 0) != test.warned {
				t.Errorf("warned with %q, want a warning: %t", warnings, test.warned)
			}
		})
	}
}

func TestMemcachedValidator_IsAskedByTheAPIServer(t *testing.T) {
	object := newMemcached(t)
	if err := unstructured.SetNestedField(object.Object, int64(maxMemcachedSize+1), "spec", "size"); err != nil {
		t.Fatal(err)
	}
	err := k8sClient.Create(t.Context(), object, client.DryRunAll)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "must be at most") {
		t.Errorf("size %d is not refused: %v", maxMemcachedSize+1, err)
	}
}
