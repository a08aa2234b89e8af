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

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	cachev1alpha1 "example.com/webhook-cert-manager/api/v1alpha1"
)

// memcachedlog is the log of the webhooks of Memcached.
var memcachedlog = logf.Log.WithName("memcached-resource")

// SetupMemcachedWebhookWithManager serves the webhooks of Memcached on the manager's webhook server.
func SetupMemcachedWebhookWithManager(mgr ctrl.Manager) error {
	memcachedlog.V(1).Info("Setting up the webhooks")
	return ctrl.NewWebhookManagedBy(mgr, &cachev1alpha1.Memcached{}).
		WithDefaulter(&MemcachedDefaulter{}).
		WithDefaulterCustomPath("/fill-in").
		WithValidator(&MemcachedValidator{}).
		Complete()
}

// +kubebuilder:webhook:path=/fill-in,mutating=true,failurePolicy=fail,sideEffects=None,groups=cache.example.com,resources=memcacheds,verbs=create;update,versions=v1alpha1,name=mmemcached-v1alpha1.kb.io,admissionReviewVersions=v1

// MemcachedDefaulter fills in what the author of a Memcached left out. It runs before
// validation, and more than once if other webhooks change the object too.
type MemcachedDefaulter struct{}

// Default changes the object before it is stored.
func (*MemcachedDefaulter) Default(_ context.Context, obj *cachev1alpha1.Memcached) error {
	// Clients that always send the field send 0 where nothing was asked for.
	if obj.Spec.Size == 0 {
		obj.Spec.Size = 1
	}
	return nil
}

// To validate DELETE requests as well, add delete to the verbs.
// +kubebuilder:webhook:path=/validate-cache-example-com-v1alpha1-memcached,mutating=false,failurePolicy=fail,sideEffects=None,groups=cache.example.com,resources=memcacheds,verbs=create;update,versions=v1alpha1,name=vmemcached-v1alpha1.kb.io,admissionReviewVersions=v1

// MemcachedValidator rejects invalid Memcached objects. Rules on a single field, or on
// fields of one struct, are better expressed as markers on the types.
type MemcachedValidator struct{}

// ValidateCreate validates CREATE requests. An error rejects the object, and
// warnings are shown to its author. For example:
//
//	if obj.Spec.Size > 100 {
//		return nil, apierrors.NewInvalid(cachev1alpha1.GroupVersion.WithKind("Memcached").GroupKind(), obj.Name,
//			field.ErrorList{field.Invalid(field.NewPath("spec", "size"), obj.Spec.Size, "must be at most 100")})
//	}
func (*MemcachedValidator) ValidateCreate(_ context.Context, _ *cachev1alpha1.Memcached) (admission.Warnings, error) {
	return nil, nil // nothing yet: look at the object here
}

// ValidateUpdate validates UPDATE requests. Allow updates to objects stored before
// a rule existed: removing a finalizer is an update, too.
func (*MemcachedValidator) ValidateUpdate(_ context.Context, _, _ *cachev1alpha1.Memcached) (admission.Warnings, error) {
	return nil, nil // nothing yet: compare the old object with the new one here
}

// ValidateDelete validates DELETE requests, once the marker's verbs include delete.
func (*MemcachedValidator) ValidateDelete(_ context.Context, _ *cachev1alpha1.Memcached) (admission.Warnings, error) {
	return nil, nil
}
